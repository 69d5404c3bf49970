/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is particular to file://; the rest is in the conformance suite. */
#include <fcntl.h>
#include <linux/auto_fs4.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/source/file/file_source.h"
#include "tests/retriever/backend_support.h"

static struct backend *backend;
static struct source_object root;

/* The linker wraps it. */
static int record_fails; /* errno */

ssize_t __real_getxattr(const char *path, const char *name, void *value, size_t size);
ssize_t __wrap_getxattr(const char *path, const char *name, void *value, size_t size);
ssize_t __wrap_getxattr(const char *path, const char *name, void *value, size_t size)
{
	if (!record_fails || strcmp(name, MIGRATE_XATTR) != 0)
		return __real_getxattr(path, name, value, size);
	errno = record_fails;
	return -1;
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_EXCL, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* A tmpfs of its own over /mnt, in a mount namespace that ends with the test. */
static void setup(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("test", "/mnt", "tmpfs", MS_STRICTATIME, NULL), 0);
	ck_assert_int_eq(mkdir("/mnt/tree", 0755), 0);
	put("/mnt/outside", "secret");
	put("/mnt/tree/file", "text");
}

static struct backend *open_url(const char *url, GError **error)
{
	const struct backend_config config = {
		.url = url, .connections = 1, .demand_connections = 1};
	struct source_attr attr;

	return backend_file_ops.open(&config, &root, &attr, error);
}

static void open_source(void)
{
	GError *error = NULL;

	backend = open_url("file:///mnt/tree", &error);
	if (!backend)
		ck_abort_msg("%s", error->message);
}

static void teardown(void)
{
	if (backend)
		backend->ops->close(backend);
	source_object_clear(&root);
}

static void check_text(struct source_object object, const char *text)
{
	struct backend_request req;

	ck_assert_int_eq(read_at(backend, object, 0, 100, &req), 0);
	ck_assert_uint_eq(req.data_len, strlen(text));
	ck_assert_mem_eq(req.data, text, strlen(text));
	g_free((void *)req.data);
}

START_TEST(nothing_outside_is_reached)
{
	struct source_object found;
	struct source_attr attr;
	struct backend_request req;

	ck_assert_int_eq(symlink("/mnt", "/mnt/tree/absolute"), 0);
	ck_assert_int_eq(symlink("..", "/mnt/tree/up"), 0);
	ck_assert_int_eq(symlink("../outside", "/mnt/tree/link"), 0);
	open_source();
	ck_assert_int_eq(get_attr(backend, by_path("absolute/outside"), &attr), -ENOTDIR);
	ck_assert_int_eq(get_attr(backend, by_path("up/outside"), &attr), -ENOTDIR);
	ck_assert_int_eq(get_attr(backend, by_path("../outside"), &attr), -ENOENT);
	ck_assert_int_eq(look_up(backend, by_path(""), "link", &found, &attr), 0);
	ck_assert(S_ISLNK(attr.mode));
	ck_assert_int_eq(read_at(backend, by_path("link"), 0, 10, &req), -EREMOTEIO);
	ck_assert_int_eq(look_up(backend, by_path("up"), "outside", &found, &attr), -ENOTDIR);
}
END_TEST

START_TEST(special_files_are_not_opened)
{
	struct backend_request req;

	ck_assert_int_eq(mkfifo("/mnt/tree/fifo", 0644), 0);
	open_source();
	ck_assert_int_eq(read_at(backend, by_path("fifo"), 0, 10, &req), -EREMOTEIO);
	ck_assert_int_eq(list_all(backend, by_path("fifo"), false, NULL, NULL), -ENOTDIR);
}
END_TEST

/* Also where it is none any more, but a copy with its attributes. */
START_TEST(i1_stubs_of_another_migration_are_not_read)
{
	struct backend_request req;
	GError *error = NULL;

	ck_assert_int_eq(mkdir("/mnt/tree/dir", 0755), 0);
	ck_assert_int_eq(setxattr("/mnt/tree/file", MIGRATE_XATTR, "any", 3, 0), 0);
	ck_assert_int_eq(setxattr("/mnt/tree/dir", MIGRATE_XATTR, "any", 3, 0), 0);
	open_source();
	ck_assert_int_eq(read_at(backend, by_path("file"), 0, 10, &req), -EREMOTEIO);
	ck_assert_int_eq(req.why, QM_STUB_THERE);
	req = (struct backend_request){.op = BACKEND_READDIR, .object = by_path("dir")};
	ck_assert_int_eq(run(backend, &req), -EREMOTEIO);
	ck_assert_int_eq(req.why, QM_STUB_THERE);
	req = (struct backend_request){
		.op = BACKEND_XATTRS, .object = by_path("file"), .count = 10};
	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert(!req.xattrs->data);
	source_xattrs_free(req.xattrs);
	/* neither what is not there yet, nor what may have bytes that nobody would read */
	req = (struct backend_request){
		.op = BACKEND_LOOKUP, .object = by_path("dir"), .name = "none"};
	ck_assert_int_eq(run(backend, &req), -EREMOTEIO);
	ck_assert_int_eq(req.why, QM_STUB_THERE);
	req = (struct backend_request){.op = BACKEND_LOOKUP, .object = by_path("dir"), .up = true};
	ck_assert_int_eq(run(backend, &req), 0);
	put("/mnt/tree/empty", "");
	ck_assert_int_eq(setxattr("/mnt/tree/empty", MIGRATE_XATTR, "any", 3, 0), 0);
	req = (struct backend_request){.op = BACKEND_XATTRS, .object = by_path("empty")};
	ck_assert_int_eq(run(backend, &req), -EREMOTEIO);
	ck_assert_int_eq(req.why, QM_STUB_THERE);
	ck_assert_int_eq(setxattr("/mnt/tree", MIGRATE_XATTR, "any", 3, 0), 0);
	ck_assert_ptr_null(open_url("file:///mnt/tree", &error));
	ck_assert(strstr(error->message, "finalize that migration first"));
	g_error_free(error);
}
END_TEST

START_TEST(i1_what_may_be_a_stub_is_not_read)
{
	struct backend_request req;
	struct source_object found;
	struct source_attr attr;
	GError *error = NULL;

	open_source();
	record_fails = EUCLEAN;
	ck_assert_int_eq(read_at(backend, by_path("file"), 0, 10, &req), -EREMOTEIO);
	ck_assert_int_eq(req.why, QM_NONE);
	ck_assert_int_eq(list_all(backend, by_path(""), false, NULL, NULL), -EREMOTEIO);
	ck_assert_int_eq(look_up(backend, by_path(""), "none", &found, &attr), -EREMOTEIO);
	ck_assert_ptr_null(open_url("file:///mnt/tree", &error));
	ck_assert(strstr(error->message, "cannot be opened"));
	g_error_free(error);
	record_fails = EOPNOTSUPP;
	check_text(by_path("file"), "text");
}
END_TEST

START_TEST(access_times_stay)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
	struct stat st;

	ck_assert_int_eq(utimensat(AT_FDCWD, "/mnt/tree/file", old, 0), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, "/mnt/tree", old, 0), 0);
	open_source();
	check_text(by_path("file"), "text");
	ck_assert_int_eq(list_all(backend, root, false, NULL, NULL), 1);
	ck_assert_int_eq(stat("/mnt/tree/file", &st), 0);
	ck_assert_int_eq(st.st_atim.tv_sec, 1000);
	ck_assert_int_eq(stat("/mnt/tree", &st), 0);
	ck_assert_int_eq(st.st_atim.tv_sec, 1000);
}
END_TEST

/* How many bytes come of 1 MiB there. */
static uint32_t read_hole(uint64_t offset, bool holes)
{
	struct backend_request req = {.op = BACKEND_READ,
				      .object = by_path("holes"),
				      .offset = offset,
				      .count = 1 << 20,
				      .holes = holes};

	ck_assert_int_eq(run(backend, &req), 0);
	g_free((void *)req.data);
	return req.data_len;
}

/* What SEEK_DATA passes over is not read, unless it was just written. */
START_TEST(holes_are_not_read)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
	struct backend_request req;
	int fd;

	put("/mnt/tree/holes", "");
	fd = open("/mnt/tree/holes", O_WRONLY);
	ck_assert_int_eq(ftruncate(fd, INT64_C(300) << 30), 0);
	ck_assert_int_eq(pwrite(fd, "data", 4, 512 << 10), 4);
	ck_assert_int_eq(pwrite(fd, "more", 4, INT64_C(200) << 30), 4);
	close(fd);
	open_source();
	ck_assert_uint_eq(read_hole(0, true), 1 << 20);
	ck_assert_int_eq(utimensat(AT_FDCWD, "/mnt/tree/holes", old, 0), 0);
	ck_assert_uint_eq(read_hole(0, false), 1 << 20);
	ck_assert_uint_eq(read_hole(0, true), 512 << 10);
	ck_assert_uint_eq(read_hole(500 << 10, true), 1 << 20); /* a small one */
	ck_assert_uint_eq(read_hole(INT64_C(100) << 30, true), 1 << 20);
	ck_assert_uint_eq(read_hole((INT64_C(300) << 30) - 1000, true), 1000);
	ck_assert_int_eq(read_at(backend, by_path("holes"), INT64_C(200) << 30, 4, &req), 0);
	ck_assert_mem_eq(req.data, "more", 4);
	g_free((void *)req.data);
}
END_TEST

/* Beyond the years 1677 and 2262: the last that there are. */
START_TEST(times_are_bounded)
{
	const struct timespec far[2] = {{.tv_sec = -100000000000}, {.tv_sec = 100000000000}};
	struct backend_request req = {.op = BACKEND_GETATTR};

	ck_assert_int_eq(utimensat(AT_FDCWD, "/mnt/tree/file", far, 0), 0);
	open_source();
	req.object = by_path("file");
	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert_int_eq(req.attr.atime, INT64_MIN);
	ck_assert_int_eq(req.attr.mtime, INT64_MAX);
	ck_assert_int_eq(req.attr.far_atime, far[0].tv_sec);
	ck_assert_int_eq(req.attr.far_mtime, far[1].tv_sec);
}
END_TEST

static void check_mixed(const struct source_entry *entry, void *user)
{
	bool inside = strcmp(entry->name, "below") == 0;

	ck_assert(entry->has_attr);
	ck_assert_int_eq(entry->has_handle, !inside);
}

START_TEST(submounts_are_found_by_path)
{
	struct source_object found;
	struct source_attr attr;
	struct stat st;

	ck_assert_int_eq(mkdir("/mnt/tree/below", 0755), 0);
	ck_assert_int_eq(mount("test", "/mnt/tree/below", "tmpfs", 0, NULL), 0);
	put("/mnt/tree/below/file", "other");
	ck_assert_int_eq(stat("/mnt/tree/below/file", &st), 0);
	open_source();
	ck_assert_uint_gt(root.handle_len, 0);
	ck_assert_int_eq(list_all(backend, root, false, check_mixed, NULL), 2);
	ck_assert_int_eq(look_up(backend, by_path("below"), "file", &found, &attr), 0);
	ck_assert_uint_eq(found.handle_len, 0);
	ck_assert_uint_ne(attr.fileid, st.st_ino);
	check_text(by_path("below/file"), "other");
	check_text(by_path("file"), "text");
}
END_TEST

/* It mounts a file system with a file at /mnt/tree/below when that is used; or can mount nothing.
 */
static void begin_automounter(bool able)
{
	struct autofs_v5_packet asked;
	int asks[2], ready[2], fd;
	char options[100], byte;

	ck_assert_int_eq(mkdir("/mnt/tree/below", 0755), 0);
	ck_assert_int_eq(pipe2(asks, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	if (fork()) {
		close(asks[1]);
		ck_assert_int_eq(read(ready[0], &byte, 1), 1);
		close(asks[0]);
		return;
	}
	/* what is of its group sees the directory as it is */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(options, sizeof(options), "fd=%d,pgrp=%d,minproto=5,maxproto=5,direct", asks[1],
		 getpid());
	if (mount("auto", "/mnt/tree/below", "autofs", 0, options) < 0)
		_exit(1);
	fd = open("/mnt/tree/below", O_RDONLY | O_DIRECTORY);
	close(asks[1]);
	if (write(ready[1], "", 1) != 1)
		_exit(1);
	while (read(asks[0], &asked, sizeof(asked)) == sizeof(asked)) {
		able = able && mount("test", "/mnt/tree/below", "tmpfs", 0, NULL) == 0 &&
		       mknod("/mnt/tree/below/file", S_IFREG | 0644, 0) == 0;
		ioctl(fd, able ? AUTOFS_IOC_READY : AUTOFS_IOC_FAIL, asked.wait_queue_token);
	}
	_exit(0);
}

static void take_below(const struct source_entry *entry, void *fileid)
{
	if (!strcmp(entry->name, "below"))
		*(uint64_t *)fileid = entry->attr.fileid;
}

START_TEST(automounters_mount)
{
	struct source_object found;
	struct source_attr attr;
	uint64_t listed = 0;

	begin_automounter(true);
	open_source();
	ck_assert_int_eq(list_all(backend, root, false, take_below, &listed), 2);
	ck_assert_int_eq(get_attr(backend, by_path("below"), &attr), 0);
	ck_assert_uint_eq(attr.fileid, listed);
	ck_assert_int_eq(umount("/mnt/tree/below"), 0);
	ck_assert_int_eq(get_attr(backend, by_path("below"), &attr), 0);
	ck_assert_int_eq(list_all(backend, by_path("below"), false, NULL, NULL), 1);
	ck_assert_int_eq(umount("/mnt/tree/below"), 0);
	ck_assert_int_eq(look_up(backend, root, "below", &found, NULL), 0);
	ck_assert_int_eq(look_up(backend, by_path("below"), "file", &found, NULL), 0);
	ck_assert_uint_eq(found.handle_len, 0);
}
END_TEST

/* The directory that is there in its place is not taken for empty. */
START_TEST(automounters_fail)
{
	struct backend_request req = {.op = BACKEND_READDIR, .object = by_path("below")};

	begin_automounter(false);
	open_source();
	ck_assert_int_eq(list_all(backend, root, false, NULL, NULL), 2);
	ck_assert_int_eq(run(backend, &req), -EREMOTEIO);
	ck_assert_int_eq(req.why, QM_AUTOMOUNTER);
}
END_TEST

START_TEST(handles_survive_renames)
{
	struct source_object found;

	open_source();
	ck_assert_int_eq(look_up(backend, root, "file", &found, NULL), 0);
	ck_assert_uint_gt(found.handle_len, 0);
	ck_assert_int_eq(rename("/mnt/tree/file", "/mnt/tree/renamed"), 0);
	check_text(found, "text");
	found.handle[found.handle_len - 1] ^= 1;
	ck_assert_int_eq(get_attr(backend, found, &(struct source_attr){0}), -ESTALE);
	for (found.handle_len = 3; found.handle_len <= 4; found.handle_len++)
		ck_assert_int_eq(get_attr(backend, found, &(struct source_attr){0}), -ESTALE);
}
END_TEST

static void check_url(const char *url, const char *hint)
{
	GError *error = NULL;

	ck_assert_ptr_null(open_url(url, &error));
	ck_assert_msg(strstr(error->message, url) && strstr(error->message, hint), "%s",
		      error->message);
	g_error_free(error);
}

START_TEST(mistakes_get_one_line)
{
	check_url("file://host/path", "file:///path");
	check_url("file:///mnt/nothing", "No such file");
	check_url("file:///mnt/outside", "Not a directory");
	check_url("file:///mnt/%", "%25");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, nothing_outside_is_reached);
	tcase_add_test(tcase, special_files_are_not_opened);
	tcase_add_test(tcase, i1_stubs_of_another_migration_are_not_read);
	tcase_add_test(tcase, i1_what_may_be_a_stub_is_not_read);
	tcase_add_test(tcase, access_times_stay);
	tcase_add_test(tcase, holes_are_not_read);
	tcase_add_test(tcase, times_are_bounded);
	tcase_add_test(tcase, submounts_are_found_by_path);
	tcase_add_test(tcase, automounters_mount);
	tcase_add_test(tcase, automounters_fail);
	tcase_add_test(tcase, handles_survive_renames);
	tcase_add_test(tcase, mistakes_get_one_line);
	return run_tcase(tcase);
}
