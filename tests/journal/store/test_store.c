/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/store.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "tests/journal/place.h"

#define ROOT 1

static struct journal_store *store;

static void open_store(void)
{
	place_make();
	store = store_at_place();
}

static void close_store(void)
{
	journal_store_close(store);
	place_remove();
}

static unsigned flags_of(unsigned number)
{
	const struct migrate_binding object = handle(number);
	struct journal_row row;

	return journal_store_find(store, &object, &row) ? row.flags : 0;
}

static void made(unsigned number, unsigned dir, const char *name)
{
	const struct migrate_binding object = handle(number);
	const struct journal_place to = at(dir, name);

	journal_store_made(store, &object, false, &to);
}

static void removed(unsigned number, unsigned dir, const char *name)
{
	const struct migrate_binding object = handle(number);
	const struct journal_place from = at(dir, name);

	journal_store_removed(store, &object, false, &from);
}

static void moved(unsigned number, unsigned dir, const char *name, unsigned to_dir,
		  const char *to_name)
{
	const struct migrate_binding object = handle(number);
	const struct journal_place from = at(dir, name), to = at(to_dir, to_name);

	journal_store_moved(store, &object, false, name ? &from : NULL, to_name ? &to : NULL);
}

static void touched(unsigned number, unsigned flags)
{
	const struct migrate_binding object = handle(number);

	journal_store_touch(store, &object, flags, NULL);
}

static void gone(unsigned number)
{
	const struct migrate_binding object = handle(number);

	journal_store_gone(store, &object);
}

START_TEST(one_row_for_an_object)
{
	for (int i = 0; i < 1000; i++) {
		touched(7, JOURNAL_DATA);
		if (i % 100 == 0)
			commit(store);
	}
	touched(7, JOURNAL_META);
	commit(store);
	ck_assert_uint_eq(flags_of(7), JOURNAL_DATA | JOURNAL_META);
}
END_TEST

START_TEST(made_and_written)
{
	struct journal_row row;
	const struct migrate_binding object = handle(7);

	made(7, ROOT, "new");
	touched(7, JOURNAL_DATA);
	commit(store);
	ck_assert_uint_eq(flags_of(7), JOURNAL_MADE | JOURNAL_DATA);
	ck_assert_uint_eq(flags_of(ROOT), JOURNAL_ENTRIES | JOURNAL_DIRECTORY);
	ck_assert(journal_store_find(store, &object, &row));
	ck_assert_str_eq(row.name, "new");
	/* Its further names, and its renames, are nobody's business: all of it is new. */
	made(7, ROOT, "more");
	moved(7, ROOT, "more", 2, "else");
	ck_assert_uint_eq(flags_of(7), JOURNAL_MADE | JOURNAL_DATA);
	ck_assert_uint_eq(flags_of(2), JOURNAL_ENTRIES | JOURNAL_DIRECTORY);
}
END_TEST

START_TEST(renamed_there_and_back)
{
	moved(7, ROOT, "a", ROOT, "b");
	commit(store);
	ck_assert_uint_eq(flags_of(7), JOURNAL_NAMES);
	moved(7, ROOT, "b", 2, "c");
	ck_assert_uint_eq(flags_of(7), JOURNAL_NAMES);
	moved(7, 2, "c", ROOT, "a");
	commit(store);
	ck_assert_uint_eq(flags_of(7), 0);
	ck_assert_uint_eq(flags_of(ROOT), JOURNAL_ENTRIES | JOURNAL_DIRECTORY);
}
END_TEST

/* The kernel tells of the link's count before it tells of the name. */
START_TEST(a_link_is_no_new_object)
{
	const struct migrate_binding object = handle(7), other = handle(8);

	journal_store_touch(store, &object, JOURNAL_META, NULL);
	made(7, ROOT, "link");
	ck_assert_uint_eq(flags_of(7), JOURNAL_META | JOURNAL_NAMES);
	journal_store_linked(store, &other);
	made(8, ROOT, "link of what is gone");
	ck_assert_uint_eq(flags_of(8), JOURNAL_NAMES);
	removed(7, ROOT, "link");
	ck_assert_uint_eq(flags_of(7), JOURNAL_META);
	removed(7, ROOT, "first");
	gone(7);
	ck_assert_uint_eq(flags_of(7), JOURNAL_META | JOURNAL_NAMES | JOURNAL_GONE);
}
END_TEST

START_TEST(made_and_removed_leaves_when_durable)
{
	const struct migrate_binding directory = handle(9);
	const struct journal_place name = at(ROOT, "dir");

	made(7, ROOT, "temporary");
	removed(7, ROOT, "temporary");
	gone(7);
	journal_store_made(store, &directory, true, &name);
	journal_store_removed(store, &directory, true, &name);
	commit(store);
	ck_assert_uint_eq(journal_store_leaving(store), 2);
	journal_store_purge(store, journal_store_state(store)->generation - 1);
	ck_assert_uint_eq(journal_store_leaving(store), 2);
	journal_store_purge(store, journal_store_state(store)->generation);
	commit(store);
	ck_assert_uint_eq(journal_store_leaving(store), 0);
	ck_assert_uint_eq(flags_of(7), 0);
	ck_assert_uint_eq(flags_of(9), 0);
	ck_assert_uint_eq(flags_of(ROOT), JOURNAL_ENTRIES | JOURNAL_DIRECTORY);
	gone(7); /* what has no row */
	ck_assert_uint_eq(flags_of(7), 0);
}
END_TEST

START_TEST(out_of_the_volume_and_in)
{
	moved(7, ROOT, "a", 0, NULL);
	ck_assert_uint_eq(flags_of(7), JOURNAL_NAMES | JOURNAL_GONE);
	moved(7, 0, NULL, ROOT, "a");
	ck_assert_uint_eq(flags_of(7), 0);
	moved(8, 0, NULL, ROOT, "foreign");
	ck_assert_uint_eq(flags_of(8), JOURNAL_MADE);
	moved(8, ROOT, "foreign", 0, NULL);
	ck_assert_uint_eq(journal_store_leaving(store), 1);
	moved(8, 0, NULL, ROOT, "foreign");
	ck_assert_uint_eq(journal_store_leaving(store), 0);
}
END_TEST

static bool holds(void *arg, const struct migrate_binding *object, const struct journal_name *name)
{
	return !strcmp(name->name, arg);
}

/* A power cut brought a rename, or a removal, back. */
START_TEST(corrected)
{
	const struct migrate_binding object = handle(7);
	const struct journal_place found = at(ROOT, "c");

	moved(7, ROOT, "a", ROOT, "b");
	journal_store_correct(store, &object, true, holds, "b");
	ck_assert_uint_eq(flags_of(7), JOURNAL_NAMES);
	/* It is called otherwise, which a scan finds. */
	journal_store_correct(store, &object, true, holds, "c");
	journal_store_seen(store, &object, JOURNAL_META, &found, true);
	ck_assert_uint_eq(flags_of(7), JOURNAL_NAMES | JOURNAL_META | JOURNAL_SCANNED);
	journal_store_correct(store, &object, true, holds, "a");
	ck_assert_uint_eq(flags_of(7), JOURNAL_META | JOURNAL_SCANNED);
	removed(7, ROOT, "a");
	gone(7);
	journal_store_correct(store, &object, true, holds, "a");
	ck_assert_uint_eq(flags_of(7), JOURNAL_META | JOURNAL_SCANNED);
	journal_store_correct(store, &object, false, holds, "");
	ck_assert_uint_eq(flags_of(7), JOURNAL_META | JOURNAL_SCANNED | JOURNAL_GONE);
}
END_TEST

/* What a scan alone found, and nobody told of. */
START_TEST(maybe_changed)
{
	const struct migrate_binding object = handle(7), other = handle(8);
	const struct journal_place place = at(ROOT, "a");
	const struct journal_durable *state = journal_store_state(store);

	journal_store_seen(store, &object, JOURNAL_DATA, &place, true);
	touched(8, JOURNAL_SCANNED | JOURNAL_META);
	touched(8, JOURNAL_SCANNED | JOURNAL_META);
	touched(9, JOURNAL_DATA);
	touched(9, JOURNAL_SCANNED | JOURNAL_META);
	ck_assert_uint_eq(flags_of(7), JOURNAL_DATA | JOURNAL_SCANNED | JOURNAL_MAYBE);
	ck_assert_uint_eq(flags_of(9), JOURNAL_DATA | JOURNAL_META | JOURNAL_SCANNED);
	ck_assert_uint_eq(state->maybe, 2);
	/* which says nothing that is new, but for who says it */
	touched(7, JOURNAL_DATA);
	ck_assert_uint_eq(flags_of(7), JOURNAL_DATA | JOURNAL_SCANNED);
	ck_assert_uint_eq(state->maybe, 1);
	commit(store);
	journal_store_seen(store, &object, JOURNAL_DATA, &place, true);
	ck_assert_uint_eq(state->maybe, 1);
	removed(8, ROOT, "b");
	ck_assert_uint_eq(state->maybe, 0);
	journal_store_abort(store);
	ck_assert_uint_eq(state->maybe, 1);
	journal_store_gone(store, &other);
	ck_assert_uint_eq(state->maybe, 0);
	touched(10, JOURNAL_SCANNED | JOURNAL_META);
	journal_store_clear(store);
	ck_assert_uint_eq(state->maybe, 0);
}
END_TEST

START_TEST(rows_in_order)
{
	struct migrate_binding after = {0};
	struct journal_row row;
	unsigned n = 0;

	for (unsigned i = 0; i < 300; i++)
		touched(i, JOURNAL_DATA);
	for (; journal_store_next(store, &after, &row); n++)
		after = row.handle;
	ck_assert_uint_eq(n, 300);
}
END_TEST

START_TEST(what_is_not_committed_is_lost)
{
	touched(7, JOURNAL_DATA);
	journal_store_state(store)->seen = 5;
	commit(store);
	touched(8, JOURNAL_DATA);
	journal_store_state(store)->seen = 6;
	journal_store_close(store);
	store = store_at_place();
	ck_assert_int_eq(journal_store_state(store)->seen, 5);
	ck_assert_uint_eq(journal_store_state(store)->generation, 1);
	ck_assert_uint_ne(flags_of(7), 0);
	ck_assert_uint_eq(flags_of(8), 0);
}
END_TEST

/* The file system is full: the commit says so, nothing of it is there, and it goes on with room. */
START_TEST(no_room)
{
	GError *error = NULL;

	journal_store_close(store);
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("tmpfs", place, "tmpfs", 0, "size=256k"), 0);
	store = store_at_place();
	touched(7, JOURNAL_DATA);
	journal_store_state(store)->seen = 5;
	commit(store);
	for (unsigned i = 0; i < 20000; i++)
		touched(i, JOURNAL_DATA);
	journal_store_state(store)->seen = 6;
	ck_assert(!journal_store_commit(store, &error));
	ck_assert_msg(g_error_matches(error, JOURNAL_ERROR, ENOSPC), "%s", error->message);
	g_clear_error(&error);
	ck_assert_int_eq(journal_store_state(store)->seen, 5);
	ck_assert_uint_ne(flags_of(7), 0);
	ck_assert_uint_eq(flags_of(8), 0);
	ck_assert_int_eq(mount("tmpfs", place, "tmpfs", MS_REMOUNT, "size=64m"), 0);
	for (unsigned i = 0; i < 20000; i++)
		touched(i, JOURNAL_DATA);
	commit(store);
	journal_store_close(store);
	store = store_at_place();
	ck_assert_uint_ne(flags_of(19999), 0);
	journal_store_close(store);
	ck_assert_int_eq(umount2(place, MNT_DETACH), 0);
	store = store_at_place();
}
END_TEST

/* Of the file, KiB: in this process's memory, or mapped there. */
static unsigned long mapped(const char *what)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	unsigned long found = 0;
	bool ours = false;
	char line[4096], mode[5];

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%*x-%*x %4s", mode) == 1)
			ours = !strcmp(mode, "r--s") && strstr(line, "data.mdb");
		if (ours && !strncmp(line, what, strlen(what)))
			found = strtoul(line + strlen(what), NULL, 10);
	}
	fclose(maps);
	return found;
}

START_TEST(memory)
{
	ck_assert_uint_ne(mapped("Size:"), 0);
	for (unsigned i = 0; i < 40000; i++) {
		made(i, ROOT, "a name of some length, as files have them");
		if (i % 10000 == 9999)
			commit(store);
	}
	printf("%lu KiB of the store\n", mapped("Rss:"));
	ck_assert_uint_lt(mapped("Rss:"), 2048); /* of 8 MiB */
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("store");

	tcase_add_checked_fixture(tcase, open_store, close_store);
	tcase_add_test(tcase, one_row_for_an_object);
	tcase_add_test(tcase, made_and_written);
	tcase_add_test(tcase, renamed_there_and_back);
	tcase_add_test(tcase, a_link_is_no_new_object);
	tcase_add_test(tcase, made_and_removed_leaves_when_durable);
	tcase_add_test(tcase, out_of_the_volume_and_in);
	tcase_add_test(tcase, corrected);
	tcase_add_test(tcase, maybe_changed);
	tcase_add_test(tcase, rows_in_order);
	tcase_add_test(tcase, what_is_not_committed_is_lost);
	tcase_add_test(tcase, no_room);
	tcase_add_test(tcase, memory);
	return run_tcase(tcase);
}
