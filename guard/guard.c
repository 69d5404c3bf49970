/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"
#include "guard/device.h"
#include "guard/keep.h"
#include "guard/keeper.h"
#include "guard/marks.h"
#include "guard/process.h"
#include "guard/servers.h"
#include "guard/state.h"
#include "guard/wait.h"
#include "lib/base/advice.h"
#include "lib/base/text.h"

#define TURN_MS	  1000
#define BUSY_MS	  50
#define STOP_MS	  5000
#define LINES_MAX 20 /* of refusals a second, in the log */
#define STATUS_MS 2000
#define GRACE_MS  5000 /* in which one that is stopped may be started again */

struct guard {
	const struct volume_config *config;
	struct marks marks;
	struct migrate_volume *volume;
	struct waits *waits;
	struct servers *servers;
	struct state state;
	int state_fd, lock_fd;
	atomic_bool stop;
	bool refuse;	     /* files are not fetched */
	bool names_complete; /* nothing is to be refused until they are */
	bool status_asked, finished, unmounted, unmarked;
	bool alone;				  /* it was stopped: there is no retriever to ask */
	bool answers;				  /* then, as nobody has started another one */
	char *device;				  /* of the root; NULL: not known */
	gint64 next_status, next_second, stopped; /* ms */
	unsigned lines;
	pid_t self;
};

static gint64 monotonic_ms(void)
{
	return g_get_monotonic_time() / 1000;
}

/* ---- one event ------------------------------------------------------------------------------- */

static void log_refusal(struct guard *guard, const struct marks_event *event, const char *why)
{
	guard->state.refused++;
	if (++guard->lines > LINES_MAX)
		return;
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", event->fd);
	g_autofree char *path = g_file_read_link(link, NULL);
	g_autofree char *process = process_text(event->tid);
	g_message("%s: refused to %s: %s", path ? path : "a file", process, why);
}

static void answer_now(struct guard *guard, const struct marks_event *event, int error,
		       const char *why)
{
	marks_answer(&guard->marks, event, error);
	if (error)
		log_refusal(guard, event, why);
	close(event->fd);
}

/* It has what it serves looked at by itself.  On a mount of its own it is not asked again; but what
 * an administrator or a script may start beside other programs has its mount in common with them.
 */
static void let_server(struct guard *guard, const struct marks_event *event, int process, bool door)
{
	const char *const tools[] = {"migratectl", NULL};
	const char *const beside[] = {"migratectl", "migrate-crawler", NULL};

	if (!process_is_one_of(process, beside) && process_owns_mount_of(process, event->fd) &&
	    (!door || process_is_alone(process))) {
		marks_ignore_mount(&guard->marks, event->fd);
		if (door)
			servers_add_marked(guard->servers, process);
	}
	if (!process_has_own_mounts(process) && !process_is_one_of(process, tools)) {
		g_free(guard->state.public_server);
		guard->state.public_server = process_text(event->tid);
		guard->state.public_tid = event->tid;
	}
	answer_now(guard, event, 0, NULL);
}

/* It is whole, or a directory that is filled. */
static void let_go(struct guard *guard, int fd, bool directory)
{
	/* Before, what is whole may become unfinished: the root. */
	if (guard->state.attached)
		marks_ignore(&guard->marks, fd);
	if (directory && !guard->alone)
		waits_look_ahead(guard->waits, fd);
}

static void take_event_of(struct guard *guard, const struct marks_event *event, int process)
{
	const char *const *refused = (const char *const *)guard->config->guard_refuse;
	const bool nfsd =
		process_is_nfsd(process); /* for whomever it asks: nobody who is known here */
	const uid_t uid = nfsd ? UINT32_MAX : process_uid(process);
	const bool door = process_is_door(process);
	struct migrate_stub stub;
	int error;

	if (door ? servers_has(guard->servers, process) : process_is_server(process)) {
		let_server(guard, event, process, door);
		return;
	}
	if (!guard->names_complete) {
		answer_now(guard, event, EAGAIN, "not all names are here yet, and guard = strict");
		return;
	}
	error = -migrate_stub_load(event->fd, &stub);
	if (door && !error && stub.state != MIGRATE_NORMAL)
		servers_add_past(guard->servers, process);
	if (error == EBADMSG && migrate_is_missing(event->fd) == 0) {
		answer_now(guard, event, 0, NULL); /* in a snapshot, which nothing changes */
	} else if (error) {
		answer_now(guard, event, EIO, g_strerror(error));
	} else if (waits_is_whole(&stub)) {
		let_go(guard, event->fd, stub.state == MIGRATE_FILLED);
		answer_now(guard, event, 0, NULL);
	} else if (guard->alone) {
		answer_now(guard, event, EIO, "it is not here yet, and the guard is stopped");
	} else if (guard->refuse && stub.state != MIGRATE_UNFILLED) {
		answer_now(guard, event, EPERM, "it is not here yet, and cannot be fetched for it");
	} else if (process_is_one_of(process, refused)) {
		answer_now(guard, event, EIO, "it is not here yet, and guard-refuse names it");
	} else if (waits_are_full(guard->waits, uid)) {
		answer_now(guard, event, nfsd ? EAGAIN : EBUSY, "too many wait already");
	} else {
		waits_add(guard->waits, event, uid, nfsd);
	}
	migrate_stub_clear(&stub);
}

static void take_event(void *arg, const struct marks_event *event)
{
	struct guard *guard = arg;
	const int process = event->tid == guard->self ? -1 : process_open(event->tid);

	if (event->tid == guard->self)
		answer_now(guard, event, 0, NULL);
	else
		take_event_of(guard, event, process);
	if (process >= 0)
		close(process);
}

/* Of one that waited. */
static void answer_waited(void *arg, const struct marks_event *event, int error, const char *why)
{
	struct guard *guard = arg;
	struct stat st;

	if (!error)
		let_go(guard, event->fd, fstat(event->fd, &st) == 0 && S_ISDIR(st.st_mode));
	else if (error != EAGAIN)
		log_refusal(guard, event, why);
	marks_answer(&guard->marks, event, error);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void status_done(void *arg, int status, const char *text)
{
	struct guard *guard = arg;
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *state = NULL;

	guard->status_asked = false;
	if (status || !g_key_file_load_from_data(file, text, strlen(text), G_KEY_FILE_NONE, NULL))
		return;
	if (g_key_file_get_boolean(file, "namespace", "complete", NULL))
		guard->names_complete = true;
	state = g_key_file_get_string(file, "volume", "state", NULL);
	guard->finished = g_strcmp0(state, "finished") == 0;
	guard->state.attached = !g_strcmp0(state, "migrating") || !g_strcmp0(state, "whole");
}

/* Whether it is the root of the file system that is guarded: by its device, which one that is
 * mounted next may have as well. */
static bool is_mounted_at(const struct guard *guard, const char *root)
{
	g_autofree char *device = guard->device ? device_of(root) : NULL;

	return g_strcmp0(device, guard->device) == 0;
}

/* Nobody can open anything there any more, whoever had it open. */
static bool is_unmounted(const struct guard *guard)
{
	return !is_mounted_at(guard, guard->config->root) && !marks_are_left(&guard->marks);
}

static bool is_unmarked(const struct guard *guard, const char *root)
{
	return is_mounted_at(guard, root) && !marks_are_on(&guard->marks, root);
}

static void end_guarding(struct guard *guard, const char *why)
{
	g_message("%s: nothing is guarded any more", why);
	marks_end(&guard->marks);
	guard_remove(guard->config);
}

static void do_regularly(struct guard *guard)
{
	const gint64 now = monotonic_ms();

	if (!guard->status_asked && now >= guard->next_status) {
		guard->next_status = now + STATUS_MS;
		guard->status_asked =
			migrate_control(guard->volume, "status", status_done, guard) != 0;
	}
	if (now < guard->next_second)
		return;
	guard->next_second = now + 1000;
	if (guard->lines > LINES_MAX)
		g_message("and %u more %s", guard->lines - LINES_MAX,
			  text_plural(guard->lines - LINES_MAX, "refusals"));
	guard->lines = 0;
	state_forget_ended(&guard->state);
	if (servers_turn(guard->servers))
		marks_ask_mounts(&guard->marks);
	g_free(guard->state.past);
	guard->state.past = servers_past_text(guard->servers);
	guard->state.waiting = waits_waiting(guard->waits);
	state_put(guard->state_fd, &guard->state);
	guard->unmounted = is_unmounted(guard);
	guard->unmarked = is_unmarked(guard, guard->config->root);
}

/* ---- when it is stopped ---------------------------------------------------------------------- */

static bool may_have_unfinished(const struct guard *guard)
{
	struct migrate_stub stub;
	int fd;
	bool may;

	if (!is_mounted_at(guard, guard->config->root)) /* it may be in another namespace */
		return !is_unmounted(guard);
	fd = open(guard->config->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	may = fd < 0 || migrate_stub_load(fd, &stub) != 0;

	if (!may) {
		may = stub.state != MIGRATE_NORMAL || migrate_has_private(fd);
		migrate_stub_clear(&stub);
	}
	if (fd >= 0)
		close(fd);
	return may;
}

static void take_events(struct guard *guard)
{
	for (int group = 0; group < MARKS_GROUPS; group++)
		if (guard->marks.fd[group] >= 0)
			marks_read(&guard->marks, group, take_event, guard);
}

/* What was unmounted, and mounted again.  Through a descriptor: it may be unmounted once more. */
static void mark_again(struct guard *guard)
{
	const int fd = open(guard->config->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	g_autofree char *root = g_strdup_printf("/proc/self/fd/%d", fd);

	if (fd >= 0 && is_unmarked(guard, root))
		marks_begin(&guard->marks, root, false, NULL);
	if (fd >= 0)
		close(fd);
}

static void refuse_regularly(struct guard *guard)
{
	const gint64 now = monotonic_ms();

	if (now < guard->next_second)
		return;
	guard->next_second = now + 1000;
	guard->lines = 0;
	if (!may_have_unfinished(guard)) {
		marks_flush(&guard->marks);
		take_events(guard);
		_exit(0);
	}
	if (is_unmarked(guard, guard->config->root))
		mark_again(guard);
	if (!guard->answers &&
	    now >= guard->stopped + MIN(guard->config->guard_wait * (gint64)1000, GRACE_MS)) {
		guard->answers = true;
		marks_ask_mounts(&guard->marks); /* whose they are the guard knew */
	}
	if (servers_turn(guard->servers))
		marks_ask_mounts(&guard->marks);
}

/* In the keeper's process.  What is taken here is answered here, with an error where it is not
 * here: so a guard that is only restarted takes it before that. */
static bool refuse_turn(void *arg, int first)
{
	struct guard *guard = arg;

	guard->self = getpid();
	for (int group = 0; group < MARKS_GROUPS; group++)
		if (guard->marks.fd[group] >= 0)
			guard->marks.fd[group] = first + group;
	refuse_regularly(guard);
	if (guard->answers)
		take_events(guard);
	return guard->answers;
}

/* Where nothing can be unfinished nobody has to wait.  Else what is opened is answered all the
 * same: by another process, with an error where it is not here. */
static void leave_guard(struct guard *guard)
{
	g_autofree char *path = g_strconcat(guard->config->socket, GUARD_LOCK_SUFFIX, NULL);

	waits_fail(guard->waits); /* what that process takes can have the same numbers */
	if (!may_have_unfinished(guard)) {
		end_guarding(guard, "nothing here is of a migration");
		return;
	}
	if (!getenv("NOTIFY_SOCKET")) /* nothing keeps it then, and everybody goes on */
		return;
	guard->alone = true;
	guard->stopped = monotonic_ms();
	guard->next_second = 0;
	servers_free(guard->servers); /* that process has none of its descriptors */
	guard->servers = servers_new(guard->config->socket);
	keeper_end(path);
	if (!keeper_start(path, guard->marks.fd, MARKS_GROUPS, refuse_turn, guard))
		g_warning(
			"%s: what is unfinished there cannot be opened, and who tries waits, until "
			"the guard is started again",
			guard->config->root);
}

static gboolean set_lost_error(struct guard *guard, int failed, GError **error)
{
	g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(failed),
		    "%s: fanotify: %s; it is started again", guard->config->root,
		    g_strerror(failed));
	return FALSE;
}

gboolean guard_turn(struct guard *guard, GError **error)
{
	struct pollfd fds[MARKS_GROUPS + 1];
	const bool idle = !waits_count(guard->waits);
	int failed;

	for (int group = 0; group < MARKS_GROUPS; group++)
		fds[group] = (struct pollfd){.fd = guard->stop ? -1 : guard->marks.fd[group],
					     .events = POLLIN};
	fds[MARKS_GROUPS] =
		(struct pollfd){.fd = migrate_volume_fd(guard->volume), .events = POLLIN};
	poll(fds, G_N_ELEMENTS(fds), idle ? TURN_MS : BUSY_MS);
	for (int group = 0; group < MARKS_GROUPS; group++) {
		failed = fds[group].revents ? marks_read(&guard->marks, group, take_event, guard)
					    : 0;
		if (failed)
			return set_lost_error(guard, failed, error);
	}
	if (migrate_volume_dispatch(guard->volume, 0) == -EPROTO) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "the retriever is of another version; restart migrate-retriever@%s",
			    guard->config->name);
		return FALSE;
	}
	waits_turn(guard->waits);
	do_regularly(guard);
	if (guard->finished || guard->unmounted) {
		end_guarding(guard, guard->finished ? "everything is whole"
						    : "the volume's root is not mounted any more");
		return FALSE;
	}
	if (guard->unmarked)
		return set_lost_error(guard, ESTALE, error);
	if (!guard->stop)
		return TRUE;
	if (!guard->stopped)
		guard->stopped = monotonic_ms();
	if (waits_waiting(guard->waits) && monotonic_ms() < guard->stopped + STOP_MS)
		return TRUE;
	leave_guard(guard);
	return FALSE;
}

void guard_stop(struct guard *guard)
{
	guard->stop = true;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int find_kept(const char *path, int group)
{
	const int fd = keep_find(marks_names[group]);

	return fd >= 0 ? fd : keeper_get(path, (unsigned)group);
}

void guard_remove(const struct volume_config *config)
{
	g_autofree char *path = g_strconcat(config->socket, GUARD_LOCK_SUFFIX, NULL);
	struct marks marks;

	for (int group = 0; group < MARKS_GROUPS; group++) {
		marks.fd[group] = find_kept(path, group);
		keep_tell("FDSTOREREMOVE=1", marks_names[group], -1);
	}
	marks_end(&marks);
	keeper_end(path);
}

/* Where this process ends, whenever that is, the manager or the keeper has the descriptors open. */
static gboolean keep_marks(const struct guard *guard, const char *path, GError **error)
{
	for (int group = 0; group < MARKS_GROUPS; group++)
		if (guard->marks.fd[group] >= 0)
			keep_tell("FDSTORE=1", marks_names[group], guard->marks.fd[group]);
	/* One that answered had events, which it did not answer. */
	if (keeper_end(path))
		marks_fail_unanswered(&guard->marks);
	if (!keeper_is_needed() || keeper_start(path, guard->marks.fd, MARKS_GROUPS, NULL, NULL))
		return TRUE;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
		    "%s: no process can be started that keeps it guarded while the guard is "
		    "stopped; it is tried again",
		    guard->config->root);
	return FALSE;
}

/* What a guard needs to answer may not wait for its answer. */
static gboolean check_place(const char *root, GError **error)
{
	g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *programs = program ? g_path_get_dirname(program) : g_strdup("/");
	const char *const needed[] = {"/", "/usr", "/run", programs};

	for (size_t i = 0; i < G_N_ELEMENTS(needed); i++) {
		if (!device_is_shared(root, needed[i]))
			continue;
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "%s: it is on the file system of %s, which cannot be guarded: give the "
			    "volume one of its own, or say guard = no",
			    root, needed[i]);
		return FALSE;
	}
	return TRUE;
}

static gboolean watch_root(const char *root, GError **error)
{
	/* Without asking ourselves. */
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int result = fd < 0 ? -errno : migrate_watch(fd);

	if (fd >= 0)
		close(fd);
	if (result)
		g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(-result), "%s: %s%s",
			    root, g_strerror(-result), advice_for(result));
	return result == 0;
}

static gboolean begin_guard(struct guard *guard, GError **error)
{
	const struct volume_config *config = guard->config;
	g_autofree char *path = g_strconcat(config->socket, GUARD_LOCK_SUFFIX, NULL);
	int result;

	if (!check_place(config->root, error) || !watch_root(config->root, error))
		return FALSE;
	guard->state_fd = state_hold(config->socket, &guard->lock_fd, error);
	if (guard->state_fd < 0)
		return FALSE;
	result = migrate_volume_new(config->name, config->socket, MIGRATE_ROLE_PLAIN_DOOR,
				    &guard->volume);
	if (result) {
		g_set_error_literal(error, G_FILE_ERROR, (gint)g_file_error_from_errno(-result),
				    g_strerror(-result));
		return FALSE;
	}
	guard->servers = servers_new(config->socket);
	guard->waits = waits_new(guard->volume, config->guard_wait, answer_waited, guard);
	for (int group = 0; group < MARKS_GROUPS; group++)
		guard->marks.fd[group] = find_kept(path, group);
	if (!marks_begin(&guard->marks, config->root, !guard->refuse, error))
		return FALSE;
	guard->refuse |= guard->marks.fd[MARKS_ACCESS] < 0;
	if (!keep_marks(guard, path, error))
		return FALSE;
	guard->device = device_of(config->root);
	guard->state.mode = guard->refuse ? "refuse" : "fetch";
	state_put(guard->state_fd, &guard->state);
	keep_tell("READY=1", NULL, -1);
	return TRUE;
}

struct guard *guard_new(const struct volume_config *config, bool refuse, GError **error)
{
	struct guard *guard = g_new0(struct guard, 1);

	guard->config = config;
	guard->refuse = refuse;
	guard->names_complete = config->guard != GUARD_STRICT;
	guard->self = getpid();
	guard->state_fd = guard->lock_fd = -1;
	for (int group = 0; group < MARKS_GROUPS; group++)
		guard->marks.fd[group] = -1;
	if (begin_guard(guard, error))
		return guard;
	guard_free(guard);
	return NULL;
}

void guard_free(struct guard *guard)
{
	if (guard->waits)
		waits_fail(guard->waits);
	if (guard->volume)
		migrate_volume_free(guard->volume);
	if (guard->waits)
		waits_free(guard->waits);
	if (guard->servers)
		servers_free(guard->servers);
	for (int group = 0; group < MARKS_GROUPS; group++)
		if (guard->marks.fd[group] >= 0)
			close(guard->marks.fd[group]);
	if (guard->state_fd >= 0)
		close(guard->state_fd);
	if (guard->lock_fd >= 0)
		close(guard->lock_fd);
	g_free(guard->state.public_server);
	g_free(guard->state.past);
	g_free(guard->device);
	g_free(guard);
}
