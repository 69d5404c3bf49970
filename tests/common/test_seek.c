/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>

#include "common/migrate.h"
#include "common/record.h"
#include "tests/common/support.h"

#define BLOCK 4096
#define SIZE  (20 * BLOCK + 100)

/* Blocks of the file that have data. */
static bool data[21];
static struct migrate_extents missing;
static int error;

static int below(void *arg, bool hole, uint64_t offset, uint64_t *at)
{
	ck_assert_ptr_eq(arg, data);
	if (error)
		return error;
	if (offset >= SIZE)
		return -ENXIO;
	for (*at = offset; *at < SIZE; *at += BLOCK - *at % BLOCK)
		if (data[*at / BLOCK] != hole)
			return 0;
	if (!hole)
		return -ENXIO;
	*at = SIZE;
	return 0;
}

static const struct migrate_seek file = {SIZE, BLOCK, below, data};

static void setup(void)
{
	memset(data, 0, sizeof(data));
	error = 0;
}

static void teardown(void)
{
	migrate_extents_clear(&missing);
}

static void is_missing(uint64_t start, uint64_t end)
{
	ck_assert_int_eq(migrate_extents_add(&missing, start, end), 0);
}

static int seek(bool hole, uint64_t offset, uint64_t *at)
{
	struct migrate_stub stub = {.state = MIGRATE_PARTIAL, .ranges = &missing};

	return migrate_stub_seek(&stub, &file, hole, offset, at);
}

static void finds(bool hole, uint64_t offset, uint64_t expected)
{
	uint64_t at = 1;

	ck_assert_int_eq(seek(hole, offset, &at), 0);
	ck_assert_uint_eq(at, expected);
}

START_TEST(all_missing)
{
	is_missing(0, SIZE);
	finds(false, 0, 0);
	finds(false, 5000, 5000);
	finds(false, SIZE - 1, SIZE - 1);
	finds(true, 0, SIZE);
	finds(true, SIZE - 1, SIZE);
}
END_TEST

START_TEST(nothing_missing)
{
	uint64_t at;

	data[3] = data[4] = true;
	finds(false, 0, 3 * BLOCK);
	finds(true, 0, 0);
	finds(true, 3 * BLOCK + 5, 5 * BLOCK);
	ck_assert_int_eq(seek(false, 5 * BLOCK, &at), -ENXIO);
}
END_TEST

/* Data, a missing range right after it, a hole, a missing range inside of a block, a hole. */
START_TEST(mixed)
{
	uint64_t at;

	data[2] = data[10] = true;
	is_missing(3 * BLOCK, 5 * BLOCK);
	is_missing(8 * BLOCK + 10, 8 * BLOCK + 20);
	finds(false, 0, 2 * BLOCK);
	finds(true, 2 * BLOCK, 5 * BLOCK);
	finds(false, 5 * BLOCK, 8 * BLOCK);
	finds(false, 8 * BLOCK + 15, 8 * BLOCK + 15);
	finds(false, 8 * BLOCK + 30, 8 * BLOCK + 30); /* a block that will be data */
	finds(true, 8 * BLOCK, 9 * BLOCK);
	finds(true, 8 * BLOCK + 30, 9 * BLOCK);
	finds(false, 9 * BLOCK, 10 * BLOCK);
	ck_assert_int_eq(seek(false, 11 * BLOCK, &at), -ENXIO);
}
END_TEST

START_TEST(tail)
{
	data[19] = true;
	is_missing(20 * BLOCK, SIZE);
	finds(true, 19 * BLOCK, SIZE);
	finds(false, 20 * BLOCK + 99, 20 * BLOCK + 99);
}
END_TEST

START_TEST(beyond_the_end)
{
	uint64_t at;

	is_missing(0, SIZE);
	ck_assert_int_eq(seek(false, SIZE, &at), -ENXIO);
	ck_assert_int_eq(seek(true, SIZE, &at), -ENXIO);
}
END_TEST

START_TEST(errors)
{
	uint64_t at;

	is_missing(0, SIZE);
	error = -EIO;
	ck_assert_int_eq(seek(false, 0, &at), -EIO);
	ck_assert_int_eq(seek(true, 0, &at), -EIO);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("seek");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, all_missing);
	tcase_add_test(tcase, nothing_missing);
	tcase_add_test(tcase, mixed);
	tcase_add_test(tcase, tail);
	tcase_add_test(tcase, beyond_the_end);
	tcase_add_test(tcase, errors);
	return run_tcase(tcase);
}
