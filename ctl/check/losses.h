/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of an old server's tree cannot come, and what comes and is worth knowing of: how many there
 * are of each kind, and the first LOSSES_SHOWN of them.  Any thread.
 */
#ifndef CTL_CHECK_LOSSES_H
#define CTL_CHECK_LOSSES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/report/losses.h"

#define LOSSES_SHOWN 1000

enum loss_kind {
	/* losses */
	LOSS_NAME,     /* a name that nothing can have here */
	LOSS_UNLISTED, /* a directory that the old server does not list */
	LOSS_UNASKED,  /* an object of which it does not say what it has */
	LOSS_UNREAD,   /* a file that it does not let us read */
	LOSS_TYPE,     /* neither file, directory, symbolic link nor special file */
	LOSS_LOOP,     /* a directory in itself */
	LOSS_SIZE,     /* a file longer than one can be there */
	LOSS_SYMLINK,  /* a symbolic link whose text is too long there */
	LOSS_LINKS,    /* more names than a file can have there */
	LOSS_STREAM,   /* an alternate data stream */
	LOSS_ACL,      /* and as in lib/report/losses.h */
	LOSS_XATTR,
	LOSS_SOURCE,
	LOSS_OWNER,
	LOSS_MODE,
	LOSS_TIME,
	LOSS_VOLUME,
	/* what comes all the same */
	LOSS_NOTES,
	NOTE_SMB_NAME = LOSS_NOTES, /* SMB clients see another name */
	NOTE_FOLDED,		    /* they see one of two names */
	NOTE_SPECIAL,		    /* a special file: nothing to them */
	NOTE_ELSEWHERE,		    /* its bytes are on tape, or in a cloud */
	NOTE_BUSY,		    /* somebody has it to himself just now, or "later" */
	NOTE_OWNER,		    /* an id that has no name here */
	NOTE_PATH,		    /* longer than a program can say at once */
	LOSS_KINDS
};

/* "name", "unlisted"... */
const char *loss_key(enum loss_kind kind);
/* For people. */
const char *loss_title(enum loss_kind kind);
/* The kind of a line of the report of losses. */
enum loss_kind loss_of_report(enum report_kind kind, const char *text);

struct loss_line {
	char *path, *text;
	uint64_t count; /* of LOSS_VOLUME and NOTE_OWNER: objects that it is true of; else 1 */
};

struct losses;

struct losses *losses_new(void);
void losses_free(struct losses *losses);

/* Anything may be in path and text.  The lines of LOSS_VOLUME and NOTE_OWNER have no path: those of
 * one text are one. */
void losses_add(struct losses *losses, enum loss_kind kind, const char *path, const char *text);
/* As many more, which are not shown. */
void losses_count(struct losses *losses, enum loss_kind kind, uint64_t more);

uint64_t losses_total(struct losses *losses, enum loss_kind kind);
/* Of struct loss_line; to be read when nothing is added any more. */
const GPtrArray *losses_first(const struct losses *losses, enum loss_kind kind);
/* Of all kinds that are losses; what holds for many objects counts once. */
uint64_t losses_sum(struct losses *losses);

void losses_save(struct losses *losses, GKeyFile *state);
/* Into new ones.  FALSE: it is damaged. */
bool losses_load(struct losses *losses, GKeyFile *state);

#endif
