/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"

#define LOOK_AT_CLOCK 64  /* objects */
#define UNREAD_SAID   100 /* by name */

struct scan {
	struct volume *volume;
	struct journal_store *store;
	int64_t changed, written;
	uint64_t looked_at, unread;
	char *first_unread; /* its path, or NULL */
	bool rows_done;
	struct migrate_binding row; /* the last that was compared */
	bool missed;		    /* some rows' objects, which were not known to be gone */
	bool walked;		    /* everything was visited: the rows of those are left */
	/* Directories to be visited: handles as in the store, behind each `whole` and the length.
	 */
	GByteArray *stack;
	bool whole;	   /* the one that is being read came back: all in it counts */
	GArray *returned;  /* such ones, struct migrate_binding */
	bool whole_unread; /* something in such a one could not be looked at */
	bool later;	   /* one came back meanwhile, which is the next scan's */
	/* Directories that are visited because they were moved, struct migrate_binding -> whether
	 * all in it counts. */
	GHashTable *moved;
	DIR *dir; /* the one that is being read, or NULL */
	struct migrate_binding dir_handle;
	struct migrate_binding links; /* .migrate/links; or len 0 */
	dev_t dev;
};

static void push(struct scan *scan, const struct migrate_binding *dir, bool whole)
{
	uint8_t bytes[JOURNAL_KEY_MAX + 2];
	size_t len = journal_key_encode(dir, bytes);

	bytes[len] = whole;
	bytes[len + 1] = (uint8_t)len;
	g_byte_array_append(scan->stack, bytes, (guint)len + 2);
}

static bool pop(struct scan *scan, struct migrate_binding *dir)
{
	const guint len = scan->stack->len;
	guint size;

	if (!len)
		return false;
	size = scan->stack->data[len - 1];
	scan->whole = scan->stack->data[len - 2];
	journal_key_decode(scan->stack->data + len - 2 - size, size, dir);
	g_byte_array_set_size(scan->stack, len - 2 - size);
	return true;
}

struct scan *scan_new(struct volume *volume, struct journal_store *store, int64_t changed,
		      int64_t written)
{
	struct scan *scan = g_new0(struct scan, 1);

	scan->volume = volume;
	scan->store = store;
	scan->changed = changed;
	scan->written = written;
	scan->stack = g_byte_array_new();
	push(scan, volume_root(volume), false);
	scan->returned = g_array_new(FALSE, FALSE, sizeof(struct migrate_binding));
	scan->moved =
		g_hash_table_new_full(journal_handle_hash, journal_handle_equal, g_free, NULL);
	return scan;
}

void scan_free(struct scan *scan)
{
	if (!scan)
		return;
	if (scan->dir)
		closedir(scan->dir);
	g_byte_array_free(scan->stack, TRUE);
	g_array_free(scan->returned, TRUE);
	g_hash_table_unref(scan->moved);
	g_free(scan->first_unread);
	g_free(scan);
}

/* JOURNAL_RETURNED stays in its row. */
static void leave_to_next(struct scan *scan, const struct migrate_binding *dir)
{
	for (guint i = 0; i < scan->returned->len; i++) {
		struct migrate_binding *returned =
			&g_array_index(scan->returned, struct migrate_binding, i);

		if (migrate_binding_equal(returned, dir))
			returned->len = 0;
	}
}

/* Once, and once as a whole: what is in it by then is on the stack by handle, and what comes into
 * it later is told. */
void scan_moved(struct scan *scan, const struct migrate_binding *dir, bool whole)
{
	gpointer before = NULL;

	if (!scan)
		return;
	if (g_hash_table_lookup_extended(scan->moved, dir, NULL, &before) &&
	    (!whole || GPOINTER_TO_INT(before))) {
		if (whole && scan->later) /* it may have been in what came back */
			leave_to_next(scan, dir);
		return;
	}
	g_hash_table_insert(scan->moved, g_memdup2(dir, sizeof(*dir)), GINT_TO_POINTER(whole));
	push(scan, dir, whole || scan->returned->len);
	if (whole)
		g_array_append_val(scan->returned, *dir);
}

void scan_returned(struct scan *scan, const struct migrate_binding *dir)
{
	if (!scan)
		return;
	scan->later = true;
	leave_to_next(scan, dir);
}

uint64_t scan_unread(const struct scan *scan, const char **first)
{
	*first = scan->first_unread;
	return scan->unread;
}

uint64_t scan_looked_at(const struct scan *scan)
{
	return scan->looked_at;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool holds(void *arg, const struct migrate_binding *object, const struct journal_name *name)
{
	const struct scan *scan = arg;
	const int holds = volume_holds(scan->volume, object, &name->parent, name->name);

	return holds < 0 ? name->kind == JOURNAL_NAME_MADE : holds;
}

/* What came back from another tree may have been changed there, and what is below it. */
static void take_returned(struct scan *scan, const struct journal_row *row)
{
	if (!(row->flags & JOURNAL_DIRECTORY)) {
		journal_store_touch(scan->store, &row->handle,
				    JOURNAL_META | JOURNAL_DATA | JOURNAL_SCANNED, NULL);
		return;
	}
	journal_store_touch(scan->store, &row->handle,
			    JOURNAL_META | JOURNAL_ENTRIES | JOURNAL_SCANNED, NULL);
	g_array_append_val(scan->returned, row->handle);
	push(scan, &row->handle, true);
}

/* An inode that cannot be read is told like one that is gone: that is known of it when all that has
 * a name could be looked at.  false: there are no more. */
static bool compare_row(struct scan *scan)
{
	struct journal_row row;
	struct stat st = {0};
	bool exists, there;

	if (!journal_store_next(scan->store, &scan->row, &row))
		return false;
	scan->row = row.handle;
	exists = volume_exists(scan->volume, &row.handle, &st);
	if (exists == scan->walked) {
		scan->missed |= !(row.flags & JOURNAL_GONE);
		return true;
	}
	/* The one name of several that is known may be in another tree; but all of them are, if it
	 * was moved out, and the walk finds a name that came meanwhile. */
	there = exists && ((!(row.flags & (JOURNAL_DIRECTORY | JOURNAL_GONE)) && st.st_nlink > 1) ||
			   volume_has(scan->volume, &row.handle));
	if (there && row.flags & (JOURNAL_GONE | JOURNAL_RETURNED))
		take_returned(scan, &row);
	if (exists && !there && (row.flags & JOURNAL_DIRECTORY || row.parent.len))
		journal_store_state(scan->store)->left = true;
	journal_store_correct(scan->store, &row.handle, there, holds, scan);
	return true;
}

/* ---- the tree -------------------------------------------------------------------------------- */

static unsigned changes_of(const struct scan *scan, const struct stat *st)
{
	const bool changed = scan->whole || migrate_ns(st->st_ctim) >= scan->changed;

	if (S_ISDIR(st->st_mode))
		return changed ? JOURNAL_META | JOURNAL_ENTRIES | JOURNAL_DIRECTORY : 0;
	if (changed)
		return S_ISREG(st->st_mode) ? JOURNAL_META | JOURNAL_DATA : JOURNAL_META;
	return S_ISREG(st->st_mode) && migrate_ns(st->st_mtim) >= scan->written ? JOURNAL_DATA : 0;
}

static void note_object(struct scan *scan, const struct migrate_binding *object, unsigned flags,
			const struct stat *st, const char *name)
{
	const struct journal_place place = {scan->dir_handle, name};
	struct journal_row row;

	if (migrate_binding_equal(&scan->links, &scan->dir_handle)) { /* the retriever's name */
		if (st->st_nlink == 1)
			journal_store_touch(scan->store, object, flags | JOURNAL_SCANNED, NULL);
		return;
	}
	/* The switch's mtime alone is no news of a file that is known to have other bytes. */
	if (flags == JOURNAL_DATA && journal_store_find(scan->store, object, &row) &&
	    row.flags & JOURNAL_DATA)
		return;
	journal_store_seen(scan->store, object, flags, &place,
			   S_ISDIR(st->st_mode) || st->st_nlink == 1);
}

/* Nothing can be looked at now, whichever object it is. */
static bool is_general(int number)
{
	return number == ENOMEM || number == EMFILE || number == ENFILE;
}

/*
 * One object cannot be looked at, or what is in the directory (name ""): it may have been changed.
 * The rest is looked at.  false with *error: nothing can be.
 */
static bool skip(struct scan *scan, const char *name, int number, GError **error)
{
	g_autofree char *dir = volume_path(scan->volume, &scan->dir_handle);
	g_autofree char *path =
		g_strconcat(dir ? dir : "a directory", *name ? "/" : "", name, NULL);

	if (is_general(number) ||
	    (!*name && migrate_binding_equal(&scan->dir_handle, volume_root(scan->volume)))) {
		g_set_error(error, JOURNAL_ERROR, number, "%s: %s", path, g_strerror(number));
		return false;
	}
	if (!migrate_binding_equal(&scan->links, &scan->dir_handle))
		journal_store_touch(
			scan->store, &scan->dir_handle,
			JOURNAL_META | JOURNAL_ENTRIES | JOURNAL_DIRECTORY | JOURNAL_SCANNED, NULL);
	scan->whole_unread |= scan->whole;
	if (scan->unread++ < UNREAD_SAID)
		g_warning("%s: %s: it cannot be told what was changed there: check the file system",
			  path, g_strerror(number));
	if (!scan->first_unread)
		scan->first_unread = g_steal_pointer(&path);
	return true;
}

static bool is_gone(int number)
{
	return number == ENOENT || number == ESTALE;
}

/* The entry is looked at.  Its removal meanwhile is an event. */
static bool look_at_name(struct scan *scan, const char *name, GError **error)
{
	struct migrate_binding object;
	struct stat st;
	unsigned flags;
	int ret;

	if (fstatat(dirfd(scan->dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return is_gone(errno) || skip(scan, name, errno, error);
	scan->looked_at++;
	if (st.st_dev != scan->dev) /* mounted there */
		return true;
	flags = changes_of(scan, &st);
	if (!flags && !S_ISDIR(st.st_mode))
		return true;
	ret = migrate_binding_get(dirfd(scan->dir), name, &object);
	if (ret)
		return is_gone(-ret) || skip(scan, name, -ret, error);
	if (S_ISDIR(st.st_mode)) {
		if (!strcmp(name, MIGRATE_PRIVATE_DIR) &&
		    volume_part(scan->volume, &object) == VOLUME_PRIVATE) {
			if (volume_links(scan->volume, &scan->links))
				push(scan, &scan->links, false);
			return true;
		}
		push(scan, &object, scan->whole);
	}
	if (flags)
		note_object(scan, &object, flags, &st, name);
	return true;
}

/* The root has no entry of its own. */
static void look_at_root(struct scan *scan, const struct stat *st)
{
	struct migrate_binding root;

	if (changes_of(scan, st) && migrate_binding_get(volume_fd(scan->volume), NULL, &root) == 0)
		journal_store_touch(scan->store, &root, changes_of(scan, st) | JOURNAL_SCANNED,
				    NULL);
}

/* false: there are no more, or *failed. */
static bool next_directory(struct scan *scan, bool *failed, GError **error)
{
	struct stat st, root;
	int fd, number;

	if (!pop(scan, &scan->dir_handle))
		return false;
	fd = migrate_binding_open(volume_fd(scan->volume), &scan->dir_handle,
				  O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && fstat(volume_fd(scan->volume), &root) == 0 &&
	    (scan->dir = fdopendir(fd))) {
		scan->dev = st.st_dev;
		if (st.st_ino == root.st_ino)
			look_at_root(scan, &st);
		return true;
	}
	number = fd < 0 ? -fd : errno;
	if (fd >= 0)
		close(fd);
	*failed = !is_gone(number) && !skip(scan, "", number, error);
	return !*failed;
}

static bool next_entry(struct scan *scan, GError **error)
{
	struct dirent *entry;

	errno = 0;
	entry = readdir(scan->dir);
	if (!entry) {
		bool known = !errno || is_gone(errno) || skip(scan, "", errno, error);

		closedir(scan->dir);
		scan->dir = NULL;
		return known;
	}
	if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
		return true;
	return look_at_name(scan, entry->d_name, error);
}

enum scan_result scan_step(struct scan *scan, int64_t microseconds, GError **error)
{
	const int64_t end = g_get_monotonic_time() + microseconds;

	for (unsigned n = 1; n % LOOK_AT_CLOCK || g_get_monotonic_time() < end; n++) {
		if (!scan->rows_done) {
			scan->rows_done = !compare_row(scan);
			continue;
		}
		if (!scan->dir) {
			bool failed = false;

			if (next_directory(scan, &failed, error))
				continue;
			if (failed)
				return SCAN_FAILED;
			return SCAN_DONE;
		} else if (!next_entry(scan, error)) {
			return SCAN_FAILED;
		}
	}
	return SCAN_MORE;
}

/* Whether rows are to be compared, after all. */
static bool is_missed(struct scan *scan)
{
	const bool missed = scan->missed && !scan->unread && !scan->walked;

	scan->walked = true;
	scan->rows_done = !missed;
	scan->row.len = 0;
	return missed;
}

bool scan_end(struct scan *scan)
{
	if (scan->stack->len || is_missed(scan))
		return false;
	for (guint i = 0; !scan->whole_unread && i < scan->returned->len; i++) {
		const struct migrate_binding *dir =
			&g_array_index(scan->returned, struct migrate_binding, i);

		if (dir->len)
			journal_store_looked(scan->store, dir);
	}
	return true;
}
