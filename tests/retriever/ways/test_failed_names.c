/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core.h"

#include "volume/errors.h"
#include "ways/failed_names.h"

static struct errors *errors;
static struct unmade unmade;
static int dir;

static void setup(void)
{
	core_fixture_setup();
	g_log_set_default_handler(core_log, NULL);
	dir = open(core_base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
	errors = errors_new(-1);
	unmade = (struct unmade){0};
	unmade_init(&unmade, errors, dir);
}

static void teardown(void)
{
	unmade_clear(&unmade);
	errors_free(errors);
	close(dir);
	core_fixture_teardown();
}

START_TEST(what_fails)
{
	unmade_add(&unmade, "a", -ECANCELED, "a reason");
	ck_assert_uint_eq(errors_count(errors), 0);
	unmade_add(&unmade, "b", -ENOSPC, "a reason");
	unmade_add(&unmade, "c", -EACCES, "a reason");
	unmade_add(&unmade, "d", -ENOTUNIQ, "a reason");
	ck_assert_uint_eq(errors_count(errors), 3);
	ck_assert_int_eq(unmade.status, -ECANCELED);
	ck_assert(!unmade_listed(&unmade));
}
END_TEST

START_TEST(what_vanishes)
{
	ck_assert(!unmade_listed(&unmade));
	unmade_add(&unmade, "a", -ENOENT, "a reason");
	unmade_add(&unmade, "b", -ENOENT, "a reason");
	ck_assert_int_eq(unmade.status, 0);
	ck_assert(unmade_listed(&unmade));
	unmade_add(&unmade, "c", -ENOENT, "a reason"); /* came and went */
	ck_assert_int_eq(unmade.status, 0);
	unmade_add(&unmade, "b", -ENOENT, "a reason");
	ck_assert_int_eq(unmade.status, -EREMOTEIO);
	ck_assert_uint_eq(errors_count(errors), 1);
	ck_assert(!unmade_listed(&unmade));
}
END_TEST

static void refuse(unsigned n)
{
	struct backend_batch *batch = backend_batch_new();

	for (unsigned i = 0; i < n; i++)
		backend_batch_refuse(batch, g_strdup_printf("/%u", i), "a reason");
	unmade_add_refused(&unmade, batch);
	backend_batch_free(batch);
}

/* The list does not grow with what a server makes up. */
START_TEST(names_without_end)
{
	struct error_entry e;

	refuse(0);
	ck_assert_int_eq(unmade.status, 0);
	for (unsigned i = 0; i < 10; i++)
		refuse(1000);
	ck_assert_int_eq(unmade.status, -EREMOTEIO);
	ck_assert(!unmade_listed(&unmade));
	ck_assert_uint_eq(errors_count(errors), UNMADE_LISTED + 1);
	ck_assert(errors_get(errors, &(guint){UNMADE_LISTED}, NULL, &e));
	ck_assert_ptr_nonnull(strstr(e.reason, "9900 more names"));
	error_entry_clear(&e);
	for (unsigned i = 0; i < 100000; i++) {
		g_autofree char *name = g_strdup_printf("%u", i);

		unmade_add(&unmade, name, -ENOENT, NULL);
	}
	ck_assert_uint_le(g_hash_table_size(unmade.gone), 10000);
	ck_assert_uint_eq(errors_count(errors), UNMADE_LISTED + 1);
}
END_TEST

START_TEST(a_listing_that_begins_anew)
{
	refuse(150);
	unmade_reset(&unmade);
	refuse(UNMADE_LISTED);
	ck_assert(!unmade_listed(&unmade));
	ck_assert_uint_eq(errors_count(errors), UNMADE_LISTED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("unmade");
	TCase *tcase = tcase_create("unmade");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, what_fails);
	tcase_add_test(tcase, what_vanishes);
	tcase_add_test(tcase, names_without_end);
	tcase_add_test(tcase, a_listing_that_begins_anew);
	return run_suite(suite);
}
