/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The index of the list of errors, in memory: each entry has its hashes, the offset of its line in
 * the file, and the number of its reason.  An entry takes 40 bytes, and 8 to 16 bytes in the
 * tables.  An entry keeps its place as long as it is in the list, so that a listing by page neither
 * misses nor repeats an entry.  Not locked.
 *
 * Hashes have 64 bits and begin with a secret.  In a list of a million entries two of them have the
 * same hash with a probability of one in thirty million; then the list lacks one entry, but the
 * object's record still says that it failed.
 */
#ifndef RETRIEVER_OBJECTS_ERRORS_INDEX_H
#define RETRIEVER_OBJECTS_ERRORS_INDEX_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Places are counted from 1 here; 0 is none. */
struct errors_slot {
	uint64_t object; /* the object, or a name's directory */
	uint64_t entry;	 /* object and name; the same as `object` for the object itself */
	uint64_t offset : 48;
	uint64_t reason : 16;
	uint32_t path;			   /* hash; 0: the slot is free */
	uint32_t next;			   /* in its chain of `entries`, or of free ones */
	uint32_t next_name, previous_name; /* in its chain of `directories` */
};

struct errors_index {
	struct errors_slot *slots;
	uint32_t used, room, free;
	uint32_t count, names;
	uint32_t *entries, *directories; /* the chains' first places, by the end of the hash */
	uint32_t mask;
};

void errors_index_clear(struct errors_index *index);
/* NULL: there is none (any more). */
struct errors_slot *errors_index_at(struct errors_index *index, uint32_t place);
uint32_t errors_index_find(struct errors_index *index, uint64_t entry);
/* The new slot, of which offset, reason and path are the caller's; path is not 0. */
struct errors_slot *errors_index_add(struct errors_index *index, uint64_t object, uint64_t entry);
void errors_index_remove(struct errors_index *index, uint32_t place);
/* The first name of that directory, and the one after another. */
uint32_t errors_index_name(struct errors_index *index, uint64_t directory, uint32_t after);

/* Goes on from `hash`, which is the secret at first. */
uint64_t errors_hash(uint64_t hash, const void *bytes, size_t len);

#endif
