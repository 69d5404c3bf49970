/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of migratectl have in common. */
#ifndef CTL_H
#define CTL_H

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

#define PROGRAM "migratectl"

/* Exit statuses; migratectl(8) promises them. */
enum ctl_exit {
	CTL_OK = 0,
	CTL_REFUSED = 1, /* the retriever refused or failed, or verify found something unfinished */
	CTL_USAGE = 2,	 /* a wrong option, argument or configuration */
	CTL_NO_RETRIEVER = 3, /* nobody answers on the volume's socket */
};

struct ctl {
	const char *config_file; /* NULL: the usual one */
	const char *socket;	 /* NULL: as the configuration says */
	bool watch, json, same, all, summary, verbose, follow, plan;
	bool adopt, keep_extra, accept, restore, discard; /* of attach, copy, aside */
	bool settle;					  /* of changes */
	const char *compare;				  /* of attach; NULL: size-mtime */
	const char *reason, *below;			  /* of errors; NULL: any */
	const char *id;					  /* of trace: PEER:ID; NULL: any */
	const char *to;					  /* of rollback; NULL: as configured */
	const char *volume; /* NULL only for commands that take none */
	char **arguments;   /* that follow it; NULL-terminated */
};

/* One line on stderr, with the program's name before it.  FALSE. */
gboolean ctl_complain(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* ---- asking (ctl_link.c) -------------------------------------------------------------- */

struct ctl_link;

/* The volume's socket, or NULL with a line on stderr.  g_free. */
char *ctl_socket(const struct ctl *ctl, const char *volume);
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

/* ---- commands -------------------------------------------------------------------------------- */

enum ctl_exit ctl_status(const struct ctl *ctl);
enum ctl_exit ctl_errors(const struct ctl *ctl);
enum ctl_exit ctl_report(const struct ctl *ctl);
enum ctl_exit ctl_skip(const struct ctl *ctl);
enum ctl_exit ctl_trace(const struct ctl *ctl);
enum ctl_exit ctl_attach(const struct ctl *ctl);
enum ctl_exit ctl_copy(const struct ctl *ctl);
enum ctl_exit ctl_aside(const struct ctl *ctl);
enum ctl_exit ctl_rollback(const struct ctl *ctl);

/* Adds to a status how far the old server follows, where it does; and prints that. */
void ctl_rollback_status(const struct ctl *ctl, const char *volume, GKeyFile *status);
void ctl_rollback_print_status(GKeyFile *status);
enum ctl_exit ctl_changes(const struct ctl *ctl);
enum ctl_exit ctl_commit(const struct ctl *ctl);
/* Adds [journal] of the volume to its status.  Whether there is one. */
bool ctl_journal_state(const struct ctl *ctl, GKeyFile *status);
/* [journal] in a line, g_free. */
char *ctl_journal_text(GKeyFile *status);

/* ---- printing (ctl_print.c) ----------------------------------------------------------- */

uint64_t ctl_number(GKeyFile *reply, const char *group, const char *key);
bool ctl_yes(GKeyFile *reply, const char *group, const char *key);
/* The value or "". */
char *ctl_text(GKeyFile *reply, const char *group, const char *key);
/* "1.2 GiB" */
char *ctl_bytes(uint64_t bytes);
/* Seconds until all is whole, or -1 where that cannot be told. */
int64_t ctl_remaining(GKeyFile *status);
/* "request N" of a status, which stand at its end. */
bool ctl_is_request(const char *group);
/* The groups as objects, '-' in keys as '_'; numbers and truth values as such but in [volume].
 * requests: those as an array. */
JsonNode *ctl_json(GKeyFile *reply, bool requests);
/* Prints and frees. */
void ctl_print_json(JsonNode *node, bool pretty);

#endif
