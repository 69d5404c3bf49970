/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the halves of rule_change() share: what leaves (rule_leave.h) and what is brought
 * (rule_bring.h).  All of it is on the slow thread.
 */
#ifndef RETRIEVER_COMPARE_RULE_CHANGE_STATE_H
#define RETRIEVER_COMPARE_RULE_CHANGE_STATE_H

#include "lib/config/rules.h"
#include "retriever/compare/clients.h"
#include "retriever/objects/retriever.h"

#define RULE_CHANGE_LOT 256 /* objects that wait for the journal and the disk together */

/* Of one rule. */
struct sum {
	uint64_t objects, bytes; /* here */
	uint64_t aside;		 /* of these: can go, or went */
	uint64_t left, brought;
};

struct change {
	struct retriever *retriever;
	const struct rules *rules;
	struct clients *clients;
	bool apply;
	char *root;	   /* the kernel's path of it, with which lines begin */
	GHashTable *sums;  /* the text of a rule -> struct sum */
	GHashTable *lines; /* those of rules that the report had */
	GHashTable *came;  /* of these, those that are to be taken back */
	GPtrArray *lot;	   /* of struct leaving */
	GKeyFile *told;
	size_t told_bytes;
	uint64_t aside, brought, stays, failed;
	char *unsettled;   /* why the journal tells nothing; it is not waited for again */
	char *top;	   /* the name in the root that is walked */
	char *covered_dir; /* the last directory that was asked for */
	bool covered;	   /* whether a rule names it, or one above it */
	char *twins_dir;   /* the last directory whose names were read, and these: */
	GHashTable *twins; /* a name in lower case -> the name */
};

/* That of the rule with this text; made if there is none.  The change's. */
struct sum *rule_change_sum(struct change *c, const char *rule);
/* Counts an object that stays, and tells why if there is room. */
void rule_change_tell(struct change *c, const char *path, const char *why);
/* "" and the name in the root; the caller's. */
void rule_change_split(const char *path, char **dir, char **name);

/* Why an object of which the journal says that stays; NULL: it may go. */
const char *rule_change_why(enum journal_answer answer);
/* Waits for the journal.  NULL: all that clients did until now counts; or why not, of the change.
 */
const char *rule_change_settle(struct change *c);
/* Why nothing may be done in the directory: clients made, or moved, it or one above it.  NULL: it
 * is the old server's of that path. */
const char *rule_change_why_directory(const struct change *c, int dir_fd);

#endif
