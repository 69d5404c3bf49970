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

struct ctl {
	const char *config_file; /* NULL: the usual one */
	const char *socket;	 /* NULL: as the configuration says */
	/* As they were given: 0 or NULL, if not. */
	gboolean watch, json, same, all, summary, verbose, follow;
	gboolean adopt, keep_extra, accept, restore, discard; /* of attach, copy, aside */
	gboolean settle, plan;				      /* of changes, rollback */
	gboolean content, stop;				      /* of verify */
	gboolean list;					      /* of verify, rollback */
	gboolean final, check;				      /* of report */
	gboolean unwatched;				      /* of finalize */
	const char *compare;				      /* of attach, cluster */
	const char *reason, *below;			      /* of errors, retry, skip */
	gboolean leave;					      /* of skip */
	const char *because;				      /* likewise */
	const char *id;					      /* of trace: PEER:ID */
	const char *sample, *seed;			      /* of verify --content */
	const char *to;					      /* of rollback; NULL: as configured */
	const char *output, *key;			      /* of report --final; check */
	const char *signers, *tree;			      /* of report --check */
	const char *tool;				      /* of backup-list, cluster */
	const char *nodes;				      /* of cluster */
	const char *doors;				      /* likewise */
	const char *textfile;				      /* of metrics */
	gboolean apply;					      /* of quota */
	const char *target, *password_file;		      /* of check URL, discover */
	const char *bandwidth, *requests;		      /* of check */
	gboolean progress, anew;			      /* of check */
	const char *smb_user, *wait;			      /* of discover */
	const char *draft, *exports, *smb_conf;		      /* likewise */
	const char *wave;				      /* of commands for several volumes */
	const char *volume; /* the one, or that whose turn it is; NULL: none was named */
	char **volumes;	    /* all that were chosen; NULL-terminated */
	bool many;	    /* they are not one */
	char **arguments;   /* that follow it; NULL-terminated */
};

/* One line on stderr, with the program's name before it.  FALSE. */
gboolean ctl_complain(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* ---- asking (link.c) -------------------------------------------------------------- */

struct ctl_link;

/* The volume's socket, or NULL with a line on stderr.  g_free. */
char *ctl_socket(const struct ctl *ctl, const char *volume);
/* Whether it is not forbidden to this process: only then is it known who listens there. */
bool ctl_may_connect(const char *socket);
/* Connects later.  NULL with *result set and a line on stderr.  volume is copied. */
struct ctl_link *ctl_link_open(const struct ctl *ctl, const char *volume, enum ctl_exit *result);
void ctl_link_close(struct ctl_link *link);
/*
 * Sends a command and waits for its answer, however long the retriever takes as long as it is
 * there.  CTL_OK and *reply (may be NULL; else to be freed), or another status; then a line is
 * printed on stderr unless quiet.
 */
enum ctl_exit ctl_ask(struct ctl_link *link, const char *command, bool quiet, GKeyFile **reply);
/* The same with a link of its own. */
enum ctl_exit ctl_ask_once(const struct ctl *ctl, const char *command, GKeyFile **reply);
/* After CTL_NO_RETRIEVER: there is one that does not answer. */
bool ctl_link_is_silent(const struct ctl_link *link);
/* The retriever's answer, cut to whole lines; NULL: it makes no sense. */
GKeyFile *ctl_parse(char *text);
/* What a status of an answer means: -ENOTCONN: nobody is there; -ETIME: somebody, who does not
 * answer; -EPROTO: of another version; any other: refused, and text says why. */
void ctl_complain_of(const char *name, int status, const char *text);
enum ctl_exit ctl_exit_of(int status);
/* How long a retriever may be absent, which may be starting or restarting; and how long one that
 * listens may take to say hello, which may have a busy machine. */
#define CTL_ABSENT_MS 3000
#define CTL_SILENT_MS 15000

/* ---- several volumes (choose_volumes.c)
 * ------------------------------------------------------------
 */

/* Which volumes a command is for: those that are named, or those of ctl->wave, or all.  FALSE with
 * a line on stderr. */
gboolean ctl_choose(struct ctl *ctl, char **names);
/* One after the other, whatever becomes of those before; the worst of all. */
enum ctl_exit ctl_in_turn(struct ctl *ctl, enum ctl_exit (*run)(const struct ctl *ctl));
void ctl_announce(const struct ctl *ctl, const char *command);
/* Asks all of them at once, and says so when it is done, in one line each: NAME in text is the
 * volume's. */
enum ctl_exit ctl_ask_and_say(const struct ctl *ctl, const char *command, const char *text);

/* Calls each for every failure that the retriever lists. */
typedef void (*ctl_error_fn)(void *arg, const char *path, const char *reason);
enum ctl_exit ctl_each_error(const struct ctl *ctl, struct ctl_link *link, ctl_error_fn each,
			     void *arg);

/* "1%" or "0.5" of CTL_SAMPLE_ALL.  FALSE, and a line on stderr: it is neither. */
#define CTL_SAMPLE_ALL 100000
bool ctl_parse_sample(const char *command, const char *text, unsigned *sample);

/* --reason and --below as lines of a command (errors_filter_take()). */
void ctl_add_filter(const struct ctl *ctl, GPtrArray *lines);
/* Whether they can be sent; else says why not. */
bool ctl_check_filter(const struct ctl *ctl, const char *command);

/* Percent: how surely a sample of n files would have had one that differs, if CTL_FRACTION of all
 * files differed. */
#define CTL_FRACTION 0.001
double ctl_confidence(uint64_t n);

/* ---- commands -------------------------------------------------------------------------------- */

enum ctl_exit ctl_status(const struct ctl *ctl);
/* of many volumes (overview.c) */
enum ctl_exit ctl_overview(const struct ctl *ctl);
enum ctl_exit ctl_errors(const struct ctl *ctl);
enum ctl_exit ctl_report(const struct ctl *ctl);
/* report --final (final.c), and report --check (report_check.c), which needs no rights */
enum ctl_exit ctl_final(const struct ctl *ctl);
enum ctl_exit ctl_check(const struct ctl *ctl);
enum ctl_exit ctl_skip(const struct ctl *ctl);
/* check: CTL_OK: go, CTL_REFUSED: with losses, CTL_USAGE: stop. */
enum ctl_exit ctl_survey(const struct ctl *ctl);
enum ctl_exit ctl_trace(const struct ctl *ctl);
enum ctl_exit ctl_attach(const struct ctl *ctl);
enum ctl_exit ctl_copy(const struct ctl *ctl);
enum ctl_exit ctl_aside(const struct ctl *ctl);
enum ctl_exit ctl_verify(const struct ctl *ctl);
enum ctl_exit ctl_retry(const struct ctl *ctl);
/* What verify --content has found at path is made right. */
enum ctl_exit ctl_mend(const struct ctl *ctl, const char *path);
enum ctl_exit ctl_rollback(const struct ctl *ctl);
enum ctl_exit ctl_backup_list(const struct ctl *ctl);
enum ctl_exit ctl_metrics(const struct ctl *ctl);
enum ctl_exit ctl_quota(const struct ctl *ctl);
enum ctl_exit ctl_cutover(const struct ctl *ctl);
/* "volume" is "check" or "config", and the volumes are arguments. */
enum ctl_exit ctl_cluster(const struct ctl *ctl);
/* "volume" is the old server's name. */
enum ctl_exit ctl_discover(const struct ctl *ctl);

/* Adds to a status how far the old server follows, where it does; and prints that. */
void ctl_rollback_status(const struct ctl *ctl, const char *volume, GKeyFile *status);
void ctl_rollback_print_status(GKeyFile *status);
enum ctl_exit ctl_changes(const struct ctl *ctl);
enum ctl_exit ctl_commit(const struct ctl *ctl);
/* A volume was attached: its journal begins anew.  Says what is wrong. */
enum ctl_exit ctl_journal_begin(const struct ctl *ctl);
/* Adds [journal] of the volume to its status.  Whether there is one. */
bool ctl_journal_state(const struct ctl *ctl, GKeyFile *status);
/* What was done until now is in the journal, if one runs and is not in trouble. */
void ctl_journal_wait(const struct ctl *ctl);
/* [journal] in a line, g_free. */
char *ctl_journal_text(GKeyFile *status);
enum ctl_exit ctl_takeover(const struct ctl *ctl);
/* The volume was attached: the file of takeover handles is made, where the configuration wants it.
 */
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

/* ---- printing (print.c) ----------------------------------------------------------- */

uint64_t ctl_number(GKeyFile *reply, const char *group, const char *key);
bool ctl_yes(GKeyFile *reply, const char *group, const char *key);
/* The value or "". */
char *ctl_text(GKeyFile *reply, const char *group, const char *key);
/* "1.2 GiB" */
char *ctl_bytes(uint64_t bytes);
/* Seconds until all is whole, or -1 where that cannot be told. */
int64_t ctl_remaining(GKeyFile *status);
/* Nothing more happens by itself: whole, finished, or copied. */
bool ctl_is_settled(GKeyFile *status);
/* "request N" of a status, which stand at its end. */
bool ctl_is_request(const char *group);
/* The groups as objects, '-' in keys as '_'; numbers and truth values as such but in [volume].
 * requests: those as an array. */
JsonNode *ctl_json(GKeyFile *reply, bool requests);
/* Prints and frees. */
void ctl_print_json(JsonNode *node, bool pretty);

#endif
