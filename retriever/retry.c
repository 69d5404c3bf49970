/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bracket.h"
#include "errors.h"

/*
 * The file as it is on the old server now.  The record first says that all of the new size is
 * missing, then the size is set: whoever looks in between finds missing ranges, never zeros.  A
 * crash in between leaves a size that no client has set, which object_load() sets right.  The old
 * content stays until it is written over.
 */
static int take_new_version(struct object *object, const struct source_attr *attr)
{
	struct migrate_record *rec = &object->record;
	int ret;

	object->version++;
	rec->size = attr->size;
	rec->mtime = attr->mtime;
	rec->ctime = attr->ctime;
	migrate_extents_clear(&rec->missing);
	migrate_extents_clear(&rec->dirty);
	migrate_extents_clear(&object->filled);
	ret = migrate_extents_add(&rec->missing, 0, attr->size);
	if (!ret)
		ret = object_store(object);
	if (!ret && ftruncate(object->fd, attr->size) < 0)
		ret = -errno;
	return ret;
}

struct opening {
	GMutex lock;
	GCond cond;
	bool done;
};

static void opened(void *arg, int status)
{
	struct opening *opening = arg;

	g_mutex_lock(&opening->lock);
	opening->done = true;
	g_cond_signal(&opening->cond);
	g_mutex_unlock(&opening->lock);
}

/* A bracket of our own keeps fills and clients out.  NULL: it could not be opened. */
static struct bracket *bracket_now(struct object *object)
{
	struct opening opening = {.done = false};
	struct bracket *bracket;

	g_mutex_init(&opening.lock);
	g_cond_init(&opening.cond);
	bracket = bracket_begin(object, MIGRATE_TRUNCATE, -1, opened, &opening);
	g_mutex_lock(&opening.lock);
	while (!opening.done)
		g_cond_wait(&opening.cond, &opening.lock);
	g_mutex_unlock(&opening.lock);
	g_mutex_clear(&opening.lock);
	g_cond_clear(&opening.cond);
	return bracket;
}

static int renew(struct object *object)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .priority = BACKEND_READAHEAD};
	struct source_object source;
	struct bracket *bracket;
	bool changed, touched;
	int ret;

	g_mutex_lock(&object->lock);
	ret = object_source(object, &source);
	g_mutex_unlock(&object->lock);
	if (ret)
		return 0; /* it is looked for by the next read */
	req.object = source;
	ret = backend_call(object->retriever, &req);
	source_object_clear(&source);
	if (ret)
		return 0;
	bracket = bracket_now(object);
	if (!bracket)
		return -EIO;
	g_mutex_lock(&object->lock);
	changed = !object->normal &&
		  (req.attr.size != object->record.size || req.attr.mtime != object->record.mtime ||
		   req.attr.ctime != object->record.ctime);
	touched = object->record.flags & MIGRATE_REC_CLIENT;
	if (changed && touched)
		ret = -ESTALE;
	else if (changed)
		ret = take_new_version(object, &req.attr);
	g_mutex_unlock(&object->lock);
	bracket_abort(bracket);
	return ret;
}

static void clear_mark(struct object *object)
{
	g_mutex_lock(&object->lock);
	object->failed = 0;
	object->refinds = 0;
	if (!object->normal && object->record.error) {
		object->record.error = 0;
		object_store(object);
	}
	g_mutex_unlock(&object->lock);
}

static void retry_entry(struct retriever *retriever, const struct error_entry *entry)
{
	struct object *object;
	int fd = entry->key.len
			 ? retriever_open_binding(retriever, &entry->key, O_RDONLY | O_NONBLOCK)
			 : -1;
	int ret;

	if (fd < 0 || object_get(retriever, fd, &object) < 0) {
		if (fd >= 0)
			close(fd);
		return;
	}
	clear_mark(object);
	if (!object->is_dir && !object->normal) {
		ret = renew(object);
		if (ret)
			errors_add_fd(retriever->errors, fd, ret,
				      "the file was changed on the old server and by clients here: "
				      "copy the version that counts over it");
	}
	object_unref(object);
	close(fd);
}

int retry_all(struct retriever *retriever, char **text)
{
	GPtrArray *list = errors_take(retriever->errors);

	for (guint i = 0; i < list->len; i++)
		retry_entry(retriever, list->pdata[i]);
	*text = g_strdup_printf("[retry]\nforgotten=%u\n", list->len);
	g_ptr_array_free(list, TRUE);
	return 0;
}
