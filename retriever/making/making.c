/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/making.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "retriever/objects/templates.h"

int making_record(const struct making *m, struct migrate_record *rec)
{
	const struct source_entry *entry = m->entry;
	bool dir = S_ISDIR(entry->attr.mode);

	memset(rec, 0, sizeof *rec);
	rec->state = dir ? MIGRATE_UNFILLED : MIGRATE_PARTIAL;
	rec->fileid = entry->attr.fileid;
	rec->size = dir ? entry->attr.nlink : entry->attr.size;
	rec->mtime = entry->attr.mtime;
	rec->ctime = entry->attr.ctime;
	if (entry->handle_len && dir) {
		rec->flags |= MIGRATE_REC_HANDLE;
		rec->handle_len = entry->handle_len;
		memcpy(rec->handle, entry->handle, entry->handle_len);
	} else if (entry->handle_len) {
		templates_shrink(m->retriever->templates, entry->handle, entry->handle_len, rec);
	}
	/* a directory's record may be long; a file is found again through its parent's */
	if (dir || !entry->handle_len)
		rec->path = stub_child_path(m->parent->path, entry->name);
	return dir ? 0 : migrate_extents_add(&rec->missing, 0, rec->size);
}

int making_store_record(int fd, struct migrate_record *rec)
{
	int ret = migrate_binding_get(fd, "", &rec->binding);

	return ret ? ret : migrate_record_store(fd, rec);
}

int making_store_void(int fd, struct migrate_record *rec)
{
	int ret = migrate_binding_get(fd, "", &rec->binding);

	rec->binding.bytes[0] ^= 0xff;
	return ret ? ret : migrate_record_store(fd, rec);
}

static int put_record(const struct making *m, int fd, uint16_t flags,
		      int (*store)(int fd, struct migrate_record *rec))
{
	struct migrate_record rec;
	int ret = making_record(m, &rec);

	rec.flags |= flags;
	if (!ret)
		ret = store(fd, &rec);
	migrate_record_clear(&rec);
	return ret;
}

int making_put_record(const struct making *m, int fd, uint16_t flags)
{
	return put_record(m, fd, flags, making_store_record);
}

int making_keep_room(const struct making *m, int fd)
{
	return put_record(m, fd, 0, making_store_void);
}

/* What is lost must be known before the object can be seen. */
int making_set_attributes(struct making *m, int fd, bool inherits)
{
	int ret =
		attributes_set(m->retriever, fd, &m->entry->attr, m->xattrs, inherits, &m->carried);

	return ret ? ret
		   : attributes_report(m->retriever, &m->carried, m->parent->fd, m->entry->name);
}

void making_count(const struct making *m)
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
	if (S_ISREG(entry->attr.mode) && entry->attr.size)
		COUNT_ADD(retriever, bytes_found, entry->attr.size);
	else
		COUNT_ADD(retriever, files_whole, 1);
}

void making_stage(struct making *m, char name[MAKING_NAME_LEN])
{
	g_snprintf(name, MAKING_NAME_LEN, "%d", g_atomic_int_add(&m->retriever->staging_serial, 1));
}

/* Whether what it has beside its attributes must be known and is not. */
bool making_lacks_attributes(const struct making *m)
{
	const mode_t mode = m->entry->attr.mode;

	return !m->xattrs && backend_may_have(m->retriever->carries, mode);
}

bool making_must_ask(const struct making *m)
{
	return making_lacks_attributes(m) ||
	       (!m->xattrs && stub_wants_data(m->parent, &m->entry->attr));
}
