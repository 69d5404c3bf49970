/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Before interface 14: a link's target comes with the NUL at its end. */
#include "fsal_migrate/compat.h"

#include "fsal_migrate/object.h"

MG_DOWN(fsal_status_t, read_link, readlink,
	(struct fsal_obj_handle * handle, struct gsh_buffdesc *content, bool refresh), sub, content,
	refresh)

void compat_link_ops_init(struct fsal_obj_ops *ops)
{
	ops->readlink = read_link;
}
