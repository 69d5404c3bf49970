/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/suspects.h"

#include <string.h>

#include "lib/source/backend.h"

#define NOTED_EVERY   G_USEC_PER_SEC
#define WITNESS_COUNT 4096u /* bytes of a READ */

/* A name that there need not be: that is an answer, too. */
static char any_name[] = "any";

struct suspect {
	enum backend_op op;
	guint8 breaks;
	uint64_t offset; /* READ */
	gint64 given_up; /* monotonic us; 0: not yet */
};

static GBytes *key_of(const struct backend_request *req)
{
	const struct source_object *object = &req->object;
	g_autoptr(GByteArray) key = g_byte_array_new();

	if (object->handle_len)
		g_byte_array_append(key, object->handle, object->handle_len);
	else if (object->path)
		g_byte_array_append(key, (const guint8 *)object->path, strlen(object->path));
	if (req->op == BACKEND_LOOKUP && req->name) {
		if (key->len)
			g_byte_array_append(key, (const guint8 *)"/", 1);
		g_byte_array_append(key, (const guint8 *)req->name, strlen(req->name));
	}
	return g_byte_array_free_to_bytes(g_steal_pointer(&key));
}

void suspects_init(struct suspects *suspects)
{
	pthread_mutex_init(&suspects->lock, NULL);
	suspects->breaks = g_hash_table_new_full(g_bytes_hash, g_bytes_equal,
						 (GDestroyNotify)g_bytes_unref, g_free);
}

static void clear_witness(struct witness *witness)
{
	source_object_clear(&witness->object);
	g_clear_pointer(&witness->name, g_free);
}

void suspects_clear(struct suspects *suspects)
{
	if (!suspects->breaks)
		return;
	for (unsigned i = 0; i < SUSPECT_KINDS; i++)
		for (unsigned j = 0; j < WITNESSES; j++)
			clear_witness(&suspects->witnesses[i][j]);
	g_clear_pointer(&suspects->breaks, g_hash_table_destroy);
	pthread_mutex_destroy(&suspects->lock);
}

/* ---- how often ---- */

void suspects_recall(struct suspects *suspects, struct backend_request *req)
{
	const struct suspect *suspect;

	req->backend.breaks = 0;
	req->backend.known = false;
	if (!atomic_load_explicit(&suspects->n, memory_order_relaxed))
		return;
	g_autoptr(GBytes) key = key_of(req);

	pthread_mutex_lock(&suspects->lock);
	suspect = g_hash_table_lookup(suspects->breaks, key);
	req->backend.breaks = suspect ? suspect->breaks : 0;
	req->backend.known = req->backend.breaks == SUSPECT_LIMIT - 1;
	pthread_mutex_unlock(&suspects->lock);
}

/* Where an object cannot even be looked up, nothing can be done with it. */
static bool is_about(const struct suspect *suspect, const struct backend_request *req)
{
	return suspect->op == BACKEND_LOOKUP || suspect->op == BACKEND_GETATTR ||
	       (suspect->op == req->op && suspect->offset == req->offset);
}

bool suspects_hold(struct suspects *suspects, struct backend_request *req, gint64 since)
{
	const struct suspect *suspect;
	bool hold;

	if (!req->backend.known)
		return false;
	g_autoptr(GBytes) key = key_of(req);

	pthread_mutex_lock(&suspects->lock);
	suspect = g_hash_table_lookup(suspects->breaks, key);
	hold = suspect && suspect->given_up > MAX(since, 0) && is_about(suspect, req);
	pthread_mutex_unlock(&suspects->lock);
	if (hold)
		req->why = QM_CONNECTION_ENDS;
	return hold;
}

void suspects_retry(struct suspects *suspects)
{
	GHashTableIter iter;
	gpointer suspect;

	pthread_mutex_lock(&suspects->lock);
	g_hash_table_iter_init(&iter, suspects->breaks);
	while (g_hash_table_iter_next(&iter, NULL, &suspect))
		((struct suspect *)suspect)->given_up = 0;
	pthread_mutex_unlock(&suspects->lock);
}

/* FALSE: there is no room for it. */
static bool remember_suspect(struct suspects *suspects, const struct backend_request *req)
{
	const struct suspect suspect = {
		.op = req->op,
		/* the next one alone decides */
		.breaks = MIN(req->backend.breaks, SUSPECT_LIMIT - 1),
		.offset = req->offset,
		.given_up = req->backend.breaks == SUSPECT_LIMIT ? g_get_monotonic_time() : 0,
	};
	g_autoptr(GBytes) key = key_of(req);
	bool room;

	pthread_mutex_lock(&suspects->lock);
	room = g_hash_table_size(suspects->breaks) < SUSPECTS_MAX ||
	       g_hash_table_contains(suspects->breaks, key);
	if (room)
		g_hash_table_replace(suspects->breaks, g_steal_pointer(&key),
				     g_memdup2(&suspect, sizeof(suspect)));
	atomic_store(&suspects->n, g_hash_table_size(suspects->breaks));
	pthread_mutex_unlock(&suspects->lock);
	return room;
}

/* An answer of one kind says nothing of the others. */
static void forget_suspect(struct suspects *suspects, const struct backend_request *req)
{
	g_autoptr(GBytes) key = key_of(req);
	const struct suspect *suspect;

	pthread_mutex_lock(&suspects->lock);
	suspect = g_hash_table_lookup(suspects->breaks, key);
	if (suspect && suspect->op == req->op)
		g_hash_table_remove(suspects->breaks, key);
	atomic_store(&suspects->n, g_hash_table_size(suspects->breaks));
	pthread_mutex_unlock(&suspects->lock);
}

bool suspects_break(struct suspects *suspects, struct backend_request *req, unsigned count,
		    bool alone)
{
	bool fails;

	if (alone && count)
		req->backend.breaks =
			(guint8)MIN(MAX(req->backend.breaks, SUSPECT_ALONE) + 1, SUSPECT_LIMIT);
	else if (count)
		req->backend.breaks = (guint8)MIN(req->backend.breaks + count, SUSPECT_ALONE);
	fails = req->backend.breaks == SUSPECT_LIMIT;
	req->backend.known |= !remember_suspect(suspects, req);
	if (fails)
		req->why = QM_CONNECTION_ENDS;
	return fails;
}

/* ---- witnesses ---- */

static void note_witness(struct suspects *suspects, const struct backend_request *req, gint64 now)
{
	struct witness *witness;

	pthread_mutex_lock(&suspects->lock);
	witness = &suspects->witnesses[req->op][suspects->next[req->op]++ % WITNESSES];
	clear_witness(witness);
	source_object_copy(&witness->object, &req->object);
	witness->name = req->op == BACKEND_LOOKUP ? g_strdup(req->name) : NULL;
	witness->offset = req->op == BACKEND_READ ? req->offset : 0;
	atomic_store(&suspects->noted[req->op], now);
	pthread_mutex_unlock(&suspects->lock);
}

void suspects_answered(struct suspects *suspects, const struct backend_request *req, int status,
		       gint64 now)
{
	/* the rest of a listing may be what ends connections */
	if (req->backend.breaks && (req->op != BACKEND_READDIR || status || req->eof))
		forget_suspect(suspects, req);
	if (!status && !req->backend.breaks && !req->up &&
	    now - atomic_load_explicit(&suspects->noted[req->op], memory_order_relaxed) >=
		    NOTED_EVERY)
		note_witness(suspects, req, now);
}

static void set_witness(struct backend_request *witness, const struct backend_request *req,
			const struct source_object *object, const char *name, uint64_t offset)
{
	*witness = (struct backend_request){
		.op = req->op,
		.priority = req->priority,
		.with_acl = req->with_acl,
		.name = req->op == BACKEND_LOOKUP ? g_strdup(name) : NULL,
		.offset = offset,
		.count = req->op == BACKEND_READ ? WITNESS_COUNT : 0,
	};
	source_object_copy(&witness->object, object);
}

static bool is_other(const struct backend_request *witness, const struct backend_request *req)
{
	g_autoptr(GBytes) a = key_of(witness), b = key_of(req);

	return !g_bytes_equal(a, b);
}

static void clear_request(struct backend_request *witness)
{
	source_object_clear(&witness->object);
	g_free((char *)witness->name);
	witness->name = NULL;
}

/* Each time the next one: that one, too, may be such an object by now. */
static bool choose_witness(struct suspects *suspects, const struct backend_request *req,
			   struct backend_request *witness)
{
	bool found = false;

	pthread_mutex_lock(&suspects->lock);
	for (unsigned i = 0; !found && i < WITNESSES; i++) {
		const struct witness *w =
			&suspects->witnesses[req->op][suspects->next[req->op]++ % WITNESSES];

		if (!w->object.handle_len && !w->object.path)
			continue;
		set_witness(witness, req, &w->object, w->name, w->offset);
		found = is_other(witness, req);
		if (!found)
			clear_request(witness);
	}
	pthread_mutex_unlock(&suspects->lock);
	return found;
}

static void witness_done(struct backend_request *witness)
{
	struct trial *trial = witness->user;

	trial->proved[witness->op] |= witness->status != -ECANCELED;
	g_clear_pointer(&witness->text, g_free);
	g_clear_pointer(&witness->batch, backend_batch_free);
	g_clear_pointer(&witness->xattrs, source_xattrs_free);
	clear_request(witness);
}

void trial_begin(struct trial *trial)
{
	memset(trial->proved, 0, sizeof(trial->proved));
}

struct backend_request *trial_witness(struct trial *trial, const struct backend_request *req,
				      const struct source_object *root)
{
	struct backend_request *witness = &trial->witness;

	if (trial->proved[req->op])
		return NULL;
	if (!choose_witness(trial->suspects, req, witness)) {
		set_witness(witness, req, root, any_name, 0);
		if (!is_other(witness, req)) {
			clear_request(witness);
			trial->proved[req->op] = true;
			return NULL;
		}
	}
	backend_prepare(witness);
	witness->done = witness_done;
	witness->user = trial;
	return witness;
}
