/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Owners and groups as version 4 says them (RFC 8881 section 5.9): "1000", or "user@domain", which
 * this host's name service knows (nfs4_owner_host.h).
 *
 * The name service may be slow or away.  Threads that do nothing else ask it: several names at a
 * time, each name once, and names that a client waits for before those of the background.  A
 * request that needs another name does not wait for this one, and a request that needs this one
 * does not block: it is busy (-EAGAIN), and is made again later, as after JUKEBOX.
 *
 * A name becomes NFS4_NOBODY only by the answer that nobody has it; the users of source.h report
 * that and give the object to default-owner, else to OWNER_NOBODY.  The answer is kept for a
 * minute, because the user may be created.  After a failure the name is asked for again when a
 * request needs it, at most twice a second.  An object whose owner has no answer is not made.
 */
#ifndef LIB_SOURCE_NFS_NFS4_OWNER_H
#define LIB_SOURCE_NFS_NFS4_OWNER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/source/source.h"

#define NFS4_NOBODY UINT32_MAX

/* How often a request is busy, at least, before it does without an owner or fails.  Together that
 * takes longer than the pause after a failure, as the name service may be back by then. */
#define NFS4_OWNER_TRIES 4 /* fewer than the gate's patience */

/* Asks the name service for a text with "@", NUL-terminated, which the function may write to.  0
 * and *id; -ENOENT: nobody has that name; another value: the service could not be asked.  Several
 * threads at a time; may block. */
typedef int (*nfs4_owner_fn)(bool group, char *text, uint32_t *id);

/* In us. */
struct nfs4_owner_times {
	gint64 patience; /* after so long without an answer: -EHOSTDOWN */
	gint64 nobody;	 /* how long "nobody has the name" is kept */
	gint64 pause;	 /* after a failure */
};

struct nfs4_owners;
/* url: for messages, copied; ask NULL: the host's name service; times NULL: the usual ones. */
struct nfs4_owners *nfs4_owners_new(const char *url, nfs4_owner_fn ask,
				    const struct nfs4_owner_times *times);
/* Does not wait for the name service: a thread that is asking it ends by itself after the
 * answer. */
void nfs4_owners_free(struct nfs4_owners *owners);
/*
 * Any thread; does not block.  demand: a client waits for it.  0 and *id, which may be NFS4_NOBODY;
 * -EAGAIN: the name service is being asked; -EHOSTDOWN: it has not answered for so long that the
 * object is to be listed as failed.  owners NULL: only numbers are known.
 */
int nfs4_owners_id(struct nfs4_owners *owners, bool demand, bool group, const uint8_t *text,
		   uint32_t len, uint32_t *id);

/* For an answer with attributes: 0, or the status that the request gets because the owner is not
 * known; the request then notes that this is no fault of the old server. */
int nfs4_owner_status(struct backend_request *req);

#endif
