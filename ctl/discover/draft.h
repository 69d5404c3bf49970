/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Drafts of configurations of the new server, made from what an old server has, to be edited.  What
 * cannot stand in one of them is a comment there that says so.  Exports come with all of their
 * rules: an export without a rule is for everybody.
 */
#ifndef CTL_DISCOVER_DRAFT_H
#define CTL_DISCOVER_DRAFT_H

#include "ctl/discover/inventory.h"

#define DRAFT_FIRST_ID 101 /* Export_Id */

struct draft {
	const char *host;
	const char *user;   /* of SMB, or NULL: one is made up */
	GPtrArray *volumes; /* struct draft_volume */
};

struct draft_volume {
	char *name, *root;
	const struct inventory_export *export; /* or NULL */
	GPtrArray *shares;		       /* struct draft_share */
};

struct draft_share {
	const struct inventory_share *share;
	char *path; /* here */
};

/* found must outlive it. */
struct draft *draft_new(const char *host, const char *user, const struct inventory *found);
void draft_free(struct draft *draft);

/* Groups of quickmigrate.conf, EXPORT blocks of ganesha.conf (draft_exports.c), and shares of
 * smb.conf (draft_shares.c).  g_free. */
char *draft_volumes(const struct draft *draft);
char *draft_exports(const struct draft *draft);
char *draft_shares(const struct draft *draft);

/* One EXPORT block of volume->export, and one share of the volume: without an export it comes by
 * SMB. volume->root must be one that can stand there.  *deaf: see draft_exports.c, false at first.
 */
void draft_add_export(GString *out, const struct draft_volume *volume, unsigned id, bool *deaf);
void draft_add_share(GString *out, const struct draft_volume *volume,
		     const struct draft_share *entry);

#endif
