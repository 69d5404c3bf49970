/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The process is a child: a store is opened once in each. */
#include "journal/journal.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "journal/store/close.h"
#include "journal/store/live.h"
#include "tests/journal/tree.h"

static pid_t child;
static struct journal *working;

bool __real_journal_store_commit(struct journal_store *store, GError **error);
bool __wrap_journal_store_commit(struct journal_store *store, GError **error);

/* Fails once where there is a file "fails". */
bool __wrap_journal_store_commit(struct journal_store *store, GError **error)
{
	g_autofree char *fails = g_build_filename(store_dir, "fails", NULL);

	if (unlink(fails) < 0)
		return __real_journal_store_commit(store, error);
	g_set_error(error, JOURNAL_ERROR, EIO, "it fails");
	journal_store_abort(store);
	return false;
}

static void on_signal(int number)
{
	journal_ask(working, number);
}

static bool attached;

static bool is_attached(int root_fd)
{
	return root_fd >= 0 && attached;
}

static void start(void)
{
	int pipes[2];
	char byte;

	ck_assert_int_eq(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		g_autofree char *root = path_of("volume");
		GError *error = NULL;

		signal(SIGTERM, SIG_DFL); /* libcheck's ends the group */
		working = journal_new(root, store_dir, "/nowhere", is_attached, &error);
		signal(JOURNAL_ASK_COMMIT, on_signal);
		signal(JOURNAL_ASK_SCAN, on_signal);
		signal(JOURNAL_ASK_BEGIN, on_signal);
		if (!working || write(pipes[1], "x", 1) != 1)
			_exit(1);
		while (journal_work(working, 500, &error))
			;
		_exit(1);
	}
	close(pipes[1]);
	ck_assert_int_eq(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
}

static void stop(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static struct journal_state state_now(bool scan)
{
	struct journal_reader *reader = journal_open(store_dir, NULL);
	struct journal_state state;
	GError *error = NULL;

	ck_assert_ptr_nonnull(reader);
	ck_assert_msg(journal_settle(reader, scan, 60000, &error), "%s",
		      error ? error->message : "");
	ck_assert(journal_state(reader, &state, NULL));
	journal_close(reader);
	return state;
}

static int flags_of(const char *name)
{
	const struct migrate_binding object = binding_of(name);
	struct journal_reader *reader = journal_open(store_dir, NULL);
	struct journal_row row;
	enum journal_answer answer;

	ck_assert_ptr_nonnull(reader);
	ck_assert(journal_settle(reader, false, 60000, NULL));
	answer = journal_find(reader, &object, &row, NULL);
	journal_close(reader);
	ck_assert_int_ne(answer, JOURNAL_FAILED);
	ck_assert_int_ne(answer, JOURNAL_UNKNOWN);
	return answer == JOURNAL_CHANGED ? (int)row.flags : -1;
}

START_TEST(notes)
{
	struct journal_state state;

	put_file("volume/before", "text");
	start();
	put_file("volume/f", "text");
	state = state_now(false);
	ck_assert(state.complete && state.running && !state.full);
	ck_assert_uint_eq(state.gaps, 0);
	ck_assert_int_eq(flags_of("volume/f"), JOURNAL_MADE | JOURNAL_DATA);
	ck_assert_int_eq(flags_of("volume/before"), -1);
	ck_assert_uint_eq(state_now(false).scans, 0); /* nothing is missed, and nobody asked */
	state = state_now(true);
	ck_assert_uint_ge(state.scans, 1);
	stop();
}
END_TEST

/* What is asked just before the process waits wakes it. */
START_TEST(asked_before_it_waits)
{
	int status;

	child = fork();
	if (child == 0) {
		g_autofree char *root = path_of("volume");

		signal(SIGTERM, SIG_DFL); /* libcheck's ends the group */
		working = journal_new(root, store_dir, "/nowhere", is_attached, NULL);
		journal_ask(working, JOURNAL_ASK_COMMIT);
		_exit(journal_work(working, -1, NULL) ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* The migration is finished, and its store is lost: what was changed is not known. */
START_TEST(lost_after_the_end)
{
	struct journal_state state;

	put_file("volume/before", "text");
	attached = true;
	start();
	state = state_now(true);
	ck_assert_int_eq(state.since, 0);
	ck_assert_uint_eq(state.gaps, 1);
	ck_assert_int_ne(flags_of("volume/before"), -1);
	stop();
}
END_TEST

/* What happened while there was no process, and what the last one had not stored. */
START_TEST(killed)
{
	struct journal_state state;

	put_file("volume/old", "text");
	start();
	for (int i = 0; i < 5; i++) {
		g_autofree char *lost = g_strdup_printf("volume/lost%d", i);
		g_autofree char *missed = g_strdup_printf("volume/missed%d", i);

		put_file(lost, "text");
		stop();
		put_file(missed, "text");
		start();
		ck_assert_int_ne(flags_of(lost), -1);
		ck_assert_int_ne(flags_of(missed), -1);
	}
	state = state_now(false);
	ck_assert(state.complete);
	ck_assert_uint_eq(state.gaps, 5);
	ck_assert_str_eq(state.reason, "start");
	stop();
}
END_TEST

static const char *bad_name; /* cannot be looked at */
static unsigned bad_until;   /* so often; then nothing can for once, and then it can */

int fstatat(int fd, const char *restrict name, struct stat *restrict st, int flags)
{
	if (bad_name && !strcmp(name, bad_name) && (!bad_until || bad_until > 1)) {
		errno = bad_until == 2 ? ENOMEM : EIO;
		bad_until -= bad_until > 0;
		return -1;
	}
	return (int)syscall(SYS_newfstatat, fd, name, st, flags);
}

/* What cannot be looked at keeps nobody from knowing the rest. */
START_TEST(in_part)
{
	struct journal_state state;

	start();
	state_now(false);
	stop();
	put_file("volume/f", "text");
	put_file("volume/bad", "text");
	bad_name = "bad";
	start();
	for (unsigned scan = 0; scan < 2; scan++) {
		state = state_now(scan);
		ck_assert_uint_eq(state.unread, 1);
		ck_assert(g_str_has_suffix(state.unread_path, "volume/bad"));
		ck_assert(!state.complete);
		ck_assert_int_ne(state.gap, INT64_MAX);
		ck_assert_uint_eq(state.rows, 2); /* the root, and f */
	}
	stop();
	bad_name = NULL;
	start();
	state = state_now(false);
	ck_assert_uint_eq(state.unread, 0);
	ck_assert(state.complete);
	ck_assert_uint_eq(state.rows, 3);
	stop();
}
END_TEST

/* Beside what cannot be looked at, a scan that somebody asked for and that fails is made again. */
START_TEST(in_part_and_asked)
{
	struct journal_state state = {.unread = 1};
	struct journal_reader *reader;

	start();
	state_now(false);
	stop();
	put_file("volume/bad", "text");
	bad_name = "bad";
	bad_until = 3;
	start();
	bad_name = NULL;
	ck_assert_uint_eq(state_now(false).unread, 1);
	reader = journal_open(store_dir, NULL);
	ck_assert_ptr_nonnull(reader);
	kill(child, JOURNAL_ASK_SCAN);
	while (state.unread) { /* AGAIN_AFTER is 10 s */
		g_usleep(100000);
		ck_assert(journal_refresh(reader, NULL));
		ck_assert(journal_state(reader, &state, NULL));
	}
	journal_close(reader);
	ck_assert_uint_eq(state.unread, 0);
	ck_assert(state.complete);
	stop();
}
END_TEST

static atomic_bool coming;

static gpointer come_and_go(gpointer arg)
{
	while (coming) {
		rename_file("volume/d", "other/d");
		rename_file("other/d", "volume/d");
		g_usleep(1000);
	}
	return NULL;
}

/* Where directories come back all the time each look at them ends, and what was before is known. */
START_TEST(no_end_of_coming_back)
{
	GThread *thread;

	make_dir("volume/d");
	make_dir("volume/d/deep");
	put_file("volume/d/deep/file", "text");
	start();
	coming = true;
	thread = g_thread_new("mover", come_and_go, NULL);
	for (unsigned i = 0; i < 3; i++) {
		state_now(true);
		state_now(false);
	}
	coming = false;
	g_thread_join(thread);
	ck_assert(state_now(false).complete);
	ck_assert_int_ne(flags_of("volume/d/deep/file"), -1);
	stop();
}
END_TEST

START_TEST(one_at_a_time)
{
	g_autofree char *root = path_of("volume");
	GError *error = NULL;

	start();
	ck_assert_ptr_null(journal_new(root, store_dir, "/nowhere", is_attached, &error));
	ck_assert(g_error_matches(error, JOURNAL_ERROR, EBUSY));
	g_clear_error(&error);
	stop();
}
END_TEST

/* The root was made anew, or is another one. */
START_TEST(another_volume)
{
	g_autofree char *root = path_of("other");
	GError *error = NULL;

	start();
	state_now(false);
	stop();
	ck_assert_ptr_null(journal_new(root, store_dir, "/nowhere", is_attached, &error));
	ck_assert_msg(g_error_matches(error, JOURNAL_ERROR, EXDEV), "%s", error->message);
	ck_assert_msg(strstr(error->message, "is mounted") && !strstr(error->message, "remove"),
		      "%s", error->message);
	g_clear_error(&error);
	start();
	stop();
}
END_TEST

/* The way back was closed: it does not begin again, but for another migration. */
START_TEST(closed)
{
	g_autofree char *root = path_of("volume");
	GError *error = NULL;
	int status;

	put_file("volume/f", "text");
	start();
	ck_assert(journal_close_for_good(store_dir, &error));
	waitpid(child, &status, 0);
	ck_assert_ptr_null(journal_new(root, store_dir, "/nowhere", is_attached, &error));
	ck_assert(g_error_matches(error, JOURNAL_ERROR, ECANCELED));
	g_clear_error(&error);
	remove_file("volume/f");
	start();
	put_file("volume/f", "text");
	ck_assert_int_ne(flags_of("volume/f"), -1);
	stop();
}
END_TEST

/* Neither the store nor the file system has room: said, and filled when there is some. */
/* A volume is attached where an earlier migration was noted. */
START_TEST(begins_anew)
{
	struct journal_state before, after;
	GError *error = NULL;

	put_file("volume/old", "text");
	put_file("volume/gone", "text");
	start();
	put_file("volume/old", "changed");
	remove_file("volume/gone");
	before = state_now(false);
	ck_assert_uint_eq(before.rows, 3);
	ck_assert_msg(journal_begin_anew(store_dir, &error), "%s", error ? error->message : "");
	after = state_now(false);
	ck_assert_uint_eq(after.rows, 0);
	ck_assert_int_gt(after.since, before.seen);
	ck_assert(after.complete);
	put_file("volume/old", "once more");
	ck_assert_int_eq(flags_of("volume/old"), JOURNAL_DATA);
	stop();
	/* nobody keeps it: the next one knows nothing of it */
	ck_assert_msg(journal_begin_anew(store_dir, &error), "%s", error ? error->message : "");
	ck_assert(!journal_is_closed(store_dir));
	ck_assert_msg(journal_begin_anew(store_dir, &error), "%s", error ? error->message : "");
	start();
	ck_assert_int_eq(flags_of("volume/old"), -1);
	stop();
}
END_TEST

/* What was taken from the kernel for it is a gap: it ends, and the next one begins with a scan. */
START_TEST(a_commit_that_fails)
{
	g_autofree char *fails = g_build_filename(store_dir, "fails", NULL);
	int status;

	start();
	state_now(false);
	put_file("volume/f", "text");
	ck_assert(g_file_set_contents(fails, "", 0, NULL));
	kill(child, JOURNAL_ASK_COMMIT);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	start();
	ck_assert_uint_ge(state_now(true).gaps, 1);
	ck_assert_int_ne(flags_of("volume/f"), -1);
	stop();
}
END_TEST

START_TEST(no_room)
{
	g_autofree char *filler = g_build_filename(store_dir, "filler", NULL);
	struct journal_state state;
	struct journal_reader *reader;
	GError *error = NULL;
	int fd;

	ck_assert_int_eq(mount("tmpfs", store_dir, "tmpfs", 0, "size=4m"), 0);
	start();
	fd = open(filler, O_WRONLY | O_CREAT, 0600);
	for (off_t size = 4 << 20; size >= 4096; size /= 2)
		while (fallocate(fd, 0, lseek(fd, 0, SEEK_END), size) == 0)
			;
	close(fd);
	make_dir("volume/d");
	for (int i = 0; i < 2000; i++) {
		g_autofree char *name = g_strdup_printf("volume/d/%d", i);

		put_file(name, "");
	}
	reader = journal_open(store_dir, &error);
	ck_assert_ptr_nonnull(reader);
	ck_assert(!journal_settle(reader, false, 60000, &error));
	ck_assert_msg(g_error_matches(error, JOURNAL_ERROR, ENOSPC), "%s", error->message);
	g_clear_error(&error);
	ck_assert(journal_state(reader, &state, NULL));
	ck_assert(state.full && !state.complete);
	journal_close(reader);
	ck_assert_int_eq(unlink(filler), 0);
	ck_assert_int_eq(mount("tmpfs", store_dir, "tmpfs", MS_REMOUNT, "size=64m"), 0);
	state = state_now(false);
	ck_assert(!state.full && state.complete);
	ck_assert_str_eq(state.reason, "no room");
	ck_assert_int_ne(flags_of("volume/d/1999"), -1);
	stop();
	ck_assert_int_eq(umount2(store_dir, MNT_DETACH), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("journal");

	tcase_add_checked_fixture(tcase, tree_make, tree_remove);
	tcase_add_test(tcase, notes);
	tcase_add_test(tcase, asked_before_it_waits);
	tcase_add_test(tcase, lost_after_the_end);
	tcase_add_test(tcase, killed);
	tcase_add_test(tcase, in_part);
	tcase_add_test(tcase, in_part_and_asked);
	tcase_add_test(tcase, no_end_of_coming_back);
	tcase_add_test(tcase, one_at_a_time);
	tcase_add_test(tcase, another_volume);
	tcase_add_test(tcase, closed);
	tcase_add_test(tcase, begins_anew);
	tcase_add_test(tcase, a_commit_that_fails);
	tcase_add_test(tcase, no_room);
	return run_tcase(tcase);
}
