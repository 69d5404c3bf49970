/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `takeover = all`: every object that came from the old server goes by its takeover handle and
 * number, for clients that had it mounted.  Such a client is known by what it sends: a takeover
 * handle, or one of the host's with a flag (MG_WAS_OLD), which it has got for an object that the
 * old server never had.  The number of such an object has its highest bit turned, so that it is not
 * an old one's.  A client that mounts anew begins with a handle of the host's, and sees no others.
 */
#ifndef FSAL_MIGRATE_TAKEOVER_TAKEOVER_OBJECTS_H
#define FSAL_MIGRATE_TAKEOVER_TAKEOVER_OBJECTS_H

#include "fsal_migrate/door.h"

#include "nfs23.h"
#include "nfs_fh.h"

/* Flags of a handle (fhflags1) that the host has no use for.  The second is of one call alone,
 * whose cookie stands behind the handle. */
#define MG_WAS_OLD 0x20
#define MG_GOES_ON 0x10
#define MG_FLAGS   (MG_WAS_OLD | MG_GOES_ON)
#define MG_COOKIE  (NFS3_FHSIZE - sizeof(uint64_t))

struct mg_takeover_clients;
struct mg_takeover_server;
struct mg_brought;

/* Of one export; constant. */
struct mg_takeover_objects {
	struct migrate_old_index *index;
	struct mg_takeover_clients *clients;
	struct mg_takeover_server *server; /* takeover_server.h */
	uint16_t export_id;
	/* a handle of the host's: of it the kernel's one is `len` bytes at `at`, the rest is the
	 * same for all objects of the file system */
	uint8_t own[NFS3_FHSIZE] __attribute__((aligned(4)));
	uint8_t own_len, at, len;
};

/* own: the host's handle of an object, and kernel, len: the kernel's.  False: the one is not in the
 * other, so that nothing can be translated. */
bool mg_takeover_objects_set_pattern(struct mg_takeover_objects *objects, const void *own,
				     uint8_t own_len, const void *kernel, uint8_t len);
/* Whether it is a handle of the host's for that export, of an object on the volume. */
bool mg_takeover_objects_has_made(const struct mg_takeover_objects *objects, const nfs_fh3 *fh);
/* The host's handle of what clients call that; false: not known.  own: NFS3_FHSIZE bytes, cleared.
 */
bool mg_takeover_objects_find(const struct mg_takeover_objects *objects, const nfs_fh3 *fh,
			      uint8_t *own, uint8_t *own_len);

/* The host's handle of an object that there never was. */
void mg_takeover_objects_make_stale(const struct mg_takeover_objects *objects, uint8_t *own,
				    uint8_t *own_len);

/* What clients call the object of a host's handle, by its number here; false: the old server never
 * had it. */
bool mg_takeover_objects_find_old(const struct mg_takeover_objects *objects, const nfs_fh3 *fh,
				  uint64_t number, struct migrate_alias *alias);

/* In replies to clients that have takeover handles. */
void mg_takeover_objects_show_number(const struct mg_takeover_objects *objects, fattr3 *attributes);
/* False: the reply must not be sent. */
bool mg_takeover_objects_show(const struct mg_takeover_objects *objects,
			      struct mg_brought *brought);
/* In a call that goes on with names: whether the old server made its cookie.  The host must not
 * look at verifiers: in these replies they say whose a cookie is. */
bool mg_takeover_objects_is_old_cookie(uint64_t cookie, const char *verifier);

#endif
