/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one object of an SMB server is asked for or told, by its path.  0 or -errno, as smb_call.h
 * has it; -EINVAL, or -ENOENT where it is asked for: its path cannot be said. */
#ifndef CTL_ROLLBACK_SMB_SET_H
#define CTL_ROLLBACK_SMB_SET_H

#include "ctl/rollback/smb_call.h"
#include "lib/source/source_windows.h"

/* MS-SMB2 2.2.13, 2.2.39, MS-FSCC 2.3.64, 2.4 */
enum {
	WRITE_DATA = 0x2,
	READ_ATTRIBUTES = 0x80,
	WRITE_ATTRIBUTES = 0x100,
	DELETE = 0x10000,
	READ_CONTROL = 0x20000,
	WRITE_DAC = 0x40000,
	WRITE_OWNER = 0x80000,
	SYSTEM_SECURITY = 0x1000000,
};
enum { OPEN = 1, CREATE = 2, OPEN_IF = 3 };
enum { DIRECTORY = 0x1, NO_DIRECTORY = 0x40, REPARSE_POINT = 0x200000 };
enum { INFO_FILE = 1, INFO_SECURITY = 3 };
enum { BASIC = 4, RENAME = 10, LINK = 11, DISPOSITION = 13, END_OF_FILE = 20 };
enum { OWNER_GROUP = 3, DACL = 4, SACL = 8 };
enum { HIDDEN = 0x2, SYSTEM = 0x4, ARCHIVE = 0x20, SPARSE = 0x200 };
/* Which can be set, too, and are not carried: temporary, offline, not indexed. */
enum { OTHERS = 0x3100 };
#define SET_SPARSE 0x900c4

int smb_ask(struct smb_call *call, struct backend_request *req, enum backend_op op,
	    const char *path);
/* All that the server shows of it; source_windows_free() it. */
int smb_look(struct smb_call *call, const char *path, struct source_windows **windows);

int smb_do(struct smb_call *call, const char *path, const char *stream,
	   const struct wire_change *what, const void *data);
/* Until smb_leave() others may have the file open to read, and not otherwise; or -EBUSY.  What is
 * done to it meanwhile is done by that handle, where it has the rights.  One at a time. */
int smb_hold(struct smb_call *call, const char *path);
void smb_leave(struct smb_call *call, const char *path);
/* FILE information of a class; smb_put() makes its fields. */
int smb_set(struct smb_call *call, const char *path, uint32_t access, uint32_t options,
	    uint32_t class, const GByteArray *data);
void smb_put(GByteArray *data, uint64_t value, unsigned bytes);
/* Times are NTTIME; 0: as it is. */
int smb_set_basic(struct smb_call *call, const char *path, uint64_t created, uint64_t accessed,
		  uint64_t written, uint32_t attributes);
/* parts: OWNER_GROUP, DACL, SACL, each of which asks for a right of its own. */
int smb_set_descriptor(struct smb_call *call, const char *path, const GByteArray *sd,
		       uint32_t parts);
/* Of the attributes that a server says, those that can be set. */
uint32_t smb_settable(uint32_t attributes);
/* What is read-only is neither written nor replaced nor removed.  0: it is not any more, and *had
 * are the attributes to set again; -EACCES: it never was. */
int smb_make_writable(struct smb_call *call, const char *path, uint32_t *had);
/* What was written is durable.  stream: "" for the data, or a directory's names, which takes the
 * right to make a file in it (MS-SMB2 3.3.5.11). */
int smb_flush(struct smb_call *call, const char *path, const char *stream);
/* 0: what was removed is not there any more; -EBUSY: others have it open. */
int smb_check_gone(struct smb_call *call, const char *path, const char *stream);
/* stream: "" for the data. */
int smb_write_at(struct smb_call *call, const char *path, const char *stream, const void *data,
		 size_t len, uint64_t at);

#endif
