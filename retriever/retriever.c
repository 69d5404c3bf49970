/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume/retriever.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "source/posix_acl.h"
#include "source/acl_source.h"
#include "ways/durability.h"
#include "volume/errors.h"
#include "source/gate.h"
#include "volume/object.h"
#include "ways/prefill.h"
#include "volume/rates.h"
#include "volume/report.h"
#include "door/server.h"
#include "volume/stub.h"
#include "volume/templates.h"
#include "source/thread.h"
#include "ways/volume.h"

#define WORKERS	 4 /* of each kind */
#define FLUSHERS 8
#define FINDERS	 4

#define ROOT_HOLD_S 1

struct job {
	struct retriever *retriever;
	void (*fn)(void *arg);
	void *arg;
	bool background;
};

static void run_job(gpointer data, gpointer user)
{
	struct job *job = data;
	struct retriever *retriever = job->retriever;

	thread_background(job->background); /* the pools share their threads */
	job->fn(job->arg);
	g_slice_free(struct job, job);
	g_mutex_lock(&retriever->jobs_lock);
	if (--retriever->jobs == 0)
		g_cond_broadcast(&retriever->jobs_done);
	g_mutex_unlock(&retriever->jobs_lock);
}

static void push(struct retriever *retriever, GThreadPool *pool, void (*fn)(void *arg), void *arg)
{
	struct job *job = g_slice_new(struct job);

	job->retriever = retriever;
	job->fn = fn;
	job->arg = arg;
	job->background = pool == retriever->workers || pool == retriever->slow;
	g_mutex_lock(&retriever->jobs_lock);
	retriever->jobs++;
	g_mutex_unlock(&retriever->jobs_lock);
	g_thread_pool_push(pool, job, NULL);
}

/* Jobs start jobs; the counter is zero when none can start one any more. */
static void wait_for_jobs(struct retriever *retriever)
{
	g_mutex_lock(&retriever->jobs_lock);
	while (retriever->jobs)
		g_cond_wait(&retriever->jobs_done, &retriever->jobs_lock);
	g_mutex_unlock(&retriever->jobs_lock);
}

void retriever_run(struct retriever *retriever, void (*fn)(void *arg), void *arg)
{
	push(retriever, retriever->workers, fn, arg);
}

void retriever_run_demand(struct retriever *retriever, void (*fn)(void *arg), void *arg)
{
	push(retriever, retriever->demand, fn, arg);
}

void retriever_run_flush(struct retriever *retriever, void (*fn)(void *arg), void *arg)
{
	push(retriever, retriever->flushers, fn, arg);
}

void retriever_run_find(struct retriever *retriever, void (*fn)(void *arg), void *arg)
{
	push(retriever, retriever->finders, fn, arg);
}

void retriever_run_slow(struct retriever *retriever, void (*fn)(void *arg), void *arg)
{
	push(retriever, retriever->slow, fn, arg);
}

char *retriever_fd_path(int fd)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
	char *path = g_file_read_link(link, NULL);

	return path ? path : g_strdup("?");
}

int retriever_save(int dir_fd, const char *name, const char *text, size_t len)
{
	g_autofree char *new = g_strconcat(name, ".new", NULL);
	int fd = openat(dir_fd, new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int ret = fd < 0 ? -errno : 0;

	if (!ret && write(fd, text, len) != (ssize_t)len)
		ret = -EIO;
	if (!ret && fdatasync(fd) < 0)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	if (!ret && renameat(dir_fd, new, dir_fd, name) < 0)
		ret = -errno;
	return ret;
}

int retriever_open_binding(struct retriever *retriever, const struct migrate_binding *binding,
			   int flags)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MIGRATE_BINDING_MAX];
	} u;

	u.handle.handle_bytes = binding->len;
	u.handle.handle_type = binding->type;
	memcpy(u.handle.f_handle, binding->bytes, binding->len);
	return open_by_handle_at(retriever->root_fd, &u.handle, flags | O_CLOEXEC | O_NOATIME);
}

struct call {
	GMutex lock;
	GCond cond;
	bool done;
};

static void call_done(struct backend_request *req)
{
	struct call *call = req->user;

	g_mutex_lock(&call->lock);
	call->done = true;
	g_cond_signal(&call->cond);
	g_mutex_unlock(&call->lock);
}

int backend_call(struct retriever *retriever, struct backend_request *req)
{
	struct call call = {.done = false};

	g_mutex_init(&call.lock);
	g_cond_init(&call.cond);
	req->done = call_done;
	req->user = &call;
	gate_submit(retriever->gate, req);
	g_mutex_lock(&call.lock);
	while (!call.done)
		g_cond_wait(&call.cond, &call.lock);
	g_mutex_unlock(&call.lock);
	g_mutex_clear(&call.lock);
	g_cond_clear(&call.cond);
	return req->status;
}

/* mode: to make it with, where it is not there; 0: not. */
static int open_subdirectory(int dir, const char *name, mode_t mode)
{
	int fd;

	if (mode && mkdirat(dir, name, mode) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0) /* what is made in it must not inherit what it inherited */
		fremovexattr(fd, XATTR_ACL_DEFAULT);
	return fd < 0 ? -errno : fd;
}

/*
 * .migrate/, locked, or -errno.  One without the mark is a client's, -ENOENT, unless it is to be
 * made: then no client could make one.
 */
static int lock_private(const struct retriever *retriever, bool create)
{
	struct stat st;
	int fd, ret = 0;

	if (!create && !migrate_has_private(retriever->root_fd))
		return -ENOENT;
	fd = open_subdirectory(retriever->root_fd, MIGRATE_PRIVATE_DIR,
			       create ? VOLUME_ATTACHING : 0);
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		ret = -EBUSY;
	else if (fstat(fd, &st) < 0 || !st.st_nlink) /* who held it finalized the volume */
		ret = -ENOENT;
	else if (!migrate_private_is_marked(fd))
		ret = create ? migrate_private_mark(fd) : -ENOENT;
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

int retriever_open_private(struct retriever *retriever, bool create)
{
	int fd, links, staging;

	if (retriever->private_fd >= 0) /* an attach was cut short */
		return 0;
	fd = lock_private(retriever, create);
	if (fd < 0)
		return fd;
	links = open_subdirectory(fd, "links", 0700);
	staging = open_subdirectory(fd, "staging", 0700);
	if (links < 0 || staging < 0) {
		close(fd);
		return links < 0 ? links : staging;
	}
	retriever->private_fd = fd;
	retriever->links_fd = links;
	retriever->staging_fd = staging;
	stub_clean_staging(retriever);
	stub_load_links(retriever);
	if (retriever->root_hold >= 0)
		close(retriever->root_hold);
	retriever->root_hold = -1;
	return 0;
}

static void set_busy(struct retriever *retriever, GError **error)
{
	g_set_error(error, RETRIEVER_ERROR, 0,
		    "[volume %s] root: %s: another migrate-retriever serves this volume: stop it",
		    retriever->config->name, retriever->config->root);
}

/*
 * One retriever per volume.  It locks .migrate/, and the root itself as long as there is none.
 * Doors hold the root too when something is placed there, and until the retriever answers.
 */
static int lock_root(struct retriever *retriever)
{
	struct timespec deadline;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += ROOT_HOLD_S;
	retriever->root_hold = migrate_hold(retriever->root_fd, MIGRATE_HOLD_ALONE, &deadline);
	return retriever->root_hold < 0 ? -EBUSY : retriever_open_private(retriever, false);
}

/* Without it there is no volume yet, or no more; with a record at the root it was lost: the handles
 * are found again by path. */
static bool open_private(struct retriever *retriever, GError **error)
{
	struct migrate_record rec;
	int ret = retriever_open_private(retriever, false), record;

	if (ret == -ENOENT)
		ret = lock_root(retriever);
	record = migrate_record_load(retriever->root_fd, &rec);
	if (record == 1)
		migrate_record_clear(&rec);
	if (ret == -ENOENT && record == 1)
		ret = retriever_open_private(retriever, true);
	else if (ret == -ENOENT) /* a damaged one: everything else of the volume is told so */
		ret = record == -EBADMSG ? 0 : record;
	if (!ret && record && retriever->private_fd >= 0)
		volume_attached(retriever);
	if (ret == -EBUSY)
		set_busy(retriever, error);
	else if (ret < 0)
		g_set_error(error, RETRIEVER_ERROR, 0, "[volume %s] root: %s/%s: %s",
			    retriever->config->name, retriever->config->root, MIGRATE_PRIVATE_DIR,
			    g_strerror(-ret));
	return ret >= 0;
}

static bool open_root(struct retriever *retriever, GError **error)
{
	const struct volume_config *config = retriever->config;

	retriever->root_fd = open(config->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (retriever->root_fd < 0) {
		g_set_error(error, RETRIEVER_ERROR, 0, "[volume %s] root: %s: %s: mount or make it",
			    config->name, config->root, g_strerror(errno));
		return false;
	}
	if (migrate_binding_get(retriever->root_fd, "", &retriever->root_key) < 0) {
		g_set_error(error, RETRIEVER_ERROR, 0,
			    "[volume %s] root: %s: this file system has no file handles: use ext4, "
			    "xfs or btrfs",
			    config->name, config->root);
		return false;
	}
	return open_private(retriever, error);
}

/* acl-source.  NULL with error set; then inner is closed. */
static struct backend *open_beside(const struct volume_config *config, struct backend *inner,
				   GError **error)
{
	struct backend_config backend = {
		.url = config->acl_source,
		.smb = config->smb,
		.connections = config->connections,
		.demand_connections = config->demand_connections,
	};
	const struct backend_ops *ops = backend_find(config->acl_source, error);
	struct source_object root = {0};
	struct source_attr attr;
	struct backend *windows = ops ? ops->open(&backend, &root, &attr, error) : NULL;

	source_object_clear(&root);
	if (windows)
		return backend_beside_new(inner, windows);
	inner->ops->close(inner);
	return NULL;
}

static bool open_backend(struct retriever *retriever, GError **error)
{
	const struct volume_config *config = retriever->config;
	struct backend_config backend = {
		.url = config->source,
		.smb = config->smb,
		.connections = config->connections,
		.demand_connections = config->demand_connections,
		.window = config->window,
	};
	const struct backend_ops *ops = backend_find(config->source, error);
	struct backend *inner;

	if (!ops)
		return false;
	inner = ops->open(&backend, &retriever->source_root, &retriever->source_root_attr, error);
	if (inner && config->acl_source)
		inner = open_beside(config, inner, error);
	if (!inner)
		return false;
	retriever->backend = backend_retry_new(inner);
	retriever->max_read = inner->ops->max_read(inner);
	retriever->carries = inner->ops->carries ? inner->ops->carries(inner) : 0;
	return true;
}

static void open_pools(struct retriever *retriever)
{
	retriever->workers = g_thread_pool_new(run_job, NULL, WORKERS, FALSE, NULL);
	retriever->demand = g_thread_pool_new(run_job, NULL, WORKERS, FALSE, NULL);
	retriever->flushers = g_thread_pool_new(run_job, NULL, FLUSHERS, FALSE, NULL);
	retriever->finders = g_thread_pool_new(run_job, NULL, FINDERS, FALSE, NULL);
	retriever->slow = g_thread_pool_new(run_job, NULL, 1, FALSE, NULL);
}

static void recount(void *arg)
{
	struct volume_count count;
	g_autofree char *message = NULL;

	if (volume_verify(arg, &count, &message))
		g_warning("the counters could not be rebuilt: %s", message);
	g_free(count.first);
}

struct retriever *retriever_open(struct volume_config *config, GError **error)
{
	struct retriever *retriever = g_new0(struct retriever, 1);

	retriever->config = config;
	retriever->root_fd = -1;
	retriever->private_fd = -1;
	retriever->root_hold = -1;
	retriever->links_fd = retriever->staging_fd = -1;
	g_mutex_init(&retriever->source_lock);
	g_mutex_init(&retriever->save_lock);
	g_mutex_init(&retriever->jobs_lock);
	g_cond_init(&retriever->jobs_done);
	g_mutex_init(&retriever->dummy_lock);
	g_mutex_init(&retriever->links_lock);
	retriever->link_counts = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	g_rw_lock_init(&retriever->tree_lock);
	open_pools(retriever);
	retriever->objects = object_table_new(retriever);
	retriever->loop = g_main_loop_new(NULL, FALSE);
	if (!open_root(retriever, error) || !open_backend(retriever, error))
		goto fail;
	retriever->templates = templates_new(retriever->private_fd,
					     volume_state(retriever) == VOLUME_MIGRATING, error);
	if (!retriever->templates)
		goto fail;
	volume_load_counters(retriever);
	retriever->errors = errors_new(retriever->private_fd);
	retriever->report = report_new(retriever->private_fd);
	if (volume_state(retriever) == VOLUME_MIGRATING)
		volume_report(retriever);
	retriever->durability = durability_new(retriever);
	retriever->gate = gate_new(retriever, config->bandwidth);
	retriever->prefill = prefill_new(retriever);
	retriever->rates = rates_new(retriever);
	retriever->server = server_new(retriever, error);
	if (!retriever->server)
		goto fail;
	if (retriever->private_fd >= 0 && !COUNT_GET(retriever, exact))
		retriever_run_slow(retriever, recount, retriever);
	return retriever;
fail:
	retriever_close(retriever);
	return NULL;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/*
 * From the outside in: no new requests, no new answers of the old server, then what is under way
 * locally, then what is not durable yet.
 */
void retriever_close(struct retriever *retriever)
{
	server_free(retriever->server);
	prefill_stop(retriever->prefill);
	g_atomic_int_set(&retriever->closing, 1);
	gate_close(retriever->gate);
	if (retriever->backend)
		retriever->backend->ops->close(retriever->backend);
	wait_for_jobs(retriever);
	durability_stop(retriever->durability);
	wait_for_jobs(retriever);
	g_thread_pool_free(retriever->slow, FALSE, TRUE);
	g_thread_pool_free(retriever->finders, FALSE, TRUE);
	g_thread_pool_free(retriever->workers, FALSE, TRUE);
	g_thread_pool_free(retriever->demand, FALSE, TRUE);
	g_thread_pool_free(retriever->flushers, FALSE, TRUE);
	if (retriever->rates) { /* it was open */
		errors_save(retriever->errors);
		volume_save_counters(retriever, true);
	}
	rates_free(retriever->rates);
	prefill_free(retriever->prefill);
	durability_free(retriever->durability);
	object_table_free(retriever->objects);
	gate_free(retriever->gate);
	errors_free(retriever->errors);
	report_free(retriever->report);
	templates_free(retriever->templates);
	source_object_clear(&retriever->source_root);
	close_fd(retriever->staging_fd);
	close_fd(retriever->links_fd);
	close_fd(retriever->private_fd);
	close_fd(retriever->root_hold);
	for (size_t i = 0; i < G_N_ELEMENTS(retriever->finished_fds); i++)
		if (retriever->finished_fds[i])
			close_fd(retriever->finished_fds[i]);
	close_fd(retriever->root_fd);
	g_mutex_clear(&retriever->source_lock);
	g_mutex_clear(&retriever->save_lock);
	g_mutex_clear(&retriever->jobs_lock);
	g_cond_clear(&retriever->jobs_done);
	g_mutex_clear(&retriever->dummy_lock);
	g_mutex_clear(&retriever->links_lock);
	g_hash_table_destroy(retriever->link_counts);
	g_rw_lock_clear(&retriever->tree_lock);
	g_main_loop_unref(retriever->loop);
	g_free(retriever->saved_counters);
	config_free(retriever->config);
	g_free(retriever);
}
