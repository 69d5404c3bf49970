/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks and decodes what a worker says, which is never trusted (I10). */
#ifndef LIB_SOURCE_SMB_SMB_REPLY_H
#define LIB_SOURCE_SMB_SMB_REPLY_H

#include "lib/config/smb_url.h"
#include "lib/source/smb/wire.h"
#include "lib/source/source.h"

/* A time as the record has it: ns since 1970, or the nearest that can be stored; 0 if nttime is no
 * time. */
int64_t smb_time(uint64_t nttime);
/* FALSE: no file here can have such attributes. */
bool smb_attr_decode(const struct wire_attr *from, struct source_attr *to);
/* Decodes a REPLY to req, with the content of its slot, both as they came from the worker.  The
 * status with which req is to be completed.  req->data points into slot. */
int smb_reply_decode(const struct wire_reply *reply, const uint8_t *slot,
		     struct backend_request *req);
/* The text for a FAILED: one line that says what is wrong and what to do. */
char *smb_failure_text(const struct smb_url *url, const struct wire_reply *reply);
/* Whether the failure is for ever, unlike that of a server that is away. */
bool smb_failure_is_final(const struct wire_reply *reply);
/* Whether another attempt soon makes the failure worse: a password that is wrong again and again
 * gets the account locked. */
bool smb_failure_locks(const struct wire_reply *reply);
/* Whether the log-on is fine, and the server has no share of that name. */
bool smb_failure_lacks_share(const struct wire_reply *reply);

#endif
