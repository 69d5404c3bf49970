/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace: what was done for requests (lib/source/trace.h), one line for each step. */
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"

#define PAUSE_MS  200
#define KNOWN_MAX 100000 /* requests whose first event is remembered */

static gboolean opt_follow;
static const char *opt_id;

struct step {
	gint64 time; /* microseconds since 1970 */
	uint64_t id, offset, length, number;
	int result;
	const char *step, *what, *peer; /* in words */
	char **words;
};

struct tracing {
	const struct ctl *ctl;
	GHashTable *first; /* gint64 *: when a request's first event was, by "PEER:ID" */
};

enum { TIME, ID, STEP, WHAT, OFFSET, LENGTH, NUMBER, RESULT, PEER, WORDS };

/* FALSE: it makes no sense. */
static bool parse_step(const char *line, struct step *step)
{
	char **words = g_strsplit(line, " ", WORDS);

	if (g_strv_length(words) < WORDS) {
		g_strfreev(words);
		return false;
	}
	*step = (struct step){
		.time = g_ascii_strtoll(words[TIME], NULL, 10),
		.id = g_ascii_strtoull(words[ID], NULL, 10),
		.step = words[STEP],
		.what = words[WHAT],
		.offset = g_ascii_strtoull(words[OFFSET], NULL, 10),
		.length = g_ascii_strtoull(words[LENGTH], NULL, 10),
		.number = g_ascii_strtoull(words[NUMBER], NULL, 10),
		.result = atoi(words[RESULT]),
		.peer = words[PEER],
		.words = words,
	};
	return true;
}

/* Seconds since the first event of the same request. */
static double seconds_since(struct tracing *tracing, const char *name, gint64 now)
{
	gint64 *first = g_hash_table_lookup(tracing->first, name);

	if (!first) {
		if (g_hash_table_size(tracing->first) >= KNOWN_MAX)
			g_hash_table_remove_all(tracing->first);
		first = g_memdup2(&now, sizeof now);
		g_hash_table_insert(tracing->first, g_strdup(name), first);
	}
	return (double)(now - *first) / G_USEC_PER_SEC;
}

/* The retriever's own work has no id. */
static void print_step_text(const struct step *step, const char *name, double since)
{
	g_autoptr(GDateTime) seconds = g_date_time_new_from_unix_local(step->time / G_USEC_PER_SEC);
	g_autofree char *time = g_date_time_format(seconds, "%F %T");

	printf("%s.%06d %+.6f  %s  %s %s", time, (int)(step->time % G_USEC_PER_SEC), since,
	       *step->peer == '-' ? "-" : name, step->step, step->what);
	if (step->offset || step->length)
		printf(" %" G_GUINT64_FORMAT "+%" G_GUINT64_FORMAT, step->offset, step->length);
	if (!strcmp(step->step, "sent") || !strcmp(step->step, "reply"))
		printf(" (call %" G_GUINT64_FORMAT ")", step->number);
	else if (step->number)
		printf(" (%" G_GUINT64_FORMAT ")", step->number);
	if (step->result)
		printf(": %s", g_strerror(-step->result));
	putchar('\n');
}

static void print_step_json(const struct step *step, double since)
{
	g_autoptr(JsonBuilder) builder = json_builder_new();
	const struct {
		const char *name;
		gint64 value;
	} numbers[] = {
		{"id", (gint64)step->id},	  {"offset", (gint64)step->offset},
		{"length", (gint64)step->length}, {"number", (gint64)step->number},
		{"result", step->result},
	};

	json_builder_begin_object(builder);
	json_builder_set_member_name(builder, "time");
	json_builder_add_double_value(builder, (double)step->time / G_USEC_PER_SEC);
	json_builder_set_member_name(builder, "since");
	json_builder_add_double_value(builder, since);
	json_builder_set_member_name(builder, "peer");
	json_builder_add_string_value(builder, step->peer);
	json_builder_set_member_name(builder, "step");
	json_builder_add_string_value(builder, step->step);
	json_builder_set_member_name(builder, "operation");
	json_builder_add_string_value(builder, step->what);
	for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++) {
		json_builder_set_member_name(builder, numbers[i].name);
		json_builder_add_int_value(builder, numbers[i].value);
	}
	json_builder_end_object(builder);
	ctl_print_json(json_builder_get_root(builder), false);
}

static void print_step(struct tracing *tracing, const char *line)
{
	const char *wanted = opt_id;
	struct step step;

	if (!parse_step(line, &step))
		return;
	g_autofree char *name = g_strdup_printf("%s:%" G_GUINT64_FORMAT, step.peer, step.id);
	if (!wanted || !strcmp(name, wanted)) {
		double since = seconds_since(tracing, name, step.time);

		if (tracing->ctl->json)
			print_step_json(&step, since);
		else
			print_step_text(&step, name, since);
	}
	g_strfreev(step.words);
}

static void print_page(struct tracing *tracing, GKeyFile *reply)
{
	uint64_t overwritten = ctl_number(reply, "trace", "overwritten");
	g_auto(GStrv) keys = g_key_file_get_keys(reply, "events", NULL, NULL);

	if (overwritten)
		ctl_complain(TEXT_COUNT " overwritten before they could be "
					"shown; see what comes with --follow",
			     TEXT_COUNTED(overwritten, "events were"));
	for (unsigned i = 0; keys && keys[i]; i++) {
		g_autofree char *line = ctl_text(reply, "events", keys[i]);

		print_step(tracing, line);
	}
	fflush(stdout);
}

static enum ctl_exit read_all(struct tracing *tracing, struct ctl_link *link)
{
	uint64_t next = 0;
	bool more;

	do {
		g_autofree char *command = g_strdup_printf("trace %" G_GUINT64_FORMAT, next);
		g_autoptr(GKeyFile) reply = NULL;
		enum ctl_exit result = ctl_ask(link, command, false, &reply);

		if (result)
			return result;
		print_page(tracing, reply);
		next = ctl_number(reply, "trace", "next");
		more = ctl_yes(reply, "trace", "more");
		if (!more && opt_follow)
			g_usleep(PAUSE_MS * 1000);
	} while (more || opt_follow);
	return CTL_OK;
}

static enum ctl_exit run_trace(const struct ctl *ctl)
{
	struct tracing tracing = {.ctl = ctl};
	enum ctl_exit result;
	struct ctl_link *link;

	if (opt_id && !strchr(opt_id, ':')) {
		ctl_complain("trace: --id: a request is called as status --verbose shows it, "
			     "for example \"door 1234:57\"");
		return CTL_USAGE;
	}
	link = ctl_link_open(ctl, ctl->volume, &result);
	if (!link)
		return result;
	tracing.first = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	result = read_all(&tracing, link);
	g_hash_table_destroy(tracing.first);
	ctl_link_close(link);
	return result;
}

static const GOptionEntry trace_options[] = {
	CTL_OPTION_JSON,
	CTL_STRING("id", opt_id, "of one request, as status --verbose shows it", "PEER:ID"),
	CTL_FLAG("follow", opt_follow, "go on until interrupted"),
	{NULL},
};

CTL_COMMAND(trace, "trace", "NAME", 1, 1, "show what was done for requests, step by step",
	    .example = "trace --follow projects", .changes = "nothing", .options = trace_options);
