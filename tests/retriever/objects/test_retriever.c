/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

static struct core core;

START_TEST(paths_of_descriptors)
{
	int fd = core_with_file(&core, 1000, O_RDONLY);
	g_autofree char *want = core_path(&core, "f");
	g_autofree char *path = retriever_fd_path(fd), *none = retriever_fd_path(-1);

	ck_assert_str_eq(path, want);
	ck_assert_str_eq(none, "?");
	core_free_with(&core, fd);
}
END_TEST

/* By its kernel handle, whatever its name is, for as long as it is there. */
START_TEST(opened_by_its_handle)
{
	struct migrate_binding key;
	struct stat a, b;
	int fd = core_with_file(&core, 1000, O_RDONLY), root = core_root(&core), again;

	ck_assert_int_eq(migrate_binding_get(fd, "", &key), 0);
	ck_assert_int_eq(fstat(fd, &a), 0);
	close(fd);
	ck_assert_int_eq(renameat(root, "f", root, "g"), 0);
	again = retriever_open_binding(core.retriever, &key, O_RDWR);
	ck_assert_int_eq(fstat(again, &b), 0);
	ck_assert_uint_eq(a.st_ino, b.st_ino);
	ck_assert_int_eq(fcntl(again, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(again, F_GETFL) & (O_ACCMODE | O_NOATIME), O_RDWR | O_NOATIME);
	close(again);
	ck_assert_int_eq(unlinkat(root, "g", 0), 0);
	ck_assert_int_eq(retriever_open_binding(core.retriever, &key, O_RDWR), -ESTALE);
	core_free_with(&core, root);
}
END_TEST

/* From the first name on, each time. */
START_TEST(directories_are_listed)
{
	int fd = core_with_file(&core, 1000, O_RDONLY), root = core_root(&core);

	for (unsigned i = 0; i < 2; i++) {
		DIR *dir = retriever_list(root, ".");
		unsigned n = 0;

		ck_assert_ptr_nonnull(dir);
		while (readdir(dir))
			n++;
		ck_assert_uint_eq(n, 4); /* . .. .migrate f */
		closedir(dir);
	}
	ck_assert_ptr_null(retriever_list(root, "f"));
	ck_assert_int_eq(errno, ENOTDIR);
	close(fd);
	core_free_with(&core, root);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("retriever", 60);

	tcase_add_test(tcase, paths_of_descriptors);
	tcase_add_test(tcase, opened_by_its_handle);
	tcase_add_test(tcase, directories_are_listed);
	return run_tcase(tcase);
}
