/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `takeover = all`: every object that came from the old server goes by its takeover handle and
 * number, for clients that had it mounted.  Such a client is recognized by the handles that it
 * sends: a takeover handle, or a handle of the host's with a flag (MG_WAS_OLD), which it got for an
 * object that the old server never had.  The number of such an object has its highest bit inverted,
 * so that it differs from all numbers of the old server.  A client that mounts anew begins with a
 * handle of the host's, and gets only such handles.
 */
#ifndef FSAL_MIGRATE_TAKEOVER_TAKEOVER_OBJECTS_H
#define FSAL_MIGRATE_TAKEOVER_TAKEOVER_OBJECTS_H

#include "fsal_migrate/door.h"

#include "nfs23.h"
#include "nfs_fh.h"

/* Flags of a handle (fhflags1) that the host does not use.  The second marks a handle within one
 * call only, whose cookie stands behind the handle. */
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
	/* a handle of the host's; in it the kernel's handle is `len` bytes at `at`, and the rest is
	 * the same for all objects of the file system */
	uint8_t own[NFS3_FHSIZE] __attribute__((aligned(4)));
	uint8_t own_len, at, len;
};

/* own: the host's handle of an object; kernel, len: the kernel's handle of it.  False: the kernel's
 * handle is not in the host's, so that no handle can be translated. */
bool mg_takeover_objects_set_pattern(struct mg_takeover_objects *objects, const void *own,
				     uint8_t own_len, const void *kernel, uint8_t len);
/* Whether fh is a handle that the host made for that export, of an object on the volume. */
bool mg_takeover_objects_has_made(const struct mg_takeover_objects *objects, const nfs_fh3 *fh);
/* Translates a client's takeover handle into the host's handle; false: it is not known.  own:
 * NFS3_FHSIZE bytes, cleared.
 */
bool mg_takeover_objects_find(const struct mg_takeover_objects *objects, const nfs_fh3 *fh,
			      uint8_t *own, uint8_t *own_len);

/* Makes a host's handle of an object that never existed. */
void mg_takeover_objects_make_stale(const struct mg_takeover_objects *objects, uint8_t *own,
				    uint8_t *own_len);

/* The takeover handle of the object of a host's handle, by the object's number here; false: the old
 * server never had the object. */
bool mg_takeover_objects_find_old(const struct mg_takeover_objects *objects, const nfs_fh3 *fh,
				  uint64_t number, struct migrate_alias *alias);

/* Shows in a reply the numbers, handles and names of the old server, for clients with takeover
 * handles. */
void mg_takeover_objects_show_number(const struct mg_takeover_objects *objects, fattr3 *attributes);
/* False: the reply must not be sent. */
bool mg_takeover_objects_show(const struct mg_takeover_objects *objects,
			      struct mg_brought *brought);
/* In a call that continues a listing: whether the old server made its cookie.  The host must not
 * check verifiers: in these replies a verifier says which server made the cookies. */
bool mg_takeover_objects_is_old_cookie(uint64_t cookie, const char *verifier);

#endif
