/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an old server exports and shares, as it told or as files say.  Texts are bytes as they came:
 * the code that prints them must make them safe. */
#ifndef CTL_DISCOVER_INVENTORY_H
#define CTL_DISCOVER_INVENTORY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Access rules of an export for some clients. */
struct inventory_rule {
	char *clients; /* an address, a network, a name, @netgroup, or "*" */
	enum { RULE_UNKNOWN, RULE_RO, RULE_RW } access;
	enum { SQUASH_UNKNOWN, SQUASH_NONE, SQUASH_ROOT, SQUASH_ALL } squash;
	int64_t anon_uid, anon_gid; /* -1: not told */
	char *sec;		    /* "sys, krb5", NULL: not told */
};

struct inventory_space {
	uint64_t bytes, free, available, files, free_files;
};

struct inventory_export {
	char *path;
	GPtrArray *rules; /* struct inventory_rule */
	char *sec;	  /* as MOUNT told, "sys, krb5", or NULL */
	bool has_space;
	struct inventory_space space;
	char *refused; /* why it did not tell the space, or NULL */
};

struct inventory_share {
	char *name, *comment; /* comment may be "" */
	const char *type;     /* disk, printer, ipc, other */
	char *path;	      /* on the old server; NULL: not known */
	GPtrArray *settings;  /* "key = value" of smb.conf: who may do what; char * */
	GPtrArray *left;      /* settings that are not for a new server; char * */
};

struct inventory_service {
	uint32_t program, version;
	uint16_t port;
	bool tcp;
};

struct inventory {
	GArray *services;   /* struct inventory_service */
	GPtrArray *nfs;	    /* versions, "3", "4.1" */
	GPtrArray *smb;	    /* dialects, "3.1.1" */
	GPtrArray *exports; /* struct inventory_export */
	GPtrArray *shares;  /* struct inventory_share */
	GPtrArray *notes;   /* what is not known, and why: char *, lines safe to print */
	bool incomplete;    /* a note tells that something of the old server may be missing */
};

void inventory_init(struct inventory *found);
void inventory_clear(struct inventory *found);
/* The export of that path, added if need be. */
struct inventory_export *inventory_export(struct inventory *found, const char *path);
/* The share of that name, whatever its case, added if need be. */
struct inventory_share *inventory_share(struct inventory *found, const char *name);
/* Adds a rule of which nothing is known but the clients. */
struct inventory_rule *inventory_rule(struct inventory_export *export, const char *clients);
void inventory_note(struct inventory *found, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* "1.2 GiB".  g_free. */
char *inventory_size(uint64_t bytes);

#endif
