/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/data/place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "retriever/objects/source_path.h"

struct places {
	GRWLock lock;  /* the shape of "unfinished upwards" (I5): finishing and placing directories
			*/
	gint open;     /* PLACE brackets, atomic */
	gint placings; /* so far; atomic */
};

struct places *places_new(void)
{
	struct places *places = g_new0(struct places, 1);

	g_rw_lock_init(&places->lock);
	return places;
}

void places_free(struct places *places)
{
	if (!places)
		return;
	g_rw_lock_clear(&places->lock);
	g_free(places);
}

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
	/* else a power cut may leave what is moved there, and no record above it; nor may the next
	 * one find a record that is not durable */
	if (!capabilities_has(&retriever->capabilities, CAPABILITY_ORDER) && fsync(fd) < 0) {
		ret = -errno;
		if (migrate_record_drop(fd) == 0)
			return ret;
	}
	COUNT_ADD(retriever, directories_whole, -1);
	return ret;
}

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC)

/* Loads the new record of a directory that is in memory as normal. */
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

static void release_place(gpointer held)
{
	close(*(int *)held);
}

/* Holds the directories, so that they are not moved.  0, or -EAGAIN: one is being moved now. */
static int hold_chain(struct retriever *retriever, const GArray *chain, GArray *held)
{
	for (guint i = 0; i < chain->len; i++) {
		int fd = retriever_open_binding(retriever,
						&g_array_index(chain, struct migrate_binding, i),
						O_RDONLY | O_DIRECTORY);
		int hold;

		if (fd < 0)
			return fd == -ESTALE ? -EAGAIN : fd;
		hold = migrate_lock_directory(fd, MIGRATE_HOLD_SHARED, NULL);
		close(fd);
		if (hold < 0)
			return hold;
		g_array_append_val(held, hold);
	}
	return 0;
}

/* Marks the directories from the top down, so that a crash in between leaves no unfinished
 * directory below a normal one. */
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

	g_array_set_clear_func(held, release_place);
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

static int mark(struct retriever *retriever, int dir_fd, gint open)
{
	struct places *places = retriever->places;
	int ret;

	g_rw_lock_writer_lock(&places->lock);
	ret = mark_ancestors(retriever, dir_fd);
	if (ret >= 0) {
		g_atomic_int_add(&places->open, open);
		g_atomic_int_inc(&places->placings);
	}
	g_rw_lock_writer_unlock(&places->lock);
	return ret;
}

int place_found(struct retriever *retriever, int dir_fd)
{
	return mark(retriever, dir_fd, 0);
}

int place_new(struct retriever *retriever, int dir_fd)
{
	return MIN(mark(retriever, dir_fd, 1), 0);
}

int place_begin(struct object *object, int dir_fd)
{
	g_autofree char *path = NULL;
	int ret;

	if (dir_fd < 0)
		return -EINVAL;
	path = source_path_of(object);
	ret = mark(object->retriever, dir_fd, 1);
	if (ret < 0)
		return ret;
	g_mutex_lock(&object->lock);
	if (!object->normal && !object->record.path && path &&
	    strlen(path) <= MIGRATE_REC_MAX_PATH) {
		object->record.path = g_steal_pointer(&path);
		object_store(object);
	}
	g_mutex_unlock(&object->lock);
	return 0;
}

void place_end(struct retriever *retriever)
{
	g_atomic_int_add(&retriever->places->open, -1);
}

gint places_so_far(struct retriever *retriever)
{
	return g_atomic_int_get(&retriever->places->placings);
}

bool places_open(struct retriever *retriever)
{
	return g_atomic_int_get(&retriever->places->open) > 0;
}

void places_lock(struct retriever *retriever)
{
	g_rw_lock_writer_lock(&retriever->places->lock);
}

void places_unlock(struct retriever *retriever)
{
	g_rw_lock_writer_unlock(&retriever->places->lock);
}
