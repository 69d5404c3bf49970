/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/close.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "journal/store/env.h"
#include "journal/store/live.h"
#include "journal/store/reader.h"

#define CLOSED_FILE "closed"
#define POLL_US	    20000
#define WAIT_US	    (60 * G_USEC_PER_SEC)

static bool fail(const char *dir, const char *what, int number, GError **error)
{
	g_set_error(error, JOURNAL_ERROR, number, "%s: %s: %s", dir, what, g_strerror(number));
	return false;
}

static bool stop_process(const char *dir, GError **error)
{
	const gint64 end = g_get_monotonic_time() + WAIT_US;
	pid_t pid;

	while ((pid = journal_live_get(dir, NULL)) > 0) {
		if (kill(pid, SIGTERM) < 0 && errno != ESRCH)
			return fail(dir, "ending migrate-journal", errno, error);
		if (g_get_monotonic_time() > end)
			return fail(dir, "migrate-journal does not end", ETIMEDOUT, error);
		g_usleep(POLL_US);
	}
	return true;
}

static bool remove_file(int dir_fd, const char *dir, const char *name, GError **error)
{
	return unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT || fail(dir, name, errno, error);
}

static bool close_in(int fd, const char *dir, GError **error)
{
	static const char *const names[] = {JOURNAL_DATA_FILE, JOURNAL_LOCK_FILE,
					    JOURNAL_LIVE_FILE};
	int mark;

	if (!journal_is_closed(dir) && faccessat(fd, JOURNAL_DATA_FILE, F_OK, 0) < 0)
		return fail(dir, "there is no journal", ENOENT, error);
	/* Before the process ends: a new one finds the mark and does not begin. */
	mark = openat(fd, CLOSED_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (mark < 0)
		return fail(dir, CLOSED_FILE, errno, error);
	close(mark);
	if (!stop_process(dir, error))
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		if (!remove_file(fd, dir, names[i], error))
			return false;
	return fsync(fd) == 0 || fail(dir, "fsync", errno, error);
}

bool journal_close_for_good(const char *dir, GError **error)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool closed;

	if (fd < 0)
		return fail(dir, "there is no journal", errno, error);
	closed = close_in(fd, dir, error);
	close(fd);
	return closed;
}

bool journal_is_closed(const char *dir)
{
	g_autofree char *path = g_build_filename(dir, CLOSED_FILE, NULL);

	return access(path, F_OK) == 0;
}

bool journal_reopen(const char *dir, GError **error)
{
	g_autofree char *path = g_build_filename(dir, CLOSED_FILE, NULL);

	return unlink(path) == 0 || errno == ENOENT || fail(dir, CLOSED_FILE, errno, error);
}

static bool has_begun(const char *dir, int64_t asked)
{
	struct journal_reader *reader = journal_open(dir, NULL);
	struct journal_state state;
	bool begun = reader && journal_state(reader, &state, NULL) && state.since >= asked;

	journal_close(reader);
	return begun;
}

/* Nobody keeps it: its files go. */
static bool forget_store(const char *dir, GError **error)
{
	g_autoptr(GError) why = NULL;

	if (journal_close_for_good(dir, &why))
		return journal_reopen(dir, error);
	if (g_error_matches(why, JOURNAL_ERROR, ENOENT))
		return true;
	g_propagate_error(error, g_steal_pointer(&why));
	return false;
}

bool journal_begin_anew(const char *dir, GError **error)
{
	const gint64 end = g_get_monotonic_time() + WAIT_US;
	const int64_t asked = journal_realtime();
	gint64 again = 0;
	pid_t pid;

	while ((pid = journal_live_get(dir, NULL)) > 0) {
		const gint64 now = g_get_monotonic_time();

		/* Again after a while: it may not have listened yet. */
		if (now >= again && kill(pid, JOURNAL_ASK_BEGIN) < 0 && errno != ESRCH)
			return fail(dir, "asking migrate-journal", errno, error);
		if (now >= again)
			again = now + G_USEC_PER_SEC;
		if (has_begun(dir, asked))
			return true;
		if (now > end)
			return fail(dir, "migrate-journal does not answer", ETIMEDOUT, error);
		g_usleep(POLL_US);
	}
	return forget_store(dir, error);
}
