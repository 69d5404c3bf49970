/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

#include "retriever/names/failed_names.h"
#include "retriever/objects/errors.h"

static struct errors *errors;
static struct failed_names failed_names;
static int dir;

static void setup(void)
{
	core_fixture_setup();
	g_log_set_default_handler(core_log, NULL);
	dir = open(core_base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
	errors = errors_new(-1);
	failed_names = (struct failed_names){0};
	failed_names_init(&failed_names, errors, dir);
}

static void teardown(void)
{
	failed_names_clear(&failed_names);
	errors_free(errors);
	close(dir);
	core_fixture_teardown();
}

START_TEST(what_fails)
{
	failed_names_add(&failed_names, "a", -ECANCELED, "a reason");
	ck_assert_uint_eq(errors_count(errors), 0);
	failed_names_add(&failed_names, "b", -ENOSPC, "a reason");
	failed_names_add(&failed_names, "c", -EACCES, "a reason");
	failed_names_add(&failed_names, "d", -ENOTUNIQ, "a reason");
	ck_assert_uint_eq(errors_count(errors), 3);
	ck_assert_int_eq(failed_names.status, -ECANCELED);
	ck_assert(!failed_names_listed(&failed_names));
}
END_TEST

/* What is wrong with one name is not what is wrong with the directory. */
START_TEST(what_it_means_for_the_directory)
{
	static const int own[] = {EAGAIN, ENOMEM, EMFILE, ENFILE,   ENOSPC,
				  EDQUOT, EROFS,  EIO,	  EHOSTDOWN};

	for (int error = 1; error < 134; error++) {
		bool is_own = error == ECANCELED;

		if (error == ENOENT)
			continue;
		for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
			is_own |= error == own[i];
		failed_names.status = 0;
		failed_names_add(&failed_names, "a", -error, "a reason");
		ck_assert_int_eq(failed_names.status, is_own ? -error : -EREMOTEIO);
	}
}
END_TEST

START_TEST(what_vanishes)
{
	ck_assert(!failed_names_listed(&failed_names));
	failed_names_add(&failed_names, "a", -ENOENT, "a reason");
	failed_names_add(&failed_names, "b", -ENOENT, "a reason");
	ck_assert_int_eq(failed_names.status, 0);
	ck_assert(failed_names_listed(&failed_names));
	failed_names_add(&failed_names, "c", -ENOENT, "a reason"); /* came and went */
	ck_assert_int_eq(failed_names.status, 0);
	failed_names_add(&failed_names, "b", -ENOENT, "a reason");
	ck_assert_int_eq(failed_names.status, -EREMOTEIO);
	ck_assert_uint_eq(errors_count(errors), 1);
	ck_assert(!failed_names_listed(&failed_names));
}
END_TEST

static void refuse(unsigned n)
{
	struct backend_batch *batch = backend_batch_new();

	for (unsigned i = 0; i < n; i++)
		backend_batch_refuse(batch, g_strdup_printf("/%u", i), "a reason");
	failed_names_add_refused(&failed_names, batch);
	backend_batch_free(batch);
}

/* The list does not grow with what a server makes up. */
START_TEST(names_without_end)
{
	struct error_entry e;

	refuse(0);
	ck_assert_int_eq(failed_names.status, 0);
	for (unsigned i = 0; i < 10; i++)
		refuse(1000);
	ck_assert_int_eq(failed_names.status, -EREMOTEIO);
	ck_assert(!failed_names_listed(&failed_names));
	ck_assert_uint_eq(errors_count(errors), FAILED_NAMES_LISTED + 1);
	ck_assert(errors_get(errors, &(guint){FAILED_NAMES_LISTED}, NULL, &e));
	ck_assert_ptr_nonnull(strstr(e.reason, "9900 more names"));
	error_entry_clear(&e);
	for (unsigned i = 0; i < 100000; i++) {
		g_autofree char *name = g_strdup_printf("%u", i);

		failed_names_add(&failed_names, name, -ENOENT, NULL);
	}
	ck_assert_uint_le(g_hash_table_size(failed_names.gone), 10000);
	ck_assert_uint_eq(errors_count(errors), FAILED_NAMES_LISTED + 1);
}
END_TEST

START_TEST(a_listing_that_begins_anew)
{
	refuse(150);
	failed_names_reset(&failed_names);
	refuse(FAILED_NAMES_LISTED);
	ck_assert(!failed_names_listed(&failed_names));
	ck_assert_uint_eq(errors_count(errors), FAILED_NAMES_LISTED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("failed_names");
	TCase *tcase = tcase_create("failed_names");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, what_fails);
	tcase_add_test(tcase, what_it_means_for_the_directory);
	tcase_add_test(tcase, what_vanishes);
	tcase_add_test(tcase, names_without_end);
	tcase_add_test(tcase, a_listing_that_begins_anew);
	return run_suite(suite);
}
