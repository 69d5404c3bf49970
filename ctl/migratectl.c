/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "lib/config/config.h"

/* In the order of the help. */
static const struct command *const commands[] = {
	&discover_command,    &volumes_command,	 &map_ids_command,  &check_command,
	&copy_command,	      &cutover_command,	 &takeover_command, &attach_command,
	&status_command,      &doctor_command,	 &metrics_command,  &errors_command,
	&trace_command,	      &report_command,	 &rules_command,    &retry_command,
	&skip_command,	      &aside_command,	 &accept_command,   &fetch_command,
	&throttle_command,    &pause_command,	 &resume_command,   &verify_command,
	&backup_list_command, &rollback_command, &finalize_command, &quota_command,
	&changes_command,     &commit_command,	 &abandon_command,  &doors_command,
	&cluster_command,
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

/* Prints a list that fits a screen, and has nothing about single commands. */
static void print_commands(void)
{
	puts("Usage: " PROGRAM " COMMAND [OPTION...] [NAME...]; COMMAND --help. Commands:");
	for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
		if (!(commands[i]->flags & CTL_UNLISTED))
			printf("  %-12s %s\n", commands[i]->name, commands[i]->help);
}

/* ---- options --------------------------------------------------------------------------------- */

static gboolean print_version, print_help;

/* Options of every command: those before its own, and those behind them. */
static const GOptionEntry first_options[] = {
	CTL_FILE("config", ctl_given.config_file, "Instead of " CONFIG_FILE, "FILE"),
	CTL_FILE("socket", ctl_given.socket, "The retriever's socket, if not as configured",
		 "PATH"),
	{NULL},
};
static const GOptionEntry version_option[] = {
	CTL_FLAG("version", print_version, "Print the version"),
	{NULL},
};
static const GOptionEntry help_option[] = {
	{"help", 'h', 0, G_OPTION_ARG_NONE, &print_help, NULL, NULL},
	{NULL},
};

static bool has_option(const GOptionEntry *options, const char *argument, bool takes_value)
{
	for (; options && options->long_name; options++)
		if (!strcmp(options->long_name, argument + strlen("--")))
			return (options->arg != G_OPTION_ARG_NONE) == takes_value;
	return false;
}

/* Whether the next argument is this one's value, whichever command it is of.  A command that has
 * the option without a value is the command. */
static bool takes_next(const char *argument, const char *next)
{
	const struct command *command = find_command(next);
	bool takes = has_option(first_options, argument, true);

	if (command && has_option(command->options, argument, false))
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
		takes = takes || has_option(commands[i]->options, argument, true);
	return takes;
}

/* The first argument that is neither an option nor one's value, or NULL: options may stand before
 * it. */
static const char *command_name(char **argv)
{
	for (char **argument = argv + 1; *argument; argument++) {
		if (!strcmp(*argument, "--"))
			return argument[1];
		if (**argument != '-')
			return *argument;
		if (g_str_has_prefix(*argument, "--") && argument[1] &&
		    takes_next(*argument, argument[1]))
			argument++;
	}
	return NULL;
}

/* command: may be NULL. */
static GOptionContext *command_options(const struct command *command)
{
	GOptionContext *context = g_option_context_new(command ? command->arguments : NULL);

	g_option_context_add_main_entries(context, first_options, NULL);
	if (command && command->options)
		g_option_context_add_main_entries(context, command->options, NULL);
	g_option_context_add_main_entries(context, version_option, NULL);
	return context;
}

static gboolean parse_options(const struct command *command, int *argc, char ***argv)
{
	g_autoptr(GOptionContext) context = command_options(command);
	g_autoptr(GError) error = NULL;

	g_option_context_set_help_enabled(context, FALSE); /* it would exit by itself */
	g_option_context_add_main_entries(context, help_option, NULL);
	if (g_option_context_parse(context, argc, argv, &error))
		return TRUE;
	const char *option = strchr(error->message, '-');
	if (command && option &&
	    g_error_matches(error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION))
		return ctl_complain("%s takes no %.*s; see " PROGRAM " %s --help", command->name,
				    (int)strcspn(option, "="), option, command->name);
	return ctl_complain("%s; see " PROGRAM " --help", error->message);
}

static void print_usage(const struct command *command)
{
	g_autoptr(GOptionContext) context = command_options(command);
	g_autofree char *program = g_strdup_printf(PROGRAM " %s", command->name), *text = NULL;
	g_autofree char *more = g_strdup_printf(
		"Example: " PROGRAM " %s\nChanges: %s\nExit status: %s", command->example,
		command->changes, command->exits ? command->exits : CTL_EXITS);

	g_set_prgname(program);
	g_option_context_set_description(context, more);
	g_option_context_set_summary(context, command->help);
	text = g_option_context_get_help(context, TRUE, NULL);
	fputs(text, stdout);
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Whether the volumes are not named. */
static bool is_for_all(void)
{
	return ctl_given.wave || ctl_given.all;
}

/* How many of the arguments are names. */
static int count_volume_names(const struct command *command, int arguments)
{
	if (is_for_all())
		return 0;
	if (!(command->flags & CTL_SEVERAL) || command->own < 0)
		return MIN(arguments, 1);
	return arguments - command->own;
}

static gboolean check_usage(const struct command *command, int arguments)
{
	const int own = MAX(command->own, 0);

	if (is_for_all() && (arguments != own || (ctl_given.all && ctl_given.wave)))
		return ctl_complain("usage: " PROGRAM " %s --all or --wave=W, without names%s",
				    command->name, own ? ", and the last argument" : "");
	if (!is_for_all() && (arguments < command->min || arguments > command->max))
		return ctl_complain("usage: " PROGRAM " %s %s", command->name, command->arguments);
	return TRUE;
}

/* Refuses, for several volumes, what is for one volume only. */
static gboolean check_many(const struct command *command)
{
	const char *option = ctl_given.socket				   ? "socket"
			     : ctl_given.json && command->flags & CTL_EACH ? "json"
									   : NULL;

	return !option ||
	       ctl_complain("%s: --%s needs the NAME of one volume", command->name, option);
}

/* Chooses the volumes, and runs the command. */
static enum ctl_exit run_command(const struct command *command, int argc, char **argv)
{
	const int names = count_volume_names(command, argc);
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

	for (int i = 0; i < names; i++)
		g_strv_builder_add(builder, argv[i]);
	g_auto(GStrv) list = g_strv_builder_end(builder);
	ctl_given.arguments = argv + names;
	if (!(command->flags & CTL_SEVERAL) || (names == 1 && command->own < 0)) {
		ctl_given.volume = names ? argv[0] : NULL;
		return command->run(&ctl_given);
	}
	if (!ctl_choose(&ctl_given, list) || (ctl_given.many && !check_many(command)))
		return CTL_USAGE;
	ctl_given.volume = ctl_given.volumes[0];
	return command->flags & CTL_EACH ? ctl_in_turn(&ctl_given, command->run)
					 : command->run(&ctl_given);
}

int main(int argc, char **argv)
{
	const char *name = command_name(argv);
	const struct command *command = name ? find_command(name) : NULL;

	g_log_writer_default_set_use_stderr(TRUE);
	if (name && !command) {
		ctl_complain("no such command: %s; see " PROGRAM " --help", name);
		return CTL_USAGE;
	}
	if (!parse_options(command, &argc, &argv))
		return CTL_USAGE;
	if (print_version) {
		printf(PROGRAM " %s\n", QUICKMIGRATE_VERSION);
		return CTL_OK;
	}
	if (print_help) {
		command ? print_usage(command) : print_commands();
		return CTL_OK;
	}
	if (!command) {
		ctl_complain("give a command; see " PROGRAM " --help");
		return CTL_USAGE;
	}
	if (!check_usage(command, argc - 2))
		return CTL_USAGE;
	if (geteuid() != 0 && !(command->flags & CTL_MONITORS) &&
	    !(command->rootless && *command->rootless)) {
		ctl_complain("%s: must be run as root; use sudo (" CTL_WHO_MAY ")", command->name);
		return CTL_USAGE;
	}
	return run_command(command, argc - 2, argv + 2);
}
