/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/sorted.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BUFFER	  (64 << 10) /* with so much or less there is no file */
#define FREE_PART 16	     /* of the free space, for one file */

struct place {
	uint64_t key;
	uint64_t at : 48, len : 16;
};

struct sorted {
	struct retriever *retriever;
	GArray *places; /* of struct place */
	guint taken;
	bool in_order;
	int fd;		/* -1: not needed up to now */
	uint64_t start; /* where `buffer` begins in the file, or would */
	uint8_t *buffer;
	uint32_t used;
	uint8_t entry[SORTED_ENTRY_MAX];
};

G_STATIC_ASSERT(sizeof(struct place) == 16);
G_STATIC_ASSERT(SORTED_ENTRY_MAX < 1 << 16);

struct sorted *sorted_new(struct retriever *retriever)
{
	struct sorted *sorted = g_new0(struct sorted, 1);

	sorted->retriever = retriever;
	sorted->fd = -1;
	return sorted;
}

void sorted_forget(struct sorted *sorted)
{
	if (sorted->places)
		g_atomic_int_add(&sorted->retriever->sorted, -(gint)sorted->places->len);
	g_clear_pointer(&sorted->places, g_array_unref);
	g_clear_pointer(&sorted->buffer, g_free);
	if (sorted->fd >= 0)
		close(sorted->fd);
	sorted->fd = -1;
	sorted->taken = sorted->used = 0;
	sorted->start = 0;
	sorted->in_order = false;
}

void sorted_free(struct sorted *sorted)
{
	if (!sorted)
		return;
	sorted_forget(sorted);
	g_free(sorted);
}

guint sorted_count(const struct sorted *sorted)
{
	return sorted->places ? sorted->places->len - sorted->taken : 0;
}

bool sorted_full(const struct sorted *sorted)
{
	return sorted_count(sorted) > 0 &&
	       g_atomic_int_get(&sorted->retriever->sorted) >= SORTED_MAX;
}

/* Names and what clients write have the rest. */
static bool may_take(int fd, uint64_t bytes)
{
	struct statvfs st;

	return fstatvfs(fd, &st) == 0 && bytes / st.f_frsize < st.f_bavail / FREE_PART;
}

static bool write_buffer(struct sorted *sorted)
{
	if (!may_take(sorted->retriever->staging_fd, sorted->start + sorted->used))
		return false;
	if (sorted->fd < 0)
		sorted->fd = openat(sorted->retriever->staging_fd, ".",
				    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (sorted->fd < 0 || pwrite(sorted->fd, sorted->buffer, sorted->used,
				     (off_t)sorted->start) != (ssize_t)sorted->used)
		return false;
	sorted->start += sorted->used;
	sorted->used = 0;
	return true;
}

bool sorted_add(struct sorted *sorted, uint64_t key, const void *bytes, uint32_t len)
{
	struct place place = {.key = key, .len = len};

	g_assert(len > 0 && len <= SORTED_ENTRY_MAX && !sorted->in_order);
	if (sorted_full(sorted))
		return false;
	if (!sorted->places) {
		sorted->places = g_array_new(FALSE, FALSE, sizeof(struct place));
		sorted->buffer = g_malloc(BUFFER);
	}
	if (sorted->used + len > BUFFER && !write_buffer(sorted))
		return false;
	place.at = sorted->start + sorted->used;
	memcpy(sorted->buffer + sorted->used, bytes, len);
	sorted->used += len;
	g_array_append_val(sorted->places, place);
	g_atomic_int_inc(&sorted->retriever->sorted);
	return true;
}

static bool is_before(const struct place *x, const struct place *y)
{
	return x->key != y->key ? x->key < y->key : x->at < y->at;
}

static void sift_down(struct place *v, guint i, guint n)
{
	const struct place moved = v[i];

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
static void put_in_order(struct place *v, guint n)
{
	for (guint i = n / 2; i-- > 0;)
		sift_down(v, i, n);
	while (n > 1) {
		const struct place last = v[--n];

		v[n] = v[0];
		v[0] = last;
		sift_down(v, 0, n);
	}
}

int sorted_take(struct sorted *sorted, const void **bytes)
{
	const struct place *place;
	uint32_t len;

	if (sorted_count(sorted) == 0) {
		sorted_forget(sorted);
		return 0;
	}
	if (!sorted->in_order)
		put_in_order((struct place *)sorted->places->data, sorted->places->len);
	sorted->in_order = true;
	place = &g_array_index(sorted->places, struct place, sorted->taken++);
	len = place->len;
	if (place->at >= sorted->start) {
		*bytes = sorted->buffer + (place->at - sorted->start);
		return (int)len;
	}
	*bytes = sorted->entry;
	if (pread(sorted->fd, sorted->entry, len, (off_t)place->at) == (ssize_t)len)
		return (int)len;
	sorted_forget(sorted);
	return -EIO;
}
