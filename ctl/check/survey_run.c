/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/survey_run.h"

#include <errno.h>
#include <string.h>

#include "ctl/check/one_directory.h"
#include "lib/base/error.h"
#include "lib/schemes.h"

#define NEWEST	     "version=4.2" /* of NFS */
#define TICK_MS	     200
#define KEEP_FIRST_S 1 /* after the start; then it doubles, up to ... */
#define KEEP_S	     15
#define HOLD_S	     10	 /* that directories which are under way are waited for ... */
#define HOLD_LONG_S  300 /* ... unless nothing was kept for so long */
#define HOLD_STOP_S  5	 /* when it is to end */

struct run {
	const struct survey_options *options;
	struct checkpoint *checkpoint;
	struct survey *survey;
	struct backend *backend;
	struct source_object root;
	struct source_attr root_attr;
	uint32_t max_read;
	bool has_clock;
	int64_t clock_ahead;
	struct gate *gate;
	struct judge judge;
	bool closed; /* the gate, before the loop has ended */
	struct samples samples;
	struct walk walk;
	GMainLoop *loop;
	GError *error;
	gint64 began;	/* monotonic; of the pass in this run */
	double before;	/* seconds of the runs before */
	gint measuring; /* atomic */
	bool resumed;
};

static bool stopped(const struct run *run)
{
	return run->options->stop && *run->options->stop;
}

static gint64 now_and(double seconds)
{
	return g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
}

static void note_time(struct run *run)
{
	run->survey->seconds =
		run->before + (double)(g_get_monotonic_time() - run->began) / G_USEC_PER_SEC;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* FALSE: it was not possible in time, or failed: run->error. */
static bool keep(struct run *run, double patience, bool despite_stop)
{
	const gint64 until = now_and(patience);
	bool still;

	do
		still = walk_hold(&run->walk, MIN(until, now_and(TICK_MS / 1000.0)));
	while (!still && (despite_stop || !stopped(run)) && g_get_monotonic_time() < until);
	if (still) {
		note_time(run);
		still = checkpoint_save(run->checkpoint, &run->walk, run->survey, &run->error);
	}
	return still;
}

static void pass(struct run *run)
{
	gint64 next = now_and(KEEP_FIRST_S), last = g_get_monotonic_time();
	double pause = KEEP_FIRST_S;

	while (!walk_wait(&run->walk, now_and(TICK_MS / 1000.0)) && !stopped(run) && !run->error) {
		if (g_get_monotonic_time() < next)
			continue;
		if (keep(run, last + HOLD_LONG_S * G_USEC_PER_SEC < next ? HOLD_LONG_S : HOLD_S,
			 false))
			last = g_get_monotonic_time();
		walk_go_on(&run->walk);
		pause = MIN(2 * pause, KEEP_S);
		next = now_and(pause);
	}
	if (!run->error && !stopped(run))
		note_time(run);
}

static void measure(struct run *run)
{
	struct measure measure = {.gate = run->gate,
				  .samples = &run->samples,
				  .root = &run->root,
				  .max_read = run->max_read,
				  .has_clock = run->has_clock,
				  .clock_ahead = run->clock_ahead};

	g_atomic_int_set(&run->measuring, 1);
	measure_run(&measure, &run->survey->tally, &run->survey->measured);
}

static gboolean quit(gpointer loop)
{
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

/* When the pass is stopped, the directories under way are not counted, and the state that was kept
 * before stays. */
static gpointer work(gpointer arg)
{
	struct run *run = arg;

	pass(run);
	if (!run->error && !run->walk.error) {
		keep(run, stopped(run) ? HOLD_STOP_S : HOLD_S, true);
		if (!stopped(run) && !run->error)
			measure(run);
	}
	g_idle_add(quit, run->loop);
	return NULL;
}

/* ---- the main thread ------------------------------------------------------------------------- */

static gboolean tick(gpointer arg)
{
	struct run *run = arg;
	struct survey_progress progress = {.resumed = run->resumed};

	if (stopped(run) && g_atomic_int_get(&run->measuring) && !run->closed) {
		gate_close(run->gate);
		run->closed = true;
	}
	if (!run->options->progress)
		return G_SOURCE_CONTINUE;
	walk_now(&run->walk, &progress.objects, &progress.bytes, &progress.pending);
	progress.measuring = g_atomic_int_get(&run->measuring);
	progress.seconds =
		run->before + (double)(g_get_monotonic_time() - run->began) / G_USEC_PER_SEC;
	run->options->progress(run->options->arg, &progress);
	return G_SOURCE_CONTINUE;
}

/* The source with version=4.2 instead of another version; g_free.  NULL: it has that already, or is
 * not NFS. */
static char *newest_version(const char *source)
{
	const size_t path = strcspn(source, "?");
	g_auto(GStrv) options = g_strsplit(source[path] ? source + path + 1 : "", "&", -1);
	GString *url = g_string_new_len(source, (gssize)path);

	if (!g_str_has_prefix(source, "nfs://") ||
	    g_strv_contains((const char *const *)options, NEWEST))
		return g_string_free(url, TRUE);
	g_string_append(url, "?" NEWEST);
	for (unsigned i = 0; options[i]; i++)
		if (*options[i] && !g_str_has_prefix(options[i], "version="))
			g_string_append_printf(url, "&%s", options[i]);
	return g_string_free(url, FALSE);
}

/* The texts before the colons of those lines of a that b does not have: "ACLs, times".  g_free */
static char *only_there(const char *a, const char *b)
{
	g_auto(GStrv) lines = g_strsplit(a ? a : "", "\n", -1);
	g_autofree char *others = g_strconcat("\n", b ? b : "", NULL);
	GString *list = g_string_new(NULL);

	for (unsigned i = 0; lines[i]; i++) {
		const int len = (int)strcspn(lines[i], ":(");
		g_autofree char *what = g_strdup_printf("\n%.*s", len, lines[i]);

		if (len && !strstr(others, what))
			g_string_append_printf(list, "%s%s", list->len ? ", " : "",
					       g_strstrip(what));
	}
	return g_string_free(list, FALSE);
}

char *survey_brings(const char *without, const char *with)
{
	g_autofree char *more = only_there(without, with), *less = only_there(with, without);

	if (!*more)
		return NULL;
	return g_strdup_printf("With ?" NEWEST " in the source would come: %s%s%s%s", more,
			       *less ? " (and not: " : "", less, *less ? ")" : "");
}

/* Asks the same server by another version of the protocol. */
static void ask_newest(struct run *run)
{
	struct volume_config other = *run->options->config;
	struct source_object root = {0};
	struct source_attr attr;
	g_autoptr(GError) error = NULL;
	struct backend *backend;

	other.source = newest_version(other.source);
	backend = other.source ? scheme_open(&other, &root, &attr, &error) : NULL;
	if (backend) {
		g_autofree char *text =
			backend->ops->not_carried ? backend->ops->not_carried(backend) : NULL;

		run->survey->brings = survey_brings(run->survey->not_carried, text);
		backend->ops->close(backend);
		source_object_clear(&root);
	}
	g_free(other.source);
}

static gboolean open_source(struct run *run, GError **error)
{
	struct backend *backend =
		scheme_open(run->options->config, &run->root, &run->root_attr, error);

	if (!backend)
		return FALSE;
	run->backend = backend;
	run->max_read = backend->ops->max_read(backend);
	run->has_clock = backend->ops->clock && backend->ops->clock(backend, &run->clock_ahead);
	run->walk.carries = backend->ops->carries ? backend->ops->carries(backend) : 0;
	run->survey->not_carried =
		backend->ops->not_carried ? backend->ops->not_carried(backend) : NULL;
	ask_newest(run);
	return TRUE;
}

static void put_together(struct run *run)
{
	const struct survey_options *options = run->options;
	struct survey *survey = run->survey;
	struct walk *walk = &run->walk;

	judge_init(&run->judge, options->config, survey->target.limits, survey->notices);
	samples_init(&run->samples);
	walk->judge = &run->judge;
	walk->samples = &run->samples;
	walk->trials = survey->trials;
	walk->notices = survey->notices;
	walk->tally = &survey->tally;
	walk->frontier = frontier_new(run->checkpoint->dir_fd);
	walk->workers = options->workers;
	walk->share = options->share;
	walk->list = one_directory_run;
}

static void take_apart(struct run *run)
{
	source_object_clear(&run->root);
	gate_free(run->gate);
	frontier_free(run->walk.frontier);
	samples_clear(&run->samples);
	judge_clear(&run->judge);
}

static gboolean begin_survey(struct run *run, GError **error)
{
	run->resumed = checkpoint_load(run->checkpoint, &run->walk, run->survey, &run->error);
	if (!run->error && !run->resumed) {
		run->survey->tally.now = g_get_real_time() * 1000;
		walk_add_root(&run->walk, &run->root, &run->root_attr);
		run->error = g_steal_pointer(&run->walk.error);
	}
	run->survey->runs++;
	run->before = run->survey->seconds;
	if (!run->error)
		return TRUE;
	g_propagate_error(error, g_steal_pointer(&run->error));
	return FALSE;
}

static void run_loop(struct run *run)
{
	GThread *thread;
	guint timer = g_timeout_add(TICK_MS, tick, run);

	run->loop = g_main_loop_new(NULL, FALSE);
	run->began = g_get_monotonic_time();
	walk_start(&run->walk);
	tick(run);
	thread = g_thread_new("check", work, run);
	g_main_loop_run(run->loop);
	g_source_remove(timer);
	walk_stop(&run->walk);
	if (!run->closed)
		gate_close(run->gate);
	run->backend->ops->close(run->backend);
	run->backend = NULL;
	walk_end(&run->walk);
	g_thread_join(thread);
	g_main_loop_unref(run->loop);
}

static gboolean conclude_survey(struct run *run, GError **error)
{
	struct survey *survey = run->survey;

	survey->requests += gate_passed(run->gate);
	survey->made = g_get_real_time() / G_USEC_PER_SEC;
	survey->need = new_fs_need(&survey->target, &survey->tally, !run->walk.handles);
	const struct passed passed = {survey_rate(survey), survey->requests, run->max_read,
				      run->options->config};
	survey->estimate = measure_estimate(&survey->tally, &survey->measured, &passed, time(NULL));
	if (!run->error)
		run->error = g_steal_pointer(&run->walk.error);
	if (!run->error && stopped(run))
		error_set(&run->error, ECANCELED, "stopped; the next run goes on where it was");
	if (!run->error)
		return TRUE;
	g_propagate_error(error, g_steal_pointer(&run->error));
	return FALSE;
}

gboolean survey_run(const struct survey_options *options, struct checkpoint *checkpoint,
		    struct survey *survey, GError **error)
{
	struct run run = {.options = options, .checkpoint = checkpoint, .survey = survey};
	gboolean good;

	survey->source = g_strdup(options->config->source);
	survey->share = options->share;
	survey->notices = notices_new();
	survey->trials = read_trials_new(survey->notices);
	if (!new_fs_look(&survey->target, options->target, error) || !open_source(&run, error))
		return FALSE;
	survey->target.filled = survey->target.filled && options->config->root;
	put_together(&run);
	run.walk.handles = run.root.handle_len > 0;
	run.gate = gate_new(run.backend, options->bandwidth);
	gate_limit_requests(run.gate, (unsigned)MIN(options->requests, UINT_MAX));
	run.walk.gate = run.gate;
	good = begin_survey(&run, error);
	if (good) {
		run_loop(&run);
		good = conclude_survey(&run, error);
	} else {
		gate_close(run.gate);
		run.backend->ops->close(run.backend);
	}
	take_apart(&run);
	return good;
}

void survey_clear(struct survey *survey)
{
	tally_clear(&survey->tally);
	read_trials_free(survey->trials);
	notices_free(survey->notices);
	new_fs_clear(&survey->target);
	g_free(survey->name);
	g_free(survey->source);
	g_free(survey->version);
	g_free(survey->not_carried);
	g_free(survey->brings);
	memset(survey, 0, sizeof(*survey));
}
