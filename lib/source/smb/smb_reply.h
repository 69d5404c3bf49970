/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a worker says, checked. */
#ifndef LIB_SOURCE_SMB_SMB_REPLY_H
#define LIB_SOURCE_SMB_SMB_REPLY_H

#include "lib/config/smb_url.h"
#include "lib/source/smb/wire.h"
#include "lib/source/source.h"

/* As the record wants it: ns since 1970, or the nearest; 0 for what is no time. */
int64_t smb_time(uint64_t nttime);
/* FALSE: no file of ours can be like that. */
bool smb_attr_decode(const struct wire_attr *from, struct source_attr *to);
/* A REPLY to req, with what is in its slot, as it came from the worker; the status to complete
 * req with.  data points into slot. */
int smb_reply_decode(const struct wire_reply *reply, const uint8_t *slot,
		     struct backend_request *req);
/* A FAILED: one line that says what is wrong and what to do. */
char *smb_failure_text(const struct smb_url *url, const struct wire_reply *reply);
/* Whether it is wrong for ever, rather than a server that is away. */
bool smb_failure_is_final(const struct wire_reply *reply);
/* Whether to ask again soon makes it worse: a password that is wrong again and again gets the
 * account locked. */
bool smb_failure_locks(const struct wire_reply *reply);

#endif
