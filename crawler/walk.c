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
#include <linux/openat2.h>
#include <string.h>
#include <unistd.h>

#include "crawler/directory.h"
#include "crawler/paths.h"
#include "crawler/policy.h"

/* Steps of local work, and files whose times are looked at, after which walk_step() returns, so
 * that the caller looks at its descriptors. */
#define STEPS  256
#define LOOKED 4096
/* Requests to finish, and for single files, that are under way at a time; the window is for fills.
 */
#define MAX_FINISHING 64
#define MAX_FETCHING  128
/*
 * The retriever makes fetched data durable in groups, about once a second.  To finish a directory
 * earlier it would have to make a group for that directory alone; so a directory waits this long
 * after its fill, unless there is nothing else to do.
 */
#define SETTLE_MS 1500
/* Of so many files, and where more than 7 of 8 were read lately, reads tell nothing. */
#define READS_TELL_MIN 1000
/* Directories that wait for another request; further ones are left to the next pass. */
#define MAX_WAITING 65536

enum request { REQUEST_FILL, REQUEST_FINISH, REQUEST_FETCH };

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
	bool recent;	 /* its recent files' data were asked for */
	bool partly; /* only `paths` are to be brought; else they lead to it, or there are none */
	struct paths_part paths;
};

/* A file of the walk's paths, or the recent files of a directory. */
struct file {
	struct node *node; /* of its directory */
	int fd;
	struct paths_part paths;
	enum request request;
};

struct walk {
	const struct walk_ops *ops;
	void *arg;
	int root_fd;
	struct directory_scope scope;
	unsigned flags;	  /* of this pass */
	int64_t since;	  /* as well */
	bool only_recent; /* walk_begin_recent(): of `ages` */
	struct directory_ages ages;
	const GPtrArray *paths; /* NULL: all */
	walk_path_fn path_done;
	void *path_arg;
	bool root_done;
	unsigned under_way[3]; /* by enum request */
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

static bool brings_data(const struct walk *walk)
{
	return walk->flags & MIGRATE_DATA;
}

static bool finishes(const struct walk *walk)
{
	return brings_data(walk) && !walk->paths;
}

static bool reads_tell(const struct directory_ages *ages)
{
	return ages->files < READS_TELL_MIN || ages->read / 7 <= ages->files / 8;
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
	return node->partly ? node->paths.first < node->paths.end
			    : node->list.packed || !node->read;
}

static void want_finish(struct node *node)
{
	struct walk *walk = node->walk;

	g_queue_push_tail(node->due > walk->now ? &walk->settling : &walk->to_finish, node);
}

static void tell(const struct walk *walk, const struct paths_part *paths, int status)
{
	if (paths->first < paths->end)
		walk->path_done(walk->path_arg,
				(const char *const *)&walk->paths->pdata[paths->first],
				paths->end - paths->first, status);
}

/* The directory is done, and perhaps so are directories above it that only waited for it. */
static void node_done(struct node *node)
{
	struct walk *walk = node->walk;

	while (node) {
		struct node *parent = node->parent;

		if (node->left)
			walk->counts.left++;
		/* a part that was not begun: the directory is gone, or could not be read */
		tell(walk, &node->paths,
		     node->partly ? (node->status ? node->status : -ENOENT)
		     : node->left ? -EREMOTEIO
				  : 0);
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
	node->status = error;
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
		id = walk->ops->fill(walk->arg, node->fd,
				     MIGRATE_BACKGROUND |
					     (walk->flags & ~(node->partly ? MIGRATE_DATA : 0u)),
				     walk->since, request_done_node, node);
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

static void file_end(struct file *file, int status)
{
	struct node *node = file->node;

	tell(node->walk, &file->paths, status);
	close(file->fd);
	g_free(file);
	node->pending--;
}

static void file_brought(void *arg, int status)
{
	struct file *file = arg;
	struct node *node = file->node;

	node->walk->under_way[file->request]--;
	file_end(file, status);
	if (!has_more(node))
		queue_next_step(node);
}

/* Takes the node's descriptor.  What fails is asked for again when all data are. */
static void bring_recent(struct node *node)
{
	struct walk *walk = node->walk;
	struct file *file = g_new(struct file, 1);
	const unsigned reads = reads_tell(&walk->ages) ? MIGRATE_READS : 0;

	*file = (struct file){.node = node, .fd = node->fd, .request = REQUEST_FILL};
	node->fd = -1;
	node->recent = true;
	node->pending++;
	if (walk->ops->fill(walk->arg, file->fd, MIGRATE_BACKGROUND | MIGRATE_DATA | reads,
			    walk->since, file_brought, file))
		walk->under_way[REQUEST_FILL]++;
	else
		file_end(file, -errno);
}

static void read_on(struct node *node)
{
	struct walk *walk = node->walk;
	int error = node->partly ? 0 : node_open(node);

	walk->ages.recent = false;
	walk->ages.by_reads = reads_tell(&walk->ages);
	if (!error && !node->partly)
		error = directory_read(node->fd, &walk->scope, &node->position, &node->read,
				       &node->list, walk->only_recent ? &walk->ages : NULL);
	if (!error && walk->ages.recent && !node->recent)
		bring_recent(node);
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

/* whole: the paths lead to it; otherwise, if there are any, they lead on. */
static void visit(struct walk *walk, struct node *parent, const struct directory_handle *handle,
		  struct paths_part paths, bool whole)
{
	enum migrate_state state;
	struct node key = {.handle = (struct directory_handle *)handle};

	/* The directory was moved while this walk was in it: it is under way already. */
	if (g_hash_table_contains(walk->active, &key)) {
		tell(walk, &paths, -EAGAIN);
		return;
	}

	struct node *node = node_new(walk, parent, handle);
	node->paths = paths;
	node->partly = walk->paths && !whole;
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
	if (state == MIGRATE_NORMAL && !node->partly) {
		walk->counts.pruned++;
		node_done(node);
		return;
	}
	walk->counts.visited++;
	node->unfilled = state != MIGRATE_FILLED && state != MIGRATE_NORMAL;
	if ((brings_data(walk) && !node->partly) || node->unfilled)
		request_node(node, REQUEST_FILL);
	else
		read_on(node);
}

/* What has the last name of a path and is no directory; takes fd. */
static void begin_file(struct node *node, int fd, const struct paths_part *paths)
{
	struct walk *walk = node->walk;
	struct file *file = g_new(struct file, 1);
	struct migrate_stub stub;
	int status = migrate_stub_load(fd, &stub);

	*file = (struct file){node, fd, *paths, REQUEST_FETCH};
	node->pending++;
	const bool old = walk->since && stub.version.mtime < walk->since;
	if (status || stub.state == MIGRATE_NORMAL || !brings_data(walk) || old)
		file_end(file, status);
	else if (walk->ops->fetch(walk->arg, fd, MIGRATE_BACKGROUND | MIGRATE_FIRST, file_brought,
				  file))
		walk->under_way[REQUEST_FETCH]++;
	else
		file_end(file, -errno);
	migrate_stub_clear(&stub);
}

/* Paths that lead on from what is no directory fail.  Whether others are left. */
static bool refuse_deeper(const struct walk *walk, struct paths_part *paths, int error)
{
	struct paths_part deeper = *paths;

	while (deeper.first < deeper.end &&
	       strlen(walk->paths->pdata[deeper.first]) < paths->prefix)
		deeper.first++;
	tell(walk, &deeper, error);
	paths->end = deeper.first;
	return paths->first < paths->end;
}

/* Begins with the next name of a directory's paths. */
static void begin_path(struct node *node)
{
	struct directory_handle handle;
	struct paths_part paths;
	g_autofree char *name = NULL;
	struct stat st;
	bool whole;

	paths_take(node->walk->paths, &node->paths, &name, &paths, &whole);
	int fd = node_open(node);
	if (!fd)
		fd = migrate_open_below(node->fd, name, O_PATH | O_NOFOLLOW,
					RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	node_close(node);
	int error = fd < 0 ? fd : fstat(fd, &st) ? -errno : 0;
	if (!error && S_ISDIR(st.st_mode))
		error = directory_handle_get(fd, &handle);
	else if (!error)
		whole = refuse_deeper(node->walk, &paths, S_ISLNK(st.st_mode) ? -ELOOP : -ENOTDIR);
	if (error == -ENOENT && node->status)
		error = node->status; /* the directory's names could not all be brought */
	if (error)
		tell(node->walk, &paths, error);
	else if (S_ISDIR(st.st_mode))
		visit(node->walk, node, &handle, paths, whole);
	else if (whole)
		begin_file(node, fd, &paths);
	if (fd >= 0 && (error || !whole || S_ISDIR(st.st_mode)))
		close(fd);
}

/* Begins the next subdirectory of the directory that was opened last. */
static bool descend(struct walk *walk)
{
	struct directory_handle handle;

	if (!walk->open->len)
		return false;

	struct node *node = walk->open->pdata[walk->open->len - 1];
	bool taken = directory_list_take(&node->list, &handle);
	if (node->partly || !node->list.packed)
		g_ptr_array_set_size(walk->open, (gint)walk->open->len - 1);
	/* visit() may finish the node; it must know before that there is more to come. */
	node->pending++;
	if (node->partly)
		begin_path(node);
	else if (taken)
		visit(walk, node, &handle, (struct paths_part){0}, true);
	node->pending--;
	if (!node->partly && !node->list.packed && !node->read)
		read_on(node);
	else if (node->partly || !has_more(node))
		queue_next_step(node);
	return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool has_room(const struct walk *walk, enum request request, unsigned window)
{
	const unsigned most[] = {window, MAX_FINISHING, MAX_FETCHING};

	return walk->under_way[request] < most[request];
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
	const uint64_t most = walk->ages.files + LOOKED;
	int64_t soonest = INT64_MAX;

	walk->now = now;
	for (unsigned i = 0; i < STEPS && walk->ages.files < most; i++) {
		struct node *node = g_queue_pop_head(&walk->answered);

		if (node)
			take_up(node);
		else if (!window)
			return -1;
		else if ((node = due_again(walk, window, &soonest)))
			request_node(node, node->request);
		else if ((node = to_finish(walk, &soonest)))
			request_node(node, REQUEST_FINISH);
		else if (!has_room(walk, REQUEST_FILL, window) ||
			 !has_room(walk, REQUEST_FETCH, window) || !descend(walk))
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

/* since: nanoseconds; paths: NULL, or what alone is brought. */
static void begin_pass(struct walk *walk, unsigned flags, int64_t since, const GPtrArray *paths)
{
	const struct paths_part all = {0, paths ? paths->len : 0, 0};
	struct directory_handle handle;

	forget_node(walk);
	walk->counts = (struct walk_counts){0};
	walk->flags = flags;
	walk->since = since;
	walk->paths = paths;
	walk->root_done = false;
	if (directory_handle_get(walk->root_fd, &handle)) {
		walk->root_done = true;
		walk->counts.left++;
		return;
	}
	visit(walk, NULL, &handle, all, !paths || !*(const char *)paths->pdata[0]);
}

void walk_begin(struct walk *walk, unsigned flags)
{
	walk->only_recent = false;
	begin_pass(walk, flags, 0, NULL);
}

void walk_begin_recent(struct walk *walk, int64_t since, int64_t now_s)
{
	walk->only_recent = true;
	walk->ages = (struct directory_ages){.since = since, .until = now_s};
	begin_pass(walk, 0, since * 1000000000, NULL);
}

int64_t walk_left_out(const struct walk *walk)
{
	return walk->ages.before;
}

void walk_begin_paths(struct walk *walk, unsigned flags, int64_t since, const GPtrArray *paths,
		      walk_path_fn done, void *arg)
{
	walk->path_done = done;
	walk->path_arg = arg;
	begin_pass(walk, flags, since, paths);
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

static uint64_t ask_fill(void *arg, int fd, unsigned flags, int64_t since, migrate_done_fn done,
			 void *done_arg)
{
	return migrate_fill_since(arg, fd, flags, since, done, done_arg);
}

static uint64_t ask_finish(void *arg, int fd, migrate_done_fn done, void *done_arg)
{
	return migrate_finish_directory(arg, fd, done, done_arg);
}

static uint64_t ask_fetch(void *arg, int fd, unsigned flags, migrate_done_fn done, void *done_arg)
{
	return migrate_fetch_range(arg, fd, 0, UINT64_MAX, flags, done, done_arg);
}

const struct walk_ops walk_retriever = {
	.load = load_state,
	.fetch = ask_fetch,
	.fill = ask_fill,
	.finish = ask_finish,
};
