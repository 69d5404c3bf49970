/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/marks.h"

#include <errno.h>
#include <poll.h>

#include "tests/guard/guard_place.h"

static struct marks marks;
static struct marks_event last;
static unsigned taken;

static void set_up(void)
{
	GError *error = NULL;

	guard_place_make();
	marks = (struct marks){{-1, -1}};
	/* Of tmpfs the kernel tells openings only. */
	ck_assert_msg(marks_begin(&marks, place, true, &error), "%s", error ? error->message : "");
	ck_assert_int_ge(marks.fd[MARKS_OPEN], 0);
}

static void tear_down(void)
{
	marks_end(&marks);
	guard_place_remove();
}

/* A child whose exit status is the errno of opening it. */
static pid_t opener(const char *path)
{
	pid_t child = fork();

	if (child)
		return child;
	close(marks.fd[MARKS_OPEN]);
	_exit(open(path, O_RDONLY) < 0 ? errno : 0);
}

static void take(void *arg, const struct marks_event *event)
{
	last = *event;
	taken++;
}

static void next_event(pid_t child)
{
	struct pollfd fd = {.fd = marks.fd[MARKS_OPEN], .events = POLLIN};

	taken = 0;
	ck_assert_int_eq(poll(&fd, 1, -1), 1);
	ck_assert_int_eq(marks_read(&marks, MARKS_OPEN, take, NULL), 0);
	ck_assert_uint_eq(taken, 1);
	ck_assert_int_eq(last.tid, child);
}

/* Files are made while nobody asks. */
static char *whole_file(void)
{
	char *path;

	marks_end(&marks);
	path = guard_put("f");
	ck_assert(marks_begin(&marks, place, false, NULL));
	return path;
}

START_TEST(answers)
{
	g_autofree char *path = whole_file();
	pid_t child = opener(path);

	next_event(child);
	marks_answer(&marks, &last, 0);
	close(last.fd);
	ck_assert_int_eq(guard_ended(child), 0);
	child = opener(path);
	next_event(child);
	marks_answer(&marks, &last, ENOSPC);
	close(last.fd);
	child = guard_ended(child);
	ck_assert(child == ENOSPC || child == EPERM);
}
END_TEST

START_TEST(ignored)
{
	g_autofree char *path = whole_file();
	pid_t child = opener(path);

	next_event(child);
	marks_ignore(&marks, last.fd);
	marks_answer(&marks, &last, 0);
	close(last.fd);
	ck_assert_int_eq(guard_ended(child), 0);
	ck_assert_int_eq(guard_ended(opener(path)), 0);
	child = opener(place);
	next_event(child);
	marks_ignore(&marks, last.fd);
	marks_answer(&marks, &last, 0);
	close(last.fd);
	ck_assert_int_eq(guard_ended(child), 0);
	ck_assert_int_eq(guard_ended(opener(place)), 0);
}
END_TEST

/* That is not for ever: the next process looks again whose it is. */
START_TEST(ignored_mount)
{
	g_autofree char *path = whole_file();
	pid_t child = opener(path);

	next_event(child);
	ck_assert_int_eq(marks_ignore_mount(&marks, last.fd), 0);
	marks_answer(&marks, &last, 0);
	close(last.fd);
	ck_assert_int_eq(guard_ended(child), 0);
	ck_assert_int_eq(guard_ended(opener(path)), 0);
	ck_assert_int_lt(marks_ignore_mount(&marks, -1), 0);
	ck_assert(marks_begin(&marks, place, false, NULL));
	child = opener(path);
	next_event(child);
	marks_answer(&marks, &last, 0);
	close(last.fd);
	ck_assert_int_eq(guard_ended(child), 0);
}
END_TEST

/* What one has taken and not answered fails; what it has not taken waits for the next one. */
START_TEST(taken_over)
{
	g_autofree char *path = whole_file();
	struct marks next = {{dup(marks.fd[MARKS_OPEN]), -1}};
	pid_t first = opener(path), second;
	int error;

	next_event(first);
	close(last.fd);
	second = opener(path);
	close(marks.fd[MARKS_OPEN]);
	marks = next;
	ck_assert(marks_begin(&marks, place, false, NULL));
	error = guard_ended(first);
	ck_assert(error == EIO || error == EPERM);
	next_event(second);
	marks_answer(&marks, &last, 0);
	close(last.fd);
	ck_assert_int_eq(guard_ended(second), 0);
}
END_TEST

/* What was kept is not believed to be a group. */
START_TEST(no_group)
{
	int ends[2];

	marks_end(&marks);
	ck_assert_int_eq(pipe(ends), 0);
	marks.fd[MARKS_OPEN] = ends[1];
	g_autofree char *path = guard_put("f");
	ck_assert(marks_begin(&marks, place, false, NULL));
	pid_t child = opener(path);
	next_event(child);
	marks_answer(&marks, &last, 0);
	close(last.fd);
	ck_assert_int_eq(guard_ended(child), 0);
}
END_TEST

START_TEST(nowhere)
{
	struct marks none = {{-1, -1}};
	g_autoptr(GError) error = NULL;

	ck_assert(!marks_begin(&none, "/nowhere", true, &error));
	ck_assert(strstr(error->message, "/nowhere"));
	ck_assert(!g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INVAL)); /* it may come */
}
END_TEST

/* Which is not tried again. */
START_TEST(refused)
{
	pid_t child = fork();

	if (!child) {
		struct marks none = {{-1, -1}};
		GError *error = NULL;

		if (setresuid(65534, 65534, 65534) < 0 || marks_begin(&none, place, true, &error))
			_exit(1);
		_exit(g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INVAL) ? 0 : 2);
	}
	ck_assert_int_eq(guard_ended(child), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("marks");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, answers);
	tcase_add_test(tcase, ignored);
	tcase_add_test(tcase, ignored_mount);
	tcase_add_test(tcase, taken_over);
	tcase_add_test(tcase, no_group);
	tcase_add_test(tcase, nowhere);
	tcase_add_test(tcase, refused);
	return run_tcase(tcase);
}
