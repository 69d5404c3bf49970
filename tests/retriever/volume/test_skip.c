/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names that are given up: none that could be here, none but those, and written down before. */
#include "tests/retriever/core_skip.h"

#include "retriever/names/name_errors.h"

/* As refuse(), for a retriever of its own and below the test's rules. */
static struct backend *refusing(struct core *made, struct backend *inner)
{
	struct backend *fault = backend_fault_new(inner);

	backend_fault_add(fault,
			  &(struct fault_rule){.ops = LISTS, .action = FAULT_REFUSE, .count = 2});
	return fault;
}

/* All of a directory's, in one request, or none. */
START_TEST(i12_names_one_by_one)
{
	int fd = begin_refused(2);
	g_autofree char *first = asks("names", "/bad/0");
	g_autofree char *both = g_strconcat(first, "\n", core.root, "/d/bad/1", NULL);

	skips("names", "/bad/0", "-121 ");
	expect_unfilled(fd, 3);
	ck_assert_uint_eq(reported("/bad/0"), 0);
	core_expect_answer(&core, both, "0 [skip]\nnames=2\ndirectories=1\n");
	expect_filled(fd, 2);
	ck_assert_uint_eq(reported("/bad/0") + reported("/bad/1"), 2);
	core_expect_answer(&core, "status", "names-skipped=2\n");
	core_restart(&core);
	core_expect_answer(&core, "status", "names-skipped=2\n");
	expect_filled(fd, 2);
	core_free_with(&core, fd);
}
END_TEST

/* To the volume's end. */
START_TEST(in_the_kept_report)
{
	g_autofree char *kept = NULL, *text = NULL;
	int fd = begin_refused(1), root, file;

	skips("names", "/bad/0", "0 ");
	backend_fault_remove(core.fault, refusal);
	file = openat(fd, "f0", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(core_range(&core, file, 0, UINT64_MAX), 0);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	while (core_finish(&core, fd) || core_finish(&core, root))
		;
	core_expect_answer(&core, "finalize", "names-skipped=1\n");
	kept = g_strconcat(core.dir, "/kept/report", NULL);
	ck_assert(g_file_get_contents(kept, &text, NULL, NULL));
	ck_assert_ptr_nonnull(strstr(text, "/d/bad/0\tno file here can have this name [QM1001]\n"));
	close(file);
	close(root);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(all_of_a_directory)
{
	const unsigned many = BATCH_REFUSED_MAX + 7;
	g_autofree char *answer = g_strdup_printf("0 [skip]\nnames=%u\ndirectories=1\n", many);
	g_autofree char *last = g_strdup_printf("/bad/%u", BATCH_REFUSED_MAX - 1);
	g_autofree char *text = NULL;
	int fd = begin(1);

	refuse(many);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	skips("names", "/", "-2 "); /* what stands for several */
	skips("names", "", "-2 ");
	skips("all", "/bad/0", "-2 ");
	expect_unfilled(fd, NAME_ERRORS_LISTED + 2);
	skips("all", "", answer);
	expect_filled(fd, 1);
	ck_assert_uint_eq(reported("/bad/0") + reported(last), 2);
	text = report_text();
	ck_assert_ptr_nonnull(strstr(text, "/d\t7 more names"));
	core_free_with(&core, fd);
}
END_TEST

/* What may pass is never left out, whoever asks for it. */
START_TEST(i12_what_may_pass)
{
	const int passing[] = {-EREMOTEIO, -EBADMSG};

	for (unsigned i = 0; i < G_N_ELEMENTS(passing); i++) {
		int fd = begin_carrying(3);
		unsigned rule = fails("f1", passing[i]);

		ck_assert_int_eq(fill(fd), -EREMOTEIO);
		skips("names", "/f1", "-");
		skips("all", "", "-");
		refuse(1);
		ck_assert_int_lt(fill(fd), 0);
		skips("all", "", "-");
		expect_unfilled(fd, 3);
		ck_assert_uint_eq(reported("/f1") + reported("/bad/0"), 0);
		backend_fault_remove(core.fault, rule);
		skips("all", "", "names=1\n");
		expect_filled(fd, 3);
		core_free_with(&core, fd);
	}
}
END_TEST

/* What is refused is there, and nobody's: it is not left out with what cannot be there. */
START_TEST(i12_what_is_refused)
{
	int fd = begin_carrying(3);
	unsigned rule = fails("f1", -EACCES);
	struct stat st;

	refuse(1);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	skips("all", "", "names=1\n");
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	ck_assert_uint_eq(count_names(fd), 3);
	ck_assert_uint_eq(reported("/f1"), 0);
	ck_assert_int_eq(fstatat(fd, "f1", &st, 0), 0);
	ck_assert_int_eq(st.st_mode, S_IFREG);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	backend_fault_remove(core.fault, rule);
	core_free_with(&core, fd);
}
END_TEST

/* Names of which the old server says that they are none, or another's. */
START_TEST(what_is_not_found)
{
	const int lasting[] = {-ENOENT, -ENOTUNIQ};

	for (unsigned i = 0; i < G_N_ELEMENTS(lasting); i++) {
		int fd = begin_carrying(3);

		fails("f1", lasting[i]);
		ck_assert_int_eq(fill(fd), -EREMOTEIO);
		skips("names", "/f2", "-2 ");
		skips("names", "/f1", "0 [skip]\nnames=1\n");
		expect_filled(fd, 2);
		ck_assert_uint_eq(reported("/f1"), 1);
		core_free_with(&core, fd);
	}
}
END_TEST

/* I1: an older version that was copied is no extra name. */
START_TEST(i1_what_was_copied_of_it)
{
	int fd;

	core_make(&core);
	core_carry(&core);
	make_files("d", 3);
	copy_by_cp();
	shell("cd %s/d && echo older >f1 && touch -d @1 f1 && touch extra", core.root);
	adopt((struct attach){.keep_extra = true});
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	fails("f1", -ENOTUNIQ);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	skips("names", "/f1", "0 [skip]\nnames=1\n");
	expect_filled(fd, 3);
	ck_assert(is_there(core.root, "d/extra"));
	ck_assert(!is_there(core.root, "d/f1"));
	ck_assert(is_aside("d/f1"));
	core_free_with(&core, fd);
}
END_TEST

/* I1: so may be whatever is left, where there are more than are told apart. */
START_TEST(i1_more_than_are_told_apart)
{
	const unsigned many = BATCH_REFUSED_MAX + 7;
	int fd;

	core_make(&core);
	make_files("d", 3);
	copy_by_cp();
	shell("touch %s/d/extra", core.root);
	adopt((struct attach){.keep_extra = true});
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	refuse(many);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	skips("all", "", "directories=1\n");
	expect_filled(fd, 3);
	ck_assert(!is_there(core.root, "d/extra"));
	ck_assert(is_aside("d/extra"));
	core_free_with(&core, fd);
}
END_TEST

/* By a code, those that have it: not those that are listed with another. */
START_TEST(i12_more_than_are_listed)
{
	const unsigned many = NAME_ERRORS_LISTED + 7;
	int fd;

	core_make(&core);
	make_files("d", 3);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	refuse(many);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	core_expect_answer(&core, "skip names code QM1005", "where something else fails too");
	expect_unfilled(fd, NAME_ERRORS_LISTED + 2);
	core_expect_answer(&core, "skip names code QM1001\ncode QM1005", "-121 ");
	skips("all", "", "names=107\ndirectories=1\n");
	expect_filled(fd, 3);
	core_free_with(&core, fd);
}
END_TEST

/* Of names that may be somebody else's for a moment, `all` takes only those that were listed. */
START_TEST(i12_all_that_was_listed)
{
	int fd = begin_carrying(3);

	refuse(1);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	fails("f1", -ENOTUNIQ);
	unlinkat(fd, "f1", 0);
	skips("all", "", "-121 ");
	expect_unfilled(fd, 3);
	skips("all", "", "names=2\n");
	expect_filled(fd, 2);
	core_free_with(&core, fd);
}
END_TEST

/* It is there by now: nothing is left out. */
START_TEST(i12_what_can_be_made)
{
	int fd = begin_carrying(3);
	unsigned rule = fails("f1", -ENOTUNIQ), refused = refuse(1);

	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	backend_fault_remove(core.fault, rule);
	backend_fault_remove(core.fault, refused);
	skips("all", "", "names=0\n");
	expect_filled(fd, 3);
	ck_assert_uint_eq(reported("/f1") + reported("/bad/0"), 0);
	skips("all", "", "-2 ");
	core_free_with(&core, fd);
}
END_TEST

/* A second listing, for a name that was not found, makes what the first one did not. */
START_TEST(i12_the_last_listing_counts)
{
	int fd = begin_carrying(3);

	fails_so_often("f1", -ENOTUNIQ, 2);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	unlinkat(fd, "f2", 0);
	fails_so_often("f2", -ENOENT, 1);
	skips("names", "/f1", "names=0\n");
	expect_filled(fd, 3);
	ck_assert_uint_eq(reported("/f1"), 0);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(the_reserved_name)
{
	g_autofree char *command = NULL;
	int root;

	core_make(&core);
	core_source_file(&core, ".migrate/x", 10, 1);
	core_source_file(&core, "f", 10, 1);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_lt(fill(root), 0);
	command = g_strconcat("skip names ", core.root, "/.migrate", NULL);
	core_expect_answer(&core, command, "names=1\n");
	expect_filled(root, 2); /* with our own */
	core_free_with(&core, root);
}
END_TEST

/* Two names that are shown alike: neither. */
START_TEST(i12_two_that_look_alike)
{
	int fd = begin_carrying(3);

	fails("f1", -ENOTUNIQ);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	errors_add_name(core.retriever->errors, fd, "a\nb", -EREMOTEIO, QM_NAME_MISSING, NULL);
	errors_add_name(core.retriever->errors, fd, "a\\012b", -EREMOTEIO, QM_NAME_MISSING, NULL);
	skips("names", "/a\\012b", "-76 ");
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	core_free_with(&core, fd);
}
END_TEST

/* What cannot be written down is not given up. */
START_TEST(i12_no_report)
{
	int fd = begin_refused(1);

	losses_set_directory(core.retriever->losses, -1);
	skips("names", "/bad/0", "-2 ");
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	core_expect_answer(&core, "errors 0", "could not be put into the report");
	losses_set_directory(core.retriever->losses, core.retriever->private_fd);
	skips("names", "/bad/0", "0 ");
	expect_filled(fd, 1);
	core_free_with(&core, fd);
}
END_TEST

static gpointer skip_all(gpointer arg)
{
	skips("all", "", "names=1\n");
	return NULL;
}

/* The report is durable before the directory is called filled. */
START_TEST(i12_written_down_first)
{
	int fd = begin_refused(1);
	GThread *thread;

	core_hold("fdatasync");
	thread = g_thread_new("skip", skip_all, NULL);
	core_wait_held(1);
	ck_assert_uint_eq(reported("/bad/0"), 1);
	for (unsigned i = 0; i < 100; i++) /* whatever is done for clients is done by now */
		ck_assert_int_eq(core_name_in(&core, fd, "nothing"), -ENOENT);
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	core_release();
	g_thread_join(thread);
	expect_filled(fd, 1);
	core_free_with(&core, fd);
}
END_TEST

/* A crawler's fill that comes to its end later lists nothing any more. */
START_TEST(beside_a_fill)
{
	struct migrate_waiter *w;
	unsigned rule;
	int fd;

	core_make(&core);
	core.wrap = refusing;
	make_files("d", 2);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	rule = backend_fault_add(core.fault,
				 &(struct fault_rule){.ops = LISTS,
						      .priorities = 1u << BACKEND_BACKGROUND,
						      .action = FAULT_STALL,
						      .times = 1});
	w = core_ask_fill(&core, fd, MIGRATE_BACKGROUND);
	while (!backend_fault_hits(core.fault, rule))
		sched_yield();
	skips("all", "", "names=2\n");
	ck_assert_int_eq(core_wait(w), 0);
	backend_fault_release(core.fault, rule);
	ck_assert(backend_fault_wait_idle(core.fault));
	core_restart(&core); /* the late one is over */
	expect_filled(fd, 2);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(dummies_go)
{
	int fd;

	core_make(&core);
	core.attributes = STUB_LAZY;
	core_carry(&core);
	make_files("d", 3);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	fails("f1", -ENOTUNIQ);
	{
		struct object *object;

		ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
		ck_assert_int_eq(
			core_wait(CORE_WAIT(
				w, (directory_fill_names(object, migrate_waiter_done, w), 1))),
			0);
		object_unref(object);
	}
	ck_assert_uint_eq(count_names(fd), 3);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	ck_assert_uint_eq(count_names(fd), 3);
	skips("names", "/f1", "names=1\n");
	expect_filled(fd, 2);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(what_is_no_request)
{
	int fd = begin_refused(1);

	core_expect_answer(&core, "skip", "-22 ");
	core_expect_answer(&core, "skip names", "-22 ");
	core_expect_answer(&core, "skip everything", "-22 ");
	core_expect_answer(&core, "skip all ", "-22 ");
	core_expect_answer(&core, "skip all \n", "-2 ");
	core_expect_answer(&core, "skip names /", "-2 ");
	expect_unfilled(fd, 2);
	core_free_with(&core, fd);
}
END_TEST

/* ---- killed ---- */

static void skip_until_filled(int fd)
{
	while (core_state(fd) == MIGRATE_UNFILLED) {
		g_autofree char *command = asks("all", ""), *answer = NULL;

		ck_assert_int_lt(fill(fd), 0); /* and what was refused is listed */
		answer = core_control(&core, command);
	}
}

/* Killed before every step: the directory is as it was, or filled with its lines in the report. */
START_TEST(i12_killed_at_every_step)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		g_autofree char *command = NULL, *answer = NULL;
		int fd;

		core_make(&core);
		core.wrap = refusing;
		make_files("d", 3);
		core_supervise(&core, 0);
		core_connect(&core);
		fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
		ck_assert_int_eq(fill(fd), -EREMOTEIO);
		ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
		command = asks("all", "");
		atomic_store(&core_shared->left, nth);
		answer = core_control(&core, command); /* asked again, where it was killed */
		killed = core_killed();
		if (core_state(fd) == MIGRATE_UNFILLED)
			ck_assert(*answer == '-' && killed);
		skip_until_filled(fd);
		ck_assert_uint_eq(count_names(fd), 3);
		ck_assert_uint_eq(reported("/bad/0"), 1);
		ck_assert_uint_eq(reported("/bad/1"), 1);
		core_expect_answer(&core, "status", "names-skipped=2\n");
		core_disconnect(&core);
		core_end_supervision(&core);
		core_free_with(&core, fd);
		ck_assert_int_lt(nth, 100);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("skip", 60);

	tcase_add_test(tcase, i12_names_one_by_one);
	tcase_add_test(tcase, in_the_kept_report);
	tcase_add_test(tcase, all_of_a_directory);
	tcase_add_test(tcase, i12_what_may_pass);
	tcase_add_test(tcase, i12_what_is_refused);
	tcase_add_test(tcase, what_is_not_found);
	tcase_add_test(tcase, i1_what_was_copied_of_it);
	tcase_add_test(tcase, i1_more_than_are_told_apart);
	tcase_add_test(tcase, i12_more_than_are_listed);
	tcase_add_test(tcase, i12_all_that_was_listed);
	tcase_add_test(tcase, i12_what_can_be_made);
	tcase_add_test(tcase, i12_the_last_listing_counts);
	tcase_add_test(tcase, the_reserved_name);
	tcase_add_test(tcase, i12_two_that_look_alike);
	tcase_add_test(tcase, i12_no_report);
	tcase_add_test(tcase, i12_written_down_first);
	tcase_add_test(tcase, beside_a_fill);
	tcase_add_test(tcase, dummies_go);
	tcase_add_test(tcase, what_is_no_request);
	tcase_add_test(tcase, i12_killed_at_every_step);
	return run_tcase(tcase);
}
