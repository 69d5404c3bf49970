/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "common/migrate.h"
#include "crawler/directory.h"
#include "tests/crawler/tree.h"
#include "tests/suite.h"

static int root;
static struct directory_scope scope;

static void setup(void)
{
	ck_assert_int_eq(mkdir("volume", 0755), 0);
	root = open("volume", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(root, 0);
	ck_assert_int_eq(directory_scope_get(root, &scope), 0);
	ck_assert_int_eq(fchdir(root), 0);
}

/* The name of a handle's directory, by where it is now. */
static char *name_of(const struct directory_handle *handle)
{
	char path[PATH_MAX], link[64];
	int fd = directory_handle_open(root, handle);

	ck_assert_int_ge(fd, 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path) - 1);
	ck_assert_int_gt(len, 0);
	path[len] = '\0';
	close(fd);
	return g_path_get_basename(path);
}

static char *names_in(const char *path)
{
	g_autoptr(GString) names = g_string_new(NULL);
	struct directory_list list = {0};
	struct directory_handle handle;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int64_t position = 0;
	bool end = false;

	ck_assert_int_ge(fd, 0);
	while (!end)
		ck_assert_int_eq(directory_read(fd, &scope, &position, &end, &list, NULL), 0);
	while (directory_list_take(&list, &handle)) {
		g_autofree char *name = name_of(&handle);

		g_string_append_printf(names, "%s ", name);
	}
	ck_assert_ptr_null(list.packed);
	close(fd);
	return g_string_free(g_steal_pointer(&names), FALSE);
}

static void touch(const char *path, time_t when)
{
	struct timespec times[2] = {{when, 0}, {when, 0}};

	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

START_TEST(newest_first)
{
	tree_dirs((const char *const[]){"old", "new", "middle", "future", NULL});
	touch("old", 1000);
	touch("new", 3000);
	touch("middle", 2000);
	touch("future", 10000000000); /* no number of nanoseconds in 64 bits */
	g_autofree char *names = names_in(".");
	ck_assert_str_eq(names, "future new middle old ");
}
END_TEST

START_TEST(only_directories_of_this_file_system)
{
	tree_dirs((const char *const[]){MIGRATE_PRIVATE_DIR, "a", "a/" MIGRATE_PRIVATE_DIR, "other",
					"bound", NULL});
	ck_assert_int_eq(mknod("file", S_IFREG | 0600, 0), 0);
	ck_assert_int_eq(mkfifo("fifo", 0600), 0);
	ck_assert_int_eq(symlink("a", "link"), 0);
	ck_assert_int_eq(mount("tmpfs", "other", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(mount("a", "bound", NULL, MS_BIND, NULL), 0);
	g_autofree char *names = names_in(".");
	g_autofree char *below = names_in("a");
	ck_assert_str_eq(names, "a ");
	/* Private at the root alone. */
	ck_assert_str_eq(below, MIGRATE_PRIVATE_DIR " ");
}
END_TEST

START_TEST(wide_in_parts)
{
	const unsigned width = 3 * DIRECTORY_BATCH + 7;
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	struct directory_handle handle;
	unsigned parts = 0;
	int64_t position = 0;
	bool end = false;

	for (unsigned i = 0; i < width; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		ck_assert_int_eq(mkdir(name, 0755), 0);
	}
	while (!end) {
		struct directory_list list = {0};
		unsigned count = 0;
		int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		ck_assert_int_eq(directory_read(fd, &scope, &position, &end, &list, NULL), 0);
		close(fd);
		while (directory_list_take(&list, &handle)) {
			ck_assert(g_hash_table_add(seen, name_of(&handle)));
			count++;
		}
		ck_assert_uint_le(count, DIRECTORY_BATCH);
		parts++;
	}
	ck_assert_uint_eq(g_hash_table_size(seen), width);
	ck_assert_uint_ge(parts, 4);
}
END_TEST

START_TEST(handles_outlive_renames)
{
	struct directory_handle handle, same;

	tree_dirs((const char *const[]){"a", "b", "b/c", NULL});
	int fd = open("a", O_PATH | O_CLOEXEC);
	ck_assert_int_eq(directory_handle_get(fd, &handle), 0);
	ck_assert_int_eq(rename("a", "b/c/moved"), 0);
	g_autofree char *name = name_of(&handle);
	ck_assert_str_eq(name, "moved");
	ck_assert_int_eq(directory_handle_get(fd, &same), 0);
	ck_assert(directory_handle_equal(&handle, &same));
	ck_assert_uint_eq(directory_handle_hash(&handle), directory_handle_hash(&same));
	close(fd);
	ck_assert_int_eq(rmdir("b/c/moved"), 0);
	ck_assert_int_eq(directory_handle_open(root, &handle), -ESTALE);
}
END_TEST

START_TEST(removed_while_open)
{
	struct directory_list list = {0};
	int64_t position = 0;
	bool end = false;

	tree_dirs((const char *const[]){"a", NULL});
	int fd = open("a", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(rmdir("a"), 0);
	ck_assert_int_eq(directory_read(fd, &scope, &position, &end, &list, NULL), 0);
	ck_assert(end);
	ck_assert_ptr_null(list.packed);
	close(fd);
}
END_TEST

int main(void)
{
	/* A forked test has a mount of its own. */
	TCase *tcase = tcase_create("directory");

	tcase_add_checked_fixture(tcase, tree_mount, NULL);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, newest_first);
	tcase_add_test(tcase, only_directories_of_this_file_system);
	tcase_add_test(tcase, wide_in_parts);
	tcase_add_test(tcase, handles_outlive_renames);
	tcase_add_test(tcase, removed_while_open);
	return run_tcase(tcase);
}
