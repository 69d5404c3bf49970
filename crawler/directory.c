/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "crawler/directory.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"

/* Entries looked at in one read, so that a directory of millions of files does not keep the process
 * from hearing a signal. */
#define SLICE (64 * 1024)

union handle_buffer {
	struct file_handle handle;
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

static int get_handle(int fd, const char *name, int flags, struct directory_handle *out,
		      int *mount_id)
{
	union handle_buffer buffer;

	buffer.handle.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, name, &buffer.handle, mount_id, flags))
		return -errno;
	if (buffer.handle.handle_type < 0 || buffer.handle.handle_type > UINT8_MAX)
		return -EOPNOTSUPP;
	out->type = (uint8_t)buffer.handle.handle_type;
	out->len = (uint8_t)buffer.handle.handle_bytes;
	memcpy(out->bytes, buffer.handle.f_handle, out->len);
	return 0;
}

int directory_handle_get(int fd, struct directory_handle *handle)
{
	int mount_id;

	return get_handle(fd, "", AT_EMPTY_PATH, handle, &mount_id);
}

int directory_handle_open(int mount_fd, const struct directory_handle *handle)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = migrate_open_handle(mount_fd, handle->type, handle->bytes, handle->len,
				     flags | O_NOATIME);

	/* Only the owner or CAP_FOWNER may leave the access time alone. */
	if (fd == -EPERM)
		fd = migrate_open_handle(mount_fd, handle->type, handle->bytes, handle->len, flags);
	return fd;
}

guint directory_handle_hash(gconstpointer p)
{
	const struct directory_handle *handle = p;
	guint hash = handle->type;

	for (unsigned i = 0; i < handle->len; i++)
		hash = hash * 33 + handle->bytes[i];
	return hash;
}

gboolean directory_handle_equal(gconstpointer p, gconstpointer q)
{
	const struct directory_handle *a = p, *b = q;

	return a->type == b->type && a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

static void append_entry(struct directory_list *list, const struct directory_handle *handle)
{
	if (!list->packed)
		list->packed = g_byte_array_new();
	g_byte_array_append(list->packed, &handle->type, 1);
	g_byte_array_append(list->packed, &handle->len, 1);
	g_byte_array_append(list->packed, handle->bytes, handle->len);
}

bool directory_list_take(struct directory_list *list, struct directory_handle *handle)
{
	if (!list->packed)
		return false;

	const uint8_t *p = list->packed->data + list->next;
	handle->type = p[0];
	handle->len = p[1];
	memcpy(handle->bytes, p + 2, handle->len);
	list->next += 2 + handle->len;
	if (list->next == list->packed->len)
		directory_list_clear(list);
	return true;
}

void directory_list_clear(struct directory_list *list)
{
	if (list->packed)
		g_byte_array_unref(list->packed);
	list->packed = NULL;
	list->next = 0;
}

int directory_scope_get(int root_fd, struct directory_scope *scope)
{
	struct directory_handle handle;
	struct stat st;

	if (fstat(root_fd, &st))
		return -errno;
	scope->device = st.st_dev;
	scope->inode = st.st_ino;
	return get_handle(root_fd, "", AT_EMPTY_PATH, &handle, &scope->mount_id);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct found {
	struct timespec mtime;
	struct directory_handle handle;
};

static gint newest_first(gconstpointer p, gconstpointer q)
{
	const struct found *a = *(struct found *const *)p, *b = *(struct found *const *)q;

	if (a->mtime.tv_sec != b->mtime.tv_sec)
		return a->mtime.tv_sec < b->mtime.tv_sec ? 1 : -1;
	return (a->mtime.tv_nsec < b->mtime.tv_nsec) - (a->mtime.tv_nsec > b->mtime.tv_nsec);
}

struct part {
	int fd;
	const struct directory_scope *scope;
	bool at_root;
	GPtrArray *found; /* of struct found */
	struct directory_ages *ages;
};

static void note_age(struct directory_ages *ages, const struct stat *st)
{
	const int64_t read = st->st_atime <= ages->until ? st->st_atime : 0;
	const int64_t changed = st->st_mtime <= ages->until ? st->st_mtime : 0;
	const int64_t last = ages->by_reads ? MAX(read, changed) : changed;

	ages->files++;
	ages->read += read >= ages->since;
	ages->recent |= last >= ages->since;
	if (last < ages->since)
		ages->before = MAX(ages->before, last);
}

static void consider(struct part *part, const struct dirent64 *entry)
{
	const char *name = entry->d_name;
	struct stat st;
	int mount_id;

	if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN &&
	    !(entry->d_type == DT_REG && part->ages))
		return;
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return;
	if (part->at_root && !strcmp(name, MIGRATE_PRIVATE_DIR))
		return;
	if (fstatat(part->fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT))
		return;
	if (S_ISREG(st.st_mode) && part->ages)
		note_age(part->ages, &st);
	if (!S_ISDIR(st.st_mode) || st.st_dev != part->scope->device)
		return;

	struct found *found = g_new(struct found, 1);
	found->mtime = st.st_mtim;
	if (get_handle(part->fd, name, 0, &found->handle, &mount_id) ||
	    mount_id != part->scope->mount_id)
		g_free(found);
	else
		g_ptr_array_add(part->found, found);
}

static int read_part(struct part *part, int64_t *position, bool *end)
{
	_Alignas(struct dirent64) char buffer[32768];
	unsigned seen = 0;

	*end = false;
	if (lseek(part->fd, *position, SEEK_SET) < 0)
		return -errno;
	while (seen < SLICE && part->found->len < DIRECTORY_BATCH) {
		ssize_t got = getdents64(part->fd, buffer, sizeof(buffer));

		if (got < 0)
			/* A directory that is open but removed has no entries. */
			return errno == ENOENT ? (*end = true, 0) : -errno;
		if (got == 0) {
			*end = true;
			return 0;
		}
		for (ssize_t at = 0; at < got && part->found->len < DIRECTORY_BATCH; seen++) {
			const struct dirent64 *entry = (const void *)(buffer + at);

			consider(part, entry);
			*position = entry->d_off;
			at += entry->d_reclen;
		}
	}
	return 0;
}

int directory_read(int fd, const struct directory_scope *scope, int64_t *position, bool *end,
		   struct directory_list *list, struct directory_ages *ages)
{
	g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
	struct part part = {.fd = fd, .scope = scope, .found = found, .ages = ages};
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	part.at_root = st.st_ino == scope->inode && st.st_dev == scope->device;

	int error = read_part(&part, position, end);
	if (error)
		return error;
	g_ptr_array_sort(found, newest_first);
	for (guint i = 0; i < found->len; i++)
		append_entry(list, &((struct found *)found->pdata[i])->handle);
	return 0;
}
