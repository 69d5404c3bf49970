/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"
#include "tests/durable.h"

#include "lib/report/losses.h"

/* Fills it while a background fill, which has begun, is stuck in the rule that is returned. */
static unsigned fill_beside_a_late_one(int fd)
{
	unsigned rule = backend_fault_add(
		core.fault, &(struct fault_rule){.ops = LISTS,
						 .priorities = 1u << BACKEND_BACKGROUND,
						 .action = FAULT_STALL});
	struct migrate_waiter *background = core_ask_fill(&core, fd, MIGRATE_BACKGROUND);

	ck_assert(backend_fault_wait(core.fault, rule, 1));
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(core_wait(background), 0);
	return rule;
}

START_TEST(a_fill_brings_every_name)
{
	struct stat st, old;
	g_autofree char *path = NULL;
	int fd;

	core_make(&core);
	make_files("d", 500);
	path = g_strconcat(core.source, "/d", NULL);
	ck_assert_int_eq(chmod(path, 02751), 0);
	ck_assert_int_eq(chown(path, 3, 4), 0);
	ck_assert_int_eq(chmod(path, 02751), 0);
	ck_assert_int_eq(stat(path, &old), 0);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	ck_assert_uint_eq(count_names(fd), 500);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode, old.st_mode);
	ck_assert_uint_eq(st.st_uid, 3);
	ck_assert_uint_eq(st.st_gid, 4);
	ck_assert_int_eq(st.st_mtim.tv_sec, old.st_mtim.tv_sec); /* I8 */
	ck_assert_int_eq(st.st_mtim.tv_nsec, old.st_mtim.tv_nsec);
	ck_assert_int_eq(fstatat(fd, "f7", &st, 0), 0);
	ck_assert_uint_eq(st.st_gid, 0); /* not the directory's, though it is set-group-id */
	ck_assert_int_eq(st.st_size, 107);
	ck_assert_int_eq(fill(fd), 0); /* at once */
	core_free_with(&core, fd);
}
END_TEST

/* What a rule leaves out has its line, and need not be here; what came before the rule stays. */
START_TEST(what_rules_leave_out)
{
	struct stat st;
	int fd = begin(5);

	ck_assert_int_eq(core_name_in(&core, fd, "f1"), 0);
	core_rule(&core, RULE_EXCLUDE, "f[12]");
	core_rule(&core, RULE_EXCLUDE, "/d/f3");
	core_rule(&core, RULE_EXCLUDE, "/f4");
	core_rule(&core, RULE_EXCLUDE, "f0/");
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	ck_assert_uint_eq(count_names(fd), 3);
	ck_assert_int_eq(fstatat(fd, "f1", &st, 0), 0);
	ck_assert_int_eq(st.st_size, 101);
	ck_assert_int_lt(fstatat(fd, "f2", &st, 0), 0);
	core_expect_answer(&core, "status", "left-out=2\n");
	core_expect_answer(&core, "status", "losses=0\n");
	core_expect_answer(&core, "status", "names-skipped=0\n");
	core_free_with(&core, fd);
}
END_TEST

static atomic_uint stored, stored_early;

static void watch_stores(const char *call, int fd, bool after)
{
	struct stat st;

	if (after || strcmp(call, "fsetxattr") || fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    faccessat(core.retriever->private_fd, LOSSES_FILE, F_OK, 0) < 0)
		return;
	stored++;
	stored_early += !is_durable_in(core.retriever->private_fd, LOSSES_FILE);
}

/* The lines are durable before the directory is called filled. */
START_TEST(i12_what_rules_leave_out_is_written_down_first)
{
	int fd = begin(5);

	core_rule(&core, RULE_EXCLUDE, "f1");
	stored = stored_early = 0;
	atomic_store(&core_hook, watch_stores);
	ck_assert_int_eq(fill(fd), 0);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_gt(stored, 0);
	ck_assert_uint_eq(stored_early, 0);
	core_free_with(&core, fd);
}
END_TEST

/* A demand does not wait for a background fill that is stuck. */
START_TEST(i11_a_demand_starts_a_fill_of_its_own)
{
	int fd = begin(10);
	unsigned rule = fill_beside_a_late_one(fd);

	backend_fault_release(core.fault, rule);
	core_free_with(&core, fd);
}
END_TEST

/* I6, I7: two fills of one directory; the first ends, a client removes and renames; the second,
 * which saw the names before that, does not bring them back. */
START_TEST(i7_a_late_fill_does_not_bring_back_names)
{
	int fd = begin(3);
	unsigned rule = fill_beside_a_late_one(fd);

	ck_assert_int_eq(unlinkat(fd, "f0", 0), 0);
	ck_assert_int_eq(renameat(fd, "f1", fd, "g1"), 0);
	backend_fault_release(core.fault, rule);
	ck_assert(backend_fault_wait_idle(core.fault));
	core_restart(&core); /* whatever the late fill did is done */
	ck_assert_int_eq(faccessat(fd, "f0", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(fd, "f1", F_OK, 0), -1);
	ck_assert_uint_eq(count_names(fd), 2);
	core_free_with(&core, fd);
}
END_TEST

/* A fill that failed leaves the directory unfilled, and listed; the next may succeed (I12). */
START_TEST(i12_a_failed_fill_is_listed)
{
	int fd;

	fd = begin(3);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = LISTS,
							   .action = FAULT_ERROR,
							   .status = -EREMOTEIO,
							   .times = 1});
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* Its listing was taken back when nobody waited, and then somebody did. */
START_TEST(withdrawn_and_wanted)
{
	int fd = begin(3);

	backend_fault_add(core.fault, &(struct fault_rule){.ops = LISTS,
							   .action = FAULT_ERROR,
							   .status = GATE_WITHDRAWN,
							   .times = 1});
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_uint_eq(count_names(fd), 3);
	core_free_with(&core, fd);
}
END_TEST

/* It fails while dummies are made, which answers nobody who waits for the names themselves. */
START_TEST(i12_a_fill_that_fails_beside_one_of_dummies)
{
	struct migrate_waiter *dummies = migrate_waiter_new();
	struct object *object;
	unsigned rule;
	int fd = begin(3);

	rule = backend_fault_add(core.fault,
				 &(struct fault_rule){.ops = LISTS,
						      .priorities = 1u << BACKEND_BACKGROUND,
						      .action = FAULT_STALL});
	backend_fault_add(core.fault, &(struct fault_rule){.ops = LISTS,
							   .priorities = 1u << BACKEND_DEMAND,
							   .action = FAULT_ERROR,
							   .status = -EREMOTEIO});
	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	directory_fill_names(object, migrate_waiter_done, dummies);
	ck_assert(backend_fault_wait(core.fault, rule, 1));
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(dummies), 0);
	object_unref(object);
	core_free_with(&core, fd);
}
END_TEST

/* A name that was here as a dummy when the rule came is no file of the old server. */
START_TEST(dummies_from_before_a_rule)
{
	int fd = begin(3);
	struct migrate_waiter *dummies = migrate_waiter_new();
	struct object *object;

	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	directory_fill_names(object, migrate_waiter_done, dummies);
	ck_assert_int_eq(core_wait(dummies), 0);
	object_unref(object);
	ck_assert_uint_eq(count_names(fd), 3);
	core_rule(&core, RULE_EXCLUDE, "f1");
	ck_assert_int_eq(core_name_in(&core, fd, "f1"), -ENOENT);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_uint_eq(count_names(fd), 2);
	core_expect_answer(&core, "status", "left-out=1\n");
	core_free_with(&core, fd);
}
END_TEST

/* The old server's handle of the directory has gone stale: found again by its path. */
START_TEST(a_stale_directory_is_found_again)
{
	int fd;

	fd = begin(3);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = LISTS,
							   .action = FAULT_ERROR,
							   .status = -ESTALE,
							   .times = 1});
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_uint_eq(count_names(fd), 3);
	core_free_with(&core, fd);
}
END_TEST

/* Made anew on the old server, under the same name: the record's handle is stale for good. */
START_TEST(a_directory_that_was_made_anew)
{
	g_autofree char *path = NULL;
	int fd;

	fd = begin(3);
	path = g_strconcat(core.source, "/d", NULL);
	ck_assert_int_eq(nftw(path, core_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	make_files("d", 4);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_uint_eq(count_names(fd), 4);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(names_are_asked_for_one_by_one)
{
	int fd, file;

	fd = begin(1000);
	ck_assert_int_eq(core_name_in(&core, fd, "f17"), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "f17"), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "nothing"), -ENOENT);
	ck_assert_uint_eq(count_names(fd), 1);
	file = openat(fd, "f17", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(core_range(&core, file, 0, UINT64_MAX), 0);
	core_expect(file, 0, 117, 17);
	close(file);
	core_free_with(&core, fd);
}
END_TEST

/* 300 levels: no path of ours is that long. */
/* I12: a listing that tells attributes of before must not make a file whole without its bytes. */
START_TEST(i12_files_that_are_listed_as_empty)
{
	int fd = begin(1), file;
	struct stat st;

	core.retriever->carries = 0; /* else its ACL comes with attributes */
	backend_fault_add(core.fault,
			  &(struct fault_rule){.ops = LISTS, .action = FAULT_CHANGE, .size = -100});
	ck_assert_int_eq(fill(fd), 0);
	file = open_below(fd, "f0", O_RDONLY);
	ck_assert_int_eq(fstat(file, &st), 0);
	ck_assert_int_eq(st.st_size, 100);
	ck_assert_int_eq(core_state(file), MIGRATE_PARTIAL);
	close(file);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(a_deep_tree)
{
	const unsigned levels = 330;
	g_autofree char *name = g_strnfill(40, 'x');
	int fd, next;

	core_make(&core);
	fd = open(core.source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 0; i < levels; i++) {
		if (mkdirat(fd, name, 0755) < 0)
			ck_abort();
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	next = openat(fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	{
		g_autofree uint8_t *data = core_bytes(1, 0, 1000);

		ck_assert_int_eq(write(next, data, 1000), 1000);
	}
	close(next);
	close(fd);
	core_start(&core);
	fd = core_root(&core);
	for (unsigned i = 0; i < levels; i++) {
		if (i % 2 ? fill(fd) : core_name_in(&core, fd, name))
			ck_abort_msg("level %u", i);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	ck_assert_int_eq(core_name_in(&core, fd, "f"), 0);
	next = openat(fd, "f", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(core_range(&core, next, 0, UINT64_MAX), 0);
	core_expect(next, 0, 1000, 1);
	close(next);
	core_free_with(&core, fd);
}
END_TEST

/* I12: names that nothing can have here are listed one by one, as far as there are few. */
START_TEST(i12_names_that_cannot_be)
{
	const unsigned many = BATCH_REFUSED_MAX + 1;
	unsigned rule;
	g_autofree char *more = g_strdup_printf("/d/\nreason=%u more names", many - 100);
	int fd = begin(3);

	rule = backend_fault_add(
		core.fault, &(struct fault_rule){.ops = LISTS, .action = FAULT_REFUSE, .count = 2});
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_uint_eq(count_names(fd), 3);
	core_expect_answer(&core, "errors 0", "/d/bad/0\nreason=no file here can have this name");
	core_expect_answer(&core, "errors 0", "/d/bad/1\nreason=no file here can have this name");
	ck_assert_uint_eq(errors_count(core.retriever->errors), 3); /* and the directory */
	core_restart(&core);
	core_expect_answer(&core, "errors 0", "/d/bad/1\nreason=no file here can have this name");
	core_expect_answer(&core, "finalize", "-16 ");
	core_expect_answer(&core, "retry", "0 ");
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	rule = backend_fault_add(
		core.fault,
		&(struct fault_rule){.ops = LISTS, .action = FAULT_REFUSE, .count = many});
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 102);
	core_expect_answer(&core, "errors 95", more);
	backend_fault_remove(core.fault, rule);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* A path that leads to another directory meanwhile, as an SMB server may say. */
START_TEST(i12_a_path_that_leads_elsewhere)
{
	int fd = begin(3);
	struct object *object;
	uint64_t fileid;

	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	fileid = object->record.fileid++;
	object->record.flags &= ~MIGRATE_REC_HANDLE;
	object->record.handle_len = 0;
	ck_assert_int_eq(fill(fd), 0); /* after it was found again, by its name */
	ck_assert_uint_eq(count_names(fd), 3);
	ck_assert_uint_eq(object->record.fileid, fileid);
	object_unref(object);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("directory", 60);

	tcase_add_test(tcase, a_fill_brings_every_name);
	tcase_add_test(tcase, what_rules_leave_out);
	tcase_add_test(tcase, i12_what_rules_leave_out_is_written_down_first);
	tcase_add_test(tcase, dummies_from_before_a_rule);
	tcase_add_test(tcase, i11_a_demand_starts_a_fill_of_its_own);
	tcase_add_test(tcase, i7_a_late_fill_does_not_bring_back_names);
	tcase_add_test(tcase, i12_a_failed_fill_is_listed);
	tcase_add_test(tcase, withdrawn_and_wanted);
	tcase_add_test(tcase, i12_a_fill_that_fails_beside_one_of_dummies);
	tcase_add_test(tcase, a_stale_directory_is_found_again);
	tcase_add_test(tcase, a_directory_that_was_made_anew);
	tcase_add_test(tcase, names_are_asked_for_one_by_one);
	tcase_add_test(tcase, i12_files_that_are_listed_as_empty);
	tcase_add_test(tcase, a_deep_tree);
	tcase_add_test(tcase, i12_names_that_cannot_be);
	tcase_add_test(tcase, i12_a_path_that_leads_elsewhere);
	return run_tcase(tcase);
}
