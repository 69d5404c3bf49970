/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the check programs of directories share: a wide one on the old server, asked for. */
#ifndef TESTS_RETRIEVER_CORE_DIRECTORY_H
#define TESTS_RETRIEVER_CORE_DIRECTORY_H

#include "tests/retriever/core_hook.h"

#include <dirent.h>

#include "retriever/names/fill.h"
#include "retriever/objects/errors.h"

#define LISTS (1u << BACKEND_READDIR)

static struct core core;

static inline void make_files(const char *dir, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		g_autofree char *name = g_strdup_printf("%s/f%u", dir, i);

		core_source_file(&core, name, 100 + i, i);
	}
}

/* A volume whose old tree is "d" with n files; a descriptor of "d". */
static inline int begin(unsigned n)
{
	core_make(&core);
	make_files("d", n);
	core_start(&core);
	return core_find(&core, "d", O_RDONLY | O_DIRECTORY);
}

static inline unsigned count_names(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(copy);
	unsigned n = 0;
	struct dirent *e;

	while ((e = readdir(dir)))
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(dir);
	return n;
}

static inline int fill(int fd)
{
	return core_wait(core_ask_fill(&core, fd, 0));
}

static inline int open_below(int fd, const char *name, int flags)
{
	int new = openat(fd, name, flags | O_CLOEXEC);

	ck_assert_int_ge(new, 0);
	return new;
}

/* The directory that it is in gets its names: else it cannot be finished. */
static inline void fill_above(int fd)
{
	int up = open_below(fd, "..", O_RDONLY | O_DIRECTORY);

	if (core_state(up) == MIGRATE_UNFILLED)
		fill(up);
	close(up);
}

/* Everything of a directory, the names of the one that it is in, and its record's end. */
static inline int make_whole(int fd)
{
	int ret;

	fill_above(fd);
	ret = core_wait(core_ask_fill(&core, fd, MIGRATE_DATA | MIGRATE_BACKGROUND));

	ck_assert_int_eq(ret, 0);
	for (unsigned i = 0; i < 100; i++) {
		ret = core_finish(&core, fd);
		if (ret != -EAGAIN)
			break;
	}
	return ret;
}

/* Another name of a file on the old server. */
static inline void source_link(const char *name, const char *as)
{
	g_autofree char *from = g_strconcat(core.source, "/", name, NULL);
	g_autofree char *to = g_strconcat(core.source, "/", as, NULL);

	ck_assert_int_eq(link(from, to), 0);
}

#endif
