/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * metrics: the status of volumes for monitoring, as metrics with names by Prometheus' conventions,
 * in its text format 0.0.4, which node_exporter's textfile collector reads.
 *
 * A family is printed if any volume has a value for it.  A volume without a retriever, or one that
 * is not attached, has no values except quickmigrate_up and its state.
 */
#include "ctl/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/migrate.h"
#include "ctl/ask_all.h"
#include "lib/base/error_codes.h"
#include "lib/config/config.h"

#define PREFIX	  "quickmigrate_"
#define FILENAME  "quickmigrate.prom"
#define ANSWER_US (5 * G_USEC_PER_SEC) /* below the usual timeout of a scrape */

static const char *opt_textfile;

enum type { GAUGE, COUNTER, FLAG };

/* Where a family's values stand in a status. */
static const struct family {
	const char *name; /* ends with the unit, if there is one */
	enum type type;
	const char *group, *key;
	const char *help;
} families[] = {
	{"directories_found", GAUGE, "counters", "directories-found", "Directories known so far."},
	{"directories_whole", GAUGE, "counters", "directories-whole",
	 "Directories below which nothing is missing."},
	{"directories_unfilled", GAUGE, "counters", "unfilled-directories",
	 "Directories whose names are not all here."},
	{"files_found", GAUGE, "counters", "files-found",
	 "Files known so far, of any kind but directories."},
	{"files_whole", GAUGE, "counters", "files-whole", "Files that are whole."},
	{"found_bytes", GAUGE, "counters", "bytes-found", "Sizes of the files known so far."},
	{"whole_bytes", GAUGE, "counters", "bytes-whole",
	 "Bytes of the files that are here, also within files that are not whole yet."},
	{"fetched_bytes_total", COUNTER, "counters", "bytes-fetched",
	 "Data read from the old server."},
	{"failed_objects", GAUGE, "counters", "errors",
	 "Objects that failed; migratectl errors lists them."},
	{"losses", GAUGE, "counters", "losses",
	 "Things that could not be carried over; migratectl report lists them."},
	{"names_skipped", GAUGE, "counters", "names-skipped", "Names that were skipped."},
	{"set_aside_objects", GAUGE, "counters", "aside", "Objects of a copy that are set aside."},
	{"set_aside_bytes", GAUGE, "counters", "aside-bytes",
	 "Space that is taken by what is set aside."},
	{"counters_exact", FLAG, "counters", "exact",
	 "1 if the counters know of everything; migratectl verify makes it so."},
	{"namespace_complete", FLAG, "namespace", "complete",
	 "1 if every directory is filled, so that the totals are final."},
	{"source_away_seconds", GAUGE, "now", "source-away-seconds",
	 "Time since the old server last answered, 0 while it does."},
	{"remaining_seconds", GAUGE, "rest", "seconds",
	 "Likely time until everything is whole; missing while it cannot be told."},
	{"remaining_least_seconds", GAUGE, "rest", "low", "The lower end of that time's range."},
	{"remaining_most_seconds", GAUGE, "rest", "high", "The upper end of that time's range."},
	{"background_paused", FLAG, "now", "paused", "1 while background work is paused."},
	{"background_limit_bytes_per_second", GAUGE, "now", "bandwidth",
	 "Limit of background reads, 0 if there is none."},
	{"background_limit_requests_per_second", GAUGE, "now", "requests",
	 "Limit of background requests, 0 if there is none."},
	{"background_window_requests", GAUGE, "yield", "window",
	 "Background requests that may be under way, by how the old server answers."},
	{"crawlers", GAUGE, "now", "crawlers", "Crawlers that are connected."},
	{"journal_complete", FLAG, "journal", "complete",
	 "1 if the journal knows of all that clients changed."},
	{"journal_changed_objects", GAUGE, "journal", "changed-objects",
	 "Objects that clients changed since the switch."},
	{"journal_store_bytes", GAUGE, "journal", "store-bytes", "Space that the journal takes."},
	{"rollback_lag_seconds", GAUGE, "rollback", "lag-seconds",
	 "Time since changes were last carried back to the old server."},
	{"rollback_conflicts", GAUGE, "rollback", "conflicts",
	 "Changes that were not carried back."},
	{"guarded", FLAG, "guard", "guarded",
	 "1 while programs of this machine are kept from holes."},
	{"doors", GAUGE, "doors", "connected",
	 "Processes of file servers that serve the volume through the layer."},
	{"served_past_layer", FLAG, "doors", "past",
	 "1 while a file server serves the volume without the layer."},
};

static const char *const states[] = {"unattached", "copying", "copied",
				     "migrating",  "whole",   "finished"};

struct volume {
	char *name;
	GKeyFile *status; /* NULL: nobody answers */
};

static void volume_clear(void *data)
{
	struct volume *volume = data;

	g_free(volume->name);
	if (volume->status)
		g_key_file_unref(volume->status);
}

/* ---- the text -------------------------------------------------------------------------------- */

static void begin_family(GString *text, const char *name, enum type type, const char *help)
{
	g_string_append_printf(text, "# TYPE " PREFIX "%s %s\n# HELP " PREFIX "%s %s\n", name,
			       type == COUNTER ? "counter" : "gauge", name, help);
}

static void append_escaped(GString *text, const char *value)
{
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			g_string_append_c(text, '\\');
		g_string_append_c(text, *value);
	}
}

/* label: NULL, or one beside the volume. */
static void append_sample(GString *text, const char *name, const char *volume, const char *label,
			  const char *value, double number)
{
	char digits[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append_printf(text, PREFIX "%s{volume=\"", name);
	append_escaped(text, volume);
	if (label)
		g_string_append_printf(text, "\",%s=\"%s", label, value);
	g_string_append_printf(text, "\"} %s\n", g_ascii_dtostr(digits, sizeof digits, number));
}

static double value_of(const struct family *family, GKeyFile *status)
{
	if (family->type == FLAG)
		return ctl_yes(status, family->group, family->key);
	return (double)ctl_number(status, family->group, family->key);
}

static void append_family(GString *text, const struct family *family, const GArray *volumes)
{
	bool begun = false;

	for (guint i = 0; i < volumes->len; i++) {
		const struct volume *volume = &g_array_index(volumes, struct volume, i);

		if (!volume->status ||
		    !g_key_file_has_key(volume->status, family->group, family->key, NULL))
			continue;
		if (!begun)
			begin_family(text, family->name, family->type, family->help);
		begun = true;
		append_sample(text, family->name, volume->name, NULL, NULL,
			      value_of(family, volume->status));
	}
}

static void append_up(GString *text, const GArray *volumes)
{
	begin_family(text, "up", FLAG, "1 if the volume's retriever answers.");
	for (guint i = 0; i < volumes->len; i++) {
		const struct volume *volume = &g_array_index(volumes, struct volume, i);

		append_sample(text, "up", volume->name, NULL, NULL, volume->status != NULL);
	}
}

/* The two files are the resource agent's (packaging/ocf/migrate). */
static void append_standby(GString *text, const GArray *volumes)
{
	bool begun = false;

	for (guint i = 0; i < volumes->len; i++) {
		const char *name = g_array_index(volumes, struct volume, i).name;
		g_autofree char *managed = g_strconcat(REPORT_DIR "/", name, ".cluster", NULL);
		g_autofree char *here = g_strconcat(MIGRATE_SOCKET_DIR "/", name, ".cluster", NULL);

		if (!g_file_test(managed, G_FILE_TEST_EXISTS))
			continue;
		if (!begun)
			begin_family(text, "standby", FLAG,
				     "1 if a cluster runs the volume, and not on this node.");
		begun = true;
		append_sample(text, "standby", name, NULL, NULL,
			      !g_file_test(here, G_FILE_TEST_EXISTS));
	}
}

static void append_states(GString *text, const GArray *volumes)
{
	begin_family(text, "state", GAUGE,
		     "1 for the state that the volume is in; see status in migratectl(8).");
	for (guint i = 0; i < volumes->len; i++) {
		const struct volume *volume = &g_array_index(volumes, struct volume, i);
		g_autofree char *state =
			volume->status ? ctl_text(volume->status, "volume", "state") : NULL;

		for (guint k = 0; state && k < G_N_ELEMENTS(states); k++)
			append_sample(text, "state", volume->name, "state", states[k],
				      !strcmp(state, states[k]));
	}
}

static void append_waiting(GString *text, const GArray *volumes)
{
	static const char *const keys[] = {"demand-waiting", "background-waiting"};
	static const char *const classes[] = {"demand", "background"};

	begin_family(text, "waiting_requests", GAUGE,
		     "Requests without an answer: of clients, and of the background.");
	for (guint i = 0; i < volumes->len; i++) {
		const struct volume *volume = &g_array_index(volumes, struct volume, i);

		for (guint k = 0; volume->status && k < G_N_ELEMENTS(keys); k++)
			append_sample(text, "waiting_requests", volume->name, "class", classes[k],
				      (double)ctl_number(volume->status, "now", keys[k]));
	}
}

static void append_codes(GString *text, const GArray *volumes)
{
	bool begun = false;

	for (guint i = 0; i < volumes->len; i++) {
		const struct volume *volume = &g_array_index(volumes, struct volume, i);

		for (guint k = 0; volume->status && k < ERROR_KINDS; k++) {
			const char *code = error_kinds[k].name;

			if (!g_key_file_has_key(volume->status, "codes", code, NULL))
				continue;
			if (!begun)
				begin_family(text, "failures", GAUGE,
					     "Objects and names that failed, by their codes; see "
					     "quickmigrate-errors(7).");
			begun = true;
			append_sample(text, "failures", volume->name, "code", code,
				      (double)ctl_number(volume->status, "codes", code));
		}
	}
}

static char *text_of(const GArray *volumes)
{
	GString *text = g_string_new(NULL);

	append_up(text, volumes);
	append_standby(text, volumes);
	append_states(text, volumes);
	for (guint i = 0; i < G_N_ELEMENTS(families); i++)
		append_family(text, &families[i], volumes);
	append_waiting(text, volumes);
	append_codes(text, volumes);
	return g_string_free(text, FALSE);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Adds what the retriever cannot tell. */
static void add_neighbours(const struct ctl *ctl, const char *name, GKeyFile *status)
{
	g_autofree char *silent = ctl_silent_path(ctl, name);
	struct ctl one = *ctl;

	if (silent)
		return;
	one.volume = name;
	ctl_journal_state(&one, status);
	ctl_guard_state(&one, status);
	ctl_doors_state(&one, status);
	ctl_rollback_status(&one, name, status);
}

static char *make_text(const struct ctl *ctl)
{
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) names = config_volumes(ctl->config_file, &error);
	g_autoptr(GArray) volumes = g_array_new(FALSE, FALSE, sizeof(struct volume));
	struct ctl all = *ctl;
	struct ask_all *crowd;
	bool refused = false;

	if (!names) {
		ctl_complain("%s", error->message);
		return NULL;
	}
	all.volumes = names;
	crowd = ask_all_new(&all);
	if (!crowd)
		return NULL;
	g_array_set_clear_func(volumes, volume_clear);
	ask_all_ask(crowd, "status");
	ask_all_wait(crowd, g_get_monotonic_time() + ANSWER_US);
	for (guint i = 0; i < crowd->n; i++) {
		struct ask_all_member *member = &crowd->members[i];
		struct volume volume = {g_strdup(member->name), NULL};

		refused = refused || member->status == -EACCES;
		if (!member->waits && !member->status)
			volume.status = g_steal_pointer(&member->reply);
		if (volume.status)
			add_neighbours(ctl, volume.name, volume.status);
		g_array_append_val(volumes, volume);
	}
	ask_all_free(crowd);
	if (refused)
		ctl_complain("metrics: only root may talk to the retrievers; " CTL_WHO_MAY);
	return refused ? NULL : text_of(volumes);
}

static enum ctl_exit run_metrics(const struct ctl *ctl)
{
	g_autofree char *text = make_text(ctl);

	if (!text)
		return CTL_USAGE;
	if (!opt_textfile) {
		fputs(text, stdout);
		return CTL_OK;
	}
	g_autofree char *path = g_build_filename(opt_textfile, FILENAME, NULL);
	g_autoptr(GError) error = NULL;
	/* The file takes the place of the former one in one step: the collector may read at any
	 * time. */
	if (!g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0644,
				      &error)) {
		ctl_complain("metrics: %s; name a directory that the collector reads",
			     error->message);
		return CTL_REFUSED;
	}
	return CTL_OK;
}

static const GOptionEntry metrics_options[] = {
	CTL_FILE("textfile", opt_textfile, "write them to DIR, for node_exporter", "DIR"),
	{NULL},
};

CTL_COMMAND(metrics, "metrics", "", 0, 0, "print all volumes' status for Prometheus",
	    .example = "metrics", .changes = "nothing", .exits = CTL_EXITS_ALONE,
	    .options = metrics_options, .flags = CTL_UNLISTED | CTL_MONITORS);
