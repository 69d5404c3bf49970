/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/clients.h"
#include "tests/retriever/core_copied.h"

static struct core core;

static bool is_clients(const char *name, int64_t there)
{
	g_autofree char *path = core_path(&core, name);
	struct clients *clients = clients_new(core.retriever);
	const struct source_attr attr = {.mtime = there};
	int fd = open(path, O_PATH | O_CLOEXEC);
	bool found = proof_is_clients(clients, fd, &attr, CLIENTS_CONTENT, false);

	close(fd);
	clients_free(clients);
	return found;
}

START_TEST(by_times)
{
	const int64_t there = 1100000001123456789;

	core_copied(&core, NULL);
	ck_assert(!is_clients("a", there));
	ck_assert(!is_clients("a", there + 1)); /* older than the file: no client's */
	core_shell(&core, "echo >> $new/a");
	ck_assert(is_clients("a", there));
	core_shell(&core, "touch -d 2002-01-01 $new/a");
	ck_assert(!is_clients("a", there));
	core_shell(&core, "touch $new/d/new");
	ck_assert(is_clients("d", 1000000000));
	core_free(&core);
}
END_TEST

/* A comparison and a mending at a time have one journal open. */
START_TEST(shared)
{
	struct clients *first, *second;

	core_copied(&core, NULL);
	first = clients_new(core.retriever);
	second = clients_new(core.retriever);
	ck_assert_ptr_eq(first, second);
	ck_assert_str_eq(clients_told_by(first), "times");
	clients_free(first);
	clients_free(second);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("clients", 60);

	tcase_add_test(tcase, by_times);
	tcase_add_test(tcase, shared);
	return run_tcase(tcase);
}
