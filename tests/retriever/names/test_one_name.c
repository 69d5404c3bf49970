/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"
#include "tests/retriever/core_xattrs.h"

#include <sys/resource.h>

#include "retriever/objects/errors.h"

#define LOOKUPS (1u << BACKEND_LOOKUP)

static struct core core;

static int start(void)
{
	core_make(&core);
	core_source_file(&core, "d/f", 10000, 1);
	core_start(&core);
	return core_find(&core, "d", O_RDONLY | O_DIRECTORY);
}

static struct migrate_waiter *ask(int fd, const char *name)
{
	return CORE_WAIT(w, migrate_fetch_name(core.volume, fd, name, 0, migrate_waiter_done, w));
}

START_TEST(asked_for_by_many)
{
	struct migrate_waiter *w[20];
	struct stat st;
	int fd = start();

	for (size_t i = 0; i < G_N_ELEMENTS(w); i++)
		w[i] = ask(fd, i % 2 ? "f" : "g");
	for (size_t i = 0; i < G_N_ELEMENTS(w); i++)
		ck_assert_int_eq(core_wait(w[i]), i % 2 ? 0 : -ENOENT);
	ck_assert_int_eq(fstatat(fd, "f", &st, 0), 0);
	ck_assert_uint_eq(st.st_nlink, 1);
	ck_assert_int_eq(st.st_size, 10000);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(errors_of_the_old_server)
{
	int fd = start();

	backend_fault_add(core.fault, &(struct fault_rule){.ops = LOOKUPS,
							   .action = FAULT_ERROR,
							   .status = -EACCES,
							   .times = 1});
	ck_assert_int_eq(core_name_in(&core, fd, "f"), -EREMOTEIO);
	ck_assert_int_eq(core_name_in(&core, fd, "f"), 0);
	core_free_with(&core, fd);
}
END_TEST

/* By its name, until it is made, or the directory is filled. */
START_TEST(i12_put_off)
{
	const char *names[] = {"f", "g"};
	const struct fault_rule rule = {.ops = LOOKUPS, .action = FAULT_ERROR, .status = -EAGAIN};
	int fd = start();
	unsigned n = backend_fault_add(core.fault, &rule);
	struct migrate_waiter *w[] = {ask(fd, names[0]), ask(fd, names[1])};

	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(core_wait(w[i]), -EAGAIN);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 2);
	backend_fault_remove(core.fault, n);
	ck_assert_int_eq(core_name_in(&core, fd, "f"), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "g"), -ENOENT);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* A directory that refuses is listed once, whatever names are asked for, until it is filled. */
/* As where the file system has a limit. */
START_TEST(i12_a_file_too_large)
{
	const struct rlimit limit = {1 << 20, 1 << 20};
	int fd = start();

	core_source_file(&core, "d/f", 2 << 20, 1);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "f"), -EREMOTEIO);
	core_expect_answer(&core, "errors 0", "larger than the new server's file system can hold");
	errors_forget_all(core.retriever->errors);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), -EREMOTEIO);
	core_expect_answer(&core, "errors 0", "larger than the new server's file system can hold");
	core_free_with(&core, fd);
}
END_TEST

START_TEST(i12_a_directory_that_refuses)
{
	unsigned rule;
	int fd = start();

	rule = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_LOOKUP |
									 1u << BACKEND_READDIR,
								  .action = FAULT_ERROR,
								  .status = -EACCES});
	ck_assert_int_eq(core_name_in(&core, fd, "f"), -EREMOTEIO);
	ck_assert_int_eq(core_name_in(&core, fd, "none"), -EREMOTEIO);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), -EREMOTEIO);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	backend_fault_remove(core.fault, rule);
	ck_assert_int_eq(core_name_in(&core, fd, "f"), 0);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* What it has not got yet is not there, and is no name that nobody has. */
START_TEST(i1_a_directory_that_is_a_stub_there)
{
	g_autofree char *path = NULL;
	int fd = start();

	path = g_strconcat(core.source, "/d", NULL);
	ck_assert_int_eq(setxattr(path, MIGRATE_XATTR, "any", 3, 0), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "g"), -EREMOTEIO);
	ck_assert_int_eq(core_name_in(&core, fd, "h"), -EREMOTEIO);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_expect_answer(&core, "errors 0", "stub of another migration");
	ck_assert_int_eq(removexattr(path, MIGRATE_XATTR), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "g"), -ENOENT);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* A name that failed leaves the list when it is made, alone or with all of its directory. */
START_TEST(a_name_that_failed_and_was_made)
{
	g_autofree char *path = NULL;
	const struct fault_rule rule = {.ops = 1u << BACKEND_READLINK,
					.action = FAULT_ERROR,
					.status = -EREMOTEIO,
					.times = 1};
	int fd = start();

	path = g_strconcat(core.source, "/d/l", NULL);
	ck_assert_int_eq(symlink("elsewhere", path), 0);
	for (int whole = 0; whole < 2; whole++) {
		backend_fault_add(core.fault, &rule);
		ck_assert_int_eq(whole ? core_wait(core_ask_fill(&core, fd, 0))
				       : core_name_in(&core, fd, "l"),
				 -EREMOTEIO);
		ck_assert_uint_ge(errors_count(core.retriever->errors), 1);
		ck_assert_int_eq(whole ? core_wait(core_ask_fill(&core, fd, 0))
				       : core_name_in(&core, fd, "l"),
				 0);
		ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
		ck_assert_int_eq(unlinkat(fd, "l", 0), 0);
	}
	core_free_with(&core, fd);
}
END_TEST

/* What is missing here is no answer of the old server's: the name is there. */
START_TEST(i12_what_is_missing_here)
{
	g_autofree char *link = NULL, *staging = NULL;
	int fd = start();

	link = g_strconcat(core.source, "/d/l", NULL);
	staging = core_path(&core, ".migrate/staging");
	ck_assert_int_eq(symlink("elsewhere", link), 0);
	ck_assert_int_eq(rmdir(staging), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "l"), -EIO);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(symbolic_links)
{
	g_autofree char *path = NULL;
	char target[16];
	int fd = start();

	path = g_strconcat(core.source, "/d/l", NULL);
	ck_assert_int_eq(symlink("elsewhere", path), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "l"), 0);
	ck_assert_int_eq(readlinkat(fd, "l", target, sizeof(target)), 9);
	ck_assert(!memcmp(target, "elsewhere", 9));
	core_free_with(&core, fd);
}
END_TEST

/* I11: a name does not wait for the fill of its directory, nor for its bracket's other side. */
START_TEST(i11_beside_a_stuck_fill)
{
	struct migrate_waiter *w;
	unsigned lists;
	int fd = start();

	lists = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READDIR,
								   .action = FAULT_STALL});
	w = core_ask_fill(&core, fd, 0);
	ck_assert(backend_fault_wait(core.fault, lists, 1));
	ck_assert_int_eq(core_name_in(&core, fd, "f"), 0);
	backend_fault_release(core.fault, lists);
	ck_assert_int_eq(core_wait(w), 0);
	core_free_with(&core, fd);
}
END_TEST

/* Removed by a client as soon as the directory is filled: asked for again it is not there. */
START_TEST(i7_in_a_filled_directory)
{
	int fd = start();

	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	ck_assert_int_eq(unlinkat(fd, "f", 0), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "f"), 0); /* nothing to do: the door looks */
	ck_assert_int_eq(faccessat(fd, "f", F_OK, 0), -1);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* A name is made with its ACL, or not at all. */
START_TEST(i12_acls)
{
	static const int status[] = {-EREMOTEIO, -ESTALE, -ENOENT};
	static const int answer[] = {-EREMOTEIO, 0, -ENOENT};

	for (size_t i = 0; i < G_N_ELEMENTS(status); i++) {
		int fd, file;

		core_make(&core);
		core_carry(&core);
		core_source_file(&core, "d/f", 10000, 1);
		core_source_acl("d/f", XATTR_ACL_ACCESS, "u::6 u:1000:6 g::4 m::6 o::4");
		core_start(&core);
		fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
		backend_fault_add(core.fault, &(struct fault_rule){.ops = XATTRS,
								   .action = FAULT_ERROR,
								   .status = status[i],
								   .times = 1});
		ck_assert_int_eq(core_name_in(&core, fd, "f"), answer[i]);
		ck_assert_uint_eq(errors_count(core.retriever->errors), i == 0);
		if (answer[i]) {
			ck_assert_int_eq(faccessat(fd, "f", F_OK, 0), -1);
			ck_assert_int_eq(core_name_in(&core, fd, "f"), 0);
		}
		file = openat(fd, "f", O_RDONLY | O_CLOEXEC);
		core_expect_acl(file, XATTR_ACL_ACCESS, "u::6 u:1000:6 g::4 m::6 o::4");
		close(file);
		core_free_with(&core, fd);
	}
}
END_TEST

/* ---- other spellings ---- */

static void fold(const char *name)
{
	backend_fault_add(core.fault, &(struct fault_rule){
					      .ops = LOOKUPS, .action = FAULT_FOLD, .entry = name});
}

/* An old server that takes any: one object has one name here, the listed one. */
START_TEST(i13_listed_spelling_only)
{
	static const char *const others[] = {"REPORT", "report", "rEPORT"};
	struct stat st;

	for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
		int fd;

		core_make(&core);
		core_source_file(&core, "d/Report", 100, 1);
		core_start(&core);
		fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
		fold("Report");
		ck_assert_int_eq(core_name_in(&core, fd, others[i]), 0); /* the door looks itself */
		ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
		ck_assert_int_lt(fstatat(fd, others[i], &st, 0), 0);
		ck_assert_int_eq(fstatat(fd, "Report", &st, 0), 0);
		core_free_with(&core, fd);
	}
}
END_TEST

/* It costs one more question in a directory, and none where names are exact. */
START_TEST(i13_tried_once)
{
	int fd;

	core_make(&core);
	core_source_file(&core, "d/a", 100, 1);
	core_source_file(&core, "d/b", 100, 1);
	core_source_file(&core, "d/A", 100, 1); /* another one */
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	for (unsigned i = 0; i < 2; i++) {
		unsigned before = backend_fault_submitted(core.fault, LOOKUPS);

		ck_assert_int_eq(core_name_in(&core, fd, i ? "b" : "a"), 0);
		ck_assert_uint_eq(backend_fault_submitted(core.fault, LOOKUPS) - before, i ? 1 : 2);
	}
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	core_free_with(&core, fd);
}
END_TEST

/* What cannot be tried is not believed. */
START_TEST(i13_a_trial_that_fails)
{
	int fd = start();

	backend_fault_add(core.fault, &(struct fault_rule){.ops = LOOKUPS,
							   .action = FAULT_ERROR,
							   .status = -EACCES,
							   .name = "F"});
	ck_assert_int_eq(core_name_in(&core, fd, "f"), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	core_free_with(&core, fd);
}
END_TEST

/* What a rule leaves out is not even asked for, where its name says that already; else what has the
 * name is looked at.  Nobody waits for a listing. */
START_TEST(names_that_rules_leave_out)
{
	unsigned before;
	struct stat st;
	int fd;

	core_make(&core);
	core_source_file(&core, "d/.snapshot/hourly.0/f", 100, 1);
	core_source_file(&core, "d/a.tmp", 100, 1);
	core_source_file(&core, "d/keep.tmp", 100, 1);
	core_source_file(&core, "e/.snapshot", 100, 1);
	core_start(&core);
	core_rule(&core, RULE_DEFAULT, ".snapshot/");
	core_rule(&core, RULE_EXCLUDE, "*.tmp");
	core_rule(&core, RULE_INCLUDE, "/d/keep.tmp");
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	before = backend_fault_submitted(core.fault, LOOKUPS);
	ck_assert_int_eq(core_name_in(&core, fd, "a.tmp"), -ENOENT);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, LOOKUPS), before);
	ck_assert_int_eq(core_name_in(&core, fd, ".snapshot"), -ENOENT);
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_int_lt(fstatat(fd, ".snapshot", &st, 0), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "keep.tmp"), 0);
	ck_assert_int_eq(fstatat(fd, "keep.tmp", &st, 0), 0);
	close(fd);
	fd = core_find(&core, "e", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_name_in(&core, fd, ".snapshot"), 0);
	ck_assert_int_eq(fstatat(fd, ".snapshot", &st, 0), 0);
	close(fd);
	core_expect_answer(&core, "status", "left-out=0\n");
	core_free(&core);
}
END_TEST

/* The name service: its object waits, is listed, and holds up no other. */
START_TEST(i12_an_owner_that_nobody_tells)
{
	struct fault_rule rule = {.ops = LOOKUPS | 1u << BACKEND_XATTRS,
				  .name = "f",
				  .action = FAULT_ERROR,
				  .status = -EHOSTDOWN};
	unsigned number;
	int fd;

	core_make(&core);
	core_carry(&core);
	core_source_file(&core, "d/f", 10000, 1);
	core_source_file(&core, "d/g", 10000, 1);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	number = backend_fault_add(core.fault, &rule);
	ck_assert_int_eq(core_name_in(&core, fd, "f"), -EAGAIN);
	core_expect_answer(&core, "errors 0", "name service does not tell who owns it");
	ck_assert_int_eq(core_name_in(&core, fd, "g"), 0);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), -EAGAIN);
	core_expect_answer(&core, "errors 0", "name service does not tell who owns it");
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, MIGRATE_BACKGROUND)), -EREMOTEIO);
	ck_assert_int_eq(faccessat(fd, "f", F_OK, 0), -1);
	backend_fault_remove(core.fault, number);
	ck_assert_int_eq(core_name_in(&core, fd, "f"), 0);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(i13_a_directory_that_is_not_ours)
{
	int fd;

	core_make(&core);
	core_source_file(&core, "d/sub/f", 10, 1);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(mkdirat(fd, "sub", 0755), 0);
	ck_assert_int_lt(core_name_in(&core, fd, "sub"), 0);
	core_expect_answer(&core, "errors 0", "/d/sub\n");
	core_expect_answer(&core, "errors 0", "a program of this machine has made a directory");
	ck_assert_int_eq(unlinkat(fd, "sub", AT_REMOVEDIR), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "sub"), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "sub"), 0); /* it is */
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("name", 60);

	tcase_add_test(tcase, asked_for_by_many);
	tcase_add_test(tcase, errors_of_the_old_server);
	tcase_add_test(tcase, i12_an_owner_that_nobody_tells);
	tcase_add_test(tcase, i12_put_off);
	tcase_add_test(tcase, i12_a_file_too_large);
	tcase_add_test(tcase, i12_a_directory_that_refuses);
	tcase_add_test(tcase, i1_a_directory_that_is_a_stub_there);
	tcase_add_test(tcase, a_name_that_failed_and_was_made);
	tcase_add_test(tcase, i12_what_is_missing_here);
	tcase_add_test(tcase, symbolic_links);
	tcase_add_test(tcase, i11_beside_a_stuck_fill);
	tcase_add_test(tcase, i7_in_a_filled_directory);
	tcase_add_test(tcase, i12_acls);
	tcase_add_test(tcase, i13_listed_spelling_only);
	tcase_add_test(tcase, i13_tried_once);
	tcase_add_test(tcase, i13_a_trial_that_fails);
	tcase_add_test(tcase, i13_a_directory_that_is_not_ours);
	tcase_add_test(tcase, names_that_rules_leave_out);
	return run_tcase(tcase);
}
