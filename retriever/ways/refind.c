/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "refind.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/gate.h"
#include "source_root.h"
#include "version.h"
#include "volume/jobs.h"
#include "volume/source_path.h"
#include "volume/waiters.h"

#define ATTEMPTS_MAX 3

struct found {
	struct source_object source;
	struct source_attr attr;
	bool replaced; /* another file has its path */
};

/* One LOOKUP, waited for. */
static int look(struct retriever *retriever, struct found *at, const char *name)
{
	struct backend_request req = {.op = BACKEND_LOOKUP, .priority = BACKEND_READAHEAD};
	g_autofree char *path = NULL;
	int ret;

	req.object = at->source;
	req.name = name;
	ret = gate_call(retriever->gate, &req);
	if (ret) /* another one's name is not this one's */
		return ret == -ENOTUNIQ ? -ENOENT : ret;
	if (at->source.path)
		path = *at->source.path ? g_strconcat(at->source.path, "/", name, NULL)
					: g_strdup(name);
	g_free(at->source.path);
	at->source.path = g_steal_pointer(&path);
	at->source.handle_len = req.handle_len;
	memcpy(at->source.handle, req.handle, req.handle_len);
	at->attr = req.attr;
	return 0;
}

/* The root, of which the old server knows.  -ESTALE: it does and does not, again and again. */
static int begin(struct retriever *retriever, struct found *at)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .priority = BACKEND_READAHEAD};
	int ret = -ESTALE;

	for (unsigned i = 0; ret == -ESTALE && i < ATTEMPTS_MAX; i++) {
		source_object_clear(&at->source);
		source_root_get(retriever, &at->source, &at->attr);
		req.object = at->source;
		ret = gate_call(retriever->gate, &req);
		if (ret == -ESTALE && source_root_renew(retriever, &at->source) < 0)
			ret = -ECANCELED;
	}
	return ret;
}

static int walk(struct retriever *retriever, const char *path, struct found *at)
{
	g_auto(GStrv) names = g_strsplit(path, "/", -1);
	int ret = begin(retriever, at);

	for (char **name = names; *name && !ret; name++)
		if (**name)
			ret = look(retriever, at, *name);
	return ret;
}

/* Lists the directory `at` for an entry with that fileid, and looks it up. */
static int by_fileid(struct retriever *retriever, struct found *at, uint64_t fileid)
{
	struct backend_request req = {
		.op = BACKEND_READDIR, .priority = BACKEND_READAHEAD, .names_only = true};
	g_autofree char *name = NULL;
	int ret;

	req.object = at->source;
	do {
		ret = gate_call(retriever->gate, &req);
		if (ret)
			return ret;
		for (guint i = 0; i < req.batch->entries->len && !name; i++) {
			struct source_entry *e =
				&g_array_index(req.batch->entries, struct source_entry, i);

			if (e->attr.fileid == fileid)
				name = g_strdup(e->name);
		}
		g_clear_pointer(&req.batch, backend_batch_free);
	} while (!name && !req.eof);
	return name ? look(retriever, at, name) : -ENOENT;
}

/*
 * Whether it may be the file (version.h).  The number alone says nothing: file systems give the
 * numbers of removed files to new ones.
 */
static bool is_like(struct object *object, const struct source_attr *attr)
{
	const struct migrate_record *rec = &object->record;
	bool same;

	if (is_directory(object))
		return S_ISDIR(attr->mode);
	g_mutex_lock(&object->lock);
	same = attr->size == rec->size && attr->mtime == rec->mtime;
	g_mutex_unlock(&object->lock);
	return S_ISREG(attr->mode) && same;
}

static int find(struct object *object, struct found *found)
{
	g_autofree char *path = source_path_of(object), *name = NULL, *parent = NULL;
	int ret = -ENOENT;

	if (path)
		ret = walk(object->retriever, path, found);
	if (ret == 0 && is_like(object, &found->attr))
		return 0;
	if (is_directory(object) || (ret && ret != -ENOENT))
		return ret ? ret : -ESTALE;
	found->replaced = ret == 0 && S_ISREG(found->attr.mode);
	source_object_clear(&found->source);
	parent = source_path_of_parent(object, &name);
	ret = parent ? walk(object->retriever, parent, found) : -ENOENT;
	if (!ret)
		ret = by_fileid(object->retriever, found, object->record.fileid);
	if (!ret && !is_like(object, &found->attr))
		ret = -ESTALE;
	return ret;
}

static int adopt_directory(struct object *object, const struct found *found)
{
	struct migrate_record *rec = &object->record;
	int ret = 0;

	g_mutex_lock(&object->lock);
	if (!object->normal) {
		if (found->source.handle_len) {
			rec->flags = (rec->flags & ~MIGRATE_REC_HANDLE_DIFF) | MIGRATE_REC_HANDLE;
			rec->handle_len = found->source.handle_len;
			memcpy(rec->handle, found->source.handle, rec->handle_len);
		}
		rec->fileid = found->attr.fileid;
		ret = object_store(object);
	}
	g_mutex_unlock(&object->lock);
	return ret;
}

static int adopt(struct object *object, const struct found *found, enum version_trust trust,
		 const char **reason)
{
	*reason = "the directory's stub record could not be written";
	return is_directory(object)
		       ? adopt_directory(object, found)
		       : version_take(object, &found->source, &found->attr, trust, reason);
}

/* Not found: why. */
static int look_status(int ret, const struct found *found, const char **reason)
{
	if (ret != -ESTALE && ret != -ENOENT && ret != -ENOTDIR) {
		*reason = "the object could not be looked for on the old server";
		return ret;
	}
	*reason = found->replaced ? VERSION_REPLACED : VERSION_GONE;
	return -ESTALE;
}

int refind_anew(struct object *object, enum version_trust trust, const char **reason)
{
	struct found found = {0};
	g_autofree char *path = NULL;
	int ret = find(object, &found);

	if (ret) {
		source_object_clear(&found.source);
		path = source_path_of(object);
		ret = path ? walk(object->retriever, path, &found) : ret;
	}
	if (ret)
		ret = look_status(ret, &found, reason);
	else
		ret = adopt(object, &found, trust, reason);
	source_object_clear(&found.source);
	return ret;
}

struct errand {
	struct object *object; /* referenced */
	void (*found)(struct object *object);
};

static void run_refind(void *arg)
{
	struct errand *errand = arg;
	struct object *object = errand->object;
	struct found found = {0};
	const char *reason = NULL;
	int ret = find(object, &found);

	if (ret)
		ret = look_status(ret, &found, &reason);
	else
		ret = adopt(object, &found, VERSION_FOUND, &reason);
	source_object_clear(&found.source);
	g_mutex_lock(&object->lock);
	object->search.under_way = false;
	object->search.lost = ret ? reason : NULL;
	g_mutex_unlock(&object->lock);
	if (ret)
		object_fail(object, ret, reason);
	else
		errand->found(object);
	object_unref(object);
	g_slice_free(struct errand, errand);
}

bool refind_start(struct object *object, void (*found)(struct object *object))
{
	struct errand *errand;
	bool start, hopeless;
	const char *lost;

	g_mutex_lock(&object->lock);
	start = !object->search.under_way;
	hopeless = start && ++object->search.failures > ATTEMPTS_MAX;
	lost = object->search.lost;
	if (start && !hopeless)
		object->search.under_way = true;
	g_mutex_unlock(&object->lock);
	if (hopeless)
		object_fail(object, -ESTALE,
			    lost ? lost
				 : "the old server's handle for it is stale again and again");
	if (!start || hopeless)
		return !hopeless;
	errand = g_slice_new(struct errand);
	*errand = (struct errand){object_ref(object), found};
	jobs_run(object->retriever->jobs, JOB_FIND, run_refind, errand);
	return true;
}
