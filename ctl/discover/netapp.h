/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CTL_DISCOVER_NETAPP_H
#define CTL_DISCOVER_NETAPP_H

#include "ctl/discover/found.h"

/*
 * Listings of ONTAP in one file, as tables or with -instance: "vserver export-policy rule show",
 * "vserver cifs share show", and "volume show" with the fields junction-path and policy, which says
 * what policy an export has.  Lines and policies that it makes nothing of are noted.  FALSE with
 * error set: it cannot be read.
 */
gboolean netapp_read(const char *file, struct found *found, GError **error);

#endif
