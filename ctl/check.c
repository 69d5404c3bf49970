/* SPDX-License-Identifier: GPL-3.0-or-later */
/* check: looks at the whole old tree, and says what is to be known before a migration. */
#include "ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/check/show.h"
#include "ctl/check/survey_run.h"
#include "ctl/report/page.h"
#include "ctl/report/parts.h"
#include "lib/base/advice.h"
#include "lib/base/terminal.h"
#include "lib/base/text.h"
#include "lib/config/config.h"
#include "lib/config/url.h"

#define WORKERS	 8
#define LINE_US	 (5 * G_USEC_PER_SEC) /* of --progress */
#define NAME_LEN 64

static gboolean opt_progress, opt_anew;
static const char *opt_sample, *opt_output, *opt_target, *opt_password_file, *opt_bandwidth,
	*opt_requests;

G_STATIC_ASSERT(CTL_SAMPLE_ALL == WALK_ALL);

static atomic_int stop;

static void take_signal(int number)
{
	stop = 1;
}

/* ---- progress -------------------------------------------------------------------------------- */

struct shown {
	const struct ctl *ctl;
	gint64 last; /* g_get_monotonic_time() */
	bool is_terminal, resumed;
	struct terminal terminal;
};

static void show_line(struct shown *shown, const struct survey_progress *progress)
{
	const double seconds = progress->seconds;
	g_autofree char *bytes = ctl_bytes(progress->bytes);
	g_autofree char *line =
		progress->measuring
			? g_strdup_printf("%s: measuring", shown->ctl->volume)
			: g_strdup_printf("%s: %" G_GUINT64_FORMAT
					  " %s, %s, %.0f a second, %" G_GUINT64_FORMAT " %s left",
					  shown->ctl->volume, progress->objects,
					  text_plural(progress->objects, "objects"), bytes,
					  seconds > 0 ? (double)progress->objects / seconds : 0,
					  progress->pending,
					  text_plural(progress->pending, "directories"));

	if (shown->is_terminal)
		terminal_draw(&shown->terminal, stderr, line);
	else
		fprintf(stderr, "%s\n", line);
}

static void show_progress(void *arg, const struct survey_progress *progress)
{
	struct shown *shown = arg;
	const gint64 now = g_get_monotonic_time();

	if (progress->resumed && !shown->resumed)
		fprintf(stderr, PROGRAM ": check: %s: goes on where an earlier run was\n",
			shown->ctl->volume);
	shown->resumed = progress->resumed;
	if (!shown->is_terminal && (!opt_progress || now - shown->last < LINE_US))
		return;
	shown->last = now;
	show_line(shown, progress);
}

/* ---- what is to be done ---------------------------------------------------------------------- */

/* A name for files: "nfs-host-export-projects".  g_free. */
static char *name_of_url(const char *url)
{
	g_autoptr(GString) name = g_string_new(NULL);

	for (const char *p = url; *p && name->len < NAME_LEN; p++)
		if (g_ascii_isalnum(*p))
			g_string_append_c(name, *p);
		else if (name->len && name->str[name->len - 1] != '-')
			g_string_append_c(name, '-');
	if (name->len && name->str[name->len - 1] == '-')
		g_string_truncate(name, name->len - 1);
	return g_strdup(name->str);
}

/* The configuration of a volume of which only the source's URL is given. */
static struct volume_config *config_of_url(const struct ctl *ctl)
{
	struct volume_config *config = g_new0(struct volume_config, 1);

	config->name = name_of_url(ctl->volume);
	config->source = g_strdup(ctl->volume);
	config->report = g_strdup_printf(REPORT_DIR "/%s.report", config->name);
	config->connections = config->demand_connections = 2;
	config->smb_modes = SMB_MODES_DESCRIPTOR;
	config->smb = g_new0(struct smb_config, 1);
	config->smb->password_file = g_strdup(opt_password_file);
	return config;
}

static struct volume_config *load_check(const struct ctl *ctl)
{
	g_autoptr(GError) error = NULL;
	const bool url = strstr(ctl->volume, "://") != NULL;
	struct volume_config *config;

	if (url && !g_str_has_prefix(ctl->volume, "nfs://") && url_has_password(ctl->volume)) {
		ctl_complain("check: a password does not belong into a URL: put it into a file and "
			     "name that with --password-file; an @ in the share or the path is "
			     "written %%40");
		return NULL;
	}
	config = url ? config_of_url(ctl) : config_load(ctl->config_file, ctl->volume, &error);

	if (!config)
		ctl_complain("%s", error->message);
	else if (!url && (opt_target || opt_password_file))
		ctl_complain("check: --target and --password-file are of a URL: a volume's "
			     "configuration says both");
	else
		return config;
	config_free(config);
	return NULL;
}

static bool parse_number(const char *option, const char *text, uint64_t *number)
{
	if (!text || config_parse_size(text, number))
		return true;
	return ctl_complain("check: --%s: \"%s\" is no number; write for example 50M, or 0 for no "
			    "limit",
			    option, text);
}

static bool take_options(struct survey_options *options)
{
	const struct volume_config *config = options->config;

	options->bandwidth = config->bandwidth;
	options->target = config->root ? config->root : opt_target;
	options->workers = WORKERS;
	options->stop = &stop;
	options->share = WALK_ALL;
	return parse_number("bandwidth", opt_bandwidth, &options->bandwidth) &&
	       parse_number("requests", opt_requests, &options->requests) &&
	       (!opt_sample || ctl_parse_sample("check", opt_sample, &options->share));
}

/* ---- what comes of it ------------------------------------------------------------------------ */

/* Takes text. */
static bool keep_part(int dir_fd, const char *name, const char *suffix, char *text)
{
	g_autofree char *file = g_strconcat(name, suffix, NULL), *owned = text;
	g_autoptr(GError) error = NULL;
	int fd = part_create(dir_fd, file, &error);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool good = out && fputs(owned, out) >= 0;

	if (out)
		good = fclose(out) == 0 && good;
	if (good)
		good = part_keep(dir_fd, file, &error);
	if (!good) {
		ctl_complain("check: %s: %s", file, error ? error->message : g_strerror(errno));
		part_drop(dir_fd, file);
	}
	return good;
}

static bool keep_parts(const char *output, const char *name, const struct survey *survey)
{
	g_autofree char *json = show_json(survey), *verdict = survey_verdict_text(survey);
	g_autofree char *title = g_strdup_printf("Check of %s", survey->name);
	int dir_fd = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool good = dir_fd >= 0;

	if (!good)
		return ctl_complain("check: %s: %s", output, g_strerror(errno));
	good = keep_part(dir_fd, name, "-check.json", g_strdup(json)) &&
	       keep_part(dir_fd, name, "-check.html",
			 page_of_json(title, survey_verdict(survey) == SURVEY_GO, verdict, json));
	close(dir_fd);
	return good;
}

static bool print(const struct ctl *ctl, const char *output, const char *name,
		  const struct survey *survey)
{
	g_autofree char *json = ctl->json ? show_json(survey) : NULL;

	if (json)
		return fputs(json, stdout) >= 0 && fflush(stdout) == 0;
	if (!show_text(stdout, survey))
		return false;
	printf("\nAll of it: %s/%s-check.json, and as a page %s-check.html\n", output, name, name);
	return fflush(stdout) == 0;
}

static enum ctl_exit conclude_check(const struct ctl *ctl, const char *output, const char *name,
				    const struct survey *survey)
{
	static const enum ctl_exit statuses[] = {
		[SURVEY_GO] = CTL_OK, [SURVEY_LOSSES] = CTL_REFUSED, [SURVEY_STOP] = CTL_USAGE};

	if (!keep_parts(output, name, survey))
		return CTL_USAGE;
	if (!print(ctl, output, name, survey)) {
		ctl_complain("check: %s: the output could not be written: %s%s", ctl->volume,
			     g_strerror(errno), advice_for(errno));
		return CTL_USAGE;
	}
	return statuses[survey_verdict(survey)];
}

static enum ctl_exit survey_source(const struct ctl *ctl, struct survey_options *options,
				   const char *output)
{
	const char *name = options->config->name;
	struct shown shown = {.ctl = ctl, .is_terminal = isatty(STDERR_FILENO)};
	struct survey survey = {0};
	g_autoptr(GError) error = NULL;
	enum ctl_exit result = CTL_USAGE;
	struct checkpoint kept;

	if (!checkpoint_open(&kept, output, name, &error)) {
		ctl_complain("check: %s", error->message);
		return result;
	}
	survey.name = g_strdup(ctl->volume);
	survey.version = g_strdup(PROGRAM " " QUICKMIGRATE_VERSION);
	options->progress = show_progress;
	options->arg = &shown;
	if (opt_anew)
		checkpoint_forget(&kept);
	bool good = survey_run(options, &kept, &survey, &error);
	if (shown.is_terminal)
		terminal_draw(&shown.terminal, stderr, "");
	terminal_leave(&shown.terminal, stderr);
	if (good)
		result = conclude_check(ctl, output, name, &survey);
	else
		ctl_complain("check: %s: %s", ctl->volume, error->message);
	if (good)
		checkpoint_remove(&kept);
	survey_clear(&survey);
	checkpoint_close(&kept);
	return result;
}

static enum ctl_exit run_check(const struct ctl *ctl)
{
	const struct sigaction action = {.sa_handler = take_signal};
	struct volume_config *config = load_check(ctl);
	struct survey_options options = {.config = config};
	enum ctl_exit result = CTL_USAGE;

	if (!config)
		return result;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (take_options(&options)) {
		g_autofree char *place = g_path_get_dirname(config->report);

		result = survey_source(ctl, &options, opt_output ? opt_output : place);
	}
	config_free(config);
	return result;
}

static const GOptionEntry check_options[] = {
	CTL_OPTION_JSON,
	CTL_STRING("sample", opt_sample, "so many of the files, of every directory", "N%"),
	CTL_FILE("output", opt_output, "where to put the files", "DIR"),
	CTL_FILE("target", opt_target, "of a URL: a directory of the new file system", "DIR"),
	CTL_FILE("password-file", opt_password_file, "the file with the password of an SMB user",
		 "FILE"),
	CTL_STRING("bandwidth", opt_bandwidth, "read no more per second", "BYTES"),
	CTL_STRING("requests", opt_requests, "ask no more questions per second", "N"),
	CTL_FLAG("progress", opt_progress, "say how far it is, also where there is no terminal"),
	CTL_FLAG("anew", opt_anew, "do not go on with an earlier run"),
	{NULL},
};

CTL_COMMAND(check, "check", "NAME", 1, 1,
	    "look through the old server's tree: what can come, and how fast",
	    .example = "check projects",
	    .changes = "nothing; it writes NAME-check.json and NAME-check.html",
	    .exits = "0 go, 1 go with losses, 2 stop or wrong usage", .options = check_options);
