/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/old.h"

#include <errno.h>
#include <string.h>

#include "common/record.h"
#include "ctl/rollback/old_ops.h"

#define PROBE	      OLD_STAGE "/clock"
#define TRY_BYTES     4096
#define ROOM_BYTES    (1 << 20) /* with less than this, no other file is worth a try */
#define OPEN_S	      5		/* longer than the retriever's IDLE_S (worker/job_read.c) */
#define CLOCK_TRIES   4
#define CLOCK_GOOD_NS 10000000

char *old_path(const char *dir, const char *name)
{
	return *dir ? g_strconcat(dir, "/", name, NULL) : g_strdup(name);
}

void old_close(struct old *old)
{
	if (old)
		old->ops->close(old);
}

/* ---- OLD_STAGE ------------------------------------------------------------------------------- */

/* What is done in the root for OLD_STAGE leaves its times alone. */
static int at_root(struct old *old, int (*change)(struct old *old))
{
	struct attrs attrs = {0};
	struct old_file *root;
	int ret = old_stat(old, "", &attrs.st);

	if (!ret)
		ret = change(old);
	if (ret || (ret = old_file_open(old, "", false, &root)))
		return ret;
	ret = old_file_give_times(root, &attrs);
	old_file_close(root);
	return ret;
}

static int make_stage(struct old *old)
{
	return old->ops->mkdir(old, OLD_STAGE);
}

static int remove_stage(struct old *old)
{
	return old->ops->remove(old, OLD_STAGE, true);
}

/* By a file that is made there.  *took: how long that took, ns.  The old server's clock is ahead by
 * at least *skew: what is thought to be changed later than it was becomes a conflict at worst. */
static int read_clock_once(struct old *old, int64_t *skew, int64_t *took)
{
	struct stat st;
	int ret;

	old->ops->remove(old, PROBE, false);
	*took = -g_get_real_time() * 1000;
	ret = old->ops->create(old, PROBE, NULL);
	*skew = -g_get_real_time() * 1000;
	*took -= *skew;
	if (!ret)
		ret = old_stat(old, PROBE, &st);
	if (!ret)
		*skew += migrate_ns(st.st_mtim);
	if (!ret && old->ops->owns)
		ret = old->ops->owns(old, PROBE);
	old->ops->remove(old, PROBE, false);
	return ret;
}

/* An old server may have a file wait, for clients that may come again after it was started (RFC
 * 8881 section 8.4.2), say. */
static int read_clock(struct old *old, int64_t *skew)
{
	int64_t best = INT64_MAX, found, took = INT64_MAX;
	int ret = 0;

	for (unsigned i = 0; i < CLOCK_TRIES && !ret && best > CLOCK_GOOD_NS; i++) {
		ret = read_clock_once(old, &found, &took);
		if (!ret && took < best) {
			best = took;
			*skew = found;
		}
	}
	return ret;
}

int old_try(struct old *old, int failed)
{
	static const char block[ROOM_BYTES] = "the way back";
	const size_t size = failed == -ENOSPC ? ROOM_BYTES : TRY_BYTES;
	struct old_file *file;
	int ret;

	old->ops->remove(old, PROBE, false);
	ret = old->ops->create(old, PROBE, &file);
	if (ret)
		return ret;
	ret = old_file_write(file, block, size, 0);
	if (!ret)
		ret = old_file_sync(file);
	old_file_close(file);
	old->ops->remove(old, PROBE, false);
	return ret;
}

bool old_was_left(const struct old *old)
{
	return old->left;
}

struct timespec old_root_mtime(const struct old *old)
{
	return old->mtime;
}

int64_t old_root_ctime(const struct old *old)
{
	return old->ctime;
}

bool old_begin(struct old *old, int64_t *skew, GError **error)
{
	struct stat st;
	int ret = old_stat(old, "", &st);

	if (!ret) {
		old->mtime = st.st_mtim;
		old->ctime = migrate_ns(st.st_ctim);
		ret = at_root(old, make_stage);
	}
	old->left = ret == -EEXIST;
	if (!ret || ret == -EEXIST)
		ret = old->ops->protect(old);
	const bool others = ret == -EPERM && old->left;
	if (!ret)
		ret = read_clock(old, skew);
	if (ret < 0 && !old->left)
		old->ops->remove(old, OLD_STAGE, true);
	if (others)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM,
			    "%s: " OLD_STAGE " in it is another user's: remove it, or give it to "
			    "the one that the way back writes as",
			    old->where);
	else if (ret < 0)
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-ret),
			    "%s: cannot be written (%s): %s", old->where, g_strerror(-ret),
			    old->ops->cannot_write);
	return ret >= 0;
}

/* Over SMB what is removed goes when nobody has it open any more. */
void old_end(struct old *old)
{
	const gint64 end = g_get_monotonic_time() + OPEN_S * G_USEC_PER_SEC;

	while (at_root(old, remove_stage) == -ENOTEMPTY && old->ops->descriptors &&
	       g_get_monotonic_time() < end)
		g_usleep(G_USEC_PER_SEC / 10);
}

/* ---- names ----------------------------------------------------------------------------------- */

void old_add_name(GHashTable *names, const char *name, uint64_t fileid)
{
	const size_t len = strlen(name) + 1;
	struct old_name *added = g_malloc(offsetof(struct old_name, name) + len);

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

GHashTable *old_list(struct old *old, const char *path, int *ret)
{
	const bool folds = old->ops->folds;
	GHashTable *names = g_hash_table_new_full(folds ? hash_folded : g_str_hash,
						  folds ? equal_folded : g_str_equal, NULL, g_free);

	*ret = old->ops->list(old, path, names);
	if (*ret)
		g_clear_pointer(&names, g_hash_table_unref);
	else if (!*path)
		g_hash_table_remove(names, OLD_STAGE);
	return names;
}

/* ---- handed on ------------------------------------------------------------------------------- */

bool old_has_descriptors(const struct old *old)
{
	return old->ops->descriptors;
}

bool old_takes_several(const struct old *old)
{
	return old->ops->several;
}

bool old_is_stage(const struct old *old, const char *path)
{
	const size_t len = strlen(OLD_STAGE);
	const bool same = old->ops->folds ? !g_ascii_strncasecmp(path, OLD_STAGE, len)
					  : !strncmp(path, OLD_STAGE, len);

	return same && (!path[len] || path[len] == '/');
}

const char *old_objection(const struct old *old, const char *path, mode_t mode)
{
	return old->ops->objection ? old->ops->objection(path, mode) : NULL;
}

int old_stat(struct old *old, const char *path, struct stat *st)
{
	return old->ops->stat(old, path, st);
}

char *old_read_link(struct old *old, const char *path, int *ret)
{
	return old->ops->read_link(old, path, ret);
}

GBytes *old_read_xattr(struct old *old, const char *path, const char *name, int *ret)
{
	*ret = 0;
	return old->ops->read_xattr ? old->ops->read_xattr(old, path, name, ret) : NULL;
}

bool old_holds_more(struct old *old, const char *path, const struct attrs *attrs)
{
	return old->ops->holds_more && old->ops->holds_more(old, path, attrs);
}

int old_mkdir(struct old *old, const char *path)
{
	return old->ops->mkdir(old, path);
}

int old_create(struct old *old, const char *path, struct old_file **file)
{
	return old->ops->create(old, path, file);
}

int old_symlink(struct old *old, const char *target, const char *path)
{
	return old->ops->symlink(old, target, path);
}

int old_mknod(struct old *old, const char *path, mode_t mode, dev_t device)
{
	return old->ops->mknod(old, path, mode, device);
}

int old_link(struct old *old, const char *from, const char *to)
{
	return old->ops->link(old, from, to);
}

int old_rename(struct old *old, const char *from, const char *to, bool directory)
{
	return old->ops->rename(old, from, to, directory);
}

int old_rename_new(struct old *old, const char *from, const char *to, bool directory)
{
	return old->ops->rename_new(old, from, to, directory);
}

int old_replace(struct old *old, const char *from, const char *to, const char *out)
{
	return old->ops->replace(old, from, to, out);
}

bool old_is_open(struct old *old, const char *path)
{
	return old->ops->is_open && old->ops->is_open(old, path);
}

int old_remove(struct old *old, const char *path, bool directory)
{
	return old->ops->remove(old, path, directory);
}

int old_sync(struct old *old)
{
	return old->ops->sync(old);
}

GHashTable *old_unsynced(struct old *old)
{
	return old->ops->unsynced ? old->ops->unsynced(old) : NULL;
}

void old_sync_names(struct old *old, const char *dir)
{
	if (old->ops->sync_names)
		old->ops->sync_names(old, dir);
}

int old_file_open(struct old *old, const char *path, bool data, struct old_file **file)
{
	return old->ops->open(old, path, data, file);
}

int old_file_stat(struct old_file *file, struct stat *st)
{
	return file->old->ops->stat_file(file, st);
}

void old_file_close(struct old_file *file)
{
	file->old->ops->close_file(file);
}

int old_file_resize(struct old_file *file, off_t size)
{
	return file->old->ops->resize(file, size);
}

ssize_t old_file_read(struct old_file *file, void *data, size_t len, off_t at)
{
	return file->old->ops->read(file, data, len, at);
}

int old_file_write(struct old_file *file, const void *data, size_t len, off_t at)
{
	return file->old->ops->write(file, data, len, at);
}

int old_file_sync(struct old_file *file)
{
	return file->old->ops->sync_file(file);
}

int old_file_give(struct old_file *file, const struct attrs *attrs,
		  const struct volume_config *config, attrs_lost_fn lost, void *arg)
{
	return file->old->ops->give(file, attrs, config, lost, arg);
}

int old_file_give_times(struct old_file *file, const struct attrs *attrs)
{
	return file->old->ops->give_times(file, attrs);
}
