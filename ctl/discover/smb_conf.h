/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CTL_DISCOVER_SMB_CONF_H
#define CTL_DISCOVER_SMB_CONF_H

#include "ctl/discover/inventory.h"

/*
 * Reads the shares of an smb.conf as testparm (samba-common-bin) understands it: path, comment, and
 * who may do what, also if [global] says it.  Other settings of a share are kept as left out.
 * FALSE with error set: the file cannot be read, or testparm cannot be had.
 */
gboolean smb_conf_read(const char *file, struct inventory *found, GError **error);

#endif
