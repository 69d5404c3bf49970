/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/old.h"

#include "lib/base/lease.h"
#include "tests/ctl/rollback/trees.h"

#include <linux/magic.h>
#include <sys/statfs.h>

static struct old *old;

/* The linker wraps these: an NFS client writes later, and has had an error. */
static bool is_nfs, over_quota;

int __real_fstatfs64(int fd, struct statfs *fs);
int __wrap_fstatfs64(int fd, struct statfs *fs);
int __wrap_fstatfs64(int fd, struct statfs *fs)
{
	int ret = __real_fstatfs64(fd, fs);

	if (is_nfs)
		fs->f_type = NFS_SUPER_MAGIC;
	return ret;
}

static int fail_over_quota(int ret)
{
	if (over_quota)
		errno = EDQUOT;
	return over_quota ? -1 : ret;
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	return fail_over_quota(__real_fsync(fd));
}

int __real_syncfs(int fd);
int __wrap_syncfs(int fd);
int __wrap_syncfs(int fd)
{
	return fail_over_quota(__real_syncfs(fd));
}

START_TEST(stays_below)
{
	struct stat st;

	old = old_begun();
	sh("cd " OLD_TREE
	   " && ln -s / out && ln -s a in && mkdir mount && mount -t tmpfs x mount && "
	   "touch mount/file");
	ck_assert_int_eq(old_stat(old, "out/etc", &st), -ENOTDIR);
	ck_assert_int_eq(old_stat(old, "in/1", &st), -ENOTDIR);
	ck_assert_int_eq(old_stat(old, "a/../../new", &st), -EXDEV);
	ck_assert_int_eq(old_stat(old, "mount/file", &st), -EXDEV);
	ck_assert_int_eq(old_create(old, "out/tmp/made", NULL), -ELOOP);
	ck_assert_int_eq(old_remove(old, "in/1", false), -ENOTDIR);
	ck_assert_int_eq(old_rename(old, "a/1", "out/tmp/1", false), -ELOOP);
	ck_assert_int_eq(old_stat(old, "out", &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	old_close(old);
}
END_TEST

static uint64_t number_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(old_stat(old, path, &st), 0);
	return st.st_ino;
}

/* Objects in several have one number, and it is not one object. */
START_TEST(subvolumes)
{
	const char *const dirs[] = {"", "a", "b"};
	int ret;

	trees_make(FILL);
	sh("truncate -s 200M /mnt/image && mkfs.btrfs -q /mnt/image && mount -o loop "
	   "/mnt/image " OLD_TREE " && cd " OLD_TREE
	   " && btrfs subvolume create a && touch a/file && "
	   "btrfs subvolume snapshot a b && touch file");
	old = old_open(OLD_TREE, NULL);
	ck_assert_uint_ne(number_of("a"), number_of("b"));
	ck_assert_uint_ne(number_of("a/file"), number_of("b/file"));
	ck_assert_uint_ne(number_of("a/file"), number_of("file"));
	for (size_t i = 0; i < G_N_ELEMENTS(dirs); i++) {
		g_autoptr(GHashTable) names = old_list(old, dirs[i], &ret);
		GHashTableIter iter;
		gpointer value;

		g_hash_table_iter_init(&iter, names);
		while (g_hash_table_iter_next(&iter, NULL, &value)) {
			const struct old_name *name = value;
			g_autofree char *path = old_path(dirs[i], name->name);

			ck_assert_uint_eq(name->fileid, number_of(path));
		}
	}
	old_close(old);
}
END_TEST

START_TEST(directory_that_moved)
{
	struct stat st;
	int ret;

	old = old_begun();
	ck_assert_int_eq(old_stat(old, "a/b/x", &st), 0);
	ck_assert_int_eq(old_rename(old, "a/b", "e/b", true), 0);
	ck_assert_int_eq(old_stat(old, "a/b/x", &st), -ENOENT);
	ck_assert_int_eq(old_stat(old, "e/b/x", &st), 0);
	g_autoptr(GHashTable) names = old_list(old, "e", &ret);
	ck_assert(g_hash_table_contains(names, "b"));
	ck_assert_uint_eq(g_hash_table_size(names), 2);
	g_autoptr(GHashTable) root = old_list(old, "", &ret);
	ck_assert(!g_hash_table_contains(root, OLD_STAGE));
	ck_assert_ptr_null(old_list(old, "none", &ret));
	ck_assert_int_eq(ret, -ENOENT);
	old_close(old);
}
END_TEST

START_TEST(reading)
{
	struct old_file *file;
	char text[16] = "";
	int ret;

	old = old_begun();
	for (int data = 0; data < 2; data++) {
		ck_assert_int_eq(old_file_open(old, "a/3", data, &file), 0);
		ck_assert_int_eq(old_file_read(file, text, sizeof(text), 1), 4);
		ck_assert_mem_eq(text, "ld3\n", 4);
		ck_assert_int_eq(old_file_read(file, text, sizeof(text), 5), 0);
		old_file_close(file);
	}
	g_autofree char *link = old_read_link(old, "a/symlink", &ret);
	ck_assert_str_eq(link, "1");
	ck_assert_ptr_null(old_read_link(old, "a/3", &ret));
	ck_assert_int_eq(ret, -EINVAL);
	ck_assert_ptr_null(old_read_link(old, "none/3", &ret));
	ck_assert_int_eq(ret, -ENOENT);
	old_close(old);
}
END_TEST

/* In one step; what stood there comes to OLD_STAGE, and who has it open to write is seen. */
START_TEST(takes_a_place)
{
	int fd;

	old = old_begun();
	sh("echo new >" OLD_TREE "/" OLD_STAGE "/n");
	ck_assert_int_eq(old_rename_new(old, OLD_STAGE "/n", "a/1", false), -EEXIST);
	fd = open(OLD_TREE "/a/1", O_WRONLY);
	ck_assert_int_eq(old_replace(old, OLD_STAGE "/n", "a/1", OLD_STAGE "/o"), 0);
	sh("cd " OLD_TREE " && grep -qx new a/1 && grep -qx old1 " OLD_STAGE
	   "/o && test ! -e " OLD_STAGE "/n");
	ck_assert(old_is_open(old, OLD_STAGE "/o"));
	close(fd);
	ck_assert(!old_is_open(old, OLD_STAGE "/o"));
	/* what is kept there is not lost to the next one */
	sh("echo newer >" OLD_TREE "/" OLD_STAGE "/n");
	ck_assert_int_eq(old_replace(old, OLD_STAGE "/n", "a/2", OLD_STAGE "/o"), -EEXIST);
	sh("cd " OLD_TREE " && grep -qx old2 a/2 && grep -qx old1 " OLD_STAGE
	   "/o && grep -qx newer " OLD_STAGE "/n");
	ck_assert_int_eq(old_replace(old, OLD_STAGE "/n", "a/none", OLD_STAGE "/p"), -ENOENT);
	ck_assert_int_eq(old_rename_new(old, OLD_STAGE "/o", "a/none", false), 0);
	old_close(old);
}
END_TEST

START_TEST(written_alone)
{
	struct old_file *file;
	struct stat st;
	int fd;

	old = old_begun();
	fd = open(OLD_TREE "/a/1", O_WRONLY);
	ck_assert_int_eq(old_file_open(old, "a/1", true, &file), -EAGAIN);
	close(fd);
	ck_assert_int_eq(old_file_open(old, "a/1", true, &file), 0);
	ck_assert_int_eq(open(OLD_TREE "/a/1", O_WRONLY | O_NONBLOCK), -1);
	ck_assert_int_eq(old_file_stat(file, &st), 0);
	lease_break_s = 0;
	ck_assert_int_eq(old_file_stat(file, &st), -EBUSY);
	old_file_close(file);
	old_close(old);
}
END_TEST

/* What goes to a directory with a project becomes of that. */
START_TEST(projects)
{
	GError *error = NULL;
	int64_t skew;

	trees_make(FILL);
	sh("truncate -s 320M /mnt/image && mkfs.xfs -q /mnt/image && mount -o loop "
	   "/mnt/image " OLD_TREE " && cd " OLD_TREE
	   " && mkdir -p a/d/e b && touch a/f a/d/e/g && chattr -R -p 7 a && "
	   "chattr +P a a/d a/d/e && chattr -p 8 b && chattr +P b && chattr -p 42 . && chattr +P "
	   ".");
	old = old_open(OLD_TREE, &error);
	ck_assert(old_begin(old, &skew, &error));
	ck_assert_int_eq(old_rename(old, "a/f", OLD_STAGE "/1", false), 0);
	ck_assert_int_eq(old_rename(old, OLD_STAGE "/1", "b/f", false), 0);
	ck_assert_int_eq(old_rename(old, "a/d", "b/d", true), 0);
	sh("cd " OLD_TREE " && lsattr -pd b/f b/d b/d/e b/d/e/g | awk '$1 != 8 { exit 1 }'");
	old_close(old);
}
END_TEST

static void ignore_loss(void *arg, const char *what)
{
	(void)arg;
	(void)what;
}

static int give_over_quota(const char *text)
{
	struct attrs attrs = {0};
	struct old_file *file;
	int fd = open(OLD_TREE "/a/1", O_PATH), ret;

	ck_assert_int_eq(attrs_read(fd, &attrs), 0);
	close(fd);
	ck_assert_int_eq(old_create(old, OLD_STAGE "/n", &file), 0);
	ck_assert_int_eq(*text ? old_file_write(file, text, strlen(text), 0) : 0, 0);
	over_quota = true;
	ret = old_file_give(file, &attrs, &(struct volume_config){0}, ignore_loss, NULL);
	old_file_close(file);
	attrs_clear(&attrs);
	return ret;
}

START_TEST(errors_that_come_later)
{
	is_nfs = true;
	old = old_begun();
	ck_assert_int_eq(give_over_quota("text"), -EDQUOT);
	ck_assert_int_eq(old_sync(old), 0);
	over_quota = false;
	ck_assert_int_eq(old_remove(old, OLD_STAGE "/n", false), 0);
	ck_assert_int_eq(give_over_quota(""), 0);
	old_close(old);
}
END_TEST

START_TEST(errors_of_what_is_not_told_by_file)
{
	old = old_begun();
	ck_assert_int_eq(give_over_quota("text"), 0);
	ck_assert_int_eq(old_sync(old), -EDQUOT);
	old_close(old);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("old_mount");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, stays_below);
	tcase_add_test(tcase, subvolumes);
	tcase_add_test(tcase, directory_that_moved);
	tcase_add_test(tcase, reading);
	tcase_add_test(tcase, projects);
	tcase_add_test(tcase, errors_that_come_later);
	tcase_add_test(tcase, errors_of_what_is_not_told_by_file);
	tcase_add_test(tcase, takes_a_place);
	tcase_add_test(tcase, written_alone);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
