/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The store on disk: a directory with an LMDB environment of four tables, and `live` (live.h).  It
 * is of this machine, like the handles in it: numbers are in the processor's order.
 *
 *   rows     handle -> flags u16, generation u64, [length u8, parent handle, name]
 *   names    handle -> kind u8, length u8, parent handle, name; several
 *   order    generation u64 -> handle; several.  One for each row
 *   leaving  handle -> nothing: what was made and is gone, until that is durable on the volume
 *   state    "state" -> struct journal_durable
 *
 * A handle is its type u8 and its bytes.
 *
 * A transaction is durable when it is committed, and torn by nothing.  `seen` is in the same
 * transaction as the rows of what was seen, so that after a kill or a power cut everything from
 * `seen` on is a gap and nothing before it is.  What is durable here may not be durable on the
 * volume, whose past a power cut brings back: a gap ends with a look at what every row says
 * (scan.h).
 */
#ifndef JOURNAL_STORE_LAYOUT_H
#define JOURNAL_STORE_LAYOUT_H

#include <stddef.h>

#include "journal/store/row.h"

#define JOURNAL_KEY_MAX	  (1 + MIGRATE_BINDING_MAX)
#define JOURNAL_VALUE_MAX (2 + 8 + 1 + JOURNAL_KEY_MAX + JOURNAL_NAME_MAX)
#define JOURNAL_FORMAT	  1

struct journal_durable {
	uint32_t format;     /* JOURNAL_FORMAT */
	uint32_t maybe;	     /* rows with JOURNAL_MAYBE */
	int64_t since, seen; /* as in journal_state */
	int64_t gap, filled;
	uint32_t gaps;
	uint32_t back; /* journal_state.back in s, rounded up */
	uint64_t generation;
	int64_t boottime;	     /* CLOCK_BOOTTIME when `seen` was the time of day */
	struct migrate_binding root; /* of which volume */
	uint64_t fsid;
	char boot[37]; /* of which boot (boot_id) */
	uint8_t left;  /* 1: a directory was moved out of the volume, and may come back */
	uint8_t spare[2];
	char reason[56];
	uint64_t salt; /* another in each store; 0: an earlier release made it */
};

/* Whether root_fd, no O_PATH, is the volume's root of which it is. */
bool journal_durable_is_of(const struct journal_durable *state, int root_fd);

/* The length. */
size_t journal_key_encode(const struct migrate_binding *handle, uint8_t *out);
size_t journal_row_encode(const struct journal_row *row, uint8_t *out);
size_t journal_name_encode(const struct journal_name *name, uint8_t *out);
/* false: the store is damaged. */
bool journal_key_decode(const void *bytes, size_t len, struct migrate_binding *handle);
/* Without the handle. */
bool journal_row_decode(const void *bytes, size_t len, struct journal_row *row);
bool journal_name_decode(const void *bytes, size_t len, struct journal_name *name);

/* Of a GHashTable whose keys are struct migrate_binding. */
guint journal_handle_hash(gconstpointer handle);
gboolean journal_handle_equal(gconstpointer a, gconstpointer b);

#endif
