/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core.h"

#include "volume/errors.h"

static int dir;

static void setup(void)
{
	core_fixture_setup();
	g_log_set_default_handler(core_log, NULL);
	dir = open(core_base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
}

static int make_file(unsigned i)
{
	char name[32];

	g_snprintf(name, sizeof(name), "f%u", i);
	return openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

START_TEST(i12_kept_across_restarts)
{
	struct errors *errors = errors_new(dir);
	struct error_entry e;
	int fd = make_file(1);

	errors_add_fd(errors, fd, -ESTALE, "the first reason");
	errors_add_fd(errors, fd, -EREMOTEIO, "a new\nline=\"[reason]\"");
	errors_add_name(errors, dir, "na\xffme\n", -EBADMSG, "a name");
	errors_add_name(errors, dir, "na\xffme\n", -EBADMSG, "a name");
	ck_assert_uint_eq(errors_count(errors), 2);
	errors_save(errors);
	errors_free(errors);
	errors = errors_new(dir);
	ck_assert_uint_eq(errors_count(errors), 2);
	ck_assert(errors_get(errors, 0, &e));
	ck_assert_int_eq(e.status, -EREMOTEIO);
	ck_assert_str_eq(e.reason, "a new\nline=\"[reason]\"");
	ck_assert_uint_gt(e.key.len, 0);
	errors_forget(errors, &e.key);
	error_entry_clear(&e);
	ck_assert_uint_eq(errors_count(errors), 1);
	ck_assert(!errors_get(errors, 1, &e));
	ck_assert(errors_get(errors, 0, &e));
	ck_assert(g_utf8_validate(e.path, -1, NULL));
	error_entry_clear(&e);
	errors_free(errors);
	close(fd);
}
END_TEST

START_TEST(names)
{
	struct errors *errors = errors_new(dir);
	struct migrate_binding key, other_key;
	struct error_entry e;
	int other;

	ck_assert_int_eq(mkdirat(dir, "other", 0700), 0);
	other = openat(dir, "other", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(migrate_binding_get(dir, "", &key), 0);
	ck_assert_int_eq(migrate_binding_get(other, "", &other_key), 0);
	for (unsigned round = 0; round < 2; round++) { /* of one name there is one entry */
		errors_add_fd(errors, dir, -EIO, "the directory");
		errors_add_name(errors, dir, "a\xff", -EIO, "x");
		errors_add_name(errors, dir, "b", -EIO, "x");
		errors_add_name(errors, dir, "c", -EIO, "x");
		errors_add_name(errors, other, "b", -EIO, "x");
	}
	ck_assert_uint_eq(errors_count(errors), 5);
	errors_save(errors);
	errors_free(errors);
	errors = errors_new(dir);
	errors_forget_name(errors, &key, "b");
	errors_forget_name(errors, &other_key, "c");
	ck_assert_uint_eq(errors_count(errors), 4);
	errors_forget_names(errors, &key);
	ck_assert_uint_eq(errors_count(errors), 2);
	errors_forget(errors, &key);
	ck_assert(errors_get(errors, 0, &e));
	ck_assert_str_eq(e.name, "b");
	ck_assert(migrate_binding_equal(&e.key, &other_key));
	error_entry_clear(&e);
	errors_forget_name(errors, &other_key, "b");
	ck_assert_uint_eq(errors_count(errors), 0);
	ck_assert_int_eq(unlinkat(dir, "errors", 0), 0);
	errors_free(errors);
	close(other);
}
END_TEST

/* Every object is found, whatever was removed before it. */
START_TEST(many)
{
	struct errors *errors = errors_new(dir);
	struct migrate_binding keys[100];

	for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
		int fd = make_file(i);

		ck_assert_int_eq(migrate_binding_get(fd, "", &keys[i]), 0);
		errors_add_fd(errors, fd, -EIO, "x");
		close(fd);
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
		errors_forget(errors, &keys[i * 37 % G_N_ELEMENTS(keys)]);
		ck_assert_uint_eq(errors_count(errors), G_N_ELEMENTS(keys) - 1 - i);
	}
	errors_forget(errors, &keys[0]);
	errors_free(errors);
}
END_TEST

/* A damaged list is an empty one: records still say what failed. */
START_TEST(a_damaged_list)
{
	struct errors *errors;
	int fd = openat(dir, "errors", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, "[0]\nhandle=zz\npath=/x\n[1]\n\xff\xff", 27), 27);
	close(fd);
	errors = errors_new(dir);
	ck_assert_uint_eq(errors_count(errors), 0);
	errors_free(errors);
	ck_assert_int_eq(unlinkat(dir, "errors", 0), 0);
}
END_TEST

static struct errors *shared;

static void *work(void *arg)
{
	for (unsigned i = 0; i < 200; i++) {
		struct migrate_binding key;
		struct error_entry e;
		int fd = make_file(i % 10);

		errors_add_fd(shared, fd, -EIO, "x");
		if (errors_get(shared, i % 10, &e))
			error_entry_clear(&e);
		errors_save(shared);
		if (migrate_binding_get(fd, "", &key) == 0)
			errors_forget(shared, &key);
		close(fd);
	}
	return NULL;
}

START_TEST(many_threads)
{
	pthread_t threads[3];

	shared = errors_new(dir);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(errors_count(shared), 0);
	errors_free(shared);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("errors");
	TCase *tcase = tcase_create("errors");

	tcase_add_checked_fixture(tcase, setup, core_fixture_teardown);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, i12_kept_across_restarts);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, many);
	tcase_add_test(tcase, a_damaged_list);
	tcase_add_test(tcase, many_threads);
	return run_suite(suite);
}
