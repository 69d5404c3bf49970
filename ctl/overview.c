/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status of many volumes: a line for each, and first those that need somebody. */
#include "ctl/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ask_all.h"
#include "lib/base/csv.h"
#include "lib/base/terminal.h"
#include "lib/base/text.h"
#include "lib/config/attached.h"
#include "lib/config/config.h"

#define ANSWER_US (5 * G_USEC_PER_SEC) /* a retriever that takes longer is shown as silent */
#define HEAD	  4		       /* lines that are no volume's */
#define NAME_MIN  12
#define NAME_LONG 32

/* In the order in which they are shown. */
enum need {
	NEED_ANSWER,
	NEED_RETRIEVER,
	NEED_SOURCE,
	NEED_HELP,
	PAUSED,
	MOVING,
	IDLE,
	SETTLED,
	NEEDS,
};

struct row {
	const char *name;
	GKeyFile *status; /* NULL: never answered */
	enum need need;
	char *state, *note;
};

struct sums {
	unsigned volumes, needs[NEEDS];
	uint64_t files_found, files_whole, bytes_found, bytes_whole, rate, errors, waiting;
	bool open; /* the totals may still grow */
};

/* ---- one volume ------------------------------------------------------------------------------ */

static void judge_silence(struct row *row, const struct ask_all_member *member)
{
	const gint64 silent = (g_get_monotonic_time() - member->asked) / G_USEC_PER_SEC;

	row->need = member->waits || member->status == -ETIME ? NEED_ANSWER : NEED_RETRIEVER;
	if (member->waits)
		row->note = g_strdup_printf("for %" G_GINT64_FORMAT " s", silent);
	else if (member->status == -ETIME)
		row->note = g_strdup("see its log");
	else if (member->status == -EPROTO)
		row->note = g_strdup("of another version: restart it");
	else if (member->text && *member->text)
		row->note = g_strdup(member->text);
	else
		row->note =
			g_strdup(member->status == -ENOTCONN ? "" : g_strerror(-member->status));
	row->state = g_strdup(row->need == NEED_ANSWER ? "no answer from the retriever"
						       : "no retriever");
}

static void judge_status(struct row *row)
{
	GKeyFile *status = row->status;
	const uint64_t errors = ctl_number(status, "counters", "errors");
	const uint64_t away = ctl_number(status, "now", "source-away-seconds");
	const uint64_t waiting = ctl_number(status, "now", "demand-waiting");
	const bool paused = ctl_yes(status, "now", "paused");
	GString *note = g_string_new(NULL);

	row->state = ctl_text(status, "volume", "state");
	row->need = !strcmp(row->state, "migrating") || !strcmp(row->state, "copying") ? MOVING
		    : ctl_is_settled(status)					       ? SETTLED
										       : IDLE;
	if (row->need == MOVING && paused)
		row->need = PAUSED;
	if (errors)
		row->need = NEED_HELP;
	if (away)
		row->need = NEED_SOURCE;
	if (away)
		g_string_append_printf(note, ", old server away for %" G_GUINT64_FORMAT " s", away);
	if (errors)
		g_string_append_printf(note, ", %" G_GUINT64_FORMAT " %s", errors,
				       text_plural(errors, "errors"));
	if (paused)
		g_string_append(note, ", paused");
	if (waiting)
		g_string_append_printf(note, ", %" G_GUINT64_FORMAT " for clients", waiting);
	row->note = g_strdup(note->len ? note->str + strlen(", ") : "");
	g_string_free(note, TRUE);
}

static void judge(struct row *row, const struct ask_all_member *member)
{
	const bool late = member->waits && g_get_monotonic_time() - member->asked >= ANSWER_US;

	row->name = member->name;
	row->status = member->reply;
	if (late || !member->reply)
		judge_silence(row, member);
	else
		judge_status(row);
}

static void add_sums(struct sums *sums, const struct row *row)
{
	sums->volumes++;
	sums->needs[row->need]++;
	if (!row->status || !g_key_file_has_group(row->status, "counters"))
		return;
	sums->files_found += ctl_number(row->status, "counters", "files-found");
	sums->files_whole += ctl_number(row->status, "counters", "files-whole");
	sums->bytes_found += ctl_number(row->status, "counters", "bytes-found");
	sums->bytes_whole += ctl_number(row->status, "counters", "bytes-whole");
	sums->errors += ctl_number(row->status, "counters", "errors");
	sums->rate += ctl_number(row->status, "now", "bytes-per-second");
	sums->waiting += ctl_number(row->status, "now", "demand-waiting");
	if (row->need != SETTLED && !ctl_yes(row->status, "namespace", "complete"))
		sums->open = true;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* "950", "12.3k", "4.5M" */
static char *short_number(uint64_t n)
{
	static const char units[] = "kMGT";
	double value = (double)n;
	unsigned i = 0;

	if (n < 10000)
		return g_strdup_printf("%" G_GUINT64_FORMAT, n);
	for (value /= 1000; value >= 1000 && units[i + 1]; i++)
		value /= 1000;
	return g_strdup_printf("%.*f%c", value < 100 ? 1 : 0, value, units[i]);
}

/* "12.3k of 45.6k+ whole" without the last word: +: it may become more. */
static char *portion(uint64_t whole, uint64_t found, bool open, bool bytes)
{
	g_autofree char *w = bytes ? ctl_bytes(whole) : short_number(whole);
	g_autofree char *f = bytes ? ctl_bytes(found) : short_number(found);

	if (!found)
		return g_strdup(open ? "none yet" : "none");
	return g_strdup_printf("%s of %s%s", w, f, open ? "+" : "");
}

/* printf counts bytes. */
static void append_padded(GString *line, const char *text, unsigned width)
{
	g_string_append(line, text);
	for (unsigned i = terminal_cells(text); i < width; i++)
		g_string_append_c(line, ' ');
	g_string_append_c(line, ' ');
}

static char *row_line(const struct row *row, unsigned name_width)
{
	GString *line = g_string_new(NULL);
	const bool moving = row->status && g_key_file_has_group(row->status, "counters") &&
			    row->need != IDLE && row->need > NEED_RETRIEVER;

	append_padded(line, row->name, name_width);
	append_padded(line, row->state, 11);
	if (moving) {
		const bool open = !ctl_yes(row->status, "namespace", "complete");
		g_autofree char *files =
			portion(ctl_number(row->status, "counters", "files-whole"),
				ctl_number(row->status, "counters", "files-found"), open, false);
		g_autofree char *bytes =
			portion(ctl_number(row->status, "counters", "bytes-whole"),
				ctl_number(row->status, "counters", "bytes-found"), open, true);

		append_padded(line, files, 16);
		append_padded(line, bytes, 23);
	}
	g_string_append(line, row->note);
	return g_strchomp(g_string_free(line, FALSE));
}

static void append_count(GString *line, unsigned n, const char *what)
{
	if (n)
		g_string_append_printf(line, ", %u %s", n, what);
}

static char *sums_line(const struct sums *sums)
{
	GString *line = g_string_new(NULL);

	g_string_append_printf(line, TEXT_COUNT, TEXT_COUNTED(sums->volumes, "volumes"));
	append_count(line, sums->needs[NEED_ANSWER], "without an answer");
	append_count(line, sums->needs[NEED_RETRIEVER], "without a retriever");
	append_count(line, sums->needs[NEED_SOURCE], "without the old server");
	append_count(line, sums->needs[NEED_HELP], "with errors");
	append_count(line, sums->needs[PAUSED], "paused");
	append_count(line, sums->needs[MOVING], "moving");
	append_count(line, sums->needs[IDLE], "not begun");
	append_count(line, sums->needs[SETTLED], "whole");
	return g_string_free(line, FALSE);
}

static char *totals_line(const struct sums *sums)
{
	g_autofree char *files = portion(sums->files_whole, sums->files_found, sums->open, false);
	g_autofree char *bytes = portion(sums->bytes_whole, sums->bytes_found, sums->open, true);
	g_autofree char *rate = ctl_bytes(sums->rate);

	return g_strdup_printf("files %s, bytes %s, %s/s, %" G_GUINT64_FORMAT
			       " waiting for clients, %" G_GUINT64_FORMAT " %s",
			       files, bytes, rate, sums->waiting, sums->errors,
			       text_plural(sums->errors, "errors"));
}

static int by_need(gconstpointer a, gconstpointer b)
{
	const struct row *x = a, *y = b;

	return x->need != y->need ? (x->need < y->need ? -1 : 1) : strcmp(x->name, y->name);
}

struct overview {
	struct row *rows;
	unsigned n;
	struct sums sums;
};

static void take_overview(struct overview *overview, const struct ask_all *crowd)
{
	*overview = (struct overview){.rows = g_new0(struct row, crowd->n + 1), .n = crowd->n};
	for (unsigned i = 0; i < crowd->n; i++) {
		judge(&overview->rows[i], &crowd->members[i]);
		add_sums(&overview->sums, &overview->rows[i]);
	}
	qsort(overview->rows, overview->n, sizeof(*overview->rows), by_need);
}

static void drop_overview(struct overview *overview)
{
	for (unsigned i = 0; i < overview->n; i++) {
		g_free(overview->rows[i].state);
		g_free(overview->rows[i].note);
	}
	g_free(overview->rows);
}

/* rows: of the terminal; 0: all of it.  g_free. */
static char *overview_text(const struct overview *overview, unsigned rows)
{
	g_autofree char *sums = sums_line(&overview->sums);
	g_autofree char *totals = totals_line(&overview->sums);
	const unsigned room = !rows ? overview->n : rows > HEAD ? rows - HEAD : 1;
	const unsigned shown = MIN(room, overview->n);
	GString *text = g_string_new(NULL);
	unsigned width = NAME_MIN;

	for (unsigned i = 0; i < overview->n; i++)
		width = MAX(width, terminal_cells(overview->rows[i].name));
	for (unsigned i = 0; i < shown; i++) {
		g_autofree char *line = row_line(&overview->rows[i], MIN(width, NAME_LONG));

		g_string_append_printf(text, "%s\n", line);
	}
	if (shown < overview->n)
		g_string_append_printf(text, "... and %u more; migratectl status shows all\n",
				       overview->n - shown);
	g_string_append_printf(text, "%s\n%s\n", sums, totals);
	return g_string_free(text, FALSE);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static JsonNode *member_json(const struct ask_all_member *member)
{
	g_autoptr(GKeyFile) absent = g_key_file_new();
	struct row row = {0};
	JsonNode *node;

	judge(&row, member);
	g_key_file_set_string(absent, "volume", "name", member->name);
	g_key_file_set_string(absent, "volume", "state", row.state);
	node = ctl_json(row.need <= NEED_RETRIEVER ? absent : member->reply, false);
	g_free(row.state);
	g_free(row.note);
	return node;
}

static void print_json(const struct ask_all *crowd, bool pretty)
{
	g_autoptr(JsonArray) list = json_array_new();
	JsonNode *node = json_node_alloc();

	for (unsigned i = 0; i < crowd->n; i++)
		json_array_add_element(list, member_json(&crowd->members[i]));
	json_node_init_array(node, list);
	ctl_print_json(node, pretty);
}

/* Columns stay where they are; new ones come at the end. */
static const struct {
	const char *title, *group, *key;
} columns[] = {
	{"root", "volume", "root"},
	{"source", "volume", "source"},
	{"directories_found", "counters", "directories-found"},
	{"directories_whole", "counters", "directories-whole"},
	{"files_found", "counters", "files-found"},
	{"files_whole", "counters", "files-whole"},
	{"bytes_found", "counters", "bytes-found"},
	{"bytes_whole", "counters", "bytes-whole"},
	{"complete", "namespace", "complete"},
	{"errors", "counters", "errors"},
	{"losses", "counters", "losses"},
	{"paused", "now", "paused"},
	{"demand_waiting", "now", "demand-waiting"},
	{"source_away_seconds", "now", "source-away-seconds"},
	{"bytes_per_second", "now", "bytes-per-second"},
	{"rest_seconds", "rest", "seconds"},
};

static void print_csv(const struct overview *overview)
{
	g_autoptr(GString) text = g_string_new("volume,state,note");

	for (unsigned i = 0; i < G_N_ELEMENTS(columns); i++)
		csv_append(text, columns[i].title);
	g_string_append_c(text, '\n');
	for (unsigned i = 0; i < overview->n; i++) {
		const struct row *row = &overview->rows[i];

		csv_append(text, row->name);
		csv_append(text, row->state);
		csv_append(text, row->note);
		for (unsigned j = 0; j < G_N_ELEMENTS(columns); j++) {
			g_autofree char *value =
				row->need > NEED_RETRIEVER
					? ctl_text(row->status, columns[j].group, columns[j].key)
					: g_strdup("");

			csv_append(text, value);
		}
		g_string_append_c(text, '\n');
	}
	fputs(text->str, stdout);
}

static enum ctl_exit worst_of(const struct ask_all *crowd)
{
	enum ctl_exit worst = CTL_OK;

	for (unsigned i = 0; i < crowd->n; i++) {
		const struct ask_all_member *member = &crowd->members[i];
		enum ctl_exit one = member->waits ? CTL_NO_RETRIEVER : ctl_exit_of(member->status);

		worst = MAX(worst, one);
	}
	return worst;
}

static bool all_settled(const struct ask_all *crowd)
{
	for (unsigned i = 0; i < crowd->n; i++) {
		const struct ask_all_member *member = &crowd->members[i];

		if (member->waits || !member->reply || !ctl_is_settled(member->reply))
			return false;
	}
	return true;
}

static void draw(const struct overview *overview, struct terminal *terminal)
{
	unsigned rows, columns;

	if (!isatty(STDOUT_FILENO)) {
		g_autofree char *sums = sums_line(&overview->sums);
		g_autofree char *totals = totals_line(&overview->sums);

		printf("%s; %s\n", sums, totals);
		fflush(stdout);
		return;
	}
	terminal_size(stdout, &rows, &columns);
	g_autofree char *text = overview_text(overview, rows);
	terminal_draw(terminal, stdout, text);
}

static void watch_all(const struct ctl *ctl, struct ask_all *crowd)
{
	struct terminal terminal = {NULL};

	for (;;) {
		const gint64 next = g_get_monotonic_time() + G_USEC_PER_SEC;
		struct overview overview;

		ask_all_ask(crowd, "status");
		ask_all_wait(crowd, next);
		take_overview(&overview, crowd);
		if (ctl->json)
			print_json(crowd, false);
		else
			draw(&overview, &terminal);
		drop_overview(&overview);
		if (all_settled(crowd))
			break;
		g_usleep((gulong)MAX(next - g_get_monotonic_time(), 0));
	}
	terminal_leave(&terminal, stdout);
}

static void print_overview(const struct overview *overview)
{
	g_autofree char *text = overview_text(overview, 0);

	fputs(text, stdout);
}

/* Whether a volume was attached that is not in the configuration any more; a line for each one. */
static bool say_forgotten(const struct ctl *ctl)
{
	g_autoptr(GPtrArray) names = config_names(ctl->config_file, NULL);
	const guint known = names ? names->len : 0;
	bool forgotten = false;

	if (!names || ctl->config_file)
		return false;
	attached_add(names);
	for (guint i = known; i < names->len; i++) {
		const struct volume_name *volume = names->pdata[i];

		forgotten = !ctl_complain("[volume %s]: " ATTACHED_FORGOTTEN, volume->name,
					  volume->root, volume->root);
	}
	return forgotten;
}

enum ctl_exit ctl_overview(const struct ctl *ctl, bool watch, bool csv)
{
	struct ask_all *crowd = ask_all_new(ctl);
	struct overview overview;
	enum ctl_exit result;

	if (!crowd)
		return CTL_USAGE;
	if (!crowd->n && !ctl->json && !csv) {
		printf("no volumes in the configuration\n");
	} else if (watch) {
		watch_all(ctl, crowd);
	} else {
		ask_all_ask(crowd, "status");
		ask_all_wait(crowd, g_get_monotonic_time() + ANSWER_US);
		take_overview(&overview, crowd);
		if (ctl->json)
			print_json(crowd, true);
		else if (csv)
			print_csv(&overview);
		else
			print_overview(&overview);
		drop_overview(&overview);
	}
	result = worst_of(crowd);
	if (say_forgotten(ctl))
		result = MAX(result, CTL_REFUSED);
	ask_all_free(crowd);
	return result;
}
