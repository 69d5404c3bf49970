/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

#include "retriever/objects/sparse.h"

static int make_file(const char *name, off_t size)
{
	g_autofree char *path = g_strconcat(core_base, "/", name, NULL);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, size), 0);
	return fd;
}

static off_t used(int fd)
{
	struct stat st;

	ck_assert_int_eq(syscall(SYS_fsync, fd), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_blocks * 512;
}

/* But for what is told to need none. */
static void expect_blocks(int fd, uint64_t start, uint64_t end, const struct migrate_extents *zeros)
{
	struct migrate_extents need = MIGRATE_EXTENTS_INIT;

	ck_assert_int_eq(migrate_extents_add(&need, start, end), 0);
	ck_assert_int_eq(migrate_extents_remove_all(&need, zeros), 0);
	for (size_t i = 0; i < need.n; i++)
		ck_assert(!sparse_has_hole(fd, need.v[i].start, need.v[i].end));
	migrate_extents_clear(&need);
}

/* Any mixture of zeros and bytes, at any offset, over any content. */
START_TEST(what_was_written_is_read)
{
	enum { SIZE = 65536 };
	g_autofree uint8_t *data = g_malloc0(SIZE), *got = g_malloc(SIZE);
	unsigned x = 1;

	for (unsigned round = 0; round < 60; round++) {
		struct migrate_extents zeros = MIGRATE_EXTENTS_INIT;
		int fd = make_file("f", SIZE);
		uint64_t offset = round * 37 % 5000;
		size_t len = SIZE - offset - round * 11;

		if (round % 2) {
			memset(got, 0xaa, SIZE);
			ck_assert_int_eq(pwrite(fd, got, round * 1000, 3000), round * 1000);
		}
		for (size_t i = 0; i < len; i++) {
			if (i % 1024 == 0)
				x = x * 1103515245 + 12345;
			data[i] = x >> 30 ? 0 : i % 255 + 1;
		}
		ck_assert_int_eq(sparse_pwrite(fd, data, len, offset, &zeros), 0);
		ck_assert_int_eq(pread(fd, got, len, offset), len);
		ck_assert(memcmp(got, data, len) == 0);
		expect_blocks(fd, offset, offset + len, &zeros);
		migrate_extents_clear(&zeros);
		close(fd);
	}
}
END_TEST

START_TEST(zeros_take_no_space)
{
	struct migrate_extents zeros = MIGRATE_EXTENTS_INIT;
	g_autofree uint8_t *data = g_malloc0(MIB);
	int fd = make_file("f", 2 * MIB);

	ck_assert_int_eq(sparse_pwrite(fd, data, MIB, 100, &zeros), 0);
	ck_assert_int_eq(used(fd), 0);
	ck_assert_uint_eq(zeros.n, 1);
	ck_assert_uint_eq(zeros.v[0].start, 100);
	ck_assert_uint_eq(zeros.v[0].end, MIB + 100);
	/* a few bytes, and the zeros that follow them in the same block */
	memset(data, 1, 9);
	ck_assert_int_eq(sparse_pwrite(fd, data, 9, 4096, &zeros), 0);
	ck_assert_int_eq(sparse_pwrite(fd, data + 9, 256 * KIB, 4105, &zeros), 0);
	ck_assert_int_le(used(fd), 8192);
	migrate_extents_clear(&zeros);
	close(fd);
}
END_TEST

START_TEST(zeros_are_written_where_nobody_remembers_them)
{
	g_autofree uint8_t *data = g_malloc0(MIB);
	int fd = make_file("f", MIB);

	ck_assert_int_eq(sparse_pwrite(fd, data, MIB, 0, NULL), 0);
	ck_assert_int_ge(used(fd), MIB);
	ck_assert(!sparse_has_hole(fd, 0, MIB));
	close(fd);
}
END_TEST

START_TEST(holes_are_found_as_far_as_the_file_goes)
{
	uint8_t data[4096] = {1};
	int fd = make_file("f", 16384);

	ck_assert_int_eq(sparse_pwrite(fd, data, sizeof(data), 0, NULL), 0);
	ck_assert_int_eq(sparse_pwrite(fd, data, sizeof(data), 12288, NULL), 0);
	ck_assert(!sparse_has_hole(fd, 0, 4096));
	ck_assert(sparse_has_hole(fd, 0, 4097));
	ck_assert(sparse_has_hole(fd, 5000, 5001));
	ck_assert(!sparse_has_hole(fd, 12288, 30000));
	ck_assert(!sparse_has_hole(fd, 16384, 30000));
	close(fd);
}
END_TEST

START_TEST(errors_are_told)
{
	uint8_t data[10] = {1};
	int fd = make_file("f", 100);
	g_autofree char *path = g_strconcat(core_base, "/f", NULL);

	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(sparse_pwrite(fd, data, sizeof(data), 0, NULL), -EBADF);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("sparse", 60);

	tcase_add_test(tcase, what_was_written_is_read);
	tcase_add_test(tcase, zeros_take_no_space);
	tcase_add_test(tcase, zeros_are_written_where_nobody_remembers_them);
	tcase_add_test(tcase, holes_are_found_as_far_as_the_file_goes);
	tcase_add_test(tcase, errors_are_told);
	return run_tcase(tcase);
}
