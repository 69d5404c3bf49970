/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rollback: plans the way back, does it, or does it again and again. */
#include "ctl/ctl.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "ctl/rollback/run.h"
#include "lib/base/text.h"
#include "lib/config/config.h"

#define PAUSE_MS    5000
#define SLICE_MS    100
#define STATUS_FILE "status"
#define GROUP	    "rollback"
#define SHOWN_MAX   20

static gboolean opt_settle, opt_list, opt_follow, opt_plan;
static const char *opt_to;

static bool stop;

static void take_signal(int number)
{
	stop = true;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* The words for what is to be done to an object, as `changes` has them. */
static const struct {
	unsigned todo;
	const char *name;
} deeds[] = {
	{TODO_MAKE, "made"},   {TODO_DATA, "data"},	 {TODO_META, "attributes"},
	{TODO_NAMES, "names"}, {TODO_REMOVE, "removed"},
};

static void add_deeds(JsonBuilder *builder, unsigned todo)
{
	json_builder_set_member_name(builder, "what");
	json_builder_begin_array(builder);
	for (size_t i = 0; i < G_N_ELEMENTS(deeds); i++)
		if (todo & deeds[i].todo)
			json_builder_add_string_value(builder, deeds[i].name);
	json_builder_end_array(builder);
}

static void add_problems(JsonBuilder *builder, const char *name, const GPtrArray *problems,
			 bool planned)
{
	json_builder_set_member_name(builder, name);
	json_builder_begin_array(builder);
	for (guint i = 0; i < problems->len; i++) {
		const struct problem *problem = problems->pdata[i];

		json_builder_begin_object(builder);
		json_builder_set_member_name(builder, "path");
		json_builder_add_string_value(builder, problem->path);
		if (planned)
			add_deeds(builder, problem->todo);
		json_builder_set_member_name(builder, "reason");
		json_builder_add_string_value(builder, problem->text);
		json_builder_end_object(builder);
	}
	json_builder_end_array(builder);
}

static void print_result_json(bool plan, const struct rollback_result *result)
{
	const struct plan *p = &result->plan;
	const struct carry_result *d = &result->done;
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{"made", plan ? p->made : d->made},
		{"changed", plan ? p->changed : d->changed},
		{"renamed", plan ? p->renamed : d->renamed},
		{"removed", plan ? p->removed : d->removed},
		{"bytes", plan ? p->bytes : d->bytes},
		{plan ? "bytes_to_fetch" : "left", plan ? p->fetched : d->left},
		{"maybe_changed", p->found},
		{"same", p->same},
		{"seconds", p->seconds},
	};
	g_autoptr(JsonBuilder) builder = json_builder_new();

	json_builder_begin_object(builder);
	json_builder_set_member_name(builder, GROUP);
	json_builder_begin_object(builder);
	for (size_t i = 0; i < G_N_ELEMENTS(numbers) - !plan; i++) {
		json_builder_set_member_name(builder, numbers[i].name);
		json_builder_add_int_value(builder, (gint64)numbers[i].value);
	}
	if (result->planned)
		add_problems(builder, "changes", result->planned, true);
	add_problems(builder, "conflicts", result->conflicts, false);
	add_problems(builder, "losses", result->losses, false);
	json_builder_end_object(builder);
	json_builder_end_object(builder);
	ctl_print_json(json_builder_get_root(builder), true);
}

static void print_problems(const char *heading, const GPtrArray *problems)
{
	if (problems->len)
		printf("%s: %u\n", heading, problems->len);
	for (guint i = 0; i < problems->len && i < SHOWN_MAX; i++) {
		const struct problem *problem = problems->pdata[i];

		printf("  %s: %s\n", problem->path, problem->text);
	}
	if (problems->len > SHOWN_MAX)
		printf("  ... and %u more: --json lists all\n", problems->len - SHOWN_MAX);
}

static void print_deeds(const struct problem *problem)
{
	printf("  %s:", problem->path);
	for (size_t i = 0; i < G_N_ELEMENTS(deeds); i++)
		if (problem->todo & deeds[i].todo)
			printf(" %s", deeds[i].name);
	printf(": %s\n", problem->text);
}

static void print_result_text(const char *volume, bool plan, const struct rollback_result *result)
{
	const struct plan *p = &result->plan;
	const struct carry_result *d = &result->done;
	g_autofree char *bytes = ctl_bytes(plan ? p->bytes : d->bytes);
	g_autofree char *fetched = ctl_bytes(p->fetched);

	printf("%s: %s\n", volume,
	       plan ? "to be done on the old server:" : "done on the old server:");
	printf("  made      %" G_GUINT64_FORMAT "\n", plan ? p->made : d->made);
	printf("  changed   %" G_GUINT64_FORMAT "\n", plan ? p->changed : d->changed);
	printf("  renamed   %" G_GUINT64_FORMAT "\n", plan ? p->renamed : d->renamed);
	printf("  removed   %" G_GUINT64_FORMAT "\n", plan ? p->removed : d->removed);
	if (p->found)
		printf("  compared  %" G_GUINT64_FORMAT ", which may have been changed in a gap of "
		       "the journal: %" G_GUINT64_FORMAT " are the same there, and left alone\n",
		       p->found, p->same);
	printf("  data      %s\n", bytes);
	if (plan && p->fetched)
		printf("  of which  %s are to be fetched first\n", fetched);
	if (plan)
		printf("  time      about %u s\n", p->seconds);
	if (d->left)
		printf("  left      %" G_GUINT64_FORMAT ": for the next run\n", d->left);
	for (guint i = 0; result->planned && i < result->planned->len; i++)
		print_deeds(result->planned->pdata[i]);
	print_problems("Conflicts, which stay as they are there", result->conflicts);
	print_problems("What the old server does not take", result->losses);
}

/* ---- for status ------------------------------------------------------------------------------ */

static void note_status(const struct volume_config *config, bool follows,
			const struct rollback_result *result)
{
	g_autofree char *dir = rollback_directory(config);
	g_autofree char *path = g_build_filename(dir, STATUS_FILE, NULL);
	g_autoptr(GKeyFile) file = g_key_file_new();

	g_key_file_set_int64(file, GROUP, "seen", result->seen / 1000000000);
	g_key_file_set_boolean(file, GROUP, "follows", follows);
	g_key_file_set_int64(file, GROUP, "pid", getpid());
	g_key_file_set_uint64(file, GROUP, "conflicts", result->conflicts->len);
	g_key_file_set_uint64(file, GROUP, "left", result->done.left);
	g_key_file_save_to_file(file, path, NULL);
}

void ctl_rollback_status(const struct ctl *ctl, const char *volume, GKeyFile *status)
{
	struct volume_config *config = config_load(ctl->config_file, volume, NULL);
	g_autofree char *dir = config ? rollback_directory(config) : NULL;
	g_autofree char *path = dir ? g_build_filename(dir, STATUS_FILE, NULL) : NULL;
	g_autoptr(GKeyFile) file = g_key_file_new();

	config_free(config);
	if (!path || !g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL))
		return;
	g_autofree char *proc =
		g_strdup_printf("/proc/%" G_GUINT64_FORMAT, ctl_number(file, GROUP, "pid"));
	bool follows = ctl_yes(file, GROUP, "follows") && g_file_test(proc, G_FILE_TEST_EXISTS);
	int64_t lag = g_get_real_time() / G_USEC_PER_SEC - (int64_t)ctl_number(file, GROUP, "seen");

	g_key_file_set_string(status, GROUP, "follows", follows ? "true" : "false");
	g_key_file_set_int64(status, GROUP, "lag-seconds", MAX(lag, 0));
	g_key_file_set_uint64(status, GROUP, "conflicts", ctl_number(file, GROUP, "conflicts"));
	g_key_file_set_uint64(status, GROUP, "left", ctl_number(file, GROUP, "left"));
}

void ctl_rollback_print_status(GKeyFile *status)
{
	if (!g_key_file_has_group(status, GROUP))
		return;
	printf("%-18s what was changed %" G_GUINT64_FORMAT " s ago and before is on the old "
	       "server%s; " TEXT_COUNT "\n",
	       "carried back", ctl_number(status, GROUP, "lag-seconds"),
	       ctl_yes(status, GROUP, "follows") ? ", which is followed" : "",
	       TEXT_COUNTED(ctl_number(status, GROUP, "conflicts"), "conflicts"));
}

/* ---- running --------------------------------------------------------------------------------- */

static enum ctl_exit run_once(const struct ctl *ctl, const struct volume_config *config, bool print)
{
	const struct rollback_options options = {.to = opt_to,
						 .plan = opt_plan,
						 .list = opt_list,
						 .scan = opt_settle,
						 .serving = opt_follow,
						 .stop = &stop};
	struct rollback_result result;
	g_autoptr(GError) error = NULL;
	enum ctl_exit status = CTL_REFUSED;

	if (!rollback_run(config, &options, &result, &error)) {
		if (!stop)
			ctl_complain("%s: %s", ctl->volume, error->message);
		else if (!opt_follow)
			ctl_complain("%s: stopped; the next " PROGRAM
				     " rollback %s goes on where it was",
				     ctl->volume, ctl->volume);
	} else {
		if (!opt_plan && !stop)
			note_status(config, opt_follow, &result);
		if (print && ctl->json)
			print_result_json(opt_plan, &result);
		else if (print || result.conflicts->len || result.losses->len)
			print_result_text(ctl->volume, opt_plan, &result);
		fflush(stdout);
		if (stop && !opt_follow)
			ctl_complain("%s: stopped; the next " PROGRAM
				     " rollback %s goes on where it was",
				     ctl->volume, ctl->volume);
		else
			status = result.conflicts->len || result.done.left ? CTL_SOME_LEFT : CTL_OK;
	}
	rollback_clear(&result);
	return status;
}

static void pause_for_a_while(void)
{
	for (unsigned ms = 0; ms < PAUSE_MS && !stop; ms += SLICE_MS)
		g_usleep(SLICE_MS * G_TIME_SPAN_MILLISECOND);
}

static enum ctl_exit run_rollback(const struct ctl *ctl)
{
	const struct sigaction action = {.sa_handler = take_signal};
	struct volume_config *config = ctl_config(ctl);
	enum ctl_exit result;

	if (!config)
		return CTL_USAGE;
	if ((opt_follow && opt_plan) || (opt_list && !opt_plan)) {
		ctl_complain(opt_plan ? "rollback: --plan and --follow do not go together: give "
					"one of them"
				      : "rollback: --list goes with --plan: give both");
		config_free(config);
		return CTL_USAGE;
	}
	result = opt_plan ? CTL_OK
			  : ctl_confirm(ctl,
					"%s: what clients changed is written over the old server's "
					"tree (--plan shows it)",
					ctl->volume);
	if (result) {
		config_free(config);
		return result;
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	do {
		result = run_once(ctl, config, !opt_follow);
		if (opt_follow)
			pause_for_a_while();
	} while (opt_follow && !stop);
	config_free(config);
	return opt_follow ? CTL_OK : result;
}

static const GOptionEntry rollback_options[] = {
	CTL_OPTION_JSON,
	CTL_FLAG("settle", opt_settle, "first look for what is being written just now"),
	CTL_FLAG("list", opt_list, "what is to be done, and why"),
	CTL_FLAG("follow", opt_follow, "go on until interrupted"),
	CTL_FLAG("plan", opt_plan, "only say what would be done"),
	CTL_FLAG("dry-run", opt_plan, "the same as --plan"),
	CTL_OPTION_YES,
	CTL_FILE("to", opt_to, "the old tree, mounted, or smb:// (default: as configured)", "PATH"),
	{NULL},
};

CTL_COMMAND(rollback, "rollback", "NAME", 1, 1, "carry back to the old server what clients changed",
	    .example = "rollback --plan --list projects",
	    .changes = "the tree of the old server; nothing with --plan",
	    .exits = "0 done, 1 refused or failed, 2 wrong usage, 4 some is left",
	    .options = rollback_options);
