/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/record.h"
#include "tests/suite.h"

static char tree[64];

static void set_up(void)
{
	make_scratch(tree, "mounts");
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	/* the rest is in memory, and gone with the namespace */
	ck_assert_int_eq(mount("tmpfs", tree, "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(chdir(tree), 0);
}

static void tear_down(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	umount2(tree, MNT_DETACH);
	ck_assert_int_eq(rmdir(tree), 0);
}

static void make_directories(const char *const *names)
{
	for (; *names; names++)
		ck_assert_int_eq(mkdir(*names, 0755), 0);
}

#define MAKE(...) make_directories((const char *const[]){__VA_ARGS__, NULL})

/* What is had for a path below: whether it is the directory `is`, and the whole of the path. */
static int opened(const char *name, const char *is, bool whole)
{
	char path[256];
	struct stat st, expected;
	bool all;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", tree, name);
	fd = migrate_open_served(path, &all);
	if (fd < 0)
		return fd;
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(stat(is, &expected), 0);
	close(fd);
	return st.st_dev == expected.st_dev && st.st_ino == expected.st_ino && all == whole;
}

START_TEST(paths)
{
	char target[128];

	MAKE("a", "a/b", "with space");
	snprintf(target, sizeof(target), "%s/a", tree);
	ck_assert_int_eq(symlink(target, "link"), 0);
	ck_assert_int_eq(symlink("../link/b", "a/up"), 0);
	ck_assert_int_eq(symlink("loop", "loop"), 0);
	close(open("file", O_CREAT | O_WRONLY, 0600));
	ck_assert_int_eq(opened("a/b", "a/b", true), 1);
	ck_assert_int_eq(opened("./a//b/", "a/b", true), 1);
	ck_assert_int_eq(opened("a/../a/b/..", "a", true), 1);
	ck_assert_int_eq(opened("link/b", "a/b", true), 1);
	ck_assert_int_eq(opened("a/up/..", "a", true), 1);
	ck_assert_int_eq(opened("a/nowhere/b", "a", false), 1);
	ck_assert_int_eq(opened("link/nowhere", "a", false), 1);
	ck_assert_int_eq(opened("file", ".", false), 1);
	ck_assert_int_eq(opened("loop/a", ".", false), 1);
	ck_assert_int_eq(mount("tmpfs", "with space", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(opened("with space", "with space", true), 1);
}
END_TEST

/* A FUSE file system whose program does not answer: who goes there stays. */
static void mount_dead(const char *name)
{
	const int fuse = open("/dev/fuse", O_RDWR);
	char options[128];

	ck_assert_int_ge(fuse, 0);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	ck_assert_int_eq(mount("dead", name, "fuse", 0, options), 0);
}

START_TEST(remote)
{
	MAKE("with space", "a", "a/b", "a/b/c");
	mount_dead("with space");
	ck_assert_int_eq(symlink("with space/x", "link"), 0);
	ck_assert_int_eq(opened("with space", ".", true), -EREMOTE);
	ck_assert_int_eq(opened("with space/x/y", ".", true), -EREMOTE);
	ck_assert_int_eq(opened("link", ".", true), -EREMOTE);
	ck_assert_int_eq(opened("a/b/c", "a/b/c", true), 1);
	/* under a local one, at its place and above: nobody comes there */
	mount_dead("a/b");
	ck_assert_int_eq(opened("a/b/c", ".", true), -EREMOTE);
	ck_assert_int_eq(mount("tmpfs", "a/b", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(opened("a/b/c", "a/b", false), 1);
	mount_dead("a/b");
	ck_assert_int_eq(mount("tmpfs", "a", "tmpfs", 0, NULL), 0);
	MAKE("a/b");
	ck_assert_int_eq(opened("a/b", "a/b", true), 1);
}
END_TEST

/* Local ones on an automount, which would bring about others. */
START_TEST(automounts)
{
	int ends[2];
	char options[128];

	MAKE("auto");
	ck_assert_int_eq(pipe2(ends, O_DIRECT), 0);
	snprintf(options, sizeof(options), "fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect", ends[1],
		 (int)getpgrp());
	if (mount("auto", "auto", "autofs", 0, options) < 0)
		return; /* this kernel has none */
	ck_assert_int_eq(opened("auto", ".", true), -EREMOTE);
	MAKE("auto/volume", "auto/volume/a");
	ck_assert_int_eq(mount("tmpfs", "auto/volume", "tmpfs", 0, NULL), 0);
	MAKE("auto/volume/a");
	ck_assert_int_eq(opened("auto/volume/a", "auto/volume/a", true), 1);
	ck_assert_int_eq(opened("auto/volume/", "auto/volume", true), 1);
	ck_assert_int_eq(opened("auto", "auto", true), 1);
	ck_assert_int_eq(opened("auto/vol", ".", true), -EREMOTE);
	ck_assert_int_eq(opened("auto/other", ".", true), -EREMOTE);
	ck_assert_int_eq(opened("auto/other/../volume", "auto", false), 1);
}
END_TEST

static void put_record(const char *directory)
{
	struct migrate_record record = {.state = MIGRATE_UNFILLED};
	const int fd = open(directory, O_RDONLY | O_DIRECTORY);

	ck_assert_int_eq(migrate_binding_get(fd, "", &record.binding), 0);
	ck_assert_int_eq(migrate_record_store(fd, &record), 0);
	close(fd);
}

static bool overlaps(const char *name, const char *other)
{
	const int fd = open(name, O_PATH | O_DIRECTORY), dir_fd = open(other, O_PATH | O_DIRECTORY);
	const bool overlap = migrate_overlap(fd, dir_fd);

	ck_assert(fd >= 0 && dir_fd >= 0);
	close(fd);
	close(dir_fd);
	return overlap;
}

/* What is mounted there a second time is shown by a directory above it, too. */
START_TEST(second_mounts)
{
	MAKE("volume", "volume/a", "all", "all/at", "all/dead", "beside");
	ck_assert_int_eq(mount("tmpfs", "volume", "tmpfs", 0, NULL), 0);
	MAKE("volume/a", "volume/b");
	mount_dead("all/dead");
	ck_assert(!overlaps("all", "volume"));
	ck_assert_int_eq(mount("volume", "all/at", NULL, MS_BIND, NULL), 0);
	ck_assert(overlaps("all", "volume"));
	ck_assert(overlaps("all", "volume/a"));
	ck_assert(!overlaps("beside", "volume"));
	ck_assert_int_eq(umount2("all/at", 0), 0);
	ck_assert_int_eq(mount("volume/a", "all/at", NULL, MS_BIND, NULL), 0);
	ck_assert(overlaps("all", "volume/a"));
	ck_assert(!overlaps("all", "volume")); /* a part of it that is whole */
	put_record("volume/a");
	ck_assert(overlaps("all", "volume"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mounts");
	TCase *tcase = tcase_create("mounts");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, paths);
	tcase_add_test(tcase, remote);
	tcase_add_test(tcase, automounts);
	tcase_add_test(tcase, second_mounts);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
