/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Removes, gives and moves names.  Names change in filled directories only (I6); an object that is
 * not normal gets a name in a bracket, so that the directory and those above it have records first
 * (I5).
 */
#include "fsal_migrate/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fsal_migrate/bracket.h"
#include "fsal_migrate/call.h"
#include "fsal_migrate/compat.h"
#include "fsal_migrate/fill.h"
#include "fsal_migrate/handle.h"

struct naming {
	struct mg_object *object, *dir;
	const char *name;
	const struct mg_parents *parents;
	struct mg_object *olddir; /* of a rename */
	const char *old_name;
};

/* Whether the name is still the object's: 1, 0 or -errno. */
static int object_has_name(struct mg_object *object, struct mg_object *dir, const char *name)
{
	int dir_fd = mg_object_open(dir), result;
	struct stat st;

	if (dir_fd < 0)
		return dir_fd;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		result = st.st_ino == object->handle.fileid;
	else
		result = errno == ENOENT ? 1 : -errno; /* the FSAL below finds the right error */
	close(dir_fd);
	return result;
}

/*
 * The FSAL below works by names.  For up to a second MDCACHE may take a name for another object
 * than the one that has the name now, because a server beside this one changed it.  The operation
 * would hit the wrong object, which may be unfinished: so MDCACHE has to look again first.
 */
static fsal_status_t check_name(struct mg_object *object, struct mg_object *dir, const char *name)
{
	int result;

	if (atomic_load(&dir->volume->finished))
		return mg_ok();
	result = object_has_name(object, dir, name);
	if (result != 0)
		return result < 0 ? mg_look_status(result) : mg_ok();
	mg_object_forget(dir, true);
	return mg_delay();
}

static fsal_status_t make_hard_link(void *arg)
{
	struct naming *link = arg;
	struct mg_export *export = mg_enter();
	fsal_status_t status =
		compat_link(link->object->sub, link->dir->sub, link->name, link->parents);

	mg_leave(export);
	return status;
}

static fsal_status_t link_object(struct mg_object *object, struct mg_object *dir, const char *name,
				 const struct mg_parents *parents)
{
	struct naming link = {object, dir, name, parents};
	struct mg_change change = {.kind = MIGRATE_PLACE,
				   .dir = dir,
				   .make = make_hard_link,
				   .arg = &link,
				   .once = true};
	fsal_status_t status = mg_may_name(dir, name);

	return FSAL_IS_ERROR(status) ? status : mg_change(object, &change);
}

static fsal_status_t make_rename(void *arg)
{
	struct naming *move = arg;
	fsal_status_t status = check_name(move->object, move->olddir, move->old_name);
	struct mg_export *export;

	if (FSAL_IS_ERROR(status))
		return status;
	export = mg_enter();
	status = compat_rename(move->object->sub, move->olddir->sub, move->old_name, move->dir->sub,
			       move->name, move->parents);
	mg_leave(export);
	return status;
}

static fsal_status_t make_nothing(void *arg)
{
	return mg_ok();
}

/* replaced is to be cleared, whatever is returned. */
static fsal_status_t find_replaced(struct mg_object *object, struct mg_object *newdir,
				   const char *new_name, struct migrate_replaced *replaced)
{
	const struct stat moved = {
		.st_dev = object->volume->device,
		.st_ino = object->handle.fileid,
		.st_mode = object->handle.type == DIRECTORY ? S_IFDIR : S_IFREG,
	};
	int dir_fd, result, fd;

	replaced->fd = -1;
	if (atomic_load(&newdir->volume->finished))
		return mg_ok();
	dir_fd = mg_object_open(newdir);
	if (dir_fd < 0)
		return mg_look_status(dir_fd);
	result = migrate_replaced_find(dir_fd, new_name, &moved, replaced);
	close(dir_fd);
	if (result == 0 && replaced->fill) {
		fd = fcntl(replaced->fd, F_DUPFD_CLOEXEC, 0);
		result = mg_call_run(fd < 0 ? NULL : mg_call_new(object->volume, fd, -1),
				     mg_call_fill);
	}
	return mg_status(result);
}

/* A normal directory must not become unfinished while it is moved without a bracket. */
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
	struct naming move = {object, newdir, new_name, parents, olddir, old_name};
	struct mg_change change = {.kind = MIGRATE_PLACE,
				   .dir = newdir,
				   .make = make_rename,
				   .arg = &move,
				   .once = true};
	const struct mg_change touch = {.kind = MIGRATE_ATTRIBUTES, .make = make_nothing};
	bool directory = object->handle.type == DIRECTORY;
	struct migrate_replaced replaced = {.fd = -1};
	fsal_status_t status = mg_may_name(olddir, old_name);

	if (!FSAL_IS_ERROR(status))
		status = mg_may_name(newdir, new_name);
	if (!FSAL_IS_ERROR(status))
		status = find_replaced(object, newdir, new_name, &replaced);
	if (!FSAL_IS_ERROR(status))
		status = directory ? rename_directory(object, &change) : mg_change(object, &change);
	if (!FSAL_IS_ERROR(status) && replaced.touch)
		(void)mg_bracket(object->volume, replaced.fd, &touch);
	migrate_replaced_clear(&replaced);
	return status;
}

static fsal_status_t make_unlink(void *arg)
{
	struct naming *gone = arg;
	fsal_status_t status = check_name(gone->object, gone->dir, gone->name);
	struct mg_export *export;

	if (FSAL_IS_ERROR(status))
		return status;
	export = mg_enter();
	status = compat_unlink(gone->dir->sub, gone->object->sub, gone->name, gone->parents);
	mg_leave(export);
	return status;
}

/*
 * A file's other names stay, with a new ctime: a change of attributes.  A read that waits when the
 * last name goes has to be answered, and by then nothing may find the file any more: so a
 * descriptor is kept.
 */
static fsal_status_t unlink_file(struct naming *gone)
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
		status = mg_bracket(object->volume, look.fd, &change);
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
	struct naming gone = {object, dir, name, parents};
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
