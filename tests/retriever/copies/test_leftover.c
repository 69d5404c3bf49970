/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_skip.h"

#include "retriever/copies/aside.h"
#include "retriever/copies/leftover.h"
#include "tests/pairs.h"

/* The directory's listing lacks that name, which a client has asked for. */
static void hide_in(int fd, const char *name)
{
	backend_fault_add(core.fault,
			  &(struct fault_rule){.ops = LISTS, .action = FAULT_HIDE, .entry = name});
	ck_assert_int_eq(core_name_in(&core, fd, name), 0);
}

static int hide(const char *name)
{
	int fd = begin(2);

	hide_in(fd, name);
	return fd;
}

static void make_file_whole(int file)
{
	ck_assert_int_eq(core_range(&core, file, 0, 101), 0);
	while (core_state(file) != MIGRATE_NORMAL)
		ck_assert_int_eq(core_sync(&core, file), 0);
}

static void expect_report(const char *text)
{
	g_autofree char *report = report_text();

	ck_assert_msg(strstr(report, text) != NULL, "%s: %s", text, report);
}

static void end_with(int fd)
{
	core_free_with(&core, fd);
}

START_TEST(i13_a_stub_goes)
{
	int fd = hide("f1");
	struct stat st;

	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_lt(fstatat(fd, "f1", &st, 0), 0);
	ck_assert_int_eq(fstatat(fd, "f0", &st, 0), 0);
	expect_report("does not list it: what was here meanwhile was taken back");
	ck_assert_int_eq(COUNT_GET(core.retriever, aside), 0);
	end_with(fd);
}
END_TEST

/* Nobody can tell whether it is worth something. */
START_TEST(i13_what_is_whole_goes_aside)
{
	int fd = hide("f1"), file = open_below(fd, "f1", O_RDWR);
	struct stat st;

	make_file_whole(file);
	close(file);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_lt(fstatat(fd, "f1", &st, 0), 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, aside), 1);
	end_with(fd);
}
END_TEST

/* I7 */
START_TEST(i13_what_a_client_changed_stays)
{
	int fd = hide("f1"), file = open_below(fd, "f1", O_RDWR);
	struct stat st;

	make_file_whole(file);
	ck_assert_int_eq(pwrite(file, "new", 3, 0), 3);
	close(file);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(fstatat(fd, "f1", &st, 0), 0);
	expect_report("a client has changed it here, and it stays");
	end_with(fd);
}
END_TEST

/* Likewise what one is changing just now: END comes to an object that has its name. */
START_TEST(i7_what_a_client_changes_stays)
{
	int fd = hide("f1"), file = open_below(fd, "f1", O_RDWR);
	struct stat st;
	uint64_t id;

	ck_assert_int_eq(core_begin(&core, file, -1, MIGRATE_WRITE, 0, 3, &id), 0);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(pwrite(file, "new", 3, 0), 3);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 3), 0);
	ck_assert_int_eq(fstat(file, &st), 0);
	ck_assert_uint_eq(st.st_nlink, 1);
	expect_report("a client has changed it here, and it stays");
	close(file);
	end_with(fd);
}
END_TEST

/* One name of several goes, and the file keeps its record. */
START_TEST(i13_another_name)
{
	int fd = hide("f1"), file = open_below(fd, "f1", O_RDWR);
	struct migrate_record rec;
	struct stat st;

	ck_assert_int_eq(migrate_record_load(file, &rec), 1);
	rec.flags |= MIGRATE_REC_ADOPTED; /* its bytes are to be compared */
	ck_assert_int_eq(migrate_record_store(file, &rec), 0);
	migrate_record_clear(&rec);
	ck_assert_int_eq(linkat(fd, "f1", core.retriever->links_fd, "elsewhere", 0), 0);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_lt(fstatat(fd, "f1", &st, 0), 0);
	ck_assert_int_eq(fstat(file, &st), 0);
	ck_assert_uint_eq(st.st_nlink, 1);
	ck_assert_int_eq(core_state(file), MIGRATE_PARTIAL);
	ck_assert_int_eq(COUNT_GET(core.retriever, aside), 0);
	close(file);
	end_with(fd);
}
END_TEST

/* Set there, not by a write here. */
START_TEST(i13_what_is_of_the_future_goes_aside)
{
	const struct timespec times[2] = {{.tv_sec = 4000000000}, {.tv_sec = 4000000000}};
	int fd = begin(2), file;
	g_autofree char *path = g_strconcat(core.source, "/d/f1", NULL);
	struct stat st;

	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	hide_in(fd, "f1");
	file = open_below(fd, "f1", O_RDWR);
	make_file_whole(file);
	close(file);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_lt(fstatat(fd, "f1", &st, 0), 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, aside), 1);
	end_with(fd);
}
END_TEST

/* Else it would come later, and nobody would know. */
START_TEST(i13_what_was_put_off_goes)
{
	int fd = hide("f1"), file = open_below(fd, "f1", O_RDONLY);
	struct stat st;

	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ,
							   .action = FAULT_ERROR,
							   .status = -EAGAIN});
	ck_assert_int_eq(core_range(&core, file, 0, 1), -EAGAIN);
	close(file);
	ck_assert_int_eq(errors_count(core.retriever->errors), 1);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_lt(fstatat(fd, "f1", &st, 0), 0);
	ck_assert_int_eq(errors_count(core.retriever->errors), 0);
	end_with(fd);
}
END_TEST

/* Somebody is to look at it. */
START_TEST(i12_what_has_failed_stays)
{
	int fd = hide("f1"), file = open_below(fd, "f1", O_RDWR);
	struct stat st;

	core_source_file(&core, "d/f1", 200, 7);
	ck_assert_int_eq(core_range(&core, file, 0, 1), -ESTALE);
	close(file);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(fstatat(fd, "f1", &st, 0), 0);
	fill_above(fd);
	ck_assert_int_eq(core_finish(&core, fd), -EAGAIN);
	core_expect_answer(&core, "errors 0", "/d/f1\n");
	end_with(fd);
}
END_TEST

/* Nobody has asked for it: a local program has moved it there, while the directory was unfilled. */
START_TEST(i7_what_was_moved_there_stays)
{
	int fd = begin(2), root = openat(fd, "..", O_RDONLY | O_DIRECTORY), elsewhere;
	struct stat st;

	core_source_file(&core, "e", 101, 3);
	fill_above(fd);
	elsewhere = open_below(root, "e", O_RDWR);
	ck_assert_int_eq(renameat(root, "e", fd, "moved"), 0);
	close(root);
	ck_assert_int_eq(linkat(fd, "moved", fd, "linked", 0), 0);
	ck_assert_int_eq(symlinkat("nowhere", fd, "link"), 0);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(fstat(elsewhere, &st), 0);
	ck_assert_uint_eq(st.st_nlink, 2);
	ck_assert_int_eq(fstatat(fd, "moved", &st, 0), 0);
	ck_assert_int_eq(fstatat(fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_int_eq(core_range(&core, elsewhere, 0, 101), 0);
	close(elsewhere);
	end_with(fd);
}
END_TEST

/* Of another kind than the listed one, and born here: nobody knows whose it is. */
START_TEST(i13_another_object)
{
	int fd = begin(1);
	struct stat st;

	ck_assert_int_eq(symlinkat("nowhere", fd, "f0"), 0);
	ck_assert_int_lt(fill(fd), 0);
	core_expect_answer(&core, "errors 0", "another object has this name here");
	ck_assert_int_eq(unlinkat(fd, "f0", 0), 0);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(fstatat(fd, "f0", &st, 0), 0);
	ck_assert(S_ISREG(st.st_mode));
	end_with(fd);
}
END_TEST

static void note_asked(void *arg)
{
	leftover_note_asked(arg, "f1");
}

static void was_asked(void *arg)
{
	leftover_was_asked(arg, "f2");
}

static void forget_asked(void *arg)
{
	leftover_forget_asked(arg);
}

START_TEST(several_threads)
{
	int fd = begin(1);
	struct object *directory;

	ck_assert_int_eq(object_get(core.retriever, fd, &directory), 0);
	{
		struct paired_call calls[] = {
			{note_asked, directory}, {was_asked, directory}, {forget_asked, directory}};

		call_in_pairs(calls, G_N_ELEMENTS(calls));
	}
	leftover_note_asked(directory, "f1");
	ck_assert(leftover_was_asked(directory, "f1") && !leftover_was_asked(directory, "f2"));
	leftover_forget_asked(directory);
	ck_assert(!leftover_was_asked(directory, "f1"));
	object_unref(directory);
	end_with(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("unlisted", 60);

	tcase_add_test(tcase, i13_a_stub_goes);
	tcase_add_test(tcase, i13_what_is_whole_goes_aside);
	tcase_add_test(tcase, i13_what_a_client_changed_stays);
	tcase_add_test(tcase, i7_what_a_client_changes_stays);
	tcase_add_test(tcase, i13_another_name);
	tcase_add_test(tcase, i13_what_is_of_the_future_goes_aside);
	tcase_add_test(tcase, i13_what_was_put_off_goes);
	tcase_add_test(tcase, i12_what_has_failed_stays);
	tcase_add_test(tcase, i7_what_was_moved_there_stays);
	tcase_add_test(tcase, i13_another_object);
	tcase_add_test(tcase, several_threads);
	return run_tcase(tcase);
}
