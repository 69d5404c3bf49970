/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Names that are taken away, given or moved.  They change in filled directories only (I6); an
 * object that is not normal gets a name in a bracket, so that the directory and those above have
 * records first (I5).
 */
#include "ops.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bracket.h"
#include "compat.h"
#include "fill.h"
#include "handle.h"

struct link {
	struct mg_object *object, *dir;
	const char *name;
	const struct mg_parents *parents;
};

static fsal_status_t make_link(void *arg)
{
	struct link *link = arg;
	struct mg_export *export = mg_enter();
	fsal_status_t status =
		compat_link(link->object->sub, link->dir->sub, link->name, link->parents);

	mg_leave(export);
	return status;
}

static fsal_status_t link_object(struct mg_object *object, struct mg_object *dir, const char *name,
				 const struct mg_parents *parents)
{
	struct link link = {object, dir, name, parents};
	struct mg_change change = {
		.kind = MIGRATE_PLACE, .dir = dir, .make = make_link, .arg = &link, .once = true};
	fsal_status_t status = mg_may_name(dir, name);

	return FSAL_IS_ERROR(status) ? status : mg_change(object, &change);
}

struct rename {
	struct mg_object *object, *olddir, *newdir;
	const char *old_name, *new_name;
	const struct mg_parents *parents;
};

static fsal_status_t make_rename(void *arg)
{
	struct rename *move = arg;
	struct mg_export *export = mg_enter();
	fsal_status_t status = compat_rename(move->object->sub, move->olddir->sub, move->old_name,
					     move->newdir->sub, move->new_name, move->parents);

	mg_leave(export);
	return status;
}

static fsal_status_t make_nothing(void *arg)
{
	return mg_ok();
}

/* What a rename takes a name from. */
struct replaced {
	struct mg_object *object; /* NULL: nothing, or it can be left alone */
	struct mg_look look;	  /* of a file that is not normal and has other names */
	bool looked;
};

static void replaced_clear(struct replaced *replaced)
{
	if (replaced->looked)
		mg_look_done(&replaced->look);
	if (replaced->object)
		mg_object_release(&replaced->object->handle);
	memset(replaced, 0, sizeof(*replaced));
}

static fsal_status_t find_replaced(struct mg_object *newdir, const char *new_name,
				   struct replaced *replaced)
{
	struct fsal_obj_handle *sub = NULL;
	struct mg_export *export;
	fsal_status_t status;

	if (mg_is_normal(newdir))
		return mg_ok();
	export = mg_enter();
	status = newdir->sub->obj_ops->lookup(newdir->sub, new_name, &sub, NULL);
	mg_leave(export);
	/* There is nothing; why else the rename fails is for the FSAL below to say. */
	if (status.major == ERR_FSAL_NOENT || status.major == ERR_FSAL_NAMETOOLONG)
		return mg_ok();
	if (FSAL_IS_ERROR(status))
		return status;
	replaced->object = mg_object_new(export, sub);
	return mg_ok();
}

/* A directory that is to be replaced must be filled: an unfilled one looks empty. */
static fsal_status_t fill_replaced(struct replaced *replaced, bool by_directory)
{
	struct mg_object *object = replaced->object;
	struct stat st;
	int result;

	if (!object)
		return mg_ok();
	if (object->handle.type == DIRECTORY)
		return by_directory ? mg_fill_directory(object) : mg_ok();
	if (object->handle.type != REGULAR_FILE || mg_is_normal(object))
		return mg_ok();
	result = mg_look(object, &replaced->look);
	replaced->looked = result >= 0;
	if (result <= 0 || fstat(replaced->look.fd, &st) < 0 || st.st_nlink < 2)
		replaced_clear(replaced);
	return mg_ok();
}

/* Its other names are to show a new ctime. */
static void was_replaced(struct replaced *replaced, struct mg_object *object)
{
	struct mg_change change = {.kind = MIGRATE_ATTRIBUTES, .make = make_nothing};

	if (replaced->looked && replaced->object->handle.fileid != object->handle.fileid)
		(void)mg_bracket(replaced->object, &replaced->look, &change);
}

/* A directory that is normal and is moved as it is must not become unfinished meanwhile. */
static fsal_status_t rename_directory(struct mg_object *object, const struct mg_change *change)
{
	fsal_status_t status;
	int held;

	if (atomic_load(&object->volume->finished) || !object->on_volume)
		return change->make(change->arg);
	held = mg_hold(object, MIGRATE_HOLD_ALONE, mg_deadline(object->volume));
	if (held < 0)
		return mg_look_status(held);
	status = mg_look_and_change(object, change);
	close(held);
	return status;
}

static fsal_status_t rename_object(struct mg_object *object, struct mg_object *olddir,
				   const char *old_name, struct mg_object *newdir,
				   const char *new_name, const struct mg_parents *parents)
{
	struct rename move = {object, olddir, newdir, old_name, new_name, parents};
	struct mg_change change = {.kind = MIGRATE_PLACE,
				   .dir = newdir,
				   .make = make_rename,
				   .arg = &move,
				   .once = true};
	bool directory = object->handle.type == DIRECTORY;
	struct replaced replaced = {0};
	fsal_status_t status = mg_may_name(olddir, old_name);

	if (!FSAL_IS_ERROR(status))
		status = mg_may_name(newdir, new_name);
	if (!FSAL_IS_ERROR(status))
		status = find_replaced(newdir, new_name, &replaced);
	if (!FSAL_IS_ERROR(status))
		status = fill_replaced(&replaced, directory);
	if (!FSAL_IS_ERROR(status))
		status = directory ? rename_directory(object, &change) : mg_change(object, &change);
	if (!FSAL_IS_ERROR(status))
		was_replaced(&replaced, object);
	replaced_clear(&replaced);
	return status;
}

struct unlink {
	struct mg_object *dir, *object;
	const char *name;
	const struct mg_parents *parents;
};

static fsal_status_t make_unlink(void *arg)
{
	struct unlink *gone = arg;
	struct mg_export *export = mg_enter();
	fsal_status_t status =
		compat_unlink(gone->dir->sub, gone->object->sub, gone->name, gone->parents);

	mg_leave(export);
	return status;
}

/*
 * A file's other names stay, with a new ctime, so that this is a change of attributes.  A read that
 * waits when its last name goes is to be answered: then nothing may be left that finds the file.
 */
static fsal_status_t unlink_file(struct unlink *gone)
{
	struct mg_object *object = gone->object;
	struct mg_change change = {
		.kind = MIGRATE_ATTRIBUTES, .make = make_unlink, .arg = gone, .once = true};
	struct mg_look look;
	fsal_status_t status;
	struct stat st;
	bool links;

	if (mg_is_normal(object) || mg_look(object, &look) < 0)
		return make_unlink(gone);
	links = fstat(look.fd, &st) == 0 && st.st_nlink > 1;
	if (mg_is_normal(object))
		status = make_unlink(gone);
	else if (links)
		status = mg_bracket(object, &look, &change);
	else
		status = make_unlink(gone);
	if (!FSAL_IS_ERROR(status) && !links && !mg_is_normal(object))
		mg_object_keep(object, mg_look_steal_fd(&look));
	mg_look_done(&look);
	return status;
}

static fsal_status_t unlink_object(struct mg_object *dir, struct mg_object *object,
				   const char *name, const struct mg_parents *parents)
{
	struct unlink gone = {dir, object, name, parents};
	fsal_status_t status = mg_may_name(dir, name);

	/* An unfilled directory looks empty. */
	if (!FSAL_IS_ERROR(status) && object->handle.type == DIRECTORY)
		status = mg_fill_directory(object);
	if (FSAL_IS_ERROR(status))
		return status;
	return object->handle.type == REGULAR_FILE ? unlink_file(&gone) : make_unlink(&gone);
}

void mg_rename_ops_init(void)
{
	mg_names.link = link_object;
	mg_names.rename = rename_object;
	mg_names.unlink = unlink_object;
}
