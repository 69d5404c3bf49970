/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A volume with one directory, and the listing of it that is gone through (volume/seen.h). */
#ifndef TESTS_RETRIEVER_SEEN_DIRECTORY_H
#define TESTS_RETRIEVER_SEEN_DIRECTORY_H

#include "core_copy.h"
#include "core_hook.h"

#include "volume/seen.h"

static struct seen *seen;
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
	seen = seen_new(core.retriever, dir);
}

static inline void prepare(const char *name, unsigned n)
{
	prepare_volume(name, n, false);
}

static inline void see_as(const char *const *names, struct source_entry entry)
{
	struct backend_batch *batch = backend_batch_new();

	for (; *names; names++)
		backend_batch_add(batch, *names, strlen(*names), &entry);
	seen_add(seen, batch);
	backend_batch_free(batch);
}

static inline void see(const char *const *names)
{
	see_as(names, (struct source_entry){0});
}

static inline void end(void)
{
	seen_free(seen);
	close(dir);
	core_free(&core);
}

static inline bool is_whole(void)
{
	g_autoptr(GArray) not_whole = seen_not_whole(core.retriever, dir);

	return not_whole && !not_whole->len;
}

static inline void list_anew(void)
{
	seen_free(seen);
	seen = seen_new(core.retriever, dir);
}

#endif
