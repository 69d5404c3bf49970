/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/socket/requests.h"

#include <errno.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/source/gate.h"
#include "retriever/data/bracket.h"
#include "retriever/data/durability.h"
#include "retriever/data/fetch.h"
#include "retriever/names/bulk.h"
#include "retriever/names/fill.h"
#include "retriever/names/finish.h"
#include "retriever/names/one_name.h"
#include "retriever/socket/control.h"
#include "retriever/socket/touched.h"

struct requests {
	gint refs;
	struct retriever *retriever;
	struct trace_id id;
	reply_fn reply;
	void *peer;
	GHashTable *brackets; /* of struct bracket by the id of BEGIN; main thread */
	gint failed_begins;   /* atomic: some of them are no brackets */

	GMutex lock; /* a leaf, except that reply is called under it */
	bool ended;
	GHashTable *open; /* of struct request by its id: those that were not answered */
};

/* One that is worked on: the way that does it has a reference until it has called back. */
struct request {
	gint refs;
	struct requests *requests; /* referenced */
	struct trace_id trace;
	uint64_t id, offset, length;
	uint16_t op;
	uint32_t change;
	gint64 since;
	struct object *object; /* referenced, or NULL */
};

static const char *const op_names[] = {
	[MIGRATE_OP_RANGE] = "range", [MIGRATE_OP_NAME] = "name",
	[MIGRATE_OP_FILL] = "fill",   [MIGRATE_OP_FINISH] = "finish",
	[MIGRATE_OP_BEGIN] = "begin", [MIGRATE_OP_END] = "end",
	[MIGRATE_OP_SYNC] = "sync",   [MIGRATE_OP_CONTROL] = "control",
};

struct requests *requests_new(struct retriever *retriever, const struct trace_id *id,
			      reply_fn reply, void *peer)
{
	struct requests *requests = g_new0(struct requests, 1);

	requests->refs = 1;
	requests->retriever = retriever;
	requests->id = *id;
	requests->reply = reply;
	requests->peer = peer;
	g_mutex_init(&requests->lock);
	requests->open = g_hash_table_new(g_int64_hash, g_int64_equal);
	requests->brackets = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	return requests;
}

static void requests_unref(struct requests *requests)
{
	if (!g_atomic_int_dec_and_test(&requests->refs))
		return;
	g_hash_table_destroy(requests->open);
	g_mutex_clear(&requests->lock);
	g_free(requests);
}

static void request_unref(struct request *request)
{
	if (!g_atomic_int_dec_and_test(&request->refs))
		return;
	if (request->object)
		object_unref(request->object);
	requests_unref(request->requests);
	g_slice_free(struct request, request);
}

static struct request *request_new(struct requests *requests, const struct migrate_frame *frame)
{
	struct request *request = g_slice_new0(struct request);

	request->refs = 1;
	request->id = frame->id;
	request->op = frame->op;
	request->offset = frame->offset;
	request->length = frame->length;
	request->change = frame->change;
	request->since = g_get_monotonic_time();
	request->trace = requests->id;
	request->trace.request = frame->id;
	request->trace.background |= !!(frame->flags & MIGRATE_BACKGROUND);
	request->trace.first = frame->flags & MIGRATE_FIRST && request->trace.background;
	g_atomic_int_inc(&requests->refs);
	request->requests = requests;
	g_mutex_lock(&requests->lock);
	g_hash_table_insert(requests->open, &request->id, request);
	g_mutex_unlock(&requests->lock);
	return request;
}

static void trace(const struct request *request, enum trace_step step, int status)
{
	/* who reads the events is not to be seen in them */
	if (request->op != MIGRATE_OP_CONTROL)
		trace_event(step, &request->trace, op_names[request->op], request->offset,
			    request->length, 0, status);
}

/* ---- answers ---- */

/* Answers the request once: the first caller answers, the function that does the work or a cancel.
 */
static void answer_request(struct request *request, int status, const char *text)
{
	struct requests *requests = request->requests;
	struct migrate_frame frame = {
		.op = request->op | MIGRATE_OP_REPLY,
		.id = request->id,
		.status = status,
		.text = text,
		.text_len = text ? MIN(strlen(text), MIGRATE_FRAME_MAX - MIGRATE_FRAME_HEADER) : 0,
	};

	g_mutex_lock(&requests->lock);
	if (g_hash_table_lookup(requests->open, &request->id) == request) {
		g_hash_table_remove(requests->open, &request->id);
		trace(request, TRACE_REPLIED, status);
		if (!requests->ended)
			requests->reply(requests->peer, &frame);
	}
	g_mutex_unlock(&requests->lock);
}

static void control_done(void *arg, int status, const char *text)
{
	struct request *request = arg;
	struct retriever *retriever = request->requests->retriever;

	answer_request(request, status, text);
	request_unref(request);
	if (status == -ERESTART)
		g_main_loop_quit(retriever->loop);
}

/* What doors are told is of migrate.h's set. */
static int for_doors(int status, bool background)
{
	switch (status) {
	case -EACCES:
	case -EPERM:
	case -ENOTSUP:
	case -ENAMETOOLONG:
	case -EEXIST:
	case -EMLINK:
	case -EFBIG:
	case -ELOOP:
		return -EREMOTEIO;
	case -EHOSTDOWN: /* this host's name service: a client comes again, the crawler goes on */
		return background ? -EREMOTEIO : -EAGAIN;
	default:
		return status;
	}
}

static void request_done(void *arg, int status)
{
	struct request *request = arg;

	if (request->op == MIGRATE_OP_BEGIN && status < 0)
		g_atomic_int_set(&request->requests->failed_begins, 1);
	answer_request(request, for_doors(status, request->trace.background), NULL);
	request_unref(request);
}

/* ---- brackets ---- */

/* BEGINs that were answered with an error are no brackets (migrate.h): nobody ends them. */
static void forget_failed(struct requests *requests)
{
	GHashTableIter iter;
	gpointer bracket;

	if (!g_atomic_int_get(&requests->failed_begins))
		return;
	g_atomic_int_set(&requests->failed_begins, 0);
	g_hash_table_iter_init(&iter, requests->brackets);
	while (g_hash_table_iter_next(&iter, NULL, &bracket)) {
		if (bracket_failed(bracket)) {
			g_hash_table_iter_remove(&iter);
			bracket_abort(bracket);
		}
	}
}

static void do_begin(struct request *request, const struct migrate_frame *frame, int dir_fd)
{
	struct requests *requests = request->requests;
	struct bracket *bracket;

	if (frame->change < MIGRATE_WRITE || frame->change > MIGRATE_PLACE ||
	    g_hash_table_contains(requests->brackets, &frame->id)) {
		request_done(request, -EINVAL);
		return;
	}
	forget_failed(requests);
	bracket = bracket_begin(request->object, frame->change, frame->offset, frame->length,
				dir_fd, request_done, request);
	if (bracket)
		g_hash_table_insert(requests->brackets, g_memdup2(&frame->id, sizeof frame->id),
				    bracket);
}

static void do_end(struct request *request, const struct migrate_frame *frame)
{
	GHashTable *brackets = request->requests->brackets;
	struct bracket *bracket = g_hash_table_lookup(brackets, &frame->ref);
	/* A client may try to change what no file can have: that fails, but its bracket ends. */
	bool changed = frame->flags & MIGRATE_END_CHANGED && frame->offset <= INT64_MAX;

	if (!bracket) {
		request_done(request, -EINVAL);
		return;
	}
	g_hash_table_remove(brackets, &frame->ref);
	bracket_end(bracket, changed, frame->flags & MIGRATE_END_DURABLE, frame->offset,
		    frame->length, request_done, request);
}

/* ---- requests about an object ---- */

/* What the old server puts off has failed, for the crawler: it goes on with the rest. */
static void background_fill_done(void *arg, int status)
{
	request_done(arg, status == -EAGAIN ? -EREMOTEIO : status);
}

static void do_fill(struct request *request, const struct migrate_frame *frame)
{
	bool background = frame->flags & MIGRATE_BACKGROUND;

	if (!is_directory(request->object))
		request_done(request, -ENOTDIR);
	else if (frame->flags & MIGRATE_DATA)
		bulk_start(request->object, (int64_t)frame->offset, frame->flags & MIGRATE_READS,
			   background_fill_done, request);
	else
		directory_fill(request->object, background ? BACKEND_BACKGROUND : BACKEND_DEMAND,
			       frame->flags & MIGRATE_SMALL_DATA,
			       background ? background_fill_done : request_done, request);
}

static void do_name(struct request *request, const struct migrate_frame *frame)
{
	g_autofree char *name = g_strndup(frame->text, frame->text_len);

	if (!*name || strlen(name) != frame->text_len || strlen(name) > 255 || strchr(name, '/') ||
	    !strcmp(name, ".") || !strcmp(name, ".."))
		request_done(request, -ENOENT);
	else if (!is_directory(request->object))
		request_done(request, -ENOTDIR);
	else
		directory_name(request->object, name, request_done, request);
}

static void do_range(struct request *request, const struct migrate_frame *frame)
{
	uint64_t start = MIN(frame->offset, INT64_MAX);
	uint64_t end = frame->length > INT64_MAX - start ? INT64_MAX : start + frame->length;

	if (is_directory(request->object))
		request_done(request, -EISDIR);
	else if (frame->flags & MIGRATE_DURABLE && !request->object->normal)
		durability_settle_later(request->object, request_done, request);
	else
		fetch_range(request->object, start, end, frame->flags & MIGRATE_BACKGROUND,
			    request_done, request);
}

static void do_finish(struct request *request)
{
	if (is_directory(request->object))
		finish_directory(request->object, request_done, request);
	else
		request_done(request, -ENOTDIR);
}

/* Those whose end has to be durable, also of an object that is normal. */
static void do_durable(struct request *request, const struct migrate_frame *frame, const int *fds,
		       size_t nfds)
{
	int ret = object_keep_fd(request->object, fds[0]);

	if (ret)
		request_done(request, ret);
	else if (frame->op == MIGRATE_OP_BEGIN)
		do_begin(request, frame, nfds > 1 ? fds[1] : -1);
	else
		durability_sync_later(request->object, request_done, request);
}

static void do_object(struct request *request, const struct migrate_frame *frame, const int *fds,
		      size_t nfds)
{
	int ret = nfds == MIGRATE_FDS_LOST ? -EAGAIN : nfds < 1 ? -EINVAL : 0;

	if (!ret)
		ret = object_get(request->requests->retriever, fds[0], &request->object);
	if (!ret && frame->op == MIGRATE_OP_RANGE && !request->trace.background)
		touched_note(request->requests->retriever, fds[0]);
	if (ret) {
		request->object = NULL;
		request_done(request, ret == -EMFILE || ret == -ENFILE ? -EAGAIN : ret);
		return;
	}
	switch (frame->op) {
	case MIGRATE_OP_RANGE:
		do_range(request, frame);
		break;
	case MIGRATE_OP_NAME:
		do_name(request, frame);
		break;
	case MIGRATE_OP_FILL:
		do_fill(request, frame);
		break;
	case MIGRATE_OP_FINISH:
		do_finish(request);
		break;
	default:
		do_durable(request, frame, fds, nfds);
		break;
	}
}

static void do_control(struct request *request, const struct migrate_frame *frame)
{
	g_autofree char *command = g_strndup(frame->text, frame->text_len);

	control_command(request->requests->retriever, command, control_done, request);
}

/* ---- cancels ---- */

/* The caller has a reference. */
static void cancel_request(struct request *request)
{
	GHashTable *brackets = request->requests->brackets;
	struct bracket *bracket;

	switch (request->op) {
	case MIGRATE_OP_RANGE:
		fetch_cancel(request->object, request);
		break;
	case MIGRATE_OP_FILL:
		directory_fill_cancel(request->object, request);
		break;
	case MIGRATE_OP_NAME:
		directory_name_cancel(request->object, request);
		break;
	case MIGRATE_OP_BEGIN: /* answered: it is open, and ends with END */
		bracket = g_hash_table_lookup(brackets, &request->id);
		if (bracket && bracket_cancel(bracket))
			g_hash_table_remove(brackets, &request->id);
		return;
	default:
		return; /* waits for this machine only */
	}
	answer_request(request, -ECANCELED, NULL);
}

static void cancel_id(struct requests *requests, uint64_t id)
{
	struct request *request;

	g_mutex_lock(&requests->lock);
	request = g_hash_table_lookup(requests->open, &id);
	if (request)
		g_atomic_int_inc(&request->refs);
	g_mutex_unlock(&requests->lock);
	if (!request)
		return;
	cancel_request(request);
	request_unref(request);
}

static void unref_request(gpointer request)
{
	request_unref(request);
}

GPtrArray *requests_list_new(void)
{
	return g_ptr_array_new_with_free_func(unref_request);
}

void requests_add_open(struct requests *requests, GPtrArray *list)
{
	GHashTableIter iter;
	gpointer value;

	g_mutex_lock(&requests->lock);
	g_hash_table_iter_init(&iter, requests->open);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct request *request = value;

		g_atomic_int_inc(&request->refs);
		g_ptr_array_add(list, request);
	}
	g_mutex_unlock(&requests->lock);
}

void requests_end(struct requests *requests)
{
	g_autoptr(GPtrArray) open = requests_list_new();
	GHashTableIter iter;
	gpointer bracket;

	requests_add_open(requests, open);
	g_mutex_lock(&requests->lock);
	requests->ended = true;
	g_mutex_unlock(&requests->lock);
	g_hash_table_iter_init(&iter, requests->brackets);
	while (g_hash_table_iter_next(&iter, NULL, &bracket))
		bracket_abort(bracket);
	g_hash_table_remove_all(requests->brackets);
	for (guint i = 0; i < open->len; i++)
		cancel_request(open->pdata[i]);
	g_hash_table_destroy(requests->brackets);
	requests_unref(requests);
}

/* ---- requests ---- */

/* END and CANCEL give something back, and control commands are the administrator's. */
static bool is_bounded(const struct migrate_frame *frame)
{
	return frame->op != MIGRATE_OP_END && frame->op != MIGRATE_OP_CONTROL;
}

static bool may_open_request(struct requests *requests)
{
	bool room;

	g_mutex_lock(&requests->lock);
	room = g_hash_table_size(requests->open) <= REQUESTS_MAX;
	g_mutex_unlock(&requests->lock);
	return room && !object_table_is_full(requests->retriever->objects);
}

static bool is_request_open(struct requests *requests, uint64_t id)
{
	bool open;

	g_mutex_lock(&requests->lock);
	open = g_hash_table_contains(requests->open, &id);
	g_mutex_unlock(&requests->lock);
	return open;
}

bool requests_handle(struct requests *requests, const struct migrate_frame *frame, const int *fds,
		     size_t nfds)
{
	struct trace_id before;
	struct request *request;

	if (frame->op < MIGRATE_OP_RANGE || frame->op > MIGRATE_OP_CONTROL)
		return false;
	if (frame->op == MIGRATE_OP_CANCEL) {
		cancel_id(requests, frame->ref);
		return true;
	}
	/* It is for the new start, which ends this connection: there it comes again. */
	if (frame->op == MIGRATE_OP_CONTROL && g_atomic_int_get(&requests->retriever->reopen))
		return true;
	if (is_request_open(requests, frame->id))
		return false;
	request = request_new(requests, frame);
	trace(request, TRACE_RECEIVED, 0);
	before = trace_enter(request->trace);
	if (is_bounded(frame) && !may_open_request(requests))
		request_done(request, -EAGAIN);
	else if (frame->op == MIGRATE_OP_END)
		do_end(request, frame);
	else if (frame->op == MIGRATE_OP_CONTROL)
		do_control(request, frame);
	else
		do_object(request, frame, fds, nfds);
	trace_enter(before);
	return true;
}

/* ---- status ---- */

static const char *waits_for(const struct request *request)
{
	struct object *object = request->object;
	bool searched;

	switch (request->op) {
	case MIGRATE_OP_END:
	case MIGRATE_OP_SYNC:
		return "the new server's disk";
	case MIGRATE_OP_FINISH:
		return "what is below it to be durable";
	case MIGRATE_OP_BEGIN:
		return "fills or other changes of it to end, or for room in its record";
	case MIGRATE_OP_CONTROL:
		return "commands before it, or its own work";
	default:
		if (request->trace.background && gate_paused(object->retriever->gate))
			return "background work to be resumed: migratectl resume";
		g_mutex_lock(&object->lock);
		searched = object->search.under_way[0] || object->search.under_way[1];
		g_mutex_unlock(&object->lock);
		return searched ? "it to be found again on the old server" : "the old server";
	}
}

static int by_age(gconstpointer a, gconstpointer b)
{
	gint64 x = (*(struct request *const *)a)->since, y = (*(struct request *const *)b)->since;

	return x < y ? -1 : x > y;
}

void requests_describe(GPtrArray *list, GKeyFile *file)
{
	gint64 now = g_get_monotonic_time();
	struct trace_id asking = trace_current();
	unsigned n = 0;

	g_ptr_array_sort(list, by_age);
	for (guint i = 0; i < list->len && n < REQUESTS_DESCRIBED; i++) {
		const struct request *request = list->pdata[i];
		if (request->id == asking.request && request->trace.pid == asking.pid)
			continue;
		g_autofree char *group = g_strdup_printf("request %u", n++);
		g_autofree char *peer = trace_peer(&request->trace);
		g_autofree char *path = request->object && request->object->fd >= 0
						? retriever_fd_path(request->object->fd)
						: g_strdup("");
		g_autofree char *line = text_printable(path);

		g_key_file_set_string(file, group, "peer", peer);
		g_key_file_set_uint64(file, group, "id", request->id);
		g_key_file_set_string(file, group, "operation", op_names[request->op]);
		g_key_file_set_uint64(file, group, "offset", request->offset);
		g_key_file_set_uint64(file, group, "length", request->length);
		g_key_file_set_int64(file, group, "milliseconds", (now - request->since) / 1000);
		g_key_file_set_string(file, group, "path", line);
		g_key_file_set_string(file, group, "waits-for", waits_for(request));
	}
}
