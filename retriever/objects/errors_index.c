/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/errors_index.h"

#include <string.h>

#define TABLE_MIN 64

uint64_t errors_hash(uint64_t hash, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
	hash ^= hash >> 33; /* the tables take its end */
	hash *= UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 33;
}

static struct errors_slot *slot_at(struct errors_index *index, uint32_t place)
{
	return &index->slots[place - 1];
}

struct errors_slot *errors_index_at(struct errors_index *index, uint32_t place)
{
	bool there = place && place <= index->used && slot_at(index, place)->path;

	return there ? slot_at(index, place) : NULL;
}

static bool is_name(const struct errors_slot *slot)
{
	return slot->object != slot->entry;
}

static void link_slot(struct errors_index *index, uint32_t place)
{
	struct errors_slot *slot = slot_at(index, place);
	uint32_t *first = &index->entries[slot->entry & index->mask];

	slot->next = *first;
	*first = place;
	slot->next_name = slot->previous_name = 0;
	if (!is_name(slot))
		return;
	first = &index->directories[slot->object & index->mask];
	slot->next_name = *first;
	if (*first)
		slot_at(index, *first)->previous_name = place;
	*first = place;
}

static void unlink_slot(struct errors_index *index, uint32_t place)
{
	struct errors_slot *slot = slot_at(index, place);
	uint32_t *from = &index->entries[slot->entry & index->mask];

	while (*from != place)
		from = &slot_at(index, *from)->next;
	*from = slot->next;
	if (!is_name(slot))
		return;
	if (slot->previous_name)
		slot_at(index, slot->previous_name)->next_name = slot->next_name;
	else
		index->directories[slot->object & index->mask] = slot->next_name;
	if (slot->next_name)
		slot_at(index, slot->next_name)->previous_name = slot->previous_name;
}

static void grow_tables(struct errors_index *index)
{
	uint32_t n = index->entries ? 2 * (index->mask + 1) : TABLE_MIN;

	g_free(index->entries);
	g_free(index->directories);
	index->entries = g_new0(uint32_t, n);
	index->directories = g_new0(uint32_t, n);
	index->mask = n - 1;
	for (uint32_t place = 1; place <= index->used; place++)
		if (errors_index_at(index, place))
			link_slot(index, place);
}

static uint32_t free_place(struct errors_index *index)
{
	uint32_t place = index->free;

	if (place) {
		index->free = slot_at(index, place)->next;
		return place;
	}
	if (index->used == index->room) { /* little: all of it counts */
		index->room += index->room / 8 + TABLE_MIN;
		index->slots = g_renew(struct errors_slot, index->slots, index->room);
	}
	return ++index->used;
}

uint32_t errors_index_find(struct errors_index *index, uint64_t entry)
{
	uint32_t place = index->entries ? index->entries[entry & index->mask] : 0;

	while (place && slot_at(index, place)->entry != entry)
		place = slot_at(index, place)->next;
	return place;
}

struct errors_slot *errors_index_add(struct errors_index *index, uint64_t object, uint64_t entry)
{
	struct errors_slot *slot;
	uint32_t place;

	if (!index->entries || index->count > index->mask)
		grow_tables(index);
	place = free_place(index);
	slot = slot_at(index, place);
	*slot = (struct errors_slot){.object = object, .entry = entry, .path = 1};
	link_slot(index, place);
	index->count++;
	index->names += is_name(slot);
	return slot;
}

void errors_index_remove(struct errors_index *index, uint32_t place)
{
	struct errors_slot *slot = slot_at(index, place);

	unlink_slot(index, place);
	index->count--;
	index->names -= is_name(slot);
	slot->path = 0;
	slot->next = index->free;
	index->free = place;
	if (!index->count)
		errors_index_clear(index);
}

uint32_t errors_index_name(struct errors_index *index, uint64_t directory, uint32_t after)
{
	uint32_t place;

	if (!index->names)
		return 0;
	place = after ? slot_at(index, after)->next_name
		      : index->directories[directory & index->mask];
	while (place && slot_at(index, place)->object != directory)
		place = slot_at(index, place)->next_name;
	return place;
}

void errors_index_clear(struct errors_index *index)
{
	g_free(index->slots);
	g_free(index->entries);
	g_free(index->directories);
	memset(index, 0, sizeof *index);
}
