/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "durability.h"
#include "volume/errors.h"
#include "refind.h"
#include "door/server.h"
#include "volume/jobs.h"

#define ROUNDS_MAX 3

static gint placings;

/* A normal directory becomes unfinished again. */
static int mark_returned(struct retriever *retriever, int fd)
{
	struct migrate_record rec = {.state = MIGRATE_FILLED, .flags = MIGRATE_REC_RETURNED};
	struct timespec times[2];
	struct stat st;
	int ret = migrate_binding_get(fd, "", &rec.binding);

	if (ret)
		return ret;
	if (fstat(fd, &st) < 0)
		return -errno;
	rec.fileid = st.st_ino;
	rec.mtime = migrate_ns(st.st_mtim);
	rec.ctime = migrate_ns(st.st_ctim);
	ret = migrate_record_store(fd, &rec);
	if (ret)
		return ret;
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	futimens(fd, times);
	COUNT_ADD(retriever, directories_whole, -1);
	return 0;
}

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC)

/* One in memory still says normal. */
static void reload(struct retriever *retriever, int fd)
{
	struct object *object;

	if (object_get(retriever, fd, &object) < 0)
		return;
	g_mutex_lock(&object->lock);
	if (object->normal) {
		migrate_record_clear(&object->record);
		if (object->fd < 0)
			object->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		object->normal = object->fd < 0 || migrate_record_load(fd, &object->record) <= 0;
	}
	g_mutex_unlock(&object->lock);
	object_unref(object);
}

/* The directories from dir_fd up to the first that is unfinished, or the root. */
static int normal_ancestors(struct retriever *retriever, int dir_fd, GArray *chain)
{
	int fd = openat(dir_fd, ".", OPEN_DIR), ret = 0;

	while (fd >= 0 && !migrate_has_record(fd)) {
		struct migrate_binding key;
		int up;

		ret = migrate_binding_get(fd, "", &key);
		if (ret)
			break;
		if (chain->len &&
		    migrate_binding_equal(
			    &key, &g_array_index(chain, struct migrate_binding, chain->len - 1))) {
			ret = -EXDEV; /* the machine's root: the directory is not of this volume */
			break;
		}
		g_array_append_val(chain, key);
		if (migrate_binding_equal(&key, &retriever->root_key))
			break;
		up = openat(fd, "..", OPEN_DIR);
		close(fd);
		fd = up;
	}
	if (fd < 0)
		return -errno;
	close(fd);
	return ret;
}

static void release(gpointer held)
{
	close(*(int *)held);
}

/* So that none of them is moved. 0, or -EAGAIN: one is being moved now. */
static int hold_chain(struct retriever *retriever, const GArray *chain, GArray *held)
{
	for (guint i = 0; i < chain->len; i++) {
		int fd = retriever_open_binding(retriever,
						&g_array_index(chain, struct migrate_binding, i),
						O_RDONLY | O_DIRECTORY);
		int hold;

		if (fd < 0)
			return errno == ESTALE ? -EAGAIN : -errno;
		hold = migrate_hold(fd, MIGRATE_HOLD_SHARED, NULL);
		close(fd);
		if (hold < 0)
			return hold;
		g_array_append_val(held, hold);
	}
	return 0;
}

/* From the top down: a crash in between leaves nothing unfinished below something normal. */
static int mark_held(struct retriever *retriever, const GArray *held)
{
	int ret = 0;

	for (guint i = held->len; !ret && i-- > 0;) {
		int fd = g_array_index(held, int, i);

		ret = mark_returned(retriever, fd);
		if (!ret)
			reload(retriever, fd);
	}
	return ret;
}

static bool same_chain(const GArray *a, const GArray *b)
{
	for (guint i = 0; i < a->len && i < b->len; i++)
		if (!migrate_binding_equal(&g_array_index(a, struct migrate_binding, i),
					   &g_array_index(b, struct migrate_binding, i)))
			return false;
	return a->len == b->len;
}

/*
 * Tree lock held.  The number of directories that were normal, or -errno; -EAGAIN: one of them is
 * being moved.  They are held before they are believed to be above dir_fd.
 */
static int mark_ancestors(struct retriever *retriever, int dir_fd)
{
	g_autoptr(GArray) chain = g_array_new(FALSE, FALSE, sizeof(struct migrate_binding));
	g_autoptr(GArray) again = g_array_new(FALSE, FALSE, sizeof(struct migrate_binding));
	g_autoptr(GArray) held = g_array_new(FALSE, FALSE, sizeof(int));
	int ret = normal_ancestors(retriever, dir_fd, chain);

	g_array_set_clear_func(held, release);
	if (ret || chain->len == 0)
		return ret;
	ret = hold_chain(retriever, chain, held);
	if (!ret)
		ret = normal_ancestors(retriever, dir_fd, again);
	if (!ret && !same_chain(chain, again))
		ret = -EAGAIN;
	if (!ret)
		ret = mark_held(retriever, held);
	return ret ? ret : (int)held->len;
}

struct told {
	void (*fn)(void *arg);
	void *arg;
};

static guint telling; /* notices that not every door has confirmed; main thread */

static void all_told(void *arg)
{
	struct told told = *(struct told *)arg;

	g_free(arg);
	telling--;
	told.fn(told.arg);
}

int place_begin(struct object *object, int dir_fd, void (*told)(void *arg), void *arg)
{
	struct retriever *retriever = object->retriever;
	g_autofree char *path = NULL;
	int ret;

	if (dir_fd < 0)
		return -EINVAL;
	path = refind_source_path(object);
	g_rw_lock_writer_lock(&retriever->tree_lock);
	ret = mark_ancestors(retriever, dir_fd);
	if (ret >= 0) {
		g_atomic_int_inc(&retriever->places);
		g_atomic_int_inc(&placings);
	}
	g_rw_lock_writer_unlock(&retriever->tree_lock);
	if (ret < 0)
		return ret;
	g_mutex_lock(&object->lock);
	if (!object->normal && !object->record.path && path &&
	    strlen(path) <= MIGRATE_REC_MAX_PATH) {
		object->record.path = g_steal_pointer(&path);
		object_store(object);
	}
	g_mutex_unlock(&object->lock);
	/* what another bracket has marked, its doors may not know yet */
	if (ret == 0 && !telling)
		return 0;
	telling++;
	server_tell_placed(retriever->server, all_told,
			   g_memdup2(&(struct told){told, arg}, sizeof(struct told)));
	return 1;
}

void place_end(struct retriever *retriever)
{
	g_atomic_int_add(&retriever->places, -1);
}

/* ---- finishing ---- */

struct finish {
	struct object *directory; /* referenced */
	object_done_fn done;
	void *arg;
	unsigned rounds;
};

enum left { NOTHING, SYNCING, FAILED, SOMETHING };

/* What keeps this entry from being normal. */
static enum left look_at(struct retriever *retriever, int dir_fd, const struct dirent *e)
{
	struct object *object;
	enum left left = SOMETHING;
	int ret, fd = openat(dir_fd, e->d_name,
			     O_RDONLY | O_NOFOLLOW | O_NOATIME | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ENXIO || errno == ELOOP ? NOTHING : SOMETHING;
	if (migrate_has_record(fd) == 0) {
		left = NOTHING;
	} else if ((ret = object_get(retriever, fd, &object)) < 0) {
		left = ret == -EBADMSG ? FAILED : SOMETHING;
	} else {
		g_mutex_lock(&object->lock);
		if (object->normal)
			left = NOTHING;
		else if (!object->is_dir && object_has(object, 0, INT64_MAX))
			left = SYNCING;
		else if (object->record.error)
			left = FAILED;
		g_mutex_unlock(&object->lock);
		if (left == SYNCING)
			durability_queue(object, 0);
		object_unref(object);
	}
	close(fd);
	return left;
}

/* *syncing: whether some of it need only become durable. */
static enum left scan(struct object *directory, bool *syncing)
{
	bool root = migrate_binding_equal(&directory->key, &directory->retriever->root_key);
	int fd = openat(directory->fd, ".", OPEN_DIR);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	enum left left = NOTHING;
	struct dirent *e;

	if (!dir)
		return SOMETHING;
	while (left != SOMETHING && (errno = 0, e = readdir(dir))) {
		enum left this;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    (root && !strcmp(e->d_name, MIGRATE_PRIVATE_DIR)) ||
		    (e->d_type != DT_REG && e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		this = look_at(directory->retriever, fd, e);
		*syncing |= this == SYNCING;
		if (this > left)
			left = this;
	}
	if (!e && errno)
		left = SOMETHING;
	closedir(dir);
	return left;
}

/* Object lock and tree lock held.  A filled directory's times are the inode's, and removing the
 * record does not move its mtime. */
static int drop(struct object *directory)
{
	struct retriever *retriever = directory->retriever;
	int held, ret;

	if (directory->normal)
		return 0;
	if (directory->record.state != MIGRATE_FILLED)
		return -EAGAIN;
	held = migrate_hold(directory->fd, MIGRATE_HOLD_ALONE, NULL);
	if (held < 0)
		return -EAGAIN;
	ret = migrate_record_drop(directory->fd);
	close(held);
	if (ret)
		return ret;
	directory->normal = true;
	COUNT_ADD(retriever, directories_whole, 1);
	if (migrate_binding_equal(&directory->key, &retriever->root_key)) {
		/* all is whole: what clients removed while it was a stub is not counted any more */
		COUNT_SET(retriever, files_found, COUNT_GET(retriever, files_whole));
		COUNT_SET(retriever, bytes_found, COUNT_GET(retriever, bytes_whole));
		COUNT_SET(retriever, directories_found, COUNT_GET(retriever, directories_whole));
		COUNT_SET(retriever, unfilled, 0);
		g_ptr_array_unref(errors_take(retriever->errors));
	}
	return 0;
}

static void finish_again(void *arg);

static void round_over(void *arg, int status)
{
	struct finish *finish = arg;

	jobs_run(finish->directory->retriever->jobs, JOB_BACKGROUND, finish_again, finish);
}

/*
 * Whether a door that was let place something by a retriever that is dead may do so any time: it
 * may be through with that, and let go, before the entries are looked at.  Who comes later is
 * counted by `placings`.
 */
static bool is_held(struct object *directory)
{
	int held;

	g_mutex_lock(&directory->lock); /* reload() may be opening it */
	held = migrate_hold(directory->fd, MIGRATE_HOLD_ALONE, NULL);
	g_mutex_unlock(&directory->lock);
	if (held >= 0)
		close(held);
	return held < 0;
}

static void finish_again(void *arg)
{
	struct finish *finish = arg;
	struct object *directory = finish->directory;
	struct retriever *retriever = directory->retriever;
	gint before = g_atomic_int_get(&placings);
	bool syncing = false;
	enum left left = g_atomic_int_get(&retriever->places) || is_held(directory)
				 ? SOMETHING
				 : scan(directory, &syncing);
	int ret = left == FAILED ? -EREMOTEIO : -EAGAIN;

	if (left != SOMETHING && syncing && finish->rounds++ < ROUNDS_MAX) {
		durability_after_round(retriever, round_over, finish);
		return;
	}
	if (left == NOTHING) {
		g_rw_lock_writer_lock(&retriever->tree_lock);
		g_mutex_lock(&directory->lock);
		if (g_atomic_int_get(&placings) == before && !g_atomic_int_get(&retriever->places))
			ret = drop(directory);
		g_mutex_unlock(&directory->lock);
		g_rw_lock_writer_unlock(&retriever->tree_lock);
	}
	finish->done(finish->arg, ret);
	object_unref(directory);
	g_slice_free(struct finish, finish);
}

void place_finish(struct object *directory, object_done_fn done, void *arg)
{
	struct finish *finish = g_slice_new0(struct finish);

	finish->directory = object_ref(directory);
	finish->done = done;
	finish->arg = arg;
	jobs_run(directory->retriever->jobs, JOB_BACKGROUND, finish_again, finish);
}
