/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Making the entries of one page of a listing.
 *
 * An entry is made at once if the listing has everything that is needed.  Otherwise the old server
 * is asked for the entry's attributes, a link's text, or the ACL and extended attributes.  The
 * requests of a page are sent together.  The answer must be about the listed object, by its number;
 * if it is not, the name is looked up once, because the object may have been removed or replaced
 * since.
 *
 * A page is given back to the listing when the last of its entries is here or in fill->name_errors,
 * so that no directory is marked as filled while an entry is left out (I12).  Entries are made only
 * after the fill has entered the directory (turns.h).  When another fill has brought every
 * name, no entry is made any more: a client may have removed the name since (I6).
 *
 * A crash leaves some of the names in an unfilled directory.  Each of these objects was made
 * completely before it got its name (make.h), and the next fill finds it there.  A directory among
 * them has its record (finish.h); a directory without a record was not made by the retriever.
 */
#include "retriever/names/fill_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/flags.h"
#include "lib/config/rules.h"
#include "lib/report/losses.h"
#include "lib/source/gate.h"
#include "lib/source/posix_acl.h"
#include "retriever/copies/listing_entries.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/data/durability.h"
#include "retriever/data/rights.h"
#include "retriever/making/attributes.h"
#include "retriever/making/dummy.h"
#include "retriever/making/make.h"
#include "retriever/making/take_directory.h"
#include "retriever/names/fill_state.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/old_handles.h"
#include "retriever/objects/turns.h"

#define DEPTH_MIN 64 /* directories above it: from here on it may be in itself */
#define SMALL	  ((uint32_t)64 << 10)
#define TURN	  256 /* entries at a time; then clients may change the directory */
#define LISTINGS  8   /* of directories of one page at a time */

/* What a worker is to do for a fill. */
struct work {
	GList link;
	struct page *page;	   /* whose entries are to be made, or */
	struct question *question; /* whose entry can be made now */
};

struct page {
	struct fill *fill;
	struct work work;
	struct backend_batch *batch;
	atomic_uint left; /* questions without an answer, and the page itself */
	uint32_t small;	  /* of how many bytes a file may be brought with its name */
	GQueue to_list;	  /* entries of the batch; with fill->work.lock */
};

/* One entry that needs more than its listing. */
struct question {
	struct page *page;
	struct fill *fill;
	struct backend_request req;
	struct source_entry entry;
	char *name;
	struct source_object source; /* of the entry */
	char *target;
	struct source_xattrs *xattrs;
	struct backend_batch *listing; /* of a directory that may be taken whole */
	struct work work;
	bool looked_up, other; /* another object answered to its name */
	int refused;	       /* why it is made for nobody (rights.h); 0: it is not */
	bool bare;	       /* its bytes are here */
	bool lists;	       /* it is one of LISTINGS */
};

static void ask_lookup(struct question *q);
static void ask_object(struct question *q, enum backend_op op);
static void list_next_directory(struct page *page);

static void start_work(struct fill *fill, void (*fn)(void *arg), void *arg)
{
	jobs_run(fill->object->retriever->jobs,
		 fill->priority == BACKEND_BACKGROUND ? JOB_BACKGROUND : JOB_DEMAND, fn, arg);
}

static void page_done_one(struct page *page)
{
	struct fill *fill = page->fill;

	if (atomic_fetch_sub(&page->left, 1) > 1)
		return;
	backend_batch_free(page->batch);
	g_slice_free(struct page, page);
	fill->page_made(fill);
}

/* ---- one entry ---- */

bool directory_reserves(const char *path, const char *name)
{
	return path && !*path &&
	       (!strcmp(name, MIGRATE_PRIVATE_DIR) || !strcmp(name, MIGRATE_ROLLBACK_DIR));
}

/* NULL while too many files with theirs wait to be durable. */
static void (*taker_of_data(struct retriever *retriever))(struct object *object, uint64_t size)
{
	return durability_crowded(retriever, false) ? NULL : durability_queue;
}

/* Whether it has a default ACL is looked up each time: a client may have set one. */
struct make_parent directory_parent(const struct object *object, bool named, const char *path,
				    int prior_fd)
{
	return (struct make_parent){
		.fd = object->fd,
		.prior_fd = prior_fd,
		.named = named,
		.inherits = acl_is_inherited(object->fd),
		.path = path,
		.brought = taker_of_data(object->retriever),
	};
}

/* Of how many bytes a file may have to be brought with its name, now. */
static uint32_t small_now(const struct fill *fill)
{
	struct retriever *retriever = fill->object->retriever;

	return fill->content == FILL_OBJECTS_AND_DATA && !durability_crowded(retriever, true) &&
			       make_has_room(fill->object->fd)
		       ? MIN(SMALL, retriever->max_read)
		       : 0;
}

static struct make_parent parent_of(struct fill *fill)
{
	struct make_parent parent =
		directory_parent(fill->object, fill->named, fill->path, fill->prior_fd);

	parent.same = &fill->same;
	parent.lacking = &fill->lacking;
	return parent;
}

static int make_dummy(struct retriever *retriever, const struct make_parent *parent,
		      const struct source_entry *entry, enum make_outcome *outcome)
{
	g_autofree char *path = make_child_path(parent->path, entry->name);

	return make_named(dummy_create(retriever, parent->fd, parent->inherits, entry, path),
			  outcome);
}

/* Numbers come again: roots of subvolumes have one and the same. */
static bool is_of_page(const struct migrate_record *rec, const struct source_entry *entry)
{
	if (rec->flags & MIGRATE_REC_HANDLE)
		return rec->handle_len == entry->handle_len &&
		       memcmp(rec->handle, entry->handle, rec->handle_len) == 0;
	return rec->fileid == entry->attr.fileid && rec->mtime == entry->attr.mtime &&
	       rec->ctime == entry->attr.ctime;
}

/* Whether the old server's directory is this one, or one above it. */
static bool is_above(const struct object *directory, const struct source_entry *entry)
{
	int fd = openat(directory->fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool above = false, root = false;

	while (fd >= 0 && !above && !root) {
		struct migrate_record rec;
		int up;

		if (migrate_record_load(fd, &rec) <= 0) /* not of this volume any more */
			break;
		above = is_of_page(&rec, entry);
		root = migrate_binding_equal(&rec.binding, &directory->retriever->root_key);
		migrate_record_clear(&rec);
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = up;
	}
	if (fd >= 0)
		close(fd);
	return above;
}

bool directory_is_in_itself(const struct object *directory, const char *path,
			    const struct source_entry *entry)
{
	unsigned depth = 0;

	if (!S_ISDIR(entry->attr.mode))
		return false;
	for (const char *p = path; p && *p; p++)
		depth += *p == '/';
	return (!path || !entry->handle_len || depth >= DEPTH_MIN) && is_above(directory, entry);
}

/* Something has the entry's name already: NULL, or why it is not the entry. */
static enum error_code why_not_there(struct fill *fill, const struct source_entry *entry)
{
	/* as it is written nothing here has it */
	if (fill->not_here && listing_entries_has(fill->not_here, listing_sum_hash(entry->name)))
		return QM_NAME_TAKEN;
	return fill->content == FILL_DUMMIES ? QM_NONE : directory_why_other(fill->object, entry);
}

/* error: QM_NONE, or what is known of it. */
static void fail_name(struct fill *fill, const char *name, int status, enum error_code error)
{
	if (!error && status == -EPERM && fill->prior_fd >= 0 && flags_word(fill->prior_fd, name))
		error = QM_COPY_FORBIDDEN;
	name_errors_add(&fill->name_errors, name, status, error ? error : name_not_made(status));
}

/* MAKE_DONE, also where it failed; MAKE_ASK, MAKE_ASK_BARE. */
static enum make_outcome make_entry(struct fill *fill, const struct make_parent *parent,
				    const struct source_entry *entry, const char *target,
				    const struct source_xattrs *xattrs)
{
	enum make_outcome outcome = MAKE_DONE;
	enum error_code error = QM_NONE;
	int ret;

	if (fill->content == FILL_DUMMIES)
		ret = make_dummy(fill->object->retriever, parent, entry, &outcome);
	else if (directory_is_in_itself(fill->object, fill->path, entry))
		ret = -ELOOP;
	else
		ret = make_object(fill->object->retriever, parent, entry, target, xattrs, &outcome);
	if (!ret && outcome == MAKE_THERE) {
		g_atomic_int_inc(&fill->there);
		error = why_not_there(fill, entry);
		ret = error ? -EEXIST : 0;
	}
	if (!ret && outcome >= MAKE_ASK)
		return outcome;
	if (ret == -ENOENT) /* from here, not from the old server */
		ret = -EIO;
	if (ret == -ENOSPC || ret == -EDQUOT)
		g_atomic_int_inc(&fill->full);
	if (ret < 0)
		fail_name(fill, entry->name, ret, error);
	return MAKE_DONE;
}

/* ---- questions ---- */

static struct question *question_new(struct page *page, const struct source_entry *entry)
{
	struct question *q = g_slice_new0(struct question);

	q->page = page;
	q->fill = page->fill;
	q->name = g_strdup(entry->name);
	q->entry = *entry;
	q->entry.name = q->name;
	atomic_fetch_add(&page->left, 1);
	return q;
}

/* Before anything else is asked: the gate may be waiting for that. */
static void question_forget_xattrs(struct question *q)
{
	g_clear_pointer(&q->xattrs, source_xattrs_free);
	if (q->req.gate.carried)
		gate_carried(q->fill->object->retriever->gate, &q->req);
}

static void question_free(struct question *q)
{
	struct page *page = q->page;

	fill_got_bytes(q->fill, &q->entry.attr);
	source_object_clear(&q->source);
	question_forget_xattrs(q);
	g_clear_pointer(&q->listing, backend_batch_free);
	if (q->lists)
		list_next_directory(page);
	g_free(q->target);
	g_free(q->name);
	g_slice_free(struct question, q);
	page_done_one(page);
}

/* NULL: nobody works for the fill any more. */
static struct work *next_work(struct fill *fill)
{
	GList *link;

	g_mutex_lock(&fill->work.lock);
	link = g_queue_pop_head_link(&fill->work.queue);
	fill->work.running = link != NULL;
	g_mutex_unlock(&fill->work.lock);
	return link ? link->data : NULL;
}

static void question_made(struct question *q, bool made)
{
	if (made)
		question_free(q);
	else
		ask_object(q, BACKEND_XATTRS);
}

static void make_page(struct page *page, struct make_parent *parent);

/* FALSE: the old server has to be asked. */
static bool do_work(const struct work *work, struct fill *fill, struct make_parent *parent)
{
	struct question *q = work->question;
	bool made;

	parent->brought = taker_of_data(fill->object->retriever);
	if (work->page) {
		make_page(work->page, parent);
		return true;
	}
	parent->listing = q->listing;
	made = directory_names_fixed(fill->object) ||
	       make_entry(fill, parent, &q->entry, q->target, q->xattrs) == MAKE_DONE;
	if (q->refused)
		rights_note_refused(fill->object->retriever, fill->object->fd, q->name, q->refused);
	parent->listing = NULL;
	return made;
}

static void work_done(const struct work *work, bool made)
{
	if (work->page)
		page_done_one(work->page);
	else
		question_made(work->question, made);
}

static void do_all_work(void *arg);

/* The work goes on later, after clients that wait to change the directory (I11). */
static void do_later(struct fill *fill, struct work *work)
{
	g_mutex_lock(&fill->work.lock);
	g_queue_push_head_link(&fill->work.queue, &work->link);
	g_mutex_unlock(&fill->work.lock);
	start_work(fill, do_all_work, fill);
}

/* The last one is given back when nothing of the fill is needed any more. */
static void work_entered(struct object *object, void *arg)
{
	struct fill *fill = arg;
	struct make_parent parent = parent_of(fill);
	struct work *work = next_work(fill), *next;
	unsigned done = 0;
	bool made;

	for (;; work = next) {
		made = do_work(work, fill, &parent);
		done += work->page ? TURN : 1;
		next = next_work(fill);
		if (!next || done >= TURN)
			break;
		work_done(work, made);
	}
	fill_leave(object);
	work_done(work, made); /* the fill is there as long as there is a next one */
	if (next)
		do_later(fill, next);
}

static void do_all_work(void *arg)
{
	struct fill *fill = arg;

	if (fill_enter(fill->object, work_entered, fill))
		work_entered(fill->object, fill);
}

/* One after the other: several at a time in one directory would wait for its lock in the kernel,
 * and the old server would be asked about several pages in turn. */
static void queue_work(struct fill *fill, struct work *work)
{
	bool begin;

	work->link = (GList){.data = work};
	g_mutex_lock(&fill->work.lock);
	g_queue_push_tail_link(&fill->work.queue, &work->link);
	begin = !fill->work.running;
	fill->work.running = true;
	g_mutex_unlock(&fill->work.lock);
	if (begin)
		start_work(fill, do_all_work, fill);
}

static void question_ready(struct question *q)
{
	q->work.question = q;
	queue_work(q->fill, &q->work);
}

enum error_code directory_xattrs_refused(const struct retriever *retriever)
{
	return retriever->config->acl_source ? QM_XATTRS_NOWHERE : QM_XATTRS_REFUSED;
}

static enum error_code refusal_error(const struct question *q, int status)
{
	if (status == -EHOSTDOWN)
		return QM_OWNER_UNKNOWN;
	if (status == -ENOENT)
		return q->other ? QM_NAME_OF_ANOTHER : QM_NAME_MISSING;
	if (q->req.why)
		return q->req.why;
	switch (q->req.op) {
	case BACKEND_LOOKUP:
		return QM_LOOKUP_REFUSED;
	case BACKEND_READLINK:
		return QM_LINK_REFUSED;
	default:
		return directory_xattrs_refused(q->fill->object->retriever);
	}
}

/* Whether anything in the directory that was listed is left out. */
static bool has_rule(const struct question *q)
{
	for (guint i = 0; q->listing && i < q->listing->entries->len; i++) {
		const struct source_entry *entry =
			&g_array_index(q->listing->entries, struct source_entry, i);

		if (directory_rule(q->fill->object->retriever->config, q->source.path, entry))
			return true;
	}
	return false;
}

/* One that was not listed to its end is made anew, and listed once more when it is filled. */
static void directory_listed(struct backend_request *req)
{
	struct question *q = req->user;

	q->listing = g_steal_pointer(&req->batch);
	if (req->status || !req->eof || !req->has_attr ||
	    req->attr.fileid != q->entry.attr.fileid || has_rule(q))
		g_clear_pointer(&q->listing, backend_batch_free);
	question_ready(q);
}

static void question_answered(struct backend_request *req)
{
	struct question *q = req->user;
	int status = req->status == GATE_WITHDRAWN ? -ECANCELED : req->status;

	if (!status && req->op == BACKEND_XATTRS &&
	    !attributes_take_answer(req, &q->entry, &q->xattrs)) {
		status = q->looked_up ? -ENOTUNIQ : -ESTALE;
		q->other = true;
	}
	if (status == -ESTALE && req->op != BACKEND_LOOKUP && !q->looked_up) {
		ask_lookup(q); /* removed or replaced since it was listed */
		return;
	}
	if (req->op == BACKEND_XATTRS && !q->fill->name_errors.skip &&
	    rights_are_refused(q->fill->object->retriever, q->entry.attr.mode, status)) {
		q->refused = status;
		q->xattrs = source_xattrs_new();
		q->xattrs->closed = true;
		question_ready(q);
		return;
	}
	if (status) {
		name_errors_add_refusal(&q->fill->name_errors, q->name, status,
					refusal_error(q, status));
		question_free(q);
		return;
	}
	if (req->op == BACKEND_LOOKUP) {
		fill_got_bytes(q->fill, &q->entry.attr);
		directory_entry_found(&q->entry, req);
		directory_atime_before(q->fill->object, &q->entry.attr);
		if (fill_leaves_out(q->fill, &q->entry)) {
			question_free(q);
			return;
		}
		if (S_ISLNK(q->entry.attr.mode)) {
			ask_object(q, BACKEND_READLINK);
			return;
		}
	}
	if (req->op == BACKEND_READLINK)
		q->target = g_steal_pointer(&req->text);
	question_ready(q);
}

const struct fill *fill_of_request(const struct backend_request *req)
{
	return req->done == question_answered ? ((const struct question *)req->user)->fill : NULL;
}

/* How many bytes may come with the answer. */
static uint32_t wanted_bytes(const struct question *q)
{
	const struct make_parent parent = {.small = q->page->small};

	if (q->bare || durability_crowded(q->fill->object->retriever, true))
		return 0;
	return make_wants_data(&parent, &q->entry.attr) ? (uint32_t)q->entry.attr.size : 0;
}

static void question_send(struct question *q, enum backend_op op)
{
	question_forget_xattrs(q);
	q->req.count = op == BACKEND_XATTRS ? wanted_bytes(q) : 0;
	q->req.listed = &q->entry.attr;
	if (q->req.count)
		fill_asks_bytes(q->fill, &q->entry.attr);
	if (op == BACKEND_XATTRS && !q->req.count && !q->fill->object->retriever->carries) {
		q->xattrs = source_xattrs_new(); /* nothing is left to be asked */
		question_ready(q);
		return;
	}
	q->req.op = op;
	q->req.priority = q->fill->priority;
	q->req.hurried = op == BACKEND_READDIR; /* it can be listed later as well */
	q->req.trace = fill_trace(q->fill);
	q->req.done = op == BACKEND_READDIR ? directory_listed : question_answered;
	q->req.user = q;
	gate_submit(q->fill->object->retriever->gate, &q->req);
}

static void ask_lookup(struct question *q)
{
	q->looked_up = true;
	g_clear_pointer(&q->listing, backend_batch_free); /* maybe of another one */
	q->req.object = q->fill->source;
	q->req.name = q->name;
	question_send(q, BACKEND_LOOKUP);
}

static void ask_object(struct question *q, enum backend_op op)
{
	directory_entry_object(&q->entry, q->fill->path, &q->source);
	q->req.object = q->source;
	question_send(q, op);
}

/* ---- directories that may be taken whole ---- */

/* A client that waits for names must not wait for the listing of another directory. */
static bool may_be_taken(const struct fill *fill, const struct make_parent *parent,
			 const struct source_entry *entry)
{
	return fill->priority == BACKEND_BACKGROUND && fill->content != FILL_DUMMIES &&
	       take_may(fill->object->retriever, parent, entry);
}

static void list_next_directory(struct page *page)
{
	struct fill *fill = page->fill;
	const struct source_entry *entry;
	struct question *q;

	g_mutex_lock(&fill->work.lock);
	entry = g_queue_pop_head(&page->to_list);
	g_mutex_unlock(&fill->work.lock);
	if (!entry || directory_names_fixed(fill->object))
		return;
	q = question_new(page, entry);
	q->lists = true;
	ask_object(q, BACKEND_READDIR);
}

/* ---- the page ---- */

/* Of a listing that is summed up: what has several names may lack one in another directory. */
static bool is_only_summed(const struct fill *fill, const struct source_entry *entry)
{
	return fill->sum && listing_sum_sums_up(fill->sum) &&
	       !(entry->has_attr && (S_ISDIR(entry->attr.mode) || entry->attr.nlink > 1));
}

/* A listing may tell attributes of some time before.  A file without bytes would be whole, and
 * nothing that is asked for its bytes would tell that it has some. */
static bool is_empty_by_listing(const struct fill *fill, const struct make_parent *parent,
				const struct source_entry *entry)
{
	struct retriever *retriever = fill->object->retriever;

	return S_ISREG(entry->attr.mode) && entry->attr.size == 0 && !retriever->carries &&
	       !make_is_known(retriever, parent, entry);
}

/* Whether the listing says all that has to be known of it. */
static bool is_told(const struct fill *fill, const struct make_parent *parent,
		    const struct source_entry *entry)
{
	return entry->has_attr && !is_empty_by_listing(fill, parent, entry) &&
	       (entry->handle_len || !old_handles_are_wanted(fill->object->retriever));
}

static void make_listed(struct page *page, const struct make_parent *parent,
			const struct source_entry *entry)
{
	struct fill *fill = page->fill;
	enum make_outcome outcome;
	struct question *q;

	if (is_only_summed(fill, entry)) {
		g_atomic_int_inc(&fill->lacking);
		return;
	}
	if (fill->content == FILL_DUMMIES &&
	    rules_need_type(fill->object->retriever->config->rules, fill->path, entry->name))
		return; /* it may be left out: who looks it up learns that */
	if (directory_reserves(fill->path, entry->name)) {
		if (!strcmp(entry->name, MIGRATE_PRIVATE_DIR)) /* the other is a way back's */
			name_errors_add(&fill->name_errors, entry->name, -EEXIST, QM_NAME_RESERVED);
	} else if (fill->content != FILL_DUMMIES && !is_told(fill, parent, entry))
		ask_lookup(question_new(page, entry));
	else if (fill->content != FILL_DUMMIES && S_ISLNK(entry->attr.mode) &&
		 !make_is_known(fill->object->retriever, parent, entry))
		ask_object(question_new(page, entry), BACKEND_READLINK);
	else if (may_be_taken(fill, parent, entry))
		g_queue_push_tail(&page->to_list, (gpointer)entry);
	else if ((outcome = make_entry(fill, parent, entry, NULL, NULL)) != MAKE_DONE) {
		q = question_new(page, entry);
		q->bare = outcome == MAKE_ASK_BARE;
		ask_object(q, BACKEND_XATTRS);
	}
}

static void make_page(struct page *page, struct make_parent *parent)
{
	struct fill *fill = page->fill;
	GArray *entries = page->batch->entries;

	if (fill->sum)
		listing_sum_add(fill->sum, page->batch);
	parent->small = page->small = small_now(fill);
	for (guint i = 0; i < entries->len && !directory_names_fixed(fill->object) &&
			  g_atomic_int_get(&fill->full) <= DIRECTORY_FULL_MAX;
	     i++) {
		struct source_entry *entry = &g_array_index(entries, struct source_entry, i);

		directory_atime_before(fill->object, &entry->attr);
		make_listed(page, parent, entry);
	}
	parent->small = 0;
	for (unsigned i = 0; i < LISTINGS; i++)
		list_next_directory(page);
	trace_event(TRACE_MADE, &fill->trace, "page", 0, 0, entries->len, 0);
}

void fill_make_page(struct fill *fill, struct backend_batch *batch)
{
	struct page *page = g_slice_new0(struct page);

	page->fill = fill;
	page->batch = batch;
	page->work.page = page;
	atomic_init(&page->left, 1);
	queue_work(fill, &page->work);
}
