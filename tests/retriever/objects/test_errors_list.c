/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "retriever/objects/errors_list.h"
#include "tests/suite.h"

static struct errors_list list;

static struct error_entry entry(const char *name, const char *reason)
{
	return (struct error_entry){.key = {.len = 4, .bytes = "abcd"},
				    .name = (char *)name,
				    .path = (char *)"/a/path",
				    .reason = (char *)reason,
				    .status = -EIO,
				    .code = QM_GONE};
}

static enum errors_news put(const char *name, const char *reason, uint64_t offset)
{
	struct error_entry e = entry(name, reason);

	return errors_list_put(&list, &e, errors_list_hashes(&list, &e), offset);
}

static void setup(void)
{
	list = (struct errors_list){.next = 0};
	errors_list_init(&list);
}

static void teardown(void)
{
	errors_list_free(&list);
}

/* What is said again needs no line; another reason is to be told. */
START_TEST(news)
{
	struct error_entry e = entry(NULL, "one");

	ck_assert_int_eq(put(NULL, "one", 0), ERRORS_NEWS_REASON);
	ck_assert_int_eq(put(NULL, "one", 100), ERRORS_NEWS_NONE);
	ck_assert_int_eq(put(NULL, "another", 200), ERRORS_NEWS_REASON);
	e.path = (char *)"/moved";
	e.reason = (char *)"another";
	ck_assert_int_eq(errors_list_put(&list, &e, errors_list_hashes(&list, &e), 300),
			 ERRORS_NEWS_LINE);
	ck_assert_uint_eq(list.index.count, 1);
}
END_TEST

/* A reason has stood since the first entry had it, as long as any has it. */
START_TEST(since)
{
	const gint64 times[] = {5, 3, 9};
	struct error_entry e;

	for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
		char name[] = {(char)('a' + i), 0};

		e = entry(name, "one");
		e.since = times[i];
		errors_list_put(&list, &e, errors_list_hashes(&list, &e), 10 * i);
	}
	ck_assert_int_eq(errors_reasons_at(&list.reasons, ERROR_KINDS)->since, 3);
	e = entry("c", "one"); /* again */
	e.since = 20;
	errors_list_put(&list, &e, errors_list_hashes(&list, &e), 40);
	ck_assert_int_eq(errors_reasons_at(&list.reasons, ERROR_KINDS)->since, 3);
	for (uint32_t place = 1; place <= 3; place++)
		errors_list_remove(&list, place);
	errors_list_put(&list, &e, errors_list_hashes(&list, &e), 50);
	ck_assert_int_eq(errors_reasons_at(&list.reasons, ERROR_KINDS)->since, 20);
}
END_TEST

START_TEST(in_turn)
{
	const struct errors_filter odd = {.reason = "odd"};
	uint64_t offset;
	guint place = 0;

	put("a", "even", 10);
	put("b", "odd", 20);
	put("c", "even", 30);
	ck_assert(errors_list_next(&list, &place, NULL, &offset));
	ck_assert_uint_eq(offset, 10);
	ck_assert(errors_list_next(&list, &place, &odd, &offset));
	ck_assert_uint_eq(offset, 20);
	place++;
	ck_assert(!errors_list_next(&list, &place, &odd, &offset));
	place = 0;
	ck_assert(!errors_list_next(&list, &place, &(struct errors_filter){.code = QM_CHANGED},
				    &offset));
}
END_TEST

START_TEST(removed)
{
	struct error_entry e = entry(NULL, "x");
	struct errors_hashes h = errors_list_hashes(&list, &e);

	put(NULL, "x", 0);
	put("a", "x", 10);
	put("b", "x", 20);
	ck_assert(errors_list_remove_names(&list, h.object));
	ck_assert(!errors_list_remove_names(&list, h.object));
	ck_assert_uint_eq(list.index.count, 1);
	errors_list_remove(&list, errors_index_find(&list.index, h.entry));
	ck_assert_uint_eq(list.index.count, 0);
	put("a", "x", 30);
	errors_list_clear(&list);
	ck_assert_uint_eq(list.index.count, 0);
}
END_TEST

/* Of changes, not more than there is room for. */
START_TEST(lines)
{
	struct error_entry e = entry("a", "x");

	errors_list_append(&list, "line\n", 5);
	ck_assert_uint_eq(list.next, 5);
	errors_list_change(&list, ERROR_FORGET, &e);
	ck_assert_uint_eq(list.lines, 2);
	ck_assert_uint_eq(list.next, list.pending->len);
	while (list.pending->len < ERRORS_PENDING_MAX)
		errors_list_append(&list, "line\n", 5);
	e = entry("b", "x");
	put("b", "x", list.next);
	errors_list_change(&list, ERROR_FORGET, &e);
	ck_assert_ptr_null(strstr(list.pending->str + ERRORS_PENDING_MAX - 100, "b"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("list");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, news);
	tcase_add_test(tcase, since);
	tcase_add_test(tcase, in_turn);
	tcase_add_test(tcase, removed);
	tcase_add_test(tcase, lines);
	return run_tcase(tcase);
}
