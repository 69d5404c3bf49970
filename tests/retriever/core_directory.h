/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the check programs of directories share: a wide one on the old server, asked for. */
#ifndef TESTS_RETRIEVER_CORE_DIRECTORY_H
#define TESTS_RETRIEVER_CORE_DIRECTORY_H

#include "core_hook.h"

#include <dirent.h>

#include "ways/directory.h"
#include "volume/errors.h"

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

#endif
