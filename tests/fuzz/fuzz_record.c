/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The record's decoder: what it accepts is in range, and is the one encoding of what it means.  The
 * checksum at the end is made right first, or nothing but it would be tested; inputs whose first
 * byte is odd keep their own.
 */
#include <string.h>

#include "common/crc32c.h"
#include "common/record.h"
#include "tests/fuzz/fuzz.h"

static void check_set(const struct migrate_extents *set, uint64_t size)
{
	for (size_t i = 0; i < set->n; i++) {
		REQUIRE(set->v[i].start < set->v[i].end && set->v[i].end <= size);
		REQUIRE(!i || set->v[i].start > set->v[i - 1].end);
	}
}

static void check(const uint8_t *data, size_t size)
{
	struct migrate_record rec;
	uint8_t again[MIGRATE_REC_MAX];

	if (migrate_record_decode(data, size, &rec) < 0) {
		REQUIRE(!rec.path && !rec.missing.v && !rec.dirty.v);
		return;
	}
	REQUIRE(rec.state != MIGRATE_NORMAL && rec.state <= MIGRATE_FILLED);
	REQUIRE(rec.binding.len >= 1 && rec.binding.len <= MIGRATE_BINDING_MAX);
	REQUIRE(rec.handle_len <= MIGRATE_HANDLE_MAX && rec.size <= INT64_MAX);
	REQUIRE(rec.diff_offset + rec.diff_len <= MIGRATE_HANDLE_MAX);
	REQUIRE(!rec.path || strlen(rec.path) <= MIGRATE_REC_MAX_PATH);
	check_set(&rec.missing, rec.size);
	check_set(&rec.dirty, rec.size);
	for (size_t i = 0; i < rec.dirty.n; i++)
		REQUIRE(migrate_extents_overlap(&rec.missing, rec.dirty.v[i].start,
						rec.dirty.v[i].end));
	REQUIRE(migrate_record_encode(&rec, again, sizeof(again)) == (ssize_t)size);
	REQUIRE(memcmp(data, again, size) == 0);
	migrate_record_clear(&rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size < 1)
		return 0;
	copy = malloc(size > 1 ? size - 1 : 1); /* exact, so that overruns are seen */
	REQUIRE(copy);
	memcpy(copy, data + 1, size - 1);
	if (size >= 5 && data[0] % 2 == 0) {
		uint32_t crc = migrate_crc32c(copy, size - 5);

		for (int i = 0; i < 4; i++)
			copy[size - 5 + i] = crc >> 8 * i;
	}
	check(copy, size - 1);
	free(copy);
	return 0;
}
