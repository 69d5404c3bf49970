/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/reader.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "journal/store/live.h"
#include "tests/journal/place.h"

static struct journal_reader *reader;
static pid_t writer;

static void open_reader(void)
{
	GError *error = NULL;

	reader = journal_open(place, &error);
	ck_assert_msg(reader != NULL, "%s", error ? error->message : "");
}

/* Made: 10 and the link 11.  Renamed: 12 from old to new. */
static void fill_store(void)
{
	struct journal_store *store = store_at_place();
	const struct migrate_binding objects[] = {handle(10), handle(11), handle(12)};
	const struct journal_place names[] = {at(1, "made"), at(1, "link"), at(1, "old"),
					      at(1, "new")};

	journal_store_made(store, &objects[0], false, &names[0]);
	journal_store_state(store)->seen = 100;
	commit(store);
	journal_store_linked(store, &objects[1]);
	journal_store_made(store, &objects[1], false, &names[1]);
	journal_store_moved(store, &objects[2], false, &names[2], &names[3]);
	journal_store_state(store)->seen = 200;
	commit(store);
	journal_store_close(store);
}

/* Says that it runs, and is up to date whenever it is asked. */
static void run_writer(bool full)
{
	int pipes[2];
	char byte;

	ck_assert_int_eq(pipe(pipes), 0);
	writer = fork();
	if (writer == 0) {
		struct journal_live live;
		int fd = journal_live_hold(place, &live), asked;
		sigset_t signals;

		sigemptyset(&signals);
		sigaddset(&signals, JOURNAL_ASK_COMMIT);
		sigaddset(&signals, JOURNAL_ASK_SCAN);
		sigprocmask(SIG_BLOCK, &signals, NULL);
		live.full = full;
		live.settled = 1;
		if (journal_live_put(fd, &live) || write(pipes[1], "x", 1) != 1)
			_exit(1);
		while (sigwait(&signals, &asked) == 0) {
			live.settled = journal_boottime();
			if (asked == JOURNAL_ASK_SCAN)
				live.scanned = journal_boottime();
			journal_live_put(fd, &live);
		}
		_exit(1);
	}
	ck_assert_int_eq(read(pipes[0], &byte, 1), 1);
}

static void stop_writer(void)
{
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
}

static void set_up(void)
{
	place_make();
	fill_store();
	open_reader();
}

static void tear_down(void)
{
	journal_close(reader);
	place_remove();
}

START_TEST(none)
{
	GError *error = NULL;

	ck_assert_ptr_null(journal_open("/nowhere/at/all", &error));
	ck_assert(g_error_matches(error, JOURNAL_ERROR, ENOENT));
	g_clear_error(&error);
}
END_TEST

START_TEST(finds)
{
	const struct migrate_binding known = handle(10), unknown = handle(99);
	struct journal_row row;

	ck_assert_int_eq(journal_find(reader, &known, &row, NULL), JOURNAL_CHANGED);
	ck_assert_uint_eq(row.flags, JOURNAL_MADE);
	ck_assert_str_eq(row.name, "made");
	/* Nobody watches. */
	ck_assert_int_eq(journal_find(reader, &unknown, &row, NULL), JOURNAL_UNKNOWN);
	run_writer(false);
	ck_assert_int_eq(journal_find(reader, &unknown, &row, NULL), JOURNAL_UNCHANGED);
	stop_writer();
	run_writer(true);
	ck_assert_int_eq(journal_find(reader, &unknown, &row, NULL), JOURNAL_UNKNOWN);
	stop_writer();
}
END_TEST

static bool count_row(void *arg, const struct journal_row *row)
{
	unsigned *n = arg;

	ck_assert_uint_ne(row->generation, 0);
	return ++*n < 3;
}

START_TEST(each_after)
{
	unsigned n = 0;

	ck_assert(journal_each(reader, 0, count_row, &n, NULL));
	ck_assert_uint_eq(n, 3); /* it had enough: there are 4, with the directory */
	n = 0;
	ck_assert(journal_each(reader, 1, count_row, &n, NULL));
	ck_assert_uint_eq(n, 3);
	n = 0;
	ck_assert(journal_each(reader, 2, count_row, &n, NULL));
	ck_assert_uint_eq(n, 0);
}
END_TEST

static bool note_name(void *arg, const struct journal_name *name)
{
	g_string_append_printf(arg, "%s%s ", name->kind == JOURNAL_NAME_MADE ? "+" : "-",
			       name->name);
	return true;
}

START_TEST(names)
{
	g_autoptr(GString) text = g_string_new("");
	const struct migrate_binding renamed = handle(12), made = handle(10);

	ck_assert(journal_names(reader, &renamed, note_name, text, NULL));
	ck_assert_str_eq(text->str, "-old +new ");
	ck_assert(journal_names(reader, &made, note_name, text, NULL));
	ck_assert_str_eq(text->str, "-old +new ");
}
END_TEST

START_TEST(was_made)
{
	const struct {
		unsigned number, links;
		bool made;
	} cases[] = {{10, 1, true}, {11, 1, true}, {11, 2, false}, {12, 1, false}, {1, 2, false}};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct migrate_binding object = handle(cases[i].number);
		struct journal_row row;
		bool made;

		ck_assert_int_eq(journal_find(reader, &object, &row, NULL), JOURNAL_CHANGED);
		ck_assert(journal_was_made(reader, &row, cases[i].links, &made, NULL));
		ck_assert_msg(made == cases[i].made, "%zu", i);
	}
}
END_TEST

START_TEST(state)
{
	struct journal_state state;

	ck_assert(journal_state(reader, &state, NULL));
	ck_assert(!state.running && !state.complete);
	ck_assert_int_eq(state.seen, 200);
	ck_assert_int_eq(state.gap, INT64_MAX);
	ck_assert_uint_eq(state.generation, 2);
	ck_assert_uint_eq(state.rows, 4);
	ck_assert_uint_gt(state.bytes, 0);
	run_writer(false);
	ck_assert(journal_state(reader, &state, NULL));
	ck_assert(state.running && state.complete);
	stop_writer();
}
END_TEST

/* As long as there is the store: no other one has it, whatever its since. */
START_TEST(id)
{
	struct journal_state before, state;
	struct journal_store *store;

	ck_assert(journal_state(reader, &before, NULL));
	ck_assert_int_eq(before.since, 0);
	ck_assert_int_ne(before.id, 0);
	journal_close(reader);
	store = store_at_place();
	commit(store);
	journal_store_close(store);
	open_reader();
	ck_assert(journal_state(reader, &state, NULL));
	ck_assert_int_eq(state.id, before.id);
}
END_TEST

START_TEST(settles)
{
	const bool yes = true;
	GError *error = NULL;

	ck_assert(!journal_settle(reader, false, -1, &error));
	ck_assert(g_error_matches(error, JOURNAL_ERROR, ESRCH));
	g_clear_error(&error);
	run_writer(true);
	ck_assert(!journal_settle(reader, false, -1, &error));
	ck_assert(g_error_matches(error, JOURNAL_ERROR, ENOSPC));
	g_clear_error(&error);
	stop_writer();
	run_writer(false);
	ck_assert(journal_settle(reader, false, -1, &error));
	ck_assert(journal_settle(reader, true, -1, &error));
	kill(writer, SIGSTOP);
	ck_assert(!journal_settle(reader, true, 1, &error));
	ck_assert(g_error_matches(error, JOURNAL_ERROR, ETIMEDOUT));
	g_clear_error(&error);
	journal_set_stop(reader, &yes);
	ck_assert(!journal_settle(reader, false, -1, &error));
	ck_assert(g_error_matches(error, JOURNAL_ERROR, ECANCELED));
	g_clear_error(&error);
	stop_writer();
}
END_TEST

/* What is written meanwhile is seen with the next snapshot. */
START_TEST(snapshots)
{
	const struct migrate_binding later = handle(50);
	struct journal_row row;
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct journal_store *store = store_at_place();

		journal_store_touch(store, &later, JOURNAL_DATA, NULL);
		_exit(!journal_store_commit(store, NULL));
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(journal_find(reader, &later, &row, NULL), JOURNAL_UNKNOWN);
	ck_assert(journal_refresh(reader, NULL));
	ck_assert_int_eq(journal_find(reader, &later, &row, NULL), JOURNAL_CHANGED);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("reader");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, none);
	tcase_add_test(tcase, finds);
	tcase_add_test(tcase, each_after);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, was_made);
	tcase_add_test(tcase, state);
	tcase_add_test(tcase, id);
	tcase_add_test(tcase, settles);
	tcase_add_test(tcase, snapshots);
	return run_tcase(tcase);
}
