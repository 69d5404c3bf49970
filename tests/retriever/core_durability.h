/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file "f" of SIZE bytes on the old server, of which what comes is made durable here; and mounts
 * that the test tells apart.  Include in one file of a program. */
#ifndef TESTS_RETRIEVER_CORE_DURABILITY_H
#define TESTS_RETRIEVER_CORE_DURABILITY_H

#include "tests/retriever/core_hook.h"

#include "retriever/data/durability.h"

#define SIZE (64 * KIB)

static struct core core;

/* Another mount: this overrides the library's. */
static uint8_t mount_epoch[MIGRATE_EPOCH_LEN] = "one";

bool migrate_mount_epoch(int fd, uint8_t *epoch)
{
	memcpy(epoch, mount_epoch, sizeof mount_epoch);
	return true;
}

static inline int start(void)
{
	core_make(&core);
	core_source_file(&core, "f", SIZE, 1);
	core_start(&core);
	return core_find(&core, "f", O_RDWR);
}

static inline int core_sync_object(struct object *object)
{
	struct migrate_waiter *w = migrate_waiter_new();

	durability_sync_later(object, migrate_waiter_done, w);
	return core_wait(w);
}

#endif
