/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/take_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "retriever/copies/copy_mark.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/copies/prior.h"
#include "retriever/making/data_hints.h"
#include "retriever/objects/old_handles.h"

static const struct source_entry *entry_of(const struct backend_batch *listing, guint i)
{
	return &g_array_index(listing->entries, struct source_entry, i);
}

/* Opens the prior directory of that name.  Negative: there is no such directory. */
static int open_prior(const struct retriever *retriever, const struct make_parent *parent,
		      const char *name)
{
	g_autofree char *path = make_child_path(parent->path, name);

	return prior_directory(retriever->prior, path);
}

static bool is_there(int dir_fd, const char *name)
{
	return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool take_may(const struct retriever *retriever, const struct make_parent *parent,
	      const struct source_entry *entry)
{
	gint64 names;
	int fd;

	if (parent->prior_fd < 0 || retriever->prior->adopted || !S_ISDIR(entry->attr.mode) ||
	    is_there(parent->fd, entry->name))
		return false;
	fd = open_prior(retriever, parent, entry->name);
	if (fd < 0)
		return false;
	names = listing_sum_whole(fd);
	close(fd);
	return names >= 0 && names <= WHOLE_MAX;
}

/* ---- comparing ---- */

static bool has_only(int dir_fd, GHashTable *names)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool only = dir != NULL;
	struct dirent *e;

	while (only && (errno = 0, e = readdir(dir)))
		only = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		       g_hash_table_contains(names, e->d_name);
	only = only && !errno;
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return only;
}

static bool is_same_directory(int dir_fd, const struct source_entry *entry)
{
	struct stat st;

	return entry->has_attr && !S_ISDIR(entry->attr.mode) && entry->attr.nlink == 1 &&
	       copy_mark_compare(dir_fd, entry->name, &entry->attr, false, &st, NULL) ==
		       COPY_SAME &&
	       st.st_nlink == 1;
}

static bool all_same(int dir_fd, const struct backend_batch *listing)
{
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

	if (listing->rejected || listing->entries->len > WHOLE_MAX)
		return false;
	for (guint i = 0; i < listing->entries->len; i++)
		if (!is_same_directory(dir_fd, entry_of(listing, i)) ||
		    !g_hash_table_add(names, entry_of(listing, i)->name))
			return false;
	return has_only(dir_fd, names);
}

/* ---- taking ---- */

/* added: one for each of the listing, and the last for itself. */
static void add_old_handles(const struct new_object *m, int dir_fd, uint64_t *added)
{
	const struct backend_batch *listing = m->parent->listing;
	guint i;

	for (i = 0; i < listing->entries->len; i++)
		added[i] = old_handles_add(m->retriever, entry_of(listing, i), dir_fd,
					   entry_of(listing, i)->name);
	added[i] = old_handles_add(m->retriever, m->entry, dir_fd, "");
}

static void name_old_handles(const struct new_object *m, const uint64_t *added)
{
	const struct backend_batch *listing = m->parent->listing;
	guint i;

	for (i = 0; i < listing->entries->len; i++)
		old_handles_name(m->retriever, entry_of(listing, i), added[i]);
	old_handles_name(m->retriever, m->entry, added[i]);
}

static int unmark_all(int dir_fd, const struct backend_batch *listing)
{
	int ret = 0;

	for (guint i = 0; i < listing->entries->len && !ret; i++)
		ret = copy_mark_remove_name(dir_fd, entry_of(listing, i)->name);
	return ret;
}

/* Sets the marks again when the directory stays in the prior copy: its files are taken one by one.
 */
static void mark_all(int dir_fd, const struct backend_batch *listing)
{
	for (guint i = 0; i < listing->entries->len; i++) {
		const struct source_entry *entry = entry_of(listing, i);

		copy_mark_set_name(dir_fd, entry->name, &entry->attr);
	}
}

static int put_filled(const struct new_object *m, int fd)
{
	struct migrate_record rec;
	int ret = new_object_record(m, &rec);

	rec.state = MIGRATE_FILLED;
	if (!ret)
		ret = new_object_store_record(fd, &rec);
	migrate_record_clear(&rec);
	return ret;
}

/* Prepares the directory while it is still in the prior copy, where no client can see it. */
static int prepare_directory(struct new_object *m, int fd)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
					  migrate_timespec(m->entry->attr.mtime)};
	int ret = attributes_strip(fd);

	if (!ret)
		ret = new_object_set_attributes(m, fd, false);
	if (!ret && fremovexattr(fd, XATTR_LISTED) < 0)
		ret = -errno;
	if (!ret)
		ret = copy_mark_remove(fd);
	if (!ret && futimens(fd, times) < 0)
		ret = -errno;
	return ret ? ret : put_filled(m, fd);
}

/* The name's lock held.  As take_directory(). */
static bool move_directory(struct new_object *m, int fd, enum make_outcome *outcome)
{
	const struct backend_batch *listing = m->parent->listing;
	g_autofree uint64_t *added = g_new(uint64_t, listing->entries->len + 1);
	int ret;

	*outcome = MAKE_THERE;
	if (is_there(m->dir_fd, m->as))
		return true;
	ret = unmark_all(fd, listing);
	if (!ret)
		ret = prepare_directory(m, fd);
	if (!ret)
		add_old_handles(m, fd, added);
	if (!ret &&
	    renameat2(m->parent->prior_fd, m->entry->name, m->dir_fd, m->as, RENAME_NOREPLACE) < 0)
		ret = -errno;
	if (!ret) {
		name_old_handles(m, added);
		*outcome = MAKE_DONE;
		return true;
	}
	attributes_clear(&m->carried);
	m->carried = (struct attributes_result){0};
	mark_all(fd, listing);
	return false;
}

static void count_directory(const struct new_object *m)
{
	const struct backend_batch *listing = m->parent->listing;

	new_object_count(m);
	COUNT_ADD(m->retriever, unfilled, -1); /* not the last: its parent is */
	for (guint i = 0; i < listing->entries->len; i++) {
		const struct new_object file = {.retriever = m->retriever,
						.entry = entry_of(listing, i)};
		const struct source_attr *attr = &file.entry->attr;

		take_count(&file);
		if (S_ISREG(attr->mode) && attr->size)
			take_count_data(&file);
	}
}

/* Its files need not be opened to find that none lacks data. */
static void note_brought(struct retriever *retriever, int fd)
{
	struct object *object;

	if (object_get(retriever, fd, &object) < 0)
		return;
	data_hints_note(object, true);
	object_unref(object);
}

bool take_directory(struct new_object *m, enum make_outcome *outcome)
{
	GMutex *lock = prior_lock(m->retriever->prior, m->as);
	bool taken = false;
	int fd;

	if (m->dir_fd != m->parent->fd) /* what takes a dummy's place is made anew */
		return false;
	*outcome = MAKE_ASK_BARE;
	if (new_object_lacks_attributes(m))
		return true;
	fd = open_prior(m->retriever, m->parent, m->entry->name);
	if (fd < 0)
		return false;
	if (all_same(fd, m->parent->listing)) {
		g_mutex_lock(lock);
		taken = move_directory(m, fd, outcome);
		g_mutex_unlock(lock);
	}
	if (taken && *outcome == MAKE_DONE) {
		count_directory(m);
		note_brought(m->retriever, fd);
	}
	close(fd);
	return taken;
}
