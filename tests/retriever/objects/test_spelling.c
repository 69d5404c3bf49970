/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/suite.h"

#include <glib.h>

#include "retriever/objects/spelling.h"

static void expect(const char *name, unsigned kind, const char *wanted)
{
	g_autofree char *other = spelling_other(name, kind);

	ck_assert_pstr_eq(other, wanted);
}

START_TEST(i13_case)
{
	expect("Report.doc", SPELLING_CASE, "rEPORT.DOC");
	expect("Änderung", SPELLING_CASE, "ÄNDERUNG");
	expect("a\xff", SPELLING_CASE, "A\xff");
	expect("123", SPELLING_CASE, NULL);
	expect("ä", SPELLING_CASE, NULL);
}
END_TEST

/* Where there are ASCII letters these tell it. */
START_TEST(i13_other_letters)
{
	expect("äß1", SPELLING_LETTERS, "Äß1");
	expect("aä", SPELLING_LETTERS, NULL);
	expect("1", SPELLING_LETTERS, NULL);
	expect("\xff", SPELLING_LETTERS, NULL);
}
END_TEST

START_TEST(i13_forms)
{
	expect("caf\u00e9", SPELLING_FORM, "cafe\u0301");
	expect("cafe\u0301", SPELLING_FORM, "caf\u00e9");
	expect("cafe", SPELLING_FORM, NULL);
	expect("\xff", SPELLING_FORM, NULL);
}
END_TEST

/* Another spelling may be longer than a name can be. */
START_TEST(long_names)
{
	GString *name = g_string_new(NULL);

	for (unsigned i = 0; i < 127; i++)
		g_string_append(name, "\u00e9");
	expect(name->str, SPELLING_FORM, NULL);
	g_string_free(name, TRUE);
}
END_TEST

START_TEST(what_was_tried)
{
	static struct spellings spellings;
	const struct migrate_binding a = {.len = 2, .bytes = {1, 2}},
				     b = {.len = 2, .bytes = {2, 1}};

	ck_assert_uint_eq(spellings_known(&spellings, &a), 0);
	spellings_note(&spellings, &a, SPELLING_CASE);
	spellings_note(&spellings, &a, SPELLING_ANY);
	ck_assert_uint_eq(spellings_known(&spellings, &a), SPELLING_CASE | SPELLING_ANY);
	ck_assert_uint_eq(spellings_known(&spellings, &b), 0);
	for (unsigned i = 0; i < 1 << 16; i++) { /* those that come make others forgotten */
		const struct migrate_binding c = {.len = 3, .bytes = {i >> 8, i & 0xff}};

		spellings_note(&spellings, &c, SPELLING_FORM);
		ck_assert_uint_eq(spellings_known(&spellings, &c), SPELLING_FORM);
	}
	ck_assert_uint_eq(spellings_known(&spellings, &a), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("spelling");

	tcase_add_test(tcase, i13_case);
	tcase_add_test(tcase, i13_other_letters);
	tcase_add_test(tcase, i13_forms);
	tcase_add_test(tcase, long_names);
	tcase_add_test(tcase, what_was_tried);
	return run_tcase(tcase);
}
