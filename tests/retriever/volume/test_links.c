/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core_directory.h"

/* Whichever name is seen first, they are one file. */
START_TEST(hard_links)
{
	struct stat a, b;
	int root, one, two;

	core_make(&core);
	core_source_file(&core, "x/a", 3000, 4);
	core_source_file(&core, "y/other", 10, 1);
	source_link("x/a", "y/b");
	source_link("x/a", "c");
	core_start(&core);
	root = core_root(&core);
	two = core_find(&core, "y/b", O_RDWR);
	ck_assert_int_eq(core_write(&core, two, 100, 50, 9, false), 0);
	one = core_find(&core, "x/a", O_RDONLY);
	ck_assert_int_eq(fstat(one, &a), 0);
	ck_assert_int_eq(fstat(two, &b), 0);
	ck_assert_uint_eq(a.st_ino, b.st_ino);
	ck_assert_int_eq(core_range(&core, one, 0, UINT64_MAX), 0);
	core_expect(one, 0, 100, 4);
	core_expect(one, 100, 50, 9);
	core_expect(one, 150, 2850, 4);
	ck_assert_int_eq(fill(root), 0);
	ck_assert_int_eq(fstatat(root, "c", &b, 0), 0);
	ck_assert_uint_eq(a.st_ino, b.st_ino);
	ck_assert_uint_eq(b.st_nlink, 3); /* the provisional name has gone with the last */
	close(one);
	close(two);
	close(root);
	core_free(&core);
}
END_TEST

/* What was made before a restart is counted, and what a client links or removes is not. */
START_TEST(hard_links_and_a_restart)
{
	struct stat st;
	int root, one;

	core_make(&core);
	core_source_file(&core, "x/a", 3000, 4);
	source_link("x/a", "y");
	source_link("x/a", "z");
	core_source_file(&core, "x/b", 10, 1);
	core_start(&core);
	one = core_find(&core, "x/a", O_RDONLY);
	root = core_root(&core);
	ck_assert_int_eq(linkat(one, "", root, ".migrate/client", AT_EMPTY_PATH), 0);
	core_restart(&core);
	ck_assert_int_eq(core_name_in(&core, root, "y"), 0);
	ck_assert_int_eq(fstat(one, &st), 0);
	ck_assert_uint_eq(st.st_nlink, 4); /* and the provisional name and the client's */
	ck_assert_int_eq(unlinkat(root, ".migrate/client", 0), 0);
	core_restart(&core);
	ck_assert_int_eq(fill(root), 0);
	ck_assert_int_eq(fstat(one, &st), 0);
	ck_assert_uint_eq(st.st_nlink, 3);
	close(one);
	one = core_find(&core, "z", O_RDONLY);
	ck_assert_int_eq(core_range(&core, one, 0, UINT64_MAX), 0);
	core_expect(one, 0, 3000, 4);
	ck_assert_int_eq(fstat(one, &st), 0);
	ck_assert_uint_eq(st.st_nlink, 3);
	close(one);
	close(root);
	core_free(&core);
}
END_TEST

/* Somebody has removed the directory here: its names cannot be made, and that is said. */
START_TEST(hard_links_in_a_removed_directory)
{
	g_autofree char *old = NULL, *path = NULL;
	int fd;

	core_make(&core);
	core_source_file(&core, "d/file", 10, 4);
	old = g_strconcat(core.source, "/d/a", NULL);
	ck_assert_int_eq(mkfifo(old, 0600), 0);
	source_link("d/a", "d/b");
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	path = core_path(&core, "d");
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "a"), -EIO);
	close(fd);
	core_free(&core);
}
END_TEST

/* All names of one file asked for at the same time. */
START_TEST(hard_links_at_once)
{
	struct migrate_waiter *w[10];
	struct stat first, st;
	int dir;

	core_make(&core);
	core_source_file(&core, "d/0", 3000, 4);
	for (unsigned i = 1; i < G_N_ELEMENTS(w); i++) {
		g_autofree char *name = g_strdup_printf("d/%u", i);

		source_link("d/0", name);
	}
	core_start(&core);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	for (unsigned i = 0; i < G_N_ELEMENTS(w); i++) {
		char name[16];

		g_snprintf(name, sizeof(name), "%u", i);
		w[i] = CORE_WAIT(waiter, migrate_fetch_name(core.volume, dir, name, 0,
							    migrate_waiter_done, waiter));
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(w); i++)
		ck_assert_int_eq(core_wait(w[i]), 0);
	ck_assert_int_eq(fstatat(dir, "0", &first, 0), 0);
	for (unsigned i = 0; i < G_N_ELEMENTS(w); i++) {
		char name[16];

		g_snprintf(name, sizeof(name), "%u", i);
		ck_assert_int_eq(fstatat(dir, name, &st, 0), 0);
		ck_assert_uint_eq(st.st_ino, first.st_ino);
	}
	close(dir);
	core_free(&core);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("links");
	TCase *tcase = CORE_TCASE(suite, "links", 60);

	tcase_add_test(tcase, hard_links);
	tcase_add_test(tcase, hard_links_and_a_restart);
	tcase_add_test(tcase, hard_links_in_a_removed_directory);
	tcase_add_test(tcase, hard_links_at_once);
	return run_suite(suite);
}
