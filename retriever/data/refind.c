/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/data/refind.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/latch.h"
#include "lib/source/gate.h"
#include "retriever/data/listing_search.h"
#include "retriever/data/source_root.h"
#include "retriever/data/version.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/source_path.h"
#include "retriever/objects/waiters.h"

#define ATTEMPTS_MAX 3

#define LISTED 1 /* its directory has to be listed */

struct found {
	struct source_object source; /* LISTED: the directory's */
	struct source_attr attr;
	bool replaced; /* another file has its path */
	bool demand;   /* a client waits */
};

static enum backend_priority priority_of(const struct found *found)
{
	return found->demand ? BACKEND_DEMAND : BACKEND_READAHEAD;
}

/* Makes one LOOKUP, and waits for it. */
static int look_up_name(struct retriever *retriever, struct found *at, const char *name)
{
	struct backend_request req = {
		.op = BACKEND_LOOKUP, .priority = priority_of(at), .hurried = true};
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
static int begin_at_root(struct retriever *retriever, struct found *at)
{
	struct backend_request req = {
		.op = BACKEND_GETATTR, .priority = priority_of(at), .hurried = true};
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

static int walk_names(struct retriever *retriever, const char *path, struct found *at)
{
	g_auto(GStrv) names = g_strsplit(path, "/", -1);
	int ret = begin_at_root(retriever, at);

	for (char **name = names; *name && !ret; name++)
		if (**name)
			ret = look_up_name(retriever, at, *name);
	return ret;
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

/* 0, LISTED or -errno. */
static int find_again(struct object *object, struct found *found)
{
	g_autofree char *path = source_path_of(object), *name = NULL, *parent = NULL;
	int ret = -ENOENT;

	if (path)
		ret = walk_names(object->retriever, path, found);
	if (ret == 0 && is_like(object, &found->attr))
		return 0;
	if (is_directory(object) || (ret && ret != -ENOENT))
		return ret ? ret : -ESTALE;
	found->replaced = ret == 0 && S_ISREG(found->attr.mode);
	source_object_clear(&found->source);
	parent = source_path_of_parent(object, &name);
	ret = parent ? walk_names(object->retriever, parent, found) : -ENOENT;
	return ret ? ret : LISTED;
}

/* Uses the result of the listing of the object's directory. */
static int find_listed(struct object *object, struct found *found, int status, const char *name)
{
	int ret = status ? status : look_up_name(object->retriever, found, name);

	return !ret && !is_like(object, &found->attr) ? -ESTALE : ret;
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

static int adopt_found(struct object *object, const struct found *found, enum version_trust trust,
		       enum error_code *error)
{
	*error = QM_RECORD_UNWRITTEN;
	return is_directory(object)
		       ? adopt_directory(object, found)
		       : version_take(object, &found->source, &found->attr, trust, error);
}

/* The error for an object that was not found, with its reason. */
static int look_status(int ret, const struct found *found, enum error_code *error)
{
	if (ret == -ELOOP) {
		*error = QM_SEARCH_ENDLESS;
		return -EREMOTEIO;
	}
	if (ret != -ESTALE && ret != -ENOENT && ret != -ENOTDIR) {
		*error = QM_SEARCH_FAILED;
		return ret;
	}
	*error = found->replaced ? QM_REPLACED : QM_GONE;
	return -ESTALE;
}

/* ---- for the administrator ---- */

struct refind_answer {
	struct latch *all;
	struct refind_place *place;
};

static void take_listed_name(void *arg, int status, const char *name)
{
	struct refind_answer *answer = arg;

	answer->place->status = status;
	answer->place->name = g_strdup(name);
	latch_count_down(answer->all, 0);
}

void refind_list(struct retriever *retriever, struct refind_place *const *places, guint n)
{
	g_autofree struct listing_wanted *wanted = g_new(struct listing_wanted, n);
	g_autofree struct refind_answer *answers = g_new(struct refind_answer, n);
	struct latch all;

	latch_init(&all, n);
	for (guint i = 0; i < n; i++) {
		answers[i] = (struct refind_answer){.all = &all, .place = places[i]};
		wanted[i] = (struct listing_wanted){.directory = &places[i]->directory,
						    .fileid = places[i]->fileid,
						    .found = take_listed_name,
						    .arg = &answers[i]};
	}
	listing_find(retriever, wanted, n, true);
	latch_wait(&all);
}

void refind_place_clear(struct refind_place *place)
{
	source_object_clear(&place->directory);
	g_clear_pointer(&place->name, g_free);
}

/* ret: of having looked for it.  What has its path is asked for if it was not found. */
static int adopt_anew(struct object *object, struct found *found, int ret, enum version_trust trust,
		      enum error_code *error)
{
	g_autofree char *path = NULL;

	if (ret) {
		source_object_clear(&found->source);
		path = source_path_of(object);
		ret = path ? walk_names(object->retriever, path, found) : ret;
	}
	if (ret)
		ret = look_status(ret, found, error);
	else
		ret = adopt_found(object, found, trust, error);
	source_object_clear(&found->source);
	return ret;
}

int refind_anew(struct object *object, enum version_trust trust, struct refind_place *place,
		enum error_code *error)
{
	struct found found = {.demand = true};
	int ret = find_again(object, &found);

	if (ret != LISTED)
		return adopt_anew(object, &found, ret, trust, error);
	place->directory = found.source;
	place->fileid = object->record.fileid;
	place->replaced = found.replaced;
	return REFIND_LIST;
}

int refind_listed(struct object *object, enum version_trust trust, struct refind_place *place,
		  enum error_code *error)
{
	struct found found = {
		.source = place->directory, .replaced = place->replaced, .demand = true};
	int ret;

	place->directory = (struct source_object){.path = NULL};
	ret = find_listed(object, &found, place->status, place->name);
	return adopt_anew(object, &found, ret, trust, error);
}

/* ---- for reads and fills ---- */

struct errand {
	struct object *object; /* referenced */
	void (*then)(struct object *object);
	struct found found;
	unsigned before; /* how often it had been found */
	int status;	 /* of the listing, and what it found */
	char *name;
};

static enum job_kind job_of(const struct errand *errand)
{
	return errand->found.demand ? JOB_FIND_DEMAND : JOB_FIND;
}

static void end_errand(struct errand *errand, int ret)
{
	struct object *object = errand->object;
	struct search *search = &object->search;
	GQueue waiters = G_QUEUE_INIT;
	enum error_code error = QM_NONE;
	bool found;

	if (ret)
		ret = look_status(ret, &errand->found, &error);
	else
		ret = adopt_found(object, &errand->found, VERSION_FOUND, &error);
	g_mutex_lock(&object->lock);
	search->under_way[errand->found.demand] = false;
	search->found += !ret;
	/* or by the other search, or by a retry */
	found = search->found != errand->before;
	search->lost = found ? QM_NONE : error;
	if (!found)
		object_fail_locked(object, ret, error, &waiters);
	g_mutex_unlock(&object->lock);
	waiters_run(object->retriever, &waiters, 0);
	if (found)
		errand->then(object);
	source_object_clear(&errand->found.source);
	object_unref(object);
	g_free(errand->name);
	g_slice_free(struct errand, errand);
}

static void run_listed(void *arg)
{
	struct errand *errand = arg;

	end_errand(errand,
		   find_listed(errand->object, &errand->found, errand->status, errand->name));
}

/* The listing goes on meanwhile. */
static void note_listed(void *arg, int status, const char *name)
{
	struct errand *errand = arg;

	errand->status = status;
	errand->name = g_strdup(name);
	jobs_run(errand->object->retriever->jobs, job_of(errand), run_listed, errand);
}

static void run_errand(void *arg)
{
	struct errand *errand = arg;
	struct object *object = errand->object;
	int ret = find_again(object, &errand->found);

	if (ret == LISTED)
		listing_find(object->retriever,
			     &(struct listing_wanted){.directory = &errand->found.source,
						      .fileid = object->record.fileid,
						      .found = note_listed,
						      .arg = errand},
			     1, errand->found.demand);
	else
		end_errand(errand, ret);
}

/* Lock held. */
static bool is_waited_for(struct object *object)
{
	bool is = false;

	for (GList *l = object->waiters.head; l && !is; l = l->next)
		is = !((struct waiter *)l->data)->background;
	return is;
}

static bool start_errand(struct object *object, bool demand, void (*then)(struct object *object))
{
	struct search *search = &object->search;
	struct errand *errand;
	bool first, begin, hopeless;
	unsigned before;
	enum error_code lost;

	g_mutex_lock(&object->lock);
	demand = demand || is_waited_for(object);
	first = !search->under_way[0] && !search->under_way[1];
	/* one for clients does not wait for one of the background */
	begin = first || (demand && !search->under_way[true]);
	hopeless = first && ++search->failures > ATTEMPTS_MAX;
	lost = search->lost;
	before = search->found;
	if (begin && !hopeless)
		search->under_way[demand] = true;
	g_mutex_unlock(&object->lock);
	if (hopeless)
		object_fail(object, -ESTALE, lost ? lost : QM_HANDLE_STALE);
	if (!begin || hopeless)
		return !hopeless;
	errand = g_slice_new0(struct errand);
	*errand = (struct errand){.object = object_ref(object),
				  .then = then,
				  .found.demand = demand,
				  .before = before};
	jobs_run(object->retriever->jobs, job_of(errand), run_errand, errand);
	return true;
}

bool refind_start(struct object *object, void (*found)(struct object *object))
{
	return start_errand(object, false, found);
}

bool refind_for_client(struct object *object, void (*found)(struct object *object))
{
	return start_errand(object, true, found);
}
