/* SPDX-License-Identifier: GPL-3.0-or-later */
/* verify: the two walks that prove something: one over what is here, one over both sides. */
#include "ctl/ctl.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/terminal.h"
#include "lib/base/text.h"
#include "lib/report/manifest/entry.h"

#define GROUP	 "proof"
#define SCALE	 (CTL_SAMPLE_ALL / 100) /* of a percent */
#define POLL_US	 (G_USEC_PER_SEC / 50)	/* at first */
#define POLL_MAX (G_USEC_PER_SEC / 2)

static gboolean opt_content, opt_stop, opt_list;
static const char *opt_sample, *opt_seed;

/* ---- what is here ---------------------------------------------------------------------------- */

static enum ctl_exit verify_here(const struct ctl *ctl)
{
	g_autoptr(GKeyFile) reply = NULL;
	enum ctl_exit result = ctl_ask_once(ctl, "verify", &reply);

	if (result)
		return result;
	uint64_t objects = ctl_number(reply, "verify", "objects");
	uint64_t unfinished = ctl_number(reply, "verify", "unfinished");
	if (!unfinished) {
		printf("%s: " TEXT_COUNT ", all whole\n", ctl->volume,
		       TEXT_COUNTED(objects, "objects"));
		return CTL_OK;
	}
	g_autofree char *first = ctl_text(reply, "verify", "first-unfinished");
	g_autofree char *shown = text_line(first);
	printf("%s: " TEXT_COUNT ", %" G_GUINT64_FORMAT " of them unfinished; the first: %s\n",
	       ctl->volume, TEXT_COUNTED(objects, "objects"), unfinished, shown);
	return CTL_REFUSED;
}

/* ---- both sides: what was found -------------------------------------------------------------- */

static uint64_t number(GKeyFile *reply, const char *key)
{
	return ctl_number(reply, GROUP, key);
}

static void print_finding(const struct ctl *ctl, GKeyFile *reply, const char *group)
{
	g_autofree char *path = ctl_text(reply, group, "path");
	g_autofree char *text = ctl_text(reply, group, "text");
	g_autofree char *kind = ctl_text(reply, group, "kind");
	g_autofree char *remedy = ctl_text(reply, group, "remedy");
	g_autofree char *shown_path = text_line(*path ? path : ".");
	g_autofree char *shown_text = text_line(text);
	g_auto(GStrv) parts = g_strsplit(remedy, "NAME", -1);
	g_autofree char *todo = g_strjoinv(ctl->volume, parts);
	const uint64_t since = ctl_number(reply, group, "since");
	g_autofree char *when = ctl_time((int64_t)since);

	printf("%s: %s: %s", shown_path, kind, shown_text);
	if (since)
		printf(" (since %s)", when);
	printf(": %s\n", todo);
}

static void print_finding_json(GKeyFile *reply, const char *group, bool *begun)
{
	static const char *const texts[] = {"path", "kind", "text", "remedy"};
	g_autoptr(JsonBuilder) builder = json_builder_new();

	json_builder_begin_object(builder);
	for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autofree char *text = ctl_text(reply, group, texts[i]);

		json_builder_set_member_name(builder, texts[i]);
		json_builder_add_string_value(builder, text);
	}
	json_builder_set_member_name(builder, "since");
	json_builder_add_int_value(builder, ctl_number(reply, group, "since"));
	json_builder_end_object(builder);
	fputs(*begun ? ",\n" : "\n", stdout);
	*begun = true;
	ctl_print_json(json_builder_get_root(builder), false);
}

static enum ctl_exit list_findings(const struct ctl *ctl, struct ctl_link *link, bool *begun)
{
	gint64 start = 0;

	while (start >= 0) {
		g_autofree char *command = g_strdup_printf("proof list %" G_GINT64_FORMAT, start);
		g_autoptr(GKeyFile) reply = NULL;
		enum ctl_exit result = ctl_ask(link, command, false, &reply);

		if (result)
			return result;
		g_auto(GStrv) groups = g_key_file_get_groups(reply, NULL);
		for (char **group = groups; *group; group++) {
			if (!g_str_has_prefix(*group, "finding "))
				continue;
			if (ctl->json)
				print_finding_json(reply, *group, begun);
			else
				print_finding(ctl, reply, *group);
		}
		start = g_key_file_get_int64(reply, "list", "next", NULL);
	}
	return CTL_OK;
}

/* ---- both sides: the summary ----------------------------------------------------------------- */

/*
 * How likely a sample of n files would have had one that differs, if this fraction of all files
 * differed: 1 - (1 - CTL_FRACTION)^n.  (Drawing without putting back makes it likelier still.)
 */
double ctl_confidence(uint64_t n)
{
	return 100 * -expm1((double)n * log1p(-CTL_FRACTION));
}

static void print_sample(GKeyFile *reply)
{
	double percent = (double)number(reply, "sample") / SCALE;
	uint64_t n = number(reply, "files-read");

	if (percent >= 100)
		return;
	printf("  sample              %g %% of the files, seed %" G_GUINT64_FORMAT
	       ": %" G_GUINT64_FORMAT " were read\n",
	       percent, number(reply, "seed"), n);
	printf("                      if %g %% of all files differed, it would have shown one "
	       "with %.4g %%\n",
	       CTL_FRACTION * 100, ctl_confidence(n));
}

static void print_statuses(GKeyFile *reply)
{
	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++) {
		uint64_t n = number(reply, proof_status_name(i));

		if (n)
			printf("  %-20s%" G_GUINT64_FORMAT "\n", proof_status_name(i), n);
	}
}

static void print_verify_result(const struct ctl *ctl, GKeyFile *reply, const char *state)
{
	g_autofree char *bytes = ctl_bytes(number(reply, "bytes"));
	g_autofree char *told_by = ctl_text(reply, GROUP, "told-by");
	uint64_t cached = number(reply, "files-cached");

	printf("%s: comparison %" G_GUINT64_FORMAT " %s: " TEXT_COUNT ", %s compared, " TEXT_COUNT
	       "\n",
	       ctl->volume, number(reply, "number"), state,
	       TEXT_COUNTED(number(reply, "objects"), "objects"), bytes,
	       TEXT_COUNTED(number(reply, "findings"), "differences"));
	print_statuses(reply);
	print_sample(reply);
	printf("  clients' changes    told by %s\n",
	       !strcmp(told_by, "journal") ? "the journal"
					   : "times, as there is no journal: see migratectl(8)");
	if (cached)
		printf("  not past the cache  " TEXT_COUNT ": the file system refuses O_DIRECT\n",
		       TEXT_COUNTED(cached, "files"));
}

static enum ctl_exit conclude_verify(const struct ctl *ctl, GKeyFile *reply, const char *state)
{
	g_autofree char *error = ctl_text(reply, GROUP, "error");

	if (*error)
		ctl_complain("verify: %s: %s", ctl->volume, error);
	if (!strcmp(state, "stopped") || *error)
		ctl_complain("verify: the next migratectl verify %s --content goes on where it was",
			     ctl->volume);
	return strcmp(state, "through") || number(reply, "findings") ? CTL_REFUSED : CTL_OK;
}

static enum ctl_exit show(const struct ctl *ctl, struct ctl_link *link, GKeyFile *reply)
{
	g_autofree char *state = ctl_text(reply, GROUP, "state");
	enum ctl_exit result;
	bool begun = false;

	if (!strcmp(state, "none")) {
		ctl_complain("verify: %s: both sides were not compared yet; begin with: " PROGRAM
			     " verify %s --content",
			     ctl->volume, ctl->volume);
		return CTL_REFUSED;
	}
	if (ctl->json) {
		g_autoptr(JsonNode) node = ctl_json(reply, false);
		g_autofree char *head = json_to_string(node, false);

		head[strlen(head) - 1] = 0; /* the object goes on */
		printf("%s,\"findings\":[", head);
	}
	result = list_findings(ctl, link, &begun);
	if (result)
		return result;
	if (ctl->json)
		puts("]}");
	else
		print_verify_result(ctl, reply, state);
	return conclude_verify(ctl, reply, state);
}

/* ---- both sides: a run ----------------------------------------------------------------------- */

static char on_interrupt[512]; /* what is said then */

static void take_interrupt(int number)
{
	if (write(STDERR_FILENO, on_interrupt, strlen(on_interrupt)) < 0)
		_exit(CTL_REFUSED);
	raise(number); /* as it would have been */
}

/* A user who ends this process does not end the run, and must be told that. */
static void watch_interrupt(const struct ctl *ctl)
{
	const struct sigaction action = {.sa_handler = take_interrupt, .sa_flags = SA_RESETHAND};

	g_snprintf(on_interrupt, sizeof(on_interrupt),
		   "\n" PROGRAM ": verify: %s: the comparison goes on in the retriever: look at it "
		   "again with " PROGRAM " verify %s --content, end it with " PROGRAM
		   " verify %s --content --stop\n",
		   ctl->volume, ctl->volume, ctl->volume);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static void show_progress(const struct ctl *ctl, GKeyFile *reply, struct terminal *terminal)
{
	g_autofree char *bytes = ctl_bytes(number(reply, "bytes"));
	g_autofree char *rate = ctl_bytes(number(reply, "bytes-per-second"));
	gint64 left = g_key_file_get_int64(reply, GROUP, "remaining", NULL);
	g_autoptr(GString) line = g_string_new(NULL);

	g_string_append_printf(line, "%s: " TEXT_COUNT ", %s, %s/s, " TEXT_COUNT, ctl->volume,
			       TEXT_COUNTED(number(reply, "objects"), "objects"), bytes, rate,
			       TEXT_COUNTED(number(reply, "findings"), "differences"));
	if (left >= 0)
		g_string_append_printf(line, ", %" G_GINT64_FORMAT " s left", left);
	terminal_draw(terminal, stderr, line->str);
}

/* Follows the run until it is over, whether this command began it or another one. */
static enum ctl_exit follow(const struct ctl *ctl, struct ctl_link *link, GKeyFile **reply)
{
	const bool shows = !ctl->json && isatty(STDERR_FILENO);
	struct terminal terminal = {NULL};
	enum ctl_exit result = CTL_OK;

	watch_interrupt(ctl);
	for (gulong pause = POLL_US; !result; pause = MIN(2 * pause, POLL_MAX)) {
		g_autofree char *state = ctl_text(*reply, GROUP, "state");

		if (strcmp(state, "running") && strcmp(state, "stopping"))
			break;
		if (shows)
			show_progress(ctl, *reply, &terminal);
		g_usleep(pause);
		g_clear_pointer(reply, g_key_file_unref);
		result = ctl_ask(link, GROUP, false, reply);
	}
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (shows)
		terminal_draw(&terminal, stderr, "");
	terminal_leave(&terminal, stderr);
	return result;
}

bool ctl_parse_sample(const char *command, const char *text, unsigned *sample)
{
	char *end;
	double percent = g_ascii_strtod(text, &end);

	if (end == text || (strcmp(end, "%") != 0 && *end) || !(percent > 0) || percent > 100)
		return ctl_complain("%s: --sample: \"%s\" is no percentage; write for example 1%%",
				    command, text);
	*sample = (unsigned)MAX(1, lround(percent * SCALE));
	return true;
}

static char *verify_command_text(void)
{
	unsigned sample = 100 * SCALE;
	guint64 seed = 0;

	if (opt_sample && !ctl_parse_sample("verify", opt_sample, &sample))
		return NULL;
	if (opt_seed && !g_ascii_string_to_unsigned(opt_seed, 10, 0, G_MAXUINT64, &seed, NULL)) {
		ctl_complain("verify: --seed: \"%s\" is no number; write for example 1", opt_seed);
		return NULL;
	}
	if (opt_list)
		return g_strdup(GROUP);
	if (opt_stop)
		return g_strdup("proof stop");
	return opt_seed ? g_strdup_printf("proof begin %u %" G_GUINT64_FORMAT, sample, seed)
			: g_strdup_printf("proof begin %u", sample);
}

static enum ctl_exit verify_both(const struct ctl *ctl)
{
	g_autofree char *command = verify_command_text();
	g_autoptr(GKeyFile) reply = NULL;
	enum ctl_exit result = CTL_USAGE;
	struct ctl_link *link = command ? ctl_link_open(ctl, ctl->volume, &result) : NULL;

	if (!link)
		return result;
	result = ctl_ask(link, command, false, &reply);
	if (!result && opt_stop) {
		g_autofree char *state = NULL;

		result = follow(ctl, link, &reply);
		state = result ? NULL : ctl_text(reply, GROUP, "state");
		if (!result && !ctl->json)
			printf("%s: %s\n", ctl->volume,
			       strcmp(state, "stopped") ? "no comparison is under way"
							: "the comparison is stopped");
	} else {
		if (!result && !opt_list)
			result = follow(ctl, link, &reply);
		if (!result)
			result = show(ctl, link, reply);
	}
	ctl_link_close(link);
	return result;
}

static enum ctl_exit run_verify(const struct ctl *ctl)
{
	if (opt_content)
		return verify_both(ctl);
	if (!opt_sample && !opt_seed && !opt_stop && !opt_list && !ctl->json)
		return verify_here(ctl);
	ctl_complain("verify: --sample, --seed, --stop, --list and --json are of --content");
	return CTL_USAGE;
}

static const GOptionEntry verify_options[] = {
	CTL_OPTION_JSON,
	CTL_OPTIONS_VOLUMES,
	CTL_FLAG("content", opt_content, "read both sides again, and compare them"),
	CTL_STRING("sample", opt_sample, "so many of the files, of every directory", "N%"),
	CTL_STRING("seed", opt_seed, "which files", "S"),
	CTL_FLAG("stop", opt_stop, "stop the comparison that is under way"),
	CTL_FLAG("list", opt_list, "what was found so far"),
	{NULL},
};

CTL_COMMAND(verify, "verify", "NAME...", 1, G_MAXINT,
	    "walk the whole tree and count what is unfinished",
	    .example = "verify --content --sample=1% projects",
	    .changes = "nothing but counters; --content keeps what it found",
	    .exits = "0 whole, 1 something is not, 2 wrong usage, 3 no retriever",
	    .options = verify_options, .flags = CTL_EACH);
