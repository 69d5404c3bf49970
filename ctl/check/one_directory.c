/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The questions about the entries of a page are on their way together, some dozens at a time.  Of
 * an entry it is first asked what its listing lacks (LOOKUP), then what it has beside its
 * attributes (XATTRS), then, of one file of each kind, some bytes (READ).  Then the entry is
 * counted: on a thread of the backend, or at once.
 *
 * If a listing breaks off, it is begun anew, RESTARTS_MAX times, and as many entries as were
 * counted are left out: servers list in one order as long as nobody changes anything.
 */
#include "ctl/check/one_directory.h"

#include <errno.h>
#include <string.h>

#include "retriever/making/attributes.h"
#include "retriever/names/name_errors.h"

#define UNDER_WAY    64 /* questions of a directory at a time */
#define RESTARTS_MAX 5
#define PROBE	     4096
#define DEPTH_MIN    64 /* directories above it: from here on it may be in itself */
#define DEPTH_MAX    4096
#define FOLDED	     (1 << 18) /* names of a directory that are compared with each other */

struct listing {
	struct walk *walk;
	const struct directory *directory;
	GMutex lock;
	GCond answered;
	unsigned under_way;
	uint64_t entries, bytes;
	GHashTable *folded; /* of hashes of names without their case; NULL: there are too many */
};

struct question {
	struct listing *listing;
	struct backend_request req;
	struct source_entry entry; /* name: the batch's */
	char *path;
	struct source_xattrs *xattrs;
	bool looked_up, has_xattrs;
	uint64_t kind; /* of read_trials.h */
};

static void count_question(struct question *q);

static void question_free(struct question *q)
{
	struct listing *listing = q->listing;

	source_xattrs_free(q->xattrs);
	g_free(q->path);
	g_free(q);
	g_mutex_lock(&listing->lock);
	listing->under_way--;
	g_cond_signal(&listing->answered);
	g_mutex_unlock(&listing->lock);
}

/* ---- names that differ in case only ---------------------------------------------------------- */

static uint64_t folded_hash(const char *name)
{
	g_autofree char *normal = g_utf8_normalize(name, -1, G_NORMALIZE_ALL_COMPOSE);
	g_autofree char *folded = normal ? g_utf8_casefold(normal, -1) : NULL;
	uint64_t h = UINT64_C(14695981039346656037);

	for (const char *p = folded ? folded : name; *p; p++)
		h = (h ^ (uint8_t)*p) * UINT64_C(1099511628211);
	return h | 1;
}

static void compare_folded(struct listing *listing, const char *name)
{
	if (!listing->folded)
		return;
	if (!g_hash_table_add(listing->folded, (gpointer)(guintptr)folded_hash(name))) {
		g_autofree char *path = judge_path(listing->directory->object.path, name);

		notices_add(listing->walk->notices, NOTE_FOLDED, path,
			    "SMB clients see one of the two");
	}
	if (g_hash_table_size(listing->folded) >= FOLDED)
		g_clear_pointer(&listing->folded, g_hash_table_unref);
}

/* ---- an entry that is known ------------------------------------------------------------------ */

static uint64_t number_of(const struct source_entry *entry)
{
	return directory_number(entry->handle, entry->handle_len, &entry->attr);
}

static bool is_in_itself(const struct listing *listing, const struct source_entry *entry)
{
	const GArray *above = listing->directory->above;
	const uint64_t number = number_of(entry);

	if (entry->handle_len && above->len < DEPTH_MIN) /* see fill_page.c */
		return false;
	for (guint i = 0; i < above->len; i++)
		if (g_array_index(above, uint64_t, i) == number)
			return true;
	return above->len >= DEPTH_MAX;
}

/* walk->lock held. */
static void put_directory(struct question *q)
{
	struct walk *walk = q->listing->walk;
	const struct source_entry *entry = &q->entry;

	if (walk->error)
		return;
	frontier_put(walk->frontier,
		     directory_new(q->path, entry->handle, entry->handle_len, q->listing->directory,
				   number_of(entry)),
		     &walk->error);
}

/* walk->lock held. */
static void count_xattrs(struct tally *tally, const struct question *q, uint32_t takes)
{
	bool acl = q->xattrs->windows != NULL, xattr = false;

	for (guint i = 0; i < q->xattrs->list->len; i++) {
		const struct source_xattr *found =
			&g_array_index(q->xattrs->list, struct source_xattr, i);
		const bool is_acl = g_str_has_prefix(found->name, "system.");

		acl |= is_acl;
		xattr |= !is_acl;
	}
	tally->asked++;
	tally->acls += acl;
	tally->xattrs += xattr;
	tally->xattr_bytes += takes;
	tally->large_xattrs += takes > TALLY_INODE_ROOM;
}

static void count_question(struct question *q)
{
	struct listing *listing = q->listing;
	struct walk *walk = listing->walk;
	const struct source_attr *attr = &q->entry.attr;
	const bool loops = S_ISDIR(attr->mode) && is_in_itself(listing, &q->entry);
	uint32_t takes = judge_object(walk->judge, q->path, attr, q->xattrs);

	samples_offer(walk->samples, q->path, &q->entry);
	if (loops)
		notices_add(walk->notices, NOTICE_LOOP, q->path,
			    error_kind(name_not_made(-ELOOP))->sentence);
	g_mutex_lock(&listing->lock);
	listing->bytes += S_ISREG(attr->mode) ? attr->size : 0;
	g_mutex_unlock(&listing->lock);
	g_mutex_lock(&walk->lock);
	tally_add(walk->tally, q->path, attr);
	if (q->xattrs)
		count_xattrs(walk->tally, q, takes);
	if (S_ISDIR(attr->mode) && !loops)
		put_directory(q);
	g_mutex_unlock(&walk->lock);
	question_free(q);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void question_answered(struct backend_request *req);

static void submit_question(struct question *q, enum backend_op op)
{
	const bool of_directory = op == BACKEND_LOOKUP;
	struct walk *walk = q->listing->walk;

	memset(&q->req, 0, sizeof(q->req));
	q->req.op = op;
	q->req.priority = BACKEND_BACKGROUND;
	q->req.done = question_answered;
	q->req.user = q;
	q->req.listed = &q->entry.attr;
	if (of_directory) {
		q->req.object = q->listing->directory->object;
		q->req.name = q->entry.name;
	} else {
		q->req.object.path = q->path;
		q->req.object.handle_len = q->entry.handle_len;
		memcpy(q->req.object.handle, q->entry.handle, q->entry.handle_len);
	}
	if (op == BACKEND_READ)
		q->req.count = (uint32_t)MIN(q->entry.attr.size, PROBE);
	gate_submit(walk->gate, &q->req);
}

/* Whether the object is in the share of which everything is asked: the same objects in each run. */
static bool is_in_share(const struct walk *walk, const struct source_attr *attr)
{
	const uint64_t h = attr->fileid * UINT64_C(0x9e3779b97f4a7c15);

	return S_ISDIR(attr->mode) || (h >> 32) % WALK_ALL < walk->share;
}

static bool wants_xattrs(const struct question *q)
{
	const struct source_attr *attr = &q->entry.attr;
	const struct walk *walk = q->listing->walk;

	return backend_may_have(walk->carries, attr->mode) && !q->has_xattrs &&
	       is_in_share(walk, attr);
}

static bool wants_read(struct question *q)
{
	const struct source_attr *attr = &q->entry.attr;

	return S_ISREG(attr->mode) && attr->size &&
	       read_trials_ask(q->listing->walk->trials, q->path, attr, q->xattrs, &q->kind);
}

/* Sets *op to what is to be asked next.  FALSE: nothing more. */
static bool next_op(struct question *q, enum backend_op *op)
{
	const struct walk *walk = q->listing->walk;

	if (!q->looked_up && (!q->entry.has_attr || (walk->handles && !q->entry.handle_len)))
		*op = BACKEND_LOOKUP;
	else if (wants_xattrs(q))
		*op = BACKEND_XATTRS;
	else if (wants_read(q))
		*op = BACKEND_READ;
	else
		return false;
	return true;
}

static void take_lookup(struct question *q, const struct backend_request *req)
{
	q->looked_up = true;
	q->entry.attr = req->attr;
	q->entry.has_attr = true;
	q->entry.handle_len = req->handle_len;
	memcpy(q->entry.handle, req->handle, req->handle_len);
}

static enum error_code refusal(const struct backend_request *req)
{
	int status = req->status;

	if (req->why)
		return req->why;
	if (status == -ENOENT || status == -ESTALE)
		return QM_NAME_MISSING;
	if (status == -ENOTUNIQ)
		return QM_NAME_OF_ANOTHER;
	return req->op == BACKEND_LOOKUP ? QM_LOOKUP_REFUSED : QM_XATTRS_REFUSED;
}

static void lose_question(struct question *q, const struct backend_request *req)
{
	g_autofree char *text = g_strdup_printf("%s (%s)", error_kind(refusal(req))->sentence,
						g_strerror(-req->status));

	if (req->status != -ECANCELED)
		notices_add(q->listing->walk->notices, NOTICE_UNASKED, q->path, text);
}

static void question_answered(struct backend_request *req)
{
	struct question *q = req->user;
	const enum backend_op op = req->op;
	enum backend_op next;

	if (op == BACKEND_READ) {
		if (req->why) /* of this file alone */
			notices_add(q->listing->walk->notices, NOTICE_UNREAD, q->path,
				    error_kind(req->why)->sentence);
		read_trials_answer(q->listing->walk->trials, q->kind, q->path,
				   req->why ? -ECANCELED : req->status);
		count_question(q);
		return;
	}
	if (!req->status && op == BACKEND_LOOKUP) {
		const bool typed = q->entry.has_attr;

		take_lookup(q, req);
		if (!typed && judge_leaves_out(q->listing->walk->judge,
					       q->listing->directory->object.path, &q->entry)) {
			question_free(q);
			return;
		}
	}
	if (!req->status && op == BACKEND_XATTRS) {
		q->has_xattrs = true;
		if (!attributes_take_answer(req, &q->entry, &q->xattrs))
			req->status = -ENOTUNIQ;
	}
	if (req->status) {
		lose_question(q, req);
		if (q->entry.has_attr)
			count_question(q); /* it is there */
		else
			question_free(q);
		return;
	}
	if (next_op(q, &next))
		submit_question(q, next);
	else
		count_question(q);
}

static void begin_entry(struct listing *listing, const struct source_entry *entry)
{
	const char *directory = listing->directory->object.path;
	struct question *q;
	enum backend_op op;

	if (!judge_name(listing->walk->judge, directory, entry))
		return;
	compare_folded(listing, entry->name);
	q = g_new0(struct question, 1);
	q->listing = listing;
	q->entry = *entry;
	q->path = judge_path(directory, entry->name);
	g_mutex_lock(&listing->lock);
	while (listing->under_way >= UNDER_WAY)
		g_cond_wait(&listing->answered, &listing->lock);
	listing->under_way++;
	g_mutex_unlock(&listing->lock);
	if (next_op(q, &op))
		submit_question(q, op);
	else
		count_question(q);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* *skip: entries that were counted before. */
static void begin_page(struct listing *listing, const struct backend_batch *batch, uint64_t *skip)
{
	guint i = (guint)MIN(*skip, batch->entries->len);

	if (!*skip)
		judge_refused(listing->walk->judge, listing->directory->object.path, batch);
	*skip -= i;
	for (; i < batch->entries->len; i++) {
		begin_entry(listing, &g_array_index(batch->entries, struct source_entry, i));
		listing->entries++;
	}
	g_mutex_lock(&listing->lock);
	while (listing->under_way)
		g_cond_wait(&listing->answered, &listing->lock);
	g_mutex_unlock(&listing->lock);
}

static int list_once(struct listing *listing, enum error_code *why)
{
	struct backend_request req = {.op = BACKEND_READDIR, .priority = BACKEND_BACKGROUND};
	uint64_t skip = listing->entries;
	int ret = 0;

	req.object = listing->directory->object;
	while (!ret && !req.eof) {
		ret = gate_call(listing->walk->gate, &req);
		if (!ret)
			begin_page(listing, req.batch, &skip);
		g_clear_pointer(&req.batch, backend_batch_free);
	}
	*why = req.why;
	return ret;
}

static void lose_listing(struct listing *listing, int status, enum error_code why)
{
	g_autofree char *text = g_strdup_printf(
		"%s%s%s", listing->entries ? "its listing breaks off: " : "",
		why ? error_kind(why)->sentence : g_strerror(-status),
		why ? ""
		    : ": what is in it cannot come: give this machine the rights there, or skip "
		      "it: migratectl skip");

	notices_add(listing->walk->notices, NOTICE_UNLISTED, listing->directory->object.path, text);
}

void one_directory_run(struct walk *walk, const struct directory *directory)
{
	struct listing listing = {.walk = walk, .directory = directory};
	const gint64 began = g_get_monotonic_time();
	enum error_code why;
	int ret;

	g_mutex_init(&listing.lock);
	g_cond_init(&listing.answered);
	listing.folded = g_hash_table_new(g_direct_hash, g_direct_equal);
	ret = list_once(&listing, &why);
	/* it changed meanwhile, or connections ended under it */
	for (unsigned i = 0; ret == -EBADMSG && i < RESTARTS_MAX; i++)
		ret = list_once(&listing, &why);
	if (ret && ret != -ECANCELED && ret != -ENOENT && ret != -ESTALE)
		lose_listing(&listing, ret, why);
	g_mutex_lock(&walk->lock);
	walk->spoiled |= ret == -ECANCELED;
	tally_listed(walk->tally, directory->object.path, listing.entries, listing.bytes,
		     (double)(g_get_monotonic_time() - began) / G_USEC_PER_SEC);
	g_mutex_unlock(&walk->lock);
	g_clear_pointer(&listing.folded, g_hash_table_unref);
	g_mutex_clear(&listing.lock);
	g_cond_clear(&listing.answered);
}
