/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/ops.h"

#include <string.h>

#include "fsal_migrate/attrs.h"
#include "fsal_migrate/compat.h"
#include "fsal_migrate/fill.h"
#include "fsal_migrate/handle.h"
#include "fsal_migrate/private.h"

#define LIST_VAIN_MAX 1000 /* listings that end before they begin */

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static fsal_status_t lookup_below(struct mg_object *dir, const char *name,
				  struct fsal_obj_handle **handle, struct fsal_attrlist *attrs)
{
	bool finished = atomic_load(&dir->volume->finished);
	struct mg_export *export = mg_enter();
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = dir->sub->obj_ops->lookup(dir->sub, name, &sub, attrs);

	mg_leave(export);
	if (FSAL_IS_ERROR(status))
		return status;
	return mg_object_adopt(export, finished, sub, attrs, handle);
}

static fsal_status_t lookup(struct fsal_obj_handle *parent, const char *name,
			    struct fsal_obj_handle **handle, struct fsal_attrlist *attrs)
{
	struct mg_object *dir = mg_object(parent);
	fsal_status_t status;

	*handle = NULL;
	if (mg_hidden(dir, name))
		return fsalstat(ERR_FSAL_NOENT, ENOENT);
	if (is_dots(name))
		return lookup_below(dir, name, handle, attrs);
	status = mg_fill_name(dir, name);
	if (FSAL_IS_ERROR(status))
		return status;
	status = lookup_below(dir, name, handle, attrs);
	if (status.major != ERR_FSAL_DELAY)
		return status;
	status = mg_fetch_name(dir, name);
	return FSAL_IS_ERROR(status) ? status : lookup_below(dir, name, handle, attrs);
}

struct listing {
	struct mg_export *export;
	struct mg_object *dir;
	bool finished; /* of mg_attrs_adopt_since() */
	fsal_readdir_cb callback;
	void *arg;
	fsal_cookie_t last;
	bool some;    /* were listed, up to `last` */
	bool stopped; /* at an object without attributes */
};

static enum fsal_dir_result list_entry(const char *name, struct fsal_obj_handle *sub,
				       struct fsal_attrlist *attrs, void *arg, fsal_cookie_t cookie)
{
	struct listing *listing = arg;
	struct fsal_obj_handle *handle = NULL;
	enum fsal_dir_result result;

	mg_leave(listing->export);
	listing->last = cookie;
	listing->some = true;
	if (mg_hidden(listing->dir, name)) {
		(void)mg_enter();
		sub->obj_ops->release(sub);
		return DIR_CONTINUE;
	}
	if (FSAL_IS_ERROR(
		    mg_object_adopt(listing->export, listing->finished, sub, attrs, &handle))) {
		mg_fetch_name_start(listing->dir, name);
		listing->stopped = true;
		result = DIR_TERMINATE;
	} else {
		result = listing->callback(name, handle, attrs, listing->arg, cookie);
	}
	(void)mg_enter();
	return result;
}

/*
 * FSAL VFS reads names and then looks each of them up.  If a name is removed in between, its
 * listing ends with an error as if the directory were not there.  Then the listing goes on here
 * behind the names that were listed.
 */
static fsal_status_t list_entries_below(struct listing *listing, fsal_cookie_t *whence,
					attrmask_t mask, bool *eof)
{
	struct fsal_obj_handle *sub = listing->dir->sub;
	fsal_cookie_t from;
	unsigned vain = 0;

	for (;;) {
		fsal_status_t status;

		listing->some = false;
		status = sub->obj_ops->readdir(sub, whence, listing, list_entry, mask, eof);
		if (status.major != ERR_FSAL_NOENT)
			return status;
		if (listing->some) {
			from = listing->last;
			whence = &from;
			vain = 0;
		} else if (++vain == LIST_VAIN_MAX) {
			return status;
		}
	}
}

static fsal_status_t read_directory(struct fsal_obj_handle *handle, fsal_cookie_t *whence,
				    void *arg, fsal_readdir_cb callback, attrmask_t mask, bool *eof)
{
	struct mg_object *dir = mg_object(handle);
	struct listing listing = {.dir = dir, .callback = callback, .arg = arg};
	fsal_status_t status = mg_fill_directory(dir);

	if (FSAL_IS_ERROR(status))
		return status;
	listing.finished = atomic_load(&dir->volume->finished);
	listing.export = mg_enter();
	status = list_entries_below(&listing, whence, mask, eof);
	mg_leave(listing.export);
	if (listing.stopped) {
		*eof = false;
		return mg_delay();
	}
	return status;
}

MG_DOWN(fsal_cookie_t, compute_readdir_cookie, compute_readdir_cookie,
	(struct fsal_obj_handle * handle, const char *name), sub, name)
MG_DOWN(int, dirent_cmp, dirent_cmp,
	(struct fsal_obj_handle * handle, const char *name1, fsal_cookie_t cookie1,
	 const char *name2, fsal_cookie_t cookie2),
	sub, name1, cookie1, name2, cookie2)

static fsal_status_t make_object(struct mg_object *dir, const struct mg_make *make)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = mg_may_name(dir, make->name);
	struct mg_export *export;
	struct mg_object *object;

	*make->made = NULL;
	if (FSAL_IS_ERROR(status))
		return status;
	export = mg_enter();
	status = compat_make(dir->sub, make, &sub);
	mg_leave(export);
	if (FSAL_IS_ERROR(status))
		return status;
	object = mg_object_new(export, sub);
	mg_set_normal(object); /* from the start */
	*make->made = &object->handle;
	return status;
}

void mg_namespace_ops_init(struct fsal_obj_ops *ops)
{
	ops->lookup = lookup;
	ops->readdir = read_directory;
	ops->compute_readdir_cookie = compute_readdir_cookie;
	ops->dirent_cmp = dirent_cmp;
	mg_names.make = make_object;
}
