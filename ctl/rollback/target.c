/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/target.h"

#include <errno.h>
#include <string.h>

#include "common/record.h"
#include "ctl/rollback/target_ops.h"

#define PROBE	      TARGET_STAGE "/clock"
#define TRY_BYTES     4096
#define ROOM_BYTES    (1 << 20) /* with less than this, no other file is worth a try */
#define OPEN_S	      5		/* longer than the retriever's IDLE_S (worker/job_read.c) */
#define CLOCK_TRIES   4
#define CLOCK_GOOD_NS 10000000

char *target_path(const char *dir, const char *name)
{
	return *dir ? g_strconcat(dir, "/", name, NULL) : g_strdup(name);
}

void target_close(struct target *target)
{
	if (target)
		target->ops->close(target);
}

/* ---- TARGET_STAGE -------------------------------------------------------------------------------
 */

/* Makes a change in the root for TARGET_STAGE, and gives the root its times back. */
static int at_root(struct target *target, int (*change)(struct target *target))
{
	struct attrs attrs = {0};
	struct target_file *root;
	int ret = target_stat(target, "", &attrs.st);

	if (!ret)
		ret = change(target);
	if (ret || (ret = target_file_open(target, "", false, &root)))
		return ret;
	ret = target_file_give_times(root, &attrs);
	target_file_close(root);
	return ret;
}

static int make_stage(struct target *target)
{
	return target->ops->mkdir(target, TARGET_STAGE);
}

static int remove_stage(struct target *target)
{
	return target->ops->remove(target, TARGET_STAGE, true);
}

/* Reads the old server's clock by a file that is made there.  *took: how long that took, ns.  The
 * clock is ahead by at least *skew: an object that is taken for changed later than it was becomes a
 * conflict at worst. */
static int read_clock_once(struct target *target, int64_t *skew, int64_t *took)
{
	struct stat st;
	int ret;

	target->ops->remove(target, PROBE, false);
	*took = -g_get_real_time() * 1000;
	ret = target->ops->create(target, PROBE, NULL);
	*skew = -g_get_real_time() * 1000;
	*took -= *skew;
	if (!ret)
		ret = target_stat(target, PROBE, &st);
	if (!ret)
		*skew += migrate_ns(st.st_mtim);
	if (!ret && target->ops->owns)
		ret = target->ops->owns(target, PROBE);
	target->ops->remove(target, PROBE, false);
	return ret;
}

/* An old server may let the creation of a file wait: after its start, for clients that may reclaim
 * (RFC 8881 section 8.4.2), say. */
static int read_clock(struct target *target, int64_t *skew)
{
	int64_t best = INT64_MAX, found, took = INT64_MAX;
	int ret = 0;

	for (unsigned i = 0; i < CLOCK_TRIES && !ret && best > CLOCK_GOOD_NS; i++) {
		ret = read_clock_once(target, &found, &took);
		if (!ret && took < best) {
			best = took;
			*skew = found;
		}
	}
	return ret;
}

int target_try(struct target *target, int failed)
{
	static const char block[ROOM_BYTES] = "the way back";
	const size_t size = failed == -ENOSPC ? ROOM_BYTES : TRY_BYTES;
	struct target_file *file;
	int ret;

	target->ops->remove(target, PROBE, false);
	ret = target->ops->create(target, PROBE, &file);
	if (ret)
		return ret;
	ret = target_file_write(file, block, size, 0);
	if (!ret)
		ret = target_file_sync(file);
	target_file_close(file);
	target->ops->remove(target, PROBE, false);
	return ret;
}

bool target_was_left(const struct target *target)
{
	return target->left;
}

struct timespec target_root_mtime(const struct target *target)
{
	return target->mtime;
}

int64_t target_root_ctime(const struct target *target)
{
	return target->ctime;
}

bool target_begin(struct target *target, int64_t *skew, GError **error)
{
	struct stat st;
	int ret = target_stat(target, "", &st);

	if (!ret) {
		target->mtime = st.st_mtim;
		target->ctime = migrate_ns(st.st_ctim);
		ret = at_root(target, make_stage);
	}
	target->left = ret == -EEXIST;
	if (!ret || ret == -EEXIST)
		ret = target->ops->protect(target);
	const bool others = ret == -EPERM && target->left;
	if (!ret)
		ret = read_clock(target, skew);
	if (ret < 0 && !target->left)
		target->ops->remove(target, TARGET_STAGE, true);
	if (others)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM,
			    "%s: " TARGET_STAGE
			    " in it is another user's: remove it, or give it to "
			    "the one that the way back writes as",
			    target->where);
	else if (ret < 0)
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-ret),
			    "%s: cannot be written (%s): %s", target->where, g_strerror(-ret),
			    target->ops->cannot_write);
	return ret >= 0;
}

/* Over SMB an object that is removed is gone only when nobody has it open any more. */
void target_end(struct target *target)
{
	const gint64 end = g_get_monotonic_time() + OPEN_S * G_USEC_PER_SEC;

	while (at_root(target, remove_stage) == -ENOTEMPTY && target->ops->descriptors &&
	       g_get_monotonic_time() < end)
		g_usleep(G_USEC_PER_SEC / 10);
}

/* ---- names ----------------------------------------------------------------------------------- */

void target_add_name(GHashTable *names, const char *name, uint64_t fileid)
{
	const size_t len = strlen(name) + 1;
	struct target_name *added = g_malloc(offsetof(struct target_name, name) + len);

	added->fileid = fileid;
	memcpy(added->name, name, len);
	g_hash_table_replace(names, added->name, added);
}

static guint hash_folded(gconstpointer name)
{
	g_autofree char *folded = g_utf8_casefold(name, -1);

	return g_str_hash(folded);
}

static gboolean equal_folded(gconstpointer a, gconstpointer b)
{
	g_autofree char *x = g_utf8_casefold(a, -1), *y = g_utf8_casefold(b, -1);

	return !strcmp(x, y);
}

GHashTable *target_list(struct target *target, const char *path, int *ret)
{
	const bool folds = target->ops->folds;
	GHashTable *names = g_hash_table_new_full(folds ? hash_folded : g_str_hash,
						  folds ? equal_folded : g_str_equal, NULL, g_free);

	*ret = target->ops->list(target, path, names);
	if (*ret)
		g_clear_pointer(&names, g_hash_table_unref);
	else if (!*path)
		g_hash_table_remove(names, TARGET_STAGE);
	return names;
}

/* ---- handed on ------------------------------------------------------------------------------- */

bool target_has_descriptors(const struct target *target)
{
	return target->ops->descriptors;
}

bool target_takes_several(const struct target *target)
{
	return target->ops->several;
}

bool target_is_stage(const struct target *target, const char *path)
{
	const size_t len = strlen(TARGET_STAGE);
	const bool same = target->ops->folds ? !g_ascii_strncasecmp(path, TARGET_STAGE, len)
					     : !strncmp(path, TARGET_STAGE, len);

	return same && (!path[len] || path[len] == '/');
}

const char *target_objection(const struct target *target, const char *path, mode_t mode)
{
	return target->ops->objection ? target->ops->objection(path, mode) : NULL;
}

int target_stat(struct target *target, const char *path, struct stat *st)
{
	return target->ops->stat(target, path, st);
}

char *target_read_link(struct target *target, const char *path, int *ret)
{
	return target->ops->read_link(target, path, ret);
}

GBytes *target_read_xattr(struct target *target, const char *path, const char *name, int *ret)
{
	*ret = 0;
	return target->ops->read_xattr ? target->ops->read_xattr(target, path, name, ret) : NULL;
}

bool target_holds_more(struct target *target, const char *path, const struct attrs *attrs)
{
	return target->ops->holds_more && target->ops->holds_more(target, path, attrs);
}

int target_mkdir(struct target *target, const char *path)
{
	return target->ops->mkdir(target, path);
}

int target_create(struct target *target, const char *path, struct target_file **file)
{
	return target->ops->create(target, path, file);
}

int target_symlink(struct target *target, const char *text, const char *path)
{
	return target->ops->symlink(target, text, path);
}

int target_mknod(struct target *target, const char *path, mode_t mode, dev_t device)
{
	return target->ops->mknod(target, path, mode, device);
}

int target_link(struct target *target, const char *from, const char *to)
{
	return target->ops->link(target, from, to);
}

int target_rename(struct target *target, const char *from, const char *to, bool directory)
{
	return target->ops->rename(target, from, to, directory);
}

int target_rename_new(struct target *target, const char *from, const char *to, bool directory)
{
	return target->ops->rename_new(target, from, to, directory);
}

int target_replace(struct target *target, const char *from, const char *to, const char *out)
{
	return target->ops->replace(target, from, to, out);
}

bool target_is_open(struct target *target, const char *path)
{
	return target->ops->is_open && target->ops->is_open(target, path);
}

int target_remove(struct target *target, const char *path, bool directory)
{
	return target->ops->remove(target, path, directory);
}

int target_sync(struct target *target)
{
	return target->ops->sync(target);
}

GHashTable *target_unsynced(struct target *target)
{
	return target->ops->unsynced ? target->ops->unsynced(target) : NULL;
}

void target_sync_names(struct target *target, const char *dir)
{
	if (target->ops->sync_names)
		target->ops->sync_names(target, dir);
}

int target_file_open(struct target *target, const char *path, bool data, struct target_file **file)
{
	return target->ops->open(target, path, data, file);
}

int target_file_stat(struct target_file *file, struct stat *st)
{
	return file->target->ops->stat_file(file, st);
}

void target_file_close(struct target_file *file)
{
	file->target->ops->close_file(file);
}

int target_file_resize(struct target_file *file, off_t size)
{
	return file->target->ops->resize(file, size);
}

ssize_t target_file_read(struct target_file *file, void *data, size_t len, off_t at)
{
	return file->target->ops->read(file, data, len, at);
}

int target_file_write(struct target_file *file, const void *data, size_t len, off_t at)
{
	return file->target->ops->write(file, data, len, at);
}

int target_file_sync(struct target_file *file)
{
	return file->target->ops->sync_file(file);
}

int target_file_give(struct target_file *file, const struct attrs *attrs,
		     const struct volume_config *config, attrs_lost_fn lost, void *arg)
{
	return file->target->ops->give(file, attrs, config, lost, arg);
}

int target_file_give_times(struct target_file *file, const struct attrs *attrs)
{
	return file->target->ops->give_times(file, attrs);
}
