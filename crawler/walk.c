/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The life of a directory (struct node) in a pass:
 *
 *   handle in the parent's list -> opened -> normal: pruned
 *                                         -> fill asked for -> read, part by part -> all its
 *   subdirectories done -> finish asked for, again after a while where it is not ready
 *   -> done
 *
 * A directory whose fill failed is read all the same, for the names that it has, and is not
 * finished.  The subdirectories of a directory that is not filled cannot be finished either, but
 * the objects in those can.
 *
 * A node counts in its parent's `pending` until it is done, and keeps the parent in memory until
 * then.
 */
#include "crawler/walk.h"

#include <errno.h>
#include <glib.h>
#include <unistd.h>

#include "crawler/directory.h"
#include "crawler/policy.h"

/* Steps of local work after which walk_step() returns, so that the caller looks at its
 * descriptors. */
#define STEPS 256
/* Requests to finish that are under way at a time; the window is for fills. */
#define MAX_FINISHING 64
/*
 * The retriever makes fetched data durable in groups, about once a second.  To finish a directory
 * earlier it would have to make a group for that directory alone; so a directory waits this long
 * after its fill, unless there is nothing else to do.
 */
#define SETTLE_MS 1500
/* Directories that wait for another request; further ones are left to the next pass. */
#define MAX_WAITING 65536

enum request { REQUEST_FILL, REQUEST_FINISH };

struct node {
	struct walk *walk;
	struct node *parent;
	struct directory_handle *handle;
	struct directory_list list; /* subdirectories not begun */
	int64_t position;	    /* where reading goes on */
	int64_t due;		    /* no request for it before */
	int status;		    /* of the last request */
	int fd;			    /* -1: none */
	unsigned pending;	    /* subdirectories begun and not done */
	uint8_t attempts;
	uint8_t request; /* enum request, the last one */
	bool unfilled;	 /* as far as is known */
	bool read;	 /* to its end */
	bool left;	 /* it or something below is not finished */
};

struct walk {
	const struct walk_ops *ops;
	void *arg;
	int root_fd;
	struct directory_scope scope;
	unsigned flags; /* of this pass */
	bool root_done;
	unsigned under_way[2]; /* by enum request */
	unsigned waiting;
	struct walk_counts counts;
	GPtrArray *open;	       /* nodes with subdirectories to begin; a stack */
	GHashTable *active;	       /* nodes by handle */
	GQueue answered;	       /* nodes whose request is done */
	GQueue to_finish;	       /* nodes whose subdirectories are done */
	GQueue settling;	       /* the same, but to be finished only when `due` */
	GQueue again[POLICY_ATTEMPTS]; /* waiting nodes by attempt, so in order of `due` */
	int64_t now;
};

static bool finishes(const struct walk *walk)
{
	return walk->flags & MIGRATE_DATA;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static struct node *node_new(struct walk *walk, struct node *parent,
			     const struct directory_handle *handle)
{
	const size_t size = offsetof(struct directory_handle, bytes) + handle->len;
	struct node *node = g_new0(struct node, 1);

	node->walk = walk;
	node->parent = parent;
	node->handle = g_memdup2(handle, size);
	node->fd = -1;
	if (parent)
		parent->pending++;
	g_hash_table_add(walk->active, node);
	return node;
}

static void node_free(gpointer p)
{
	struct node *node = p;

	if (node->fd >= 0)
		close(node->fd);
	directory_list_clear(&node->list);
	g_free(node->handle);
	g_free(node);
}

static guint node_hash(gconstpointer p)
{
	return directory_handle_hash(((const struct node *)p)->handle);
}

static gboolean node_equal(gconstpointer p, gconstpointer q)
{
	return directory_handle_equal(((const struct node *)p)->handle,
				      ((const struct node *)q)->handle);
}

static int node_open(struct node *node)
{
	if (node->fd < 0)
		node->fd = directory_handle_open(node->walk->root_fd, node->handle);
	return node->fd < 0 ? node->fd : 0;
}

static void node_close(struct node *node)
{
	if (node->fd >= 0)
		close(node->fd);
	node->fd = -1;
}

static bool has_more(const struct node *node)
{
	return node->list.packed || !node->read;
}

static void want_finish(struct node *node)
{
	struct walk *walk = node->walk;

	g_queue_push_tail(node->due > walk->now ? &walk->settling : &walk->to_finish, node);
}

/* The directory is done, and perhaps so are directories above it that only waited for it. */
static void node_done(struct node *node)
{
	struct walk *walk = node->walk;

	while (node) {
		struct node *parent = node->parent;

		if (node->left)
			walk->counts.left++;
		if (!parent) {
			walk->root_done = true;
		} else {
			parent->left |= node->left;
			parent->pending--;
		}
		g_hash_table_remove(walk->active, node);
		if (!parent || parent->pending || has_more(parent))
			return;
		if (finishes(walk) && !parent->left) {
			want_finish(parent);
			return;
		}
		node = parent;
	}
}

static void note_error(struct node *node, int error)
{
	node->left = true;
	node->walk->counts.failed++;
	node->walk->counts.error = error;
}

static void node_failed(struct node *node, int error)
{
	note_error(node, error);
	node_done(node);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void request_done_node(void *arg, int status)
{
	struct node *node = arg;

	node->status = status;
	node->walk->under_way[node->request]--;
	g_queue_push_tail(&node->walk->answered, node);
}

static void request_node(struct node *node, enum request request)
{
	struct walk *walk = node->walk;
	uint64_t id;

	node->request = request;
	int error = node_open(node);
	if (error == -ESTALE) {
		/* A client removed the directory: nothing is left to do. */
		node_done(node);
		return;
	}
	if (error) {
		node_failed(node, error);
		return;
	}
	if (request == REQUEST_FILL)
		id = walk->ops->fill(walk->arg, node->fd, MIGRATE_BACKGROUND | walk->flags,
				     request_done_node, node);
	else
		id = walk->ops->finish(walk->arg, node->fd, request_done_node, node);
	if (id)
		walk->under_way[request]++;
	else
		node_failed(node, -errno);
}

/* "Not yet": the same request is made later, unless this answer came too often. */
static void ask_again(struct node *node)
{
	struct walk *walk = node->walk;

	if (++node->attempts >= POLICY_ATTEMPTS || walk->waiting >= MAX_WAITING) {
		node->left = true;
		walk->counts.busy++;
		node_done(node);
		return;
	}
	node_close(node);
	node->due = walk->now + policy_attempt_pause(node->attempts);
	g_queue_push_tail(&walk->again[node->attempts], node);
	walk->waiting++;
}

/* ---- directories ----------------------------------------------------------------------------- */

/* Queues the next step of a directory that was read, in part or to its end. */
static void queue_next_step(struct node *node)
{
	struct walk *walk = node->walk;

	if (has_more(node))
		g_ptr_array_add(walk->open, node);
	else if (node->pending)
		return;
	else if (finishes(walk) && !node->left)
		want_finish(node);
	else
		node_done(node);
}

static void read_on(struct node *node)
{
	struct walk *walk = node->walk;
	int error = node_open(node);

	if (!error)
		error = directory_read(node->fd, &walk->scope, &node->position, &node->read,
				       &node->list);
	node_close(node);
	if (error)
		node->read = true;
	/* A directory that a client removed leaves nothing to do. */
	if (error && error != -ESTALE)
		note_error(node, error);
	queue_next_step(node);
}

static void take_up(struct node *node)
{
	struct walk *walk = node->walk;
	const int status = node->status;
	enum migrate_state state;

	if (status == -EAGAIN) {
		ask_again(node);
	} else if (node->request == REQUEST_FINISH) {
		if (status == -EREMOTEIO && node->parent && node->parent->unfilled) {
			node->left = true;
			node_done(node);
			return;
		}
		if (status) {
			node_failed(node, status);
			return;
		}
		walk->counts.finished++;
		node_done(node);
	} else if (!status) {
		walk->counts.filled += node->unfilled;
		node->unfilled = false;
		node->attempts = 0;
		node->due = walk->now + SETTLE_MS;
		read_on(node);
	} else {
		/* Some entries of the directory have a problem; the others, and all below, may have
		 * none. */
		note_error(node, status);
		if (!walk->ops->load(node->fd, &state))
			node->unfilled = state != MIGRATE_FILLED;
		read_on(node);
	}
}

static void visit(struct walk *walk, struct node *parent, const struct directory_handle *handle)
{
	enum migrate_state state;
	struct node key = {.handle = (struct directory_handle *)handle};

	/* The directory was moved while this walk was in it: it is under way already. */
	if (g_hash_table_contains(walk->active, &key))
		return;

	struct node *node = node_new(walk, parent, handle);
	int error = node_open(node);
	if (error == -ESTALE) {
		node_done(node);
		return;
	}
	if (!error)
		error = walk->ops->load(node->fd, &state);
	if (error) {
		walk->counts.visited++;
		node_failed(node, error);
		return;
	}
	if (state == MIGRATE_NORMAL) {
		walk->counts.pruned++;
		node_done(node);
		return;
	}
	walk->counts.visited++;
	node->unfilled = state != MIGRATE_FILLED;
	if (finishes(walk) || node->unfilled)
		request_node(node, REQUEST_FILL);
	else
		read_on(node);
}

/* Begins the next subdirectory of the directory that was opened last. */
static bool descend(struct walk *walk)
{
	struct directory_handle handle;

	if (!walk->open->len)
		return false;

	struct node *node = walk->open->pdata[walk->open->len - 1];
	bool taken = directory_list_take(&node->list, &handle);
	if (!node->list.packed)
		g_ptr_array_set_size(walk->open, (gint)walk->open->len - 1);
	/* visit() may finish the node; it must know before that there is more to come. */
	node->pending++;
	if (taken)
		visit(walk, node, &handle);
	node->pending--;
	if (!node->list.packed && !node->read)
		read_on(node);
	else if (!has_more(node))
		queue_next_step(node);
	return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool has_room(const struct walk *walk, enum request request, unsigned window)
{
	return walk->under_way[request] < (request == REQUEST_FILL ? window : MAX_FINISHING);
}

/* The next node of a queue whose time has come; if there is none, *soonest becomes the time when
 * there will be one. */
static struct node *due_in(struct walk *walk, GQueue *queue, unsigned window, int64_t *soonest)
{
	struct node *node = g_queue_peek_head(queue);

	if (!node || !has_room(walk, node->request, window))
		return NULL;
	if (node->due <= walk->now)
		return g_queue_pop_head(queue);
	*soonest = MIN(*soonest, node->due);
	return NULL;
}

static struct node *due_again(struct walk *walk, unsigned window, int64_t *soonest)
{
	struct node *node = NULL;

	for (unsigned i = 1; i < POLICY_ATTEMPTS && !node; i++)
		node = due_in(walk, &walk->again[i], window, soonest);
	if (node)
		walk->waiting--;
	return node;
}

static struct node *to_finish(struct walk *walk, int64_t *soonest)
{
	const bool idle = !walk->under_way[REQUEST_FILL] && !walk->open->len;

	if (walk->under_way[REQUEST_FINISH] >= MAX_FINISHING)
		return NULL;
	if (!g_queue_is_empty(&walk->to_finish))
		return g_queue_pop_head(&walk->to_finish);
	if (idle)
		return g_queue_pop_head(&walk->settling);

	struct node *node = g_queue_peek_head(&walk->settling);
	if (!node)
		return NULL;
	if (node->due <= walk->now)
		return g_queue_pop_head(&walk->settling);
	*soonest = MIN(*soonest, node->due);
	return NULL;
}

int walk_step(struct walk *walk, unsigned window, int64_t now)
{
	int64_t soonest = INT64_MAX;

	walk->now = now;
	for (unsigned i = 0; i < STEPS; i++) {
		struct node *node = g_queue_pop_head(&walk->answered);

		if (node)
			take_up(node);
		else if (!window)
			return -1;
		else if ((node = due_again(walk, window, &soonest)))
			request_node(node, node->request);
		else if ((node = to_finish(walk, &soonest)))
			request_node(node, REQUEST_FINISH);
		else if (!has_room(walk, REQUEST_FILL, window) || !descend(walk))
			return soonest == INT64_MAX ? -1 : (int)MIN(soonest - now, INT32_MAX);
	}
	return 0;
}

/* ---- passes ---------------------------------------------------------------------------------- */

int walk_new(int root_fd, const struct walk_ops *ops, void *arg, struct walk **out)
{
	struct directory_scope scope;
	int error = directory_scope_get(root_fd, &scope);

	*out = NULL;
	if (error)
		return error;
	struct walk *walk = g_new0(struct walk, 1);
	walk->ops = ops;
	walk->arg = arg;
	walk->root_fd = root_fd;
	walk->scope = scope;
	walk->root_done = true;
	walk->open = g_ptr_array_new();
	walk->active = g_hash_table_new_full(node_hash, node_equal, node_free, NULL);
	*out = walk;
	return 0;
}

static void forget_node(struct walk *walk)
{
	g_ptr_array_set_size(walk->open, 0);
	g_queue_clear(&walk->answered);
	g_queue_clear(&walk->to_finish);
	g_queue_clear(&walk->settling);
	for (unsigned i = 0; i < POLICY_ATTEMPTS; i++)
		g_queue_clear(&walk->again[i]);
	g_hash_table_remove_all(walk->active);
	walk->waiting = 0;
}

void walk_free(struct walk *walk)
{
	forget_node(walk);
	g_ptr_array_free(walk->open, TRUE);
	g_hash_table_destroy(walk->active);
	g_free(walk);
}

void walk_begin(struct walk *walk, unsigned flags)
{
	struct directory_handle handle;

	forget_node(walk);
	walk->counts = (struct walk_counts){0};
	walk->flags = flags;
	walk->root_done = false;
	if (directory_handle_get(walk->root_fd, &handle)) {
		walk->root_done = true;
		walk->counts.left++;
		return;
	}
	visit(walk, NULL, &handle);
}

bool walk_over(const struct walk *walk)
{
	return walk->root_done;
}

const struct walk_counts *walk_counts(const struct walk *walk)
{
	return &walk->counts;
}

/* ---- the retriever --------------------------------------------------------------------------- */

static int load_state(int fd, enum migrate_state *state)
{
	struct migrate_stub stub;
	int error = migrate_stub_load(fd, &stub);

	*state = stub.state;
	migrate_stub_clear(&stub);
	return error;
}

static uint64_t ask_fill(void *arg, int fd, unsigned flags, migrate_done_fn done, void *done_arg)
{
	return migrate_fill_directory(arg, fd, flags, done, done_arg);
}

static uint64_t ask_finish(void *arg, int fd, migrate_done_fn done, void *done_arg)
{
	return migrate_finish_directory(arg, fd, done, done_arg);
}

const struct walk_ops walk_retriever = {
	.load = load_state,
	.fill = ask_fill,
	.finish = ask_finish,
};
