/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/manifest/finding.h"
#include "retriever/volume/proof_place.h"
#include "tests/retriever/core_hook.h"
#include "tests/durable.h"

static struct core core;

static void put(int dir_fd, const char *text)
{
	int fd = openat(dir_fd, PROOF_ENTRIES, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void is(int dir_fd, const char *text)
{
	char found[64] = "";
	int fd = openat(dir_fd, PROOF_ENTRIES, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(read(fd, found, sizeof found), strlen(text));
	ck_assert_str_eq(found, text);
	close(fd);
}

START_TEST(outlives_the_volume)
{
	g_autofree char *message = NULL, *old = NULL;
	int fd;

	core_make(&core);
	core_open(&core);
	core_attach(&core);
	old = proof_place_path(core.retriever->config);
	ck_assert_int_eq(g_mkdir_with_parents(old, 0700), 0); /* of an earlier volume */
	fd = open(old, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(fd, "of another");
	close(fd);
	ck_assert_int_eq(proof_place_keep(core.retriever), 0); /* nothing to be kept */
	ck_assert(!g_file_test(old, G_FILE_TEST_EXISTS));
	fd = proof_place_open(core.retriever);
	ck_assert_int_ge(fd, 0);
	put(fd, "what was found");
	close(fd);
	ck_assert_int_eq(migrate_record_drop(core.retriever->root_fd), 0); /* by hand */
	ck_assert_int_eq(finalize_volume(core.retriever, false, false, &message), 0);
	fd = proof_place_open(core.retriever);
	is(fd, "what was found");
	ck_assert_durable_in(fd, PROOF_ENTRIES);
	ck_assert_durable_in(fd, "");
	core_free_with(&core, fd);
}
END_TEST

START_TEST(no_room)
{
	g_autofree char *kept = NULL;
	int fd;

	core_make(&core);
	core_open(&core);
	core_attach(&core);
	fd = proof_place_open(core.retriever);
	put(fd, "x");
	close(fd);
	kept = g_strconcat(core.dir, "/kept", NULL); /* where the directory would be */
	ck_assert(g_file_set_contents(kept, "", 0, NULL));
	ck_assert_int_lt(proof_place_keep(core.retriever), 0);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("proof_place", 60);

	tcase_add_test(tcase, outlives_the_volume);
	tcase_add_test(tcase, no_room);
	return run_tcase(tcase);
}
