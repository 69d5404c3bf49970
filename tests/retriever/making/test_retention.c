/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <sys/ioctl.h>

#include "lib/source/source_windows.h"
#include "retriever/making/retention.h"
#include "retriever/volume/retry.h"

#define UNTIL	INT64_C(4099420799) /* 2099-11-26T23:59:59Z */
#define PAST	INT64_C(1500000000)
#define SECONDS INT64_C(1000000000)

/* ---- which are under retention ---- */

static enum retention configured; /* for noted() */
static bool marked;		  /* by it */

static char *noted(mode_t mode, int64_t atime, int64_t far, const struct source_xattrs *xattrs)
{
	const struct volume_config config = {.retention = configured};
	const struct source_attr attr = {.mode = mode, .atime = atime, .far_atime = far};
	struct attributes_result carried = {0};
	char *text = NULL;

	retention_note(&config, &attr, xattrs, &carried);
	marked = omissions_has(&carried.left, "retention");
	if (carried.lost) {
		const struct loss_line *line = carried.lost->pdata[0];

		ck_assert_uint_eq(carried.lost->len, 1);
		ck_assert_int_eq(line->kind, LOSS_RETENTION);
		text = g_strdup(line->text);
	}
	attributes_clear(&carried);
	return text;
}

static void expect_noted(const char *part, mode_t mode, int64_t atime, int64_t far,
			 const struct source_xattrs *xattrs)
{
	g_autofree char *text = noted(mode, atime, far, xattrs);

	if (part)
		ck_assert_msg(marked && text && strstr(text, part), "%s: %s", part, text);
	else
		ck_assert_msg(!marked && !text, "%s", text);
}

START_TEST(what_is_under_retention)
{
	const int64_t now = g_get_real_time() * 1000;
	struct source_xattrs *xattrs = source_xattrs_new();

	expect_noted("until 2099-11-26T23:59:59Z, which nothing keeps here", S_IFREG | 0444,
		     UNTIL * SECONDS, 0, NULL);
	expect_noted("until 2099-", S_IFREG, UNTIL * SECONDS, 0, xattrs);
	expect_noted("until 2400-01-01T00:00:00Z", S_IFREG | 0555, INT64_MAX, 13569465600, NULL);
	expect_noted("400000000000000 seconds from 1970", S_IFREG, INT64_MAX, 400000000000000,
		     NULL);
	expect_noted(NULL, S_IFREG | 0444, now - 3600 * SECONDS, 0, NULL);
	expect_noted(NULL, S_IFREG | 0444, INT64_MIN, -9600000000, NULL);
	for (mode_t bit = 0200; bit; bit = bit >> 3 & 0222) /* somebody may write */
		expect_noted(NULL, S_IFREG | bit, UNTIL * SECONDS, 0, NULL);
	expect_noted(NULL, S_IFDIR | 0555, UNTIL * SECONDS, 0, NULL);
	expect_noted(NULL, S_IFLNK, UNTIL * SECONDS, 0, NULL);
	/* by SMB the attribute says it */
	xattrs->windows = source_windows_new();
	xattrs->windows->attributes = ~WINDOWS_READONLY;
	expect_noted(NULL, S_IFREG | 0600, UNTIL * SECONDS, 0, xattrs);
	xattrs->windows->attributes = WINDOWS_READONLY;
	expect_noted("until 2099-", S_IFREG | 0600, UNTIL * SECONDS, 0, xattrs);
	expect_noted(NULL, S_IFREG | 0600, now - 3600 * SECONDS, 0, xattrs);
	xattrs->windows->attributes = 0;
	xattrs->immutable = true;
	expect_noted("until chattr -i", S_IFREG | 0644, 0, 0, xattrs);
	source_xattrs_free(xattrs);
}
END_TEST

/* Read by a clock that is ahead, a file that nobody may write is not kept for good. */
START_TEST(a_clock_that_is_ahead)
{
	const int64_t now = g_get_real_time() * 1000;
	g_autofree char *none = noted(S_IFREG | 0444, now + 3600 * SECONDS, 0, NULL);

	ck_assert(!marked && none && strstr(none, "nothing keeps here: see"));
	configured = RETENTION_IMMUTABLE;
	g_autofree char *near = noted(S_IFREG | 0444, now + 85000 * SECONDS, 0, NULL);
	ck_assert(!marked && near && strstr(near, "nothing keeps here: it is within a day"));
	g_autofree char *far = noted(S_IFREG | 0444, now + 90000 * SECONDS, 0, NULL);
	ck_assert(marked && far && strstr(far, "chattr +i keeps here"));
	configured = RETENTION_NONE;
}
END_TEST

/* ---- what becomes immutable, and when ---- */

/* A file that is under retention on the old server. */
static void source_kept(const char *name)
{
	g_autofree char *path = g_strconcat(core.source, "/", name, NULL);
	const struct timespec times[2] = {{.tv_sec = UNTIL}, {.tv_nsec = UTIME_OMIT}};

	core_source_file(&core, name, 5000, 7);
	ck_assert_int_eq(chmod(path, 0444), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void start(enum retention retention)
{
	core_start(&core);
	((struct volume_config *)core.retriever->config)->retention = retention;
}

static void restart(void)
{
	core_restart(&core);
	((struct volume_config *)core.retriever->config)->retention = RETENTION_IMMUTABLE;
}

static bool is_immutable(int dir_fd, const char *name)
{
	struct statx stx;

	ck_assert_int_eq(statx(dir_fd, name, AT_SYMLINK_NOFOLLOW, STATX_ATIME, &stx), 0);
	if (strncmp(name, "kept", 4) == 0)
		ck_assert_int_eq(stx.stx_atime.tv_sec, UNTIL);
	return stx.stx_attributes & STATX_ATTR_IMMUTABLE;
}

static void expect_report(const char *part)
{
	g_autofree char *path = core_path(&core, ".migrate/report"), *text = NULL;

	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	ck_assert_msg(strstr(text, part), "%s: %s", part, text);
}

static int make_kept(enum retention retention)
{
	core_make(&core);
	source_kept("d/kept");
	core_source_file(&core, "d/other", 5000, 1);
	start(retention);
	return core_find(&core, "d", O_RDONLY | O_DIRECTORY);
}

START_TEST(once_nothing_is_left_to_be_done)
{
	int d = make_kept(RETENTION_IMMUTABLE), other;

	ck_assert_int_eq(core_name_in(&core, d, "kept"), 0);
	{
		int kept = open_below(d, "kept", O_RDONLY);

		ck_assert_int_eq(core_range(&core, kept, 0, UINT64_MAX), 0);
		core_sync_normal(&core, kept); /* whole, in a directory that lacks names */
		close(kept);
	}
	core_finish(&core, d);
	ck_assert(!is_immutable(d, "kept"));
	ck_assert_int_eq(fill(d), 0);
	ck_assert_int_eq(core_finish(&core, d), -EAGAIN); /* the other one is not whole */
	ck_assert_int_eq(make_whole(d), 0);
	ck_assert(is_immutable(d, "kept"));
	ck_assert_int_lt(unlinkat(d, "kept", 0), 0);
	ck_assert_int_eq(errno, EPERM);
	other = open_below(d, "other", O_RDONLY);
	ck_assert_int_eq(core_state(other), MIGRATE_NORMAL);
	ck_assert(!is_immutable(d, "other"));
	expect_report("retention\t");
	expect_report("until 2099-11-26T23:59:59Z, which chattr +i keeps here");
	close(other);
	core_free_with(&core, d);
}
END_TEST

START_TEST(i7_a_client_has_made_it_writable)
{
	int d = make_kept(RETENTION_IMMUTABLE);

	ck_assert_int_eq(fill(d), 0);
	ck_assert_int_eq(fchmodat(d, "kept", 0644, 0), 0);
	ck_assert_int_eq(make_whole(d), 0);
	ck_assert(!is_immutable(d, "kept"));
	core_free_with(&core, d);
}
END_TEST

START_TEST(only_if_that_is_asked_for)
{
	int d = make_kept(RETENTION_NONE);
	struct verify_count count;
	g_autofree char *message = NULL;

	ck_assert_int_eq(make_whole(d), 0);
	ck_assert(!is_immutable(d, "kept"));
	expect_report("nothing keeps here");
	restart(); /* it is, now */
	ck_assert_int_eq(core_finish(&core, d), 0);
	ck_assert(!is_immutable(d, "kept"));
	ck_assert_int_eq(verify_volume(core.retriever, true, &count, &message), 0);
	g_free(count.first);
	ck_assert(is_immutable(d, "kept"));
	core_free_with(&core, d);
}
END_TEST

/* A retriever is killed when it has set the flag, before the directory's record has gone. */
START_TEST(killed_in_between)
{
	int d = make_kept(RETENTION_IMMUTABLE);
	char record[MIGRATE_REC_MAX];
	ssize_t len;

	fill_above(d);
	ck_assert_int_eq(fill(d), 0);
	len = fgetxattr(d, MIGRATE_XATTR, record, sizeof record);
	ck_assert_int_gt(len, 0);
	ck_assert_int_eq(make_whole(d), 0);
	ck_assert_int_eq(fsetxattr(d, MIGRATE_XATTR, record, (size_t)len, 0), 0);
	restart();
	ck_assert_int_eq(core_state(d), MIGRATE_FILLED);
	ck_assert_int_eq(core_finish(&core, d), 0);
	ck_assert_int_eq(core_state(d), MIGRATE_NORMAL);
	ck_assert(is_immutable(d, "kept"));
	core_free_with(&core, d);
}
END_TEST

/* In two directories: as long as a name is to come the file must be linked to it. */
START_TEST(with_the_last_of_its_names)
{
	int d, e, root;
	struct stat st;

	core_make(&core);
	source_kept("d/kept");
	core_source_file(&core, "e/other", 10, 1);
	source_link("d/kept", "e/kept2");
	start(RETENTION_IMMUTABLE);
	root = core_root(&core);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	e = core_find(&core, "e", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(make_whole(d), 0);
	ck_assert(!is_immutable(d, "kept"));
	ck_assert_int_eq(make_whole(e), 0);
	ck_assert(is_immutable(d, "kept"));
	ck_assert(is_immutable(e, "kept2"));
	ck_assert_int_eq(fstatat(d, "kept", &st, 0), 0);
	ck_assert_uint_eq(st.st_nlink, 2);
	ck_assert_int_eq(make_whole(root), 0);
	close(d);
	close(e);
	core_free_with(&core, root);
}
END_TEST

/* A crash has lost how many of its names were made. */
START_TEST(a_provisional_name_that_is_left)
{
	g_autofree char *message = NULL, *private = NULL, *counts = NULL;
	struct stat st;
	int d, root;

	core_make(&core);
	source_kept("d/kept");
	source_link("d/kept", "d/kept2");
	start(RETENTION_IMMUTABLE);
	root = core_root(&core);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_name_in(&core, d, "kept"), 0);
	counts = core_path(&core, ".migrate/linked-names");
	ck_assert_int_eq(unlink(counts), 0);
	restart();
	ck_assert_int_eq(make_whole(d), 0);
	ck_assert_int_eq(make_whole(root), 0);
	ck_assert(!is_immutable(d, "kept"));
	ck_assert_int_eq(finalize_volume(core.retriever, true, false, &message), 0);
	ck_assert(is_immutable(d, "kept"));
	ck_assert_int_eq(fstatat(d, "kept", &st, 0), 0);
	ck_assert_uint_eq(st.st_nlink, 2);
	private = core_path(&core, ".migrate");
	ck_assert_int_lt(access(private, F_OK), 0);
	close(d);
	core_free_with(&core, root);
}
END_TEST

/* As if the date had come since its stub was made. */
static void let_pass(int dir, const char *name, int64_t marked_until)
{
	int fd = open_below(dir, name, O_RDONLY);
	g_autofree char *mark = g_strdup_printf("retention until %" G_GINT64_FORMAT, marked_until);
	struct omissions left = {0};

	omissions_add(&left, "retention");
	omissions_add(&left, mark);
	ck_assert_int_eq(
		futimens(fd, (struct timespec[]){{.tv_sec = PAST}, {.tv_nsec = UTIME_OMIT}}), 0);
	ck_assert_int_eq(omissions_put(fd, NULL, &left), 0);
	close(fd);
}

START_TEST(the_date_has_come)
{
	g_autofree char *message = NULL;
	struct verify_count count;
	int d;

	core_make(&core);
	source_kept("d/over");
	source_kept("d/moved"); /* by a reading, for all that is known */
	start(RETENTION_NONE);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(make_whole(d), 0);
	let_pass(d, "over", PAST);
	let_pass(d, "moved", UNTIL);
	restart();
	ck_assert_int_eq(verify_volume(core.retriever, true, &count, &message), 0);
	g_free(count.first);
	ck_assert(!is_immutable(d, "over"));
	ck_assert(is_immutable(d, "moved"));
	core_free_with(&core, d);
}
END_TEST

/* It only says what finalize would do. */
START_TEST(a_dry_run_sets_nothing)
{
	g_autofree char *message = NULL;
	int d = make_kept(RETENTION_NONE), root = core_root(&core);

	ck_assert_int_eq(make_whole(d), 0);
	ck_assert_int_eq(make_whole(root), 0);
	restart();
	ck_assert_int_eq(finalize_volume(core.retriever, true, true, &message), 0);
	ck_assert(!is_immutable(d, "kept"));
	close(d);
	core_free_with(&core, root);
}
END_TEST

/* A flag that came too early: nothing of the file is taken for whole, and it can still come. */
START_TEST(immutable_and_not_whole)
{
	int d = make_kept(RETENTION_IMMUTABLE), kept;
	const int none = 0, flags = FS_IMMUTABLE_FL;
	g_autofree char *text = NULL;

	ck_assert_int_eq(fill(d), 0);
	kept = open_below(d, "kept", O_RDONLY);
	ck_assert_int_eq(ioctl(kept, FS_IOC_SETFLAGS, &flags), 0);
	restart();
	ck_assert_int_lt(core_range(&core, kept, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_state(kept), MIGRATE_PARTIAL);
	ck_assert_int_lt(make_whole(d), 0);
	ck_assert_int_eq(core_state(d), MIGRATE_FILLED);
	ck_assert_int_eq(ioctl(kept, FS_IOC_SETFLAGS, &none), 0);
	ck_assert_int_eq(retry_all(core.retriever, NULL, VERSION_NEW, &text), 0);
	ck_assert_int_eq(make_whole(d), 0);
	ck_assert(is_immutable(d, "kept"));
	close(kept);
	core_free_with(&core, d);
}
END_TEST

static void lose_capability(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	ck_assert_int_eq(syscall(SYS_capget, &head, data), 0);
	data[0].effective &= ~(1u << CAP_LINUX_IMMUTABLE);
	data[0].permitted &= ~(1u << CAP_LINUX_IMMUTABLE);
	ck_assert_int_eq(syscall(SYS_capset, &head, data), 0);
}

START_TEST(where_it_cannot_be)
{
	int d;

	lose_capability();
	d = make_kept(RETENTION_IMMUTABLE);
	ck_assert_int_eq(make_whole(d), 0);
	ck_assert(!is_immutable(d, "kept"));
	expect_report("could not be made immutable (chattr +i): Operation not permitted");
	core_free_with(&core, d);
}
END_TEST

static void take_flags_off(void)
{
	g_autofree char *command = g_strdup_printf("chattr -R -f -i %s; true", core_base);

	ck_assert_int_eq(system(command), 0);
}

int main(void)
{
	TCase *tcase = core_tcase("retention", 60);

	tcase_add_unchecked_fixture(tcase, NULL, take_flags_off);
	tcase_add_test(tcase, what_is_under_retention);
	tcase_add_test(tcase, a_clock_that_is_ahead);
	tcase_add_test(tcase, once_nothing_is_left_to_be_done);
	tcase_add_test(tcase, i7_a_client_has_made_it_writable);
	tcase_add_test(tcase, only_if_that_is_asked_for);
	tcase_add_test(tcase, killed_in_between);
	tcase_add_test(tcase, with_the_last_of_its_names);
	tcase_add_test(tcase, a_provisional_name_that_is_left);
	tcase_add_test(tcase, the_date_has_come);
	tcase_add_test(tcase, a_dry_run_sets_nothing);
	tcase_add_test(tcase, immutable_and_not_whole);
	tcase_add_test(tcase, where_it_cannot_be);
	return run_tcase(tcase);
}
