/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/new_object.h"

#include <string.h>
#include <sys/stat.h>

#include "retriever/objects/templates.h"

int new_object_record(const struct new_object *m, struct migrate_record *rec)
{
	const struct source_entry *entry = m->entry;
	bool dir = S_ISDIR(entry->attr.mode);

	memset(rec, 0, sizeof *rec);
	rec->state = dir ? MIGRATE_UNFILLED : MIGRATE_PARTIAL;
	rec->fileid = entry->attr.fileid;
	rec->size = dir ? entry->attr.nlink : entry->attr.size;
	rec->mtime = entry->attr.mtime;
	rec->ctime = entry->attr.ctime;
	if (new_object_is_closed(m))
		rec->flags |= dir ? MIGRATE_REC_CLOSED_DIRECTORY : MIGRATE_REC_CLOSED_FILE;
	if (entry->handle_len && dir) {
		rec->flags |= MIGRATE_REC_HANDLE;
		rec->handle_len = entry->handle_len;
		memcpy(rec->handle, entry->handle, entry->handle_len);
	} else if (entry->handle_len) {
		templates_shrink(m->retriever->templates, entry->handle, entry->handle_len, rec);
	}
	/* a directory's record may be long; a file is found again through its parent's */
	if (dir || !entry->handle_len)
		rec->path = make_child_path(m->parent->path, entry->name);
	return dir ? 0 : migrate_extents_add(&rec->missing, 0, rec->size);
}

int new_object_store_record(int fd, struct migrate_record *rec)
{
	int ret = migrate_binding_get(fd, "", &rec->binding);

	return ret ? ret : migrate_record_store(fd, rec);
}

int new_object_store_void(int fd, struct migrate_record *rec)
{
	int ret = migrate_binding_get(fd, "", &rec->binding);

	rec->binding.bytes[0] ^= 0xff;
	return ret ? ret : migrate_record_store(fd, rec);
}

static int put_record(const struct new_object *m, int fd, uint16_t flags,
		      int (*store)(int fd, struct migrate_record *rec))
{
	struct migrate_record rec;
	int ret = new_object_record(m, &rec);

	rec.flags |= flags;
	if (!ret)
		ret = store(fd, &rec);
	migrate_record_clear(&rec);
	return ret;
}

int new_object_put_record(const struct new_object *m, int fd, uint16_t flags)
{
	return put_record(m, fd, flags, new_object_store_record);
}

int new_object_keep_room(const struct new_object *m, int fd)
{
	return put_record(m, fd, 0, new_object_store_void);
}

/* What is lost must be known before the object can be seen. */
int new_object_set_attributes(struct new_object *m, int fd, bool inherits)
{
	int ret =
		attributes_set(m->retriever, fd, &m->entry->attr, m->xattrs, inherits, &m->carried);

	return ret ? ret
		   : attributes_report(m->retriever, &m->carried, m->parent->fd, m->entry->name);
}

void new_object_count(const struct new_object *m)
{
	struct retriever *retriever = m->retriever;
	const struct source_entry *entry = m->entry;

	if (m->carried.acl)
		COUNT_ADD(retriever, acls_carried, 1);
	if (m->carried.xattrs)
		COUNT_ADD(retriever, xattrs_carried, 1);
	if (S_ISDIR(entry->attr.mode)) {
		COUNT_ADD(retriever, directories_found, 1);
		COUNT_ADD(retriever, unfilled, 1);
		return;
	}
	COUNT_ADD(retriever, files_found, 1);
	COUNT_ADD(retriever, made, 1);
	if (S_ISREG(entry->attr.mode))
		COUNT_ADD(retriever, bytes_found, entry->attr.size);
	if (!new_object_is_stub(m))
		COUNT_ADD(retriever, files_whole, 1);
}

bool new_object_is_closed(const struct new_object *m)
{
	return m->xattrs && m->xattrs->closed;
}

bool new_object_is_stub(const struct new_object *m)
{
	const struct source_attr *attr = &m->entry->attr;

	return S_ISDIR(attr->mode) ||
	       (S_ISREG(attr->mode) && (attr->size || new_object_is_closed(m)));
}

/* Whether what it has beside its attributes must be known and is not. */
bool new_object_lacks_attributes(const struct new_object *m)
{
	const mode_t mode = m->entry->attr.mode;

	return !m->xattrs && backend_may_have(m->retriever->carries, mode);
}

bool new_object_must_ask(const struct new_object *m)
{
	return new_object_lacks_attributes(m) ||
	       (!m->xattrs && make_wants_data(m->parent, &m->entry->attr));
}
