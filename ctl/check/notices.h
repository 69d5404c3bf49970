/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Notices of a survey: what of an old server's tree cannot come over, and what comes over and is
 * worth knowing of.  Each kind has its number, and the first NOTICES_SHOWN lines, NOTE_OWNERS
 * NOTICES_OWNERS.  Any thread.
 */
#ifndef CTL_CHECK_NOTICES_H
#define CTL_CHECK_NOTICES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/report/losses.h"

#define NOTICES_SHOWN  1000
#define NOTICES_OWNERS 65536

enum notice_kind {
	/* losses */
	NOTICE_UNLISTED, /* a directory that the old server does not list */
	NOTICE_NAME,	 /* a name that nothing can have here */
	NOTICE_UNASKED,	 /* an object whose attributes it does not tell */
	NOTICE_UNREAD,	 /* a file that it does not let us read */
	NOTICE_TYPE,	 /* neither a file, a directory, a symbolic link nor a special file */
	NOTICE_LOOP,	 /* a directory in itself */
	NOTICE_SIZE,	 /* a file longer than one can be there */
	NOTICE_SYMLINK,	 /* a symbolic link whose text is too long there */
	NOTICE_LINKS,	 /* more names than a file can have there */
	NOTICE_STREAM,	 /* an alternate data stream */
	NOTICE_ACL,	 /* this and the following as in lib/report/losses.h */
	NOTICE_XATTR,
	NOTICE_SOURCE,
	NOTICE_OWNER,
	NOTICE_MODE,
	NOTICE_TIME,
	NOTICE_RETENTION,
	NOTICE_VOLUME,
	/* what comes all the same */
	NOTICE_NOTES,
	NOTE_SMB_NAME = NOTICE_NOTES, /* SMB clients see another name */
	NOTE_FOLDED,		      /* they see one of two names */
	NOTE_SPECIAL,		      /* a special file: SMB clients do not see it */
	NOTE_ELSEWHERE,		      /* its bytes are on tape, or in a cloud */
	NOTE_BUSY,		      /* somebody has it open exclusively just now, or "later" */
	NOTE_OWNER,		      /* an id that has no name here */
	NOTE_PATH,		      /* a path that is longer than a program can give at once */
	NOTE_RULE,		      /* what a rule leaves out; the text is the rule */
	NOTE_OWNERS,		      /* an owner or group there, which is counted, and not shown */
	NOTICE_KINDS
};

/* "name", "unlisted"... */
const char *notice_key(enum notice_kind kind);
/* For people. */
const char *notice_title(enum notice_kind kind);
/* The kind of a line of the report of losses. */
enum notice_kind notice_of_loss(enum loss_kind kind, const char *text);

struct notice_line {
	char *path, *text;
	uint64_t count; /* of kinds without paths: objects that it is true of; else 1 */
	uint64_t bytes; /* of NOTE_RULE: in these, if they are files */
};

struct notices;

struct notices *notices_new(void);
void notices_free(struct notices *notices);

/* path and text may have any bytes.  Lines of NOTICE_VOLUME, NOTE_OWNER, NOTE_OWNERS and NOTE_RULE
 * have no path, and those with the same text are one line. */
void notices_add(struct notices *notices, enum notice_kind kind, const char *path,
		 const char *text);
/* Adds an object that the rule leaves out, with its bytes. */
void notices_add_rule(struct notices *notices, const char *rule, uint64_t bytes);
/* Counts `more` of the kind, which are not shown. */
void notices_count(struct notices *notices, enum notice_kind kind, uint64_t more);

uint64_t notices_total(struct notices *notices, enum notice_kind kind);
/* Of struct notice_line; read it when nothing is added any more. */
const GPtrArray *notices_first(const struct notices *notices, enum notice_kind kind);
/* The sum of all kinds that are losses; a line that holds for many objects counts once. */
uint64_t notices_sum(struct notices *notices);

void notices_save(struct notices *notices, GKeyFile *state);
/* Loads state into new notices.  FALSE: it is damaged. */
bool notices_load(struct notices *notices, GKeyFile *state);

#endif
