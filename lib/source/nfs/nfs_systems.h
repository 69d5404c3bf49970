/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file systems of an old server, by the fsids that it shows.
 *
 * The number of an object is told from those of other file systems by its fsid, and the root's is
 * where all others are counted from.  Servers show another one after a restart or a failover.  So
 * an fsid that nobody has seen yet is believed only when the root was asked for its own after that:
 * meanwhile the answer that showed it counts for nothing and is asked for again.  It is believed
 * for NFS_BELIEVED_US, as the root may get it back.  A server that shows ever new ones is believed
 * after NFS_DOUBTS_MAX of them, for the rest of that time.
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
/* A number that is another one when something was seen since that is in doubt.  NULL: 0. */
unsigned nfs_systems_doubts(struct nfs_systems *systems);
/* The root is about to be asked: what is in doubt now, for nfs_systems_believe() when it was and
 * what it said was taken.  g_hash_table_unref().  NULL for NULL. */
GHashTable *nfs_systems_ask(struct nfs_systems *systems);
void nfs_systems_believe(struct nfs_systems *systems, GHashTable *asked);
#endif
