/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core_hook.h"

#include "volume/errors.h"

#define READS (1u << BACKEND_READ)

static struct core core;

static void start(unsigned n)
{
	core_make(&core);
	for (unsigned i = 0; i < n; i++) {
		g_autofree char *name = g_strdup_printf("d/f%u", i);

		core_source_file(&core, name, 1 + i * 13, i);
	}
	core_start(&core);
}

static int data_of(int fd)
{
	return core_wait(core_ask_fill(&core, fd, MIGRATE_BACKGROUND | MIGRATE_DATA));
}

START_TEST(names_and_data)
{
	const unsigned n = 700;
	struct stat before, after;
	int fd;

	start(n);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fstat(fd, &before), 0);
	ck_assert_int_eq(data_of(fd), 0);
	ck_assert_int_eq(fstat(fd, &after), 0);
	ck_assert_int_eq(before.st_atim.tv_sec, after.st_atim.tv_sec); /* I8 */
	ck_assert_int_eq(before.st_atim.tv_nsec, after.st_atim.tv_nsec);
	for (unsigned i = 0; i < n; i++) {
		char name[32];
		int file;

		g_snprintf(name, sizeof(name), "f%u", i);
		file = openat(fd, name, O_RDONLY | O_CLOEXEC);
		core_expect(file, 0, 1 + i * 13, i);
		close(file);
	}
	ck_assert_int_eq(data_of(fd), 0); /* nothing left to do */
	close(fd);
	core_free(&core);
}
END_TEST

/* One file that fails is listed, the others come. */
START_TEST(i12_one_failure)
{
	int fd, failed = 0;

	start(50);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = READS,
							   .action = FAULT_ERROR,
							   .status = -EREMOTEIO,
							   .skip = 20,
							   .times = 1});
	ck_assert_int_eq(data_of(fd), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	for (unsigned i = 0; i < 50; i++) {
		char name[32];
		struct migrate_stub stub;
		int file;

		g_snprintf(name, sizeof(name), "f%u", i);
		file = openat(fd, name, O_RDONLY | O_CLOEXEC);
		ck_assert_int_eq(migrate_stub_load(file, &stub), 0);
		failed += stub.error == EREMOTEIO;
		migrate_stub_clear(&stub);
		close(file);
	}
	ck_assert_int_eq(failed, 1);
	ck_assert_int_eq(core_finish(&core, fd), -EREMOTEIO);
	ck_assert_int_eq(data_of(fd), 0);
	while (core_finish(&core, fd) == -EAGAIN)
		;
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	close(fd);
	core_free(&core);
}
END_TEST

/* One name that cannot be made: the data of the others comes, the directory stays as it is. */
START_TEST(i12_one_name)
{
	int fd;

	start(50);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READDIR,
							   .action = FAULT_REFUSE,
							   .count = 1});
	ck_assert_int_eq(data_of(fd), -EREMOTEIO);
	for (unsigned i = 0; i < 50; i++) {
		char name[32];
		int file;

		g_snprintf(name, sizeof(name), "f%u", i);
		file = openat(fd, name, O_RDONLY | O_CLOEXEC);
		core_expect(file, 0, 1 + i * 13, i);
		close(file);
	}
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_int_eq(core_finish(&core, fd), -EAGAIN);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 2); /* it and the directory */
	close(fd);
	core_free(&core);
}
END_TEST

/* I11: while the background is stuck a client reads another file of the same directory. */
START_TEST(i11_demand_beside_a_stuck_bulk)
{
	struct migrate_waiter *w;
	unsigned rule;
	int fd, file;

	start(300);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	rule = backend_fault_add(core.fault,
				 &(struct fault_rule){.ops = READS,
						      .priorities = 1u << BACKEND_BACKGROUND,
						      .action = FAULT_STALL});
	w = core_ask_fill(&core, fd, MIGRATE_BACKGROUND | MIGRATE_DATA);
	ck_assert(backend_fault_wait(core.fault, rule, 50));
	for (unsigned i = 0; i < 300; i += 50) {
		char name[32];

		g_snprintf(name, sizeof(name), "f%u", i);
		file = openat(fd, name, O_RDWR | O_CLOEXEC);
		ck_assert_int_eq(core_range(&core, file, 0, UINT64_MAX), 0);
		core_expect(file, 0, 1 + i * 13, i);
		ck_assert_int_eq(core_write(&core, file, 0, 1, 9, true), 0);
		close(file);
	}
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(w), 0);
	close(fd);
	core_free(&core);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bulk");
	TCase *tcase = CORE_TCASE(suite, "bulk", 60);

	tcase_add_test(tcase, names_and_data);
	tcase_add_test(tcase, i12_one_failure);
	tcase_add_test(tcase, i12_one_name);
	tcase_add_test(tcase, i11_demand_beside_a_stuck_bulk);
	return run_suite(suite);
}
