/* SPDX-License-Identifier: GPL-3.0-or-later */
/* File systems that lack something: real ones, and calls that fail. */
#include "tests/suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/record.h"
#include "retriever/volume/probe.h"

static char root[] = "/var/tmp/migrate-test-XXXXXX";
static const char *failing; /* the call */
static bool silently;	    /* it does nothing and succeeds */
static mode_t failing_type;

static bool fails(const char *call)
{
	errno = EOPNOTSUPP;
	return g_strcmp0(failing, call) == 0;
}

#define FAILING(name, parameters, ...)                                                             \
	int name parameters                                                                        \
	{                                                                                          \
		return fails(#name) ? (silently ? 0 : -1) : syscall(SYS_##name, __VA_ARGS__);      \
	}

/* clang-format off */
FAILING(linkat, (int a, const char *b, int c, const char *d, int e), a, b, c, d, e)
FAILING(open_by_handle_at, (int a, struct file_handle *b, int c), a, b, c)
FAILING(fsetxattr, (int a, const char *b, const void *c, size_t d, int e), a, b, c, d, e)
FAILING(renameat2, (int a, const char *b, int c, const char *d, unsigned e), a, b, c, d, e)
FAILING(symlinkat, (const char *a, int b, const char *c), a, b, c)
FAILING(flock, (int a, int b), a, b)
FAILING(fchown, (int a, uid_t b, gid_t c), a, b, c)
FAILING(fchmod, (int a, mode_t b), a, b)
/* clang-format on */

int mknodat(int fd, const char *name, mode_t mode, dev_t dev)
{
	if (fails("mknodat") && (mode & S_IFMT) == failing_type)
		return -1;
	return syscall(SYS_mknodat, fd, name, mode, dev);
}

off_t lseek(int fd, off_t offset, int whence)
{
	/* as where it is not known what is data */
	if (fails("lseek") && whence == SEEK_DATA)
		return offset;
	return syscall(SYS_lseek, fd, offset, whence);
}

/* Names that are one there. */
static const char *folded[2];

int fstatat(int fd, const char *name, struct stat *st, int flags)
{
	if (folded[0] && !strcmp(name, folded[0]))
		name = folded[1];
	return syscall(SYS_newfstatat, fd, name, st, flags);
}

static bool has_epoch = true;

bool migrate_mount_epoch(int fd, uint8_t *epoch)
{
	return has_epoch;
}

static int counter = -1; /* of the errors that it found in itself */

int migrate_mount_errors(int fd)
{
	return dup(counter);
}

static void setup(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static void teardown(void)
{
	umount(root);
	ck_assert_int_eq(rmdir(root), 0);
}

static unsigned names(void)
{
	DIR *dir = opendir(root);
	unsigned n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* What it says; "" where nothing is missing.  Nothing is left behind. */
static char *probe(void)
{
	int fd = open(root, O_RDONLY | O_DIRECTORY), ret;
	unsigned before = names();
	char *message = NULL;

	ret = probe_file_system(fd, &message);
	close(fd);
	ck_assert_uint_eq(names(), before);
	ck_assert(!!ret == !!message);
	ck_assert(!message || !strchr(message, '\n'));
	return message ? message : g_strdup("");
}

static void expect(const char *what)
{
	g_autofree char *message = probe();

	ck_assert_msg(what ? strstr(message, what) != NULL : !*message, "%s, not %s", message,
		      what ? what : "nothing");
}

static void on(const char *commands)
{
	g_autofree char *line = g_strdup_printf("cd %s && { %s; }", root, commands);

	ck_assert_msg(system(line) == 0, "%s", line);
}

START_TEST(file_systems_that_will_do)
{
	static const char *const types[] = {"ext4 -b 4096", "xfs", "btrfs"};
	g_autofree char *line = g_strdup_printf("truncate -s 320M image && mkfs.%s -q image >&2 && "
						"mount -o loop image %s && rm image",
						types[_i], root);

	on(line);
	expect(NULL);
}
END_TEST

START_TEST(memory_will_do)
{
	ck_assert_int_eq(mount("tmpfs", root, "tmpfs", 0, NULL), 0);
	expect(NULL);
}
END_TEST

START_TEST(file_systems_that_lack_something)
{
	static const struct {
		const char *commands, *missing;
	} v[] = {
		{"truncate -s 64M image && mkfs.ext4 -q -b 1024 image && mount -o loop image .",
		 "attributes of 4000 bytes"},
		{"mount -t ramfs ramfs .", "security.*"},
		{"mount -t tmpfs -o ro tmpfs .", "no directory can be made"},
	};

	on(v[_i].commands);
	expect(v[_i].missing);
	umount(root);
	on("rm -f image");
}
END_TEST

START_TEST(calls_that_fail)
{
	static const struct {
		const char *call, *missing;
		bool silently;
		mode_t type;
	} v[] = {
		{"linkat", "O_TMPFILE", false, 0},
		{"open_by_handle_at", "file handles", false, 0},
		{"fsetxattr", "security.*", false, 0},
		{"fsetxattr", "security.*", true, 0},
		{"renameat2", "renameat2", false, 0},
		{"renameat2", "renameat2", true, 0},
		{"symlinkat", "symbolic links", false, 0},
		{"mknodat", "device nodes", false, S_IFIFO},
		{"mknodat", "device nodes", false, S_IFSOCK},
		{"mknodat", "device nodes", false, S_IFCHR},
		{"mknodat", "device nodes", false, S_IFBLK},
		{"flock", "flock", false, 0},
		{"flock", "flock", true, 0},
		{"lseek", "holes", false, 0},
		{"fchown", "owners", false, 0},
		{"fchown", "owners", true, 0},
		{"fchmod", "owners", true, 0},
	};

	failing = v[_i].call;
	silently = v[_i].silently;
	failing_type = v[_i].type;
	expect(v[_i].missing);
}
END_TEST

/* In the root, as it was before it had one, below it, and by characters. */
START_TEST(names_that_are_one)
{
	static const char *const v[][2] = {
		{".MIGRATE", ".migrate"},
		{"FILE", "file"},
		{"e\u0301", "\u00e9"},
		{"\u00c9", "\u00e9"},
	};

	memcpy(folded, v[_i], sizeof(folded));
	expect("lacks names that differ in case, or in Unicode normalization, alone");
}
END_TEST

START_TEST(no_epoch)
{
	has_epoch = false;
	expect("one mount of it from the next");
}
END_TEST

START_TEST(damaged)
{
	counter = open("/var/tmp", O_TMPFILE | O_RDWR, 0600);
	ck_assert_int_eq(pwrite(counter, _i ? "3\n" : "0\n", 2, 0), 2);
	expect(_i ? "run e2fsck" : NULL);

	const int fd = open(root, O_RDONLY | O_DIRECTORY);
	g_autofree char *message = NULL;
	struct stat before, after;

	ck_assert_int_eq(fstat(fd, &before), 0);
	ck_assert_int_eq(probe_look(fd, &message), _i ? -EUCLEAN : 0);
	ck_assert(!_i == !message);
	ck_assert_int_eq(fstat(fd, &after), 0);
	ck_assert_mem_eq(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim));
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("probe");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, file_systems_that_will_do, 0, 3);
	tcase_add_test(tcase, memory_will_do);
	tcase_add_loop_test(tcase, file_systems_that_lack_something, 0, 3);
	tcase_add_loop_test(tcase, calls_that_fail, 0, 17);
	tcase_add_loop_test(tcase, names_that_are_one, 0, 4);
	tcase_add_test(tcase, no_epoch);
	tcase_add_loop_test(tcase, damaged, 0, 2);
	return run_tcase(tcase);
}
