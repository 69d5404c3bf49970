/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"
#include "tests/retriever/core_opens.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "retriever/copies/copy_mark.h"

static atomic_bool hide_types; /* as file systems that do not keep them in directories */

struct dirent *readdir(DIR *dir)
{
	struct dirent *(*real)(DIR *) = dlsym(RTLD_NEXT, "readdir");
	struct dirent *e = real(dir);

	if (e && hide_types)
		e->d_type = DT_UNKNOWN;
	return e;
}

START_TEST(i5_a_directory_is_finished_after_what_is_below)
{
	int root, d, file;

	core_make(&core);
	core_source_file(&core, "d/file", 10000, 1);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	d = open_below(root, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_finish(&core, root), -EAGAIN);
	ck_assert_int_eq(core_finish(&core, d), -EAGAIN); /* it is not even filled */
	ck_assert_int_eq(fill(d), 0);
	ck_assert_int_eq(core_finish(&core, d), -EAGAIN);
	file = open_below(d, "file", O_RDONLY);
	ck_assert_int_eq(core_range(&core, file, 0, 9999), 0);
	ck_assert_int_eq(core_finish(&core, root), -EAGAIN);
	ck_assert_int_eq(make_whole(d), 0);
	ck_assert_int_eq(core_state(file), MIGRATE_NORMAL);
	ck_assert_int_eq(make_whole(root), 0);
	ck_assert_int_eq(core_state(root), MIGRATE_NORMAL);
	ck_assert_int_eq(core_finish(&core, d), 0); /* it was before */
	close(file);
	close(d);
	core_free_with(&core, root);
}
END_TEST

static int above, below;
static atomic_bool synced_above;
static atomic_uint normal, normal_early;

static bool is_same(int fd, int other)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstat(other, &b) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

static void watch_finish(const char *call, int fd, bool after)
{
	if (!strcmp(call, "fsync") && after && is_same(fd, above))
		synced_above = true;
	if (!strcmp(call, "fremovexattr") && !after && is_same(fd, below)) {
		normal++;
		normal_early += !synced_above;
	}
}

/* Where a power cut may undo what was done above, and not what was done later. */
START_TEST(i5_without_order_what_is_above_is_durable_first)
{
	core_make(&core);
	core_source_file(&core, "d/file", 100, 1);
	core_start(&core);
	above = core_root(&core);
	ck_assert_int_eq(fill(above), 0);
	below = open_below(above, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(below), 0);
	core.retriever->capabilities.lacking = _i ? 1u << CAPABILITY_ORDER : 0;
	atomic_store(&core_hook, watch_finish);
	ck_assert_int_eq(make_whole(below), 0);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_eq(normal, 1);
	ck_assert_uint_eq(normal_early, !_i);
	close(below);
	core_free_with(&core, above);
}
END_TEST

/* Renames f0 by another way than a client's; the directory's mtime is set back where that is kept.
 */
static void rename_alone(int fd, bool kept)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(renameat(fd, "f0", fd, "g0"), 0);
	if (kept)
		ck_assert_int_eq(futimens(fd, (struct timespec[2]){st.st_atim, st.st_mtim}), 0);
}

START_TEST(i13_other_names_than_were_listed)
{
	int fd = begin(2);

	ck_assert_int_eq(fill(fd), 0);
	rename_alone(fd, true);
	ck_assert_int_eq(make_whole(fd), -EREMOTEIO);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	core_expect_answer(&core, "errors 0", "its names are not those that the old server listed");
	core_expect_answer(&core, "retry", "forgotten=1");
	ck_assert_int_eq(make_whole(fd), 0);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(i13_names_that_clients_changed)
{
	int fd = begin(2);

	ck_assert_int_eq(fill(fd), 0);
	rename_alone(fd, false);
	ck_assert_int_eq(make_whole(fd), 0);
	core_free_with(&core, fd);
}
END_TEST

/* One that sets the mtime back, as archives do that are unpacked. */
START_TEST(i13_names_that_clients_changed_with_the_mtime_kept)
{
	int fd = begin(2);
	struct stat st;
	uint64_t id;

	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	rename_alone(fd, false);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_ATTRIBUTES, 0, 0, &id), 0);
	ck_assert_int_eq(futimens(fd, (struct timespec[2]){st.st_atim, st.st_mtim}), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	ck_assert_int_eq(make_whole(fd), 0);
	core_free_with(&core, fd);
}
END_TEST

/* e2fsck(8) makes it, and sets no mtime. */
START_TEST(i13_lost_and_found)
{
	struct stat st;
	int root;

	core_make(&core);
	core_source_file(&core, "f", 100, 1);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	ck_assert_int_eq(fstat(root, &st), 0);
	ck_assert_int_eq(mkdirat(root, "lost+found", 0700), 0);
	ck_assert_int_eq(futimens(root, (struct timespec[2]){st.st_atim, st.st_mtim}), 0);
	ck_assert_int_eq(make_whole(root), 0);
	core_free_with(&core, root);
}
END_TEST

/* Nobody need wait for what failed: not asked again until somebody reads it or retries. */
START_TEST(i12_what_failed_keeps_it_unfinished)
{
	int root, bad, other;

	core_make(&core);
	core_source_file(&core, "bad", 10000, 1);
	core_source_file(&core, "other", 10000, 2);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	bad = open_below(root, "bad", O_RDWR);
	other = open_below(root, "other", O_RDONLY);
	core_source_file(&core, "bad", 10000, 3);
	ck_assert_int_eq(core_range(&core, bad, 0, 1), -ESTALE);
	ck_assert_int_eq(core_finish(&core, root), -EAGAIN); /* the other may still come */
	ck_assert_int_eq(core_range(&core, other, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_finish(&core, root), -EREMOTEIO);
	ck_assert_int_eq(core_state(other), MIGRATE_NORMAL);
	ck_assert_int_eq(core_state(root), MIGRATE_FILLED);
	ck_assert_int_eq(core_truncate(&core, bad, 0), 0);
	ck_assert_int_eq(make_whole(root), 0);
	close(bad);
	close(other);
	core_free_with(&core, root);
}
END_TEST

/* A finish has read the names, and something is placed there and ended before it drops the record:
 * the last entry that it knows becomes normal only then. */
static struct {
	pthread_t thread;
	int status;
} finishing;

static void *finish(void *fd)
{
	finishing.status = core_finish(&core, GPOINTER_TO_INT(fd));
	return NULL;
}

static void finish_until_it_opens(int dir, const char *name)
{
	g_autofree char *path = core_path(&core, name);
	char event[sizeof(struct inotify_event) + 256];
	int in = inotify_init1(IN_CLOEXEC);

	ck_assert_int_ge(inotify_add_watch(in, path, IN_OPEN), 0);
	pthread_create(&finishing.thread, NULL, finish, GINT_TO_POINTER(dir));
	ck_assert_int_gt(read(in, event, sizeof(event)), 0);
	close(in);
}

START_TEST(i5_a_placing_during_a_finish)
{
	struct object *last;
	uint64_t id;
	int a, b, file, known;

	core_make(&core);
	core_source_file(&core, "a/file", 10000, 1);
	core_source_file(&core, "b/known", 10000, 2);
	core_start(&core);
	a = core_find(&core, "a", O_RDONLY | O_DIRECTORY);
	b = core_find(&core, "b", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(a), 0);
	ck_assert_int_eq(fill(b), 0);
	fill_above(b);
	file = open_below(a, "file", O_RDONLY);
	known = open_below(b, "known", O_RDWR);
	ck_assert_int_eq(object_get(core.retriever, known, &last), 0);
	g_mutex_lock(&last->lock);
	finish_until_it_opens(b, "b/known"); /* and waits for the lock */
	ck_assert_int_eq(core_begin(&core, file, b, MIGRATE_PLACE, 0, 0, &id), 0);
	ck_assert_int_eq(renameat(a, "file", b, "file"), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	ck_assert_int_eq(migrate_record_drop(known), 0);
	last->normal = true;
	g_mutex_unlock(&last->lock);
	pthread_join(finishing.thread, NULL);
	ck_assert_int_eq(finishing.status, -EAGAIN);
	ck_assert_int_eq(core_state(b), MIGRATE_FILLED);
	object_unref(last);
	close(known);
	close(file);
	close(a);
	core_free_with(&core, b);
}
END_TEST

/* What is found in a directory that a door holds may not be all when it lets go. */
START_TEST(i5_a_held_directory_is_not_looked_at)
{
	g_autofree char *path = NULL;
	struct inotify_event event[16];
	int a, held, in = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	core_make(&core);
	core_source_file(&core, "a/file", 10000, 1);
	core_start(&core);
	a = core_find(&core, "a", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(a), 0);
	fill_above(a);
	path = g_strconcat(core.root, "/a/file", NULL);
	held = migrate_lock_directory(a, MIGRATE_HOLD_SHARED, NULL);
	ck_assert_int_ge(held, 0);
	ck_assert_int_ge(inotify_add_watch(in, path, IN_OPEN), 0);
	ck_assert_int_eq(core_finish(&core, a), -EAGAIN);
	ck_assert_int_eq(read(in, event, sizeof(event)), -1);
	ck_assert_int_eq(errno, EAGAIN);
	close(held);
	ck_assert_int_eq(core_finish(&core, a), -EAGAIN);
	ck_assert_int_gt(read(in, event, sizeof(event)), 0);
	close(in);
	core_free_with(&core, a);
}
END_TEST

/* All of it is here, but no round makes it whole while a client may change it. */
START_TEST(i5_a_file_that_rounds_leave)
{
	g_autofree uint8_t *data = core_bytes(2, 0, 10000);
	uint64_t first, second;
	int root, file;

	core_make(&core);
	core_source_file(&core, "file", 10000, 1);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	file = open_below(root, "file", O_RDWR);
	ck_assert_int_eq(core_begin(&core, file, -1, MIGRATE_WRITE, 0, 10000, &first), 0);
	ck_assert_int_eq(core_begin(&core, file, -1, MIGRATE_WRITE, 0, 1, &second), 0);
	ck_assert_int_eq(pwrite(file, data, 10000, 0), 10000);
	ck_assert_int_eq(core_end(&core, first, true, false, 0, 10000), 0);
	ck_assert_int_eq(core_finish(&core, root), -EAGAIN);
	ck_assert_int_eq(core_state(file), MIGRATE_PARTIAL);
	ck_assert_int_eq(core_state(root), MIGRATE_FILLED);
	ck_assert_int_eq(core_end(&core, second, false, false, 0, 1), 0);
	ck_assert_int_eq(make_whole(root), 0);
	close(file);
	core_free_with(&core, root);
}
END_TEST

/* As a run of a copy does: what the finish has looked at may be of another version since. */
START_TEST(i5_a_fill_during_a_finish)
{
	struct object *directory, *last;
	int root, file;

	core_make(&core);
	core_source_file(&core, "file", 10000, 1);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	file = open_below(root, "file", O_RDWR);
	ck_assert_int_eq(object_get(core.retriever, root, &directory), 0);
	ck_assert_int_eq(object_get(core.retriever, file, &last), 0);
	g_mutex_lock(&last->lock);
	finish_until_it_opens(root, "file"); /* and waits for the lock */
	g_mutex_lock(&directory->lock);
	directory_of(directory)->filled++;
	g_mutex_unlock(&directory->lock);
	ck_assert_int_eq(migrate_record_drop(file), 0);
	last->normal = true;
	g_mutex_unlock(&last->lock);
	pthread_join(finishing.thread, NULL);
	ck_assert_int_eq(finishing.status, -EAGAIN);
	ck_assert_int_eq(core_state(root), MIGRATE_FILLED);
	ck_assert_int_eq(core_finish(&core, root), 0);
	object_unref(last);
	object_unref(directory);
	close(file);
	core_free_with(&core, root);
}
END_TEST

/* A directory of that name below the root is anybody's. */
START_TEST(i5_a_directory_called_migrate)
{
	int d, sub;

	core_make(&core);
	core_source_file(&core, "d/.migrate/file", 10000, 1);
	core_start(&core);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(d), 0);
	fill_above(d);
	sub = open_below(d, ".migrate", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_state(sub), MIGRATE_UNFILLED);
	ck_assert_int_eq(core_finish(&core, d), -EAGAIN);
	ck_assert_int_eq(core_state(d), MIGRATE_FILLED);
	close(sub);
	core_free_with(&core, d);
}
END_TEST

/* So that the next run of a copy does not set its attributes anew. */
START_TEST(a_directory_of_a_copy_is_marked)
{
	uint64_t fileid;
	int64_t ctime;
	int root;

	core_make(&core);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	ck_assert_int_eq(copy_mark_get(root, &fileid, &ctime), 0);
	core.retriever->copying = true;
	ck_assert_int_eq(core_finish(&core, root), 0);
	core.retriever->copying = false;
	ck_assert_int_eq(copy_mark_get(root, &fileid, &ctime), 1);
	core_free_with(&core, root);
}
END_TEST

/* It may be a tape. */
START_TEST(what_is_no_file_is_not_opened)
{
	g_autofree char *path = NULL;
	int root, d, opens;

	core_make(&core);
	path = g_build_filename(core.source, "d", NULL);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	d = open_below(root, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(d), 0);
	ck_assert_int_eq(mkfifoat(d, "fifo", 0600), 0);
	ck_assert_int_eq(mknodat(d, "device", S_IFCHR | 0600, makedev(1, 3)), 0);
	hide_types = true;
	opens = core_watch_opens(&core, "d");
	ck_assert_int_eq(make_whole(d), 0);
	ck_assert_uint_eq(core_opened(opens), 0);
	hide_types = false;
	close(d);
	core_free_with(&core, root);
}
END_TEST

/* What hides it has no record, and says nothing of it: of a directory, or of a file. */
static void hide(const char *name, int directory, const char *word)
{
	g_autofree char *over = g_build_filename(core.source, name, NULL), *message = NULL;
	g_autofree char *here = core_path(&core, name);
	struct verify_count count;
	struct error_entry e;
	bool said = false;
	guint place = 0;

	ck_assert_int_eq(mount(over, here, NULL, MS_BIND, NULL), 0);
	ck_assert_int_eq(make_whole(directory), -EREMOTEIO);
	ck_assert_int_ne(core_state(directory), MIGRATE_NORMAL);
	for (; errors_get(core.retriever->errors, &place, NULL, &e); place++) {
		said |= strstr(e.reason, word) != NULL;
		error_entry_clear(&e);
	}
	ck_assert(said);
	ck_assert_int_eq(verify_volume(core.retriever, true, &count, &message), -EXDEV);
	ck_assert_ptr_nonnull(strstr(message, "unmount"));
	g_free(count.first);
	ck_assert_int_eq(umount(here), 0);
}

START_TEST(i13_what_is_mounted_over_it)
{
	int root, d, file;

	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	core_make(&core);
	core_source_file(&core, "d/file", 10000, 1);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	hide("d", root, "d: something is mounted over it");
	d = open_below(root, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(d), 0);
	hide("d/file", d, "file: something is mounted over it");
	file = open_below(d, "file", O_RDONLY);
	ck_assert_int_eq(core_range(&core, file, 0, 9999), 0);
	ck_assert_int_eq(make_whole(d), 0);
	ck_assert_int_eq(make_whole(root), 0);
	close(file);
	close(d);
	core_free_with(&core, root);
}
END_TEST

/* There one without a record is not ours. */
START_TEST(i13_a_directory_in_one_that_is_not_filled)
{
	unsigned rule;
	int d, sub;

	core_make(&core);
	core_source_file(&core, "d/sub/empty", 0, 1);
	core_start(&core);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	sub = core_find(&core, "d/sub", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(sub), 0);
	ck_assert_int_eq(core_finish(&core, sub), -EAGAIN);
	rule = backend_fault_add(
		core.fault, &(struct fault_rule){.ops = LISTS, .action = FAULT_REFUSE, .count = 1});
	ck_assert_int_lt(fill(d), 0);
	ck_assert_int_eq(core_finish(&core, sub), -EREMOTEIO);
	ck_assert_int_eq(core_state(sub), MIGRATE_FILLED);
	backend_fault_remove(core.fault, rule);
	ck_assert_int_eq(fill(d), 0);
	ck_assert_int_eq(make_whole(sub), 0);
	ck_assert_int_eq(make_whole(d), 0);
	close(sub);
	core_free_with(&core, d);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("finish", 60);

	tcase_add_test(tcase, i5_a_directory_is_finished_after_what_is_below);
	tcase_add_loop_test(tcase, i5_without_order_what_is_above_is_durable_first, 0, 2);
	tcase_add_test(tcase, i12_what_failed_keeps_it_unfinished);
	tcase_add_test(tcase, i13_other_names_than_were_listed);
	tcase_add_test(tcase, i13_names_that_clients_changed);
	tcase_add_test(tcase, i13_names_that_clients_changed_with_the_mtime_kept);
	tcase_add_test(tcase, i13_lost_and_found);
	tcase_add_test(tcase, i13_what_is_mounted_over_it);
	tcase_add_test(tcase, i13_a_directory_in_one_that_is_not_filled);
	tcase_add_test(tcase, i5_a_placing_during_a_finish);
	tcase_add_test(tcase, i5_a_held_directory_is_not_looked_at);
	tcase_add_test(tcase, i5_a_file_that_rounds_leave);
	tcase_add_test(tcase, i5_a_fill_during_a_finish);
	tcase_add_test(tcase, i5_a_directory_called_migrate);
	tcase_add_test(tcase, a_directory_of_a_copy_is_marked);
	tcase_add_test(tcase, what_is_no_file_is_not_opened);
	return run_tcase(tcase);
}
