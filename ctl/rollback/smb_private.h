/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose TARGET_STAGE is on an SMB server: whoever may list or read the share finds objects there by
 * their path, so each of them is closed from its first moment, by what it inherits. */
#ifndef CTL_ROLLBACK_SMB_PRIVATE_H
#define CTL_ROLLBACK_SMB_PRIVATE_H

#include "ctl/rollback/smb_call.h"

struct smb_private {
	bool kept;	     /* the server keeps what it is told of descriptors */
	GByteArray *made[2]; /* what a file, a directory has that is made where nothing is handed
			      * on; NULL: not known */
};

/*
 * The directory, and all that is made in it from now on, is its owner's and the administrators'
 * alone; that is looked at.  0, or -errno; -EPERM: it is another's.
 */
int smb_protect(struct smb_call *call, const char *dir, struct smb_private *private);
void smb_private_clear(struct smb_private *private);
/* What was made in such a directory gets the DACL that it would have if it were made in `dir`
 * (MS-DTYP 2.5.3.4). */
int smb_inherit(struct smb_call *call, const struct smb_private *private, const char *path,
		const char *dir, bool directory);

#endif
