/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "door.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "FSAL/fsal_localfs.h"
#include "attrs.h"
#include "compat.h"
#include "fsal_convert.h"
#include "io.h"

/*
 * The key of a handle of FSAL VFS on Linux (its handle_syscalls.c): a byte of flags, the
 * identification of the file system, the type of the kernel's handle in as many bytes as the
 * flags say, the kernel's handle.
 */
#define KEY_FSID_MASK 0x1f
#define KEY_DUMMY     0x20 /* of a file system that has no handles */
#define KEY_TYPE_MASK 0xc0
#define KEY_TYPE_8    0x40
#define KEY_TYPE_16   0x80
#define KEY_TYPE_32   0xc0

union kernel_handle {
	struct file_handle handle;
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

/* Ganesha drops requests of NFSv3 that end in ERR_FSAL_NOMEM or ERR_FSAL_NOT_OPENED (its
 * nfs_RetryableError()), and the client waits: nothing here becomes one of them. */
fsal_status_t mg_status(int result)
{
	switch (result) {
	case 0:
		return mg_ok();
	case -EAGAIN:
	case -ECANCELED:
	case -ECONNRESET:
	case -EPROTO:
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
	case -ENOLCK:
		return mg_delay();
	case -EREMOTEIO:
	case -ESTALE: /* there, not here: the file handle is good */
	case -EBADMSG:
	case -EBADF:
		return fsalstat(ERR_FSAL_IO, -result);
	default:
		return fsalstat(posix2fsal_error(-result), -result);
	}
}

fsal_status_t mg_look_status(int result)
{
	return result == -ESTALE ? fsalstat(ERR_FSAL_STALE, ESTALE) : mg_status(result);
}

static int parse_key(const struct gsh_buffdesc *key, union kernel_handle *out)
{
	const uint8_t *p = key->addr, *end = p + key->len;
	int fsid, type_len;
	uint16_t type_16;
	int32_t type = 0;

	if (p >= end || (*p & KEY_DUMMY))
		return -ESTALE;
	fsid = sizeof_fsid(*p & KEY_FSID_MASK);
	type_len = (*p & KEY_TYPE_MASK) == KEY_TYPE_32	 ? 4
		   : (*p & KEY_TYPE_MASK) == KEY_TYPE_16 ? 2
							 : 1;
	if (fsid < 0 || !(*p & KEY_TYPE_MASK) || end - p <= 1 + fsid + type_len ||
	    end - p > 1 + fsid + type_len + MAX_HANDLE_SZ)
		return -ESTALE;
	p += 1 + fsid;
	if (type_len == 4) {
		memcpy(&type, p, 4);
	} else if (type_len == 2) {
		memcpy(&type_16, p, 2);
		type = (int16_t)type_16;
	} else {
		type = *p;
	}
	p += type_len;
	out->handle.handle_type = type;
	out->handle.handle_bytes = end - p;
	memcpy(out->handle.f_handle, p, end - p);
	return 0;
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
	union kernel_handle kernel;
	struct gsh_buffdesc key;
	int result, fd;

	object->sub->obj_ops->handle_to_key(object->sub, &key);
	mg_leave(export);
	result = parse_key(&key, &kernel);
	if (result < 0)
		return result;
	fd = open_by_handle_at(object->volume->mount_fd, &kernel.handle,
			       O_RDONLY | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	result = -errno;
	if (result == -ENOENT)
		result = -ESTALE;
	return result == -ESTALE ? open_kept(object) : result;
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
	object->handle.obj_ops = &mg_module.obj_ops;
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

fsal_status_t mg_object_made(struct mg_export *export, struct fsal_obj_handle *sub, uint64_t places,
			     fsal_status_t status, struct fsal_obj_handle **handle)
{
	struct mg_object *object;

	*handle = NULL;
	if (FSAL_IS_ERROR(status))
		return status;
	object = mg_object_new(export, sub);
	mg_set_normal(object, places);
	*handle = &object->handle;
	return status;
}

void mg_object_release(struct fsal_obj_handle *handle)
{
	struct mg_object *object = mg_object(handle);

	if (op_ctx && op_ctx->fsal_export) {
		struct mg_export *export = mg_enter();

		object->sub->obj_ops->release(object->sub);
		mg_leave(export);
	}
	/* Else the host goes down with handles left: it releases those of VFS by itself, or has
	 * already, together with the code that would do it. */
	mg_gate_release(object);
	mg_io_release(object);
	mg_object_let_go(object);
	mg_volume_unref(object->volume);
	compat_handle_fini(handle);
	gsh_free(object);
}

static fsal_status_t merge(struct fsal_obj_handle *original, struct fsal_obj_handle *duplicate)
{
	struct mg_export *export = mg_enter();
	struct fsal_obj_handle *sub = mg_object(original)->sub;
	fsal_status_t status = sub->obj_ops->merge(sub, mg_object(duplicate)->sub);

	mg_leave(export);
	return status;
}

static fsal_status_t handle_to_wire(const struct fsal_obj_handle *handle, fsal_digesttype_t type,
				    struct gsh_buffdesc *fh)
{
	struct mg_export *export = mg_enter();
	struct fsal_obj_handle *sub = container_of(handle, struct mg_object, handle)->sub;
	fsal_status_t status = sub->obj_ops->handle_to_wire(sub, type, fh);

	mg_leave(export);
	return status;
}

static void handle_to_key(struct fsal_obj_handle *handle, struct gsh_buffdesc *key)
{
	struct mg_export *export = mg_enter();
	struct fsal_obj_handle *sub = mg_object(handle)->sub;

	sub->obj_ops->handle_to_key(sub, key);
	mg_leave(export);
}

static bool handle_cmp(struct fsal_obj_handle *a, struct fsal_obj_handle *b)
{
	struct mg_export *export = mg_enter();
	struct fsal_obj_handle *sub = mg_object(a)->sub;
	bool same = sub->obj_ops->handle_cmp(sub, mg_object(b)->sub);

	mg_leave(export);
	return same;
}

void mg_handle_ops_init(struct fsal_obj_ops *ops)
{
	fsal_default_obj_ops_init(ops);
	ops->release = mg_object_release;
	ops->merge = merge;
	ops->handle_to_wire = handle_to_wire;
	ops->handle_to_key = handle_to_key;
	ops->handle_cmp = handle_cmp;
	/* Not the one below: the host keeps the attributes that this reads. */
	ops->is_referral = fsal_common_is_referral;
	mg_namespace_ops_init(ops);
	mg_file_ops_init(ops);
	mg_io_ops_init(ops);
	mg_attrs_ops_init(ops);
	mg_xattrs_ops_init(ops);
	compat_names_ops_init(ops);
}

/* An object that was found otherwise than in its directory. */
static fsal_status_t found(struct mg_export *export, struct fsal_obj_handle *sub,
			   fsal_status_t status, struct fsal_attrlist *attrs,
			   struct fsal_obj_handle **handle)
{
	struct mg_object *object;

	if (FSAL_IS_ERROR(status))
		return status;
	object = mg_object_new(export, sub);
	if (!mg_attrs_adopt(object, attrs)) {
		mg_object_release(&object->handle);
		return mg_delay();
	}
	mg_attrs_keep(object, attrs);
	*handle = &object->handle;
	return status;
}

static fsal_status_t lookup_path(struct fsal_export *exp, const char *path,
				 struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out)
{
	struct mg_export *export = mg_enter();
	struct fsal_export *below = export->fsal.sub_export;
	struct fsal_obj_handle *sub = NULL;
	struct gsh_buffdesc key;
	fsal_status_t status;

	*handle = NULL;
	status = below->exp_ops.lookup_path(below, path, &sub, attrs_out);
	mg_leave(export);
	if (FSAL_IS_ERROR(status))
		return status;
	status = found(export, sub, status, attrs_out, handle);
	if (FSAL_IS_ERROR(status))
		return status;
	if (!mg_object(*handle)->on_volume) {
		LogMajor(COMPONENT_FSAL, "Volume %s: %s is not on the file system of the export",
			 export->volume->name, path);
		mg_object_release(*handle);
		*handle = NULL;
		return fsalstat(ERR_FSAL_XDEV, EXDEV);
	}
	if (export->has_root && (*handle)->fileid == export->root_fileid) {
		handle_to_key(*handle, &key);
		mg_volume_remember_root(export->volume, key.addr, key.len);
	}
	return status;
}

static fsal_status_t create_handle(struct fsal_export *exp, struct gsh_buffdesc *fh,
				   struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out)
{
	struct mg_export *export = mg_enter();
	struct fsal_export *below = export->fsal.sub_export;
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status;

	*handle = NULL;
	status = below->exp_ops.create_handle(below, fh, &sub, attrs_out);
	mg_leave(export);
	return found(export, sub, status, attrs_out, handle);
}

void mg_handle_export_ops_init(struct export_ops *ops)
{
	ops->lookup_path = lookup_path;
	ops->create_handle = create_handle;
}
