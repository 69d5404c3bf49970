/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/attach_look.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/record.h"
#include "tests/suite.h"

static char root[64];

static void set_up(void)
{
	make_scratch(root, "attach_look");
}

/* In the root. */
static void shell(const char *command)
{
	const char *const argv[] = {"sh", "-c", command, NULL};
	int status = -1;

	ck_assert(g_spawn_sync(root, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
			       NULL, &status, NULL));
	ck_assert_int_eq(status, 0);
}

/* What is said, and that nothing of the root was changed. */
static void said(bool adopt, int wanted, const char *words)
{
	g_autofree char *message = NULL;
	const int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat before, after;

	ck_assert_int_eq(fstat(fd, &before), 0);
	ck_assert_int_eq(attach_look(fd, root, adopt, &message), wanted);
	ck_assert_int_eq(fstat(fd, &after), 0);
	ck_assert_mem_eq(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim));
	if (words)
		ck_assert_msg(message && strstr(message, words), "%s", message);
	else
		ck_assert_ptr_null(message);
	close(fd);
}

START_TEST(flags)
{
	shell("touch log");
	said(true, 0, NULL);
	shell("chattr +i log");
	said(true, -EPERM, "/log: it is immutable (chattr +i): take that off, then attach again");
	said(false, 0, NULL); /* attach alone says that it is not empty */
	shell("chattr -i log");
	shell("chattr +a .");
	said(false, -EPERM, ": it is append-only (chattr +a)");
	shell("chattr -a .");
	shell("rm -r \"$PWD\"");
}
END_TEST

START_TEST(private_of_others)
{
	g_autofree char *path = g_build_filename(root, MIGRATE_PRIVATE_DIR, NULL);
	int fd;

	ck_assert_int_eq(mkdir(path, 0700), 0);
	said(true, 0, NULL); /* attach was about to make it */
	shell("touch .migrate/x");
	said(true, -EEXIST, ".migrate is not this volume's: rename it");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(migrate_private_mark(fd), 0);
	close(fd);
	said(true, 0, NULL);
	shell("rm -r \"$PWD\"");
}
END_TEST

START_TEST(mounts)
{
	g_autofree char *path = g_build_filename(root, "data", NULL);

	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	said(true, 0, NULL);
	ck_assert_int_eq(mount("none", path, "tmpfs", 0, NULL), 0);
	said(true, -EBUSY, "/data: something is mounted there: unmount it, then attach again");
	ck_assert_int_eq(umount2(path, MNT_DETACH), 0);
	said(true, 0, NULL);
	shell("rm -r \"$PWD\"");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("attach_look");

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, flags);
	tcase_add_test(tcase, private_of_others);
	tcase_add_test(tcase, mounts);
	return run_tcase(tcase);
}
