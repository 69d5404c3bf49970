/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A set of byte ranges: sorted, disjoint, never touching, half-open [start, end).
 *
 * Used for missing sets (docs/architecture.md).  Offsets are bytes in 0..INT64_MAX, as off_t.  A
 * set grows on the heap; the functions that may grow it return 0 or -ENOMEM and leave the set as it
 * was when they fail.  Nothing here blocks or locks: the owner of a set serialises.
 */
#ifndef COMMON_EXTENTS_H
#define COMMON_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct migrate_extent {
	uint64_t start;
	uint64_t end;
};

struct migrate_extents {
	struct migrate_extent *v;
	size_t n;
	size_t alloc;
};

#define MIGRATE_EXTENTS_INIT                                                                       \
	{                                                                                          \
		NULL, 0, 0                                                                         \
	}

void migrate_extents_clear(struct migrate_extents *set); /* empties and frees */
/* to: an initialised set, as in all functions here */
int migrate_extents_copy(struct migrate_extents *to, const struct migrate_extents *from);
/* start >= end is the empty range: a no-op */
int migrate_extents_add(struct migrate_extents *set, uint64_t start, uint64_t end);
int migrate_extents_remove(struct migrate_extents *set, uint64_t start, uint64_t end);
int migrate_extents_add_all(struct migrate_extents *set, const struct migrate_extents *other);
int migrate_extents_remove_all(struct migrate_extents *set, const struct migrate_extents *other);
/* out = a AND [start, end); out, an initialised set, may not be a */
int migrate_extents_intersect(const struct migrate_extents *a, uint64_t start, uint64_t end,
			      struct migrate_extents *out);
/* Removes everything at and beyond size.  Never fails. */
void migrate_extents_clip(struct migrate_extents *set, uint64_t size);
bool migrate_extents_overlap(const struct migrate_extents *set, uint64_t start, uint64_t end);
/* Finds the first extent that ends beyond offset; false when there is none. */
bool migrate_extents_next(const struct migrate_extents *set, uint64_t offset,
			  struct migrate_extent *found);
uint64_t migrate_extents_bytes(const struct migrate_extents *set);
static inline bool migrate_extents_empty(const struct migrate_extents *set)
{
	return set->n == 0;
}

#endif
