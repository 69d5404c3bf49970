/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/apply.h"

#include <sys/mman.h>

#include "journal/gap.h"
#include "journal/store/live.h"
#include "tests/journal/tree.h"

static struct journal_store *store;
static struct watch *watch;
static struct apply *apply;

static void set_up(void)
{
	GError *error = NULL;
	char *mounted;

	tree_make();
	mounted = place;
	place = store_dir;
	store = store_at_place();
	place = mounted;
	make_dir("volume/d");
	put_file("volume/f", "text");
	put_file("volume/g", "text");
	put_file("other/o", "text");
	wait_for_clocks_in(store_dir);
	watch = watch_new(volume_fd(volume), "/nowhere", 0, &error);
	ck_assert_msg(watch != NULL, "%s", error ? error->message : "");
	apply = apply_new(volume, store, journal_realtime());
	wait_for_clocks_in(store_dir);
}

static void tear_down(void)
{
	apply_free(apply);
	watch_free(watch);
	journal_store_close(store);
	tree_remove();
}

static void catch_up_with(struct scan *scan)
{
	struct watched watched;

	ck_assert(watch_take(watch, true, &watched, NULL));
	ck_assert_uint_eq(apply_batch(apply, &watched, scan), 0);
	commit(store);
}

static void catch_up(void)
{
	catch_up_with(NULL);
}

static int flags_of_handle(const struct migrate_binding *object)
{
	struct journal_row row;

	return journal_store_find(store, object, &row) ? (int)row.flags : -1;
}

static int flags_of(const char *name)
{
	const struct migrate_binding object = binding_of(name);

	return flags_of_handle(&object);
}

static enum journal_was was(const char *name, const char *dir, const char *past)
{
	const struct migrate_binding object = binding_of(name);
	const struct journal_place at_past = {binding_of(dir), past};

	return journal_store_was(store, &object, &at_past);
}

START_TEST(data_and_attributes)
{
	g_autofree char *path = path_of("volume/g");

	put_file("volume/f", "more");
	chmod(path, 0600);
	catch_up();
	ck_assert_int_eq(flags_of("volume/f"), JOURNAL_DATA);
	ck_assert_int_eq(flags_of("volume/g"), JOURNAL_META);
	ck_assert_int_eq(flags_of("volume"), -1);
}
END_TEST

START_TEST(made_and_removed)
{
	struct migrate_binding gone, before = binding_of("volume/g");

	make_dir("volume/d/new");
	put_file("volume/d/new/file", "text");
	put_file("volume/d/short", "text");
	gone = binding_of("volume/d/short");
	remove_file("volume/d/short");
	remove_file("volume/g");
	catch_up();
	ck_assert_int_eq(flags_of("volume/d/new"),
			 JOURNAL_MADE | JOURNAL_DIRECTORY | JOURNAL_ENTRIES);
	ck_assert_int_eq(flags_of("volume/d/new/file") & JOURNAL_MADE, JOURNAL_MADE);
	ck_assert_int_eq(flags_of("volume/d"), JOURNAL_DIRECTORY | JOURNAL_ENTRIES);
	ck_assert(flags_of_handle(&gone) & JOURNAL_GONE);
	ck_assert_uint_eq(journal_store_leaving(store), 1);
	ck_assert_int_eq(flags_of_handle(&before), JOURNAL_GONE | JOURNAL_NAMES | JOURNAL_META);
}
END_TEST

START_TEST(a_link)
{
	link_file("volume/f", "volume/d/link");
	catch_up();
	ck_assert_int_eq(flags_of("volume/f"), JOURNAL_META | JOURNAL_NAMES);
	ck_assert_int_eq(was("volume/f", "volume/d", "link"), JOURNAL_WAS_NOT_THERE);
	remove_file("volume/f");
	catch_up();
	ck_assert_int_eq(flags_of("volume/d/link"), JOURNAL_META | JOURNAL_NAMES);
	ck_assert_int_eq(was("volume/d/link", "volume", "f"), JOURNAL_WAS_THERE);
}
END_TEST

/* A file whose names are to come, but for one that was removed, and is open. */
START_TEST(a_file_in_links)
{
	g_autofree char *private = path_of("volume/.migrate");
	int fd;

	make_dir("volume/.migrate");
	fd = open(private, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(migrate_private_mark(fd), 0);
	close(fd);
	catch_up();
	volume_forget(volume);
	make_dir("volume/.migrate/links");
	make_dir("volume/.migrate/staging");
	catch_up();
	put_file("volume/.migrate/links/000000000000000b", "text");
	put_file("volume/.migrate/staging/s", "text");
	catch_up();
	ck_assert_int_eq(flags_of("volume/.migrate/links/000000000000000b"), JOURNAL_DATA);
	ck_assert_int_eq(flags_of("volume/.migrate/staging/s"), -1);
}
END_TEST

/* Made by somebody who is not known to be the retriever: it is no client's, and nothing in it is.
 */
START_TEST(the_private_directory)
{
	static const char *const paths[] = {"volume/.migrate", "volume/.migrate/links",
					    "volume/.migrate/staging", "volume/.migrate/copy"};
	g_autofree char *private = path_of(paths[0]);
	int fd;

	make_dir(paths[0]);
	fd = open(private, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(migrate_private_mark(fd), 0);
	close(fd);
	for (unsigned i = 1; i < G_N_ELEMENTS(paths); i++)
		make_dir(paths[i]);
	put_file("volume/.migrate/copy/file", "text");
	ck_assert_int_eq(chmod(private, 0700), 0);
	catch_up();
	for (unsigned i = 0; i < G_N_ELEMENTS(paths); i++)
		ck_assert_int_eq(flags_of(paths[i]), -1);
	ck_assert_int_eq(flags_of("volume/.migrate/copy/file"), -1);
}
END_TEST

/* All of it before anybody looked. */
START_TEST(a_link_of_what_is_gone)
{
	const struct migrate_binding gone = binding_of("volume/f");
	const struct journal_place before = {binding_of("volume"), "f"};

	link_file("volume/f", "volume/d/link");
	remove_file("volume/f");
	remove_file("volume/d/link");
	catch_up();
	ck_assert_int_eq(flags_of_handle(&gone), JOURNAL_META | JOURNAL_NAMES | JOURNAL_GONE);
	ck_assert_int_eq(journal_store_was(store, &gone, &before), JOURNAL_WAS_THERE);
}
END_TEST

/* The kernel makes one event of what is alike: there, back, there again. */
START_TEST(there_and_back)
{
	for (int turns = 1; turns < 6; turns++) {
		const bool away = turns % 2;

		for (int i = 0; i < turns; i++)
			rename_file(i % 2 ? "volume/d/f" : "volume/f",
				    i % 2 ? "volume/f" : "volume/d/f");
		catch_up();
		ck_assert_int_eq(flags_of(away ? "volume/d/f" : "volume/f"),
				 away ? JOURNAL_NAMES : 0);
		if (away) {
			ck_assert_int_eq(was("volume/d/f", "volume", "f"), JOURNAL_WAS_THERE);
			ck_assert_int_eq(was("volume/d/f", "volume/d", "f"), JOURNAL_WAS_NOT_THERE);
			rename_file("volume/d/f", "volume/f");
			catch_up();
			ck_assert_int_eq(flags_of("volume/f"), 0);
		}
	}
}
END_TEST

static struct watched take(char **bytes)
{
	struct watched watched;

	ck_assert(watch_take(watch, true, &watched, NULL));
	*bytes = g_memdup2(watched.bytes, watched.len);
	watched.bytes = *bytes;
	return watched;
}

/* Batches end anywhere: what is there is ahead of what is told. */
START_TEST(names_ahead_of_events)
{
	g_autofree char *a = NULL, *b = NULL;
	struct watched first, second;

	rename_file("volume/f", "volume/b");
	first = take(&a);
	rename_file("volume/b", "volume/c");
	rename_file("volume/c", "volume/f");
	second = take(&b);
	apply_batch(apply, &first, NULL);
	apply_batch(apply, &second, NULL);
	ck_assert_int_eq(flags_of("volume/f"), 0);
	rename_file("volume/f", "volume/c");
	catch_up();
	ck_assert_int_eq(flags_of("volume/c"), JOURNAL_NAMES);
	ck_assert_int_eq(was("volume/c", "volume", "f"), JOURNAL_WAS_THERE);
	ck_assert_int_eq(was("volume/c", "volume", "b"), JOURNAL_WAS_UNKNOWN);
}
END_TEST

/* What was looked up is remembered while events of before that are still to come, also over a batch
 * that says nothing of it. */
START_TEST(names_are_remembered)
{
	g_autofree char *a = NULL, *b = NULL, *c = NULL;
	struct watched first, second, third;

	rename_file("volume/f", "volume/b");
	first = take(&a);
	put_file("volume/g", "more");
	second = take(&b);
	rename_file("volume/b", "volume/f");
	third = take(&c);
	apply_batch(apply, &first, NULL);
	apply_batch(apply, &second, NULL);
	apply_batch(apply, &third, NULL);
	ck_assert_int_eq(flags_of("volume/f"), 0);
	ck_assert_int_eq(was("volume/f", "volume", "b"), JOURNAL_WAS_UNKNOWN);
}
END_TEST

/* Save as editors do: the old one has no name any more. */
START_TEST(replaced)
{
	struct migrate_binding old = binding_of("volume/f"), new;

	put_file("volume/tmp", "new");
	new = binding_of("volume/tmp");
	rename_file("volume/tmp", "volume/f");
	catch_up();
	ck_assert_int_eq(flags_of_handle(&new) & JOURNAL_MADE, JOURNAL_MADE);
	ck_assert_int_eq(flags_of("volume") & JOURNAL_ENTRIES, JOURNAL_ENTRIES);
	ck_assert(flags_of_handle(&old) == -1 || flags_of_handle(&old) & JOURNAL_GONE);
}
END_TEST

/* Of an empty directory the kernel tells then that its links changed. */
START_TEST(directory_replaced)
{
	const struct migrate_binding old = binding_of("volume/d");

	put_file("volume/d/new", "");
	remove_file("volume/d/new");
	make_dir("volume/tmp");
	catch_up();
	ck_assert_int_eq(flags_of_handle(&old) & JOURNAL_GONE, 0);
	rename_file("volume/tmp", "volume/d");
	catch_up();
	ck_assert_int_eq(flags_of_handle(&old) & JOURNAL_GONE, JOURNAL_GONE);
}
END_TEST

START_TEST(another_tree)
{
	struct migrate_binding outside = binding_of("other/o"), file = binding_of("volume/f");

	put_file("other/o", "more");
	make_dir("other/dir");
	put_file("other/dir/x", "");
	remove_file("other/dir/x");
	remove_file("other/dir");
	catch_up();
	ck_assert_int_eq(flags_of_handle(&outside), -1);
	ck_assert_int_eq(flags_of("other"), -1);
	rename_file("other/o", "volume/d/o");
	rename_file("volume/f", "other/f");
	catch_up();
	ck_assert_int_eq(flags_of("volume/d/o"), JOURNAL_MADE);
	ck_assert_int_eq(flags_of_handle(&file), JOURNAL_NAMES | JOURNAL_GONE);
	rename_file("other/f", "volume/f");
	catch_up();
	/* what happened to it there is not told */
	ck_assert_int_eq(flags_of("volume/f"), JOURNAL_DATA | JOURNAL_META);
}
END_TEST

/* Whatever is below one that comes back may be another by now, or in whatever it comes back in. */
START_TEST(a_directory_that_comes_back)
{
	const struct journal_durable *state = journal_store_state(store);

	make_dir("other/new");
	catch_up();
	rename_file("other/new", "volume/new");
	catch_up();
	ck_assert_int_eq(flags_of("volume/new"), JOURNAL_MADE | JOURNAL_DIRECTORY);
	ck_assert_int_eq(state->gap, INT64_MAX);
	rename_file("volume/d", "other/d");
	make_dir("other/around");
	catch_up();
	ck_assert_int_eq(state->gap, INT64_MAX);
	rename_file("other/d", "other/around/d");
	rename_file("other/around", "volume/around");
	catch_up();
	ck_assert(flags_of("volume/around") & JOURNAL_RETURNED);
	ck_assert_int_ne(state->gap, INT64_MAX);
}
END_TEST

/* The scan of a gap may meet it neither where it was nor where it is. */
START_TEST(moved_in_a_gap)
{
	struct journal_durable *state = journal_store_state(store);
	struct scan *scan;

	rename_file("volume/f", "volume/d/f");
	make_dir("volume/e");
	catch_up();
	ck_assert_int_eq(flags_of("volume/d/f"), JOURNAL_NAMES);
	gap_open(state, 1, "start");
	state->left = true;
	/* while none looks: the next one meets it where it is */
	rename_file("volume/d/f", "volume/f");
	catch_up();
	ck_assert_int_eq(flags_of("volume/f"), 0);
	scan = scan_new(volume, store, 0, INT64_MAX);
	rename_file("volume/f", "volume/d/h");
	rename_file("volume/e", "volume/d/e");
	link_file("volume/g", "volume/d/g");
	remove_file("volume/g");
	catch_up_with(scan);
	scan_free(scan);
	ck_assert_int_eq(flags_of("volume/d/h"),
			 JOURNAL_NAMES | JOURNAL_DATA | JOURNAL_META | JOURNAL_SCANNED);
	ck_assert(flags_of("volume/d/e") & JOURNAL_RETURNED);
	ck_assert_int_eq(flags_of("volume/d/g") & (JOURNAL_DATA | JOURNAL_SCANNED),
			 JOURNAL_DATA | JOURNAL_SCANNED);
}
END_TEST

static void finish(struct scan *scan)
{
	while (scan_step(scan, 1000, NULL) == SCAN_MORE)
		;
}

/* Out of one that came back, maybe, when the scan is through with the rows: the same scan sees to
 * all that is below it, and the next one has nothing to do for it. */
START_TEST(moved_while_a_scan_looks)
{
	struct journal_durable *state = journal_store_state(store);
	struct scan *scan;

	put_file("volume/d/file", "text");
	make_dir("volume/e");
	catch_up();
	journal_store_clear(store);
	commit(store);
	gap_open(state, 1, "start");
	state->left = true;
	scan = scan_new(volume, store, INT64_MAX, INT64_MAX);
	finish(scan);
	ck_assert_int_eq(flags_of("volume/d/file"), -1);
	rename_file("volume/d", "volume/e/d");
	catch_up_with(scan);
	ck_assert(flags_of("volume/e/d") & JOURNAL_RETURNED); /* if the scan is stopped */
	ck_assert(!scan_end(scan));
	finish(scan);
	ck_assert_int_ne(flags_of("volume/e/d/file"), -1);
	ck_assert(flags_of("volume/e/d/file") & JOURNAL_DATA);
	ck_assert(flags_of("volume/e/d") & JOURNAL_META);
	/* however often it is moved */
	rename_file("volume/e/d", "volume/d");
	catch_up_with(scan);
	ck_assert(scan_end(scan));
	ck_assert(!(flags_of("volume/d") & JOURNAL_RETURNED));
	/* but with one that came back since, it is the next scan's */
	rename_file("volume/d", "volume/e/d");
	rename_file("volume/e", "other/e");
	rename_file("other/e", "volume/e");
	rename_file("volume/e/d", "volume/d");
	catch_up_with(scan);
	finish(scan);
	ck_assert(scan_end(scan));
	ck_assert(flags_of("volume/d") & JOURNAL_RETURNED);
	scan_free(scan);
}
END_TEST

/* It was moved before something came back, and is so once more after it. */
START_TEST(moved_before_what_left_is_known)
{
	struct journal_durable *state = journal_store_state(store);
	struct scan *scan;

	put_file("volume/d/file", "text");
	make_dir("volume/e");
	catch_up();
	journal_store_clear(store);
	commit(store);
	gap_open(state, 1, "start");
	scan = scan_new(volume, store, INT64_MAX, INT64_MAX);
	rename_file("volume/d", "volume/e/d");
	catch_up_with(scan);
	finish(scan);
	ck_assert_int_eq(flags_of("volume/e/d/file"), -1);
	state->left = true;
	rename_file("volume/e/d", "volume/d");
	catch_up_with(scan);
	ck_assert(!scan_end(scan));
	finish(scan);
	ck_assert(scan_end(scan));
	ck_assert_int_ne(flags_of("volume/d/file"), -1);
	ck_assert(!(flags_of("volume/d") & JOURNAL_RETURNED));
	scan_free(scan);
}
END_TEST

/* A file of the volume has names in another tree, or in .migrate/aside. */
START_TEST(written_by_a_name_elsewhere)
{
	static const char *const dirs[] = {"other", "volume/.migrate"};
	g_autofree char *private = path_of(dirs[1]);
	int fd;

	make_dir(dirs[1]);
	fd = open(private, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(migrate_private_mark(fd), 0);
	close(fd);
	volume_forget(volume);
	for (unsigned i = 0; i < G_N_ELEMENTS(dirs); i++) {
		g_autofree char *name = g_strdup_printf("volume/d/%u", i);
		g_autofree char *link = g_build_filename(dirs[i], "link", NULL);
		g_autofree char *brief = g_strdup_printf("volume/d/brief%u", i);
		g_autofree char *gone = g_build_filename(dirs[i], "gone", NULL);

		put_file(name, "text");
		put_file(brief, "text");
		link_file(name, link);
		link_file(brief, gone);
		catch_up();
		journal_store_clear(store); /* nobody knows of them */
		commit(store);
		put_file(link, "more");
		/* by a name that is gone when anybody looks */
		put_file(gone, "more");
		remove_file(gone);
		catch_up();
		ck_assert(flags_of(name) > 0 && flags_of(name) & JOURNAL_DATA);
		ck_assert(flags_of(brief) > 0 && flags_of(brief) & JOURNAL_DATA);
	}
	/* and one that left */
	rename_file("volume/f", "other/f");
	catch_up();
	put_file("other/f", "more");
	catch_up();
	ck_assert(flags_of("other/f") & JOURNAL_DATA);
	/* what is another tree's alone is nothing to us, whatever it is called by now */
	put_file("other/tmp", "text");
	rename_file("other/tmp", "other/o");
	catch_up();
	ck_assert_int_eq(flags_of("other/o"), -1);
}
END_TEST

START_TEST(written_through_a_mapping)
{
	g_autofree char *path = path_of("volume/f");
	int fd = open(path, O_RDWR);
	char *map = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	ck_assert_ptr_ne(map, MAP_FAILED);
	catch_up();
	map[0] = 'T';
	munmap(map, 4);
	close(fd);
	/* Opened for writing, and not written. */
	g_autofree char *other = path_of("volume/g");
	close(open(other, O_RDWR));
	catch_up();
	ck_assert_int_eq(flags_of("volume/g"), -1);
	ck_assert_int_eq(flags_of("volume/f"), JOURNAL_DATA);
}
END_TEST

static void set_back(const char *name)
{
	g_autofree char *path = path_of(name);
	const struct timespec past[] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};

	ck_assert_int_eq(utimensat(AT_FDCWD, path, past, 0), 0);
}

static void write_mapped(const char *name, bool closed_before)
{
	g_autofree char *path = path_of(name);
	int fd = open(path, O_RDWR);
	char *map = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	ck_assert_ptr_ne(map, MAP_FAILED);
	map[0] = 'T';
	if (!closed_before)
		set_back(name);
	munmap(map, 4);
	close(fd);
	if (closed_before)
		set_back(name);
}

/* As linkers and tools of synchronisation do: the mtime tells nothing then. */
START_TEST(a_mapping_and_its_mtime_set_back)
{
	g_autofree char *a = NULL, *b = NULL, *path = path_of("volume/d/h");
	struct watched first, second;

	put_file("volume/d/h", "text");
	set_back("volume/d/h");
	catch_up();
	journal_store_clear(store);
	commit(store);
	write_mapped("volume/f", false);
	write_mapped("volume/g", true);
	catch_up();
	ck_assert_int_eq(flags_of("volume/f"), JOURNAL_DATA | JOURNAL_META);
	ck_assert_int_eq(flags_of("volume/g"), JOURNAL_DATA | JOURNAL_META);
	/* set back after the batch that tells of the closing, before that is looked at */
	close(open(path, O_RDWR));
	first = take(&a);
	set_back("volume/d/h");
	second = take(&b);
	apply_batch(apply, &first, NULL);
	ck_assert_int_eq(flags_of("volume/d/h"), -1);
	apply_batch(apply, &second, NULL);
	ck_assert_int_eq(flags_of("volume/d/h"), JOURNAL_DATA | JOURNAL_META);
	/* when nothing of before is to come any more, it was not written */
	journal_store_clear(store);
	commit(store);
	close(open(path, O_RDWR));
	catch_up();
	catch_up();
	set_back("volume/d/h");
	catch_up();
	ck_assert_int_eq(flags_of("volume/d/h"), JOURNAL_META);
}
END_TEST

START_TEST(a_clock_that_is_set_back)
{
	g_autofree char *path = path_of("volume/f"), *bytes = NULL;
	struct watched watched;

	set_back("volume/f");
	catch_up();
	journal_store_clear(store);
	commit(store);
	close(open(path, O_RDWR));
	watched = take(&bytes);
	watched.seen = 999999999 * INT64_C(1000000000);
	apply_batch(apply, &watched, NULL);
	ck_assert_int_eq(flags_of("volume/f"), JOURNAL_DATA);
}
END_TEST

START_TEST(no_sense)
{
	struct {
		struct fanotify_event_metadata meta;
	} event = {.meta = {.event_len = sizeof(event),
			    .vers = FANOTIFY_METADATA_VERSION,
			    .metadata_len = sizeof(event.meta),
			    .mask = FAN_MODIFY}};
	const struct watched watched = {.bytes = (const char *)&event, .len = sizeof(event)};

	ck_assert_uint_eq(apply_batch(apply, &watched, NULL), 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("apply");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, data_and_attributes);
	tcase_add_test(tcase, made_and_removed);
	tcase_add_test(tcase, a_link);
	tcase_add_test(tcase, a_file_in_links);
	tcase_add_test(tcase, the_private_directory);
	tcase_add_test(tcase, a_link_of_what_is_gone);
	tcase_add_test(tcase, there_and_back);
	tcase_add_test(tcase, names_ahead_of_events);
	tcase_add_test(tcase, names_are_remembered);
	tcase_add_test(tcase, replaced);
	tcase_add_test(tcase, directory_replaced);
	tcase_add_test(tcase, another_tree);
	tcase_add_test(tcase, a_directory_that_comes_back);
	tcase_add_test(tcase, moved_in_a_gap);
	tcase_add_test(tcase, moved_while_a_scan_looks);
	tcase_add_test(tcase, moved_before_what_left_is_known);
	tcase_add_test(tcase, written_by_a_name_elsewhere);
	tcase_add_test(tcase, written_through_a_mapping);
	tcase_add_test(tcase, a_mapping_and_its_mtime_set_back);
	tcase_add_test(tcase, a_clock_that_is_set_back);
	tcase_add_test(tcase, no_sense);
	return run_tcase(tcase);
}
