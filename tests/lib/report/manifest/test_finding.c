/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <string.h>

#include "lib/report/manifest/finding.h"
#include "tests/suite.h"

START_TEST(lines)
{
	const struct proof_finding finding = {
		.path = "a b", .kind = PROOF_XATTRS, .since = 17, .text = "user.x: 3 bytes\nhere"};
	const char *line = "./a\\040b kind=xattrs since=17 text=user.x:\\0403\\040bytes\\012here\n";
	GString *out = g_string_new(NULL);
	struct proof_finding again;

	proof_finding_format(out, &finding);
	ck_assert_str_eq(out->str, line);
	ck_assert(proof_finding_parse(line, strlen(line) - 1, &again));
	ck_assert_str_eq(again.path, "a b");
	ck_assert_int_eq(again.kind, PROOF_XATTRS);
	ck_assert_int_eq(again.since, 17);
	ck_assert_str_eq(again.text, finding.text);
	proof_finding_clear(&again);
	g_string_free(out, TRUE);
}
END_TEST

START_TEST(refused)
{
	static const char *const bad[] = {
		"",
		"./a",
		"./a kind=smell since=1 text=x",
		"./a kind=type since=-1 text=x",
		"./a kind=type text=x since=1",
		"./a kind=type since=1 text=x y",
		"./a kind=type since=1",
		"./.. kind=type since=1 text=x",
		"./a kind=type since=1 text=\\8",
	};
	struct proof_finding finding;

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		ck_assert_msg(!proof_finding_parse(bad[i], strlen(bad[i]), &finding), "%s", bad[i]);
		ck_assert_ptr_null(finding.path);
	}
}
END_TEST

START_TEST(kinds)
{
	for (unsigned i = 0; i < PROOF_KIND_COUNT; i++) {
		ck_assert_ptr_nonnull(proof_kind_name(i));
		ck_assert_ptr_nonnull(proof_kind_remedy(i));
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("finding");

	tcase_add_test(tcase, lines);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, kinds);
	return run_tcase(tcase);
}
