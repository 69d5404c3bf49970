/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Judges whether an object of the old server can come over as it is, by the code that would bring
 * it.  Any thread.
 */
#ifndef CTL_CHECK_JUDGE_H
#define CTL_CHECK_JUDGE_H

#include "ctl/check/fs_limits.h"
#include "ctl/check/notices.h"
#include "lib/config/volume_config.h"
#include "lib/source/source.h"

struct judge {
	const struct volume_config *config;
	struct limits limits;
	struct notices *notices;
	bool by_smb;	 /* the source is an SMB server, with names as SMB has them */
	size_t root_len; /* of the root's path here */
	GMutex lock;
	GHashTable *ids; /* owners and groups that were looked up: whether they have a name */
};

void judge_init(struct judge *judge, const struct volume_config *config, struct limits limits,
		struct notices *notices);
void judge_clear(struct judge *judge);

/* The bytes that its extended attributes and its ACL take here, with their names and heads. */
uint32_t judge_object(struct judge *judge, const char *path, const struct source_attr *attr,
		      const struct source_xattrs *xattrs);
/* Judges a name that is listed in the directory.  FALSE: it cannot be here, or is not brought. */
bool judge_name(struct judge *judge, const char *directory, const struct source_entry *entry);
/* Whether a rule leaves the entry of the directory out (rules.h): then it is noted. */
bool judge_leaves_out(struct judge *judge, const char *directory, const struct source_entry *entry);
/* Notes the names that the backend left out of a page. */
void judge_refused(struct judge *judge, const char *directory, const struct backend_batch *batch);

/* directory/name, below the root; g_free. */
char *judge_path(const char *directory, const char *name);

#endif
