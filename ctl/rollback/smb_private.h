/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps TARGET_STAGE closed to others on an SMB server.  Everybody who may list or read the share
 * finds objects there by their paths, so each object is closed from its first moment, by the rights
 * that it inherits. */
#ifndef CTL_ROLLBACK_SMB_PRIVATE_H
#define CTL_ROLLBACK_SMB_PRIVATE_H

#include "ctl/rollback/smb_call.h"

struct smb_private {
	bool kept; /* the server keeps what it is told of descriptors */
	/* descriptors of a file and of a directory that inherit nothing; NULL: not known */
	GByteArray *made[2];
};

/*
 * Makes the directory, and all that is made in it from now on, accessible to its owner and to
 * administrators alone, and looks whether the server has kept that (private->kept).  0 or -errno;
 * -EPERM: the directory is another user's.
 */
int smb_protect(struct smb_call *call, const char *dir, struct smb_private *private);
void smb_private_clear(struct smb_private *private);
/* Gives an object that was made in such a directory the DACL that it would have if it were made in
 * `dir` (MS-DTYP 2.5.3.4). */
int smb_inherit(struct smb_call *call, const struct smb_private *private, const char *path,
		const char *dir, bool directory);

#endif
