/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core_hook.h"

#include "volume/sparse.h"

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

/* Any mixture of zeros and bytes, at any offset, over any content. */
START_TEST(what_was_written_is_read)
{
	enum { SIZE = 65536 };
	g_autofree uint8_t *data = g_malloc0(SIZE), *got = g_malloc(SIZE);
	unsigned x = 1;

	for (unsigned round = 0; round < 60; round++) {
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
		ck_assert_int_eq(sparse_pwrite(fd, data, len, offset), 0);
		ck_assert_int_eq(pread(fd, got, len, offset), len);
		ck_assert(memcmp(got, data, len) == 0);
		close(fd);
	}
}
END_TEST

START_TEST(zeros_take_no_space)
{
	g_autofree uint8_t *data = g_malloc0(MIB);
	int fd = make_file("f", 2 * MIB);

	ck_assert_int_eq(sparse_pwrite(fd, data, MIB, 100), 0);
	ck_assert_int_eq(used(fd), 0);
	/* a few bytes, and the zeros that follow them in the same block */
	memset(data, 1, 9);
	ck_assert_int_eq(sparse_pwrite(fd, data, 9, 4096), 0);
	ck_assert_int_eq(sparse_pwrite(fd, data + 9, 256 * KIB, 4105), 0);
	ck_assert_int_le(used(fd), 8192);
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
	ck_assert_int_eq(sparse_pwrite(fd, data, sizeof(data), 0), -EBADF);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sparse");
	TCase *tcase = CORE_TCASE(suite, "sparse", 60);

	tcase_add_test(tcase, what_was_written_is_read);
	tcase_add_test(tcase, zeros_take_no_space);
	tcase_add_test(tcase, errors_are_told);
	return run_suite(suite);
}
