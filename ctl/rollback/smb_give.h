/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives an object on an SMB server its attributes, as smb_attrs.h has translated them. */
#ifndef CTL_ROLLBACK_SMB_GIVE_H
#define CTL_ROLLBACK_SMB_GIVE_H

#include "ctl/rollback/smb_attrs.h"
#include "ctl/rollback/smb_call.h"

/* Gives streams, attributes, times and then the descriptor.  What the server refuses of the
 * descriptor goes to lost.  0 or -errno. */
int smb_give_attrs(struct smb_call *call, const char *path, const struct smb_attrs *smb,
		   attrs_lost_fn lost, void *arg);

/* Whether the object has the attributes: what would be made of it here now (smb_descriptor.h) is
 * what is here.  0: it has them; -EAGAIN: it has not; else -errno. */
int smb_compare_attrs(struct smb_call *call, const char *path, const struct attrs *attrs,
		      const struct volume_config *config);

#endif
