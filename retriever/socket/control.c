/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/socket/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/protocol.h"
#include "lib/base/text.h"
#include "lib/config/calendar.h"
#include "lib/report/losses.h"
#include "lib/source/cap.h"
#include "lib/source/gate.h"
#include "retriever/compare/mend.h"
#include "retriever/compare/proof.h"
#include "retriever/compare/rule_change.h"
#include "retriever/copies/aside.h"
#include "retriever/copies/prior.h"
#include "retriever/data/source_root.h"
#include "retriever/data/version.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/object.h"
#include "retriever/objects/private.h"
#include "retriever/objects/state.h"
#include "retriever/progress/limits_set.h"
#include "retriever/progress/rates.h"
#include "retriever/socket/control_errors.h"
#include "retriever/socket/control_old.h"
#include "retriever/socket/touched.h"
#include "retriever/volume/attach.h"
#include "retriever/volume/copy.h"
#include "retriever/volume/finalize.h"
#include "retriever/volume/retry.h"
#include "retriever/volume/skip.h"
#include "retriever/volume/verify.h"

#define ASIDE_PAGE	 100
#define ASIDE_PAGE_BYTES (MIGRATE_FRAME_MAX / 4) /* most bytes of a path may be escaped */

static char *to_text(GKeyFile *file)
{
	return g_key_file_to_data(file, NULL, NULL);
}

static void set_bool(GKeyFile *file, const char *group, const char *key, bool value)
{
	g_key_file_set_boolean(file, group, key, value);
}

static void set_limits(struct retriever *r, GKeyFile *f)
{
	time_t until;
	const struct calendar_rule *rule = limits_set_rule(r, &until);
	const struct limits_set orders = limits_set_get(r);
	const struct gate_yielding yielding = gate_yielding(r->gate);

	g_key_file_set_uint64(f, "yield", "target-ms", yielding.target_ms);
	g_key_file_set_uint64(f, "yield", "delay-ms", yielding.delay_ms);
	g_key_file_set_uint64(f, "yield", "window", yielding.window);
	g_key_file_set_uint64(f, "yield", "under-way", yielding.under_way);
	set_bool(f, "now", "paused", gate_paused(r->gate));
	set_bool(f, "now", "throttled", orders.throttled);
	g_key_file_set_uint64(f, "now", "bandwidth", gate_bandwidth(r->gate));
	g_key_file_set_uint64(f, "now", "requests", gate_requests(r->gate));
	if (r->cap) {
		g_key_file_set_string(f, "server", "host", r->config->server.host);
		g_key_file_set_uint64(f, "server", "bandwidth", cap_bandwidth(r->cap));
		g_key_file_set_uint64(f, "server", "requests", cap_requests(r->cap));
		g_key_file_set_uint64(f, "server", "waiting", cap_waiting(r->cap));
		g_key_file_set_string(f, "server", "rule",
				      r->server_rule ? r->server_rule->text : "");
	}
	if (!r->config->limits)
		return;
	set_bool(f, "limits", "pause-ordered", orders.paused);
	g_key_file_set_string(f, "limits", "rule", rule ? rule->text : "");
	g_key_file_set_int64(f, "limits", "until", until);
}

static void set_rest(GKeyFile *f, struct retriever *r)
{
	struct estimate_time rest = rates_rest(r->rates);
	g_autofree char *text = rates_rest_text(r->rates, &rest);

	g_key_file_set_string(f, "rest", "text", text);
	g_key_file_set_string(f, "rest", "unknown", rest.reason ? rest.reason : "");
	if (rest.reason)
		return;
	g_key_file_set_int64(f, "rest", "seconds", rest.seconds);
	g_key_file_set_int64(f, "rest", "low", rest.low);
	g_key_file_set_int64(f, "rest", "high", rest.high);
}

/* How many objects and names failed, by their codes. */
static void set_codes(GKeyFile *f, struct retriever *r)
{
	guint counts[ERROR_KINDS];

	errors_count_codes(r->errors, counts);
	for (unsigned i = 0; i < ERROR_KINDS; i++)
		if (counts[i])
			g_key_file_set_uint64(f, "codes", error_kinds[i].name, counts[i]);
}

/* What the new file system can do, and what is done without it: "yes", or the other way. */
static void set_capabilities(GKeyFile *f, const struct retriever *r)
{
	for (unsigned i = 0; i < CAPABILITIES && r->private_fd >= 0; i++)
		if (r->capabilities.tried & 1u << i)
			g_key_file_set_string(
				f, "capabilities", capability_key(i),
				capabilities_has(&r->capabilities, i) ? "yes" : capability_way(i));
}

static char *status_text(struct retriever *r, bool verbose)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	gint64 unfilled = COUNT_GET(r, unfilled);

	g_key_file_set_string(f, "volume", "name", r->config->name);
	g_key_file_set_string(f, "volume", "root", r->config->root);
	g_key_file_set_string(f, "volume", "source", r->config->source);
	g_key_file_set_string(f, "volume", "state", volume_state_name(volume_state(r)));
	if (private_root_is_replaced(r))
		set_bool(f, "volume", "root-replaced", true);
	if (r->prior)
		g_key_file_set_string(f, "volume", "prior",
				      r->prior->adopted ? "adopted" : "copied");
	g_key_file_set_int64(f, "counters", "directories-found", COUNT_GET(r, directories_found));
	g_key_file_set_int64(f, "counters", "directories-whole", COUNT_GET(r, directories_whole));
	g_key_file_set_int64(f, "counters", "unfilled-directories", unfilled);
	g_key_file_set_int64(f, "counters", "files-found", COUNT_GET(r, files_found));
	g_key_file_set_int64(f, "counters", "files-whole", COUNT_GET(r, files_whole));
	g_key_file_set_int64(f, "counters", "bytes-found", COUNT_GET(r, bytes_found));
	g_key_file_set_int64(f, "counters", "bytes-whole", COUNT_BYTES_HERE(r));
	g_key_file_set_int64(f, "counters", "bytes-fetched", COUNT_GET(r, bytes_fetched));
	g_key_file_set_int64(f, "counters", "errors", errors_count(r->errors));
	g_key_file_set_int64(f, "counters", "errors-since", errors_since(r->errors));
	g_key_file_set_int64(f, "counters", "acls-carried", COUNT_GET(r, acls_carried));
	g_key_file_set_int64(f, "counters", "xattrs-carried", COUNT_GET(r, xattrs_carried));
	g_key_file_set_uint64(f, "counters", "losses", losses_count(r->losses));
	g_key_file_set_uint64(f, "counters", "names-skipped", losses_names(r->losses));
	g_key_file_set_uint64(f, "counters", "left-out", losses_rules(r->losses));
	g_key_file_set_int64(f, "counters", "same", COUNT_GET(r, same));
	g_key_file_set_int64(f, "counters", "left-over", COUNT_GET(r, left_over));
	g_key_file_set_int64(f, "counters", "bytes-corrected", COUNT_GET(r, bytes_corrected));
	g_key_file_set_int64(f, "counters", "aside", COUNT_GET(r, aside));
	g_key_file_set_int64(f, "counters", "aside-bytes", COUNT_GET(r, aside_bytes));
	set_bool(f, "counters", "exact", COUNT_GET(r, exact));
	g_key_file_set_int64(f, "now", "files-per-second", rates_files(r->rates));
	g_key_file_set_int64(f, "now", "bytes-per-second", rates_bytes(r->rates));
	g_key_file_set_int64(f, "now", "demand-waiting", COUNT_GET(r, demand_waiting));
	g_key_file_set_int64(f, "now", "background-waiting", COUNT_GET(r, background_waiting));
	g_key_file_set_uint64(f, "now", "put-off", gate_pausing(r->gate));
	set_bool(f, "now", "clients-wait", retriever_clients_wait(r));
	g_key_file_set_int64(f, "now", "source-away-seconds", r->backend->ops->away(r->backend));
	set_limits(r, f);
	g_key_file_set_int64(f, "now", "crawlers", COUNT_GET(r, crawlers));
	g_key_file_set_uint64(f, "now", "objects", object_table_size(r->objects));
	set_rest(f, r);
	set_bool(f, "namespace", "complete", COUNT_GET(r, exact) && unfilled == 0);
	set_codes(f, r);
	set_capabilities(f, r);
	if (verbose)
		r->describe(r->describer, f);
	return to_text(f);
}

static char *settings_text(struct retriever *r)
{
	g_autoptr(GKeyFile) f = g_key_file_new();

	g_key_file_set_string(f, "settings", "root", r->config->root);
	g_key_file_set_integer(f, "settings", "hold-ms", r->config->hold_ms);
	g_key_file_set_integer(f, "settings", "crawler-workers", r->config->crawler_workers);
	g_key_file_set_string(f, "settings", "crawler-order",
			      crawl_orders[r->config->crawler_order]);
	set_bool(f, "settings", "paused", gate_paused(r->gate));
	return to_text(f);
}

/* ---- commands that take their time ---- */

struct slow_command {
	struct retriever *retriever;
	control_answer_fn answer;
	void *arg;
	int (*run)(struct retriever *retriever, const char *argument, char **text);
	char *argument;
};

/* 0, or -EINVAL with *text. */
static int check_attached(struct retriever *retriever, const char *what, char **text)
{
	if (volume_state(retriever) != VOLUME_UNATTACHED)
		return 0;
	*text = g_strdup_printf("%s is not attached: there is nothing to %s; attach it "
				"first: migratectl attach %s",
				retriever->config->root, what, retriever->config->name);
	return -EINVAL;
}

static int run_retry(struct retriever *retriever, const char *argument, char **text)
{
	g_auto(GStrv) lines = g_strsplit(argument ? argument : "new", "\n", -1);
	bool same = !g_strcmp0(lines[0], "same");
	struct errors_filter filter = {NULL};

	if (check_attached(retriever, "retry", text))
		return -EINVAL;
	for (char **line = lines; *line; line++) {
		if (line == lines ? !same && strcmp(*line, "new") != 0
				  : !errors_filter_take(&filter, *line)) {
			*text = g_strdup("retry takes `new` or `same`, and then a reason, a "
					 "directory or a code");
			return -EINVAL;
		}
	}
	return retry_all(retriever, &filter, same ? VERSION_SAME : VERSION_NEW, text);
}

/* One of the words of the argument. */
static bool has_word(const char *argument, const char *word)
{
	g_auto(GStrv) words = g_strsplit(argument ? argument : "", " ", -1);

	return g_strv_contains((const char *const *)words, word);
}

static int run_attach(struct retriever *retriever, const char *argument, char **text)
{
	const struct attach how = {
		.adopt = has_word(argument, "adopt"),
		.content = has_word(argument, "content"),
		.keep_extra = has_word(argument, "keep-extra"),
		.accept = has_word(argument, "accept"),
	};

	return retriever->copying && !how.adopt ? copy_switch(retriever, &how, text)
						: attach_volume(retriever, &how, text);
}

static int run_copy(struct retriever *retriever, const char *argument, char **text)
{
	return has_word(argument, "end")
		       ? copy_end(retriever, text)
		       : copy_begin(retriever, has_word(argument, "accept"), text);
}

static int run_accept(struct retriever *retriever, const char *argument, char **text)
{
	g_atomic_int_set(&retriever->accepted, 1);
	return run_retry(retriever, NULL, text);
}

struct aside_page {
	GKeyFile *f;
	guint64 start, at;
	guint n;
	size_t bytes; /* of paths, for all of which there is room in an answer */
	bool more;
};

static bool list_aside(void *arg, const char *path, const struct stat *st)
{
	struct aside_page *page = arg;
	g_autofree char *group = NULL, *shown = text_line(path);

	if (page->at++ < page->start)
		return true;
	page->bytes += strlen(shown);
	page->more = page->n == ASIDE_PAGE || (page->n && page->bytes > ASIDE_PAGE_BYTES);
	if (page->more)
		return false;
	group = g_strdup_printf("aside %u", page->n++);
	g_key_file_set_string(page->f, group, "path", shown);
	g_key_file_set_int64(page->f, group, "bytes", S_ISREG(st->st_mode) ? st->st_size : 0);
	g_key_file_set_int64(page->f, group, "mtime", st->st_mtim.tv_sec);
	return true;
}

static int list_all_aside(struct retriever *retriever, const char *start, char **text)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	struct aside_page page = {.f = f, .start = g_ascii_strtoull(start, NULL, 10)};
	int ret;

	g_key_file_set_int64(f, "list", "next", -1); /* first: what is too long is cut at its end */
	ret = aside_walk(retriever, list_aside, &page);
	g_key_file_set_int64(f, "list", "next", page.more ? (gint64)(page.start + page.n) : -1);
	*text = to_text(f);
	return ret;
}

static int run_aside(struct retriever *retriever, const char *argument, char **text)
{
	const char *path = argument ? strchr(argument, ' ') : NULL;
	int ret;

	if (retriever->private_fd < 0) {
		*text = g_strdup("nothing is set aside: there is no migration");
		return -EINVAL;
	}
	if (!argument || g_ascii_isdigit(*argument))
		return list_all_aside(retriever, argument ? argument : "0", text);
	if (!strcmp(argument, "discard"))
		ret = aside_discard(retriever);
	else
		ret = path ? aside_restore(retriever, path + 1) : -EINVAL;
	if (ret)
		*text = g_strdup_printf("%s: %s", path ? path + 1 : "discard",
					ret == -EEXIST ? "there is something of this name now"
					: ret == -ENOENT
						? "not set aside, or its directory is not there"
					: ret == -EBUSY	  ? "its directory is not compared yet"
					: ret == -ENODATA ? "not all of it was fetched"
							  : g_strerror(-ret));
	return ret;
}

static int try_finalize(struct retriever *retriever, const char *argument, bool dry_run,
			char **text)
{
	if (dry_run ? proof_is_under_way(retriever->proof) : !proof_give_way(retriever->proof)) {
		*text = g_strdup_printf("both sides are being compared: wait for the end, or stop "
					"it: migratectl verify %s --content --stop",
					retriever->config->name);
		return -EBUSY;
	}
	return finalize_volume(retriever, !g_strcmp0(argument, "unwatched"), dry_run, text);
}

static int run_finalize(struct retriever *retriever, const char *argument, char **text)
{
	return try_finalize(retriever, argument, false, text);
}

static int run_finalizable(struct retriever *retriever, const char *argument, char **text)
{
	return try_finalize(retriever, argument, true, text);
}

static int run_verify(struct retriever *retriever, const char *argument, char **text)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	struct verify_count count = {0};
	int ret = check_attached(retriever, "verify", text);

	if (!ret)
		ret = verify_volume(retriever, true, &count, text);
	if (!ret) {
		g_key_file_set_uint64(f, "verify", "objects", count.objects);
		g_key_file_set_uint64(f, "verify", "unfinished", count.unfinished);
		g_key_file_set_string(f, "verify", "first-unfinished",
				      count.first ? count.first : "");
		*text = to_text(f);
	}
	g_free(count.first);
	return ret;
}

static int begin_proof(struct retriever *retriever, const char *how, char **text)
{
	g_auto(GStrv) words = g_strsplit(how, " ", 2);
	struct proof_how order = {.sample = g_ascii_strtoull(words[0] ? words[0] : "", NULL, 10),
				  .seeded = words[0] && words[1]};
	int ret;

	if (order.seeded)
		order.seed = g_ascii_strtoull(words[1], NULL, 10);
	if (!order.sample || order.sample > 100000) {
		*text = g_strdup("a sample is 1 to 100000 files of 100000");
		return -EINVAL;
	}
	ret = proof_begin(retriever->proof, &order, text);
	return ret == -EALREADY ? 0 : ret;
}

static int run_proof(struct retriever *retriever, const char *argument, char **text)
{
	g_auto(GStrv) words = g_strsplit(argument ? argument : "", " ", 2);
	const char *word = words[0] ? words[0] : "", *rest = word[0] && words[1] ? words[1] : "";
	int ret = 0;

	if (!strcmp(word, "list")) {
		*text = proof_list(retriever->proof, g_ascii_strtoull(rest, NULL, 10));
		return 0;
	}
	if (!strcmp(word, "begin"))
		ret = begin_proof(retriever, rest, text);
	else if (!strcmp(word, "stop"))
		proof_stop(retriever->proof);
	if (!ret)
		*text = proof_text(retriever->proof);
	return ret;
}

static int run_mend(struct retriever *retriever, const char *argument, char **text)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	g_autofree char *what = NULL;
	int ret = mend_path(retriever, argument ? argument : "", &what);

	g_key_file_set_string(f, "mend", "text", what);
	*text = ret ? g_steal_pointer(&what) : to_text(f);
	return ret;
}

static void run_slow(void *arg)
{
	struct slow_command *command = arg;
	char *text = NULL;
	int ret = command->run(command->retriever, command->argument, &text);

	command->answer(command->arg, ret, text);
	g_free(text);
	g_free(command->argument);
	g_free(command);
}

static int command_status(struct retriever *r, const char *argument, char **text)
{
	*text = status_text(r, argument && !strcmp(argument, "verbose"));
	return 0;
}

#define TRACE_PAGE 300

/* Who passes nothing begins with the oldest. */
static int command_trace(struct retriever *r, const char *argument, char **text)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	g_autofree struct trace_event *events = g_new(struct trace_event, TRACE_PAGE);
	uint64_t start = argument ? g_ascii_strtoull(argument, NULL, 10) : 0;
	unsigned n;
	uint64_t first = trace_read(start, events, TRACE_PAGE, &n);

	for (unsigned i = 0; i < n; i++) {
		const struct trace_event *e = &events[i];
		g_autofree char *peer = trace_peer(&e->id);
		g_autofree char *key = g_strdup_printf("%u", i);
		g_autofree char *line = g_strdup_printf(
			"%" G_GINT64_FORMAT " %" G_GUINT64_FORMAT " %s %s %" G_GUINT64_FORMAT
			" %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %d %s",
			e->time, e->id.request, trace_step_name(e->step), e->what, e->offset,
			e->length, e->number, e->result, peer);

		g_key_file_set_string(f, "events", key, line);
	}
	g_key_file_set_uint64(f, "trace", "next", first + n);
	g_key_file_set_uint64(f, "trace", "overwritten",
			      start && first > start ? first - start : 0);
	set_bool(f, "trace", "more", n == TRACE_PAGE);
	*text = to_text(f);
	return 0;
}

static int command_settings(struct retriever *r, const char *argument, char **text)
{
	*text = settings_text(r);
	return 0;
}

static int command_touched(struct retriever *r, const char *argument, char **text)
{
	*text = touched_take(r);
	return 0;
}

/* The file itself is read by who asks: it may be long. */
static int command_report(struct retriever *r, const char *argument, char **text)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	g_autofree char *here =
		g_strconcat(r->config->root, "/" MIGRATE_PRIVATE_DIR "/" LOSSES_FILE, NULL);
	bool kept = r->private_fd < 0;

	g_key_file_set_string(f, "report", "path", kept ? r->config->report : here);
	if (!kept) {
		g_key_file_set_int64(f, "report", "acls-carried", COUNT_GET(r, acls_carried));
		g_key_file_set_int64(f, "report", "xattrs-carried", COUNT_GET(r, xattrs_carried));
	}
	*text = to_text(f);
	return 0;
}

/* At once; then run_save() writes it down. */
static int command_throttle(struct retriever *r, const char *argument, char **text)
{
	uint64_t bytes;

	if (!g_strcmp0(argument, "default")) {
		limits_set_unthrottle(r);
	} else if (argument && config_parse_size(argument, &bytes)) {
		limits_set_throttle(r, bytes);
	} else {
		*text = g_strdup("throttle needs bytes per second, such as 50M, 0 for no limit, or "
				 "default for what the configuration says");
		return -EINVAL;
	}
	return 0;
}

static int command_pause(struct retriever *r, const char *argument, char **text)
{
	limits_set_pause(r, true);
	return 0;
}

static int command_resume(struct retriever *r, const char *argument, char **text)
{
	limits_set_pause(r, false);
	return 0;
}

static int run_save(struct retriever *r, const char *argument, char **text)
{
	int ret = limits_set_save(r);

	if (ret)
		*text = g_strdup_printf("it is in force, but %s/" MIGRATE_PRIVATE_DIR
					" cannot keep it (%s): it is forgotten when the retriever "
					"restarts",
					r->config->root, g_strerror(-ret));
	return ret;
}

static int run_source(struct retriever *r, const char *argument, char **text)
{
	return source_root_look(r);
}

static const struct {
	const char *name;
	int (*now)(struct retriever *r, const char *argument, char **text);
	/* after that, where there are both and it went well */
	int (*slow)(struct retriever *r, const char *argument, char **text);
	enum job_kind job; /* of slow */
} commands[] = {
	{"attach", NULL, run_attach, JOB_SLOW},
	{"copy", NULL, run_copy, JOB_SLOW},
	{"accept", NULL, run_accept, JOB_SLOW},
	{"aside", NULL, run_aside, JOB_SLOW},
	{"status", command_status},
	{"trace", command_trace},
	{"settings", command_settings},
	{"touched", command_touched},
	{"errors", NULL, control_errors, JOB_FLUSH},
	{"throttle", command_throttle, run_save, JOB_FLUSH},
	{"pause", command_pause, run_save, JOB_FLUSH},
	{"resume", command_resume, run_save, JOB_FLUSH},
	{"retry", NULL, run_retry, JOB_SLOW},
	{"verify", NULL, run_verify, JOB_SLOW},
	{"proof", NULL, run_proof, JOB_FLUSH},
	{"source", NULL, run_source, JOB_FIND},
	{"mend", NULL, run_mend, JOB_FIND},
	{"finalize", NULL, run_finalize, JOB_SLOW},
	{"finalizable", NULL, run_finalizable, JOB_SLOW},
	{"report", command_report},
	{"rules", NULL, rule_change, JOB_SLOW},
	{"skip", NULL, skip_command, JOB_SLOW},
	{"names", control_old_admit, control_old_names, JOB_FIND_DEMAND},
	{"directory", control_old_admit, control_old_directory, JOB_OLD},
};

static void run_command(struct retriever *retriever, size_t i, const char *argument,
			control_answer_fn answer, void *arg)
{
	struct slow_command *slow;
	g_autofree char *text = NULL;
	int ret = commands[i].now ? commands[i].now(retriever, argument, &text) : 0;

	if (ret || !commands[i].slow) {
		answer(arg, ret, text);
		return;
	}
	slow = g_new0(struct slow_command, 1);
	slow->retriever = retriever;
	slow->answer = answer;
	slow->arg = arg;
	slow->run = commands[i].slow;
	slow->argument = g_strdup(argument);
	jobs_run(retriever->jobs, commands[i].job, run_slow, slow);
}

void control_command(struct retriever *retriever, const char *command, control_answer_fn answer,
		     void *arg)
{
	g_auto(GStrv) words = g_strsplit(command, " ", 2);

	for (size_t i = 0; words[0] && i < G_N_ELEMENTS(commands); i++) {
		if (!strcmp(words[0], commands[i].name)) {
			run_command(retriever, i, words[1], answer, arg);
			return;
		}
	}
	answer(arg, -EINVAL, "the retriever does not know this command: is migratectl newer?");
}
