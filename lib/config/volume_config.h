/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The settings of a volume: what its group [volume NAME] says. */
#ifndef LIB_CONFIG_VOLUME_CONFIG_H
#define LIB_CONFIG_VOLUME_CONFIG_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/config/source_config.h"

enum stub_attributes { STUB_EAGER, STUB_LAZY };
/* What an NFSv4 ACL becomes, besides a POSIX ACL that does not grant more. */
enum acl_mode { ACL_MODE_POSIX, ACL_MODE_NT, ACL_MODE_KEEP };
/* What the permission bits of objects from an SMB server say: smb_descriptor.h. */
enum smb_modes { SMB_MODES_UNSET, SMB_MODES_OPEN, SMB_MODES_DESCRIPTOR };
/* Which handles of the old server are still answered: migratectl takeover. */
enum takeover { TAKEOVER_NONE, TAKEOVER_MOUNTS, TAKEOVER_ALL };
/* What becomes of files that are under retention on the old server: retention.h. */
enum retention { RETENTION_NONE, RETENTION_IMMUTABLE };
enum guard_kind { GUARD_YES, GUARD_NO, GUARD_STRICT };
enum crawl_order { CRAWL_NAMESPACE_FIRST, CRAWL_DEPTH_FIRST, CRAWL_RECENT_FIRST };
extern const char *const crawl_orders[]; /* their words */

/* What [server HOST] says of the old server, for all its volumes together. */
struct server_config {
	char *host;	    /* as it is written in the source; NULL: there is no such group */
	uint64_t bandwidth; /* 0: no limit */
	unsigned requests;
	struct calendar *limits; /* NULL: none */
	unsigned nodes; /* of the cluster, which share the limits: the limits here are this node's
			   part */
};

struct volume_config {
	char *name;	/* 1..64 of A-Z a-z 0-9 . _ -, not starting with '.' or '-' */
	char *root;	/* root = absolute directory on the new server; must exist */
	char *source;	/* source = nfs://host[:port]/path, smb://user@host[:port]/share or
			 * file:///path */
	bool installed; /* read from CONFIG_FILE */
	char *wave;	/* wave = 1..64 of A-Z a-z 0-9 . _ -; NULL: none */
	struct smb_config
		*smb; /* smb-password-file, smb-ccache = absolute path; smb-domain; smb-encryption
		       * = off | desired | required; smb-signing = if-required | required */
	/* nfs-keytab, nfs-ccache, nfs-ca, nfs-certificate, nfs-key = absolute path; nfs-principal
	 */
	struct nfs_config *nfs;
	unsigned connections;	     /* connections = 1..16, background, default 2 */
	unsigned demand_connections; /* demand-connections = 1..8, default 2 */
	unsigned window;    /* window = 0..1024 requests per connection; 0: by round trip */
	unsigned hold_ms;   /* hold-ms = 10..60000, default 500 */
	uint64_t bandwidth; /* bandwidth = bytes per second of background reads, suffixes
			     * K M G (1024), 0: no limit (default) */
	unsigned requests;  /* requests = background requests per second, 0: no limit (default) */
	struct calendar *limits; /* limits: calendar.h; NULL: none */
	unsigned yield_ms;	 /* yield-ms = 0..10000, default 100; 0: does not yield */
	struct server_config server;
	enum stub_attributes stub_attributes; /* stub-attributes = eager | lazy */
	unsigned crawler_workers;	      /* crawler-workers = 1..64, default 4 */
	enum crawl_order crawler_order; /* crawler-order = namespace-first (default) | depth-first |
					   recent-first */
	/* acl-source = smb://host[:port]/share[/path]: where a source = nfs:// has its descriptors;
	 * NULL: nowhere */
	char *acl_source;
	enum acl_mode acl_mode; /* acl-mode = posix (default) | nt | keep */
	/* map-sids, sid-users, sid-groups: sids.h; NULL: none */
	struct sid_map *map_sids, *sid_users, *sid_groups;
	/* default-owner = UID:GID; not given: 0:0 for SIDs, OWNER_NOBODY for names */
	uint32_t default_uid, default_gid, default_given;
	enum smb_modes smb_modes; /* smb-modes = descriptor | open, required for an smb:// source */
	struct owners *map_users, *map_groups; /* map-users, map-groups: owners.h; NULL: all kept */
	char *rollback_source; /* rollback-source = absolute path: the old server's tree, mounted
				* with write rights; or smb:// with another user; NULL: none */
	/* rollback-password-file, rollback-ccache = absolute path, of the latter; one of them is
	 * NULL */
	char *rollback_password_file, *rollback_ccache;
	/* snapshot-directories = NAME ... | none, NULL: those of the makers of servers; exclude,
	 * include = PATTERN ... or NULL; and what they say together */
	char **snapshots, **exclude, **include;
	struct rules *rules;
	enum retention retention; /* retention = none (default) | immutable */
	enum guard_kind guard;	  /* guard = yes (default) | no | strict */
	char **guard_refuse;	  /* guard-refuse = NAME ..., or NULL */
	unsigned guard_wait;	  /* guard-wait = 1..3600 seconds, default 60 */
	enum takeover takeover;	  /* takeover = none (default) | mounts | all */
	/* takeover-directories = PATH ... on the old server, at or below the source's, or NULL */
	char **takeover_directories;
	char *takeover_file; /* takeover-file = absolute path, default REPORT_DIR/NAME.takeover */
	char *report;	     /* report = absolute path, default REPORT_DIR/NAME.report */
	char *journal;	     /* journal = absolute path, default REPORT_DIR/NAME.journal */
	char *socket;	     /* socket = path, default MIGRATE_SOCKET_DIR/NAME.sock */
};

/* How a volume is found, without its other settings: for commands about many volumes. */
struct volume_name {
	char *name, *socket;
	char *wave;	     /* NULL: none */
	char *root, *source; /* as they are written; NULL: none */
};

#endif
