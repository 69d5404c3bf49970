/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/apply.h"

#include <string.h>
#include <sys/stat.h>

#include "journal/gap.h"
#include "journal/store/live.h"

#define NAMES_MAX 100000 /* about 50 MB; beyond it, names are what the order of events says */

/* A name that an object got or lost. */
struct name {
	struct migrate_binding object;
	struct journal_name name; /* kind is not used */
	bool was_there;
	bool touched;	 /* in this batch */
	int64_t settled; /* CLOCK_BOOTTIME: when its presence was looked up */
};

struct apply {
	struct volume *volume;
	struct journal_store *store;
	int64_t since;
	GHashTable *names;     /* struct name, its own key */
	GHashTable *doubtful;  /* struct migrate_binding: it may be gone */
	GHashTable *elsewhere; /* of this batch, struct migrate_binding -> flags: it may be ours */
	/* struct migrate_binding -> CLOCK_BOOTTIME: closed by who could write, its mtime says that
	 * nobody did; and when that was looked up */
	GHashTable *closed;
	struct scan *scan;
};

static guint hash_name(gconstpointer p)
{
	const struct name *name = p;

	return journal_handle_hash(&name->object) * 33 + journal_handle_hash(&name->name.parent) +
	       g_str_hash(name->name.name);
}

static gboolean equal_names(gconstpointer pa, gconstpointer pb)
{
	const struct name *a = pa, *b = pb;

	return migrate_binding_equal(&a->object, &b->object) &&
	       migrate_binding_equal(&a->name.parent, &b->name.parent) &&
	       !strcmp(a->name.name, b->name.name);
}

struct apply *apply_new(struct volume *volume, struct journal_store *store, int64_t since)
{
	struct apply *apply = g_new0(struct apply, 1);

	apply->volume = volume;
	apply->store = store;
	apply->since = since;
	apply->names = g_hash_table_new_full(hash_name, equal_names, g_free, NULL);
	apply->doubtful =
		g_hash_table_new_full(journal_handle_hash, journal_handle_equal, g_free, NULL);
	apply->elsewhere =
		g_hash_table_new_full(journal_handle_hash, journal_handle_equal, g_free, NULL);
	apply->closed =
		g_hash_table_new_full(journal_handle_hash, journal_handle_equal, g_free, g_free);
	return apply;
}

void apply_abort(struct apply *apply)
{
	g_hash_table_remove_all(apply->names);
	g_hash_table_remove_all(apply->doubtful);
	g_hash_table_remove_all(apply->elsewhere);
	g_hash_table_remove_all(apply->closed);
}

void apply_free(struct apply *apply)
{
	if (!apply)
		return;
	g_hash_table_destroy(apply->names);
	g_hash_table_destroy(apply->doubtful);
	g_hash_table_destroy(apply->elsewhere);
	g_hash_table_destroy(apply->closed);
	g_free(apply);
}

/* ---- what was written and is not told -------------------------------------------------------- */

/*
 * Something was written through a descriptor that is closed now, maybe in a way that is not told
 * (a mapping, AIO): then its mtime moved, and setting that back changes attributes, which is told.
 * For a new file the question does not matter.
 */
static bool was_written(struct apply *apply, const struct migrate_binding *object)
{
	struct journal_row row;
	struct stat st = {0};

	if (journal_store_find(apply->store, object, &row) &&
	    row.flags & (JOURNAL_DATA | JOURNAL_META | JOURNAL_MADE))
		return true;
	return volume_exists(apply->volume, object, &st) && migrate_ns(st.st_mtim) >= apply->since;
}

static void note_closed(struct apply *apply, const struct migrate_binding *object)
{
	int64_t *settled = g_new(int64_t, 1);

	*settled = journal_boottime();
	g_hash_table_insert(apply->closed, g_memdup2(object, sizeof(*object)), settled);
}

/* Who set the mtime back may be told of after the closing, and in the next batch. */
static void look_at_closed(struct apply *apply, int64_t settled)
{
	const bool full = g_hash_table_size(apply->closed) >= NAMES_MAX;
	GHashTableIter iter;
	gpointer key, looked;

	g_hash_table_iter_init(&iter, apply->closed);
	while (g_hash_table_iter_next(&iter, &key, &looked)) {
		const bool written = was_written(apply, key);

		if (written || full)
			journal_store_touch(apply->store, key, JOURNAL_DATA, NULL);
		if (written || full || *(int64_t *)looked <= settled)
			g_hash_table_iter_remove(&iter);
	}
}

/* Where it is no object of another tree, as far as anybody can tell: the one name that is known
 * does not say where others are. */
static bool may_be_ours(const struct apply *apply, const struct migrate_binding *object)
{
	struct stat st = {0};

	return volume_exists(apply->volume, object, &st) &&
	       (st.st_nlink > 1 || volume_has(apply->volume, object));
}

static void look_elsewhere(struct apply *apply)
{
	GHashTableIter iter;
	gpointer key, value;

	g_hash_table_iter_init(&iter, apply->elsewhere);
	while (g_hash_table_iter_next(&iter, &key, &value))
		if (journal_store_find(apply->store, key, NULL) || may_be_ours(apply, key))
			journal_store_touch(apply->store, key, GPOINTER_TO_UINT(value), NULL);
	g_hash_table_remove_all(apply->elsewhere);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Before the store is told.  Names of what was made are of no interest. */
static void remember_name(struct apply *apply, const struct migrate_binding *object,
			  const struct journal_place *place, bool came)
{
	struct journal_row row;
	struct name *name, *known;
	enum journal_was was;

	if (journal_store_find(apply->store, object, &row) && row.flags & JOURNAL_MADE)
		return;
	name = g_new0(struct name, 1);
	name->object = *object;
	name->name.parent = place->dir;
	g_strlcpy(name->name.name, place->name, sizeof(name->name.name));
	known = g_hash_table_lookup(apply->names, name);
	if (known) {
		known->touched = true;
		g_free(name);
		return;
	}
	if (g_hash_table_size(apply->names) >= NAMES_MAX)
		g_hash_table_remove_all(apply->names);
	was = journal_store_was(apply->store, object, place);
	name->was_there = was == JOURNAL_WAS_UNKNOWN ? !came : was == JOURNAL_WAS_THERE;
	name->touched = true;
	g_hash_table_add(apply->names, name);
}

static void note_doubt(struct apply *apply, const struct migrate_binding *object)
{
	g_hash_table_add(apply->doubtful, g_memdup2(object, sizeof(*object)));
}

/* What is so now, of what the batch was about. */
static void look_up(struct apply *apply, int64_t settled)
{
	GHashTableIter iter;
	gpointer key;

	g_hash_table_iter_init(&iter, apply->names);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		struct name *name = key;
		const struct journal_place place = {name->name.parent, name->name.name};

		if (name->touched) {
			int holds =
				volume_holds(apply->volume, &name->object, &place.dir, place.name);

			name->settled = journal_boottime();
			name->touched = false;
			if (holds >= 0) /* else it is as the events say */
				journal_store_name(apply->store, &name->object, &place,
						   name->was_there, holds);
		} else if (name->settled <= settled) {
			g_hash_table_iter_remove(&iter);
		}
	}
	g_hash_table_iter_init(&iter, apply->doubtful);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		if (!volume_exists(apply->volume, key, NULL))
			journal_store_gone(apply->store, key);
	g_hash_table_remove_all(apply->doubtful);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void apply_came(struct apply *apply, const struct event *event)
{
	const bool directory = event->mask & FAN_ONDIR;

	if (journal_store_find(apply->store, &event->object, NULL))
		remember_name(apply, &event->object, &event->from, true);
	journal_store_made(apply->store, &event->object, directory, &event->from);
	if (directory)
		volume_note(apply->volume, &event->object, VOLUME_WITHIN);
}

static void apply_went(struct apply *apply, const struct event *event)
{
	remember_name(apply, &event->object, &event->from, false);
	journal_store_removed(apply->store, &event->object, event->mask & FAN_ONDIR, &event->from);
	note_doubt(apply, &event->object);
}

/* One of several names' events; which of them was the last is to be seen. */
static void came_or_went(struct apply *apply, const struct event *event)
{
	const bool both = event->mask & FAN_CREATE && event->mask & FAN_DELETE;

	if (both &&
	    volume_holds(apply->volume, &event->object, &event->from.dir, event->from.name) > 0) {
		apply_went(apply, event);
		apply_came(apply, event);
		return;
	}
	if (event->mask & FAN_CREATE)
		apply_came(apply, event);
	if (event->mask & FAN_DELETE)
		apply_went(apply, event);
}

/* Into the volume, or out of it.  What happens to an object out there is not told, nor is what
 * happens below a directory, in whatever other one that comes back. */
static void apply_crossed(struct apply *apply, const struct event *event, bool known, bool in)
{
	struct journal_durable *state = journal_store_state(apply->store);
	const bool directory = event->mask & FAN_ONDIR;

	if (directory && !in) {
		state->left = true;
	} else if (directory && state->left) {
		journal_store_touch(apply->store, &event->object, JOURNAL_RETURNED, NULL);
		scan_returned(apply->scan, &event->object);
		gap_open(state, state->seen, "moved in");
	} else if (!directory && in && known) {
		journal_store_touch(apply->store, &event->object, JOURNAL_DATA | JOURNAL_META,
				    NULL);
	}
}

/* A scan may find it neither where it was nor where it is: then its row says what the scan would,
 * as far as that can be known.  A directory is visited (scan_moved()), and below one that came back
 * everything counts: then it is true. */
static bool moved_in_gap(struct apply *apply, const struct event *event)
{
	const struct journal_durable *state = journal_store_state(apply->store);

	if (state->gap == INT64_MAX)
		return false;
	if (!(event->mask & FAN_ONDIR)) {
		/* The next one meets it where it is, with the ctime of now.  What cannot be looked
		 * at keeps the gap meanwhile. */
		if (apply->scan)
			journal_store_touch(apply->store, &event->object,
					    JOURNAL_DATA | JOURNAL_META | JOURNAL_SCANNED, NULL);
		return false;
	}
	if (state->left)
		journal_store_touch(
			apply->store, &event->object,
			JOURNAL_META | JOURNAL_ENTRIES | JOURNAL_SCANNED | JOURNAL_RETURNED, NULL);
	return state->left;
}

static void apply_moved(struct apply *apply, const struct event *event)
{
	const bool directory = event->mask & FAN_ONDIR;
	const bool from = volume_part(apply->volume, &event->from.dir) == VOLUME_WITHIN;
	const bool to = volume_part(apply->volume, &event->to.dir) == VOLUME_WITHIN;
	const bool known = journal_store_find(apply->store, &event->object, NULL);
	bool whole = false;

	if (from)
		remember_name(apply, &event->object, &event->from, false);
	if (to && (from || known))
		remember_name(apply, &event->object, &event->to, true);
	if (from || to)
		journal_store_moved(apply->store, &event->object, directory,
				    from ? &event->from : NULL, to ? &event->to : NULL);
	if (from != to)
		apply_crossed(apply, event, known, to);
	else if (from)
		whole = moved_in_gap(apply, event);
	if (directory) {
		volume_forget(apply->volume);
		scan_moved(apply->scan, &event->object, whole);
	}
}

static unsigned changes_of(struct apply *apply, const struct event *event)
{
	unsigned flags = 0;

	if (event->mask & FAN_ATTRIB)
		flags |= JOURNAL_META;
	/* An mtime that is set alone is told as a modification. */
	if (event->mask & FAN_ONDIR)
		return flags | JOURNAL_DIRECTORY | (event->mask & FAN_MODIFY ? JOURNAL_META : 0);
	if (event->mask & FAN_MODIFY ||
	    (event->mask & FAN_CLOSE_WRITE && was_written(apply, &event->object)))
		flags |= JOURNAL_DATA;
	else if (event->mask & FAN_CLOSE_WRITE)
		note_closed(apply, &event->object);
	return flags;
}

/* Its directory is not told: its links changed, or it was opened by its handle. */
static void changed_somewhere(struct apply *apply, const struct event *event)
{
	const bool known = journal_store_find(apply->store, &event->object, NULL);
	unsigned flags;

	if (event->mask & FAN_ATTRIB) {
		journal_store_linked(apply->store, &event->object);
		note_doubt(apply, &event->object);
	}
	if (!known && !may_be_ours(apply, &event->object))
		return;
	flags = changes_of(apply, event);
	if (flags & ~(unsigned)JOURNAL_DIRECTORY)
		journal_store_touch(apply->store, &event->object, flags, NULL);
	if (event->mask & FAN_ATTRIB)
		moved_in_gap(apply, event);
}

/*
 * By a name of another tree, or of .migrate/.  A file may have more names than that one, and the
 * kernel tells the one by which it was opened, or that it has in memory.  What has it alone is that
 * tree's; whatever else is looked at when the batch is over, in which it may have come or left.
 */
static void changed_elsewhere(struct apply *apply, const struct event *event)
{
	gpointer before = g_hash_table_lookup(apply->elsewhere, &event->object);
	struct stat st = {0};
	unsigned flags;

	if (!(event->mask & (FAN_MODIFY | FAN_ATTRIB | FAN_CLOSE_WRITE)) ||
	    (!journal_store_find(apply->store, &event->object, NULL) &&
	     volume_exists(apply->volume, &event->object, &st) && st.st_nlink == 1 &&
	     volume_holds(apply->volume, &event->object, &event->from.dir, event->from.name) > 0))
		return;
	flags = changes_of(apply, event);
	if (flags)
		g_hash_table_insert(apply->elsewhere,
				    g_memdup2(&event->object, sizeof(event->object)),
				    GUINT_TO_POINTER(GPOINTER_TO_UINT(before) | flags));
}

static void apply_event(struct apply *apply, const struct event *event)
{
	const bool placed = event->from.dir.len, directory = event->mask & FAN_ONDIR;
	enum volume_part part = VOLUME_WITHIN;
	unsigned flags;

	if (event->mask & FAN_RENAME) {
		apply_moved(apply, event);
		return;
	}
	if (placed || directory)
		part = volume_part(apply->volume, placed ? &event->from.dir : &event->object);
	if (part == VOLUME_LINKS && placed && !directory) {
		changed_somewhere(apply, event);
		return;
	}
	if (part != VOLUME_WITHIN) {
		if (directory && event->mask & FAN_CREATE &&
		    strcmp(event->from.name, MIGRATE_LINKS_DIR) != 0)
			volume_note(apply->volume, &event->object, part);
		if (!directory)
			changed_elsewhere(apply, event);
		return;
	}
	if (!placed && !directory) {
		changed_somewhere(apply, event);
		return;
	}
	/* nobody's change, even where the retriever was not known yet when it made it */
	if (directory && volume_part(apply->volume, &event->object) == VOLUME_PRIVATE)
		return;
	came_or_went(apply, event);
	if (directory && event->mask & FAN_ATTRIB) /* or another one replaced it */
		note_doubt(apply, &event->object);
	flags = changes_of(apply, event);
	if (flags & ~(unsigned)JOURNAL_DIRECTORY && !(event->mask & FAN_DELETE))
		journal_store_touch(apply->store, &event->object, flags,
				    placed ? &event->from : NULL);
	else if (event->mask & FAN_DELETE && flags & JOURNAL_DATA)
		journal_store_touch(apply->store, &event->object, flags, NULL);
}

unsigned apply_batch(struct apply *apply, const struct watched *watched, struct scan *scan)
{
	unsigned senseless = 0;

	apply->scan = scan;
	/* the clock was set back: mtimes of what comes are before the switch */
	apply->since = MIN(apply->since, watched->seen);
	for (size_t at = 0; at < watched->len;) {
		const struct fanotify_event_metadata *bytes = (const void *)(watched->bytes + at);
		struct event event;

		if (event_decode(bytes, &event))
			apply_event(apply, &event);
		else
			senseless++;
		at += WATCH_ALIGNED(bytes->event_len);
	}
	look_up(apply, watched->settled);
	look_elsewhere(apply);
	look_at_closed(apply, watched->settled);
	return senseless;
}
