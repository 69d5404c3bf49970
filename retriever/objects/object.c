/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/object.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/flags.h"
#include "lib/base/text.h"
#include "retriever/objects/dirty.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/old_handles.h"
#include "retriever/objects/templates.h"

struct object_table {
	GMutex lock;
	GHashTable *objects; /* struct object, by its key */
	guint max;
};

guint object_key_hash(gconstpointer p)
{
	const struct migrate_binding *key = p;
	guint h = 2166136261u;

	for (unsigned i = 0; i < key->len; i++)
		h = (h ^ key->bytes[i]) * 16777619u;
	return h;
}

gboolean object_key_equal(gconstpointer a, gconstpointer b)
{
	return migrate_binding_equal(a, b);
}

struct object_table *object_table_new(struct retriever *retriever)
{
	struct object_table *table = g_new0(struct object_table, 1);
	struct rlimit limit;

	g_mutex_init(&table->lock);
	table->objects = g_hash_table_new(object_key_hash, object_key_equal);
	table->max = getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 768 : limit.rlim_cur / 4 * 3;
	return table;
}

void object_table_free(struct object_table *table)
{
	if (!table)
		return;
	if (g_hash_table_size(table->objects))
		g_warning(TEXT_COUNT " still in use",
			  TEXT_COUNTED(g_hash_table_size(table->objects), "objects are"));
	g_hash_table_destroy(table->objects);
	g_mutex_clear(&table->lock);
	g_free(table);
}

static const size_t sizes[] = {
	[OBJECT_OTHER] = sizeof(struct object),
	[OBJECT_FILE] = sizeof(struct file),
	[OBJECT_DIRECTORY] = sizeof(struct directory),
};

guint object_table_size(struct object_table *table)
{
	guint size;

	g_mutex_lock(&table->lock);
	size = g_hash_table_size(table->objects);
	g_mutex_unlock(&table->lock);
	return size;
}

bool object_table_is_full(struct object_table *table)
{
	return object_table_size(table) >= table->max;
}

static struct object *object_new(struct retriever *retriever, const struct migrate_binding *key,
				 enum object_kind kind)
{
	struct object *object = g_slice_alloc0(sizes[kind]);

	object->retriever = retriever;
	object->key = *key;
	object->kind = kind;
	object->refs = 1;
	object->fd = -1;
	g_mutex_init(&object->lock);
	g_cond_init(&object->loaded_cond);
	if (kind == OBJECT_FILE)
		g_mutex_init(&file_of(object)->sync_lock);
	g_queue_init(&object->waiters);
	g_queue_init(&object->turns.begins);
	g_queue_init(&object->turns.fills);
	return object;
}

void object_count_bytes(struct object *object)
{
	const struct migrate_record *rec = &object->record;
	int64_t here;

	if (object->kind != OBJECT_FILE)
		return;
	here = object->normal ? 0
			      : (int64_t)rec->size - (int64_t)migrate_extents_bytes(&rec->missing);
	here = MAX(here, 0);
	COUNT_ADD(object->retriever, bytes_partial, here - file_of(object)->counted);
	file_of(object)->counted = here;
}

static void object_free(struct object *object)
{
	object->normal = true;
	object_count_bytes(object);
	if (object->fd >= 0)
		close(object->fd);
	migrate_record_clear(&object->record);
	if (object->kind == OBJECT_FILE) {
		migrate_extents_clear(&file_of(object)->filled);
		migrate_extents_clear(&file_of(object)->zeros);
		migrate_extents_clear(&file_of(object)->inflight[0]);
		migrate_extents_clear(&file_of(object)->inflight[1]);
		g_mutex_clear(&file_of(object)->sync_lock);
	}
	if (object->kind == OBJECT_DIRECTORY) {
		g_clear_pointer(&directory_of(object)->sum, directory_of(object)->free_sum);
		g_clear_pointer(&directory_of(object)->listed, g_array_unref);
		g_clear_pointer(&directory_of(object)->left_out, g_array_unref);
		g_clear_pointer(&directory_of(object)->not_here, g_array_unref);
	}
	g_mutex_clear(&object->lock);
	g_cond_clear(&object->loaded_cond);
	g_slice_free1(sizes[object->kind], object);
}

struct object *object_ref(struct object *object)
{
	struct object_table *table = object->retriever->objects;

	g_mutex_lock(&table->lock);
	object->refs++;
	g_mutex_unlock(&table->lock);
	return object;
}

void object_unref(struct object *object)
{
	struct object_table *table = object->retriever->objects;
	bool last;

	g_mutex_lock(&table->lock);
	last = --object->refs == 0;
	if (last)
		g_hash_table_remove(table->objects, &object->key);
	g_mutex_unlock(&table->lock);
	if (last)
		object_free(object);
}

/* Through /proc, which needs neither a path nor a name, but keeps the mount. */
static int reopen_by_proc(int fd, int flags)
{
	char path[32];
	int new;

	g_snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	new = open(path, flags | O_CLOEXEC | O_NOATIME | O_NONBLOCK);
	return new < 0 ? -errno : new;
}

/*
 * The caller's descriptor may be read-only, and it is of the caller's mount: names can only be
 * linked and renamed within one mount, so the object is opened on ours.  One without a name may be
 * beyond that.
 */
static int reopen(struct object *object, int fd, int flags)
{
	struct stat a, b;
	int new = retriever_open_binding(object->retriever, &object->key, flags | O_NONBLOCK);

	if (new < 0)
		return reopen_by_proc(fd, flags);
	if (fstat(fd, &a) == 0 && fstat(new, &b) == 0 && a.st_dev == b.st_dev &&
	    a.st_ino == b.st_ino)
		return new;
	close(new); /* of another file system that hands out the same handles */
	return -EXDEV;
}

/*
 * A crash cut version_take() short: sets the size that it had not set.  Any other size was set by a
 * client, which may not have an answer yet: raising that size again would show zeros to a client
 * that has seen it.
 */
static int object_mend_size(struct object *object)
{
	struct migrate_record *rec = &object->record;

	if (!(rec->flags & MIGRATE_REC_RESIZE))
		return 0;
	if (ftruncate(object->fd, rec->size) < 0)
		return -errno;
	rec->flags &= ~MIGRATE_REC_RESIZE;
	return object_store(object);
}

bool object_may_have_holes(const struct object *object)
{
	return object->record.flags & MIGRATE_REC_HOLES ||
	       !capabilities_has(&object->retriever->capabilities, CAPABILITY_ZEROS);
}

/* Handles bytes that clients wrote and whose write-back no open descriptor can report on. */
static int object_mend_dirty(struct object *object)
{
	struct migrate_record *rec = &object->record;
	struct migrate_extents lost = MIGRATE_EXTENTS_INIT;
	const bool told = capabilities_has(&object->retriever->capabilities, CAPABILITY_HOLES);
	int ret = told ? dirty_write_again(object->fd, &rec->dirty, &lost)
		       : migrate_extents_copy(&lost, &rec->dirty);

	if (!ret && lost.n && !(told && object_may_have_holes(object))) {
		ret = migrate_extents_remove_all(&rec->dirty, &lost);
		rec->flags |= MIGRATE_REC_LOST;
		errors_add_fd(object->retriever->errors, object->fd, -EIO, QM_WRITE_UNDURABLE);
		/* if it cannot be stored, the next one who loads it finds the same */
		object_store(object);
	}
	migrate_extents_clear(&lost);
	return ret;
}

static void restore_old_handle(struct object *object)
{
	struct source_object source;

	if (!old_handles_are_wanted(object->retriever) || object_source(object, &source))
		return;
	old_handles_restore(object->retriever, &source, object->record.fileid, object->fd);
	source_object_clear(&source);
}

/* Something that this machine forbids: is it the object's own? */
static int forbidden(struct object *object, int fd)
{
	enum error_code error = flags_error(fd);

	if (!error)
		return -EPERM;
	errors_add_fd(object->retriever->errors, fd, -EREMOTEIO, error);
	return -EREMOTEIO;
}

static void object_load(struct object *object, int fd, bool take)
{
	int ret;

	if (object->kind == OBJECT_OTHER) {
		object->normal = true;
		return;
	}
	ret = migrate_record_load(fd, &object->record);
	if (ret < 0) {
		object->load_error = ret;
		return;
	}
	if (ret == 0) {
		object->normal = true;
		return;
	}
	/* It is of no object: to finish it would make it an empty file. */
	if (object->record.state == MIGRATE_DUMMY) {
		object->load_error = -ESTALE;
		return;
	}
	ret = take ? fd
		   : reopen(object, fd, is_directory(object) ? O_RDONLY | O_DIRECTORY : O_RDWR);
	if (ret < 0) {
		object->load_error = ret == -EPERM ? forbidden(object, fd) : ret;
		return;
	}
	object->fd = ret;
	if (object->kind == OBJECT_FILE)
		file_of(object)->unstored = object->record.clipped;
	object->load_error = object_mend_size(object);
	if (!object->load_error && object->record.dirty.n)
		object->load_error = object_mend_dirty(object);
	object_count_bytes(object);
	if (!object->load_error)
		restore_old_handle(object);
	else if (take)
		object->fd = -1; /* it stays the caller's */
}

/* Finds or makes the table's entry; *new tells which. */
static struct object *object_claim(struct retriever *retriever, const struct migrate_binding *key,
				   enum object_kind kind, bool *new)
{
	struct object_table *table = retriever->objects;
	struct object *object;

	g_mutex_lock(&table->lock);
	object = g_hash_table_lookup(table->objects, key);
	*new = object == NULL;
	if (object) {
		object->refs++;
	} else {
		object = object_new(retriever, key, kind);
		g_hash_table_insert(table->objects, &object->key, object);
	}
	g_mutex_unlock(&table->lock);
	return object;
}

static void object_set_loaded(struct object *object)
{
	g_mutex_lock(&object->lock);
	object->loaded = true;
	if (object->awaited)
		g_cond_broadcast(&object->loaded_cond);
	g_mutex_unlock(&object->lock);
}

static enum object_kind kind_of_object(const struct stat *st)
{
	return S_ISREG(st->st_mode)   ? OBJECT_FILE
	       : S_ISDIR(st->st_mode) ? OBJECT_DIRECTORY
				      : OBJECT_OTHER;
}

static int claim_loaded(struct retriever *retriever, int fd, bool take, struct object **out)
{
	struct migrate_binding key;
	struct object *object;
	struct stat st;
	bool new;
	int ret;

	ret = migrate_binding_get(fd, "", &key);
	if (ret < 0)
		return ret;
	if (fstat(fd, &st) < 0)
		return -errno;
	object = object_claim(retriever, &key, kind_of_object(&st), &new);
	if (new) {
		object_load(object, fd, take);
		object_set_loaded(object);
	} else {
		g_mutex_lock(&object->lock);
		while (!object->loaded) {
			object->awaited = true;
			g_cond_wait(&object->loaded_cond, &object->lock);
		}
		g_mutex_unlock(&object->lock);
	}
	if (object->load_error) {
		ret = object->load_error;
		if (new &&ret == -EBADMSG)
			errors_add_fd(retriever->errors, fd, ret, QM_RECORD_DAMAGED);
		object_unref(object);
		return ret;
	}
	*out = object;
	return 0;
}

int object_get(struct retriever *retriever, int fd, struct object **object)
{
	return claim_loaded(retriever, fd, false, object);
}

int object_get_taking(struct retriever *retriever, int fd, struct object **object)
{
	int ret = claim_loaded(retriever, fd, true, object);

	if (ret || (*object)->fd != fd)
		close(fd);
	return ret;
}

int object_get_made(struct retriever *retriever, int fd, struct migrate_record *rec,
		    struct object **out)
{
	bool new;

	*out = object_claim(retriever, &rec->binding, OBJECT_FILE, &new);
	if (!new) {
		object_unref(*out);
		return object_get_taking(retriever, fd, out);
	}
	(*out)->fd = fd;
	(*out)->record = *rec;
	memset(rec, 0, sizeof *rec);
	object_set_loaded(*out);
	return 0;
}

bool object_is_closed(const struct object *object)
{
	const struct migrate_record *rec = &object->record;

	/* a file that clients have written as a whole needs nothing from the old server */
	return !object->normal && migrate_record_closed(rec) &&
	       (object->kind != OBJECT_FILE || !(rec->flags & MIGRATE_REC_CLIENT) ||
		!migrate_extents_empty(&rec->missing));
}

int object_lacks(struct object *object, uint64_t start, uint64_t end, struct migrate_extents *out)
{
	int ret;

	if (object->normal) {
		migrate_extents_clear(out);
		return 0;
	}
	ret = migrate_extents_intersect(&object->record.missing, start, end, out);
	if (!ret)
		ret = migrate_extents_remove_all(out, &object->record.dirty);
	if (!ret)
		ret = migrate_extents_remove_all(out, &file_of(object)->filled);
	return ret;
}

bool object_has(struct object *object, uint64_t start, uint64_t end)
{
	struct migrate_extents lacks = MIGRATE_EXTENTS_INIT;
	bool has;

	if (object_is_closed(object))
		return false;
	if (object->normal || start >= end ||
	    !migrate_extents_overlap(&object->record.missing, start, end))
		return true;
	has = object_lacks(object, start, end, &lacks) == 0 && migrate_extents_empty(&lacks);
	migrate_extents_clear(&lacks);
	return has;
}

int object_store(struct object *object)
{
	int ret;

	memcpy(object->record.epoch, object->retriever->epoch, sizeof object->record.epoch);
	ret = migrate_record_store(object->fd, &object->record);
	if (!ret && object->kind == OBJECT_FILE)
		file_of(object)->unstored = false;
	if (!ret)
		object_count_bytes(object);
	return ret;
}

/* Each range that was written or fetched may split a missing one. */
bool object_has_room(struct object *object)
{
	const struct migrate_record *rec = &object->record;

	return object->kind != OBJECT_FILE || object->normal ||
	       rec->missing.n + rec->dirty.n + file_of(object)->filled.n + object->turns.brackets <
		       MIGRATE_REC_MAX_EXTENTS * 3 / 4;
}

bool object_crowded(const struct object *object)
{
	return object->record.missing.n > OBJECT_EXTENTS_KEPT;
}

int object_keep_fd(struct object *object, int fd)
{
	int ret = 0;

	g_mutex_lock(&object->lock);
	if (object->fd < 0) {
		ret = reopen(object, fd, O_RDONLY);
		if (ret >= 0)
			object->fd = ret;
	}
	g_mutex_unlock(&object->lock);
	return MIN(ret, 0);
}

int object_source(struct object *object, struct source_object *source)
{
	const struct migrate_record *rec = &object->record;
	int ret = 0;

	memset(source, 0, sizeof *source);
	if (rec->flags & MIGRATE_REC_HANDLE_DIFF) {
		ret = templates_expand(object->retriever->templates, rec, source);
	} else if (rec->flags & MIGRATE_REC_HANDLE) {
		source->handle_len = rec->handle_len;
		memcpy(source->handle, rec->handle, rec->handle_len);
	}
	if (rec->path)
		source->path = g_strdup(rec->path);
	if (!ret && !source->handle_len && !source->path)
		ret = -ESTALE;
	if (ret)
		source_object_clear(source);
	return ret;
}

char *object_source_path(struct object *object)
{
	char *path;

	g_mutex_lock(&object->lock);
	path = g_strdup(object->record.path);
	g_mutex_unlock(&object->lock);
	return path;
}

bool object_source_moved(struct object *object, const struct source_object *source)
{
	struct source_object now;
	bool moved;

	if (object->normal || object_source(object, &now) < 0)
		return false;
	moved = now.handle_len != source->handle_len ||
		memcmp(now.handle, source->handle, now.handle_len) != 0 ||
		(!now.handle_len && g_strcmp0(now.path, source->path) != 0);
	source_object_clear(&now);
	return moved;
}
