/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"
#include "tests/retriever/core_xattrs.h"

#include "lib/report/losses.h"
#include "retriever/making/make.h"

static void make_source(void)
{
	g_autofree char *path = NULL;

	core_make(&core);
	core_source_file(&core, "d/file", 5000, 1);
	core_source_file(&core, "d/empty", 0, 2);
	core_source_file(&core, "d/sub/file", 100, 3);
	core_source_file(&core, "d/hard", 3000, 4);
	source_link("d/hard", "d/hard2");
	path = g_strconcat(core.source, "/d/link", NULL);
	ck_assert_int_eq(symlink("target", path), 0);
}

/* Whether a name that can be seen is whole: of the right size and mode, and a file with data only
 * with a record that lists all of it. */
static void check_visible(int dir)
{
	static const struct {
		const char *name;
		mode_t mode;
		off_t size;
	} want[] = {{"file", S_IFREG | 0644, 5000}, {"empty", S_IFREG | 0644, 0},
		    {"hard", S_IFREG | 0644, 3000}, {"hard2", S_IFREG | 0644, 3000},
		    {"sub", S_IFDIR | 0755, -1},    {"link", S_IFLNK | 0777, 6}};

	for (size_t i = 0; i < G_N_ELEMENTS(want); i++) {
		struct stat st;
		int fd;

		if (fstatat(dir, want[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		ck_assert_msg(st.st_mode == want[i].mode, "%s: %o", want[i].name, st.st_mode);
		if (want[i].size < 0)
			continue;
		ck_assert_msg(st.st_size == want[i].size, "%s: %ld", want[i].name,
			      (long)st.st_size);
		if (!S_ISREG(st.st_mode))
			continue;
		ck_assert_int_gt(st.st_mtim.tv_sec, 1000000000);
		ck_assert_int_lt(st.st_mtim.tv_sec, 1200000000);
		fd = openat(dir, want[i].name, O_RDONLY | O_CLOEXEC);
		ck_assert_uint_eq(core_missing(fd), want[i].size);
		close(fd);
	}
}

static unsigned count_staged(void)
{
	g_autofree char *path = core_path(&core, ".migrate/staging");
	DIR *dir = opendir(path);
	unsigned n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

/* Fills what make() makes in "d", killed before the nth step and begun again by the next retriever.
 * check() is called all the while.  A descriptor of "d". */
static int fill_killed(int nth, void (*make)(void), void (*check)(int dir))
{
	struct migrate_waiter *w;
	int dir;

	make();
	core_supervise(&core, 0);
	core_connect(&core);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	atomic_store(&core_shared->left, nth);
	w = core_ask_fill(&core, dir, 0);
	while (check && !core_killed() && core_state(dir) == MIGRATE_UNFILLED)
		check(dir);
	ck_assert_int_eq(core_wait(w), 0);
	if (check)
		check(dir);
	return dir;
}

/* Killed before every step of making them: what is visible is whole, and the next fill brings the
 * rest; what the crash left in .migrate is removed. */
START_TEST(i4_killed_at_every_step)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		int dir = fill_killed(nth, make_source, check_visible);

		killed = core_killed();
		core_disconnect(&core);
		core_end_supervision(&core);
		core_start(&core);
		ck_assert_uint_eq(count_staged(), 0);
		{
			int file = openat(dir, "hard2", O_RDONLY | O_CLOEXEC);

			ck_assert_int_eq(core_range(&core, file, 0, UINT64_MAX), 0);
			core_expect(file, 0, 3000, 4);
			close(file);
		}
		core_free_with(&core, dir);
		ck_assert_int_lt(nth, 300);
	}
}
END_TEST

/* I9: a record that was copied to another inode is void. */
START_TEST(i9_a_copied_record_is_void)
{
	g_autofree char *path = NULL;
	char value[4000];
	ssize_t len;
	int fd, copy;

	make_source();
	core_start(&core);
	fd = core_find(&core, "d/file", O_RDONLY);
	len = fgetxattr(fd, MIGRATE_XATTR, value, sizeof(value));
	ck_assert_int_gt(len, 0);
	path = core_path(&core, "copy");
	copy = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_eq(ftruncate(copy, 5000), 0);
	ck_assert_int_eq(fsetxattr(copy, MIGRATE_XATTR, value, len, 0), 0);
	ck_assert_int_eq(core_state(copy), MIGRATE_NORMAL);
	ck_assert_int_eq(core_range(&core, copy, 0, UINT64_MAX), 0);
	core_expect_zeros(copy, 0, 5000);
	close(copy);
	core_free_with(&core, fd);
}
END_TEST

/* In a set-group-id directory: mode and owner are the old server's. */
START_TEST(i8_owner_and_mode)
{
	g_autofree char *dir_path = NULL, *path = NULL;
	struct stat st;
	int dir;

	make_source();
	dir_path = g_strconcat(core.source, "/d", NULL);
	path = g_strconcat(core.source, "/d/file", NULL);
	ck_assert_int_eq(chown(dir_path, 0, 77), 0);
	ck_assert_int_eq(chmod(dir_path, 02777), 0);
	ck_assert_int_eq(chown(path, 0, 0), 0);
	ck_assert_int_eq(chmod(path, 06755), 0);
	core_start(&core);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(dir), 0);
	ck_assert_int_eq(fstatat(dir, "file", &st, 0), 0);
	ck_assert_uint_eq(st.st_gid, 0);
	ck_assert_uint_eq(st.st_mode & 07777, 06755);
	ck_assert_int_eq(fstatat(dir, "sub", &st, 0), 0);
	ck_assert_uint_eq(st.st_gid, 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0755);
	core_free_with(&core, dir);
}
END_TEST

static const char acl[] = "u::6 u:1000:6 g::0 m::6 o::0";

/* 0660 on the old server, of which the group has nothing: it is the ACL's mask. */
static void make_source_with_acls(void)
{
	static const char *const names[] = {"d/file", "d/empty", "d/hard", "d/hard2"};

	make_source();
	core_carry(&core);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_strconcat(core.source, "/", names[i], NULL);

		ck_assert_int_eq(chmod(path, 0660), 0);
		core_source_acl(names[i], XATTR_ACL_ACCESS, acl);
	}
	core_source_acl("d/sub", XATTR_ACL_ACCESS, "u::7 u:1000:7 g::0 m::7 o::0");
	core_source_acl("d/sub", XATTR_ACL_DEFAULT, "u::7 u:1000:7 g::0 m::7 o::0");
}

/* Whether what can be seen has its ACL. */
static void check_acls(int dir)
{
	static const char *const names[] = {"file", "empty", "hard", "hard2"};
	int fd;

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		fd = openat(dir, names[i], O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		core_expect_acl(fd, XATTR_ACL_ACCESS, acl);
		close(fd);
	}
	fd = openat(dir, "sub", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	core_expect_acl(fd, XATTR_ACL_ACCESS, "u::7 u:1000:7 g::0 m::7 o::0");
	core_expect_acl(fd, XATTR_ACL_DEFAULT, "u::7 u:1000:7 g::0 m::7 o::0");
	close(fd);
}

START_TEST(i4_an_acl_is_there_before_the_name)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		int dir = fill_killed(nth, make_source_with_acls, check_acls);

		killed = core_killed();
		ck_assert_int_eq(faccessat(dir, "hard2", F_OK, 0), 0);
		close(dir);
		core_disconnect(&core);
		core_end_supervision(&core);
		core_free(&core);
		ck_assert_int_lt(nth, 400);
	}
}
END_TEST

/* The losses, too: a kill leaves nothing visible that is not in the report. */
START_TEST(i12_a_loss_is_reported_before_the_name)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		int dir;

		core_fail_xattr = "system.posix_acl_access";
		core_fail_errno = EOPNOTSUPP;
		dir = fill_killed(nth, make_source_with_acls, NULL);
		killed = core_killed();
		core_expect_report(&core, "/new/d/file\tthe ACL");
		core_expect_report(&core, "/new/d/empty\tthe ACL");
		core_expect_report(&core, "/new/d/hard");
		core_expect_report(&core, "/new/d/sub\tthe ACL");
		close(dir);
		core_disconnect(&core);
		core_end_supervision(&core);
		core_free(&core);
		ck_assert_int_lt(nth, 400);
	}
	core_fail_xattr = NULL;
}
END_TEST

/* Set by a client, on a directory that is a stub, and on the volume's root before it was one. */
START_TEST(i7_nothing_is_inherited)
{
	static const char *const names[] = {"file", "empty", "sub", "hard"};
	uint32_t len;
	g_autofree uint8_t *value = core_acl("u::7 u:1000:7 g::7 m::7 o::7", &len);
	int dir, fd;
	uint64_t id;

	make_source();
	ck_assert_int_eq(setxattr(core.root, XATTR_ACL_DEFAULT, value, len, 0), 0);
	core_start(&core);
	fd = core_root(&core);
	core_expect_acl(fd, XATTR_ACL_DEFAULT, NULL);
	close(fd);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	core_expect_acl(dir, XATTR_ACL_ACCESS, NULL);
	core_expect_acl(dir, XATTR_ACL_DEFAULT, NULL);
	ck_assert_int_eq(core_begin(&core, dir, -1, MIGRATE_ATTRIBUTES, 0, 0, &id), 0);
	ck_assert_int_eq(fsetxattr(dir, XATTR_ACL_DEFAULT, value, len, 0), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	ck_assert_int_eq(core_name_in(&core, dir, "empty"), 0);
	ck_assert_int_eq(fill(dir), 0);
	check_visible(dir);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		fd = openat(dir, names[i], O_RDONLY | O_CLOEXEC);
		core_expect_acl(fd, XATTR_ACL_ACCESS, NULL);
		if (!strcmp(names[i], "sub"))
			core_expect_acl(fd, XATTR_ACL_DEFAULT, NULL);
		close(fd);
	}
	core_expect_acl(dir, XATTR_ACL_DEFAULT, "u::7 u:1000:7 g::7 m::7 o::7");
	core_free_with(&core, dir);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("stub", 100);

	tcase_add_test(tcase, i4_killed_at_every_step);
	tcase_add_test(tcase, i9_a_copied_record_is_void);
	tcase_add_test(tcase, i8_owner_and_mode);
	tcase_add_test(tcase, i4_an_acl_is_there_before_the_name);
	tcase_add_test(tcase, i12_a_loss_is_reported_before_the_name);
	tcase_add_test(tcase, i7_nothing_is_inherited);
	return run_tcase(tcase);
}
