/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file systems of an old server, by the fsids that it shows.
 *
 * Objects of different file systems may have the same number, and their fsids tell them apart;
 * objects with the root's fsid keep their numbers.  After a restart or a failover, a server may
 * show another fsid for the same file system.  So a new fsid is believed only when the root was
 * asked for its own fsid afterwards; until then the answer that showed the new fsid is not used,
 * and the request is made again.  A new fsid is believed for NFS_BELIEVED_US only, as the root may
 * get it back.  A server that shows ever new fsids is believed after NFS_DOUBTS_MAX of them, for
 * the rest of that time.
 *
 * Any thread.
 */
#ifndef LIB_SOURCE_NFS_NFS_SYSTEMS_H
#define LIB_SOURCE_NFS_NFS_SYSTEMS_H

#include <glib.h>
#include <stdint.h>

#define NFS_DOUBTS_MAX	4096
#define NFS_BELIEVED_US (60 * G_TIME_SPAN_SECOND)

struct nfs_systems;

struct nfs_systems *nfs_systems_new(void);
void nfs_systems_free(struct nfs_systems *systems);
/* An answer shows an fsid that is not the root's.  now: g_get_monotonic_time() */
void nfs_systems_see(struct nfs_systems *systems, uint64_t fs, gint64 now);
/* A number that changes when an fsid is seen that is in doubt.  NULL: 0. */
unsigned nfs_systems_doubts(struct nfs_systems *systems);
/* To be called before the root is asked for its fsid: the fsids that are in doubt now, which are
 * for nfs_systems_believe() once the root's answer was taken.  g_hash_table_unref().  NULL for
 * NULL. */
GHashTable *nfs_systems_ask(struct nfs_systems *systems);
void nfs_systems_believe(struct nfs_systems *systems, GHashTable *asked);
#endif
