/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Translates an object's attributes on the new server (attrs.h) into those of an SMB server.  Here
 * they are what smb_descriptor.h made of the old server's, and what Samba has written since.
 * Nothing here talks to a server.
 */
#ifndef CTL_ROLLBACK_SMB_ATTRS_H
#define CTL_ROLLBACK_SMB_ATTRS_H

#include <stdint.h>

#include "ctl/rollback/attrs.h"

#define SMB_READONLY 0x1u
#define SMB_NORMAL   0x80u

struct nt_descriptor;

struct smb_attrs {
	GByteArray *sd; /* self-relative, with the old server's SIDs; NULL: none */
	bool has_sacl;
	uint64_t created, accessed, written; /* NTTIME; 0: as it is there */
	uint32_t attributes;		     /* 0: as they are there */
	bool added;			     /* attributes that it has there stay as well */
	bool sparse;
	GHashTable *streams;	/* ":NAME:$DATA" -> GBytes */
	const struct attrs *of; /* for attrs_keeps(); NULL: all that it has came from here */
};

/* What SMB has no place for goes to lost.  smb->of is attrs. */
void smb_attrs_take(const struct attrs *attrs, const struct volume_config *config,
		    struct smb_attrs *smb, attrs_lost_fn lost, void *arg);
void smb_attrs_clear(struct smb_attrs *smb);

/* Self-relative; NULL with *why. */
GByteArray *smb_attrs_encode(const struct nt_descriptor *sd, const char **why);
/* The name of the extended attribute that keeps a stream here; g_free. */
char *smb_attrs_stream(const char *name);
/* Whether a self-relative descriptor, or the object's descriptor here, has audit entries. */
bool smb_attrs_audits(const uint8_t *sd, size_t len);
bool smb_attrs_audited(const struct attrs *attrs);

/* 100 ns since 1601; never 0, which says nothing. */
uint64_t smb_attrs_time(struct timespec t);

#endif
