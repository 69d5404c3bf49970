/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/progress/recount.h"

#include <fcntl.h>

struct recounts {
	GMutex turn;   /* waits for lock: no change begins while a walk waits */
	GRWLock lock;  /* read: around a change; a leaf, held over disk access */
	GMutex notes;  /* of all walks; a leaf */
	GSList *walks; /* of struct recount; lock */
};

struct note {
	gint64 ino; /* the key */
	gint64 size;
	unsigned changes;
	bool is_directory;
};

struct recount {
	struct recounts *all;
	GHashTable *notes; /* a set of struct note */
	bool stopped;
};

struct recounts *recounts_new(void)
{
	struct recounts *recounts = g_new0(struct recounts, 1);

	g_mutex_init(&recounts->turn);
	g_rw_lock_init(&recounts->lock);
	g_mutex_init(&recounts->notes);
	return recounts;
}

void recounts_free(struct recounts *recounts)
{
	if (!recounts)
		return;
	g_mutex_clear(&recounts->notes);
	g_rw_lock_clear(&recounts->lock);
	g_mutex_clear(&recounts->turn);
	g_free(recounts);
}

static struct note *find_recount(const struct recount *recount, ino_t ino)
{
	const gint64 key = ino;

	return g_hash_table_lookup(recount->notes, &key);
}

static void note(struct recount *recount, const struct stat *st, unsigned changes)
{
	struct note *note = find_recount(recount, st->st_ino);

	if (!note) {
		if (g_hash_table_size(recount->notes) >= RECOUNT_NOTES)
			return;
		note = g_new0(struct note, 1);
		note->ino = st->st_ino;
		note->is_directory = S_ISDIR(st->st_mode);
		g_hash_table_add(recount->notes, note);
	}
	note->changes |= changes;
	note->size = S_ISREG(st->st_mode) ? st->st_size : 0;
}

static void forget_recount(struct recount *recount, ino_t ino, unsigned changes)
{
	struct note *note = find_recount(recount, ino);

	if (!note)
		return;
	note->changes &= ~changes;
	if (!note->changes)
		g_hash_table_remove(recount->notes, note);
}

ino_t recount_begin(struct retriever *retriever, int fd, const char *name, unsigned changes)
{
	struct recounts *all = retriever->recounts;
	struct stat st;

	g_mutex_lock(&all->turn);
	g_rw_lock_reader_lock(&all->lock);
	g_mutex_unlock(&all->turn);
	if (!all->walks || fstatat(fd, name, &st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	g_mutex_lock(&all->notes);
	for (GSList *l = all->walks; l; l = l->next)
		note(l->data, &st, changes);
	g_mutex_unlock(&all->notes);
	return st.st_ino;
}

void recount_end(struct retriever *retriever, ino_t ino, unsigned changes, bool done)
{
	struct recounts *all = retriever->recounts;

	if (ino && !done) {
		g_mutex_lock(&all->notes);
		for (GSList *l = all->walks; l; l = l->next)
			forget_recount(l->data, ino, changes);
		g_mutex_unlock(&all->notes);
	}
	g_rw_lock_reader_unlock(&all->lock);
}

static void let_no_change_happen(struct recounts *all)
{
	g_mutex_lock(&all->turn);
	g_rw_lock_writer_lock(&all->lock);
	g_mutex_unlock(&all->turn);
}

struct recount *recount_new(struct retriever *retriever)
{
	struct recount *recount = g_new0(struct recount, 1);

	recount->all = retriever->recounts;
	recount->notes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	let_no_change_happen(recount->all);
	recount->all->walks = g_slist_prepend(recount->all->walks, recount);
	g_rw_lock_writer_unlock(&recount->all->lock);
	return recount;
}

void recount_saw(struct recount *recount, const struct stat *st, unsigned changes)
{
	g_mutex_lock(&recount->all->notes);
	forget_recount(recount, st->st_ino, RECOUNT_MADE | changes);
	g_mutex_unlock(&recount->all->notes);
}

static void add_recount(struct recount_sums *sums, const struct note *note)
{
	const bool made = note->changes & RECOUNT_MADE, whole = note->changes & RECOUNT_WHOLE;

	if (note->is_directory) {
		sums->directories += made;
		sums->unfilled += made - !!(note->changes & RECOUNT_FILLED);
		sums->directories_whole += whole;
		return;
	}
	sums->files += made;
	sums->bytes += made ? note->size : 0;
	sums->files_whole += whole;
	sums->bytes_whole += whole ? note->size : 0;
}

void recount_stop(struct recount *recount, struct recount_sums *sums)
{
	GHashTableIter iter;
	gpointer note;

	*sums = (struct recount_sums){0};
	let_no_change_happen(recount->all);
	recount->stopped = true;
	g_hash_table_iter_init(&iter, recount->notes);
	while (g_hash_table_iter_next(&iter, &note, NULL))
		add_recount(sums, note);
}

void recount_free(struct recount *recount)
{
	struct recounts *all = recount->all;

	if (!recount->stopped)
		let_no_change_happen(all);
	all->walks = g_slist_remove(all->walks, recount);
	g_rw_lock_writer_unlock(&all->lock);
	g_hash_table_destroy(recount->notes);
	g_free(recount);
}
