/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "crawler/crawl.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/migrate.h"
#include "crawler/lists.h"
#include "crawler/progress.h"
#include "crawler/touched.h"
#include "crawler/walk.h"
#include "lib/base/terminal.h"
#include "lib/base/text.h"

#define STATUS_MS      1000
#define PLAIN_MS       10000
#define WAIT_NOTICE_MS 2000
#define WAIT_REPEAT_MS 60000
#define DAY	       86400

struct crawl {
	const struct crawl_options *options;
	struct migrate_volume *volume;
	struct walk *walk;
	struct lists lists;
	struct touched touched;
	int root_fd, signal_fd;
	bool stop; /* a signal came */
	bool lost; /* the retriever speaks another version */
	bool status_asked;
	struct terminal terminal; /* with the line of progress */
	int64_t begun, next_status, next_line, next_notice;
	struct policy policy;
	struct policy_window window;
	struct progress progress;
	struct progress_settings settings;
};

static int64_t clock_ms(void)
{
	return g_get_monotonic_time() / 1000;
}

G_GNUC_PRINTF(2, 3)
static void complain(struct crawl *crawl, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	terminal_leave(&crawl->terminal, stdout);
	fprintf(stderr, "migrate-crawler: %s: %s\n", crawl->options->volume, text);
}

/* ---- progress -------------------------------------------------------------------------------- */

static void show_line(struct crawl *crawl, bool last)
{
	const int64_t now = clock_ms();
	const bool tty = isatty(STDOUT_FILENO);

	if (crawl->options->quiet || (!last && now < crawl->next_line))
		return;
	crawl->next_line = now + (tty ? STATUS_MS / 2 : PLAIN_MS);
	g_autofree char *progress = progress_line(&crawl->progress);
	g_autofree char *line = g_strdup_printf("%s: %s", crawl->options->volume, progress);
	if (tty)
		terminal_draw(&crawl->terminal, stdout, last ? "" : line);
	if (!tty || last)
		puts(line);
	fflush(stdout);
}

static void status_done(void *arg, int status, const char *text)
{
	struct crawl *crawl = arg;

	crawl->status_asked = false;
	if (status || !progress_report(&crawl->progress, text))
		return;
	policy_window_feedback(&crawl->window, crawl->progress.clients_wait);
	show_line(crawl, false);
}

static void ask_status(struct crawl *crawl, int64_t now)
{
	if (crawl->status_asked || now < crawl->next_status || !crawl->walk)
		return;
	crawl->next_status = now + STATUS_MS;
	crawl->status_asked = migrate_control(crawl->volume, "status", status_done, crawl) != 0;
}

static void notice_absence(struct crawl *crawl, int64_t now)
{
	if (migrate_volume_connected(crawl->volume)) {
		crawl->next_notice = now + WAIT_NOTICE_MS;
	} else if (now >= crawl->next_notice) {
		crawl->next_notice = now + WAIT_REPEAT_MS;
		complain(crawl,
			 "waiting for the retriever; if it is not running: "
			 "systemctl start migrate-retriever@%s",
			 crawl->options->volume);
	}
}

/* ---- the loop -------------------------------------------------------------------------------- */

static unsigned window_of(const struct crawl *crawl)
{
	return crawl->progress.paused ? 0 : crawl->window.size;
}

/* Of what no list names: it waits for those. */
static unsigned window_of_rest(const struct crawl *crawl)
{
	return lists_any(&crawl->lists) ? 0 : window_of(crawl);
}

/* Waits for an event, at most timeout_ms (-1: without limit), and handles it.  Lists are worked on
 * whatever else is done. */
static void poll_once(struct crawl *crawl, int timeout_ms)
{
	struct pollfd fds[] = {
		{.fd = migrate_volume_fd(crawl->volume), .events = POLLIN},
		{.fd = crawl->signal_fd, .events = POLLIN},
	};
	int64_t now = clock_ms();
	struct signalfd_siginfo info;

	notice_absence(crawl, now);
	ask_status(crawl, now);
	if (timeout_ms < 0 || timeout_ms > STATUS_MS)
		timeout_ms = STATUS_MS;
	int wait = crawl->lists.all ? lists_step(&crawl->lists, window_of(crawl), now) : -1;
	if (wait >= 0)
		timeout_ms = MIN(timeout_ms, wait);
	if (crawl->touched.known)
		touched_step(&crawl->touched, window_of_rest(crawl), now);
	poll(fds, G_N_ELEMENTS(fds), timeout_ms);
	if (fds[1].revents && read(crawl->signal_fd, &info, sizeof(info)) > 0)
		crawl->stop = true;
	if (migrate_volume_dispatch(crawl->volume, 0) == -EPROTO)
		crawl->lost = true;
}

static bool going_on(const struct crawl *crawl)
{
	return !crawl->stop && !crawl->lost;
}

struct crawl_answer {
	bool done;
	int status;
	char *text;
};

static void answer_done(void *arg, int status, const char *text)
{
	struct crawl_answer *answer = arg;

	answer->done = true;
	answer->status = status;
	answer->text = g_strdup(text);
}

/* Asks the retriever and waits for its answer.  NULL: the crawler was stopped, or the retriever
 * refused, with a line on stderr. */
static char *command_answer(struct crawl *crawl, const char *command)
{
	struct crawl_answer answer = {0};

	if (!migrate_control(crawl->volume, command, answer_done, &answer)) {
		complain(crawl, "%s", g_strerror(errno));
		return NULL;
	}
	while (!answer.done && going_on(crawl))
		poll_once(crawl, -1);
	if (!answer.done) {
		/* The callback's memory ends with this function: no callback may come later. */
		migrate_volume_free(g_steal_pointer(&crawl->volume));
		g_free(answer.text);
		return NULL;
	}
	if (answer.status && going_on(crawl))
		complain(crawl, "%s: %s", command,
			 answer.text && *answer.text ? answer.text : g_strerror(-answer.status));
	if (answer.status)
		g_clear_pointer(&answer.text, g_free);
	return answer.text;
}

/* Names come first, but data that cost next to nothing may come with them. */
static void begin_pass(struct crawl *crawl, enum policy_step step)
{
	const int64_t now = g_get_real_time() / G_USEC_PER_SEC;

	if (step == STEP_DATA)
		walk_begin(crawl->walk, MIGRATE_DATA);
	else if (step == STEP_RECENT)
		walk_begin_recent(crawl->walk, now - (int64_t)crawl->policy.days * DAY, now);
	else
		walk_begin(crawl->walk, crawl->policy.metadata_only ? 0 : MIGRATE_SMALL_DATA);
}

static void do_pass(struct crawl *crawl, enum policy_step step)
{
	begin_pass(crawl, step);
	while (!walk_over(crawl->walk) && going_on(crawl)) {
		int wait = walk_step(crawl->walk, window_of_rest(crawl), clock_ms());

		if (!walk_over(crawl->walk))
			poll_once(crawl, wait);
	}
}

static void pause_for(struct crawl *crawl, unsigned ms)
{
	const int64_t until = clock_ms() + ms;
	int64_t now;

	while ((now = clock_ms()) < until && going_on(crawl))
		poll_once(crawl, (int)(until - now));
}

/* Of what a pass has left out (struct policy_result). */
static unsigned days_ago(int64_t time)
{
	const int64_t ago = g_get_real_time() / G_USEC_PER_SEC - time;

	return time > 0 ? (unsigned)CLAMP((ago + DAY - 1) / DAY, 1, INT_MAX) : 0;
}

static bool root_is_normal(const struct crawl *crawl)
{
	enum migrate_state state;

	return !walk_retriever.load(crawl->root_fd, &state) && state == MIGRATE_NORMAL;
}

static enum policy_step do_passes(struct crawl *crawl)
{
	struct policy_result result = {0};
	unsigned pause;
	enum policy_step step =
		policy_next(&crawl->policy, NULL, crawl->progress.names_complete, &pause);

	while (going_on(crawl) && step != STEP_DONE && step != STEP_LEFT) {
		pause_for(crawl, pause);
		if (!going_on(crawl))
			break;
		do_pass(crawl, step);
		const struct walk_counts *counts = walk_counts(crawl->walk);
		result.advanced = counts->filled + counts->finished;
		result.left = counts->left;
		result.days = days_ago(walk_left_out(crawl->walk));
		result.busy = counts->busy > 0;
		result.root_normal = root_is_normal(crawl);
		if (going_on(crawl))
			step = policy_next(&crawl->policy, &result, crawl->progress.names_complete,
					   &pause);
	}
	return step;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static bool open_root(struct crawl *crawl)
{
	const char *root = crawl->settings.root;

	crawl->root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (crawl->root_fd < 0) {
		complain(crawl, "%s: %s; is its file system mounted?", root, g_strerror(errno));
		return false;
	}
	int error = walk_new(crawl->root_fd, &walk_retriever, crawl->volume, &crawl->walk);
	if (error)
		complain(crawl, "%s: %s", root,
			 error == -EOPNOTSUPP ? "this file system has no file handles; use ext4, "
						"xfs or btrfs"
					      : g_strerror(-error));
	else
		lists_begin(&crawl->lists, root, crawl->root_fd, crawl->volume,
			    crawl->options->lists);
	if (!error && crawl->policy.order == ORDER_RECENT_FIRST && !crawl->policy.metadata_only &&
	    !crawl->options->lists)
		touched_begin(&crawl->touched, crawl->root_fd, crawl->volume);
	return !error;
}

/* Gets the settings from the retriever.  FALSE: the crawler cannot work; a line on stderr says
 * why. */
static bool prepare_crawl(struct crawl *crawl)
{
	const struct crawl_options *options = crawl->options;
	g_autofree char *settings = command_answer(crawl, "settings");
	g_autofree char *status = settings ? command_answer(crawl, "status") : NULL;

	if (!status)
		return false;
	if (!progress_settings(&crawl->settings, settings) ||
	    !progress_report(&crawl->progress, status) ||
	    (!options->has_order &&
	     !policy_order_parse(crawl->settings.order, &crawl->policy.order))) {
		complain(crawl, "the retriever's answer makes no sense; restart it, so that both "
				"are of one version");
		return false;
	}
	if (!strcmp(crawl->progress.state, "unattached")) {
		complain(crawl, "not attached; run: migratectl attach %s", options->volume);
		return false;
	}
	if (options->has_order)
		crawl->policy.order = options->order;
	crawl->policy.metadata_only = options->metadata_only;
	crawl->policy.once = options->once;
	policy_window_init(&crawl->window,
			   options->workers ? options->workers : crawl->settings.workers);
	return open_root(crawl);
}

static enum crawl_exit report_rest(struct crawl *crawl, enum policy_step step)
{
	const struct walk_counts *counts = walk_counts(crawl->walk);
	const char *volume = crawl->options->volume;
	g_autofree char *status = command_answer(crawl, "status");

	if (status)
		progress_report(&crawl->progress, status);
	show_line(crawl, true);
	if (step == STEP_DONE) {
		const int64_t seconds = (clock_ms() - crawl->begun) / 1000;

		if (!crawl->options->quiet)
			printf("%s: %s after %d:%02d:%02d\n", volume,
			       root_is_normal(crawl) ? "everything is whole"
						     : "every directory is filled",
			       (int)(seconds / 3600), (int)(seconds / 60 % 60),
			       (int)(seconds % 60));
		return CRAWL_WHOLE;
	}
	if (crawl->progress.errors)
		complain(crawl, "finished with " TEXT_COUNT "; see migratectl errors %s",
			 TEXT_COUNTED(crawl->progress.errors, "errors"), volume);
	else
		complain(crawl,
			 TEXT_COUNT " not finished (%s); run it again, "
				    "and see migratectl status %s",
			 TEXT_COUNTED(counts->left, "directories are"),
			 counts->failed ? g_strerror(-counts->error) : "in use", volume);
	return CRAWL_LEFT;
}

static enum crawl_exit crawl(struct crawl *crawl)
{
	const bool lists = crawl->options->lists;
	enum policy_step step = STEP_DONE;

	if (prepare_crawl(crawl)) {
		if (!lists)
			step = do_passes(crawl);
		while (going_on(crawl) && lists_any(&crawl->lists))
			poll_once(crawl, -1);
		if (going_on(crawl) && lists)
			return crawl->lists.failed ? CRAWL_LEFT : CRAWL_WHOLE;
		if (going_on(crawl))
			return report_rest(crawl, step);
	} else if (going_on(crawl)) {
		return CRAWL_REFUSED;
	}
	if (crawl->stop)
		return lists ? CRAWL_LEFT : CRAWL_WHOLE;
	complain(crawl, "the retriever is of another version; restart migrate-retriever@%s first",
		 crawl->options->volume);
	return CRAWL_VERSION;
}

enum crawl_exit crawl_run(const struct crawl_options *options)
{
	struct crawl state = {.options = options, .root_fd = -1, .begun = clock_ms()};
	enum crawl_exit result = CRAWL_REFUSED;
	sigset_t signals;

	state.next_notice = state.begun + WAIT_NOTICE_MS;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	state.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	int error = state.signal_fd < 0 ? -errno
					: migrate_volume_new(options->volume, options->socket,
							     MIGRATE_ROLE_CRAWLER, &state.volume);
	if (error)
		complain(&state, "%s", g_strerror(-error));
	else
		result = crawl(&state);

	terminal_leave(&state.terminal, stdout);
	/* In this order: freeing the volume completes the walk's requests. */
	if (state.volume)
		migrate_volume_free(state.volume);
	if (state.walk)
		walk_free(state.walk);
	lists_end(&state.lists);
	touched_end(&state.touched);
	progress_settings_clear(&state.settings);
	if (state.root_fd >= 0)
		close(state.root_fd);
	if (state.signal_fd >= 0)
		close(state.signal_fd);
	return result;
}
