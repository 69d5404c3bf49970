/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/data/listing_search.h"

#include <errno.h>
#include <string.h>

#include "lib/source/gate.h"
#include "retriever/objects/jobs.h"

#define RESTARTS_MAX 5

struct listings {
	GMutex lock;		  /* a leaf */
	GHashTable *by_directory; /* struct listing, by key */
};

struct seeker {
	uint64_t fileid;
	bool late; /* came while the pass was under way */
	listing_found_fn found;
	void *arg;
	struct seeker *next; /* of the same fileid */
};

struct listing {
	struct retriever *retriever;
	GBytes *key;
	struct source_object directory;
	bool demand;
	GQueue joining;	     /* of struct seeker; listings.lock */
	GHashTable *seekers; /* those of the pass, by fileid */
};

bool listing_is_endless(struct listing_progress *progress, uint64_t cookie, guint entries)
{
	progress->entries += entries + 1;
	if (cookie == progress->seen || progress->entries > LISTING_MAX)
		return true;
	if (++progress->steps > progress->power) {
		progress->seen = cookie;
		progress->power = 2 * progress->power + 1;
		progress->steps = 0;
	}
	return false;
}

static GBytes *make_listing_key(const struct source_object *directory, bool demand)
{
	g_autoptr(GByteArray) key = g_byte_array_new();
	const uint8_t head[] = {demand, directory->handle_len};

	g_byte_array_append(key, head, sizeof head);
	if (directory->handle_len)
		g_byte_array_append(key, directory->handle, directory->handle_len);
	else if (directory->path)
		g_byte_array_append(key, (const uint8_t *)directory->path,
				    (guint)strlen(directory->path));
	return g_byte_array_free_to_bytes(g_steal_pointer(&key));
}

/* ---- who looks for something ---- */

/* Answers all searches for one fileid. */
static void answer_seekers(struct seeker *seeker, int status, const char *name)
{
	struct seeker *next;

	for (; seeker; seeker = next) {
		next = seeker->next;
		seeker->found(seeker->arg, status, name);
		g_slice_free(struct seeker, seeker);
	}
}

/* Takes in the searches that have come meanwhile.  Whether any search is left. */
static bool take_joining(struct listing *listing, bool late)
{
	struct listings *listings = listing->retriever->listings;
	struct seeker *seeker;

	g_mutex_lock(&listings->lock);
	while ((seeker = g_queue_pop_head(&listing->joining))) {
		seeker->late = late;
		seeker->next = g_hash_table_lookup(listing->seekers, &seeker->fileid);
		g_hash_table_replace(listing->seekers, &seeker->fileid, seeker);
	}
	g_mutex_unlock(&listings->lock);
	return g_hash_table_size(listing->seekers) > 0;
}

/* A search that came late and found nothing takes part in the next pass. */
static void end_pass(struct listing *listing, int status)
{
	GHashTableIter iter;
	gpointer value;
	struct seeker *all = NULL, *next, *last;

	g_hash_table_iter_init(&iter, listing->seekers);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		for (last = value; last->next; last = last->next)
			;
		last->next = all;
		all = value;
		g_hash_table_iter_steal(&iter);
	}
	for (; all; all = next) {
		next = all->next;
		all->next = NULL;
		if (status || !all->late) {
			answer_seekers(all, status ? status : -ENOENT, NULL);
			continue;
		}
		g_mutex_lock(&listing->retriever->listings->lock);
		g_queue_push_tail(&listing->joining, all);
		g_mutex_unlock(&listing->retriever->listings->lock);
	}
}

/* ---- the pass ---- */

static void look_through(struct listing *listing, const struct backend_batch *batch)
{
	for (guint i = 0; i < batch->entries->len; i++) {
		const struct source_entry *e =
			&g_array_index(batch->entries, struct source_entry, i);
		struct seeker *seeker = g_hash_table_lookup(listing->seekers, &e->attr.fileid);

		if (!seeker)
			continue;
		g_hash_table_steal(listing->seekers, &e->attr.fileid);
		answer_seekers(seeker, 0, e->name);
	}
}

static int pass(struct listing *listing)
{
	struct backend_request req = {.op = BACKEND_READDIR,
				      .priority =
					      listing->demand ? BACKEND_DEMAND : BACKEND_READAHEAD,
				      .object = listing->directory,
				      .names_only = true,
				      .hurried = true};
	struct listing_progress progress = {0};
	unsigned restarts = 0;
	int ret = 0;

	while (!ret && !req.eof && g_hash_table_size(listing->seekers)) {
		ret = gate_call(listing->retriever->gate, &req);
		if (ret == -EBADMSG && restarts++ < RESTARTS_MAX) { /* it changed meanwhile */
			req.cookie = req.verf = 0;
			progress = (struct listing_progress){0};
			req.eof = false;
			ret = 0;
		} else if (!ret) {
			take_joining(listing, true);
			look_through(listing, req.batch);
			if (!req.eof &&
			    listing_is_endless(&progress, req.cookie, req.batch->entries->len))
				ret = -ELOOP;
			g_clear_pointer(&req.batch, backend_batch_free);
		}
	}
	return ret;
}

static void listing_free(gpointer p)
{
	struct listing *listing = p;

	source_object_clear(&listing->directory);
	g_hash_table_destroy(listing->seekers);
	g_bytes_unref(listing->key);
	g_slice_free(struct listing, listing);
}

static void run_listing(void *arg)
{
	struct listing *listing = arg;
	struct listings *listings = listing->retriever->listings;
	bool more;

	do {
		if (take_joining(listing, false))
			end_pass(listing, pass(listing));
		g_mutex_lock(&listings->lock);
		more = !g_queue_is_empty(&listing->joining);
		if (!more)
			g_hash_table_remove(listings->by_directory, listing->key);
		g_mutex_unlock(&listings->lock);
	} while (more);
}

/* Lock held.  Takes key. */
static struct listing *add_listing(struct retriever *retriever, GBytes *key,
				   const struct source_object *directory, bool demand)
{
	struct listing *listing = g_slice_new0(struct listing);

	listing->retriever = retriever;
	listing->key = key;
	listing->demand = demand;
	source_object_copy(&listing->directory, directory);
	listing->seekers = g_hash_table_new(g_int64_hash, g_int64_equal);
	g_hash_table_insert(retriever->listings->by_directory, listing->key, listing);
	return listing;
}

/* Lock held.  NULL: the directory is being listed; else run_listing() is to be called. */
static struct listing *join_listing(struct retriever *retriever,
				    const struct listing_wanted *wanted, bool demand)
{
	g_autoptr(GBytes) key = make_listing_key(wanted->directory, demand);
	struct listing *listing = g_hash_table_lookup(retriever->listings->by_directory, key);
	struct seeker *seeker = g_slice_new0(struct seeker);
	bool start = !listing;

	seeker->fileid = wanted->fileid;
	seeker->found = wanted->found;
	seeker->arg = wanted->arg;
	if (start)
		listing = add_listing(retriever, g_steal_pointer(&key), wanted->directory, demand);
	g_queue_push_tail(&listing->joining, seeker);
	return start ? listing : NULL;
}

void listing_find(struct retriever *retriever, const struct listing_wanted *wanted, guint n,
		  bool demand)
{
	g_autoptr(GPtrArray) begun = g_ptr_array_new();

	g_mutex_lock(&retriever->listings->lock);
	for (guint i = 0; i < n; i++) {
		struct listing *listing = join_listing(retriever, &wanted[i], demand);

		if (listing)
			g_ptr_array_add(begun, listing);
	}
	g_mutex_unlock(&retriever->listings->lock);
	for (guint i = 0; i < begun->len; i++)
		jobs_run(retriever->jobs, demand ? JOB_FIND_DEMAND : JOB_FIND, run_listing,
			 begun->pdata[i]);
}

struct listings *listings_new(void)
{
	struct listings *listings = g_new0(struct listings, 1);

	g_mutex_init(&listings->lock);
	listings->by_directory =
		g_hash_table_new_full(g_bytes_hash, g_bytes_equal, NULL, listing_free);
	return listings;
}

void listings_free(struct listings *listings)
{
	g_hash_table_destroy(listings->by_directory);
	g_mutex_clear(&listings->lock);
	g_free(listings);
}
