/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include "common/migrate.h"
#include "tests/common/support.h"

#define LEVELS 40

static char name[200];

/* LEVELS directories of 199 bytes below each other, and others beside them.  The last one. */
static int make_deep(void)
{
	int fd = open(scratch, O_RDONLY | O_DIRECTORY), next;

	memset(name, 'x', sizeof(name) - 1);
	for (unsigned i = 0; i < LEVELS; i++) {
		ck_assert_int_eq(mkdirat(fd, "beside", 0700), 0);
		ck_assert_int_eq(mkdirat(fd, name, 0700), 0);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY);
		ck_assert_int_ge(next, 0);
		close(fd);
		fd = next;
	}
	return fd;
}

static char *path_below(const char *last)
{
	char *path = calloc(LEVELS + 2, sizeof(name));

	for (unsigned i = 0; i < LEVELS; i++)
		strcat(strcat(path, i ? "/" : ""), name);
	return last ? strcat(strcat(path, "/"), last) : path;
}

static bool is_same(int a, int b)
{
	struct stat x, y;

	ck_assert_int_eq(fstat(a, &x), 0);
	ck_assert_int_eq(fstat(b, &y), 0);
	return x.st_ino == y.st_ino;
}

START_TEST(longer_than_the_kernel_takes)
{
	int deep = make_deep(), top = open(scratch, O_PATH | O_DIRECTORY);
	char *path = path_below(NULL), *in = path_below("beside"), *found;
	size_t len = strlen(path);

	ck_assert_uint_gt(len, PATH_MAX);
	int fd = migrate_open_below(top, path, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	ck_assert_int_ge(fd, 0);
	ck_assert(is_same(fd, deep));
	found = migrate_fd_path(fd);
	ck_assert_ptr_nonnull(found);
	ck_assert_uint_gt(strlen(found), len);
	ck_assert_str_eq(found + strlen(found) - len, path);
	close(fd);
	free(found);
	found = migrate_dir_name(deep);
	ck_assert_str_eq(found, name);
	free(found);
	ck_assert_int_eq(mkdirat(deep, "beside", 0700), 0);
	fd = migrate_open_below(top, in, O_PATH, 0);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(unlinkat(deep, "beside", AT_REMOVEDIR), 0);
	ck_assert_int_eq(migrate_open_below(top, in, O_PATH, 0), -ENOENT);
	memset(path, 'x', len);
	ck_assert_int_eq(migrate_open_below(top, path, O_PATH, 0), -ENAMETOOLONG);
	free(path);
	free(in);
}
END_TEST

START_TEST(stays_below)
{
	int top = open(scratch, O_RDONLY | O_DIRECTORY);
	struct stat st;
	char *found;

	ck_assert_int_eq(mkdirat(top, "d", 0700), 0);
	ck_assert_int_eq(symlinkat("d", top, "in"), 0);
	ck_assert_int_eq(migrate_open_below(top, "..", O_PATH, 0), -EXDEV);
	ck_assert_int_eq(migrate_open_below(top, "/d", O_PATH, 0), -EXDEV);
	ck_assert_int_eq(migrate_open_below(top, "in", O_PATH, RESOLVE_NO_SYMLINKS), -ELOOP);
	int fd = migrate_open_below(top, "", O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	ck_assert(is_same(fd, top));
	close(fd);
	fd = migrate_open_below(top, "d", O_PATH, 0);
	found = migrate_fd_path(fd);
	ck_assert_str_eq(strrchr(found, '/'), "/d");
	free(found);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(unlinkat(top, "d", AT_REMOVEDIR), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_ptr_null(migrate_dir_name(fd));
	close(fd);
}
END_TEST

static void remove_all(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", scratch);
	ck_assert_int_eq(system(command), 0);
}

int main(void)
{
	TCase *tcase = tcase_create("fd_path");

	tcase_add_checked_fixture(tcase, scratch_make, remove_all);
	tcase_add_test(tcase, longer_than_the_kernel_takes);
	tcase_add_test(tcase, stays_below);
	return run_case(tcase);
}
