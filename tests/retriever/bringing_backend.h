/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An old server whose answers about small files have their data.  In one file of a program.  It is
 * asked by threads, of another process too: what they expect is not told by Check, which can take
 * words of one at a time. */
#ifndef TESTS_RETRIEVER_BRINGING_BACKEND_H
#define TESTS_RETRIEVER_BRINGING_BACKEND_H

#include "tests/retriever/core_directory.h"
#include "tests/retriever/core_xattrs.h"

#define SMALL	   (64 * KIB)
#define BROUGHT_AT ((int64_t)1700000000 * 1000000000) /* atime once the bytes were read */

enum { WHOLE, SHORT, OTHER_FILE }; /* what is brought */
static bool nothing_else;	   /* has any object beside its bytes */
static int brings;
static atomic_uint wanted; /* answers that were to have data */
/* The first so many of them are asked for together: when they are answered nothing has been written
 * yet. */
static unsigned together;
static GPtrArray *asked;

struct bringing {
	struct backend base;
	struct backend *carrying;
	const char *source;
};

struct call {
	struct backend_request attr;
	struct backend_request *req; /* the retriever's */
	struct bringing *backend;
};

/* What the test said that it has beside. */
static struct source_xattrs *others_of(const char *path)
{
	const struct source_xattrs *said =
		core_xattrs ? g_hash_table_lookup(core_xattrs, path) : NULL;
	struct source_xattrs *xattrs = source_xattrs_new();

	for (guint i = 0; said && i < said->list->len; i++) {
		const struct source_xattr *x = &g_array_index(said->list, struct source_xattr, i);

		source_xattrs_add(xattrs, x->name, x->value, x->len);
	}
	return xattrs;
}

static void bring(struct backend_request *attr)
{
	struct call *call = attr->user;
	struct backend_request *req = call->req;
	g_autofree char *path = g_strconcat(call->backend->source, "/", req->object.path, NULL);
	int status = attr->status;
	gsize len;
	char *data;

	backend_prepare(req);
	if (status) { /* withdrawn, or it ends */
		g_free(call);
		backend_complete(req, status);
		return;
	}
	g_assert_true(g_file_get_contents(path, &data, &len, NULL));
	g_assert_cmpuint(len, ==, req->count);
	req->xattrs = others_of(req->object.path);
	req->xattrs->data = (uint8_t *)data;
	req->xattrs->data_len = len - (brings == SHORT);
	req->has_attr = true;
	req->attr = attr->attr;
	req->attr.fileid += brings == OTHER_FILE;
	req->attr.atime = BROUGHT_AT;
	g_free(call);
	backend_complete(req, 0);
}

/* Everything that is listed has its data on tape. */
static bool on_tape;

struct listing {
	void (*done)(struct backend_request *req);
	void *user;
};

static void listed(struct backend_request *req)
{
	struct listing *listing = req->user;

	for (guint i = 0; req->batch && i < req->batch->entries->len; i++)
		g_array_index(req->batch->entries, struct source_entry, i).attr.elsewhere = true;
	req->done = listing->done;
	req->user = listing->user;
	g_free(listing);
	req->done(req);
}

static void ask(gpointer data, gpointer user)
{
	struct call *call = data;

	call->backend->carrying->ops->submit(call->backend->carrying, &call->attr);
}

/* Whether it is kept, or was asked for with others. */
static bool ask_together(struct call *call)
{
	static GMutex lock;
	GPtrArray *all = NULL;
	bool kept;

	g_mutex_lock(&lock);
	kept = together > 0;
	if (kept) {
		if (!asked)
			asked = g_ptr_array_new();
		g_ptr_array_add(asked, call);
		if (--together == 0)
			all = g_steal_pointer(&asked);
	}
	g_mutex_unlock(&lock);
	if (all) {
		g_ptr_array_foreach(all, ask, NULL);
		g_ptr_array_free(all, TRUE);
	}
	return kept;
}

static void bring_submit(struct backend *base, struct backend_request *req)
{
	struct bringing *backend = (struct bringing *)base;
	struct call *call;

	if (req->op == BACKEND_READDIR && on_tape) {
		struct listing *listing =
			g_memdup2(&(struct listing){req->done, req->user}, sizeof(struct listing));

		req->done = listed;
		req->user = listing;
	}

	g_assert_true(req->op != BACKEND_XATTRS || req->count || !nothing_else);
	if (req->op != BACKEND_XATTRS || !req->count) {
		backend->carrying->ops->submit(backend->carrying, req);
		return;
	}
	g_assert_nonnull(req->listed);
	g_assert_cmpuint(req->listed->size, ==, req->count);
	atomic_fetch_add(&wanted, 1);
	call = g_new0(struct call, 1);
	call->req = req;
	call->backend = backend;
	call->attr.op = BACKEND_GETATTR;
	call->attr.object = req->object;
	call->attr.done = bring;
	call->attr.user = call;
	if (!ask_together(call))
		ask(call, NULL);
}

static void bring_close(struct backend *base)
{
	struct bringing *backend = (struct bringing *)base;

	backend->carrying->ops->close(backend->carrying);
	g_free(backend);
}

static uint32_t bring_max_read(struct backend *base)
{
	return 1 << 20;
}

static unsigned carry_nothing(struct backend *base)
{
	return 0;
}

static struct backend_ops bring_ops;

static struct backend *bring_wrap(struct core *c, struct backend *inner)
{
	struct bringing *backend = g_new0(struct bringing, 1);

	bring_ops = core_carry_ops;
	bring_ops.submit = bring_submit;
	bring_ops.close = bring_close;
	bring_ops.max_read = bring_max_read;
	if (nothing_else)
		bring_ops.carries = carry_nothing;
	backend->base.ops = &bring_ops;
	backend->carrying = core_carry_wrap(c, inner);
	backend->source = c->source;
	return &backend->base;
}

#endif
