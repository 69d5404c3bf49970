/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/object.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "FSAL/fsal_localfs.h"
#include "fsal_migrate/compat.h"
#include "fsal_migrate/up.h"
#include "fsal_convert.h"

/*
 * The key of a handle of FSAL VFS on Linux (its handle_syscalls.c): a byte of flags, the
 * identification of the file system, the type of the kernel's handle in as many bytes as the
 * flags say, the kernel's handle.
 */
#define KEY_FSID_MASK 0x1f
#define KEY_DUMMY     0x20 /* of a file system that has no handles */
#define KEY_TYPE_MASK 0xc0
#define KEY_TYPE_16   0x80
#define KEY_TYPE_32   0xc0

struct fsal_obj_ops mg_obj_ops;

static int open_key(int mount_fd, const struct gsh_buffdesc *key)
{
	const uint8_t *p = key->addr, *end = p + key->len;
	int fsid, type_len;
	int16_t type_16;
	int32_t type = 0;

	if (p >= end || (*p & KEY_DUMMY))
		return -ESTALE;
	fsid = sizeof_fsid(*p & KEY_FSID_MASK);
	type_len = (*p & KEY_TYPE_MASK) == KEY_TYPE_32	 ? 4
		   : (*p & KEY_TYPE_MASK) == KEY_TYPE_16 ? 2
							 : 1;
	if (fsid < 0 || !(*p & KEY_TYPE_MASK) || end - p <= 1 + fsid + type_len)
		return -ESTALE;
	p += 1 + fsid;
	memcpy(&type_16, p, 2);
	memcpy(&type, p, type_len == 4 ? 4 : 0);
	if (type_len < 4)
		type = type_len == 2 ? type_16 : *p;
	p += type_len;
	return migrate_open_handle(mount_fd, type, p, end - p,
				   O_RDONLY | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
}

static int open_kept(struct mg_object *object)
{
	int fd = -ESTALE;

	pthread_mutex_lock(&object->volume->lock);
	if (atomic_load(&object->kept) >= 0) {
		fd = fcntl(atomic_load(&object->kept), F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			fd = -errno;
	}
	pthread_mutex_unlock(&object->volume->lock);
	return fd;
}

int mg_object_open(struct mg_object *object)
{
	struct mg_export *export = mg_enter();
	struct gsh_buffdesc key;
	int result;

	object->sub->obj_ops->handle_to_key(object->sub, &key);
	mg_leave(export);
	result = open_key(object->volume->mount_fd, &key);
	return result == -ESTALE ? open_kept(object) : result;
}

void mg_object_forget(struct mg_object *object, bool names)
{
	struct mg_export *export = mg_enter();
	struct gsh_buffdesc key;

	object->sub->obj_ops->handle_to_key(object->sub, &key);
	mg_leave(export);
	mg_up_invalidate(object->volume, key.addr, key.len, names, NULL, NULL);
}

void mg_object_keep(struct mg_object *object, int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0)
		atomic_store(&object->removed,
			     st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec);
	pthread_mutex_lock(&object->volume->lock);
	if (atomic_load(&object->kept) < 0)
		fd = atomic_exchange(&object->kept, fd);
	pthread_mutex_unlock(&object->volume->lock);
	if (fd >= 0)
		close(fd);
}

void mg_object_let_go(struct mg_object *object)
{
	int fd;

	if (atomic_load(&object->kept) < 0)
		return;
	pthread_mutex_lock(&object->volume->lock);
	fd = atomic_exchange(&object->kept, -1);
	pthread_mutex_unlock(&object->volume->lock);
	if (fd >= 0)
		close(fd);
}

/* Another file system may be mounted somewhere below. */
static bool on_volume(const struct mg_volume *volume, const struct fsal_obj_handle *sub)
{
	return sub->fs->dev.major == major(volume->device) &&
	       sub->fs->dev.minor == minor(volume->device);
}

struct mg_object *mg_object_new(struct mg_export *export, struct fsal_obj_handle *sub)
{
	struct mg_object *object = gsh_calloc(1, sizeof(*object));

	compat_handle_init(&object->handle, &export->fsal, sub->type);
	object->handle.obj_ops = &mg_obj_ops;
	object->handle.fsid = sub->fsid;
	object->handle.fileid = sub->fileid;
	object->handle.fs = sub->fs;
	object->handle.state_hdl = sub->state_hdl;
	object->sub = sub;
	object->volume = mg_volume_ref(export->volume);
	atomic_init(&object->kept, -1);
	glist_init(&object->names);
	glist_init(&object->fetches);
	/* Only files and directories have records, and only on the volume's own file system. */
	object->on_volume = on_volume(export->volume, sub);
	if ((sub->type != REGULAR_FILE && sub->type != DIRECTORY) || !object->on_volume)
		atomic_init(&object->normal, MG_ALWAYS);
	return object;
}

/* ---- their state ------------------------------------------------------------------------------
 */

bool mg_is_normal(struct mg_object *object)
{
	return atomic_load(&object->normal) || atomic_load(&object->volume->finished);
}

/* On a file system with errors, a file that was found whole may have its record again; without a
 * record it is whole, as it was durable then. */
static bool has_record_again(struct mg_object *object)
{
	int fd = mg_object_open(object), result;

	if (fd < 0)
		return true;
	result = migrate_has_record(fd);
	close(fd);
	return result != 0 && result != -EIO;
}

bool mg_is_whole(struct mg_object *object)
{
	if (!mg_is_normal(object))
		return false;
	return !atomic_load(&object->volume->damaged) ||
	       atomic_load(&object->normal) == MG_ALWAYS || !has_record_again(object);
}

void mg_set_normal(struct mg_object *object)
{
	/* A directory of a volume that is still to be attached is normal only for now. */
	if (object->handle.type == DIRECTORY && atomic_load(&object->volume->unattached))
		return;
	atomic_store(&object->normal, MG_NORMAL);
}

void mg_set_filled(struct mg_object *dir)
{
	unsigned normal = MG_NORMAL;

	atomic_store(&dir->filled, true);
	atomic_compare_exchange_strong(&dir->normal, &normal, 0);
}

int mg_look(struct mg_object *object, struct mg_look *look)
{
	int result;

	look->fd = mg_object_open(object);
	if (look->fd < 0)
		return look->fd;
	result = migrate_stub_load(look->fd, &look->stub);
	if (result < 0) {
		mg_look_done(look);
		return result;
	}
	if (look->stub.state == MIGRATE_NORMAL) {
		mg_set_normal(object);
		return 0;
	}
	if (look->stub.state == MIGRATE_FILLED)
		atomic_store(&object->filled, true);
	atomic_store(&object->volume->unattached, false);
	return 1;
}

void mg_look_done(struct mg_look *look)
{
	migrate_stub_clear(&look->stub);
	if (look->fd >= 0)
		close(look->fd);
	look->fd = -1;
}

int mg_look_confirm(struct mg_object *object, const struct migrate_found *found,
		    const struct fsal_io_arg *arg)
{
	int fd = mg_object_open(object), result;

	if (fd < 0)
		return fd;
	result = migrate_read_confirm(fd, found, arg->offset, arg->iov, arg->iov_count,
				      arg->io_amount);
	close(fd);
	return result;
}

int mg_look_steal_fd(struct mg_look *look)
{
	int fd = look->fd;

	look->fd = -1;
	return fd;
}
