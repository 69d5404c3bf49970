/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connection to an old SMB server with write rights, through a process of its own,
 * migrate-smb-writer, which does one thing at a time.  Whatever that process says is checked
 * (wire.h). Everything blocks for the old server; one thread.
 *
 * 0 or -errno; -ENOTCONN: the connection is lost for good, and that was logged.
 */
#ifndef CTL_ROLLBACK_SMB_CALL_H
#define CTL_ROLLBACK_SMB_CALL_H

#include "lib/config/smb_url.h"
#include "lib/source/smb/wire.h"
#include "lib/source/source.h"

struct volume_config;
struct smb_call;

/* With rollback-password-file or rollback-ccache.  NULL with error set: one line. */
struct smb_call *smb_call_open(const char *url, const struct volume_config *config, GError **error);
void smb_call_close(struct smb_call *call);
/* The path below the share that all paths here start from. */
const char *smb_call_base(const struct smb_call *call);
/* Bytes that WIRE_WRITE takes at once. */
uint32_t smb_call_max(const struct smb_call *call);

/* Of req, op (GETATTR, LOOKUP, READDIR, READ, READLINK, XATTRS), object.path, name, cookie, offset
 * and count are set.  The answer goes where source.h says.  Its parts are the caller's, except
 * data, which are valid until the next call. */
int smb_call_ask(struct smb_call *call, struct backend_request *req);
/* When the object of the last answer was made (NTTIME). */
uint64_t smb_call_created(const struct smb_call *call);
/* stream: ":NAME:$DATA", or "".  data: change->len bytes.  -EBUSY: the object is removed, but
 * others have it open, and may take that back. */
int smb_call_change(struct smb_call *call, const char *path, const char *stream,
		    const struct wire_change *change, const void *data);
/* From now on a change of `path` that needs no more than this access is done by the handle that is
 * held.  path NULL: no handle is held. */
void smb_call_hold(struct smb_call *call, const char *path, uint32_t access);
/* Bytes of the last WIRE_WRITE that the server has taken: all, or the first ones. */
uint32_t smb_call_written(const struct smb_call *call);

#endif
