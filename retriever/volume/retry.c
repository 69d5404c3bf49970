/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/retry.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/source/gate.h"
#include "retriever/data/refind.h"
#include "retriever/data/version.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/object.h"
#include "retriever/objects/waiters.h"

#define LOT_MAX 10000

/* One whose directory has to be listed, because it has moved there. */
struct move_watch {
	struct error_entry entry;
	struct refind_place place;
};

static void move_watch_free(gpointer p)
{
	struct move_watch *moved = p;

	error_entry_clear(&moved->entry);
	refind_place_clear(&moved->place);
	g_slice_free(struct move_watch, moved);
}

/* Whether the file can be had, in its present version.  Else -errno with *error, or REFIND_LIST.
 * listed: after that. */
static int renew(struct object *object, enum version_trust trust, struct refind_place *place,
		 bool listed, enum error_code *error)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .priority = BACKEND_READAHEAD};
	struct source_object source;
	bool whole;
	int ret;

	g_mutex_lock(&object->lock);
	whole = object_has(object, 0, INT64_MAX);
	ret = object_source(object, &source);
	g_mutex_unlock(&object->lock);
	/* clients need nothing of the old server's any more; or a copy's next run compares it */
	if (whole || object->retriever->copying) {
		source_object_clear(&source);
		return 0;
	}
	if (listed) {
		source_object_clear(&source);
		return refind_listed(object, trust, place, error);
	}
	if (!ret) {
		req.object = source;
		ret = gate_call(object->retriever->gate, &req);
		source_object_clear(&source);
	}
	if (!ret && !req.attr.nlink) /* removed there, and still open */
		ret = -ESTALE;
	*error = ret == -EHOSTDOWN ? QM_OWNER_UNKNOWN : req.why ? req.why : QM_TELL_REFUSED;
	if (ret == -ESTALE || ret == -ENOENT || ret == -ENOTDIR)
		return refind_anew(object, trust, place, error);
	return ret ? ret : version_take(object, NULL, &req.attr, trust, error);
}

/* Clears the object's error.  A search that is under way began before this, so its result does not
 * count. */
static void clear_mark(struct object *object)
{
	g_mutex_lock(&object->lock);
	object->search.failures = 0;
	object->search.found++;
	if (!object->normal && object->record.error) {
		object->record.error = 0;
		object->record.flags &= ~MIGRATE_REC_LISTED; /* what is here is taken */
		object_store(object);
	}
	g_mutex_unlock(&object->lock);
}

/* 0: what failed meanwhile is of the old version, too; or nothing is there any more.  REFIND_LIST
 * or -errno. */
static int retry_object(struct retriever *retriever, struct move_watch *moved, bool listed,
			enum version_trust trust)
{
	int fd = retriever_open_binding(retriever, &moved->entry.key, O_RDONLY | O_NONBLOCK), ret;
	enum error_code error = QM_NONE;
	struct object *object;

	if (fd < 0)
		return fd == -ESTALE ? 0 : fd;
	ret = object_get(retriever, fd, &object);
	close(fd);
	if (ret)
		return ret;
	/* an object that was put off is tried by the next request for it */
	if (!is_directory(object) && !object->normal && moved->entry.status != -EAGAIN)
		ret = renew(object, trust, &moved->place, listed, &error);
	if (ret < 0)
		object_fail(object, ret, error);
	else if (!ret)
		clear_mark(object);
	object_unref(object);
	return ret;
}

static int retry_entry(struct retriever *retriever, struct move_watch *moved, bool listed,
		       enum version_trust trust)
{
	const struct error_entry *entry = &moved->entry;
	int ret = 0;

	if (entry->key.len && !entry->name)
		ret = retry_object(retriever, moved, listed, trust);
	if (!ret)
		errors_forget_name(retriever->errors, &entry->key, entry->name);
	return ret;
}

static void retry_moved(struct retriever *retriever, GPtrArray *lot, enum version_trust trust)
{
	g_autoptr(GPtrArray) places = g_ptr_array_new();

	for (guint i = 0; i < lot->len; i++)
		g_ptr_array_add(places, &((struct move_watch *)lot->pdata[i])->place);
	refind_list(retriever, (struct refind_place *const *)places->pdata, places->len);
	for (guint i = 0; i < lot->len; i++)
		retry_entry(retriever, lot->pdata[i], true, trust);
	g_ptr_array_set_size(lot, 0);
}

/* Objects that fail again, or that could not be tried, keep their entries in the list. */
int retry_all(struct retriever *retriever, const struct errors_filter *filter,
	      enum version_trust trust, char **text)
{
	g_autoptr(GPtrArray) lot = g_ptr_array_new_with_free_func(move_watch_free);
	struct error_entry entry;
	guint place = 0, forgotten = 0, last = errors_places(retriever->errors);

	backend_retry(retriever->backend);
	for (; place < last && !g_atomic_int_get(&retriever->closing) &&
	       errors_get(retriever->errors, &place, filter, &entry);
	     place++, forgotten++) {
		struct move_watch *moved = g_slice_new0(struct move_watch);

		moved->entry = entry;
		if (retry_entry(retriever, moved, false, trust) == REFIND_LIST)
			g_ptr_array_add(lot, moved);
		else
			move_watch_free(moved);
		if (lot->len == LOT_MAX)
			retry_moved(retriever, lot, trust);
	}
	if (lot->len)
		retry_moved(retriever, lot, trust);
	*text = g_strdup_printf("[retry]\nforgotten=%u\n", forgotten);
	return 0;
}
