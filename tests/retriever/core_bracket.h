/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file "f" of SIZE bytes on the old server, and brackets of clients that change it. */
#ifndef TESTS_RETRIEVER_CORE_BRACKET_H
#define TESTS_RETRIEVER_CORE_BRACKET_H

#include "tests/retriever/core_hook.h"

#include "retriever/data/bracket.h"

#define READS (1u << BACKEND_READ)
#define SIZE  (64 * KIB)

static struct core core;

static inline void start(void)
{
	core_make(&core);
	core_source_file(&core, "f", SIZE, 1);
	core_start(&core);
}

static inline int find(void)
{
	return core_find(&core, "f", O_RDWR);
}

#endif
