/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single requests and changes of one object on an SMB server, by its path.  0 or -errno, as in
 * smb_call.h; -EINVAL, or -ENOENT for a request: SMB has no words for the path. */
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
/* Attributes that can be set, too, and are not carried: temporary, offline, not indexed. */
enum { OTHERS = 0x3100 };
#define SET_SPARSE 0x900c4

int smb_ask(struct smb_call *call, struct backend_request *req, enum backend_op op,
	    const char *path);
/* Everything that the server shows of the object; source_windows_free() it. */
int smb_look(struct smb_call *call, const char *path, struct source_windows **windows);

int smb_do(struct smb_call *call, const char *path, const char *stream,
	   const struct wire_change *what, const void *data);
/* Holds a file open until smb_leave(): meanwhile others may have it open to read, and not
 * otherwise.  -EBUSY: somebody has it open otherwise.  What is done to the file meanwhile is done
 * by this handle, where it has the rights.  One file at a time. */
int smb_hold(struct smb_call *call, const char *path);
void smb_leave(struct smb_call *call, const char *path);
/* Sets FILE information of a class; smb_put() adds a field of it. */
int smb_set(struct smb_call *call, const char *path, uint32_t access, uint32_t options,
	    uint32_t class, const GByteArray *data);
void smb_put(GByteArray *data, uint64_t value, unsigned bytes);
/* Times are NTTIME; 0: as it is. */
int smb_set_basic(struct smb_call *call, const char *path, uint64_t created, uint64_t accessed,
		  uint64_t written, uint32_t attributes);
/* parts: OWNER_GROUP, DACL, SACL, each of which asks for a right of its own. */
int smb_set_descriptor(struct smb_call *call, const char *path, const GByteArray *sd,
		       uint32_t parts);
/* Those of the attributes of an object that can be set. */
uint32_t smb_settable(uint32_t attributes);
/* Clears the attribute read-only, with which an object is neither written nor replaced nor removed.
 * 0: it is clear, and *had are the attributes to set again; -EACCES: it was not set. */
int smb_make_writable(struct smb_call *call, const char *path, uint32_t *had);
/* Makes durable what was written.  stream: "" for a file's data, or for a directory's names, which
 * takes the right to make a file in it (MS-SMB2 3.3.5.11). */
int smb_flush(struct smb_call *call, const char *path, const char *stream);
/* 0: what was removed is not there any more; -EBUSY: others have it open. */
int smb_check_gone(struct smb_call *call, const char *path, const char *stream);
/* stream: "" for the data. */
int smb_write_at(struct smb_call *call, const char *path, const char *stream, const void *data,
		 size_t len, uint64_t at);

#endif
