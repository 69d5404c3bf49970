/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "directory.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acl.h"
#include "dress.h"
#include "dummy.h"
#include "durability.h"
#include "errors.h"
#include "gate.h"
#include "refind.h"
#include "stub.h"
#include "unmade.h"

#define PAGES_AHEAD 2 /* listed and not made yet */
/* A file of so many bytes costs the old server about what an empty one does. */
#define SMALL ((uint64_t)64 << 10)

/* One listing of one directory. */
struct run {
	struct object *object; /* referenced */
	enum backend_priority priority;
	struct backend_request req;
	struct source_object source;
	char *path;
	GMutex lock;
	unsigned pending; /* pages and entries not made yet, the listing itself */
	unsigned pages;
	bool listing_waits; /* for pages to be made */
	bool stale;
	bool names_only; /* makes dummies; answers `done`, not the object's waiters */
	bool small_data;
	bool named;
	object_done_fn done;
	void *arg;
	int status;	     /* of the listing */
	const char *refused; /* why */
	struct unmade unmade;
	uint64_t fileid; /* of the directory */
	unsigned restarts;
};

struct page {
	struct run *run;
	struct backend_batch *batch;
	unsigned left; /* entries not made yet, the page itself; run->lock */
};

/* One entry that needs more questions: its attributes, a link's text, its extended attributes. */
struct question {
	struct run *run;
	struct page *page;
	struct backend_request req;
	struct source_entry entry;
	char *name;
	struct source_object source; /* of the entry */
	char *target;
	struct source_xattrs *xattrs;
	uint32_t carried;      /* bytes, until gate_carried() */
	bool looked_up, other; /* another object answered to its name */
};

static void list_next(struct run *run);
static void list_anew(struct run *run);

static void nothing(void *arg, int status)
{
}

char *directory_source_path(struct object *object)
{
	char *path;

	g_mutex_lock(&object->lock);
	path = g_strdup(object->record.path);
	g_mutex_unlock(&object->lock);
	return path;
}

static void run_free(struct run *run)
{
	source_object_clear(&run->source);
	unmade_clear(&run->unmade);
	g_free(run->path);
	g_mutex_clear(&run->lock);
	object_unref(run->object);
	g_slice_free(struct run, run);
}

/* With the lock held: every name is here.  Times first, the record last. */
static int mark_filled(struct object *object)
{
	struct migrate_record *rec = &object->record;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
				    migrate_timespec(migrate_record_mtime(rec))};
	int ret;

	if (object->normal || rec->state != MIGRATE_UNFILLED)
		return 0;
	if (futimens(object->fd, times) < 0)
		return -errno;
	rec->state = MIGRATE_FILLED;
	rec->error = 0;
	/* from here on the inode's mtime tells whether a client changed names (migrate_stub) */
	if (rec->flags & MIGRATE_REC_SHOWN_MTIME)
		rec->mtime = rec->shown_mtime;
	ret = object_store(object);
	if (ret)
		rec->state = MIGRATE_UNFILLED;
	else
		COUNT_ADD(object->retriever, unfilled, -1);
	return ret;
}

bool directory_names_fixed(struct object *object)
{
	bool fixed;

	g_mutex_lock(&object->lock);
	fixed = object->normal || object->complete || object->record.state != MIGRATE_UNFILLED;
	g_mutex_unlock(&object->lock);
	return fixed;
}

/* On a worker, having entered: nobody makes a name any more. */
static void complete(void *arg)
{
	struct object *object = arg;
	struct retriever *retriever = object->retriever;
	GQueue waiters = G_QUEUE_INIT;
	int ret;

	if ((object->record.flags & MIGRATE_REC_NAMED) ||
	    retriever->config->stub_attributes == STUB_LAZY)
		dummy_sweep(retriever, object->fd);
	g_mutex_lock(&object->lock);
	ret = mark_filled(object);
	object->complete = object->completing = false;
	if (!ret) {
		object->refinds = 0;
		while (!g_queue_is_empty(&object->fill_waiters))
			g_queue_push_tail_link(&waiters,
					       g_queue_pop_head_link(&object->fill_waiters));
	}
	g_mutex_unlock(&object->lock);
	object_leave_write(object);
	if (ret)
		object_fail(object, ret, "the directory's stub record could not be written");
	else
		errors_forget(retriever->errors, &object->key);
	if (!ret)
		errors_forget_names(retriever->errors, &object->key);
	object_run_waiters(retriever, &waiters, 0);
	object_unref(object);
}

void directory_complete(struct object *object)
{
	if (!object->complete || object->completing || object->writing || object->brackets)
		return;
	object->completing = true;
	object->writing++;
	retriever_run_demand(object->retriever, complete, object_ref(object));
}

/* The end of directory_fill_names(). */
static void names_entered(struct object *object, void *arg)
{
	struct run *run = arg;

	g_mutex_lock(&object->lock);
	if (!run->status && !object->normal && !object->complete &&
	    object->record.state == MIGRATE_UNFILLED) {
		object->record.flags |= MIGRATE_REC_NAMED;
		run->status = object_store(object);
	}
	object->runs = g_slist_remove(object->runs, run);
	g_mutex_unlock(&object->lock);
	object_leave_write(object);
	run->done(run->arg, run->status);
	run_free(run);
}

static void finish(struct run *run)
{
	struct object *object = run->object;
	bool others, moved = false;

	if (!run->status && unmade_listed(&run->unmade) && !directory_names_fixed(object)) {
		run->pending = 1;
		list_anew(run);
		return;
	}
	if (!run->status)
		run->status = run->unmade.status;
	if (run->names_only) {
		if (object_enter_write(object, names_entered, run))
			names_entered(object, run);
		return;
	}
	g_mutex_lock(&object->lock);
	object->runs = g_slist_remove(object->runs, run);
	if (run->status == 0 && !object->normal && object->record.state == MIGRATE_UNFILLED) {
		object->complete = true;
		directory_complete(object);
	}
	others = object->runs || object->complete || object->normal ||
		 object->record.state != MIGRATE_UNFILLED;
	if (run->stale)
		moved = object_source_moved(object, &run->source);
	g_mutex_unlock(&object->lock);
	if (run->stale && !others && moved)
		directory_fill(object, run->priority, run->small_data, nothing, NULL);
	else if (run->stale && !others)
		refind_start(object); /* the waiters wait for that */
	else if (!others)
		object_fail(object, run->status,
			    run->refused ? run->refused
					 : "the directory could not be filled: see the names "
					   "listed below it");
	run_free(run);
}

static void run_done_one(struct run *run)
{
	bool last;

	g_mutex_lock(&run->lock);
	last = --run->pending == 0;
	g_mutex_unlock(&run->lock);
	if (last)
		finish(run);
}

static bool reserved(struct run *run, const char *name)
{
	return run->path && !*run->path && !strcmp(name, MIGRATE_PRIVATE_DIR);
}

/* Worker thread.  FALSE: the old server has to be asked for its extended attributes first. */
static bool make(struct run *run, const struct stub_parent *parent,
		 const struct source_entry *entry, const char *target,
		 const struct source_xattrs *xattrs)
{
	int ret = run->names_only
			  ? dummy_create(parent, entry)
			  : stub_create(run->object->retriever, parent, entry, target, xattrs);

	if (ret == STUB_ASK)
		return false;
	if (ret == -ENOENT) /* of ours, not of the old server */
		ret = -EIO;
	if (ret < 0)
		unmade_add(&run->unmade, entry->name, ret,
			   ret == -ENOSPC || ret == -EDQUOT
				   ? "no space (or no inode) on the new server's file system"
				   : "the new server's file system cannot hold this name");
	return true;
}

/* Whether it has a default ACL is looked up each time: a client may have set one. */
static struct stub_parent parent_of(const struct run *run)
{
	return (struct stub_parent){run->object->fd, run->named, acl_is_inherited(run->object->fd),
				    run->path};
}

static void page_done_one(struct page *page)
{
	struct run *run = page->run;
	bool go_on = false, last;

	g_mutex_lock(&run->lock);
	last = --page->left == 0;
	if (last) {
		run->pages--;
		go_on = run->listing_waits;
		run->listing_waits = false;
	}
	g_mutex_unlock(&run->lock);
	if (!last)
		return;
	backend_batch_free(page->batch);
	g_slice_free(struct page, page);
	if (go_on)
		list_next(run);
	run_done_one(run);
}

/* Before anything else is asked: the gate may be waiting for that. */
static void question_forget_xattrs(struct question *q)
{
	g_clear_pointer(&q->xattrs, source_xattrs_free);
	if (q->carried)
		gate_carried(q->run->object->retriever->gate, q->carried);
	q->carried = 0;
}

static void question_free(struct question *q)
{
	struct page *page = q->page;

	source_object_clear(&q->source);
	question_forget_xattrs(q);
	g_free(q->target);
	g_free(q->name);
	g_slice_free(struct question, q);
	page_done_one(page);
}

static void run_work(struct run *run, void (*fn)(void *arg), void *arg)
{
	if (run->priority == BACKEND_BACKGROUND)
		retriever_run(run->object->retriever, fn, arg);
	else
		retriever_run_demand(run->object->retriever, fn, arg);
}

static void ask_lookup(struct question *q);
static void ask_object(struct question *q, enum backend_op op);

static void make_answered_entered(struct object *object, void *arg)
{
	struct question *q = arg;
	struct stub_parent parent = parent_of(q->run);
	bool made = directory_names_fixed(object) ||
		    make(q->run, &parent, &q->entry, q->target, q->xattrs);

	object_leave_write(object);
	if (made)
		question_free(q);
	else
		ask_object(q, BACKEND_XATTRS);
}

static void make_answered(void *arg)
{
	struct question *q = arg;

	if (object_enter_write(q->run->object, make_answered_entered, q))
		make_answered_entered(q->run->object, q);
}

static const char *refusal(const struct question *q, int status, enum backend_op op)
{
	if (status == -ENOENT)
		return q->other ? UNMADE_OTHER : UNMADE_MISSING;
	switch (op) {
	case BACKEND_LOOKUP:
		return "the old server refused to look up the name";
	case BACKEND_READLINK:
		return "the old server refused to read the symbolic link";
	default:
		return directory_xattrs_refused(q->run->object->retriever);
	}
}

static void question_answered(struct backend_request *req)
{
	struct question *q = req->user;
	int status = req->status;

	if (!status && req->op == BACKEND_XATTRS &&
	    !dress_take_answer(req, &q->entry, &q->xattrs)) {
		status = q->looked_up ? -ENOTUNIQ : -ESTALE;
		q->other = true;
	}
	if (status == -ESTALE && req->op != BACKEND_LOOKUP && !q->looked_up) {
		ask_lookup(q); /* removed or replaced since it was listed */
		return;
	}
	if (status) {
		unmade_add(&q->run->unmade, q->name, status, refusal(q, status, req->op));
		question_free(q);
		return;
	}
	if (req->op == BACKEND_LOOKUP) {
		q->entry.attr = req->attr;
		q->entry.handle_len = req->handle_len;
		memcpy(q->entry.handle, req->handle, req->handle_len);
		if (S_ISLNK(q->entry.attr.mode)) {
			ask_object(q, BACKEND_READLINK);
			return;
		}
	}
	if (req->op == BACKEND_READLINK)
		q->target = g_steal_pointer(&req->text);
	run_work(q->run, make_answered, q);
}

/* How many bytes may come with the answer. */
static uint32_t wanted_bytes(const struct question *q)
{
	const struct source_attr *attr = &q->entry.attr;
	const struct run *run = q->run;

	if (!run->small_data || !S_ISREG(attr->mode) || attr->size > SMALL || attr->elsewhere ||
	    !stub_has_room(run->object->fd) || durability_crowded(run->object->retriever, true))
		return 0;
	return (uint32_t)attr->size;
}

static void ask(struct question *q, enum backend_op op)
{
	question_forget_xattrs(q);
	q->req.count = q->carried = op == BACKEND_XATTRS ? wanted_bytes(q) : 0;
	q->req.op = op;
	q->req.priority = q->run->priority;
	q->req.done = question_answered;
	q->req.user = q;
	gate_submit(q->run->object->retriever->gate, &q->req);
}

static void ask_lookup(struct question *q)
{
	q->looked_up = true;
	q->req.object = q->run->source;
	q->req.name = q->name;
	ask(q, BACKEND_LOOKUP);
}

static void ask_object(struct question *q, enum backend_op op)
{
	source_object_clear(&q->source);
	q->source.handle_len = q->entry.handle_len;
	memcpy(q->source.handle, q->entry.handle, q->entry.handle_len);
	q->source.path = stub_child_path(q->run->path, q->name);
	q->req.object = q->source;
	ask(q, op);
}

static struct question *question_new(struct page *page, const struct source_entry *entry)
{
	struct question *q = g_slice_new0(struct question);

	q->run = page->run;
	q->page = page;
	q->name = g_strdup(entry->name);
	q->entry = *entry;
	q->entry.name = q->name;
	g_mutex_lock(&page->run->lock);
	page->left++;
	g_mutex_unlock(&page->run->lock);
	return q;
}

static void make_listed(struct page *page, const struct stub_parent *parent,
			const struct source_entry *entry)
{
	struct run *run = page->run;

	if (reserved(run, entry->name))
		unmade_add(&run->unmade, entry->name, -EEXIST,
			   "this name is reserved at the volume's root: rename it on the old "
			   "server");
	else if (!run->names_only && !entry->has_attr)
		ask_lookup(question_new(page, entry));
	else if (!run->names_only && S_ISLNK(entry->attr.mode))
		ask_object(question_new(page, entry), BACKEND_READLINK);
	else if (!make(run, parent, entry, NULL, NULL))
		ask_object(question_new(page, entry), BACKEND_XATTRS);
}

static void make_page_entered(struct object *object, void *arg)
{
	struct page *page = arg;
	struct stub_parent parent = parent_of(page->run);
	GArray *entries = page->batch->entries;

	for (guint i = 0; i < entries->len && !directory_names_fixed(object); i++)
		make_listed(page, &parent, &g_array_index(entries, struct source_entry, i));
	object_leave_write(object);
	page_done_one(page);
}

static void make_page(void *arg)
{
	struct page *page = arg;

	if (object_enter_write(page->run->object, make_page_entered, page))
		make_page_entered(page->run->object, page);
}

#define DFS_LINK                                                                                   \
	"it is on another server (a DFS link): put an empty directory in its place on the old "    \
	"server, then retry; what it leads to may be a volume of its own"

static void listing_failed(struct run *run, int status)
{
	if (status == -EBADMSG && run->restarts < 5) { /* the directory changed under the listing */
		run->restarts++;
		unmade_reset(&run->unmade);
		list_anew(run);
		return;
	}
	/* a path that leads nowhere any more, or to something else */
	if (status == -ENOENT || status == -ENOTDIR)
		status = -ESTALE;
	g_mutex_lock(&run->lock);
	run->status = status;
	run->stale = status == -ESTALE;
	run->refused = status == -ENOTSUP && !run->source.handle_len ? DFS_LINK
		       : status == -EACCES || status == -EPERM
			       ? "the old server does not let this machine list it: give it root's "
				 "rights there (no_root_squash), or make the directory readable"
			       : "the old server could not list the directory";
	g_mutex_unlock(&run->lock);
	run_done_one(run);
}

static void page_listed(struct backend_request *req)
{
	struct run *run = req->user;
	struct page *page;
	bool eof = req->eof, wait;

	if (!req->status && req->has_attr && !run->source.handle_len &&
	    req->attr.fileid != run->fileid) {
		g_clear_pointer(&req->batch, backend_batch_free);
		req->status = -ESTALE; /* its path leads to another one now */
	}
	if (req->status) {
		listing_failed(run, req->status);
		return;
	}
	unmade_add_refused(&run->unmade, req->batch);
	page = g_slice_new0(struct page);
	page->run = run;
	page->left = 1;
	page->batch = g_steal_pointer(&req->batch);
	g_mutex_lock(&run->lock);
	run->pending++;
	run->pages++;
	wait = !eof && run->pages > PAGES_AHEAD;
	run->listing_waits = wait;
	g_mutex_unlock(&run->lock);
	run_work(run, make_page, page);
	/* where the listing waits, whoever made the pages has gone on: req and run are theirs */
	if (eof)
		run_done_one(run);
	else if (!wait)
		list_next(run);
}

static void list_next(struct run *run)
{
	run->req.op = BACKEND_READDIR;
	run->req.priority = run->priority;
	run->req.names_only = run->names_only;
	run->req.done = page_listed;
	run->req.user = run;
	gate_submit(run->object->retriever->gate, &run->req);
}

static void list_anew(struct run *run)
{
	run->req.cookie = run->req.verf = 0;
	list_next(run);
}

/* With the lock held: whether a fill of at least this priority is on its way. */
static bool running(struct object *object, enum backend_priority priority)
{
	for (GSList *l = object->runs; l; l = l->next)
		if (((struct run *)l->data)->priority <= priority &&
		    !((struct run *)l->data)->names_only)
			return true;
	return false;
}

/* With the lock held. */
static struct run *run_new(struct object *object, enum backend_priority priority, bool small_data,
			   int *ret)
{
	struct run *run = g_slice_new0(struct run);

	run->priority = priority;
	run->small_data = small_data && priority == BACKEND_BACKGROUND;
	run->pending = 1;
	g_mutex_init(&run->lock);
	run->object = object_ref(object);
	run->path = g_strdup(object->record.path);
	run->fileid = object->record.fileid;
	unmade_init(&run->unmade, object->retriever->errors, object->fd);
	/* dummies may be made while this fill is on its way: it always looks for them */
	run->named = (object->record.flags & MIGRATE_REC_NAMED) ||
		     object->retriever->config->stub_attributes == STUB_LAZY;
	*ret = object_source(object, &run->source);
	run->req.object = run->source;
	object->runs = g_slist_prepend(object->runs, run);
	return run;
}

void directory_fill_names(struct object *object, object_done_fn done, void *arg)
{
	struct run *run = NULL;
	int ret = 0;

	g_mutex_lock(&object->lock);
	if (!object->normal && object->record.state == MIGRATE_UNFILLED && !object->runs &&
	    !(object->record.flags & MIGRATE_REC_NAMED)) {
		run = run_new(object, BACKEND_BACKGROUND, false, &ret);
		run->names_only = true;
		run->done = done;
		run->arg = arg;
	}
	g_mutex_unlock(&object->lock);
	if (!run)
		done(arg, 0);
	else if (ret)
		listing_failed(run, ret);
	else
		list_next(run);
}

void directory_fill(struct object *object, enum backend_priority priority, bool small_data,
		    object_done_fn done, void *arg)
{
	struct range_waiter *w;
	struct run *run = NULL;
	int ret = 0;

	g_mutex_lock(&object->lock);
	if (object->normal || object->record.state != MIGRATE_UNFILLED) {
		g_mutex_unlock(&object->lock);
		done(arg, object->is_dir ? 0 : -ENOTDIR);
		return;
	}
	if (!running(object, priority))
		run = run_new(object, priority, small_data, &ret);
	w = g_slice_new0(struct range_waiter);
	w->background = priority == BACKEND_BACKGROUND;
	w->done = done;
	w->arg = arg;
	g_queue_push_tail(&object->fill_waiters, w);
	if (w->background)
		COUNT_ADD(object->retriever, background_waiting, 1);
	else
		COUNT_ADD(object->retriever, demand_waiting, 1);
	g_mutex_unlock(&object->lock);
	if (run && ret)
		listing_failed(run, ret);
	else if (run)
		list_next(run);
}
