/* SPDX-License-Identifier: GPL-3.0-or-later */
/* File systems that lack something: real ones, and calls that fail. */
#include "tests/suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/record.h"
#include "retriever/objects/capabilities.h"

static char root[] = "/var/tmp/migrate-test-XXXXXX";
static const char *failing; /* the call */
static bool silently;	    /* it does nothing and succeeds */
static mode_t failing_type;

static enum capability without = CAPABILITIES; /* this one */
static int because = EOPNOTSUPP;
static bool is_full; /* nothing gets a name */
static bool no_room; /* nor is anything made without one */

static bool fails(const char *call)
{
	errno = because;
	return g_strcmp0(failing, call) == 0;
}

static bool lacks(enum capability which)
{
	errno = because;
	return without == which;
}

/* By a clock that stands still but for these calls. */
static gint64 now, rename_us, link_us[5];
static unsigned links;

gint64 g_get_monotonic_time(void)
{
	return now;
}

/* Without NOREPLACE, as on CephFS: Linux sees by itself that a name is there. */
static bool knows_names;

static bool is_free(int fd, const char *name)
{
	struct stat st;
	bool is = syscall(SYS_newfstatat, fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0;

	errno = because;
	return is;
}

static bool takes(bool counts, gint64 us)
{
	now += counts ? us : 0;
	return false;
}

#define FAILING(name, parameters, fails_besides, ...)                                              \
	int name parameters                                                                        \
	{                                                                                          \
		return fails(#name)    ? (silently ? 0 : -1)                                       \
		       : fails_besides ? -1                                                        \
				       : syscall(SYS_##name, __VA_ARGS__);                         \
	}

/* clang-format off */
#define NEVER 0
FAILING(linkat, (int a, const char *b, int c, const char *d, int e), takes(e & AT_EMPTY_PATH, link_us[e & AT_EMPTY_PATH ? links++ % 5 : 0]) || (lacks(CAPABILITY_LINKS) && !(e & AT_EMPTY_PATH)), a, b, c, d, e)
FAILING(open_by_handle_at, (int a, struct file_handle *b, int c), lacks(CAPABILITY_HANDLES), a, b, c)
FAILING(fsetxattr, (int a, const char *b, const void *c, size_t d, int e), lacks(CAPABILITY_MARKS) || (lacks(CAPABILITY_RECORDS) && d == MIGRATE_REC_MAX), a, b, c, d, e)
FAILING(renameat2, (int a, const char *b, int c, const char *d, unsigned e), takes(e & RENAME_NOREPLACE, rename_us) || (lacks(CAPABILITY_NOREPLACE) && e & RENAME_NOREPLACE && (!knows_names || is_free(c, d))) || (lacks(CAPABILITY_EXCHANGE) && e & RENAME_EXCHANGE), a, b, c, d, e)
FAILING(symlinkat, (const char *a, int b, const char *c), lacks(CAPABILITY_SYMLINKS), a, b, c)
FAILING(flock, (int a, int b), lacks(CAPABILITY_LOCKS), a, b)
FAILING(fchown, (int a, uid_t b, gid_t c), lacks(CAPABILITY_ATTRIBUTES), a, b, c)
FAILING(fchmod, (int a, mode_t b), NEVER, a, b)
/* clang-format on */

ssize_t fgetxattr(int fd, const char *name, void *value, size_t len)
{
	if ((lacks(CAPABILITY_ACLS) && g_str_has_prefix(name, "system.")) ||
	    (lacks(CAPABILITY_USER_XATTRS) && g_str_has_prefix(name, "user.")))
		return -1;
	return syscall(SYS_fgetxattr, fd, name, value, len);
}

int openat(int fd, const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	if (lacks(CAPABILITY_NAMELESS) && (flags & O_TMPFILE) == O_TMPFILE)
		return -1;
	if ((is_full && flags & O_CREAT) ||
	    (no_room && flags & (O_TMPFILE | O_CREAT) & ~O_DIRECTORY)) {
		errno = ENOSPC;
		return -1;
	}
	if (fails("openat") && flags & (O_TMPFILE | O_CREAT) & ~O_DIRECTORY)
		return -1;
	return syscall(SYS_openat, fd, name, flags, mode);
}

int fcntl(int fd, int command, ...)
{
	va_list args;
	long arg;

	va_start(args, command);
	arg = va_arg(args, long);
	va_end(args);
	return lacks(CAPABILITY_LEASES) && command == F_SETLEASE
		       ? -1
		       : syscall(SYS_fcntl, fd, command, arg);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	long arg;

	va_start(args, request);
	arg = va_arg(args, long);
	va_end(args);
	if ((lacks(CAPABILITY_PROJECTS) && request == FS_IOC_FSGETXATTR) ||
	    (lacks(CAPABILITY_FLAGS) && request == FS_IOC_GETFLAGS) ||
	    (lacks(CAPABILITY_CLONES) && request == FICLONE))
		return -1;
	return syscall(SYS_ioctl, fd, request, arg);
}

int statx(int fd, const char *path, int flags, unsigned mask, struct statx *st)
{
	int ret = syscall(SYS_statx, fd, path, flags, mask, st);

	if (lacks(CAPABILITY_BIRTH))
		st->stx_mask &= ~STATX_BTIME;
	return ret;
}

int futimens(int fd, const struct timespec times[2])
{
	const struct timespec cut[2] = {{times[0].tv_sec, 0}, {times[1].tv_sec, 0}};

	return syscall(SYS_utimensat, fd, NULL, lacks(CAPABILITY_FINE_TIMES) ? cut : times, 0);
}

/* As CephFS does without a generation. */
int name_to_handle_at(int fd, const char *name, struct file_handle *handle, int *mount, int flags)
{
	int ret = syscall(SYS_name_to_handle_at, fd, name, handle, mount, flags);
	struct stat st;
	uint64_t number;

	if (lacks(CAPABILITY_BINDING))
		return -1;
	if (lacks(CAPABILITY_GENERATION) &&
	    syscall(SYS_newfstatat, fd, name, &st, flags & AT_EMPTY_PATH) == 0) {
		number = st.st_ino;
		handle->handle_bytes = sizeof(number);
		memcpy(handle->f_handle, &number, sizeof(number));
	}
	return ret;
}

int mknodat(int fd, const char *name, mode_t mode, dev_t dev)
{
	if ((fails("mknodat") && (mode & S_IFMT) == failing_type) || lacks(CAPABILITY_SPECIAL))
		return -1;
	return syscall(SYS_mknodat, fd, name, mode, dev);
}

static bool is_any_data(int fd)
{
	bool any = false;
	char byte;

	for (off_t at = 0; !any && pread(fd, &byte, 1, at) == 1; at++)
		any = byte != 0;
	return any;
}

static bool seek_fails; /* as on a disk that fails */

off_t lseek(int fd, off_t offset, int whence)
{
	/* as where it is not known what is data */
	if ((fails("lseek") || lacks(CAPABILITY_HOLES)) && whence == SEEK_DATA)
		return offset;
	if (seek_fails && whence == SEEK_DATA) {
		errno = EIO;
		return -1;
	}
	/* as where zeros were compressed */
	if (lacks(CAPABILITY_ZEROS) && whence == SEEK_DATA && !is_any_data(fd)) {
		errno = ENXIO;
		return -1;
	}
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
	return has_epoch && !lacks(CAPABILITY_EPOCH);
}

/* As with an intent log, which takes each attribute; or none of them, but others write. */
static uint64_t logged;
static unsigned log_looks;
static int unlogged_turn = -1; /* or each */
static bool has_log, tells_log = true;

int migrate_log_count(int fd, uint64_t *count)
{
	const bool now_unlogged = unlogged_turn < 0 || log_looks / 2 == (unsigned)unlogged_turn;

	log_looks++;
	logged += !(lacks(CAPABILITY_DURABLE_RECORDS) && now_unlogged);
	*count = logged;
	return !has_log ? 0 : tells_log ? 1 : -EOPNOTSUPP;
}

bool migrate_keeps_order(int fd)
{
	return !lacks(CAPABILITY_ORDER);
}

bool migrate_tells_data(int fd)
{
	return !lacks(CAPABILITY_DATA);
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

	ret = capabilities_try(fd, &message);
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

	/* the root of ext4 has no generation */
	int fd = open(root, O_RDONLY | O_DIRECTORY);
	g_autofree char *message = NULL;
	struct capabilities found;

	ck_assert_int_eq(capabilities_look(fd, &found, &message), 0);
	ck_assert_uint_eq(found.lacking, 0);
	ck_assert(found.tried & 1u << CAPABILITY_EPOCH);
	close(fd);
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
		{"mount -t ramfs ramfs .", "file handles"},
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
		{"linkat", "hard links", false, 0},
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
	struct capabilities found;
	struct stat before, after;

	ck_assert_int_eq(fstat(fd, &before), 0);
	ck_assert_int_eq(capabilities_look(fd, &found, &message), _i ? -EUCLEAN : 0);
	ck_assert(!_i == !message);
	ck_assert_int_eq(fstat(fd, &after), 0);
	ck_assert_mem_eq(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim));
	close(fd);
}
END_TEST

/* What a start finds, with .migrate/staging as an empty directory. */
static struct capabilities find(void)
{
	struct capabilities found = {.tried = 1, .lacking = ~0u};
	int fd = open(root, O_RDONLY | O_DIRECTORY);
	unsigned before = names();

	capabilities_find(fd, fd, &found);
	close(fd);
	ck_assert_uint_eq(names(), before);
	return found;
}

/* Each one fails: then there is another way, or attach refuses in one line. */
START_TEST(without_each)
{
	struct capabilities all, found;

	has_log = _i == CAPABILITY_DURABLE_RECORDS;
	all = find();
	ck_assert_uint_eq(all.tried, (1u << CAPABILITIES) - 1);
	without = _i;
	if (_i == CAPABILITY_NAMES) {
		folded[0] = "FILE";
		folded[1] = "file";
	}
	if (_i == CAPABILITY_SOUND) {
		counter = open("/var/tmp", O_TMPFILE | O_RDWR, 0600);
		ck_assert_int_eq(pwrite(counter, "3\n", 2, 0), 2);
	}
	found = find();
	if (capability_way(_i)) {
		expect(NULL);
		ck_assert_uint_eq(found.lacking & ~all.lacking, 1u << _i & ~all.lacking);
		ck_assert(!capabilities_has(&found, _i));
	} else {
		expect(capability_text(_i));
		ck_assert_uint_eq(found.lacking, all.lacking);
	}
}
END_TEST

START_TEST(only_taken_names_are_refused)
{
	without = CAPABILITY_NOREPLACE;
	knows_names = true;
	expect("RENAME_NOREPLACE");
}
END_TEST

/* It is enough that an attribute was not taken once; or that the log does not tell. */
START_TEST(without_a_log_of_attributes)
{
	static const struct {
		int turn;
		bool has, tells, refused;
	} v[] = {{0, true, true, true},
		 {4, true, true, true},
		 {5, true, true, false},
		 {-1, false, true, false},
		 {5, true, false, true}};

	without = CAPABILITY_DURABLE_RECORDS;
	log_looks = 0;
	unlogged_turn = v[_i].turn;
	has_log = v[_i].has;
	tells_log = v[_i].tells;
	expect(v[_i].refused ? "lacks an fsync that makes extended attributes durable" : NULL);
}
END_TEST

START_TEST(keys_are_unique)
{
	for (unsigned i = 0; i < CAPABILITIES; i++)
		for (unsigned other = 0; other < i; other++)
			ck_assert_str_ne(capability_key(i), capability_key(other));
}
END_TEST

/* A full disk says nothing of the file system. */
START_TEST(nothing_can_be_tried)
{
	struct capabilities found;

	failing = "openat";
	because = ENOSPC;
	found = find();
	ck_assert_uint_eq(found.lacking, 0);
	ck_assert(!(found.tried & 1u << CAPABILITY_NAMELESS));
	expect("No space left on device");
}
END_TEST

/* Nor does it hide what is known without a file. */
START_TEST(a_full_disk_without_order)
{
	struct capabilities found;

	without = CAPABILITY_ORDER;
	has_log = true;
	no_room = true;
	found = find();
	ck_assert(!(found.tried & 1u << CAPABILITY_NAMELESS));
	ck_assert(!capabilities_has(&found, CAPABILITY_ORDER));
	ck_assert(!capabilities_has(&found, CAPABILITY_ZEROS));
}
END_TEST

/* On ZFS zeros may be compressed later; a disk that fails does not compress them. */
START_TEST(zeros_by_file_system)
{
	struct capabilities found;

	has_log = _i;
	seek_fails = !_i;
	found = find();
	ck_assert_uint_eq(capabilities_has(&found, CAPABILITY_ZEROS), !_i);
	ck_assert_uint_eq(found.tried >> CAPABILITY_ZEROS & 1, _i);
}
END_TEST

/* Nor does it hide what the file system has not: when there is room again files are made. */
START_TEST(a_full_disk_without_nameless_files)
{
	struct capabilities found;

	without = CAPABILITY_NAMELESS;
	is_full = true;
	found = find();
	ck_assert_uint_eq(found.lacking, 1u << CAPABILITY_NAMELESS);
	expect("No space left on device");
}
END_TEST

/* As before there was another way. */
START_TEST(nameless_files_fail_otherwise)
{
	struct capabilities found;

	without = CAPABILITY_NAMELESS;
	because = EIO;
	found = find();
	ck_assert_uint_eq(found.lacking, 0);
	ck_assert(!(found.tried & 1u << CAPABILITY_NAMELESS));
	expect("Input/output error");
}
END_TEST

/* As on ZFS; not on a disk that stands still now and then, or is slow with everything. */
START_TEST(links_are_slow)
{
	static const struct {
		gint64 links[5], rename;
		bool lacking;
	} v[] = {
		{{330000, 330000, 330000, 330000, 330000}, 7000, true},
		{{330000, 330000, 330000, 330000, 2000}, 100, false},
		{{2000, 330000, 330000, 330000, 330000}, 100, false},
		{{330000, 330000, 330000, 330000, 330000}, 33000, false},
		{{330000, 330000, 330000, 330000, 7000}, 700, false},
		{{330000, 330000, 330000, 330000, 7001}, 700, true},
		{{2001, 2001, 2001, 2001, 2001}, 200, true},
		{{2000, 2000, 2000, 2000, 2000}, 1, false},
	};
	struct capabilities all = find(), found;

	links = 0;
	memcpy(link_us, v[_i].links, sizeof(link_us));
	rename_us = v[_i].rename;
	found = find();
	ck_assert_uint_eq(found.tried, all.tried);
	ck_assert_uint_eq(found.lacking,
			  all.lacking | (v[_i].lacking ? 1u << CAPABILITY_NAMELESS : 0));
	links = 0;
	expect(NULL);
}
END_TEST

/* What may not be tried may be there. */
START_TEST(nobody_may_try)
{
	struct capabilities all = find(), found;

	without = CAPABILITY_LEASES;
	because = EACCES;
	found = find();
	ck_assert_uint_eq(found.lacking, all.lacking);
	ck_assert_uint_eq(found.tried, all.tried & ~(1u << CAPABILITY_LEASES));
	expect(NULL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("capabilities");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, file_systems_that_will_do, 0, 3);
	tcase_add_test(tcase, memory_will_do);
	tcase_add_loop_test(tcase, file_systems_that_lack_something, 0, 3);
	tcase_add_loop_test(tcase, calls_that_fail, 0, 16);
	tcase_add_loop_test(tcase, names_that_are_one, 0, 4);
	tcase_add_test(tcase, no_epoch);
	tcase_add_loop_test(tcase, without_each, 0, CAPABILITIES);
	tcase_add_test(tcase, only_taken_names_are_refused);
	tcase_add_loop_test(tcase, without_a_log_of_attributes, 0, 5);
	tcase_add_test(tcase, keys_are_unique);
	tcase_add_test(tcase, nothing_can_be_tried);
	tcase_add_test(tcase, a_full_disk_without_nameless_files);
	tcase_add_test(tcase, a_full_disk_without_order);
	tcase_add_loop_test(tcase, zeros_by_file_system, 0, 2);
	tcase_add_test(tcase, nameless_files_fail_otherwise);
	tcase_add_loop_test(tcase, links_are_slow, 0, 8);
	tcase_add_test(tcase, nobody_may_try);
	tcase_add_loop_test(tcase, damaged, 0, 2);
	return run_tcase(tcase);
}
