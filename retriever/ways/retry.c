/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retry.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "source/gate.h"
#include "volume/errors.h"
#include "volume/waiters.h"
#include "volume/object.h"
#include "refind.h"
#include "version.h"

/* Whether the file can be had, in its present version.  Else -errno with *reason. */
static int renew(struct object *object, enum version_trust trust, const char **reason)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .priority = BACKEND_READAHEAD};
	struct source_object source;
	bool whole;
	int ret;

	g_mutex_lock(&object->lock);
	whole = object_has(object, 0, INT64_MAX);
	ret = object_source(object, &source);
	g_mutex_unlock(&object->lock);
	if (whole) { /* clients need nothing of the old server's any more */
		source_object_clear(&source);
		return 0;
	}
	if (!ret) {
		req.object = source;
		ret = gate_call(object->retriever->gate, &req);
		source_object_clear(&source);
	}
	if (!ret && !req.attr.nlink) /* removed there, and still open */
		ret = -ESTALE;
	*reason = "the old server refuses to tell of it";
	if (ret == -ESTALE || ret == -ENOENT || ret == -ENOTDIR)
		return refind_anew(object, trust, reason);
	return ret ? ret : version_take(object, NULL, &req.attr, trust, reason);
}

static void clear_mark(struct object *object)
{
	g_mutex_lock(&object->lock);
	object->search.failures = 0;
	if (!object->normal && object->record.error) {
		object->record.error = 0;
		object_store(object);
	}
	g_mutex_unlock(&object->lock);
}

/* 0: what failed meanwhile is of the old version, too; or nothing is there any more. */
static int retry_object(struct retriever *retriever, const struct error_entry *entry,
			enum version_trust trust)
{
	int fd = retriever_open_binding(retriever, &entry->key, O_RDONLY | O_NONBLOCK), ret;
	const char *reason = NULL;
	struct object *object;

	if (fd < 0)
		return fd == -ESTALE ? 0 : fd;
	ret = object_get(retriever, fd, &object);
	close(fd);
	if (ret)
		return ret;
	if (!is_directory(object) && !object->normal)
		ret = renew(object, trust, &reason);
	if (ret)
		object_fail(object, ret, reason);
	else
		clear_mark(object);
	object_unref(object);
	return ret;
}

/* What fails again, or could not be tried, stays listed where it is. */
int retry_all(struct retriever *retriever, enum version_trust trust, char **text)
{
	struct error_entry entry;
	guint place = 0, forgotten = 0, last = errors_places(retriever->errors);

	for (; place < last && !g_atomic_int_get(&retriever->closing) &&
	       errors_get(retriever->errors, &place, NULL, &entry);
	     place++, forgotten++) {
		if (!entry.key.len || entry.name || !retry_object(retriever, &entry, trust))
			errors_forget_name(retriever->errors, &entry.key, entry.name);
		error_entry_clear(&entry);
	}
	*text = g_strdup_printf("[retry]\nforgotten=%u\n", forgotten);
	return 0;
}
