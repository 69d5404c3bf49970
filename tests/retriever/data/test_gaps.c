/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

#include "retriever/data/durability.h"
#include "retriever/data/gaps.h"
#include "retriever/objects/errors.h"

static struct core core;

static void make_gaps(int fd, unsigned n, unsigned stride)
{
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(core_write(&core, fd, i * stride, 512, 9, false), 0);
}

/* More ranges than a record holds: the gaps are closed by fetching, nothing is lost. */
START_TEST(more_ranges_than_a_record_holds)
{
	const unsigned n = 300, stride = 4096;
	int fd;

	fd = core_with_file(&core, n * stride, O_RDWR);
	make_gaps(fd, n, stride);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	for (unsigned i = 0; i < n; i++)
		core_expect(fd, i * stride, 512, 9);
	core_restart(&core);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	for (unsigned i = 0; i < n; i++) {
		core_expect(fd, i * stride, 512, 9);
		core_expect(fd, i * stride + 512, stride - 512, 1);
	}
	core_free_with(&core, fd);
}
END_TEST

static void round_over(void *arg, int status)
{
	sem_post(arg);
}

/* Reads that leave gaps must not fail the file either. */
START_TEST(scattered_reads_make_no_error)
{
	const unsigned n = 160;
	const uint64_t stride = MIB;
	g_autofree char *path = NULL;
	struct migrate_stub stub;
	sem_t over;
	int fd, source;

	core_make(&core);
	core_source_file(&core, "f", 10, 1);
	path = g_strconcat(core.source, "/f", NULL);
	source = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(ftruncate(source, n * stride), 0);
	close(source);
	core_start(&core);
	fd = core_find(&core, "f", O_RDWR);
	sem_init(&over, 0, 0);
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(core_range(&core, fd, i * stride, 1), 0);
	durability_after_round(core.retriever, round_over, &over);
	sem_wait(&over);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.error, 0);
	migrate_stub_clear(&stub);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("gaps", 60);

	tcase_add_test(tcase, more_ranges_than_a_record_holds);
	tcase_add_test(tcase, scattered_reads_make_no_error);
	return run_tcase(tcase);
}
