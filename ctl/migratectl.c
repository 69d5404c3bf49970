/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/config.h"

/* ---- commands that are one question ---------------------------------------------------------- */

static enum ctl_exit accept_losses(const struct ctl *ctl)
{
	return ctl_ask_and_say(ctl, "accept",
			       "NAME: what of the copy the old server does not have is set aside, "
			       "however much it is");
}

static enum ctl_exit pause_background(const struct ctl *ctl)
{
	return ctl_ask_and_say(
		ctl, "pause",
		"NAME: background work pauses until migratectl resume NAME; clients are "
		"served as before");
}

static enum ctl_exit resume_background(const struct ctl *ctl)
{
	return ctl_ask_and_say(ctl, "resume", "NAME: background work goes on");
}

static enum ctl_exit throttle_background(const struct ctl *ctl)
{
	uint64_t bytes;

	if (!strcmp(ctl->arguments[0], "default"))
		return ctl_ask_and_say(ctl, "throttle default",
				       "NAME: limits are what the configuration says");
	if (!config_parse_size(ctl->arguments[0], &bytes)) {
		ctl_complain("throttle: \"%s\" is no number of bytes per second; write for example "
			     "50M, 0 for no limit, or default for what the configuration says",
			     ctl->arguments[0]);
		return CTL_USAGE;
	}
	g_autofree char *command = g_strdup_printf("throttle %" G_GUINT64_FORMAT, bytes);
	g_autofree char *shown = ctl_bytes(bytes);
	g_autofree char *text = g_strdup_printf(
		"NAME: %s%s, until migratectl throttle NAME default",
		bytes ? shown : "no bandwidth limit", bytes ? "/s at most in the background" : "");
	return ctl_ask_and_say(ctl, command, text);
}

static enum ctl_exit finalize_volume(const struct ctl *ctl)
{
	g_autoptr(GKeyFile) reply = NULL;
	enum ctl_exit result =
		ctl_ask_once(ctl, ctl->unwatched ? "finalize unwatched" : "finalize", &reply);

	if (result)
		return result;
	printf("%s: finished; nothing of ours is on the volume, and the file server's "
	       "configuration can do without it%s\n",
	       ctl->volume,
	       ctl_takeover_is_on(ctl)
		       ? " once no takeover handle is used any more (migratectl takeover)"
		       : "");
	uint64_t losses = ctl_number(reply, "finalize", "losses");
	if (losses)
		printf("%s: %" G_GUINT64_FORMAT " things could not be carried over; see migratectl "
		       "report %s\n",
		       ctl->volume, losses, ctl->volume);
	uint64_t names = ctl_number(reply, "finalize", "names-skipped");
	if (names)
		printf("%s: among them are names that were skipped: %" G_GUINT64_FORMAT "\n",
		       ctl->volume, names);
	return result;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* For which volumes a command can be. */
enum many {
	ONE,	 /* the first argument names it */
	EACH,	 /* one after the other */
	SAID,	 /* likewise, and that is said before */
	AT_ONCE, /* the command itself knows of all */
};

static const struct command {
	const char *name;
	const char *arguments;
	int min, max; /* arguments */
	enum ctl_exit (*run)(const struct ctl *ctl);
	const char *help;
	enum many many;
	int own;       /* of many: arguments behind the names; -1: all but the first name */
	bool unlisted; /* a unit runs it, and hardly anybody else */
	bool watching; /* who is in MONITOR_GROUP may do it too */
} commands[] = {
	{"discover", "HOST", 1, 1, ctl_discover, "list what an old server exports and shares"},
	{"check", "NAME", 1, 1, ctl_survey,
	 "look through the old server's tree: what can come, and how fast"},
	{"copy", "NAME", 1, 1, ctl_copy,
	 "copy the old server's tree, or bring the copy up to date"},
	{"cutover", "NAME", 1, 1, ctl_cutover,
	 "print the check-list of the switch, and who uses the old server"},
	{"takeover", "NAME [check|prepare|end]", 1, 2, ctl_takeover,
	 "switch without a remount: takeover handles, and who uses them"},
	{"attach", "NAME...", 1, INT_MAX, ctl_attach,
	 "bind the root to the old server; clients can be switched then", EACH},
	{"status", "[NAME...]", 0, INT_MAX, ctl_status,
	 "show how far it is; all volumes without NAME", AT_ONCE, .watching = true},
	{"metrics", "", 0, 0, ctl_metrics, "print all volumes' status for Prometheus",
	 .unlisted = true, .watching = true},
	{"errors", "NAME...", 1, INT_MAX, ctl_errors, "list what failed, and why", EACH},
	{"trace", "NAME", 1, 1, ctl_trace, "show what was done for requests, step by step"},
	{"report", "NAME", 1, INT_MAX, ctl_report,
	 "list what could not be carried over; --final: prove what was"},
	{"retry", "NAME [PATH...]", 1, INT_MAX, ctl_retry,
	 "try again what failed; or mend what verify --content has found", AT_ONCE, -1},
	{"skip", "NAME [PATH...]", 1, INT_MAX, ctl_skip,
	 "leave what can never come on the old server, and write down why"},
	{"aside", "NAME [PATH...]", 1, INT_MAX, ctl_aside,
	 "list what of a copy was set aside; restore or discard it"},
	{"accept", "NAME", 1, 1, accept_losses,
	 "let any number of a copy's names go, until the retriever restarts"},
	{"throttle", "NAME... BYTES", 2, INT_MAX, throttle_background,
	 "limit background reads a second: BYTES, 0 (none), or default", AT_ONCE, 1},
	{"pause", "NAME...", 1, INT_MAX, pause_background,
	 "stop background work; clients are served", AT_ONCE},
	{"resume", "NAME...", 1, INT_MAX, resume_background, "go on with background work", AT_ONCE},
	{"verify", "NAME...", 1, INT_MAX, ctl_verify,
	 "walk the whole tree and count what is unfinished", EACH},
	{"backup-list", "NAME [DIRECTORY]", 1, 2, ctl_backup_list,
	 "list what is not here yet, to be left out of a backup"},
	{"rollback", "NAME", 1, 1, ctl_rollback,
	 "carry back to the old server what clients changed"},
	{"finalize", "NAME...", 1, INT_MAX, finalize_volume,
	 "verify, and remove what is left of the migration", SAID},
	{"quota", "NAME", 1, 1, ctl_quota,
	 "print the old server's quotas as commands; --apply: set them here"},
	{"changes", "NAME", 1, 1, ctl_changes, "list what clients changed since the switch"},
	{"commit", "NAME...", 1, INT_MAX, ctl_commit,
	 "close the way back: what clients changed is forgotten", SAID},
	{"cluster", "check NAME | config NAME...", 2, INT_MAX, ctl_cluster,
	 "check this node for a volume; print resources for Pacemaker"},
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* It fits a screen, and has nothing that is of one command. */
static void print_commands(void)
{
	puts("Usage: " PROGRAM " COMMAND [OPTION...] [NAME...]; COMMAND --help. Commands:");
	for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
		if (!commands[i].unlisted)
			printf("  %-12s %s\n", commands[i].name, commands[i].help);
}

/* ---- options ----------------------------------------------------------------------------------
 */

static struct ctl given;
static gboolean print_version, print_help;

/* A description begins with the commands that take the option, or all do. */
static const GOptionEntry options[] = {
	{"config", 0, 0, G_OPTION_ARG_FILENAME, &given.config_file, "Instead of " CONFIG_FILE,
	 "FILE"},
	{"socket", 0, 0, G_OPTION_ARG_FILENAME, &given.socket,
	 "The retriever's socket, if not as configured", "PATH"},
	{"watch", 0, 0, G_OPTION_ARG_NONE, &given.watch, "status: show it again every second",
	 NULL},
	{"json", 0, 0, G_OPTION_ARG_NONE, &given.json,
	 "discover, check, copy, status, errors, trace, report, aside, verify, rollback, changes: "
	 "print JSON",
	 NULL},
	{"smb-user", 0, 0, G_OPTION_ARG_STRING, &given.smb_user,
	 "discover: who asks for the shares (default: nobody)", "[DOMAIN\\]USER"},
	{"exports", 0, 0, G_OPTION_ARG_FILENAME, &given.exports,
	 "discover: access rules out of its /etc/exports", "FILE"},
	{"smb-conf", 0, 0, G_OPTION_ARG_FILENAME, &given.smb_conf,
	 "discover: paths and access rules out of its smb.conf", "FILE"},
	{"draft", 0, 0, G_OPTION_ARG_STRING, &given.draft,
	 "discover: print a draft: quickmigrate, ganesha, samba, all", "WHAT"},
	{"wait", 0, 0, G_OPTION_ARG_STRING, &given.wait,
	 "discover: how long for each answer (default: 10)", "SECONDS"},
	{"same", 0, 0, G_OPTION_ARG_NONE, &given.same,
	 "retry: size and mtime are enough to know a file by", NULL},
	{"all", 0, 0, G_OPTION_ARG_NONE, &given.all,
	 "skip: all such names of PATH...; else: every volume", NULL},
	{"wave", 0, 0, G_OPTION_ARG_STRING, &given.wave,
	 "Instead of NAME: every volume with wave = W", "W"},
	{"summary", 0, 0, G_OPTION_ARG_NONE, &given.summary,
	 "errors: how many there are for each reason", NULL},
	{"reason", 0, 0, G_OPTION_ARG_STRING, &given.reason,
	 "errors, retry, skip: those whose reason contains TEXT", "TEXT"},
	{"below", 0, 0, G_OPTION_ARG_FILENAME, &given.below,
	 "errors, retry, skip: those of DIRECTORY and what is below it", "DIRECTORY"},
	{"leave", 0, 0, G_OPTION_ARG_NONE, &given.leave,
	 "skip: also leave behind on the old server what it refuses", NULL},
	{"because", 0, 0, G_OPTION_ARG_STRING, &given.because, "skip: why, for the report", "TEXT"},
	{"verbose", 0, 0, G_OPTION_ARG_NONE, &given.verbose,
	 "status: with the requests that have no answer yet", NULL},
	{"id", 0, 0, G_OPTION_ARG_STRING, &given.id,
	 "trace: of one request, as status --verbose shows it", "PEER:ID"},
	{"adopt", 0, 0, G_OPTION_ARG_NONE, &given.adopt,
	 "attach: take over what another tool has copied into the root", NULL},
	{"compare", 0, 0, G_OPTION_ARG_FILENAME, &given.compare,
	 "attach, cluster: size-mtime, or content too; or another node's FILE", "HOW"},
	{"keep-extra", 0, 0, G_OPTION_ARG_NONE, &given.keep_extra,
	 "attach --adopt: what the old server does not have stays in the tree", NULL},
	{"accept", 0, 0, G_OPTION_ARG_NONE, &given.accept,
	 "copy, attach, takeover: what it stops for is right", NULL},
	{"restore", 0, 0, G_OPTION_ARG_NONE, &given.restore,
	 "aside: bring PATH... back into the tree", NULL},
	{"discard", 0, 0, G_OPTION_ARG_NONE, &given.discard, "aside: destroy all of it", NULL},
	{"settle", 0, 0, G_OPTION_ARG_NONE, &given.settle,
	 "changes, rollback: first look for what is being written just now", NULL},
	{"content", 0, 0, G_OPTION_ARG_NONE, &given.content,
	 "verify: read both sides again, and compare them", NULL},
	{"sample", 0, 0, G_OPTION_ARG_STRING, &given.sample,
	 "verify --content, check: so many of the files, of every directory", "N%"},
	{"seed", 0, 0, G_OPTION_ARG_STRING, &given.seed, "verify --sample: which files", "S"},
	{"stop", 0, 0, G_OPTION_ARG_NONE, &given.stop,
	 "verify --content: stop the comparison that is under way", NULL},
	{"list", 0, 0, G_OPTION_ARG_NONE, &given.list,
	 "verify --content, rollback --plan: what was found so far; what is to be done, and why",
	 NULL},
	{"follow", 0, 0, G_OPTION_ARG_NONE, &given.follow,
	 "trace, rollback: go on until interrupted", NULL},
	{"plan", 0, 0, G_OPTION_ARG_NONE, &given.plan, "rollback: only say what would be done",
	 NULL},
	{"to", 0, 0, G_OPTION_ARG_FILENAME, &given.to,
	 "rollback: the old tree, mounted, or smb:// (default: as configured)", "PATH"},
	{"final", 0, 0, G_OPTION_ARG_NONE, &given.final,
	 "report: what became of every object, in files that can be checked", NULL},
	{"output", 0, 0, G_OPTION_ARG_FILENAME, &given.output,
	 "report --final, check: where to put the files", "DIR"},
	{"target", 0, 0, G_OPTION_ARG_FILENAME, &given.target,
	 "check: of a URL: a directory of the new file system", "DIR"},
	{"password-file", 0, 0, G_OPTION_ARG_FILENAME, &given.password_file,
	 "check, discover: the file with the password of an SMB user", "FILE"},
	{"bandwidth", 0, 0, G_OPTION_ARG_STRING, &given.bandwidth, "check: read no more per second",
	 "BYTES"},
	{"requests", 0, 0, G_OPTION_ARG_STRING, &given.requests,
	 "check: ask no more questions per second", "N"},
	{"progress", 0, 0, G_OPTION_ARG_NONE, &given.progress,
	 "check: say how far it is, also where there is no terminal", NULL},
	{"anew", 0, 0, G_OPTION_ARG_NONE, &given.anew, "check: do not go on with an earlier run",
	 NULL},
	{"sign", 0, 0, G_OPTION_ARG_FILENAME, &given.key,
	 "report --final: sign with this key of ssh-keygen", "KEY"},
	{"check", 0, 0, G_OPTION_ARG_NONE, &given.check,
	 "report: check FILE... of report --final, in place of NAME", NULL},
	{"signers", 0, 0, G_OPTION_ARG_FILENAME, &given.signers,
	 "report --check: who may have signed, as ssh-keygen has it", "FILE"},
	{"tree", 0, 0, G_OPTION_ARG_FILENAME, &given.tree,
	 "report --check: compare the manifest with a tree", "DIR"},
	{"unwatched", 0, 0, G_OPTION_ARG_NONE, &given.unwatched,
	 "finalize: programs of this machine move nothing meanwhile", NULL},
	{"for", 0, 0, G_OPTION_ARG_STRING, &given.tool,
	 "backup-list, cluster: tar, rsync, restic, borg, paths; crm, pcs", "TOOL"},
	{"nodes", 0, 0, G_OPTION_ARG_STRING, &given.nodes,
	 "cluster: spread the volumes over these nodes", "A,B,C"},
	{"doors", 0, 0, G_OPTION_ARG_STRING, &given.doors,
	 "cluster: what serves the volumes: nfs (default), smb, or nfs,smb", "DOORS"},
	{"textfile", 0, 0, G_OPTION_ARG_FILENAME, &given.textfile,
	 "metrics: write them to DIR, for node_exporter", "DIR"},
	{"apply", 0, 0, G_OPTION_ARG_NONE, &given.apply,
	 "quota: set them on the file system of the root", NULL},
	{"version", 0, 0, G_OPTION_ARG_NONE, &print_version, "Print the version", NULL},
	{"help", 'h', 0, G_OPTION_ARG_NONE, &print_help,
	 "Print the commands, or behind a command its options", NULL},
	{NULL},
};

static gboolean parse_options(int *argc, char ***argv)
{
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;

	g_option_context_set_help_enabled(context, FALSE); /* it would have all options at once */
	g_option_context_add_main_entries(context, options, NULL);
	return g_option_context_parse(context, argc, argv, &error) ||
	       ctl_complain("%s; see " PROGRAM " --help", error->message);
}

/* The commands that the option is of, or NULL: all.  *text: what it does.  g_strfreev. */
static char **users_of(const GOptionEntry *option, const char **text)
{
	const char *end = strchr(option->description, ':');
	g_autofree char *words =
		g_strndup(option->description, end ? end - option->description : 0);
	g_auto(GStrv) users = g_strsplit(words, ", ", -1);
	bool known = false;

	for (char **user = users; *user; user++) {
		(*user)[strcspn(*user, " ")] = '\0';
		known = known || find_command(*user);
	}
	*text = known ? end + strlen(": ") : option->description;
	return known ? g_steal_pointer(&users) : NULL;
}

static bool takes(const struct command *command, const GOptionEntry *option)
{
	const char *text;
	g_auto(GStrv) users = users_of(option, &text);

	if (!strcmp(option->long_name, "wave") ||
	    (!strcmp(option->long_name, "all") && command->many))
		return command->many != ONE;
	return !users || g_strv_contains((const char *const *)users, command->name);
}

static void print_usage(const struct command *command)
{
	g_autoptr(GArray) taken = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));
	g_autoptr(GOptionContext) context = g_option_context_new(command->arguments);
	g_autofree char *program = g_strdup_printf(PROGRAM " %s", command->name), *text = NULL;

	for (const GOptionEntry *option = options; option->long_name; option++) {
		GOptionEntry entry = *option;

		g_strfreev(users_of(option, &entry.description));
		if (takes(command, option) && strcmp(option->long_name, "help") != 0)
			g_array_append_val(taken, entry);
	}
	g_set_prgname(program);
	g_option_context_set_summary(context, command->help);
	g_option_context_add_main_entries(context, (GOptionEntry *)taken->data, NULL);
	text = g_option_context_get_help(context, TRUE, NULL);
	fputs(text, stdout);
}

/* The option that was given and that the command does not take, or NULL. */
static const char *needless_option(const struct command *command)
{
	for (const GOptionEntry *option = options; option->long_name; option++) {
		bool is = option->arg == G_OPTION_ARG_NONE ? *(gboolean *)option->arg_data
							   : *(char **)option->arg_data != NULL;

		if (is && !takes(command, option))
			return option->long_name;
	}
	return given.watch && given.verbose ? "verbose" : NULL;
}

/* Whether the volumes are not named. */
static bool is_for_all(const struct command *command)
{
	return command->many != ONE && (given.wave || given.all);
}

/* How many of the arguments are names. */
static int count_names_option(const struct command *command, int arguments)
{
	if (is_for_all(command))
		return 0;
	if (command->many == ONE || command->own < 0)
		return MIN(arguments, 1);
	return arguments - command->own;
}

/* What is of one volume only. */
static gboolean check_many(const struct command *command)
{
	const char *option = given.socket			      ? "socket"
			     : given.verbose			      ? "verbose"
			     : given.json && command->many != AT_ONCE ? "json"
								      : NULL;

	if (option)
		return ctl_complain("%s: --%s needs the NAME of one volume", command->name, option);
	return strcmp(command->name, "errors") || given.summary ||
	       ctl_complain("errors: of several volumes there is a --summary only: give that, or "
			    "one NAME");
}

static gboolean check_usage(const struct command *command, int arguments)
{
	const char *refused = needless_option(command);
	const bool all = is_for_all(command);
	const int own = MAX(command->own, 0);

	if (all && (arguments != own || (given.all && given.wave)))
		return ctl_complain("usage: " PROGRAM " %s --all or --wave=W, without names%s",
				    command->name, own ? ", and the last argument" : "");
	if (!all && (arguments < command->min || arguments > command->max))
		return ctl_complain("usage: " PROGRAM " %s %s", command->name, command->arguments);
	if (refused)
		return ctl_complain("%s takes no --%s; see " PROGRAM " %s --help", command->name,
				    refused, command->name);
	return TRUE;
}

/* Each restart costs NFSv4 clients a time of grace, and one can do for all. */
static void say_restart(enum ctl_exit result)
{
	puts(result ? "not all are finished: leave the file servers' configuration as it is until "
		      "they are, so that one restart, and one grace period, does for all"
		    : "all are finished: take the layer out of the file servers' configuration for "
		      "all of them at once: one restart, and one grace period, does");
}

/* Chooses the volumes, and does it. */
static enum ctl_exit run_command(const struct command *command, int argc, char **argv)
{
	const int names = count_names_option(command, argc);
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

	for (int i = 0; i < names; i++)
		g_strv_builder_add(builder, argv[i]);
	g_auto(GStrv) list = g_strv_builder_end(builder);
	given.arguments = argv + names;
	if (command->many == ONE || (names == 1 && command->own < 0)) {
		given.volume = names ? argv[0] : NULL;
		return command->run(&given);
	}
	if (!ctl_choose(&given, list))
		return CTL_USAGE;
	if (given.many && !check_many(command))
		return CTL_USAGE;
	given.volume = given.volumes[0];
	if (given.many && command->many == SAID)
		ctl_announce(&given, command->name);
	if (command->many == AT_ONCE)
		return command->run(&given);
	enum ctl_exit result = ctl_in_turn(&given, command->run);
	if (given.many && command->run == finalize_volume)
		say_restart(result);
	return result;
}

int main(int argc, char **argv)
{
	g_log_writer_default_set_use_stderr(TRUE);
	if (!parse_options(&argc, &argv))
		return CTL_USAGE;
	if (print_version) {
		printf(PROGRAM " %s\n", QUICKMIGRATE_VERSION);
		return CTL_OK;
	}
	const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;
	if (print_help && (command || argc == 1)) {
		command ? print_usage(command) : print_commands();
		return CTL_OK;
	}
	if (!command) {
		ctl_complain("%s%s; see " PROGRAM " --help",
			     argc > 1 ? "no such command: " : "give a command",
			     argc > 1 ? argv[1] : "");
		return CTL_USAGE;
	}
	if (!check_usage(command, argc - 2))
		return CTL_USAGE;
	if (geteuid() != 0 && !given.check && !command->watching) {
		ctl_complain("%s: must be run as root; use sudo (" CTL_WHO_MAY ")", command->name);
		return CTL_USAGE;
	}
	return run_command(command, argc - 2, argv + 2);
}
