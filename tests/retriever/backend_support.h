/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that are waited for, for the tests of backends. */
#ifndef TESTS_RETRIEVER_BACKEND_SUPPORT_H
#define TESTS_RETRIEVER_BACKEND_SUPPORT_H

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/source/source.h"
#include "tests/suite.h"

/* GLib's own handler asks for the time zone in a way that the thread sanitizer dislikes. */
static inline void plain_log(const gchar *domain, GLogLevelFlags level, const gchar *message,
			     gpointer user)
{
	fprintf(stderr, "%s\n", message);
}

/* Counts completions. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned done;
};

static inline void gate_init(struct gate *gate)
{
	pthread_mutex_init(&gate->lock, NULL);
	pthread_cond_init(&gate->changed, NULL);
	gate->done = 0;
}

static inline void gate_pass(struct gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->done++;
	pthread_cond_broadcast(&gate->changed);
	pthread_mutex_unlock(&gate->lock);
}

/* check's own time limit ends a test that waits for ever. */
static inline void gate_wait(struct gate *gate, unsigned n)
{
	pthread_mutex_lock(&gate->lock);
	while (gate->done < n)
		pthread_cond_wait(&gate->changed, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

static inline unsigned gate_count(struct gate *gate)
{
	unsigned n;

	pthread_mutex_lock(&gate->lock);
	n = gate->done;
	pthread_mutex_unlock(&gate->lock);
	return n;
}

struct waited {
	struct gate gate;
	uint8_t *data; /* a copy that outlives done */
};

static inline void waited_done(struct backend_request *req)
{
	struct waited *waited = req->user;

	if (req->op == BACKEND_READ && req->status == 0)
		waited->data = g_memdup2(req->data, req->data_len);
	gate_pass(&waited->gate);
}

/* Submits and waits.  The data of a READ is the caller's to free. */
static inline int run(struct backend *backend, struct backend_request *req)
{
	struct waited waited = {.data = NULL};

	gate_init(&waited.gate);
	req->done = waited_done;
	req->user = &waited;
	backend->ops->submit(backend, req);
	gate_wait(&waited.gate, 1);
	req->data = waited.data;
	return req->status;
}

static inline struct source_object by_handle(const uint8_t *handle, uint8_t len)
{
	struct source_object object = {.handle_len = len};

	memcpy(object.handle, handle, len);
	return object;
}

static inline struct source_object by_path(const char *path)
{
	return (struct source_object){.path = (char *)path};
}

static inline int get_attr(struct backend *backend, struct source_object object,
			   struct source_attr *attr)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .object = object};

	run(backend, &req);
	if (req.status == 0) {
		ck_assert(req.has_attr);
		*attr = req.attr;
	}
	return req.status;
}

/* With the handle where the backend has them, else by path: parent_path/name. */
static inline int look_up(struct backend *backend, struct source_object dir, const char *name,
			  struct source_object *found, struct source_attr *attr)
{
	struct backend_request req = {.op = BACKEND_LOOKUP, .object = dir, .name = name};

	run(backend, &req);
	if (req.status < 0)
		return req.status;
	ck_assert(req.has_attr);
	if (attr)
		*attr = req.attr;
	if (req.handle_len)
		*found = by_handle(req.handle, req.handle_len);
	else {
		g_autofree char *path = g_build_path("/", dir.path, name, NULL);

		*found = by_path(g_intern_string(path));
	}
	return 0;
}

static inline int read_at(struct backend *backend, struct source_object object, uint64_t offset,
			  uint32_t count, struct backend_request *req)
{
	*req = (struct backend_request){
		.op = BACKEND_READ, .object = object, .offset = offset, .count = count};
	return run(backend, req);
}

/* The whole directory: every entry passed to each(entry, user).  The number of entries, or a
 * status.
 */
static inline int list_all(struct backend *backend, struct source_object dir, bool names_only,
			   void (*each)(const struct source_entry *entry, void *user), void *user)
{
	struct backend_request req = {.op = BACKEND_READDIR, .object = dir};
	int n = 0;

	req.names_only = names_only;
	do {
		if (run(backend, &req) < 0)
			return req.status;
		ck_assert_uint_eq(req.batch->rejected, 0);
		for (guint i = 0; i < req.batch->entries->len; i++, n++)
			if (each)
				each(&g_array_index(req.batch->entries, struct source_entry, i),
				     user);
		g_clear_pointer(&req.batch, backend_batch_free);
	} while (!req.eof);
	return n;
}

#endif
