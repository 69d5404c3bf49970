/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the old server refuses is given up. */
#include "tests/retriever/core_skip.h"

static void skips_with(const char *what, const char *name, const char *options, const char *part)
{
	g_autofree char *asked = asks(what, name), *command = g_strconcat(asked, options, NULL);

	core_expect_answer(&core, command, part);
}

/* Of a directory that it does not list: the directory stays, with what is here. */
START_TEST(i12_a_directory_that_is_not_listed)
{
	const int statuses[] = {-EACCES, -ELOOP, -ENOTSUP};

	for (unsigned i = 0; i < G_N_ELEMENTS(statuses); i++) {
		g_autofree char *text = NULL;
		int fd = begin(3);

		ck_assert_int_eq(core_name_in(&core, fd, "f1"), 0);
		backend_fault_add(core.fault, &(struct fault_rule){.ops = LISTS,
								   .action = FAULT_ERROR,
								   .status = statuses[i]});
		ck_assert_int_lt(fill(fd), 0);
		skips("names", "", "-2 "); /* it has to be said */
		skips("all", "", "-");
		ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
		ck_assert_uint_eq(reported(""), 0);
		skips_with("names", "", "\nleave\nbecause of that", "names=1\ndirectories=1\n");
		expect_filled(fd, 1);
		ck_assert_uint_eq(reported(""), 1);
		text = report_text();
		ck_assert_ptr_nonnull(strstr(text, "; skipped because: of that [QM1"));
		core_free_with(&core, fd);
	}
}
END_TEST

/* A symbolic link that is not read has no record in which that could be kept: it holds up its
 * directory's listing, and no other name, until it is read or skipped. */
START_TEST(i12_a_link_that_is_not_read)
{
	const int statuses[] = {-EACCES, -EREMOTEIO, -EBADMSG};

	for (unsigned i = 0; i < G_N_ELEMENTS(statuses); i++) {
		int fd = begin(3), root = core_root(&core);
		struct stat st;

		shell("ln -s f1 %s/d/link", core.source);
		unsigned failing = backend_fault_add(
			core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READLINK,
							 .action = FAULT_ERROR,
							 .status = statuses[i]});
		ck_assert_int_eq(fill(fd), -EREMOTEIO);
		ck_assert_int_eq(fill(root), 0); /* of which the directory is a name */
		ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
		ck_assert_int_eq(core_name_in(&core, fd, "f1"), 0);
		ck_assert_int_lt(core_name_in(&core, fd, "link"), 0);
		ck_assert_int_lt(fstatat(fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
		core_expect_answer(&core, "errors 0", "refused to read the symbolic link");
		core_expect_answer(&core, "finalize", "-16 ");
		if (i) {
			skips_with("names", "/link", "\nleave", "names=1\ndirectories=1\n");
			expect_filled(fd, 3);
		} else {
			backend_fault_remove(core.fault, failing);
			ck_assert_int_eq(fill(fd), 0);
			expect_filled(fd, 4);
		}
		close(root);
		close(fd);
		core_free(&core);
	}
}
END_TEST

/* What is no refusal of the old server's. */
START_TEST(i12_a_directory_that_may_be_listed_later)
{
	const int statuses[] = {-EIO, -ENOSPC, -ETIMEDOUT};

	for (unsigned i = 0; i < G_N_ELEMENTS(statuses); i++) {
		int fd = begin(3);
		unsigned failing =
			backend_fault_add(core.fault, &(struct fault_rule){.ops = LISTS,
									   .action = FAULT_ERROR,
									   .status = statuses[i]});

		ck_assert_int_lt(fill(fd), 0);
		skips_with("names", "", "\nleave", "-");
		ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
		backend_fault_remove(core.fault, failing);
		skips_with("names", "", "\nleave", "names=0\n");
		expect_filled(fd, 3);
		ck_assert_uint_eq(reported(""), 0);
		core_free_with(&core, fd);
	}
}
END_TEST

/* It was removed there, and cannot be removed here, as it is not filled. */
START_TEST(i12_a_directory_that_is_gone)
{
	int fd = begin(3), root = core_root(&core);

	ck_assert_int_eq(fill(root), 0);
	shell("rm -r %s/d", core.source);
	ck_assert_int_lt(fill(fd), 0);
	core_restart(&core); /* it is looked for again */
	skips_with("names", "", "\nleave", "names=1\ndirectories=1\n");
	expect_filled(fd, 0);
	close(root);
	core_free_with(&core, fd);
}
END_TEST

/* Names of which it does not tell. */
START_TEST(i12_names_that_are_refused)
{
	int fd = begin_carrying(3);

	fails("f1", -ENOTSUP);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	skips("all", "", "-");
	skips_with("names", "/f1", "\nleave", "names=1\n");
	expect_filled(fd, 2);
	ck_assert_uint_eq(reported("/f1"), 1);
	core_free_with(&core, fd);
	fd = begin_carrying(3);
	fails("f1", -EACCES); /* nobody's */
	ck_assert_int_eq(fill(fd), 0);
	fails(NULL, -EACCES); /* also by its handle */
	ck_assert_uint_eq(count_names(fd), 3);
	skips_with("names", "/f1", "\nleave", "names=1\n");
	expect_filled(fd, 2);
	ck_assert_uint_eq(reported("/f1"), 1);
	core_free_with(&core, fd);
}
END_TEST

/* A name of it is no word about the rest of the listing. */
START_TEST(i12_not_the_rest_with_a_name)
{
	int fd = begin_carrying(3);

	fails("f1", -ENOTSUP);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	unsigned rule = backend_fault_add(
		core.fault,
		&(struct fault_rule){.ops = LISTS, .action = FAULT_ERROR, .status = -EACCES});
	skips_with("names", "/f1", "\nleave", "-");
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_uint_eq(reported("") + reported("/f1"), 0);
	backend_fault_remove(core.fault, rule);
	skips_with("names", "/f1", "\nleave", "names=1\n");
	expect_filled(fd, 2);
	core_free_with(&core, fd);
}
END_TEST

/* A file that it does not let be read, and all that a filter lets through. */
#define NOT_READ                                                                                   \
	"the old server does not let this machine read it: give it root's rights there "           \
	"(no_root_squash), or make the file readable"

START_TEST(i12_by_reason_and_by_directory)
{
	g_autofree char *below = NULL, *none = NULL;
	int fd, file;

	fd = begin_refused(2);
	ck_assert_int_eq(core_name_in(&core, fd, "f0"), 0);
	file = open_below(fd, "f0", O_RDONLY);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ,
							   .action = FAULT_ERROR,
							   .status = -EACCES});
	ck_assert_int_lt(core_range(&core, file, 0, 1), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 4);
	none = g_strconcat("skip names below ", core.root, "/other", NULL);
	core_expect_answer(&core, none, "-2 ");
	core_expect_answer(&core, "skip names reason no such reason", "-2 ");
	core_expect_answer(&core, "skip names because it is so", "-22 ");
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	below = g_strconcat("skip names below ", core.root, "/d\nreason ",
			    error_kind(QM_NAME_IMPOSSIBLE)->sentence, NULL);
	core_expect_answer(&core, below, "names=2\ndirectories=1\n");
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_expect_answer(&core, "skip names reason not let\nleave", "-2 "); /* but a part */
	core_expect_answer(&core, "skip names reason " NOT_READ, "-2 ");
	core_expect_answer(&core, "skip names reason " NOT_READ "\nleave",
			   "names=1\ndirectories=0\n");
	expect_filled(fd, 1);
	close(file);
	core_free_with(&core, fd);
}
END_TEST

/* What fails keeps nothing else from being given up. */
START_TEST(i12_the_others_are)
{
	g_autofree char *command = NULL;
	int fd, other;

	core_make(&core);
	make_files("d", 1);
	make_files("e", 1);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	other = core_find(&core, "e", O_RDONLY | O_DIRECTORY);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = LISTS,
							   .name = "e",
							   .action = FAULT_ERROR,
							   .status = -EIO});
	refuse(1);
	ck_assert_int_lt(fill(fd), 0);
	ck_assert_int_lt(fill(other), 0);
	errors_add_name(core.retriever->errors, other, "x", -EREMOTEIO, QM_NAME_MISSING, NULL);
	command = g_strconcat("skip names below ", core.root, NULL);
	core_expect_answer(&core, command, "elsewhere 1 are skipped");
	ck_assert_int_eq(core_state(fd) == MIGRATE_FILLED, core_state(other) != MIGRATE_FILLED);
	close(other);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("skip_refused", 60);

	tcase_add_test(tcase, i12_a_link_that_is_not_read);
	tcase_add_test(tcase, i12_a_directory_that_is_not_listed);
	tcase_add_test(tcase, i12_a_directory_that_may_be_listed_later);
	tcase_add_test(tcase, i12_a_directory_that_is_gone);
	tcase_add_test(tcase, i12_names_that_are_refused);
	tcase_add_test(tcase, i12_not_the_rest_with_a_name);
	tcase_add_test(tcase, i12_by_reason_and_by_directory);
	tcase_add_test(tcase, i12_the_others_are);
	return run_tcase(tcase);
}
