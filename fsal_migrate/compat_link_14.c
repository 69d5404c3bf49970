/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* From interface 14 on: a link's target comes as NFS sends it. */
#include "fsal_migrate/compat.h"

#include "fsal_migrate/object.h"

MG_DOWN(fsal_status_t, read_link, readlink,
	(struct fsal_obj_handle * handle, utf8string *content, bool refresh), sub, content, refresh)

void compat_link_ops_init(struct fsal_obj_ops *ops)
{
	ops->readlink = read_link;
}
