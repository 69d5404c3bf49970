/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose OLD_STAGE is on an SMB server: whoever may list or read the share finds objects there by
 * their path, so each of them is closed from its first moment, by what it inherits. */
#ifndef SMB_PRIVATE_H
#define SMB_PRIVATE_H

#include "smb_call.h"

/*
 * The directory, and all that is made in it from now on, is its owner's and the administrators'
 * alone.  probe: what was just made in it, which tells who its owner has to be.  0, or -errno;
 * -EPERM: it is another's.  *kept: the server says so itself when it is asked.
 */
int smb_protect(struct smb_call *call, const char *dir, const char *probe, bool *kept);
/* What was made in such a directory gets the DACL that `dir` hands on (MS-DTYP 2.5.3.4), as if it
 * were made there; where that hands nothing on, it stays closed. */
int smb_inherit(struct smb_call *call, const char *path, const char *dir, bool directory);

#endif
