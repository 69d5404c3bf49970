/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/scan.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>

#include "journal/store/live.h"
#include "tests/journal/tree.h"

static struct journal_store *store;
static const char *bad_name; /* cannot be looked at */
static ino_t bad_dir;	     /* cannot be read, after its first two entries */
static unsigned read_of_bad;

int fstatat(int fd, const char *restrict name, struct stat *restrict st, int flags)
{
	if (bad_name && !strcmp(name, bad_name)) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_newfstatat, fd, name, st, flags);
}

struct dirent *readdir(DIR *dir)
{
	static struct dirent *(*next)(DIR *);
	struct stat st;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "readdir");
	if (bad_dir && fstat(dirfd(dir), &st) == 0 && st.st_ino == bad_dir && ++read_of_bad > 2) {
		errno = EIO;
		return NULL;
	}
	return next(dir);
}

/* The linker wraps it: a damaged inode is told like one that is gone. */
static struct migrate_binding damaged[2];

int __real_migrate_binding_open(int fd, const struct migrate_binding *handle, int flags);
int __wrap_migrate_binding_open(int fd, const struct migrate_binding *handle, int flags);
int __wrap_migrate_binding_open(int fd, const struct migrate_binding *handle, int flags)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(damaged) && bad_name; i++)
		if (migrate_binding_equal(&damaged[i], handle))
			return -ESTALE;
	return __real_migrate_binding_open(fd, handle, flags);
}

static void set_up(void)
{
	char *mounted;

	tree_make();
	mounted = place;
	place = store_dir;
	store = store_at_place();
	place = mounted;
}

static void tear_down(void)
{
	journal_store_close(store);
	tree_remove();
}

/* How many could not be looked at. */
static uint64_t scan_all(int64_t changed, int64_t written)
{
	struct scan *scan = scan_new(volume, store, changed, written);
	enum scan_result result;
	GError *error = NULL;
	const char *first;
	uint64_t unread;

	do
		result = scan_step(scan, 100, &error);
	while (result == SCAN_MORE || (result == SCAN_DONE && !scan_end(scan)));
	ck_assert_msg(result == SCAN_DONE, "%s", error ? error->message : "");
	unread = scan_unread(scan, &first);
	ck_assert(!unread == !first);
	scan_free(scan);
	return unread;
}

static ino_t inode_of(const char *name)
{
	g_autofree char *path = path_of(name);
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_ino;
}

static int flags_of(const char *name)
{
	const struct migrate_binding object = binding_of(name);
	struct journal_row row;

	return journal_store_find(store, &object, &row) ? (int)row.flags : -1;
}

static void set_mtime(const char *name, int64_t ns)
{
	g_autofree char *path = path_of(name);
	const struct timespec mtime = migrate_timespec(ns);

	ck_assert_int_eq(utimensat(AT_FDCWD, path, (struct timespec[]){mtime, mtime}, 0), 0);
}

/* By a scan alone. */
#define FOUND (JOURNAL_SCANNED | JOURNAL_MAYBE)

START_TEST(by_ctime)
{
	int64_t between;

	make_dir("volume/old");
	put_file("volume/old/file", "text");
	make_dir("volume/dir");
	put_file("volume/dir/other", "text");
	wait_for_clocks_in(store_dir);
	between = journal_realtime();
	wait_for_clocks_in(store_dir);
	put_file("volume/dir/new", "text");
	scan_all(between, INT64_MAX);
	ck_assert_int_eq(flags_of("volume/old"), -1);
	ck_assert_int_eq(flags_of("volume/old/file"), -1);
	ck_assert_int_eq(flags_of("volume/dir/other"), -1);
	ck_assert_int_eq(flags_of("volume"), -1);
	ck_assert_int_eq(flags_of("volume/dir/new"), FOUND | JOURNAL_DATA | JOURNAL_META);
	ck_assert_int_eq(flags_of("volume/dir"),
			 FOUND | JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_DIRECTORY);
	scan_all(0, INT64_MAX);
	ck_assert_int_ne(flags_of("volume"), -1);
	ck_assert_int_ne(flags_of("volume/old/file"), -1);
	ck_assert_int_eq(flags_of("other"), -1);
}
END_TEST

/* One object that cannot be looked at ends nothing. */
START_TEST(unreadable)
{
	struct migrate_binding back;

	make_dir("volume/a");
	put_file("volume/a/bad", "text");
	put_file("volume/a/file", "text");
	make_dir("volume/back");
	put_file("volume/back/file", "text");
	make_dir("volume/dir");
	put_file("volume/dir/file", "text");
	put_file("volume/z", "text");
	back = binding_of("volume/back");
	journal_store_touch(store, &back, JOURNAL_DIRECTORY | JOURNAL_RETURNED, NULL);
	bad_name = "bad";
	ck_assert_uint_eq(scan_all(INT64_MAX, INT64_MAX), 1);
	bad_name = NULL;
	ck_assert_int_eq(flags_of("volume/a"),
			 FOUND | JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_DIRECTORY);
	ck_assert_int_eq(flags_of("volume/dir"), -1);
	/* all that is below it was looked at */
	ck_assert(!(flags_of("volume/back") & JOURNAL_RETURNED));
	journal_store_touch(store, &back, JOURNAL_RETURNED, NULL);
	read_of_bad = 0;
	bad_dir = inode_of("volume/back");
	ck_assert_uint_eq(scan_all(INT64_MAX, INT64_MAX), 2);  /* and by its row */
	ck_assert(flags_of("volume/back") & JOURNAL_RETURNED); /* not all that is below it */
	read_of_bad = 0;
	bad_dir = inode_of("volume/dir");
	ck_assert_uint_eq(scan_all(0, INT64_MAX), 1);
	ck_assert_int_eq(flags_of("volume/dir/file"), -1);
	bad_dir = 0;
	journal_store_touch(store, &back, JOURNAL_RETURNED, NULL);
	ck_assert_int_ne(flags_of("volume/dir"), -1);
	ck_assert_int_ne(flags_of("volume/a/bad"), -1);
	ck_assert_int_ne(flags_of("volume/a/file"), -1);
	ck_assert_int_ne(flags_of("volume/z"), -1);
	ck_assert_uint_eq(scan_all(0, INT64_MAX), 0);
	ck_assert_int_ne(flags_of("volume/dir/file"), -1);
	ck_assert(!(flags_of("volume/back") & JOURNAL_RETURNED));
}
END_TEST

/* What has a row and cannot be opened may be what cannot be looked at. */
START_TEST(i12_unreadable_is_not_gone)
{
	struct migrate_binding gone;
	struct journal_row row;

	make_dir("volume/dir");
	put_file("volume/dir/changed", "text");
	put_file("volume/dir/made", "text");
	put_file("volume/gone", "text");
	const struct journal_place place = {binding_of("volume/dir"), "made"};
	const struct migrate_binding changed = binding_of("volume/dir/changed");
	const struct migrate_binding made = binding_of("volume/dir/made");
	gone = binding_of("volume/gone");
	journal_store_touch(store, &changed, JOURNAL_DATA, NULL);
	journal_store_touch(store, &gone, JOURNAL_DATA, NULL);
	journal_store_made(store, &made, false, &place);
	remove_file("volume/gone");
	for (unsigned i = 0; i < 2; i++) {
		bad_name = i ? "changed" : "dir";
		damaged[0] = i ? changed : place.dir;
		damaged[1] = i ? changed : made;
		ck_assert_uint_eq(scan_all(INT64_MAX, INT64_MAX), 1);
		ck_assert(journal_store_find(store, &gone, &row));
		ck_assert_uint_eq(row.flags, JOURNAL_DATA);
		bad_name = NULL;
		ck_assert_int_eq(flags_of("volume/dir/changed"), JOURNAL_DATA);
		ck_assert_int_eq(flags_of("volume/dir/made"), JOURNAL_MADE);
	}
	ck_assert_uint_eq(scan_all(INT64_MAX, INT64_MAX), 0);
	ck_assert(journal_store_find(store, &gone, &row));
	ck_assert_uint_eq(row.flags, JOURNAL_DATA | JOURNAL_GONE | JOURNAL_SCANNED);
	ck_assert_int_eq(flags_of("volume/dir/changed"), JOURNAL_DATA);
	ck_assert_uint_eq(journal_store_leaving(store), 0);
}
END_TEST

/* Where nothing can be looked at it is no scan. */
START_TEST(unreadable_root)
{
	struct scan *scan = scan_new(volume, store, 0, INT64_MAX);
	enum scan_result result;
	GError *error = NULL;

	read_of_bad = 0;
	bad_dir = inode_of("volume");
	do
		result = scan_step(scan, 100, &error);
	while (result == SCAN_MORE);
	bad_dir = 0;
	ck_assert_int_eq(result, SCAN_FAILED);
	ck_assert(g_error_matches(error, JOURNAL_ERROR, EIO));
	g_error_free(error);
	scan_free(scan);
}
END_TEST

/* What is written through a mapping has no event. */
/* Of .migrate, what has no name but there. */
START_TEST(in_links)
{
	g_autofree char *private = path_of("volume/.migrate");
	int fd;

	make_dir("volume/.migrate");
	make_dir("volume/.migrate/links");
	make_dir("volume/.migrate/staging");
	put_file("volume/.migrate/staging/s", "text");
	put_file("volume/.migrate/links/a", "text");
	put_file("volume/.migrate/links/b", "text");
	link_file("volume/.migrate/links/b", "volume/b");
	fd = open(private, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(migrate_private_mark(fd), 0);
	close(fd);
	volume_forget(volume);
	const struct migrate_binding a = binding_of("volume/.migrate/links/a");
	struct journal_row row;
	scan_all(0, INT64_MAX);
	ck_assert(journal_store_find(store, &a, &row));
	ck_assert_uint_eq(row.flags, FOUND | JOURNAL_DATA | JOURNAL_META);
	ck_assert_uint_eq(row.parent.len, 0);
	ck_assert_int_ne(flags_of("volume/b"), -1);
	ck_assert_int_eq(flags_of("volume/.migrate/staging/s"), -1);
	ck_assert_int_eq(flags_of("volume/.migrate/links"), -1);
}
END_TEST

/* Below what was out of the volume all counts, whatever it looks like, and until the scan has come
 * to its end. */
START_TEST(what_came_back)
{
	const unsigned returned =
		JOURNAL_SCANNED | JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_DIRECTORY;
	struct migrate_binding back, file;
	struct scan *scan;
	GError *error = NULL;

	make_dir("volume/back");
	make_dir("volume/back/below");
	put_file("volume/back/below/file", "text");
	put_file("volume/file", "text");
	put_file("volume/beside", "text");
	for (unsigned i = 0; i < 100; i++) { /* more than one step looks at */
		g_autofree char *name = g_strdup_printf("volume/%u", i);

		put_file(name, "text");
	}
	back = binding_of("volume/back");
	file = binding_of("volume/file");
	journal_store_touch(store, &back, JOURNAL_DIRECTORY | JOURNAL_RETURNED, NULL);
	journal_store_touch(store, &file, JOURNAL_GONE, NULL); /* in a gap */
	scan = scan_new(volume, store, INT64_MAX, INT64_MAX);
	ck_assert_int_eq(scan_step(scan, 0, &error), SCAN_MORE);
	scan_free(scan);
	ck_assert(flags_of("volume/back") & JOURNAL_RETURNED);
	scan_all(INT64_MAX, INT64_MAX);
	ck_assert_int_eq(flags_of("volume/back"), returned);
	ck_assert_int_eq(flags_of("volume/back/below"), returned | JOURNAL_MAYBE);
	ck_assert_int_eq(flags_of("volume/back/below/file"),
			 JOURNAL_SCANNED | JOURNAL_MAYBE | JOURNAL_DATA | JOURNAL_META);
	ck_assert_int_eq(flags_of("volume/file"), JOURNAL_SCANNED | JOURNAL_DATA | JOURNAL_META);
	ck_assert_int_eq(flags_of("volume/beside"), -1);
	ck_assert_int_eq(journal_store_state(store)->left, 0);
	/* once more, while a scan is under way: that is the next one's */
	journal_store_touch(store, &back, JOURNAL_RETURNED, NULL);
	scan = scan_new(volume, store, INT64_MAX, INT64_MAX);
	while (scan_step(scan, 0, NULL) == SCAN_MORE)
		;
	scan_returned(scan, &back);
	ck_assert(scan_end(scan));
	scan_free(scan);
	ck_assert(flags_of("volume/back") & JOURNAL_RETURNED);
	/* what is out there may come back */
	rename_file("volume/back", "other/back");
	scan_all(INT64_MAX, INT64_MAX);
	ck_assert_int_eq(journal_store_state(store)->left, 1);
	ck_assert(flags_of("other/back") & JOURNAL_GONE);
}
END_TEST

START_TEST(by_mtime)
{
	put_file("volume/before", "text");
	put_file("volume/since", "text");
	put_file("volume/known", "text");
	set_mtime("volume/before", 1000);
	const struct migrate_binding known = binding_of("volume/known");
	journal_store_touch(store, &known, JOURNAL_DATA, NULL);
	scan_all(INT64_MAX, 2000);
	ck_assert_int_eq(flags_of("volume/before"), -1);
	ck_assert_int_eq(flags_of("volume/since"), JOURNAL_DATA | FOUND);
	ck_assert_int_eq(flags_of("volume/known"), JOURNAL_DATA);
}
END_TEST

/* A gap in which what was noticed before was undone, or went on. */
START_TEST(rows_are_compared)
{
	struct migrate_binding gone, moved;
	struct journal_place a = {binding_of("volume"), "a"}, b = a, c = a;
	struct journal_row row;

	b.name = "b";
	c.name = "c";
	put_file("volume/c", "");
	put_file("volume/f", "");
	moved = binding_of("volume/c");
	gone = binding_of("volume/f");
	journal_store_moved(store, &moved, false, &a, &b);
	journal_store_touch(store, &gone, JOURNAL_DATA, NULL);
	remove_file("volume/f");
	scan_all(0, INT64_MAX);
	ck_assert(journal_store_find(store, &gone, &row));
	ck_assert_uint_eq(row.flags, JOURNAL_DATA | JOURNAL_GONE | JOURNAL_SCANNED);
	ck_assert_int_eq(journal_store_was(store, &moved, &a), JOURNAL_WAS_THERE);
	ck_assert_int_eq(journal_store_was(store, &moved, &b), JOURNAL_WAS_UNKNOWN);
	ck_assert_int_eq(journal_store_was(store, &moved, &c), JOURNAL_WAS_NOT_THERE);
	rename_file("volume/c", "volume/a");
	scan_all(0, INT64_MAX);
	ck_assert(journal_store_find(store, &moved, &row));
	ck_assert(!(row.flags & JOURNAL_NAMES));
}
END_TEST

/* Into what was visited already. */
START_TEST(moved_meanwhile)
{
	struct scan *scan;
	struct migrate_binding dir;

	make_dir("volume/a");
	make_dir("volume/b");
	make_dir("volume/b/dir");
	put_file("volume/b/dir/file", "");
	dir = binding_of("volume/b/dir");
	rename_file("volume/b/dir", "other/dir");
	scan = scan_new(volume, store, 0, INT64_MAX);
	while (scan_step(scan, 0, NULL) == SCAN_MORE)
		;
	rename_file("other/dir", "volume/a/dir");
	ck_assert_int_eq(flags_of("volume/a/dir/file"), -1);
	scan_moved(scan, &dir, false);
	ck_assert(!scan_end(scan));
	while (scan_step(scan, 0, NULL) == SCAN_MORE)
		;
	ck_assert_int_ne(flags_of("volume/a/dir/file"), -1);
	ck_assert_uint_gt(scan_looked_at(scan), 2);
	ck_assert(scan_end(scan));
	/* again and again: it has an end */
	scan_moved(scan, &dir, false);
	ck_assert(scan_end(scan));
	scan_free(scan);
}
END_TEST

/* Nor is what cannot be opened gone before the scan was where it was moved. */
START_TEST(i12_unreadable_is_moved_meanwhile)
{
	struct migrate_binding dir, made;
	const char *first;
	struct scan *scan;

	make_dir("volume/dir");
	put_file("volume/dir/made", "text");
	dir = binding_of("volume/dir");
	made = damaged[0] = binding_of("volume/dir/made");
	journal_store_made(store, &made, false, &(struct journal_place){dir, "made"});
	rename_file("volume/dir", "other/dir");
	bad_name = "made";
	scan = scan_new(volume, store, INT64_MAX, INT64_MAX);
	while (scan_step(scan, 0, NULL) == SCAN_MORE)
		;
	rename_file("other/dir", "volume/dir");
	scan_moved(scan, &dir, false);
	ck_assert(!scan_end(scan));
	while (scan_step(scan, 0, NULL) == SCAN_MORE)
		;
	ck_assert(scan_end(scan));
	ck_assert_uint_eq(scan_unread(scan, &first), 1);
	bad_name = NULL;
	scan_free(scan);
	ck_assert_int_eq(flags_of("volume/dir/made"), JOURNAL_MADE);
	ck_assert_uint_eq(journal_store_leaving(store), 0);
}
END_TEST

/* The kernel knows the name in the other tree: it is the volume's all the same. */
START_TEST(a_name_in_another_tree)
{
	struct migrate_binding file;
	int fd;

	put_file("volume/f", "text");
	link_file("volume/f", "other/f");
	file = binding_of("volume/f");
	journal_store_touch(store, &file, JOURNAL_DATA, NULL);
	rename_file("volume/f", "volume/g"); /* leaves the other's in memory, first */
	g_autofree char *path = path_of("other/f");
	fd = open(path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	scan_all(INT64_MAX, INT64_MAX);
	close(fd);
	ck_assert_int_eq(flags_of("volume/g"), JOURNAL_DATA);
	/* and what was taken for gone is not, where it is found */
	journal_store_gone(store, &file);
	scan_all(0, INT64_MAX);
	ck_assert(!(flags_of("volume/g") & JOURNAL_GONE));
}
END_TEST

/* All its names were moved out. */
START_TEST(names_that_left)
{
	const struct journal_place f = {binding_of("volume"), "f"}, g = {f.dir, "g"};
	struct migrate_binding file;

	put_file("volume/f", "text");
	link_file("volume/f", "volume/g");
	file = binding_of("volume/f");
	rename_file("volume/f", "other/f");
	rename_file("volume/g", "other/g");
	journal_store_moved(store, &file, false, &f, NULL);
	journal_store_moved(store, &file, false, &g, NULL);
	ck_assert_int_eq(flags_of("other/f"), JOURNAL_NAMES | JOURNAL_GONE);
	scan_all(INT64_MAX, INT64_MAX);
	ck_assert_int_eq(flags_of("other/f"), JOURNAL_NAMES | JOURNAL_GONE);
	ck_assert_int_eq(journal_store_state(store)->left, 0);
}
END_TEST

/* By a scan that finds it after it was taken for gone. */
START_TEST(found_is_not_gone)
{
	const struct migrate_binding root = binding_of("volume");
	struct migrate_binding file;

	put_file("volume/f", "text");
	file = binding_of("volume/f");
	journal_store_touch(store, &file, JOURNAL_DATA, NULL);
	journal_store_gone(store, &file);
	journal_store_seen(store, &file, JOURNAL_META, &(struct journal_place){root, "f"}, true);
	ck_assert(!(flags_of("volume/f") & JOURNAL_GONE));
}
END_TEST

START_TEST(what_is_mounted_there)
{
	g_autofree char *path = path_of("volume/mounted");

	make_dir("volume/mounted");
	ck_assert_int_eq(mount("tmpfs", path, "tmpfs", 0, ""), 0);
	put_file("volume/mounted/f", "");
	scan_all(0, 0);
	ck_assert_int_eq(flags_of("volume/mounted/f"), -1);
	ck_assert_int_eq(umount(path), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("scan");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, by_ctime);
	tcase_add_test(tcase, unreadable);
	tcase_add_test(tcase, i12_unreadable_is_not_gone);
	tcase_add_test(tcase, unreadable_root);
	tcase_add_test(tcase, in_links);
	tcase_add_test(tcase, what_came_back);
	tcase_add_test(tcase, by_mtime);
	tcase_add_test(tcase, rows_are_compared);
	tcase_add_test(tcase, moved_meanwhile);
	tcase_add_test(tcase, i12_unreadable_is_moved_meanwhile);
	tcase_add_test(tcase, a_name_in_another_tree);
	tcase_add_test(tcase, names_that_left);
	tcase_add_test(tcase, found_is_not_gone);
	tcase_add_test(tcase, what_is_mounted_there);
	return run_tcase(tcase);
}
