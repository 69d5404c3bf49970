/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/env.h"

#include <errno.h>

#include "tests/journal/place.h"

START_TEST(no_store_says_so)
{
	struct journal_env env = {0};
	GError *error = NULL;

	ck_assert(!journal_env_open(&env, place, false, &error));
	ck_assert(g_error_matches(error, JOURNAL_ERROR, ENOENT));
	ck_assert_ptr_nonnull(strstr(error->message, place));
	g_clear_error(&error);
}
END_TEST

START_TEST(what_is_no_store_is_refused)
{
	g_autofree char *path = g_build_filename(place, JOURNAL_DATA_FILE, NULL);
	struct journal_env env = {0};
	g_autofree char *junk = g_strnfill(65536, 'j');
	GError *error = NULL;

	ck_assert(g_file_set_contents(path, junk, 65536, NULL));
	ck_assert(!journal_env_open(&env, place, true, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "damaged"));
	g_clear_error(&error);
}
END_TEST

START_TEST(state_of_another_version)
{
	struct journal_durable state = {.format = JOURNAL_FORMAT + 1};
	struct journal_env env = {0};
	MDB_val key = {5, "state"}, value = {sizeof(state), &state};
	GError *error = NULL;
	MDB_txn *txn;

	ck_assert(journal_env_open(&env, place, true, &error));
	ck_assert_int_eq(mdb_txn_begin(env.env, NULL, 0, &txn), 0);
	ck_assert(!journal_env_load(&env, txn, &state, &error));
	ck_assert(g_error_matches(error, JOURNAL_ERROR, ENOENT));
	g_clear_error(&error);
	ck_assert_int_eq(mdb_put(txn, env.state, &key, &value, 0), 0);
	ck_assert(!journal_env_load(&env, txn, &state, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "another version"));
	ck_assert_ptr_null(strstr(error->message, "remove"));
	g_clear_error(&error);
	mdb_txn_abort(txn);
	journal_env_close(&env);
}
END_TEST

START_TEST(errors)
{
	ck_assert_int_eq(journal_env_errno(0), 0);
	ck_assert_int_eq(journal_env_errno(MDB_MAP_FULL), -ENOSPC);
	ck_assert_int_eq(journal_env_errno(EDQUOT), -EDQUOT);
	ck_assert_int_eq(journal_env_errno(MDB_CORRUPTED), -EIO);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("env");

	tcase_add_checked_fixture(tcase, place_make, place_remove);
	tcase_add_test(tcase, no_store_says_so);
	tcase_add_test(tcase, what_is_no_store_is_refused);
	tcase_add_test(tcase, state_of_another_version);
	tcase_add_test(tcase, errors);
	return run_tcase(tcase);
}
