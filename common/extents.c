/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "common/extents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int reserve(struct migrate_extents *set, size_t n)
{
	struct migrate_extent *v;
	size_t alloc = set->alloc ? set->alloc : 2;

	if (n <= set->alloc)
		return 0;
	while (alloc < n)
		alloc *= 2;
	v = realloc(set->v, alloc * sizeof(*v));
	if (!v)
		return -ENOMEM;
	set->v = v;
	set->alloc = alloc;
	return 0;
}

/* Index of the first extent with end > offset; set->n when there is none. */
static size_t first_ending_beyond(const struct migrate_extents *set, uint64_t offset)
{
	size_t low = 0, high = set->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (set->v[mid].end > offset)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Index of the first extent with start >= offset; set->n when there is none. */
static size_t first_starting_at(const struct migrate_extents *set, uint64_t offset)
{
	size_t low = 0, high = set->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (set->v[mid].start >= offset)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Puts n extents in the place of those in [from, to).  The memory is reserved already. */
static void splice(struct migrate_extents *set, size_t from, size_t to,
		   const struct migrate_extent *with, size_t n)
{
	if (to < set->n && to != from + n)
		memmove(set->v + from + n, set->v + to, (set->n - to) * sizeof(*set->v));
	for (size_t i = 0; i < n; i++)
		set->v[from + i] = with[i];
	set->n = set->n - (to - from) + n;
}

void migrate_extents_clear(struct migrate_extents *set)
{
	free(set->v);
	*set = (struct migrate_extents)MIGRATE_EXTENTS_INIT;
}

int migrate_extents_copy(struct migrate_extents *to, const struct migrate_extents *from)
{
	int ret;

	if (to == from)
		return 0;
	ret = reserve(to, from->n);
	if (ret < 0)
		return ret;
	if (from->n)
		memcpy(to->v, from->v, from->n * sizeof(*to->v));
	to->n = from->n;
	return 0;
}

int migrate_extents_add(struct migrate_extents *set, uint64_t start, uint64_t end)
{
	struct migrate_extent merged = {start, end};
	size_t from, to;
	int ret;

	if (start >= end)
		return 0;
	/* Sets are mostly built in ascending order. */
	if (!set->n || set->v[set->n - 1].end < start) {
		from = to = set->n;
	} else {
		/* Neighbours that only touch are merged too. */
		from = start ? first_ending_beyond(set, start - 1) : 0;
		to = end == UINT64_MAX ? set->n : first_starting_at(set, end + 1);
		if (from < to) {
			if (set->v[from].start < start)
				merged.start = set->v[from].start;
			if (set->v[to - 1].end > end)
				merged.end = set->v[to - 1].end;
		}
	}
	ret = reserve(set, set->n - (to - from) + 1);
	if (ret < 0)
		return ret;
	splice(set, from, to, &merged, 1);
	return 0;
}

int migrate_extents_remove(struct migrate_extents *set, uint64_t start, uint64_t end)
{
	struct migrate_extent rest[2];
	size_t from, to, n = 0;
	int ret;

	if (start >= end)
		return 0;
	from = first_ending_beyond(set, start);
	to = first_starting_at(set, end);
	if (from >= to)
		return 0;
	if (set->v[from].start < start)
		rest[n++] = (struct migrate_extent){set->v[from].start, start};
	if (set->v[to - 1].end > end)
		rest[n++] = (struct migrate_extent){end, set->v[to - 1].end};
	ret = reserve(set, set->n - (to - from) + n);
	if (ret < 0)
		return ret;
	splice(set, from, to, rest, n);
	return 0;
}

/* Appends to a set under construction, whose memory is reserved: ascending starts. */
static void append(struct migrate_extents *set, struct migrate_extent extent)
{
	if (set->n && set->v[set->n - 1].end >= extent.start) {
		if (set->v[set->n - 1].end < extent.end)
			set->v[set->n - 1].end = extent.end;
		return;
	}
	set->v[set->n++] = extent;
}

int migrate_extents_add_all(struct migrate_extents *set, const struct migrate_extents *other)
{
	struct migrate_extents sum = MIGRATE_EXTENTS_INIT;
	size_t i = 0, j = 0;
	int ret;

	if (set == other || !other->n)
		return 0;
	if (other->n == 1)
		return migrate_extents_add(set, other->v[0].start, other->v[0].end);
	ret = reserve(&sum, set->n + other->n);
	if (ret < 0)
		return ret;
	while (i < set->n || j < other->n) {
		if (j == other->n || (i < set->n && set->v[i].start <= other->v[j].start))
			append(&sum, set->v[i++]);
		else
			append(&sum, other->v[j++]);
	}
	migrate_extents_clear(set);
	*set = sum;
	return 0;
}

int migrate_extents_remove_all(struct migrate_extents *set, const struct migrate_extents *other)
{
	struct migrate_extents rest = MIGRATE_EXTENTS_INIT;
	size_t j = 0;
	int ret;

	if (set == other) {
		set->n = 0;
		return 0;
	}
	if (!set->n || !other->n)
		return 0;
	if (other->n == 1)
		return migrate_extents_remove(set, other->v[0].start, other->v[0].end);
	ret = reserve(&rest, set->n + other->n);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < set->n; i++) {
		struct migrate_extent left = set->v[i];

		while (j < other->n && other->v[j].end <= left.start)
			j++;
		for (size_t k = j; k < other->n && other->v[k].start < left.end; k++) {
			if (other->v[k].start > left.start)
				rest.v[rest.n++] =
					(struct migrate_extent){left.start, other->v[k].start};
			left.start = other->v[k].end;
		}
		if (left.start < left.end)
			rest.v[rest.n++] = left;
	}
	migrate_extents_clear(set);
	*set = rest;
	return 0;
}

int migrate_extents_intersect(const struct migrate_extents *a, uint64_t start, uint64_t end,
			      struct migrate_extents *out)
{
	size_t from = first_ending_beyond(a, start), to = first_starting_at(a, end);
	int ret;

	if (start >= end || from >= to) {
		out->n = 0;
		return 0;
	}
	ret = reserve(out, to - from);
	if (ret < 0)
		return ret;
	memcpy(out->v, a->v + from, (to - from) * sizeof(*out->v));
	out->n = to - from;
	if (out->v[0].start < start)
		out->v[0].start = start;
	if (out->v[out->n - 1].end > end)
		out->v[out->n - 1].end = end;
	return 0;
}

void migrate_extents_clip(struct migrate_extents *set, uint64_t size)
{
	set->n = first_starting_at(set, size);
	if (set->n && set->v[set->n - 1].end > size)
		set->v[set->n - 1].end = size;
}

bool migrate_extents_overlap(const struct migrate_extents *set, uint64_t start, uint64_t end)
{
	size_t i = first_ending_beyond(set, start);

	return start < end && i < set->n && set->v[i].start < end;
}

bool migrate_extents_next(const struct migrate_extents *set, uint64_t offset,
			  struct migrate_extent *found)
{
	size_t i = first_ending_beyond(set, offset);

	if (i == set->n)
		return false;
	*found = set->v[i];
	return true;
}

uint64_t migrate_extents_bytes(const struct migrate_extents *set)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < set->n; i++)
		bytes += set->v[i].end - set->v[i].start;
	return bytes;
}
