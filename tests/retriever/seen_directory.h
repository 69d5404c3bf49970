/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A volume with one directory, and the listing of it that is gone through (listing_sum.h). */
#ifndef TESTS_RETRIEVER_SEEN_DIRECTORY_H
#define TESTS_RETRIEVER_SEEN_DIRECTORY_H

#include "tests/retriever/core_copy.h"
#include "tests/retriever/core_hook.h"

#include "retriever/copies/listing_entries.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/copies/name_diff.h"

static struct listing_sum *seen;
static GArray *names_seen; /* as a fill keeps them */
static int dir;

/* A volume, and a directory of that name with n files that no listing has said. */
static inline void prepare_volume(const char *name, unsigned n, bool copying)
{
	g_autofree char *path = NULL;

	core_make(&core);
	core_open(&core);
	core_attach(&core);
	jobs_wait(core.retriever->jobs); /* it removes what is kept of listings */
	core.retriever->copying = copying;
	core_run(&core);
	core_connect(&core);
	path = core_path(&core, name);
	ck_assert_int_eq(g_mkdir_with_parents(path, 0755), 0);
	for (unsigned i = 0; i < n; i++) {
		g_autofree char *file = g_strdup_printf("f%u", i);

		write_file(path, file, "text");
	}
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	seen = listing_sum_new(core.retriever, dir);
	names_seen = listing_entries_array();
}

static inline void prepare(const char *name, unsigned n)
{
	prepare_volume(name, n, false);
}

static inline void note_names(const struct backend_batch *batch)
{
	for (guint i = 0; i < batch->entries->len; i++) {
		uint64_t hash = listing_sum_hash(
			g_array_index(batch->entries, struct source_entry, i).name);

		g_array_append_val(names_seen, hash);
	}
}

static inline int sweep_names(int dir_fd, const char *path)
{
	struct name_diff diff;
	int ret;

	name_diff_sort(names_seen, NULL);
	ck_assert_int_eq(name_diff_make(dir_fd, path && !*path, names_seen, &diff), 0);
	ret = listing_sum_sweep(core.retriever, seen, diff.unlisted, dir_fd, path);
	name_diff_clear(&diff);
	return ret;
}

static inline void begin_anew(void)
{
	listing_sum_reset(seen);
	g_array_set_size(names_seen, 0);
}

static inline void see_as(const char *const *names, struct source_entry entry)
{
	struct backend_batch *batch = backend_batch_new();

	for (; *names; names++)
		backend_batch_add(batch, *names, strlen(*names), &entry);
	note_names(batch);
	listing_sum_add(seen, batch);
	backend_batch_free(batch);
}

static inline void see(const char *const *names)
{
	see_as(names, (struct source_entry){0});
}

static inline void end(void)
{
	listing_sum_free(seen);
	g_array_unref(names_seen);
	core_free_with(&core, dir);
}

static inline bool is_whole(void)
{
	g_autoptr(GArray) not_whole = listing_sum_not_whole(core.retriever, dir);

	return not_whole && !not_whole->len;
}

static inline void list_anew(void)
{
	listing_sum_free(seen);
	seen = listing_sum_new(core.retriever, dir);
	g_array_set_size(names_seen, 0);
}

#endif
