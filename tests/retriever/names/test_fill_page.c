/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"
#include "tests/retriever/core_xattrs.h"

#include <sys/sysmacros.h>

#include "retriever/data/place.h"
#include "retriever/names/fill_state.h"

static const char acl[] = "u::6 u:1000:6 g::4 m::6 o::4";

static void expect_acl(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s", name);
	core_expect_acl(fd, XATTR_ACL_ACCESS, acl);
	close(fd);
}

/* As begin(), with an ACL on every file. */
static int begin_with_acls(unsigned n)
{
	core_make(&core);
	core_carry(&core);
	make_files("d", n);
	for (unsigned i = 0; i < n; i++) {
		g_autofree char *name = g_strdup_printf("d/f%u", i);

		core_source_acl(name, XATTR_ACL_ACCESS, acl);
	}
	core_start(&core);
	return core_find(&core, "d", O_RDONLY | O_DIRECTORY);
}

static void xattrs_fail(const char *name, int status, unsigned times)
{
	backend_fault_add(core.fault, &(struct fault_rule){.ops = XATTRS,
							   .name = name,
							   .action = FAULT_ERROR,
							   .status = status,
							   .times = times});
}

/* One question for each entry, all on their way together; none for what is there already. */
START_TEST(acls_are_asked_for_together)
{
	unsigned before, rule;
	struct migrate_waiter *w;
	int fd = begin_with_acls(100);

	ck_assert_int_eq(core_name_in(&core, fd, "f0"), 0);
	before = backend_fault_submitted(core.fault, XATTRS);
	rule = backend_fault_add(core.fault,
				 &(struct fault_rule){.ops = XATTRS, .action = FAULT_STALL});
	w = core_ask_fill(&core, fd, 0);
	ck_assert(backend_fault_wait(core.fault, rule, 99));
	ck_assert_uint_eq(count_names(fd), 1);
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(w), 0);
	ck_assert_uint_eq(count_names(fd), 100);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, XATTRS) - before, 99);
	for (unsigned i = 0; i < 100; i++) {
		g_autofree char *name = g_strdup_printf("f%u", i);

		expect_acl(fd, name);
	}
	core_free_with(&core, fd);
}
END_TEST

static unsigned listed_before; /* attach has looked at the root */

static unsigned count_pages(void)
{
	return backend_fault_submitted(core.fault, LISTS) - listed_before;
}

/* A wide directory is not listed to its end while the questions of its first pages wait. */
START_TEST(a_listing_waits_for_the_answers)
{
	struct migrate_waiter *w;
	unsigned rule;
	int fd;

	core_width = 10 * CORE_PAGE;
	fd = begin_with_acls(1);
	listed_before = backend_fault_submitted(core.fault, LISTS);
	rule = backend_fault_add(core.fault,
				 &(struct fault_rule){.ops = XATTRS, .action = FAULT_STALL});
	w = core_ask_fill(&core, fd, 0);
	ck_assert(backend_fault_wait(core.fault, rule, 3 * CORE_PAGE));
	ck_assert_uint_eq(count_pages(), 3);
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(w), 0);
	ck_assert_uint_eq(count_pages(), 10);
	ck_assert_uint_eq(count_names(fd), core_width);
	core_width = 0;
	core_free_with(&core, fd);
}
END_TEST

/* Who handed the third page over is late: what it is made of was answered meanwhile, and the
 * listing has gone on to its end. */
static void late_after_the_third_page(void)
{
	if (count_pages() != 3)
		return;
	atomic_store(&core_pushed, NULL);
	backend_fault_release(core.fault, 1);
	while (count_pages() < 10 ||
	       backend_fault_in_flight(core.fault) > 3) /* three pages are our caller's */
		sched_yield();
}

/* I12: a listing that ends twice would leave names out of a directory that is called filled. */
START_TEST(i12_a_listing_that_goes_on_at_once)
{
	int fd;

	core_width = 10 * CORE_PAGE;
	fd = begin_with_acls(1);
	listed_before = backend_fault_submitted(core.fault, LISTS);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = XATTRS, .action = FAULT_STALL});
	atomic_store(&core_pushed, late_after_the_third_page);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_uint_eq(count_names(fd), core_width);
	core_width = 0;
	core_free_with(&core, fd);
}
END_TEST

/* No ACL without it: the name fails, is listed, and may be tried again. */
START_TEST(i12_an_acl_that_is_not_told)
{
	int fd = begin_with_acls(3);

	backend_fault_add(core.fault, &(struct fault_rule){.ops = XATTRS,
							   .name = "f1",
							   .action = FAULT_ERROR,
							   .status = -EREMOTEIO,
							   .times = 1});
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_int_eq(faccessat(fd, "f1", F_OK, 0), -1);
	expect_acl(fd, "f0");
	ck_assert_uint_ge(errors_count(core.retriever->errors), 1);
	ck_assert_int_eq(fill(fd), 0);
	expect_acl(fd, "f1");
	core_free_with(&core, fd);
}
END_TEST

/* Between the listing and the question: replaced, or removed, or the server is of two minds. */
START_TEST(what_changed_before_its_acl_was_told)
{
	g_autofree char *path = NULL;
	struct migrate_waiter *w;
	unsigned rule;
	int fd = begin_with_acls(4);

	path = g_strconcat(core.source, "/d/f2", NULL);
	xattrs_fail("f1", -ESTALE, 1);
	xattrs_fail("f2", -ENOENT, 0);
	xattrs_fail("f3", -ENOENT, 1);
	rule = backend_fault_add(
		core.fault,
		&(struct fault_rule){.ops = LISTS, .skip = 1, .times = 1, .action = FAULT_STALL});
	w = core_ask_fill(&core, fd, 0);
	ck_assert(backend_fault_wait(core.fault, rule, 1)); /* the second listing */
	ck_assert_int_eq(unlink(path), 0);
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(w), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	expect_acl(fd, "f1");
	expect_acl(fd, "f3");
	ck_assert_uint_eq(count_names(fd), 3);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* I12: what is listed and cannot be found, again and again, has not vanished. */
START_TEST(i12_a_name_that_is_listed_and_not_found)
{
	int fd = begin_with_acls(3);

	xattrs_fail("f1", -ENOENT, 0);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_int_eq(faccessat(fd, "f1", F_OK, 0), -1);
	core_expect_answer(&core, "errors 0",
			   "/d/f1\nreason=the old server lists this name and "
			   "does not find it");
	backend_fault_remove(core.fault, 1);
	core_expect_answer(&core, "retry", "0 ");
	ck_assert_int_eq(fill(fd), 0);
	expect_acl(fd, "f1");
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

static unsigned xattrs_of_another(const char *name, unsigned times)
{
	return backend_fault_add(core.fault, &(struct fault_rule){.ops = XATTRS,
								  .name = name,
								  .action = FAULT_CHANGE,
								  .fileid = 1,
								  .times = times});
}

/* No object gets another one's ACL. */
START_TEST(another_object_answers_to_the_name)
{
	unsigned rule;
	int fd = begin(4);

	xattrs_of_another("f0", 1); /* it was replaced at this moment, and is then what it is */
	rule = xattrs_of_another("f1", 0);
	xattrs_of_another("f3", 0);
	ck_assert_int_eq(core_name_in(&core, fd, "f3"), -EREMOTEIO);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	ck_assert_int_eq(faccessat(fd, "f0", F_OK, 0), 0);
	ck_assert_int_eq(faccessat(fd, "f2", F_OK, 0), 0);
	ck_assert_uint_eq(count_names(fd), 2);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 3);
	core_expect_answer(&core, "errors 0", "/d/f1\nreason=the old server opens another object");
	core_expect_answer(&core, "errors 0", "/d/f3\nreason=the old server opens another object");
	backend_fault_remove(core.fault, rule);
	backend_fault_remove(core.fault, rule + 1);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_uint_eq(count_names(fd), 4);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* Likewise where a lookup tells. */
START_TEST(no_object_answers_to_the_name_alone)
{
	unsigned rule;
	int fd = begin_with_acls(2);

	rule = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_LOOKUP,
								  .name = "f1",
								  .action = FAULT_ERROR,
								  .status = -ENOTUNIQ});
	ck_assert_int_eq(core_name_in(&core, fd, "f1"), -EREMOTEIO);
	core_expect_answer(&core, "errors 0", "/d/f1\nreason=the old server opens another object");
	backend_fault_remove(core.fault, rule);
	ck_assert_int_eq(core_name_in(&core, fd, "f1"), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* All names of a file at once: it is made once, and whichever made it asked first. */
START_TEST(a_hard_linked_file)
{
	int fd;

	core_make(&core);
	core_carry(&core);
	make_files("d", 1);
	for (unsigned i = 1; i < 20; i++) {
		g_autofree char *from = g_strconcat(core.source, "/d/f0", NULL);
		g_autofree char *to = g_strdup_printf("%s/d/f%u", core.source, i);

		ck_assert_int_eq(link(from, to), 0);
	}
	for (unsigned i = 0; i < 20; i++) {
		g_autofree char *name = g_strdup_printf("d/f%u", i);

		core_source_acl(name, XATTR_ACL_ACCESS, acl);
	}
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_name_in(&core, fd, "f7"), 0);
	expect_acl(fd, "f7");
	ck_assert_uint_eq(backend_fault_submitted(core.fault, XATTRS), 3); /* root, d, f7 */
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, XATTRS), 3);
	expect_acl(fd, "f0");
	ck_assert_int_eq(COUNT_GET(core.retriever, acls_carried), 1);
	core_free_with(&core, fd);
}
END_TEST

/* The costs of a server that carries nothing. */
START_TEST(nothing_is_asked_where_nothing_is_carried)
{
	int fd;

	core_make(&core);
	make_files("d", 10);
	core_open(&core);
	core.retriever->carries = 0;
	core_attach(&core);
	core_run(&core);
	core_connect(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_name_in(&core, fd, "f3"), 0);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, XATTRS), 0);
	core_free_with(&core, fd);
}
END_TEST

/* Every kind of object, and names that are hard to hold. */
START_TEST(every_kind)
{
	g_autofree char *dir = NULL;
	char name[256], target[8];
	struct stat st;
	int source, fd;

	core_make(&core);
	make_files("d/sub", 1);
	dir = g_strconcat(core.source, "/d", NULL);
	source = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memset(name, 'n', 255);
	name[255] = '\0';
	ck_assert_int_eq(mknodat(source, "fifo", S_IFIFO | 0604, 0), 0);
	ck_assert_int_eq(mknodat(source, "null", S_IFCHR | 0666, makedev(1, 3)), 0);
	ck_assert_int_eq(mknodat(source, name, S_IFREG | 04755, 0), 0);
	ck_assert_int_eq(mknodat(source, "a\nb\xff", S_IFREG | 0600, 0), 0);
	ck_assert_int_eq(symlinkat("target", source, "link"), 0);
	ck_assert_int_eq(fchownat(source, "link", 5, 6, AT_SYMLINK_NOFOLLOW), 0);
	close(source);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_uint_eq(count_names(fd), 6);
	ck_assert_int_eq(fstatat(fd, "fifo", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode, S_IFIFO | 0604);
	ck_assert_int_eq(fstatat(fd, "null", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode, S_IFCHR | 0666);
	ck_assert_uint_eq(st.st_rdev, makedev(1, 3));
	ck_assert_int_eq(fstatat(fd, name, &st, 0), 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 04755);
	ck_assert_int_eq(fstatat(fd, "a\nb\xff", &st, 0), 0);
	ck_assert_int_eq(fstatat(fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_uint_eq(st.st_uid, 5);
	ck_assert_int_eq(readlinkat(fd, "link", target, sizeof(target)), 6);
	ck_assert(!memcmp(target, "target", 6));
	core_free_with(&core, fd);
}
END_TEST

/* An error of ours that looks like a vanished name must not leave names out. */
START_TEST(i12_a_local_error_is_no_vanished_name)
{
	g_autofree char *path = NULL;
	int fd;

	core_make(&core);
	make_files("d/sub", 1);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	path = core_path(&core, ".migrate/staging");
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_lt(fill(fd), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	core_free_with(&core, fd);
}
END_TEST

/* Reserved at the root, a name like others below. */
START_TEST(the_reserved_name)
{
	int root, fd;

	core_make(&core);
	core_source_file(&core, ".migrate/x", 10, 1);
	core_source_file(&core, "d/.migrate/x", 10, 1);
	core_start(&core);
	core_source_file(&core, MIGRATE_ROLLBACK_DIR "/x", 10, 1);
	root = core_root(&core);
	ck_assert_int_eq(core_name_in(&core, root, MIGRATE_ROLLBACK_DIR), -ENOENT);
	ck_assert_int_eq(core_name_in(&core, root, MIGRATE_PRIVATE_DIR), 0); /* doors hide it */
	ck_assert_int_lt(fill(root), 0);
	ck_assert_int_eq(core_state(root), MIGRATE_UNFILLED);
	ck_assert_int_lt(faccessat(root, MIGRATE_ROLLBACK_DIR, F_OK, AT_SYMLINK_NOFOLLOW), 0);
	fd = core_find(&core, "d/.migrate/x", O_RDONLY);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10, 1);
	close(fd);
	core_free_with(&core, root);
}
END_TEST

/* What a program of this machine made there before the directory was filled hides nothing. */
START_TEST(i13_a_directory_that_is_not_ours)
{
	int fd;

	core_make(&core);
	core_source_file(&core, "d/sub/f", 10, 1);
	core_source_file(&core, "d/g", 10, 1);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(mkdirat(fd, "sub", 0755), 0);
	ck_assert_int_lt(fill(fd), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_int_eq(faccessat(fd, "g", F_OK, 0), 0); /* the rest goes on */
	core_expect_answer(&core, "errors 0", "/d/sub\n");
	core_expect_answer(&core, "errors 0", "a program of this machine has made a directory");
	core_expect_answer(&core, "finalize", "-16 ");
	/* what is unfinished here may be moved into it */
	ck_assert_int_eq(place_found(core.retriever, open_below(fd, "sub", O_RDONLY)), 1);
	core_expect_answer(&core, "retry", "0 ");
	ck_assert_int_lt(fill(fd), 0);
	ck_assert_int_eq(unlinkat(fd, "sub", AT_REMOVEDIR), 0);
	core_expect_answer(&core, "retry", "0 ");
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(core_state(open_below(fd, "sub", O_RDONLY)), MIGRATE_UNFILLED);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(i13_a_directory_that_is_not_ours_given_up)
{
	g_autofree char *command = NULL;
	int fd;

	core_make(&core);
	core_source_file(&core, "d/sub/f", 10, 1);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(mkdirat(fd, "sub", 0755), 0);
	ck_assert_int_lt(fill(fd), 0);
	command = g_strdup_printf("skip names %s/d/sub", core.root);
	core_expect_answer(&core, command, "names=1\n");
	ck_assert_int_eq(make_whole(fd), 0);
	ck_assert_uint_eq(count_names(fd), 1);
	core_free_with(&core, fd);
}
END_TEST

/* What a rule leaves out there is not that one. */
START_TEST(i13_a_directory_that_is_not_ours_under_a_rule)
{
	int fd;

	core_make(&core);
	core_source_file(&core, "d/sub/f", 10, 1);
	core_start(&core);
	core_rule(&core, RULE_EXCLUDE, "sub/");
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(mkdirat(fd, "sub", 0755), 0);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_uint_eq(count_names(fd), 1);
	core_expect_answer(&core, "status", "left-out=1\n");
	core_free_with(&core, fd);
}
END_TEST

/* An earlier release may have made it, finished it, and been stopped. */
START_TEST(i13_a_directory_of_an_earlier_release)
{
	g_autofree char *ordered = NULL;
	int fd;

	core_make(&core);
	core_source_file(&core, "d/sub/f", 10, 1);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ordered = core_path(&core, ".migrate/" ORDERED_FILE);
	ck_assert_int_eq(unlink(ordered), 0);
	ck_assert_int_eq(mkdirat(fd, "sub", 0755), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "sub"), 0);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("page", 60);

	tcase_add_test(tcase, acls_are_asked_for_together);
	tcase_add_test(tcase, a_listing_waits_for_the_answers);
	tcase_add_test(tcase, i12_a_listing_that_goes_on_at_once);
	tcase_add_test(tcase, i12_an_acl_that_is_not_told);
	tcase_add_test(tcase, what_changed_before_its_acl_was_told);
	tcase_add_test(tcase, i12_a_name_that_is_listed_and_not_found);
	tcase_add_test(tcase, another_object_answers_to_the_name);
	tcase_add_test(tcase, no_object_answers_to_the_name_alone);
	tcase_add_test(tcase, a_hard_linked_file);
	tcase_add_test(tcase, nothing_is_asked_where_nothing_is_carried);
	tcase_add_test(tcase, every_kind);
	tcase_add_test(tcase, i12_a_local_error_is_no_vanished_name);
	tcase_add_test(tcase, the_reserved_name);
	tcase_add_test(tcase, i13_a_directory_that_is_not_ours);
	tcase_add_test(tcase, i13_a_directory_that_is_not_ours_given_up);
	tcase_add_test(tcase, i13_a_directory_that_is_not_ours_under_a_rule);
	tcase_add_test(tcase, i13_a_directory_of_an_earlier_release);
	return run_tcase(tcase);
}
