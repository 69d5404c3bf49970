/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Extended attributes: reading goes down; changing is a change of attributes. */
#include "fsal_migrate/ops.h"

#include <errno.h>

#include "fsal_migrate/bracket.h"

MG_DOWN(fsal_status_t, list_ext_attrs, list_ext_attrs,
	(struct fsal_obj_handle * handle, unsigned int cookie, fsal_xattrent_t *table,
	 unsigned int size, unsigned int *returned, int *end),
	sub, cookie, table, size, returned, end)
MG_DOWN(fsal_status_t, getextattr_id_by_name, getextattr_id_by_name,
	(struct fsal_obj_handle * handle, const char *name, unsigned int *id), sub, name, id)
MG_DOWN(fsal_status_t, getextattr_value_by_name, getextattr_value_by_name,
	(struct fsal_obj_handle * handle, const char *name, void *buf, size_t size, size_t *len),
	sub, name, buf, size, len)
MG_DOWN(fsal_status_t, getextattr_value_by_id, getextattr_value_by_id,
	(struct fsal_obj_handle * handle, unsigned int id, void *buf, size_t size, size_t *len),
	sub, id, buf, size, len)
MG_DOWN(fsal_status_t, get_below, getxattrs,
	(struct fsal_obj_handle * handle, xattrkey4 *name, xattrvalue4 *value), sub, name, value)
MG_DOWN(fsal_status_t, list_below, listxattrs,
	(struct fsal_obj_handle * handle, count4 max, nfs_cookie4 *cookie, bool_t *eof,
	 xattrlist4 *names),
	sub, max, cookie, eof, names)

/*
 * NFSv4.2 has user attributes only, which Linux has only for files and directories.  FSAL VFS opens
 * the object that it is asked about: for a fifo it would wait for ever, and a device would be
 * opened as by a program.
 */
static bool may_have_any(const struct fsal_obj_handle *handle)
{
	return handle->type == REGULAR_FILE || handle->type == DIRECTORY;
}

static fsal_status_t getxattrs(struct fsal_obj_handle *handle, xattrkey4 *name, xattrvalue4 *value)
{
	if (!may_have_any(handle))
		return fsalstat(ERR_FSAL_NOXATTR, 0);
	return get_below(handle, name, value);
}

static fsal_status_t listxattrs(struct fsal_obj_handle *handle, count4 max, nfs_cookie4 *cookie,
				bool_t *eof, xattrlist4 *names)
{
	if (may_have_any(handle))
		return list_below(handle, max, cookie, eof, names);
	*names = (xattrlist4){0};
	*eof = true;
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

struct xattr_change {
	struct fsal_obj_handle *sub;
	enum { SET_NAME, SET_ID, REMOVE_NAME, REMOVE_ID, SET_NFS, REMOVE_NFS } what;
	const char *name;
	unsigned int id;
	void *buf;
	size_t size;
	int create;
	setxattr_option4 option;
	xattrkey4 *key;
	xattrvalue4 *value;
};

static fsal_status_t call_below(const struct xattr_change *c)
{
	struct fsal_obj_ops *ops = c->sub->obj_ops;

	switch (c->what) {
	case SET_NAME:
		return ops->setextattr_value(c->sub, c->name, c->buf, c->size, c->create);
	case SET_ID:
		return ops->setextattr_value_by_id(c->sub, c->id, c->buf, c->size);
	case REMOVE_NAME:
		return ops->remove_extattr_by_name(c->sub, c->name);
	case REMOVE_ID:
		return ops->remove_extattr_by_id(c->sub, c->id);
	case SET_NFS:
		return ops->setxattrs(c->sub, c->option, c->key, c->value);
	default:
		return ops->removexattrs(c->sub, c->key);
	}
}

static fsal_status_t make_change(void *arg)
{
	struct mg_export *export = mg_enter();
	fsal_status_t status = call_below(arg);

	mg_leave(export);
	return status;
}

static fsal_status_t change_xattr(struct fsal_obj_handle *handle, struct xattr_change c)
{
	struct mg_change change = {
		.kind = MIGRATE_ATTRIBUTES,
		.make = make_change,
		.arg = &c,
		.once = c.what == REMOVE_NAME || c.what == REMOVE_ID || c.what == REMOVE_NFS ||
			c.create || c.option == SETXATTR4_CREATE,
	};

	if (c.name && migrate_is_record(c.name))
		return fsalstat(ERR_FSAL_ACCESS, EACCES);
	if ((c.what == SET_NFS || c.what == REMOVE_NFS) && !may_have_any(handle))
		return fsalstat(ERR_FSAL_PERM, EPERM);
	c.sub = mg_object(handle)->sub;
	return mg_change(mg_object(handle), &change);
}

#define CHANGE(op, params, ...)                                                                    \
	static fsal_status_t op params                                                             \
	{                                                                                          \
		return change_xattr(handle, (struct xattr_change){__VA_ARGS__});                   \
	}

CHANGE(setextattr_value,
       (struct fsal_obj_handle * handle, const char *name, void *buf, size_t size, int create),
       .what = SET_NAME, .name = name, .buf = buf, .size = size, .create = create)
CHANGE(setextattr_value_by_id,
       (struct fsal_obj_handle * handle, unsigned int id, void *buf, size_t size), .what = SET_ID,
       .id = id, .buf = buf, .size = size)
CHANGE(remove_extattr_by_name, (struct fsal_obj_handle * handle, const char *name),
       .what = REMOVE_NAME, .name = name)
CHANGE(remove_extattr_by_id, (struct fsal_obj_handle * handle, unsigned int id), .what = REMOVE_ID,
       .id = id)
CHANGE(setxattrs,
       (struct fsal_obj_handle * handle, setxattr_option4 option, xattrkey4 *key,
	xattrvalue4 *value),
       .what = SET_NFS, .option = option, .key = key, .value = value)
CHANGE(removexattrs, (struct fsal_obj_handle * handle, xattrkey4 *key), .what = REMOVE_NFS,
       .key = key)

void mg_xattrs_ops_init(struct fsal_obj_ops *ops)
{
	ops->list_ext_attrs = list_ext_attrs;
	ops->getextattr_id_by_name = getextattr_id_by_name;
	ops->getextattr_value_by_name = getextattr_value_by_name;
	ops->getextattr_value_by_id = getextattr_value_by_id;
	ops->setextattr_value = setextattr_value;
	ops->setextattr_value_by_id = setextattr_value_by_id;
	ops->remove_extattr_by_id = remove_extattr_by_id;
	ops->remove_extattr_by_name = remove_extattr_by_name;
	ops->getxattrs = getxattrs;
	ops->setxattrs = setxattrs;
	ops->removexattrs = removexattrs;
	ops->listxattrs = listxattrs;
}
