/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

#include "retriever/objects/errors.h"
#include "retriever/volume/retry.h"

#define SIZE 200000

static struct core core;
static atomic_int fails_to_open; /* -errno */

int __real_migrate_binding_open(int fd, const struct migrate_binding *handle, int flags);
int __wrap_migrate_binding_open(int fd, const struct migrate_binding *handle, int flags);
int __wrap_migrate_binding_open(int fd, const struct migrate_binding *handle, int flags)
{
	const int failure = fails_to_open;

	return failure ? failure : __real_migrate_binding_open(fd, handle, flags);
}

static int start(void)
{
	core_make(&core);
	core_source_file(&core, "f", SIZE, 1);
	core_start(&core);
	return core_find(&core, "f", O_RDWR);
}

static void retry(void)
{
	g_autofree char *text = NULL;

	ck_assert_int_eq(retry_all(core.retriever, NULL, VERSION_NEW, &text), 0);
}

/* Retries it as one that failed. */
static void retry_listed(int fd)
{
	errors_add_fd(core.retriever->errors, fd, -EREMOTEIO, QM_READ_PART);
	retry();
}

START_TEST(i12_failures_are_forgotten)
{
	struct migrate_stub stub;
	int fd = start();

	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ,
							   .action = FAULT_ERROR,
							   .status = -EREMOTEIO,
							   .times = 1});
	ck_assert_int_eq(core_range(&core, fd, 0, 1), -EREMOTEIO);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_restart(&core); /* it is listed and marked across restarts */
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	errors_forget_all(core.retriever->errors); /* lost, as in a kill */
	core_expect_answer(&core, "verify", "unfinished=2\n");
	core_expect_answer(&core, "errors 0", "it failed before");
	retry();
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.error, 0);
	migrate_stub_clear(&stub);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, SIZE, 1);
	core_free_with(&core, fd);
}
END_TEST

/* The retriever is stopped meanwhile: what was not tried is not forgotten. */
START_TEST(i12_a_retry_that_is_cut_short)
{
	int fd = start();

	errors_add_fd(core.retriever->errors, fd, -EREMOTEIO, QM_READ_PART);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_GETATTR,
							   .action = FAULT_ERROR,
							   .status = -ECANCELED});
	retry();
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_free_with(&core, fd);
}
END_TEST

/* No descriptor is left, or its record makes no sense; what is gone is forgotten. */
START_TEST(i12_what_cannot_be_opened_stays_listed)
{
	int fd = start();

	fails_to_open = -EMFILE;
	retry_listed(fd);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	fails_to_open = -ESTALE;
	retry();
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	fails_to_open = 0;
	core_restart(&core);
	ck_assert_int_eq(fsetxattr(fd, "security.migrate", "x", 1, 0), 0);
	retry_listed(fd);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_free_with(&core, fd);
}
END_TEST

#define MOVED 20

/* Each file is looked for by its number, all of them in one listing of each directory. */
START_TEST(a_directory_is_listed_once)
{
	const unsigned lists = 1u << BACKEND_READDIR;
	unsigned listings, reads;
	char name[16], new[16];
	int fds[MOVED];

	core_make(&core);
	for (unsigned i = 0; i < MOVED; i++) {
		g_snprintf(name, sizeof name, "%s/f%u", i % 2 ? "b" : "a", i);
		core_source_file(&core, name, SIZE, i);
	}
	core_start(&core);
	reads = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ,
								   .action = FAULT_ERROR,
								   .status = -EREMOTEIO});
	backend_fault_add(core.fault,
			  &(struct fault_rule){.ops = 1u << BACKEND_GETATTR, /* by handle */
					       .priorities = 1u << BACKEND_READAHEAD,
					       .action = FAULT_ERROR,
					       .status = -ESTALE});
	for (unsigned i = 0; i < MOVED; i++) {
		g_snprintf(name, sizeof name, "%s/f%u", i % 2 ? "b" : "a", i);
		g_snprintf(new, sizeof new, "%s/g%u", i % 2 ? "b" : "a", i);
		fds[i] = core_find(&core, name, O_RDWR);
		ck_assert_int_eq(core_range(&core, fds[i], 0, 1), -EREMOTEIO);
		core_source_rename(&core, name, new);
	}
	ck_assert_uint_eq(errors_count(core.retriever->errors), MOVED);
	backend_fault_remove(core.fault, reads);
	listings = backend_fault_submitted(core.fault, lists);
	retry();
	ck_assert_uint_eq(backend_fault_submitted(core.fault, lists) - listings, 2);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	for (unsigned i = 0; i < MOVED; i++) {
		ck_assert_int_eq(core_range(&core, fds[i], 0, UINT64_MAX), 0);
		core_expect(fds[i], 0, SIZE, i);
		close(fds[i]);
	}
	core_free(&core);
}
END_TEST

/* A file that was changed on the old server is taken in its new version, all of it. */
static void changes_to(uint64_t size)
{
	struct stat st;
	int fd = start();
	unsigned ahead = backend_fault_add(
		core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ,
						 .priorities = 1u << BACKEND_READAHEAD,
						 .action = FAULT_STALL});

	ck_assert_int_eq(core_range(&core, fd, 0, 1000), 0);
	core_source_file(&core, "f", size, 7);
	backend_fault_release(core.fault, ahead);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), -ESTALE);
	retry();
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, size);
	ck_assert(!core_present(fd, 0, 1)); /* also what had come of the old version */
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, size, 7);
	core_sync_normal(&core, fd);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, 1100000007);
	core_expect(fd, 0, size, 7);
	core_free_with(&core, fd);
}

START_TEST(i4_a_new_version)
{
	changes_to(SIZE);
	changes_to(SIZE / 2);
	changes_to(SIZE * 2);
}
END_TEST

/* Its record cannot be written: it stays one of the old version, of which a part is here, and
 * nothing of the new one comes beside that. */
START_TEST(i4_a_new_version_that_cannot_be_taken)
{
	int fd = core_with_file(&core, 3 * MIB, O_RDWR);

	ck_assert_int_eq(core_range(&core, fd, 0, 1000), 0);
	ck_assert(backend_fault_wait_idle(core.fault));
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert(core_present(fd, 0, 1000));
	core_source_file(&core, "f", 3 * MIB, 7);
	core_fail_errno = EIO;
	core_fail_xattr = "security.migrate";
	retry_listed(fd);
	core_fail_xattr = NULL;
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	ck_assert(core_present(fd, 0, 1000));
	core_expect(fd, 0, 1000, 1);
	ck_assert_int_eq(core_range(&core, fd, 3 * MIB - 1, 1), -ESTALE);
	retry();
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 3 * MIB, 7);
	core_free_with(&core, fd);
}
END_TEST

/* I7: one that clients have changed too is not touched. */
START_TEST(i7_changed_on_both_sides)
{
	int fd = start();

	ck_assert_int_eq(core_write(&core, fd, 0, 100, 9, true), 0);
	core_source_file(&core, "f", SIZE, 7);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), -ESTALE);
	retry();
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_expect(fd, 0, 100, 9);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), -ESTALE);
	core_expect(fd, 0, 100, 9);
	core_free_with(&core, fd);
}
END_TEST

/* Killed between the record and the size. */
static void kill_at_ftruncate(const char *call, int fd, bool after)
{
	if (!after && !strcmp(call, "ftruncate"))
		kill(getpid(), SIGKILL);
}

START_TEST(i4_killed_while_taking_a_new_version)
{
	const uint64_t sizes[] = {SIZE / 2, SIZE * 2};

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		struct stat st;
		int status, fd = start();
		pid_t child;

		core_source_file(&core, "f", sizes[i], 7);
		ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), -ESTALE);
		core_disconnect(&core);
		core_close(&core);
		child = fork();
		if (child == 0) {
			core_open(&core);
			atomic_store(&core_hook, kill_at_ftruncate);
			retry();
			_exit(1);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		core_start(&core);
		ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
		ck_assert_int_eq(fstat(fd, &st), 0);
		ck_assert_int_eq(st.st_size, sizes[i]);
		core_expect(fd, 0, sizes[i], 7);
		core_free_with(&core, fd);
	}
}
END_TEST

/* What a round makes durable of the old version is not counted for the new one. */
START_TEST(i3_a_new_version_during_a_sync)
{
	int fd;

	fd = core_with_file(&core, MIB, O_RDWR);
	core_hold("fdatasync syncfs");
	ck_assert_int_eq(core_range(&core, fd, 0, 1000), 0);
	core_wait_held(1); /* the round has noted what it makes durable */
	core_source_file(&core, "f", MIB, 7);
	ck_assert_int_eq(core_range(&core, fd, 512 * KIB, 1), -ESTALE);
	retry();
	core_release();
	core_restart(&core);
	ck_assert(!core_present(fd, 0, 1));
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, MIB, 7);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("retry", 60);

	tcase_add_test(tcase, i12_failures_are_forgotten);
	tcase_add_test(tcase, i12_a_retry_that_is_cut_short);
	tcase_add_test(tcase, i12_what_cannot_be_opened_stays_listed);
	tcase_add_test(tcase, a_directory_is_listed_once);
	tcase_add_test(tcase, i4_a_new_version);
	tcase_add_test(tcase, i4_a_new_version_that_cannot_be_taken);
	tcase_add_test(tcase, i7_changed_on_both_sides);
	tcase_add_test(tcase, i4_killed_while_taking_a_new_version);
	tcase_add_test(tcase, i3_a_new_version_during_a_sync);
	return run_tcase(tcase);
}
