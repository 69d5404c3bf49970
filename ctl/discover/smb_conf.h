/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CTL_DISCOVER_SMB_CONF_H
#define CTL_DISCOVER_SMB_CONF_H

#include "ctl/discover/inventory.h"

/*
 * The shares of a smb.conf as testparm (samba-common-bin) understands it: path, comment, and who
 * may do what, also where [global] says it.  What else a share has is kept as what is left out.
 * FALSE with error set: it cannot be read, or testparm cannot be had.
 */
gboolean smb_conf_read(const char *file, struct inventory *found, GError **error);

#endif
