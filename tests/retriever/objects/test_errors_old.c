/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

#include "retriever/objects/errors_old.h"

static int dir;
static unsigned found;

static void setup(void)
{
	core_fixture_setup();
	g_log_set_default_handler(core_log, NULL);
	dir = open(core_base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	found = 0;
}

static void write_list(const char *text)
{
	int fd = openat(dir, "errors", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void take(void *arg, const struct error_entry *e)
{
	ck_assert_int_eq(e->key.type, 129);
	ck_assert_int_eq(e->key.len, 4);
	ck_assert_int_eq(e->key.bytes[1], 0xbb);
	ck_assert_int_eq(e->status, -116);
	ck_assert_str_eq(e->path, "/a/\xc3\xa4");
	ck_assert_str_eq(e->reason, "a\treason");
	ck_assert_pstr_eq(e->name, found ? "n\xff" : NULL);
	found++;
}

#define WHAT "type=129\npath=/a/\xc3\xa4\nreason=a\\treason\nerrno=116\n"

START_TEST(read_as_it_was)
{
	ck_assert(!errors_old_is(dir));
	ck_assert(!errors_old_is(-1));
	write_list("[0]\nhandle=aabb0102\n" WHAT "\n[1]\nhandle=aabb0103\nname=6eff\n" WHAT
		   "\n[2]\nhandle=aabb0103\npath=/without/a/reason\n");
	ck_assert(errors_old_is(dir));
	errors_old_load(dir, take, NULL);
	ck_assert_uint_eq(found, 2);
}
END_TEST

START_TEST(of_another_kind)
{
	write_list("+\t81aabb\t\t5\tr\tp\n");
	ck_assert(!errors_old_is(dir));
	write_list("");
	ck_assert(!errors_old_is(dir));
	write_list("[0]\nhandle=zz\npath=/x\n[1]\n\xff\xff");
	ck_assert(errors_old_is(dir));
	errors_old_load(dir, take, NULL);
	ck_assert_uint_eq(found, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("errors_old");
	TCase *tcase = tcase_create("errors_old");

	tcase_add_checked_fixture(tcase, setup, core_fixture_teardown);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, read_as_it_was);
	tcase_add_test(tcase, of_another_kind);
	return run_suite(suite);
}
