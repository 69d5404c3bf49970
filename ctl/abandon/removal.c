/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/abandon/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/record.h"
#include "lib/base/filetree.h"
#include "lib/report/omissions.h"
#include "retriever/copies/aside.h"
#include "retriever/copies/prior.h"
#include "retriever/objects/private.h"

/* What is set aside, below .migrate/: by a copy, too, and where an attach was cut short. */
static const char *const asides[] = {ASIDE_DIR, COPY_DIR "/" MIGRATE_PRIVATE_DIR "/" ASIDE_DIR,
				     PRIOR_DIR "/" MIGRATE_PRIVATE_DIR "/" ASIDE_DIR};

struct removing {
	bool keep, has_private;
	uint64_t mounts;
	int error; /* the first */
	char **failed;
};

static int open_private(int root_fd)
{
	return openat(root_fd, MIGRATE_PRIVATE_DIR,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* 1: the object is unfinished, or its record is damaged.  0: it is whole.  -errno: nobody knows. */
static int is_unfinished_entry(const struct own_entry *entry)
{
	const int fd = openat(entry->dir_fd, entry->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int ret = fd < 0 ? -errno : migrate_has_record(fd);

	if (fd >= 0)
		close(fd);
	return ret == -EBADMSG ? 1 : ret;
}

static bool is_mount_entry(const struct own_entry *entry)
{
	struct statx stx;

	return entry->outside || (statx(entry->dir_fd, entry->name,
					AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &stx) == 0 &&
				  stx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* Makes the mark that a removal was begun, and how (private.h), before anything is removed.  It is
 * a symbolic link, because a full file system has no room for a file's data. */
static int mark_begun(int private, bool keep)
{
	static const char new[] = PRIVATE_ABANDONED ".new";

	if (unlinkat(private, new, 0) < 0 && errno != ENOENT)
		return -errno;
	return symlinkat(keep ? "keep" : "all", private, new) < 0 ||
			       renameat(private, new, private, PRIVATE_ABANDONED) < 0 ||
			       syncfs(private) < 0
		       ? -errno
		       : 0;
}

static bool is_begun(int private)
{
	char text[3];

	return readlinkat(private, PRIVATE_ABANDONED, text, sizeof(text)) == sizeof(text) &&
	       !memcmp(text, "all", sizeof(text));
}

static bool is_private_entry(const struct own_entry *entry)
{
	const size_t len = strlen(MIGRATE_PRIVATE_DIR);

	return !strncmp(entry->path, MIGRATE_PRIVATE_DIR, len) &&
	       (!entry->path[len] || entry->path[len] == '/');
}

static bool has_adopted(int private)
{
	struct prior *prior = NULL;
	const bool adopted = !prior_open(private, &prior) && prior && prior->adopted;

	if (prior)
		prior_free(prior);
	return adopted;
}

/* Whether the volume has been attached.  If not, .migrate/ has at most a copy that can be made
 * again; but an attach that was cut short may have moved the adopted tree there. */
static bool has_been_attached(int root_fd, int private)
{
	return migrate_has_record(root_fd) ||
	       (private >= 0 && (!migrate_is_attaching(root_fd) || has_adopted(private)));
}

static bool is_later(const struct statx_timestamp *a, const struct statx_timestamp *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* A time that was set back does not hide a file that was made since. */
static bool is_newer_entry(const struct own_entry *entry, int private)
{
	struct statx mark, made;

	return statx(private, PRIVATE_ABANDONED, AT_SYMLINK_NOFOLLOW, STATX_MTIME, &mark) == 0 &&
	       statx(entry->dir_fd, entry->name, AT_SYMLINK_NOFOLLOW, STATX_MTIME | STATX_BTIME,
		     &made) == 0 &&
	       (is_later(&made.stx_mtime, &mark.stx_mtime) ||
		(made.stx_mask & STATX_BTIME && is_later(&made.stx_btime, &mark.stx_mtime)));
}

/* ---- looking --------------------------------------------------------------------------------- */

struct looking {
	struct removal *found;
	int private; /* of a run that goes on, else -1 */
};

static void note_made(struct removal *found, const char *path)
{
	if (!found->first_made)
		found->first_made = g_ptr_array_new_with_free_func(g_free);
	if (found->made++ < REMOVAL_SHOWN)
		g_ptr_array_add(found->first_made, g_strdup(path));
}

static int look_at_entry(void *arg, const struct own_entry *entry)
{
	const struct looking *looking = arg;
	struct removal *found = looking->found;

	if (is_private_entry(entry))
		return 0;
	if (*entry->path && strcmp(entry->path, ".") != 0 && entry->leaf && is_mount_entry(entry)) {
		found->mounts++;
		if (!found->first_mount)
			found->first_mount = g_strdup(entry->path);
	} else if (S_ISDIR(entry->st->st_mode)) {
		return 0;
	} else if (is_unfinished_entry(entry) > 0) {
		found->unfinished++;
	} else if (S_ISREG(entry->st->st_mode)) {
		found->whole += entry->st->st_size > 0;
		found->whole_bytes += entry->st->st_size;
		if (looking->private >= 0 && is_newer_entry(entry, looking->private))
			note_made(found, entry->path);
	}
	return 0;
}

static int count_aside(void *arg, const struct own_entry *entry)
{
	struct removal *found = arg;

	found->aside += !S_ISDIR(entry->st->st_mode);
	return 0;
}

int removal_look(int root_fd, struct removal *found)
{
	const int private = migrate_has_private(root_fd) ? open_private(root_fd) : -1;
	int ret = 0;

	*found = (struct removal){.attached = has_been_attached(root_fd, private)};
	if (private >= 0) {
		found->begun = is_begun(private);
		found->adopted = has_adopted(private);
		for (size_t i = 0; i < G_N_ELEMENTS(asides) && !ret; i++)
			ret = own_walk(private, asides[i], count_aside, found);
	}
	if (!ret && found->attached) {
		struct looking looking = {found, found->begun ? private : -1};

		ret = own_walk_volume(root_fd, ".", look_at_entry, &looking);
	}
	if (private >= 0)
		close(private);
	return ret;
}

void removal_clear(struct removal *found)
{
	g_clear_pointer(&found->first_mount, g_free);
	g_clear_pointer(&found->first_made, g_ptr_array_unref);
}

/* ---- removing -------------------------------------------------------------------------------- */

static void note_failed(struct removing *removing, const char *path, int error)
{
	if (removing->error)
		return;
	removing->error = error;
	*removing->failed = g_strdup(path);
}

/* Removes a directory, when everything below it has gone, or stays. */
static int remove_directory(struct removing *removing, const struct own_entry *entry)
{
	const int unfinished = removing->keep ? is_unfinished_entry(entry) : 1;
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d/%s", entry->dir_fd, entry->name);

	if (entry->error)
		note_failed(removing, entry->path, entry->error);
	else if (unfinished < 0 && unfinished != -ENOENT)
		note_failed(removing, entry->path, unfinished);
	else if (!unfinished)
		return 0;
	else if (unlinkat(entry->dir_fd, entry->name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	else if (errno != ENOTEMPTY || (!removing->keep && !removing->mounts))
		note_failed(removing, entry->path, -errno);
	else if (lremovexattr(path, MIGRATE_XATTR) < 0 && errno != ENODATA)
		note_failed(removing, entry->path, -errno);
	return 0;
}

static int remove_entry(void *arg, const struct own_entry *entry)
{
	struct removing *removing = arg;

	if (!*entry->path || !strcmp(entry->path, ".") ||
	    (removing->has_private && is_private_entry(entry)))
		return 0;
	if (entry->leaf && is_mount_entry(entry)) {
		removing->mounts++;
		return 0;
	}
	if (S_ISDIR(entry->st->st_mode))
		return remove_directory(removing, entry);
	const int unfinished = removing->keep ? is_unfinished_entry(entry) : 1;

	if (unfinished < 0 && unfinished != -ENOENT)
		note_failed(removing, entry->path, unfinished);
	if (unfinished <= 0)
		return 0;
	if (unlinkat(entry->dir_fd, entry->name, 0) < 0 && errno != ENOENT)
		note_failed(removing, entry->path, -errno);
	return 0;
}

/* Gives a part of .migrate/ a name in the root that nothing there has. */
static int keep_private(int root_fd, int private, const char *name, const char *as)
{
	return renameat2(private, name, root_fd, as, RENAME_NOREPLACE) == 0 || errno == ENOENT
		       ? 0
		       : -errno;
}

static int keep_what_is_not_in_the_tree(int root_fd, int private, char **failed)
{
	int ret = 0;

	if (has_adopted(private)) {
		*failed = g_strdup(REMOVAL_KEPT_PRIOR);
		ret = keep_private(root_fd, private, PRIOR_DIR, REMOVAL_KEPT_PRIOR);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(asides) && !ret; i++) {
		g_free(*failed);
		*failed = g_strdup(REMOVAL_KEPT_ASIDE);
		ret = keep_private(root_fd, private, asides[i], REMOVAL_KEPT_ASIDE);
	}
	if (!ret)
		g_clear_pointer(failed, g_free);
	return ret;
}

/* The retriever's lock is held until .migrate/ is gone. */
static int remove_all(int root_fd, int private, bool keep, char **failed)
{
	struct removing removing = {.keep = keep, .has_private = private >= 0, .failed = failed};
	int ret;

	if (has_been_attached(root_fd, private)) {
		ret = own_walk_volume(root_fd, ".", remove_entry, &removing);
		if (removing.error || ret)
			return removing.error ? removing.error : ret;
		/* Everything goes before the marks of the volume do, after a power cut, too. */
		if (syncfs(root_fd) < 0)
			return -errno;
	}
	ret = keep && private >= 0 ? keep_what_is_not_in_the_tree(root_fd, private, failed) : 0;
	if (ret)
		return ret;
	if (fremovexattr(root_fd, XATTR_TOLD) < 0 && errno != ENODATA)
		return -errno;
	ret = private >= 0 ? own_remove(root_fd, MIGRATE_PRIVATE_DIR) : 0;
	if (ret) {
		*failed = g_strdup(MIGRATE_PRIVATE_DIR);
		return ret;
	}
	if (fremovexattr(root_fd, MIGRATE_XATTR) < 0 && errno != ENODATA)
		return -errno;
	return fsync(root_fd) < 0 ? -errno : 0;
}

int removal_run(int root_fd, bool keep, char **failed)
{
	const int private = migrate_has_private(root_fd) ? open_private(root_fd) : -1;
	int ret = private >= 0 && flock(private, LOCK_EX | LOCK_NB) < 0 ? -EBUSY : 0;

	*failed = NULL;
	if (!ret && private >= 0)
		ret = mark_begun(private, keep);
	if (!ret)
		ret = remove_all(root_fd, private, keep, failed);
	if (private >= 0)
		close(private);
	return ret;
}
