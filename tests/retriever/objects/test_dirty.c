/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

#include "retriever/objects/dirty.h"

#define SIZE (4 * MIB)

static int make_file(void)
{
	g_autofree char *path = g_strconcat(core_base, "/f", NULL);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	return fd;
}

static void put(int fd, uint64_t start, uint64_t end)
{
	g_autofree uint8_t *data = core_bytes(9, start, end - start);

	ck_assert_int_eq(pwrite(fd, data, end - start, start), end - start);
}

/* Bytes stay as they are, to the byte; what is a hole is lost, block by block. */
START_TEST(holes_are_lost)
{
	struct migrate_extents dirty = MIGRATE_EXTENTS_INIT, lost = MIGRATE_EXTENTS_INIT;
	int fd = make_file();

	put(fd, 100, 300);
	put(fd, MIB, 2 * MIB);
	put(fd, SIZE - 50, SIZE);
	ck_assert_int_eq(dirty_write_again(fd, &dirty, &lost), 0);
	migrate_extents_add(&dirty, 100, 300);
	migrate_extents_add(&dirty, MIB - 8192, MIB + 10);
	migrate_extents_add(&dirty, MIB + 20, 3 * MIB);
	migrate_extents_add(&dirty, SIZE - 50, SIZE);
	ck_assert_int_eq(dirty_write_again(fd, &dirty, &lost), 0);
	ck_assert_uint_eq(lost.n, 2);
	ck_assert_uint_eq(lost.v[0].start, MIB - 8192);
	ck_assert_uint_eq(lost.v[0].end, MIB);
	ck_assert_uint_eq(lost.v[1].start, 2 * MIB);
	ck_assert_uint_eq(lost.v[1].end, 3 * MIB);
	core_expect(fd, 100, 200, 9);
	core_expect(fd, MIB, MIB, 9);
	core_expect(fd, SIZE - 50, 50, 9);
	core_expect_zeros(fd, 300, 4000);
	migrate_extents_clear(&dirty);
	migrate_extents_clear(&lost);
	close(fd);
}
END_TEST

/* What cannot be reached any more, beyond a new end say, is lost, too. */
START_TEST(what_is_cut_off_is_lost)
{
	struct migrate_extents dirty = MIGRATE_EXTENTS_INIT, lost = MIGRATE_EXTENTS_INIT;
	int fd = make_file();

	put(fd, 0, MIB);
	ck_assert_int_eq(ftruncate(fd, MIB / 2), 0);
	migrate_extents_add(&dirty, 0, MIB);
	ck_assert_int_eq(dirty_write_again(fd, &dirty, &lost), 0);
	ck_assert_uint_eq(lost.n, 1);
	ck_assert_uint_eq(lost.v[0].start, MIB / 2);
	ck_assert_uint_eq(lost.v[0].end, MIB);
	migrate_extents_clear(&dirty);
	migrate_extents_clear(&lost);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("dirty", 60);

	tcase_add_test(tcase, holes_are_lost);
	tcase_add_test(tcase, what_is_cut_off_is_lost);
	return run_tcase(tcase);
}
