/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>

#include "retriever/objects/errors_index.h"
#include "tests/suite.h"

static struct errors_index list;

static uint64_t hash_of(uint64_t directory, unsigned i)
{
	return errors_hash(directory, &i, sizeof i);
}

static void expect_names(uint64_t directory, unsigned n)
{
	unsigned seen = 0;

	for (uint32_t place = 0; (place = errors_index_name(&list, directory, place));) {
		ck_assert_uint_eq(errors_index_at(&list, place)->object, directory);
		seen++;
	}
	ck_assert_uint_eq(seen, n);
}

/* What is put in is found, whatever grew or was removed meanwhile; places stay. */
START_TEST(found_as_long_as_it_is_there)
{
	static uint32_t places[3000];

	for (unsigned i = 0; i < 3000; i++) {
		uint64_t directory = hash_of(1, i % 3);

		ck_assert_uint_eq(errors_index_find(&list, hash_of(directory, i)), 0);
		errors_index_add(&list, directory, hash_of(directory, i))->offset = i;
		places[i] = errors_index_find(&list, hash_of(directory, i));
		ck_assert_uint_ne(places[i], 0);
	}
	ck_assert_uint_eq(list.count, 3000);
	for (unsigned i = 0; i < 3000; i += 2)
		errors_index_remove(&list, places[i]);
	for (unsigned i = 0; i < 3000; i++) {
		ck_assert_uint_eq(errors_index_find(&list, hash_of(hash_of(1, i % 3), i)),
				  i % 2 ? places[i] : 0);
		if (i % 2)
			ck_assert_uint_eq(errors_index_at(&list, places[i])->offset, i);
		else
			ck_assert_ptr_null(errors_index_at(&list, places[i]));
	}
	expect_names(hash_of(1, 0), 500);
	expect_names(hash_of(1, 7), 0);
	for (unsigned i = 1; i < 3000; i += 2)
		errors_index_remove(&list, places[i]);
	ck_assert_uint_eq(list.count, 0);
	ck_assert_ptr_null(list.slots);
}
END_TEST

/* An object is none of its own names. */
START_TEST(a_directory_and_its_names)
{
	errors_index_add(&list, 5, 5);
	ck_assert_uint_eq(list.names, 0);
	errors_index_add(&list, 5, 6);
	errors_index_add(&list, 5, 7);
	errors_index_add(&list, 5 + 64, 8); /* in the same chain */
	expect_names(5, 2);
	expect_names(5 + 64, 1);
	errors_index_remove(&list, errors_index_name(&list, 5, 0));
	expect_names(5, 1);
	ck_assert_uint_ne(errors_index_find(&list, 5), 0);
	ck_assert_ptr_null(errors_index_at(&list, 0));
	ck_assert_ptr_null(errors_index_at(&list, 100));
	errors_index_clear(&list);
	expect_names(5, 0);
}
END_TEST

START_TEST(what_is_free_is_used_again)
{
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 1; i < 100; i++)
			errors_index_add(&list, i, i);
		for (unsigned i = 1; i < 99; i++)
			errors_index_remove(&list, errors_index_find(&list, i));
		ck_assert_uint_eq(list.used, 99);
		errors_index_remove(&list, errors_index_find(&list, 99));
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("errors_index");

	tcase_add_test(tcase, found_as_long_as_it_is_there);
	tcase_add_test(tcase, a_directory_and_its_names);
	tcase_add_test(tcase, what_is_free_is_used_again);
	return run_tcase(tcase);
}
