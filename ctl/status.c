/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/terminal.h"
#include "lib/base/text.h"

#define BAR_WIDTH 30

static gboolean opt_watch, opt_verbose, opt_csv;

static bool is_copy(const char *state)
{
	return !strcmp(state, "copying") || !strcmp(state, "copied");
}

static bool is_moving(const char *state)
{
	return !strcmp(state, "copying") || !strcmp(state, "migrating");
}

static char *portion_text(GKeyFile *status, const char *what, bool bytes)
{
	g_autofree char *whole_key = g_strconcat(what, "-whole", NULL);
	g_autofree char *found_key = g_strconcat(what, "-found", NULL);

	return ctl_portion(ctl_number(status, "counters", whole_key),
			   ctl_number(status, "counters", found_key), bytes,
			   !ctl_yes(status, "namespace", "complete"));
}

static void print_row(const char *label, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void print_row(const char *label, const char *format, ...)
{
	va_list args;

	printf("%-12s", label);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void print_source(GKeyFile *status)
{
	uint64_t away = ctl_number(status, "now", "source-away-seconds");
	g_autofree char *source = ctl_text(status, "volume", "source");

	if (away)
		print_row("Source", "%s (away for %" G_GUINT64_FORMAT " s)", source, away);
	else
		print_row("Source", "%s", source);
}

/* "10 MiB/s (by throttle) and 200 requests/s at most" */
static char *limits_text(GKeyFile *status, const char *group)
{
	const uint64_t bandwidth = ctl_number(status, group, "bandwidth");
	const uint64_t requests = ctl_number(status, group, "requests");
	const char *by = ctl_yes(status, group, "throttled") ? " (by throttle)" : "";
	GString *text = g_string_new(NULL);

	if (bandwidth) {
		g_autofree char *bytes = ctl_bytes(bandwidth);

		g_string_append_printf(text, "%s/s%s%s", bytes, by, requests ? " and " : "");
	} else {
		g_string_append_printf(text, "no bandwidth limit%s%s", by, requests ? ", " : "");
	}
	if (requests)
		g_string_append_printf(text, "%" G_GUINT64_FORMAT " requests/s", requests);
	if (bandwidth || requests)
		g_string_append(text, " at most");
	return g_string_free(text, FALSE);
}

/* Prints what the calendar says, and for how long. */
static void print_calendar(GKeyFile *status)
{
	g_autofree char *rule = ctl_text(status, "limits", "rule");
	g_autoptr(GDateTime) until =
		g_date_time_new_from_unix_local(ctl_number(status, "limits", "until"));
	g_autofree char *when = until && ctl_number(status, "limits", "until")
					? g_date_time_format(until, ", until %a %F %H:%M")
					: g_strdup("");

	if (g_key_file_has_group(status, "limits"))
		print_row("Calendar", "%s%s", *rule ? rule : "no rule for now", when);
}

static void print_yield(GKeyFile *status)
{
	const uint64_t target = ctl_number(status, "yield", "target-ms");

	if (target)
		print_row("Yields",
			  "answers take %" G_GUINT64_FORMAT
			  " ms longer than at best (goal %" G_GUINT64_FORMAT
			  " ms): %" G_GUINT64_FORMAT " background requests at a time",
			  ctl_number(status, "yield", "delay-ms"), target,
			  ctl_number(status, "yield", "window"));
}

static void print_server(GKeyFile *status)
{
	g_autofree char *host = ctl_text(status, "server", "host");
	g_autofree char *rule = ctl_text(status, "server", "rule");
	g_autofree char *limits = limits_text(status, "server");

	if (g_key_file_has_group(status, "server"))
		print_row("Old server",
			  "%s: %s for all its volumes, of which %" G_GUINT64_FORMAT " wait%s%s",
			  host, limits, ctl_number(status, "server", "waiting"),
			  *rule ? "; calendar: " : "", rule);
}

static void print_activity(GKeyFile *status)
{
	uint64_t crawlers = ctl_number(status, "now", "crawlers");
	const uint64_t put_off = ctl_number(status, "now", "put-off");
	g_autofree char *later =
		put_off ? g_strdup_printf("; \"later\" from the old server: %" G_GUINT64_FORMAT,
					  put_off)
			: g_strdup("");
	g_autofree char *rate = ctl_bytes(ctl_number(status, "now", "bytes-per-second"));
	g_autofree char *limits = limits_text(status, "now");

	print_row("Rate", "%.0f files/s, %s/s",
		  g_key_file_get_double(status, "now", "files-per-second", NULL), rate);
	print_row("Background", "%s%s, " TEXT_COUNT,
		  ctl_yes(status, "now", "paused") ? "paused, " : "", limits,
		  TEXT_COUNTED(crawlers, "crawlers"));
	print_calendar(status);
	print_server(status);
	print_yield(status);
	print_row("Waiting",
		  "%" G_GUINT64_FORMAT " for clients, %" G_GUINT64_FORMAT " in the background%s",
		  ctl_number(status, "now", "demand-waiting"),
		  ctl_number(status, "now", "background-waiting"), later);
}

/* Prints the state of a copy that is being made, or that was made before. */
static void print_copy(const char *volume, GKeyFile *status, const char *state)
{
	g_autofree char *prior = ctl_text(status, "volume", "prior");
	g_autofree char *fetched = ctl_bytes(ctl_number(status, "counters", "bytes-fetched"));
	g_autofree char *space = ctl_bytes(ctl_number(status, "counters", "aside-bytes"));
	const uint64_t same = ctl_number(status, "counters", "same");
	const uint64_t corrected = ctl_number(status, "counters", "bytes-corrected");
	const uint64_t aside = ctl_number(status, "counters", "aside");
	const uint64_t found = ctl_number(status, "counters", "directories-found");
	const uint64_t left = ctl_number(status, "counters", "unfilled-directories");

	if (is_copy(state))
		print_row(!strcmp(state, "copying") ? "This run" : "Last run",
			  TEXT_COUNT " the same, %s fetched", TEXT_COUNTED(same, "objects"),
			  fetched);
	else if (*prior)
		print_row("Compared",
			  "%" G_GUINT64_FORMAT " of %s" TEXT_COUNT ", " TEXT_COUNT
			  " the same, %s fetched",
			  found - MIN(left, found),
			  ctl_yes(status, "namespace", "complete") ? "" : "at least ",
			  TEXT_COUNTED(found, "directories"), TEXT_COUNTED(same, "objects"),
			  fetched);
	if (corrected) {
		g_autofree char *bytes = ctl_bytes(corrected);

		print_row("Corrected", "%s that the copy had wrong", bytes);
	}
	if (aside)
		print_row("Set aside", TEXT_COUNT ", %s; see migratectl aside %s",
			  TEXT_COUNTED(aside, "objects"), space, volume);
}

static void print_state(GKeyFile *status, const char *state)
{
	g_autofree char *prior = ctl_text(status, "volume", "prior");

	if (is_copy(state))
		print_row("State", "%s; nothing is served", state);
	else if (*prior && (is_moving(state) || !strcmp(state, "whole")))
		print_row("State", "%s, %s", state,
			  !strcmp(prior, "adopted") ? "with what another tool had copied"
						    : "with a copy made before");
	else
		print_row("State", "%s", state);
}

static void print_errors(const char *volume, GKeyFile *status)
{
	const uint64_t errors = ctl_number(status, "counters", "errors");
	const gint64 since = (gint64)ctl_number(status, "counters", "errors-since");
	g_autoptr(GDateTime) time = since ? g_date_time_new_from_unix_local(since) : NULL;
	g_autofree char *when =
		time ? g_date_time_format(time, " (the first since %F %H:%M)") : NULL;

	if (errors)
		print_row("Errors", "%" G_GUINT64_FORMAT "%s; see migratectl errors %s", errors,
			  when ? when : "", volume);
	else
		print_row("Errors", "none");
}

static void print_table(const char *volume, GKeyFile *status)
{
	g_autofree char *root = ctl_text(status, "volume", "root");
	g_autofree char *state = ctl_text(status, "volume", "state");
	const uint64_t losses = ctl_number(status, "counters", "losses");
	const uint64_t names = ctl_number(status, "counters", "names-skipped");
	const uint64_t left_out = ctl_number(status, "counters", "left-out");

	print_row("Volume", "%s", volume);
	print_row("Root", "%s", root);
	if (ctl_yes(status, "volume", "root-replaced"))
		print_row("",
			  "(another directory than the retriever has open: mount its file system "
			  "there; if that is done: systemctl restart migrate-retriever@%s)",
			  volume);
	print_source(status);
	print_state(status, state);
	if (!strcmp(state, "unattached") || !strcmp(state, "finished"))
		return;
	g_autofree char *directories = portion_text(status, "directories", false);
	g_autofree char *files = portion_text(status, "files", false);
	g_autofree char *bytes = portion_text(status, "bytes", true);
	print_row("Directories", "%s, %" G_GUINT64_FORMAT " unfilled", directories,
		  ctl_number(status, "counters", "unfilled-directories"));
	print_row("Files", "%s", files);
	print_row("Bytes", "%s", bytes);
	if (!ctl_yes(status, "counters", "exact"))
		print_row(
			"",
			"(counted since the retriever started; migratectl verify %s sets it right)",
			volume);
	print_copy(volume, status, state);
	print_activity(status);
	if (!strcmp(state, "whole") || is_moving(state)) {
		g_autofree char *time = ctl_text(status, "rest", "text");

		print_row("Remaining", "%s", time);
	}
	print_errors(volume, status);
	if (names)
		print_row("Skipped", TEXT_COUNT "; see migratectl report %s",
			  TEXT_COUNTED(names, "names"), volume);
	if (left_out)
		print_row("Left out", TEXT_COUNT " by rules; see migratectl rules %s",
			  TEXT_COUNTED(left_out, "objects"), volume);
	if (losses)
		print_row("Not carried", "%" G_GUINT64_FORMAT "; see migratectl report %s", losses,
			  volume);
}

static void print_journal(const struct ctl *ctl, GKeyFile *status, bool known)
{
	g_autofree char *text = known ? ctl_journal_text(status) : NULL;

	/* else nobody says where it is, or it is not for who asks */
	if (!ctl->socket && (known || geteuid() == 0))
		print_row("Journal", "%s",
			  known ? text : "none: going back needs one, see migrate-journal(8)");
}

static void print_lists(const char *volume, GKeyFile *status)
{
	g_auto(GStrv) groups = g_key_file_get_groups(status, NULL);

	for (char **group = groups; *group; group++) {
		const uint64_t failed = ctl_number(status, *group, "failed");

		if (!g_str_has_prefix(*group, CTL_FETCH))
			continue;
		print_row("Fetch",
			  "list %s: %" G_GUINT64_FORMAT " of " TEXT_COUNT
			  " done, %" G_GUINT64_FORMAT " failed%s%s%s",
			  *group + strlen(CTL_FETCH), ctl_number(status, *group, "done"),
			  TEXT_COUNTED(ctl_number(status, *group, "paths"), "paths"), failed,
			  failed ? "; which: migratectl fetch " : "", failed ? volume : "",
			  failed ? " --wait" : "");
	}
}

static void print_guard(GKeyFile *status)
{
	g_autofree char *text = ctl_guard_text(status);

	if (text)
		print_row("Guard", "%s", text);
}

static void print_doors(GKeyFile *status)
{
	g_autofree char *text = ctl_doors_text(status);

	if (text)
		print_row("Doors", "%s", text);
}

static void print_takeover(GKeyFile *status)
{
	g_autofree char *text = ctl_takeover_text(status);

	if (text)
		print_row("Takeover", "%s", text);
}

static void print_requests(GKeyFile *status)
{
	g_auto(GStrv) groups = g_key_file_get_groups(status, NULL);
	unsigned n = 0;

	for (unsigned i = 0; groups[i]; i++) {
		g_autofree char *peer = ctl_text(status, groups[i], "peer");
		g_autofree char *operation = ctl_text(status, groups[i], "operation");
		g_autofree char *path = ctl_text(status, groups[i], "path");
		g_autofree char *reason = ctl_text(status, groups[i], "waits-for");
		uint64_t length = ctl_number(status, groups[i], "length");

		/* a long list is cut at the end of what a reply holds */
		if (!ctl_is_request(groups[i]) || !*reason)
			continue;
		if (n++ == 0)
			printf("\nRequests without an answer, the oldest first:\n");
		printf("%10.3f s  %s:%" G_GUINT64_FORMAT "  %s",
		       (double)ctl_number(status, groups[i], "milliseconds") / 1000, peer,
		       ctl_number(status, groups[i], "id"), operation);
		if (length)
			printf(" %" G_GUINT64_FORMAT "+%" G_GUINT64_FORMAT,
			       ctl_number(status, groups[i], "offset"), length);
		printf("%s%s, waits for %s\n", *path ? " of " : "", path, reason);
	}
	if (!n)
		printf("\nNo request is without an answer.\n");
}

/* ---- watching -------------------------------------------------------------------------------- */

static void append_bar(GString *text, GKeyFile *status, const char *what, bool bytes)
{
	g_autofree char *whole_key = g_strconcat(what, "-whole", NULL);
	g_autofree char *found_key = g_strconcat(what, "-found", NULL);
	g_autofree char *portion = portion_text(status, what, bytes);
	uint64_t whole = ctl_number(status, "counters", whole_key);
	uint64_t found = ctl_number(status, "counters", found_key);
	int full = found ? (int)(BAR_WIDTH * ((double)whole / (double)found)) : 0;

	if (!found && ctl_yes(status, "namespace", "complete"))
		full = BAR_WIDTH;
	full = CLAMP(full, 0, BAR_WIDTH);
	g_string_append_printf(text, "%-6s[", what);
	for (int i = 0; i < BAR_WIDTH; i++)
		g_string_append_c(text, i < full ? '#' : '-');
	g_string_append_printf(text, "] %s\n", portion);
}

static void draw_status(const char *volume, GKeyFile *status, struct terminal *terminal)
{
	const uint64_t errors = ctl_number(status, "counters", "errors");
	g_autofree char *state = ctl_text(status, "volume", "state");
	g_autofree char *rate = ctl_bytes(ctl_number(status, "now", "bytes-per-second"));
	g_autofree char *time = ctl_text(status, "rest", "text");
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_append_printf(text, "%s: %s%s\n", volume, state,
			       ctl_yes(status, "now", "paused") ? ", background paused" : "");
	append_bar(text, status, "files", false);
	append_bar(text, status, "bytes", true);
	g_string_append_printf(text, "remaining: %s\n", time);
	g_string_append_printf(text,
			       "%.0f files/s, %s/s, %" G_GUINT64_FORMAT
			       " waiting for clients, %" G_GUINT64_FORMAT " %s\n",
			       g_key_file_get_double(status, "now", "files-per-second", NULL), rate,
			       ctl_number(status, "now", "demand-waiting"), errors,
			       text_plural(errors, "errors"));
	terminal_draw(terminal, stdout, text->str);
}

static void print_line(const char *volume, GKeyFile *status)
{
	g_autofree char *state = ctl_text(status, "volume", "state");
	g_autofree char *files = portion_text(status, "files", false);
	g_autofree char *bytes = portion_text(status, "bytes", true);
	g_autofree char *time = ctl_text(status, "rest", "text");

	printf("%s: %s, files %s, bytes %s, remaining: %s\n", volume, state, files, bytes, time);
	fflush(stdout);
}

static enum ctl_exit watch_volume(const struct ctl *ctl, struct ctl_link *link)
{
	struct terminal terminal = {NULL};
	enum ctl_exit result;

	for (;;) {
		g_autoptr(GKeyFile) status = NULL;

		result = ctl_ask(link, "status", false, &status);
		if (result)
			break;
		if (ctl->json)
			ctl_print_json(ctl_json(status, false), false);
		else if (isatty(STDOUT_FILENO))
			draw_status(ctl->volume, status, &terminal);
		else
			print_line(ctl->volume, status);
		if (ctl_is_settled(status))
			break;
		g_usleep(G_USEC_PER_SEC);
	}
	terminal_leave(&terminal, stdout);
	return result;
}

static enum ctl_exit run_status(const struct ctl *ctl)
{
	enum ctl_exit result;

	if (opt_verbose && (ctl->many || opt_watch)) {
		ctl_complain(ctl->many ? "status: --verbose needs the NAME of one volume"
				       : "status takes no --verbose with --watch");
		return CTL_USAGE;
	}
	if (opt_csv && (ctl->json || ctl->socket || opt_watch || opt_verbose)) {
		ctl_complain("status: --csv goes with volumes, --all and --wave only");
		return CTL_USAGE;
	}
	g_autofree char *socket = opt_csv && !ctl->many ? ctl_socket(ctl, ctl->volume) : NULL;
	if (opt_csv && !ctl->many && !socket)
		return CTL_USAGE;
	if (ctl->many || opt_csv)
		return ctl_overview(ctl, opt_watch, opt_csv);

	g_autofree char *silent = ctl->socket ? NULL : ctl_silent_path(ctl, ctl->volume);
	if (silent) {
		ctl_complain("%s: " CTL_SILENT_PATH "; " CTL_SILENT_WHAT, ctl->volume, silent);
		return CTL_REFUSED;
	}
	struct ctl_link *link = ctl_link_open(ctl, ctl->volume, &result);
	if (!link)
		return result;
	if (opt_watch) {
		result = watch_volume(ctl, link);
	} else {
		g_autoptr(GKeyFile) status = NULL;

		result = ctl_ask(link, opt_verbose ? "status verbose" : "status", false, &status);
		bool journal = !result && ctl_journal_state(ctl, status);
		if (!result)
			ctl_guard_state(ctl, status);
		if (!result)
			ctl_fetch_state(status);
		if (!result)
			ctl_doors_state(ctl, status);
		if (!result)
			ctl_takeover_state(ctl, status);
		if (!result)
			ctl_rollback_status(ctl, ctl->volume, status);
		if (!result && ctl->json)
			ctl_print_json(ctl_json(status, opt_verbose), true);
		else if (!result)
			print_table(ctl->volume, status);
		if (!result && !ctl->json)
			print_lists(ctl->volume, status);
		if (!result && !ctl->json)
			print_journal(ctl, status, journal);
		if (!result && !ctl->json)
			print_guard(status);
		if (!result && !ctl->json)
			print_doors(status);
		if (!result && !ctl->json)
			print_takeover(status);
		if (!result && !ctl->json)
			ctl_rollback_print_status(status);
		if (!result && !ctl->json && opt_verbose)
			print_requests(status);
	}
	ctl_link_close(link);
	return result;
}

static const GOptionEntry status_options[] = {
	CTL_FLAG("watch", opt_watch, "show it again every second"),
	CTL_OPTION_JSON,
	CTL_FLAG("csv", opt_csv, "print a table, as CSV"),
	CTL_OPTIONS_VOLUMES,
	CTL_FLAG("verbose", opt_verbose, "with the requests that have no answer yet"),
	{NULL},
};

CTL_COMMAND(status, "status", "[NAME...]", 0, G_MAXINT,
	    "show how far it is; all volumes without NAME", .example = "status --watch projects",
	    .changes = "nothing", .options = status_options, .flags = CTL_AT_ONCE | CTL_MONITORS);
