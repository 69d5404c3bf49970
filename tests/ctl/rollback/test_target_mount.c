/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/target.h"

#include "lib/base/lease.h"
#include "tests/ctl/rollback/trees.h"

#include <linux/magic.h>
#include <sys/statfs.h>

static struct target *target;

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

	target = target_begun();
	sh("cd " OLD_TREE
	   " && ln -s / out && ln -s a in && mkdir mount && mount -t tmpfs x mount && "
	   "touch mount/file");
	ck_assert_int_eq(target_stat(target, "out/etc", &st), -ENOTDIR);
	ck_assert_int_eq(target_stat(target, "in/1", &st), -ENOTDIR);
	ck_assert_int_eq(target_stat(target, "a/../../new", &st), -EXDEV);
	ck_assert_int_eq(target_stat(target, "mount/file", &st), -EXDEV);
	ck_assert_int_eq(target_create(target, "out/tmp/made", NULL), -ELOOP);
	ck_assert_int_eq(target_remove(target, "in/1", false), -ENOTDIR);
	ck_assert_int_eq(target_rename(target, "a/1", "out/tmp/1", false), -ELOOP);
	ck_assert_int_eq(target_stat(target, "out", &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	target_close(target);
}
END_TEST

static uint64_t number_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(target_stat(target, path, &st), 0);
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
	target = target_open(OLD_TREE, NULL);
	ck_assert_uint_ne(number_of("a"), number_of("b"));
	ck_assert_uint_ne(number_of("a/file"), number_of("b/file"));
	ck_assert_uint_ne(number_of("a/file"), number_of("file"));
	for (size_t i = 0; i < G_N_ELEMENTS(dirs); i++) {
		g_autoptr(GHashTable) names = target_list(target, dirs[i], &ret);
		GHashTableIter iter;
		gpointer value;

		g_hash_table_iter_init(&iter, names);
		while (g_hash_table_iter_next(&iter, NULL, &value)) {
			const struct target_name *name = value;
			g_autofree char *path = target_path(dirs[i], name->name);

			ck_assert_uint_eq(name->fileid, number_of(path));
		}
	}
	target_close(target);
}
END_TEST

START_TEST(directory_that_moved)
{
	struct stat st;
	int ret;

	target = target_begun();
	ck_assert_int_eq(target_stat(target, "a/b/x", &st), 0);
	ck_assert_int_eq(target_rename(target, "a/b", "e/b", true), 0);
	ck_assert_int_eq(target_stat(target, "a/b/x", &st), -ENOENT);
	ck_assert_int_eq(target_stat(target, "e/b/x", &st), 0);
	g_autoptr(GHashTable) names = target_list(target, "e", &ret);
	ck_assert(g_hash_table_contains(names, "b"));
	ck_assert_uint_eq(g_hash_table_size(names), 2);
	g_autoptr(GHashTable) root = target_list(target, "", &ret);
	ck_assert(!g_hash_table_contains(root, TARGET_STAGE));
	ck_assert_ptr_null(target_list(target, "none", &ret));
	ck_assert_int_eq(ret, -ENOENT);
	target_close(target);
}
END_TEST

START_TEST(reading)
{
	struct target_file *file;
	char text[16] = "";
	int ret;

	target = target_begun();
	for (int data = 0; data < 2; data++) {
		ck_assert_int_eq(target_file_open(target, "a/3", data, &file), 0);
		ck_assert_int_eq(target_file_read(file, text, sizeof(text), 1), 4);
		ck_assert_mem_eq(text, "ld3\n", 4);
		ck_assert_int_eq(target_file_read(file, text, sizeof(text), 5), 0);
		target_file_close(file);
	}
	g_autofree char *link = target_read_link(target, "a/symlink", &ret);
	ck_assert_str_eq(link, "1");
	ck_assert_ptr_null(target_read_link(target, "a/3", &ret));
	ck_assert_int_eq(ret, -EINVAL);
	ck_assert_ptr_null(target_read_link(target, "none/3", &ret));
	ck_assert_int_eq(ret, -ENOENT);
	target_close(target);
}
END_TEST

/* In one step; what stood there comes to TARGET_STAGE, and who has it open to write is seen. */
START_TEST(takes_a_place)
{
	int fd;

	target = target_begun();
	sh("echo new >" OLD_TREE "/" TARGET_STAGE "/n");
	ck_assert_int_eq(target_rename_new(target, TARGET_STAGE "/n", "a/1", false), -EEXIST);
	fd = open(OLD_TREE "/a/1", O_WRONLY);
	ck_assert_int_eq(target_replace(target, TARGET_STAGE "/n", "a/1", TARGET_STAGE "/o"), 0);
	sh("cd " OLD_TREE " && grep -qx new a/1 && grep -qx old1 " TARGET_STAGE
	   "/o && test ! -e " TARGET_STAGE "/n");
	ck_assert(target_is_open(target, TARGET_STAGE "/o"));
	close(fd);
	ck_assert(!target_is_open(target, TARGET_STAGE "/o"));
	/* what is kept there is not lost to the next one */
	sh("echo newer >" OLD_TREE "/" TARGET_STAGE "/n");
	ck_assert_int_eq(target_replace(target, TARGET_STAGE "/n", "a/2", TARGET_STAGE "/o"),
			 -EEXIST);
	sh("cd " OLD_TREE " && grep -qx old2 a/2 && grep -qx old1 " TARGET_STAGE
	   "/o && grep -qx newer " TARGET_STAGE "/n");
	ck_assert_int_eq(target_replace(target, TARGET_STAGE "/n", "a/none", TARGET_STAGE "/p"),
			 -ENOENT);
	ck_assert_int_eq(target_rename_new(target, TARGET_STAGE "/o", "a/none", false), 0);
	target_close(target);
}
END_TEST

START_TEST(written_alone)
{
	struct target_file *file;
	struct stat st;
	int fd;

	target = target_begun();
	fd = open(OLD_TREE "/a/1", O_WRONLY);
	ck_assert_int_eq(target_file_open(target, "a/1", true, &file), -EAGAIN);
	close(fd);
	ck_assert_int_eq(target_file_open(target, "a/1", true, &file), 0);
	ck_assert_int_eq(open(OLD_TREE "/a/1", O_WRONLY | O_NONBLOCK), -1);
	ck_assert_int_eq(target_file_stat(file, &st), 0);
	lease_break_s = 0;
	ck_assert_int_eq(target_file_stat(file, &st), -EBUSY);
	target_file_close(file);
	target_close(target);
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
	target = target_open(OLD_TREE, &error);
	ck_assert(target_begin(target, &skew, &error));
	ck_assert_int_eq(target_rename(target, "a/f", TARGET_STAGE "/1", false), 0);
	ck_assert_int_eq(target_rename(target, TARGET_STAGE "/1", "b/f", false), 0);
	ck_assert_int_eq(target_rename(target, "a/d", "b/d", true), 0);
	sh("cd " OLD_TREE " && lsattr -pd b/f b/d b/d/e b/d/e/g | awk '$1 != 8 { exit 1 }'");
	target_close(target);
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
	struct target_file *file;
	int fd = open(OLD_TREE "/a/1", O_PATH), ret;

	ck_assert_int_eq(attrs_read(fd, &attrs), 0);
	close(fd);
	ck_assert_int_eq(target_create(target, TARGET_STAGE "/n", &file), 0);
	ck_assert_int_eq(*text ? target_file_write(file, text, strlen(text), 0) : 0, 0);
	over_quota = true;
	ret = target_file_give(file, &attrs, &(struct volume_config){0}, ignore_loss, NULL);
	target_file_close(file);
	attrs_clear(&attrs);
	return ret;
}

START_TEST(errors_that_come_later)
{
	is_nfs = true;
	target = target_begun();
	ck_assert_int_eq(give_over_quota("text"), -EDQUOT);
	ck_assert_int_eq(target_sync(target), 0);
	ck_assert_int_eq(target_try(target, -EDQUOT), -EDQUOT);
	over_quota = false;
	ck_assert_int_eq(target_try(target, -EDQUOT), 0);
	ck_assert_int_eq(target_remove(target, TARGET_STAGE "/n", false), 0);
	ck_assert_int_eq(give_over_quota(""), 0);
	target_close(target);
}
END_TEST

START_TEST(errors_of_what_is_not_told_by_file)
{
	target = target_begun();
	ck_assert_int_eq(give_over_quota("text"), 0);
	ck_assert_int_eq(target_sync(target), -EDQUOT);
	target_close(target);
}
END_TEST

int main(void)
{
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
	return run_tcase(tcase);
}
