/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/fill_order.h"

#include <string.h>

#define PAGE 1000 /* entries */

struct packed {
	struct source_attr attr;
	bool has_attr, has_handle;
	uint8_t handle_len, name_len;
	uint8_t bytes[MIGRATE_HANDLE_MAX + 255]; /* the handle, the name */
};

G_STATIC_ASSERT(sizeof(struct packed) <= SORTER_ENTRY_MAX);

static gint by_fileid(gconstpointer a, gconstpointer b)
{
	const struct source_entry *x = a, *y = b;

	return x->attr.fileid < y->attr.fileid ? -1 : x->attr.fileid > y->attr.fileid;
}

void directory_order_batch(struct backend_batch *batch)
{
	g_array_sort(batch->entries, by_fileid);
}

static bool keep_order(struct sorter *sorter, const struct source_entry *entry)
{
	struct packed packed = {.attr = entry->attr,
				.has_attr = entry->has_attr,
				.has_handle = entry->has_handle,
				.handle_len = entry->handle_len,
				.name_len = (uint8_t)strlen(entry->name)};

	memcpy(packed.bytes, entry->handle, entry->handle_len);
	memcpy(packed.bytes + entry->handle_len, entry->name, packed.name_len);
	return sorter_add(sorter, entry->attr.fileid, &packed,
			  offsetof(struct packed, bytes) + packed.handle_len + packed.name_len);
}

guint directory_order_keep(struct sorter *sorter, const struct backend_batch *batch)
{
	guint n = 0;

	while (n < batch->entries->len &&
	       keep_order(sorter, &g_array_index(batch->entries, struct source_entry, n)))
		n++;
	return n;
}

static void unpack(const void *bytes, size_t len, struct backend_batch *batch)
{
	struct source_entry entry = {0};
	struct packed packed;

	memcpy(&packed, bytes, len);
	entry.has_attr = packed.has_attr;
	entry.has_handle = packed.has_handle;
	entry.attr = packed.attr;
	entry.handle_len = packed.handle_len;
	memcpy(entry.handle, packed.bytes, packed.handle_len);
	backend_batch_add(batch, (const char *)packed.bytes + packed.handle_len, packed.name_len,
			  &entry);
}

struct backend_batch *directory_order_take(struct sorter *sorter, int *status)
{
	struct backend_batch *batch = backend_batch_new();
	const void *bytes;
	int len = 0;

	while (batch->entries->len < PAGE && (len = sorter_take(sorter, &bytes)) > 0)
		unpack(bytes, (size_t)len, batch);
	*status = MIN(len, 0);
	if (batch->entries->len > 0 && !*status)
		return batch;
	backend_batch_free(batch);
	return NULL;
}
