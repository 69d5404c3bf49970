/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of migratectl have in common. */
#ifndef CTL_CTL_H
#define CTL_CTL_H

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

#define PROGRAM	    "migratectl"
#define CTL_WHO_MAY "members of the group " MONITOR_GROUP " may ask for status and metrics"

/* Exit statuses; migratectl(8) promises them. */
enum ctl_exit {
	CTL_OK = 0,
	CTL_REFUSED = 1, /* the retriever refused or failed, or verify found something unfinished */
	CTL_USAGE = 2,	 /* a wrong option, argument or configuration */
	CTL_NO_RETRIEVER = 3, /* nobody answers on the volume's socket */
	CTL_SOME_LEFT = 4,    /* rollback is through, and has left what it lists */
};

/* What all commands are given. */
struct ctl {
	const char *config_file; /* NULL: the usual one */
	const char *socket;	 /* NULL: as the configuration says */
	gboolean json, accept;	 /* of the commands that have them */
	gboolean yes, dry_run;	 /* of these, too: do not ask; only say what would be done */
	const char *reason, *below, *code; /* of errors, retry, skip; NULL: not given */
	gboolean all;	    /* or wave, of commands for several volumes: instead of their names */
	const char *wave;   /* NULL: not given */
	const char *volume; /* the only one, or the one whose turn it is; NULL: none was named */
	char **volumes;	    /* all chosen ones; NULL-terminated */
	bool many;	    /* there is not exactly one */
	char **arguments;   /* that follow the volumes; NULL-terminated */
};

/* Each command is at the end of the file of its name. */
struct command {
	const char *name;
	const char *arguments; /* for the help */
	int min, max;	       /* arguments */
	const char *help;
	const GOptionEntry *options; /* in the order of the help, {NULL} at their end; or NULL */
	enum {
		CTL_EACH = 1,	  /* for several volumes: one after the other */
		CTL_AT_ONCE = 2,  /* for several volumes, all at once; or for one, or none */
		CTL_UNLISTED = 4, /* a unit runs it, and hardly anybody else */
		CTL_MONITORS = 8, /* members of MONITOR_GROUP may do it, too, not root alone */
	} flags;
	/* For the help, each in a line of at most 80 columns: the command with its arguments; what
	 * it changes; the exit statuses (NULL: CTL_EXITS). */
	const char *example, *changes, *exits;
	int own; /* arguments behind the names of several volumes; -1: all but the first name */
	const gboolean *rootless; /* the option with which everybody may do it */
	enum ctl_exit (*run)(const struct ctl *ctl);
};
#define CTL_EXITS_ALONE                                                                            \
	"0 done, 1 refused or failed, 2 wrong usage" /* of commands that ask no retriever */
#define CTL_EXITS   CTL_EXITS_ALONE ", 3 no retriever"
#define CTL_SEVERAL (CTL_EACH | CTL_AT_ONCE)
/* NAME_command, which run_NAME() does. */
#define CTL_COMMAND(id, ...) const struct command id##_command = {__VA_ARGS__, .run = run_##id}

extern const struct command abandon_command, accept_command, aside_command, attach_command,
	backup_list_command, changes_command, check_command, cluster_command, commit_command,
	copy_command, cutover_command, discover_command, doctor_command, doors_command,
	errors_command, fetch_command, finalize_command, map_ids_command, metrics_command,
	pause_command, quota_command, report_command, resume_command, retry_command,
	rollback_command, rules_command, skip_command, status_command, takeover_command,
	throttle_command, trace_command, verify_command, volumes_command;

/* Entries of a table of options, with their variables. */
#define CTL_FLAG(name, variable, help)                                                             \
	{                                                                                          \
		name, 0, 0, G_OPTION_ARG_NONE, &(variable), help, NULL                             \
	}
#define CTL_STRING(name, variable, help, value)                                                    \
	{                                                                                          \
		name, 0, 0, G_OPTION_ARG_STRING, &(variable), help, value                          \
	}
#define CTL_FILE(name, variable, help, value)                                                      \
	{                                                                                          \
		name, 0, 0, G_OPTION_ARG_FILENAME, &(variable), help, value                        \
	}
/* Options that several commands have; ctl_given is for these alone. */
extern struct ctl ctl_given;
#define CTL_OPTION_JSON	   CTL_FLAG("json", ctl_given.json, "print JSON")
#define CTL_OPTION_ACCEPT  CTL_FLAG("accept", ctl_given.accept, "what it stops for is right")
#define CTL_OPTION_YES	   CTL_FLAG("yes", ctl_given.yes, "do not ask")
#define CTL_OPTION_DRY_RUN CTL_FLAG("dry-run", ctl_given.dry_run, "only say what would be done")
#define CTL_OPTIONS_VOLUMES                                                                        \
	CTL_FLAG("all", ctl_given.all, "every volume"),                                            \
		CTL_STRING("wave", ctl_given.wave, "Instead of NAME: every volume with wave = W",  \
			   "W")
#define CTL_OPTIONS_FILTER                                                                         \
	CTL_STRING("reason", ctl_given.reason, "those whose reason contains TEXT", "TEXT"),        \
		CTL_FILE("below", ctl_given.below, "those of DIRECTORY and what is below it",      \
			 "DIRECTORY"),                                                             \
		CTL_STRING("code", ctl_given.code, "those with that code (QM1201)", "CODE")
/* For commands that have no other options. */
extern const GOptionEntry ctl_options_volumes[];

/* Prints one line on stderr, with the program's name before it.  Returns FALSE. */
gboolean ctl_complain(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* A file's text; NULL with a complaint.  !needed: "" of one that is not there.  g_free. */
char *ctl_read_text(const char *file, bool needed);
/* Prints in the same way what might come next, where nothing went wrong; only if stdout and stderr
 * are a terminal, so that it is not in the midst of what another program shows of the output. */
void ctl_hint(const char *format, ...) G_GNUC_PRINTF(1, 2);

/*
 * Asks before something is done that cannot be undone, in a command that has CTL_OPTION_YES.  The
 * text says which volume, and what will be gone; it has no full stop.  CTL_OK: go on: --yes was
 * given, or somebody at the terminal agreed.  Otherwise do nothing: a line on stderr says why;
 * without a terminal the line names --yes.
 */
enum ctl_exit ctl_confirm(const struct ctl *ctl, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* ---- asking (link.c) -------------------------------------------------------------- */

struct ctl_link;
struct volume_config;

/* The volume's socket, or NULL with a line on stderr.  g_free. */
char *ctl_socket(const struct ctl *ctl, const char *volume);
/* Whether this process may connect to the socket: only then is it known who listens there. */
bool ctl_may_connect(const char *socket);
/* Connects later.  NULL with *result set and a line on stderr.  volume is copied. */
struct ctl_link *ctl_link_open(const struct ctl *ctl, const char *volume, enum ctl_exit *result);
void ctl_link_close(struct ctl_link *link);
/*
 * Sends a command and waits for its answer: without a limit, while the retriever is there.  CTL_OK
 * and *reply (may be NULL; else to be freed), or another status; then a line is printed on stderr
 * unless quiet.
 */
enum ctl_exit ctl_ask(struct ctl_link *link, const char *command, bool quiet, GKeyFile **reply);
/* The same with a link of its own. */
enum ctl_exit ctl_ask_once(const struct ctl *ctl, const char *command, GKeyFile **reply);
/* After CTL_NO_RETRIEVER: whether there is a retriever, which does not answer. */
bool ctl_link_is_silent(const struct ctl_link *link);
/* The retriever's answer, cut to whole lines; NULL: it makes no sense. */
GKeyFile *ctl_parse(char *text);
/* The volume's configuration, or NULL with a line on stderr.  config_free(). */
struct volume_config *ctl_config(const struct ctl *ctl);
/* The same without a line; also NULL with --socket, as nobody knows then whose socket it is. */
struct volume_config *ctl_known_config(const struct ctl *ctl);
/* The first of the paths that loading it looks at, roots and a file:// source, that does not answer
 * within 5 s: who went on would hang.  NULL: all answer.  g_free. */
char *ctl_silent_path(const struct ctl *ctl, const char *volume);
#define CTL_SILENT_PATH "%s does not answer within 5 s: its mount is dead"
#define CTL_SILENT_WHAT "bring back the server of that mount, or unmount it (umount -f)"
/* Prints what the status of an answer means: -ENOTCONN: there is no retriever; -ETIME: there is
 * one, which does not answer; -EPROTO: it is of another version; any other: it refused, and text
 * says why. */
void ctl_complain_of(const char *name, int status, const char *text);
enum ctl_exit ctl_exit_of(int status);
/* How long a retriever may be absent, as it may be starting or restarting; and how long one that
 * listens may take to say hello, as its machine may be busy. */
#define CTL_ABSENT_MS 3000
#define CTL_SILENT_MS 15000

/* ---- several volumes (choose_volumes.c) ---- */

/* Which volumes a command is for: those that are named, or those of ctl->wave, or all.  FALSE with
 * a line on stderr. */
gboolean ctl_choose(struct ctl *ctl, char **names);
/* Runs a command for one volume after the other, whatever became of those before; returns the worst
 * status. */
enum ctl_exit ctl_in_turn(const struct ctl *ctl, enum ctl_exit (*run)(const struct ctl *ctl));
/* If a command is for several volumes, says so. */
void ctl_announce(const struct ctl *ctl, const char *command);
/* Asks the retrievers of all volumes at once, and prints one line for each that has done it: NAME
 * in text is replaced by the volume's name. */
enum ctl_exit ctl_ask_and_say(const struct ctl *ctl, const char *command, const char *text);

/* Calls each for every failure that the retriever lists. */
typedef void (*ctl_error_fn)(void *arg, const char *path, const char *reason);
enum ctl_exit ctl_each_error(const struct ctl *ctl, struct ctl_link *link, ctl_error_fn each,
			     void *arg);

/* Parses a share of CTL_SAMPLE_ALL: "1%" or "0.5".  FALSE, and a line on stderr: it is neither. */
#define CTL_SAMPLE_ALL 100000
bool ctl_parse_sample(const char *command, const char *text, unsigned *sample);

/* Adds --reason, --below and --code as lines of a command (errors_filter_take()). */
void ctl_add_filter(const struct ctl *ctl, GPtrArray *lines);
/* Whether these can be sent; if not, says why. */
bool ctl_check_filter(const struct ctl *ctl, const char *command);

/* CTL_REFUSED, and a line on stderr: --code is given, and the retriever is of a release that takes
 * it for nothing.  Asks the retriever. */
enum ctl_exit ctl_check_codes(const struct ctl *ctl);

/* Percent: how likely a sample of n files would have had one that differs, if CTL_FRACTION of all
 * files differed. */
#define CTL_FRACTION 0.001
double ctl_confidence(uint64_t n);

/* ---- what commands have of each other ---- */

/* Runs a crawler with that option (NULL: none) to its end.  CTL_USAGE: it left something. */
enum ctl_exit ctl_run_crawler(const struct ctl *ctl, const char *option);
/* Adds a group CTL_FETCH N for each list of fetch to a status, for root. */
#define CTL_FETCH "fetch "
void ctl_fetch_state(GKeyFile *status);
/* status of many volumes (overview.c); csv: as a table, of one volume, too */
enum ctl_exit ctl_overview(const struct ctl *ctl, bool watch, bool csv);
/* Where the list of losses is, by the configuration; NULL: that is not known.  g_free.  (report.c)
 */
char *ctl_report_path(const struct ctl *ctl);
/* report --final (final.c); key: NULL: it is not signed */
enum ctl_exit ctl_final(const struct ctl *ctl, const char *output, const char *key);

/* Adds to a status how far the old server follows, if it does; the second function prints that. */
void ctl_rollback_status(const struct ctl *ctl, const char *volume, GKeyFile *status);
void ctl_rollback_print_status(GKeyFile *status);
/*
 * Lists, as `changes` does, the changes for which wanted() is true, max at most; *count: how many
 * there are.  false with *error.
 */
struct journal_reader;
struct journal_row;
bool ctl_list_changes(const struct ctl *ctl, const struct volume_config *config,
		      struct journal_reader *reader,
		      bool (*wanted)(void *arg, const struct journal_row *row), void *arg,
		      uint64_t max, uint64_t *count, GError **error);
/* Call it when a volume was attached: its journal begins anew.  Says what is wrong. */
enum ctl_exit ctl_journal_begin(const struct ctl *ctl);
/* Adds [journal] of the volume to its status.  Whether there is a journal. */
bool ctl_journal_state(const struct ctl *ctl, GKeyFile *status);
/* Waits until what was done so far is in the journal, if one runs and is not in trouble. */
void ctl_journal_wait(const struct ctl *ctl);
/* [journal] in a line, g_free. */
char *ctl_journal_text(GKeyFile *status);
/* Call it when the volume was attached: makes the file of takeover handles, if the configuration
 * asks for it. */
enum ctl_exit ctl_takeover_attached(const struct ctl *ctl);
bool ctl_takeover_is_on(const struct ctl *ctl);
/* Adds [takeover] of the volume to its status, where there are takeover handles. */
void ctl_takeover_state(const struct ctl *ctl, GKeyFile *status);
/* [takeover] in a line, g_free; NULL: there is none. */
char *ctl_takeover_text(GKeyFile *status);
/* Adds [guard] of the volume to its status, where its configuration is known. */
void ctl_guard_state(const struct ctl *ctl, GKeyFile *status);
/* [guard] in a line, g_free; NULL: there is none. */
char *ctl_guard_text(GKeyFile *status);

/* Adds [doors] of the volume to its status, behind [guard], for root. */
void ctl_doors_state(const struct ctl *ctl, GKeyFile *status);
/* What servers are configured to serve is looked up once for all volumes, and after this again. */
void ctl_doors_forget(void);
/* [doors] in a line, g_free; NULL: there is none. */
char *ctl_doors_text(GKeyFile *status);

/* ---- printing (print.c) ----------------------------------------------------------- */

uint64_t ctl_number(GKeyFile *reply, const char *group, const char *key);
bool ctl_yes(GKeyFile *reply, const char *group, const char *key);
/* The value or "". */
char *ctl_text(GKeyFile *reply, const char *group, const char *key);
/* "1.2 GiB" */
char *ctl_bytes(uint64_t bytes);
/* Seconds since 1970: "2026-11-29 21:00:00", here; g_free. */
char *ctl_time(int64_t seconds);
#define CTL_NS 1000000000 /* in one */
/* "12 of 34 whole (35.3 %)", of bytes "here"; open: the total may still grow; "none" of nothing.
 * g_free. */
char *ctl_portion(uint64_t whole, uint64_t found, bool bytes, bool open);
/* Whether nothing more happens by itself: the volume is whole, finished, or copied. */
bool ctl_is_settled(GKeyFile *status);
/* Whether group is a "request N" of a status; these are at its end. */
bool ctl_is_request(const char *group);
/* The groups as objects, with '_' for '-' in keys; numbers and truth values are JSON's, except in
 * [volume].  requests: those become an array. */
JsonNode *ctl_json(GKeyFile *reply, bool requests);
/* Prints and frees. */
void ctl_print_json(JsonNode *node, bool pretty);

#endif
