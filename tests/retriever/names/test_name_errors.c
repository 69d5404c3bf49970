/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"
#include "tests/pairs.h"

#include "retriever/names/name_errors.h"
#include "retriever/objects/errors.h"

static struct errors *errors;
static struct name_errors name_errors;
static int dir;

static void setup(void)
{
	core_fixture_setup();
	g_log_set_default_handler(core_log, NULL);
	dir = open(core_base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
	errors = errors_new(-1);
	name_errors = (struct name_errors){0};
	name_errors_init(&name_errors, errors, dir);
}

static void teardown(void)
{
	name_errors_clear(&name_errors);
	errors_free(errors);
	close(dir);
	core_fixture_teardown();
}

START_TEST(what_fails)
{
	name_errors_add(&name_errors, "a", -ECANCELED, QM_NAME_MISSING);
	ck_assert_uint_eq(errors_count(errors), 0);
	name_errors_add(&name_errors, "b", -ENOSPC, QM_NAME_MISSING);
	name_errors_add(&name_errors, "c", -EACCES, QM_NAME_MISSING);
	name_errors_add(&name_errors, "d", -ENOTUNIQ, QM_NAME_MISSING);
	ck_assert_uint_eq(errors_count(errors), 3);
	ck_assert_int_eq(name_errors.status, -ECANCELED);
	ck_assert(!name_errors_listed(&name_errors));
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
		name_errors.status = 0;
		name_errors_add(&name_errors, "a", -error, QM_NAME_MISSING);
		ck_assert_int_eq(name_errors.status, is_own ? -error : -EREMOTEIO);
	}
}
END_TEST

/* What passes must not be taken for what the name will always meet. */
START_TEST(why_a_name_is_not_made)
{
	static const int lasting[] = {ENOENT, ENOTUNIQ, ENAMETOOLONG, EINVAL, EILSEQ, EMLINK};
	static const int own[] = {ENOSPC, EDQUOT, ENOTEMPTY, EBUSY, EEXIST,
				  EPERM,  EXDEV,  EFBIG,     ELOOP};

	for (int error = 1; error < 134; error++) {
		enum error_code code = name_not_made(-error), want = QM_NAME_UNMADE;
		bool has_own = false;

		for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
			has_own |= error == own[i];
		for (size_t i = 0; i < G_N_ELEMENTS(lasting); i++)
			if (error == lasting[i])
				want = QM_NAME_UNHELD;
		ck_assert((code == want) == !has_own);
	}
}
END_TEST

START_TEST(what_vanishes)
{
	ck_assert(!name_errors_listed(&name_errors));
	name_errors_add(&name_errors, "a", -ENOENT, QM_NAME_MISSING);
	name_errors_add(&name_errors, "b", -ENOENT, QM_NAME_MISSING);
	ck_assert_int_eq(name_errors.status, 0);
	ck_assert(name_errors_listed(&name_errors));
	name_errors_add(&name_errors, "c", -ENOENT, QM_NAME_MISSING); /* came and went */
	ck_assert_int_eq(name_errors.status, 0);
	name_errors_add(&name_errors, "b", -ENOENT, QM_NAME_MISSING);
	ck_assert_int_eq(name_errors.status, -EREMOTEIO);
	ck_assert_uint_eq(errors_count(errors), 1);
	ck_assert(!name_errors_listed(&name_errors));
}
END_TEST

static void refuse(unsigned n)
{
	struct backend_batch *batch = backend_batch_new();

	for (unsigned i = 0; i < n; i++)
		backend_batch_refuse(batch, g_strdup_printf("/%u", i), QM_NAME_MISSING);
	name_errors_add_refused(&name_errors, batch);
	backend_batch_free(batch);
}

/* The list does not grow with what a server makes up. */
START_TEST(names_without_end)
{
	struct error_entry e;

	refuse(0);
	ck_assert_int_eq(name_errors.status, 0);
	for (unsigned i = 0; i < 10; i++)
		refuse(1000);
	ck_assert_int_eq(name_errors.status, -EREMOTEIO);
	ck_assert(!name_errors_listed(&name_errors));
	ck_assert_uint_eq(errors_count(errors), NAME_ERRORS_LISTED + 1);
	ck_assert(errors_get(errors, &(guint){NAME_ERRORS_LISTED}, NULL, &e));
	ck_assert_ptr_nonnull(strstr(e.reason, "9900 more names"));
	error_entry_clear(&e);
	for (unsigned i = 0; i < 100000; i++) {
		g_autofree char *name = g_strdup_printf("%u", i);

		name_errors_add(&name_errors, name, -ENOENT, QM_NONE);
	}
	ck_assert_uint_le(g_hash_table_size(name_errors.gone), 10000);
	ck_assert_uint_eq(errors_count(errors), NAME_ERRORS_LISTED + 1);
}
END_TEST

START_TEST(a_listing_that_begins_anew)
{
	refuse(150);
	name_errors_reset(&name_errors);
	refuse(NAME_ERRORS_LISTED);
	ck_assert(!name_errors_listed(&name_errors));
	ck_assert_uint_eq(errors_count(errors), NAME_ERRORS_LISTED);
}
END_TEST

static void add_missing(void *arg)
{
	name_errors_add(arg, "a", -ENOENT, QM_NAME_MISSING);
}

static void add_refusal(void *arg)
{
	name_errors_add_refusal(arg, "b", -EACCES, QM_LOOKUP_REFUSED);
}

static void leave_out(void *arg)
{
	name_errors_leave_out(arg, "c");
}

static void refuse_one(void *arg)
{
	refuse(1);
}

START_TEST(several_threads)
{
	struct paired_call calls[] = {{add_missing, &name_errors},
				      {add_refusal, &name_errors},
				      {leave_out, &name_errors}};
	struct paired_call pages = {refuse_one, &name_errors}; /* one after the other */

	call_in_pairs(calls, G_N_ELEMENTS(calls));
	for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
		call_beside(&calls[i], &pages);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("name_errors");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, what_fails);
	tcase_add_test(tcase, what_it_means_for_the_directory);
	tcase_add_test(tcase, why_a_name_is_not_made);
	tcase_add_test(tcase, what_vanishes);
	tcase_add_test(tcase, several_threads);
	tcase_add_test(tcase, names_without_end);
	tcase_add_test(tcase, a_listing_that_begins_anew);
	return run_tcase(tcase);
}
