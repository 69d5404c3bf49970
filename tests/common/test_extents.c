/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>

#include "common/extents.h"
#include "tests/common/support.h"

/* Everything is compared with a plain bitmap of the first 64 bytes. */
#define UNIVERSE 64

static uint64_t mask(uint64_t start, uint64_t end)
{
	uint64_t bits = 0;

	for (uint64_t i = start; i < end && i < UNIVERSE; i++)
		bits |= 1ull << i;
	return bits;
}

static uint64_t bits_of(const struct migrate_extents *set)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < set->n; i++) {
		ck_assert_uint_lt(set->v[i].start, set->v[i].end);
		if (i)
			ck_assert_uint_gt(set->v[i].start, set->v[i - 1].end);
		bits |= mask(set->v[i].start, set->v[i].end);
	}
	ck_assert_uint_le(set->n, set->alloc);
	return bits;
}

static void from_bits(struct migrate_extents *set, uint64_t bits)
{
	set->n = 0;
	for (int i = 0; i < UNIVERSE; i++) {
		if (bits >> i & 1)
			ck_assert_int_eq(migrate_extents_add(set, i, i + 1), 0);
	}
	ck_assert_uint_eq(bits_of(set), bits);
}

/* Sparse, dense and clustered bitmaps. */
static uint64_t random_bits(uint64_t *seed)
{
	uint64_t bits = (uint64_t)next_random(seed) << 32 | next_random(seed);

	switch (next_random(seed) % 4) {
	case 0:
		return bits & bits << 1;
	case 1:
		return bits | bits << 1 | bits << 2;
	case 2:
		return bits & bits << 1 & bits >> 2;
	default:
		return bits;
	}
}

static void check_queries(const struct migrate_extents *set, uint64_t bits)
{
	for (unsigned i = 0; i < UNIVERSE; i++) {
		struct migrate_extent found;
		uint64_t beyond = bits & ~mask(0, i);

		ck_assert_int_eq(migrate_extents_next(set, i, &found), beyond != 0);
		if (!beyond)
			continue;
		ck_assert_uint_gt(found.end, i);
		ck_assert_uint_eq(beyond & mask(i, found.start), 0);
		ck_assert_uint_eq(bits & mask(found.start, found.end),
				  mask(found.start, found.end));
	}
	ck_assert_uint_eq(migrate_extents_bytes(set), __builtin_popcountll(bits));
	ck_assert_int_eq(migrate_extents_empty(set), bits == 0);
}

START_TEST(ranges)
{
	uint64_t seed = 1;
	struct migrate_extents set = MIGRATE_EXTENTS_INIT, part = MIGRATE_EXTENTS_INIT;

	for (int round = 0; round < 1500; round++) {
		uint64_t bits = random_bits(&seed);
		uint64_t start = next_random(&seed) % UNIVERSE, end = next_random(&seed) % 65;

		from_bits(&set, bits);
		ck_assert_int_eq(migrate_extents_overlap(&set, start, end),
				 (bits & mask(start, end)) != 0);
		ck_assert_int_eq(migrate_extents_intersect(&set, start, end, &part), 0);
		ck_assert_uint_eq(bits_of(&part), bits & mask(start, end));
		ck_assert_uint_eq(bits_of(&set), bits);
		ck_assert_int_eq(migrate_extents_copy(&part, &set), 0);
		ck_assert_int_eq(migrate_extents_remove(&part, start, end), 0);
		ck_assert_uint_eq(bits_of(&part), bits & ~mask(start, end));
		ck_assert_int_eq(migrate_extents_copy(&part, &set), 0);
		ck_assert_int_eq(migrate_extents_add(&part, start, end), 0);
		ck_assert_uint_eq(bits_of(&part), bits | mask(start, end));
		check_queries(&part, bits | mask(start, end));
		migrate_extents_clip(&set, end);
		ck_assert_uint_eq(bits_of(&set), bits & mask(0, end));
	}
	migrate_extents_clear(&set);
	migrate_extents_clear(&part);
	ck_assert(!part.v && !part.n && !part.alloc);
}
END_TEST

START_TEST(sets)
{
	uint64_t seed = 2;
	struct migrate_extents a = MIGRATE_EXTENTS_INIT, b = MIGRATE_EXTENTS_INIT;

	for (int round = 0; round < 1500; round++) {
		uint64_t in_a = random_bits(&seed), in_b = random_bits(&seed);

		if (round % 5 == 0)
			in_b = mask(next_random(&seed) % 64, next_random(&seed) % 65);
		from_bits(&a, in_a);
		from_bits(&b, in_b);
		ck_assert_int_eq(migrate_extents_add_all(&a, &b), 0);
		ck_assert_uint_eq(bits_of(&a), in_a | in_b);
		from_bits(&a, in_a);
		ck_assert_int_eq(migrate_extents_remove_all(&a, &b), 0);
		ck_assert_uint_eq(bits_of(&a), in_a & ~in_b);
		ck_assert_uint_eq(bits_of(&b), in_b);
	}
	from_bits(&a, 0x1234);
	ck_assert_int_eq(migrate_extents_add_all(&a, &a), 0);
	ck_assert_uint_eq(bits_of(&a), 0x1234);
	ck_assert_int_eq(migrate_extents_remove_all(&a, &a), 0);
	ck_assert_uint_eq(bits_of(&a), 0);
	migrate_extents_clear(&a);
	migrate_extents_clear(&b);
}
END_TEST

START_TEST(ends_of_the_number_line)
{
	struct migrate_extents set = MIGRATE_EXTENTS_INIT;
	struct migrate_extent found;

	ck_assert_int_eq(migrate_extents_add(&set, 5, UINT64_MAX), 0);
	ck_assert_int_eq(migrate_extents_add(&set, 0, 5), 0);
	ck_assert_uint_eq(set.n, 1);
	ck_assert_uint_eq(migrate_extents_bytes(&set), UINT64_MAX);
	ck_assert_int_eq(migrate_extents_add(&set, 0, UINT64_MAX), 0);
	ck_assert_uint_eq(set.n, 1);
	ck_assert(!migrate_extents_next(&set, UINT64_MAX, &found));
	ck_assert(migrate_extents_overlap(&set, UINT64_MAX - 1, UINT64_MAX));
	ck_assert_int_eq(migrate_extents_remove(&set, 10, 20), 0);
	ck_assert_uint_eq(set.n, 2);
	ck_assert_int_eq(migrate_extents_add(&set, 20, 20), 0);
	ck_assert_int_eq(migrate_extents_remove(&set, 30, 25), 0);
	ck_assert_uint_eq(set.n, 2);
	migrate_extents_clip(&set, 0);
	ck_assert(migrate_extents_empty(&set));
	migrate_extents_clear(&set);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("extents");

	tcase_add_test(tcase, ranges);
	tcase_add_test(tcase, sets);
	tcase_add_test(tcase, ends_of_the_number_line);
	return run_case(tcase);
}
