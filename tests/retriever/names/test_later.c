/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

#include "retriever/names/later.h"
#include "retriever/objects/errors.h"

static struct core core;

static void wait_for_errors(guint n)
{
	while (errors_count(core.retriever->errors) != n)
		g_usleep(1000);
}

static int fill_in_background(int fd)
{
	return core_wait(core_ask_fill(&core, fd, MIGRATE_BACKGROUND | MIGRATE_DATA));
}

/* A file and a directory that the old server puts off. */
START_TEST(what_was_put_off_comes_by_itself)
{
	struct fault_rule rule = {
		.ops = 1u << BACKEND_READ, .action = FAULT_ERROR, .status = -EAGAIN};
	unsigned file, directory;
	struct error_entry entry;
	guint place = 0;
	int fd, sub;

	core_make(&core);
	core_source_file(&core, "d/tape", 100000, 2);
	core_source_file(&core, "d/sub/b", 10, 3);
	core_open(&core);
	core_attach(&core);
	later_stop(core.retriever->later);
	later_free(core.retriever->later);
	core.retriever->later = later_new(core.retriever, 1);
	core_run(&core);
	core_connect(&core);
	file = backend_fault_add(core.fault, &rule);
	rule.ops = 1u << BACKEND_READDIR;
	rule.name = "sub";
	directory = backend_fault_add(core.fault, &rule);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill_in_background(fd), 0);
	sub = openat(fd, "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(fill_in_background(sub), -EREMOTEIO);
	wait_for_errors(2);
	ck_assert(errors_get(core.retriever->errors, &place, NULL, &entry));
	ck_assert_int_eq(entry.status, -EAGAIN);
	ck_assert_int_eq(entry.code, QM_LATER);
	ck_assert_int_le(ABS(g_get_real_time() / G_USEC_PER_SEC - entry.since), 60);
	error_entry_clear(&entry);
	ck_assert(backend_fault_wait(core.fault, directory,
				     backend_fault_hits(core.fault, directory) + 1));
	ck_assert_uint_eq(errors_count(core.retriever->errors), 2);
	backend_fault_remove(core.fault, file);
	backend_fault_remove(core.fault, directory);
	ck_assert(backend_fault_wait_idle(core.fault));
	wait_for_errors(0);
	ck_assert_int_eq(core_state(sub), MIGRATE_FILLED);
	close(sub);
	sub = openat(fd, "tape", O_RDONLY | O_CLOEXEC);
	core_expect(sub, 0, 100000, 2);
	close(sub);
	core_free_with(&core, fd);
}
END_TEST

/* Else what clients have removed would take its place in each round. */
START_TEST(what_is_gone_is_forgotten)
{
	g_autofree char *path = NULL;
	int fd;

	core_make(&core);
	core_open(&core);
	core_attach(&core);
	later_stop(core.retriever->later);
	later_free(core.retriever->later);
	core.retriever->later = later_new(core.retriever, 1);
	path = core_path(&core, "gone");
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	errors_add_fd(core.retriever->errors, fd, -EAGAIN, QM_LATER);
	close(fd);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_run(&core);
	wait_for_errors(0);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("later", 60);

	tcase_add_test(tcase, what_was_put_off_comes_by_itself);
	tcase_add_test(tcase, what_is_gone_is_forgotten);
	return run_tcase(tcase);
}
