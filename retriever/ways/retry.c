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

static void retry_entry(struct retriever *retriever, const struct error_entry *entry,
			enum version_trust trust)
{
	struct object *object;
	int fd = entry->key.len && !entry->name
			 ? retriever_open_binding(retriever, &entry->key, O_RDONLY | O_NONBLOCK)
			 : -1;
	const char *reason = NULL;
	int ret = 0;

	if (fd < 0 || object_get(retriever, fd, &object) < 0) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (!is_directory(object) && !object->normal)
		ret = renew(object, trust, &reason);
	if (ret) {
		object_fail(object, ret, reason);
	} else { /* what failed meanwhile is of the old version */
		clear_mark(object);
		errors_forget(retriever->errors, &object->key);
	}
	object_unref(object);
	close(fd);
}

/* What fails again is listed anew, maybe at a place behind: it is tried twice then. */
int retry_all(struct retriever *retriever, enum version_trust trust, char **text)
{
	struct error_entry entry;
	guint place = 0, forgotten = 0, last = errors_places(retriever->errors);

	for (; place < last && errors_get(retriever->errors, &place, NULL, &entry); place++) {
		errors_forget_name(retriever->errors, &entry.key, entry.name);
		retry_entry(retriever, &entry, trust);
		error_entry_clear(&entry);
		forgotten++;
	}
	*text = g_strdup_printf("[retry]\nforgotten=%u\n", forgotten);
	return 0;
}
