/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"

/* ---- commands that are one question ---------------------------------------------------------- */

/* Asks, and says so when it is done: NAME in text is the volume's. */
static enum ctl_exit ask_and_say(const struct ctl *ctl, const char *command, const char *text)
{
	enum ctl_exit result = ctl_ask_once(ctl, command, NULL);
	g_auto(GStrv) parts = g_strsplit(text, "NAME", -1);
	g_autofree char *line = g_strjoinv(ctl->volume, parts);

	if (!result)
		puts(line);
	return result;
}

static enum ctl_exit retry_failures(const struct ctl *ctl)
{
	if (*ctl->arguments && !ctl->same)
		return ctl_mend(ctl);
	if (*ctl->arguments) {
		ctl_complain("retry: --same is of failures, without PATH");
		return CTL_USAGE;
	}
	return ask_and_say(ctl, ctl->same ? "retry same" : "retry",
			   "NAME: failures are forgotten; to try again at once: "
			   "systemctl start migrate-crawler@NAME");
}

static enum ctl_exit accept_losses(const struct ctl *ctl)
{
	return ask_and_say(ctl, "accept",
			   "NAME: what of the copy the old server does not have is set aside, "
			   "however much it is");
}

static enum ctl_exit pause_background(const struct ctl *ctl)
{
	return ask_and_say(ctl, "pause",
			   "NAME: background work pauses; clients are served as before");
}

static enum ctl_exit resume_background(const struct ctl *ctl)
{
	return ask_and_say(ctl, "resume", "NAME: background work goes on");
}

static enum ctl_exit throttle_background(const struct ctl *ctl)
{
	uint64_t bytes;

	if (!config_parse_size(ctl->arguments[0], &bytes)) {
		ctl_complain("throttle: \"%s\" is no number of bytes per second; write for example "
			     "50M, or 0 for no limit",
			     ctl->arguments[0]);
		return CTL_USAGE;
	}
	g_autofree char *command = g_strdup_printf("throttle %" G_GUINT64_FORMAT, bytes);
	enum ctl_exit result = ctl_ask_once(ctl, command, NULL);
	g_autofree char *shown = ctl_bytes(bytes);
	if (!result && bytes)
		printf("%s: %s/s at most in the background, until the retriever restarts\n",
		       ctl->volume, shown);
	else if (!result)
		printf("%s: no bandwidth limit, until the retriever restarts\n", ctl->volume);
	return result;
}

static enum ctl_exit finalize_volume(const struct ctl *ctl)
{
	g_autoptr(GKeyFile) reply = NULL;
	enum ctl_exit result = ctl_ask_once(ctl, "finalize", &reply);

	if (result)
		return result;
	printf("%s: finished; nothing of ours is on the volume, and the file server's "
	       "configuration can do without it\n",
	       ctl->volume);
	uint64_t losses = ctl_number(reply, "finalize", "losses");
	if (losses)
		printf("%s: %" G_GUINT64_FORMAT " things could not be carried over; see migratectl "
		       "report %s\n",
		       ctl->volume, losses, ctl->volume);
	uint64_t names = ctl_number(reply, "finalize", "names-skipped");
	if (names)
		printf("%s: among them are names that were given up: %" G_GUINT64_FORMAT "\n",
		       ctl->volume, names);
	return result;
}

/* ---- the table ------------------------------------------------------------------------------- */

enum {
	TAKES_WATCH = 1 << 0,
	TAKES_JSON = 1 << 1,
	TAKES_SAME = 1 << 2,
	TAKES_ALL = 1 << 3,
	TAKES_FILTER = 1 << 4,
	TAKES_VERBOSE = 1 << 5,
	TAKES_TRACE = 1 << 6,
	TAKES_ADOPT = 1 << 7,
	TAKES_ACCEPT = 1 << 8,
	TAKES_ASIDE = 1 << 9,
	TAKES_SETTLE = 1 << 10,
	TAKES_PROOF = 1 << 11,
	TAKES_FINAL = 1 << 12,
	TAKES_ROLLBACK = 1 << 13,
	TAKES_FOLLOW = 1 << 14,
};

static const struct command {
	const char *name;
	const char *arguments;
	int min, max; /* arguments */
	unsigned takes;
	enum ctl_exit (*run)(const struct ctl *ctl);
	const char *help;
} commands[] = {
	{"copy", "NAME", 1, 1, TAKES_ACCEPT | TAKES_JSON, ctl_copy,
	 "copy the old server's tree, or bring the copy up to date"},
	{"attach", "NAME", 1, 1, TAKES_ADOPT | TAKES_ACCEPT, ctl_attach,
	 "bind the root to the old server; clients can be switched then"},
	{"status", "[NAME]", 0, 1, TAKES_WATCH | TAKES_JSON | TAKES_VERBOSE, ctl_status,
	 "show how far it is; all volumes without NAME"},
	{"errors", "NAME", 1, 1, TAKES_JSON | TAKES_FILTER, ctl_errors,
	 "list what failed, and why"},
	{"trace", "NAME", 1, 1, TAKES_JSON | TAKES_TRACE | TAKES_FOLLOW, ctl_trace,
	 "show what was done for requests, step by step"},
	{"report", "NAME", 1, INT_MAX, TAKES_JSON | TAKES_FINAL, ctl_report,
	 "list what could not be carried over; --final: prove what was"},
	{"retry", "NAME [PATH...]", 1, INT_MAX, TAKES_SAME, retry_failures,
	 "forget the failures, so that all is tried again; with PATH: mend differences"},
	{"skip", "NAME PATH...", 2, INT_MAX, TAKES_ALL, ctl_skip,
	 "give up names that nothing can have here"},
	{"aside", "NAME [PATH...]", 1, INT_MAX, TAKES_ASIDE | TAKES_JSON, ctl_aside,
	 "list what of a copy was set aside; restore or discard it"},
	{"accept", "NAME", 1, 1, 0, accept_losses,
	 "let any number of a copy's names go, until the retriever restarts"},
	{"throttle", "NAME BYTES", 2, 2, 0, throttle_background,
	 "limit background reads per second; 0: no limit"},
	{"pause", "NAME", 1, 1, 0, pause_background, "stop background work; clients are served"},
	{"resume", "NAME", 1, 1, 0, resume_background, "go on with background work"},
	{"verify", "NAME", 1, 1, TAKES_PROOF | TAKES_JSON, ctl_verify,
	 "walk the whole tree and count what is unfinished"},
	{"rollback", "NAME", 1, 1, TAKES_ROLLBACK | TAKES_FOLLOW | TAKES_SETTLE | TAKES_JSON,
	 ctl_rollback, "carry back to the old server what clients changed"},
	{"finalize", "NAME", 1, 1, 0, finalize_volume,
	 "verify, and remove what is left of the migration"},
	{"changes", "NAME", 1, 1, TAKES_SETTLE | TAKES_JSON, ctl_changes,
	 "list what clients changed since the switch"},
	{"commit", "NAME", 1, 1, 0, ctl_commit,
	 "close the way back: what clients changed is forgotten"},
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static char *describe_commands(void)
{
	GString *text = g_string_new("Commands:\n");

	for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
		g_autofree char *call =
			g_strdup_printf("%s %s", commands[i].name, commands[i].arguments);

		g_string_append_printf(text, "  %-22s%s\n", call, commands[i].help);
	}
	g_string_append(text,
			"\nExit status: 0 done, 1 refused or something is unfinished, 2 wrong "
			"usage or\nconfiguration, 3 no retriever");
	return g_string_free(text, FALSE);
}

static gboolean parse_options(int *argc, char ***argv, struct ctl *ctl, gboolean *version)
{
	gboolean watch = FALSE, json = FALSE, same = FALSE, all = FALSE, summary = FALSE;
	gboolean verbose = FALSE, follow = FALSE, adopt = FALSE, keep_extra = FALSE;
	gboolean accept = FALSE, restore = FALSE, discard = FALSE, settle = FALSE;
	gboolean content = FALSE, stop = FALSE, list = FALSE, plan = FALSE;
	const GOptionEntry entries[] = {
		{"config", 0, 0, G_OPTION_ARG_FILENAME, &ctl->config_file,
		 "The configuration (default: " CONFIG_FILE ")", "FILE"},
		{"socket", 0, 0, G_OPTION_ARG_FILENAME, &ctl->socket,
		 "The retriever's socket (default: as configured)", "PATH"},
		{"watch", 0, 0, G_OPTION_ARG_NONE, &watch, "status: show it again every second",
		 NULL},
		{"json", 0, 0, G_OPTION_ARG_NONE, &json,
		 "status, errors, report, trace, changes, rollback: print JSON", NULL},
		{"same", 0, 0, G_OPTION_ARG_NONE, &same,
		 "retry: size and mtime are enough to know a file by", NULL},
		{"all", 0, 0, G_OPTION_ARG_NONE, &all,
		 "skip: all such names of the directories PATH...", NULL},
		{"summary", 0, 0, G_OPTION_ARG_NONE, &summary,
		 "errors: how many there are for each reason", NULL},
		{"reason", 0, 0, G_OPTION_ARG_STRING, &ctl->reason,
		 "errors: those whose reason contains TEXT", "TEXT"},
		{"below", 0, 0, G_OPTION_ARG_FILENAME, &ctl->below,
		 "errors: those of DIRECTORY and what is below it", "DIRECTORY"},
		{"verbose", 0, 0, G_OPTION_ARG_NONE, &verbose,
		 "status: with the requests that have no answer yet", NULL},
		{"id", 0, 0, G_OPTION_ARG_STRING, &ctl->id,
		 "trace: of one request, as status --verbose shows it", "PEER:ID"},
		{"adopt", 0, 0, G_OPTION_ARG_NONE, &adopt,
		 "attach: take over what another tool has copied into the root", NULL},
		{"compare", 0, 0, G_OPTION_ARG_STRING, &ctl->compare,
		 "attach: of what was copied: size-mtime (default), or content as well", "HOW"},
		{"keep-extra", 0, 0, G_OPTION_ARG_NONE, &keep_extra,
		 "attach --adopt: what the old server does not have stays in the tree", NULL},
		{"accept", 0, 0, G_OPTION_ARG_NONE, &accept,
		 "copy, attach: another old root, or many names that are gone, are right", NULL},
		{"restore", 0, 0, G_OPTION_ARG_NONE, &restore,
		 "aside: bring PATH... back into the tree", NULL},
		{"discard", 0, 0, G_OPTION_ARG_NONE, &discard, "aside: destroy all of it", NULL},
		{"settle", 0, 0, G_OPTION_ARG_NONE, &settle,
		 "changes, rollback: first look for what is being written just now", NULL},
		{"content", 0, 0, G_OPTION_ARG_NONE, &content,
		 "verify: read both sides again, and compare them", NULL},
		{"sample", 0, 0, G_OPTION_ARG_STRING, &ctl->sample,
		 "verify --content: so many of the files, of every directory", "N%"},
		{"seed", 0, 0, G_OPTION_ARG_STRING, &ctl->seed, "verify --sample: which files",
		 "S"},
		{"stop", 0, 0, G_OPTION_ARG_NONE, &stop,
		 "verify --content: stop the comparison that is under way", NULL},
		{"list", 0, 0, G_OPTION_ARG_NONE, &list,
		 "verify --content: what was found so far; begin nothing", NULL},
		{"follow", 0, 0, G_OPTION_ARG_NONE, &follow,
		 "trace, rollback: go on until interrupted", NULL},
		{"plan", 0, 0, G_OPTION_ARG_NONE, &plan, "rollback: only say what would be done",
		 NULL},
		{"to", 0, 0, G_OPTION_ARG_FILENAME, &ctl->to,
		 "rollback: the old server's tree, mounted (default: as configured)", "PATH"},
		{"version", 0, 0, G_OPTION_ARG_NONE, version, "Print the version", NULL},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("COMMAND NAME [ARGUMENT]");
	g_autofree char *description = describe_commands();
	g_autoptr(GError) error = NULL;

	g_option_context_set_summary(context, "Says what is to be done with a migrating volume.");
	g_option_context_set_description(context, description);
	g_option_context_add_main_entries(context, entries, NULL);
	g_option_context_add_main_entries(context, ctl_final_options, NULL);
	if (!g_option_context_parse(context, argc, argv, &error))
		return ctl_complain("%s; see " PROGRAM " --help", error->message);
	ctl->watch = watch;
	ctl->json = json;
	ctl->same = same;
	ctl->all = all;
	ctl->summary = summary;
	ctl->verbose = verbose;
	ctl->follow = follow;
	ctl->adopt = adopt;
	ctl->keep_extra = keep_extra;
	ctl->accept = accept;
	ctl->restore = restore;
	ctl->discard = discard;
	ctl->plan = plan;
	ctl->settle = settle;
	ctl->content = content;
	ctl->stop = stop;
	ctl->list = list;
	return TRUE;
}

/* The option that was given and that the command does not take, or NULL. */
static const char *needless_option(const struct command *command, const struct ctl *ctl)
{
	if (ctl->watch && !(command->takes & TAKES_WATCH))
		return "watch";
	if (ctl->json && !(command->takes & TAKES_JSON))
		return "json";
	if (ctl->all && !(command->takes & TAKES_ALL))
		return "all";
	if (!(command->takes & TAKES_FILTER) && (ctl->summary || ctl->reason || ctl->below))
		return ctl->summary ? "summary" : ctl->reason ? "reason" : "below";
	if (ctl->verbose && (!(command->takes & TAKES_VERBOSE) || ctl->watch))
		return "verbose";
	if (ctl->id && !(command->takes & TAKES_TRACE))
		return "id";
	if (ctl->follow && !(command->takes & TAKES_FOLLOW))
		return "follow";
	if (!(command->takes & TAKES_ROLLBACK) && (ctl->plan || ctl->to))
		return ctl->plan ? "plan" : "to";
	if (!(command->takes & TAKES_ADOPT) && (ctl->adopt || ctl->compare || ctl->keep_extra))
		return ctl->adopt ? "adopt" : ctl->compare ? "compare" : "keep-extra";
	if (ctl->accept && !(command->takes & TAKES_ACCEPT))
		return "accept";
	if (!(command->takes & TAKES_ASIDE) && (ctl->restore || ctl->discard))
		return ctl->restore ? "restore" : "discard";
	if (ctl->settle && !(command->takes & TAKES_SETTLE))
		return "settle";
	if (!(command->takes & TAKES_FINAL) && ctl_final_option())
		return ctl_final_option();
	if (!(command->takes & TAKES_PROOF) &&
	    (ctl->content || ctl->sample || ctl->seed || ctl->stop || ctl->list))
		return ctl->content  ? "content"
		       : ctl->sample ? "sample"
		       : ctl->seed   ? "seed"
		       : ctl->stop   ? "stop"
				     : "list";
	return ctl->same && !(command->takes & TAKES_SAME) ? "same" : NULL;
}

static gboolean check_usage(const struct command *command, const struct ctl *ctl, int arguments)
{
	const char *refused = needless_option(command, ctl);

	if (arguments < command->min || arguments > command->max)
		return ctl_complain("usage: " PROGRAM " %s %s", command->name, command->arguments);
	if (refused)
		return ctl_complain("%s takes no --%s; see " PROGRAM " --help", command->name,
				    refused);
	if (!arguments && (ctl->watch || ctl->verbose || ctl->socket))
		return ctl_complain("%s: --%s needs the NAME of a volume", command->name,
				    ctl->watch	   ? "watch"
				    : ctl->verbose ? "verbose"
						   : "socket");
	return TRUE;
}

int main(int argc, char **argv)
{
	static struct ctl ctl;
	gboolean version = FALSE;

	if (!parse_options(&argc, &argv, &ctl, &version))
		return CTL_USAGE;
	if (version) {
		printf(PROGRAM " %s\n", QUICKMIGRATE_VERSION);
		return CTL_OK;
	}
	const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;
	if (!command) {
		ctl_complain("%s%s; see " PROGRAM " --help",
			     argc > 1 ? "no such command: " : "give a command",
			     argc > 1 ? argv[1] : "");
		return CTL_USAGE;
	}
	if (!check_usage(command, &ctl, argc - 2))
		return CTL_USAGE;
	if (geteuid() != 0 && !ctl_is_check()) {
		ctl_complain("must be run as root");
		return CTL_USAGE;
	}
	ctl.volume = argc > 2 ? argv[2] : NULL;
	ctl.arguments = argv + MIN(argc, 3);
	return command->run(&ctl);
}
