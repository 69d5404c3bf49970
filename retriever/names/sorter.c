/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/sorter.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/base/scratch_file.h"

#define BUFFER	  (64 << 10) /* with so much or less there is no file */
#define FREE_PART 16	     /* of the free space, for one file */

struct sorter_place {
	uint64_t key;
	uint64_t at : 48, len : 16;
};

struct sorter {
	struct retriever *retriever;
	GArray *places; /* of struct sorter_place */
	guint taken;
	bool in_order;
	int fd;		/* -1: not needed up to now */
	uint64_t start; /* where `buffer` begins in the file, or would */
	uint8_t *buffer;
	uint32_t used;
	uint8_t entry[SORTER_ENTRY_MAX];
};

G_STATIC_ASSERT(sizeof(struct sorter_place) == 16);
G_STATIC_ASSERT(SORTER_ENTRY_MAX < 1 << 16);

struct sorter *sorter_new(struct retriever *retriever)
{
	struct sorter *sorter = g_new0(struct sorter, 1);

	sorter->retriever = retriever;
	sorter->fd = -1;
	return sorter;
}

void sorter_forget(struct sorter *sorter)
{
	if (sorter->places)
		g_atomic_int_add(&sorter->retriever->sorter_entries, -(gint)sorter->places->len);
	g_clear_pointer(&sorter->places, g_array_unref);
	g_clear_pointer(&sorter->buffer, g_free);
	if (sorter->fd >= 0)
		close(sorter->fd);
	sorter->fd = -1;
	sorter->taken = sorter->used = 0;
	sorter->start = 0;
	sorter->in_order = false;
}

void sorter_free(struct sorter *sorter)
{
	if (!sorter)
		return;
	sorter_forget(sorter);
	g_free(sorter);
}

guint sorter_count(const struct sorter *sorter)
{
	return sorter->places ? sorter->places->len - sorter->taken : 0;
}

bool sorter_full(const struct sorter *sorter)
{
	return sorter_count(sorter) > 0 &&
	       g_atomic_int_get(&sorter->retriever->sorter_entries) >= SORTER_MAX;
}

/* Names and what clients write have the rest. */
static bool may_take(int fd, uint64_t bytes)
{
	struct statvfs st;

	return fstatvfs(fd, &st) == 0 && bytes / st.f_frsize < st.f_bavail / FREE_PART;
}

static bool write_buffer(struct sorter *sorter)
{
	if (!may_take(sorter->retriever->staging_fd, sorter->start + sorter->used))
		return false;
	if (sorter->fd < 0)
		sorter->fd = scratch_file(sorter->retriever->staging_fd);
	if (sorter->fd < 0 || pwrite(sorter->fd, sorter->buffer, sorter->used,
				     (off_t)sorter->start) != (ssize_t)sorter->used)
		return false;
	sorter->start += sorter->used;
	sorter->used = 0;
	return true;
}

bool sorter_add(struct sorter *sorter, uint64_t key, const void *bytes, uint32_t len)
{
	struct sorter_place place = {.key = key, .len = len};

	g_assert(len > 0 && len <= SORTER_ENTRY_MAX && !sorter->in_order);
	if (sorter_full(sorter))
		return false;
	if (!sorter->places) {
		sorter->places = g_array_new(FALSE, FALSE, sizeof(struct sorter_place));
		sorter->buffer = g_malloc(BUFFER);
	}
	if (sorter->used + len > BUFFER && !write_buffer(sorter))
		return false;
	place.at = sorter->start + sorter->used;
	memcpy(sorter->buffer + sorter->used, bytes, len);
	sorter->used += len;
	g_array_append_val(sorter->places, place);
	g_atomic_int_inc(&sorter->retriever->sorter_entries);
	return true;
}

static bool is_before(const struct sorter_place *x, const struct sorter_place *y)
{
	return x->key != y->key ? x->key < y->key : x->at < y->at;
}

static void sift_down(struct sorter_place *v, guint i, guint n)
{
	const struct sorter_place moved = v[i];

	for (guint child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && is_before(&v[child], &v[child + 1]))
			child++;
		if (!is_before(&moved, &v[child]))
			break;
		v[i] = v[child];
	}
	v[i] = moved;
}

/* A heap sort: glib's sort takes as much memory again. */
static void put_in_order(struct sorter_place *v, guint n)
{
	for (guint i = n / 2; i-- > 0;)
		sift_down(v, i, n);
	while (n > 1) {
		const struct sorter_place last = v[--n];

		v[n] = v[0];
		v[0] = last;
		sift_down(v, 0, n);
	}
}

int sorter_take(struct sorter *sorter, const void **bytes)
{
	const struct sorter_place *place;
	uint32_t len;

	if (sorter_count(sorter) == 0) {
		sorter_forget(sorter);
		return 0;
	}
	if (!sorter->in_order)
		put_in_order((struct sorter_place *)sorter->places->data, sorter->places->len);
	sorter->in_order = true;
	place = &g_array_index(sorter->places, struct sorter_place, sorter->taken++);
	len = place->len;
	if (place->at >= sorter->start) {
		*bytes = sorter->buffer + (place->at - sorter->start);
		return (int)len;
	}
	*bytes = sorter->entry;
	if (pread(sorter->fd, sorter->entry, len, (off_t)place->at) == (ssize_t)len)
		return (int)len;
	sorter_forget(sorter);
	return -EIO;
}
