/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "lib/config/rules.h"
#include "tests/suite.h"

/* exclude and include: patterns, parted by blanks. */
static struct rules *made(const char *exclude, const char *include, bool folded)
{
	struct rules *rules = rules_new(folded);
	const char *lists[] = {[RULE_EXCLUDE] = exclude, [RULE_INCLUDE] = include};

	for (unsigned kind = 0; kind < G_N_ELEMENTS(lists); kind++) {
		g_auto(GStrv) patterns = g_strsplit(lists[kind], " ", -1);

		for (unsigned i = 0; patterns[i]; i++)
			if (*patterns[i])
				ck_assert_ptr_null(rules_add(rules, kind, patterns[i]));
	}
	return rules;
}

/* A path that ends in a slash is a directory. */
static bool leaves_out(const struct rules *rules, const char *path)
{
	const bool directory = g_str_has_suffix(path, "/");
	g_autofree char *bare = g_strndup(path, strlen(path) - directory);
	g_autofree char *dir = g_path_get_dirname(bare), *name = g_path_get_basename(bare);

	return rules_find(rules, strcmp(dir, ".") ? dir : "", name,
			  directory ? RULE_DIRECTORY : RULE_FILE);
}

/* What git check-ignore says of each alone, with git 2.39. */
START_TEST(gitignores_language)
{
	static const struct {
		const char *pattern, *out, *in;
	} cases[] = {
		{"*.tmp", "a.tmp d/a.tmp d/e/.tmp a.tmp/", "a.tmpx tmp a.tmp.d/"},
		{"build/", "build/ d/build/", "build d/build builds/"},
		{"/top", "top top/", "d/top top2"},
		{"a/b", "a/b a/b/", "b d/a/b a/c/b"},
		{"a/*", "a/b a/.c a/b/", "a/ a/b/c b"},
		{"a/*.c", "a/x.c", "a/b/x.c x.c"},
		{"**/x", "x d/x d/e/x", "xx d/ax"},
		{"a/**", "a/b a/b/c", "a/ a b/a/b"},
		{"a/**/z", "a/z a/b/z a/b/c/z", "a/bz az b/a/z"},
		{"?.o", "a.o d/b.o", "ab.o .o"},
		{"/d?e", "dxe", "d/e dxxe"},
		{"[ab].c", "a.c d/b.c", "c.c ab.c"},
		{"[!ab].c", "c.c !.c", "a.c"},
		{"/a[!b]c", "axc", "a/c abc"},
		{"[a-c]x", "ax bx", "dx"},
		{"\\*", "* d/*", "a"},
		{"\\!a", "!a", "a"},
		{"#a", "#a", "a"},
		{"a$.(b)+", "a$.(b)+", "a$x(b)+ a$.b"},
		{"$RECYCLE.BIN/", "$RECYCLE.BIN/", "$RECYCLExBIN/ $RECYCLE.BIN"},
		{"\xff*", "\xff \xff\xfe", "a"},
		{"*", "a d/ .a", ""},
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rules *rules = made(cases[i].pattern, "", false);
		g_auto(GStrv) out = g_strsplit(cases[i].out, " ", -1);
		g_auto(GStrv) in = g_strsplit(cases[i].in, " ", -1);

		for (unsigned j = 0; out[j]; j++)
			ck_assert_msg(leaves_out(rules, out[j]), "%s: %s", cases[i].pattern,
				      out[j]);
		for (unsigned j = 0; in[j]; j++)
			ck_assert_msg(!*in[j] || !leaves_out(rules, in[j]), "%s: %s",
				      cases[i].pattern, in[j]);
		rules_free(rules);
	}
}
END_TEST

START_TEST(an_include_wins)
{
	struct rules *rules = made("*.tmp /d/*", "keep.tmp /d/e/", false);

	ck_assert(leaves_out(rules, "a.tmp"));
	ck_assert(!leaves_out(rules, "keep.tmp"));
	ck_assert(!leaves_out(rules, "x/keep.tmp"));
	ck_assert(leaves_out(rules, "d/f"));
	ck_assert(!leaves_out(rules, "d/e/"));
	ck_assert(leaves_out(rules, "d/e"));
	ck_assert_str_eq(rules_find(rules, "x", "a.tmp", RULE_FILE), "exclude = *.tmp");
	rules_free(rules);
	rules = made("", "a", false);
	ck_assert_ptr_null(rules_add(rules, RULE_DEFAULT, "a/"));
	ck_assert_ptr_null(rules_add(rules, RULE_DEFAULT, "b/"));
	ck_assert(!leaves_out(rules, "a/"));
	ck_assert(leaves_out(rules, "x/b/"));
	ck_assert_str_eq(rules_text(rules, 1), "snapshot-directories = a/");
	ck_assert_ptr_null(rules_text(rules, 3));
	rules_free(rules);
}
END_TEST

START_TEST(before_the_type_is_known)
{
	struct rules *rules = made("a b/ c", "c/", false);

	ck_assert_ptr_nonnull(rules_find(rules, "", "a", RULE_UNKNOWN));
	ck_assert_ptr_null(rules_find(rules, "", "b", RULE_UNKNOWN));
	ck_assert_ptr_null(rules_find(rules, "", "c", RULE_UNKNOWN));
	ck_assert(!rules_need_type(rules, "", "a"));
	ck_assert(rules_need_type(rules, "", "b"));
	ck_assert(rules_need_type(rules, "", "c"));
	ck_assert(!rules_need_type(rules, "", "d"));
	ck_assert_ptr_null(rules_find(NULL, "", "a", RULE_FILE));
	rules_free(rules);
}
END_TEST

START_TEST(without_a_path)
{
	struct rules *rules = made("a /b", "", false);

	ck_assert_ptr_nonnull(rules_find(rules, NULL, "a", RULE_FILE));
	ck_assert_ptr_null(rules_find(rules, NULL, "b", RULE_FILE));
	rules_free(rules);
	rules = made("a b/", "/d/a", false); /* that may be the one */
	ck_assert_ptr_nonnull(rules_find(rules, "e", "a", RULE_FILE));
	ck_assert_ptr_null(rules_find(rules, NULL, "a", RULE_FILE));
	rules_free(rules);
}
END_TEST

/* SMB: in any spelling. */
START_TEST(upper_and_lower_case)
{
	struct rules *rules = made("Thumbs.db /$RECYCLE.BIN/ Grüße", "", true);

	ck_assert(leaves_out(rules, "d/THUMBS.DB"));
	ck_assert(leaves_out(rules, "$Recycle.Bin/"));
	ck_assert(!leaves_out(rules, "d/$Recycle.Bin/"));
	ck_assert(leaves_out(rules, "GRÜSSE") == false);
	ck_assert(leaves_out(rules, "grÜße"));
	ck_assert(!leaves_out(rules, "\xff"));
	rules_free(rules);
	rules = made("Thumbs.db", "", false);
	ck_assert(!leaves_out(rules, "THUMBS.DB"));
	rules_free(rules);
}
END_TEST

START_TEST(no_pattern)
{
	static const char *const none[] = {"/",	 "//", "a//b", "./a",  "a/..", "..",
					   "!a", "[a", "a\\",  "a\\/", "[z-a]"};
	struct rules *rules = rules_new(false), *folded = rules_new(true);

	for (unsigned i = 0; i < G_N_ELEMENTS(none); i++) {
		g_autofree char *mistake = rules_add(rules, RULE_EXCLUDE, none[i]);

		ck_assert_msg(mistake, "%s", none[i]);
	}
	ck_assert_ptr_null(rules_text(rules, 0));
	g_autofree char *bytes = rules_add(folded, RULE_EXCLUDE, "\xff");
	ck_assert_ptr_nonnull(bytes);
	rules_free(rules);
	rules_free(folded);
	rules_free(NULL);
}
END_TEST

/* A pattern of the configuration against a name of a hostile server. */
START_TEST(ends)
{
	g_autofree char *name = g_strnfill(255, 'a');
	struct rules *rules = made("*a*a*a*a*a*a*a*a*a*a*a*a*b", "", false);
	const gint64 began = g_get_monotonic_time();

	leaves_out(rules, name);
	ck_assert_int_lt(g_get_monotonic_time() - began, 20 * G_USEC_PER_SEC);
	rules_free(rules);
}
END_TEST

START_TEST(sums)
{
	struct rules *rules[] = {made("a b", "c", false), made("a b", "c", false),
				 made("a", "b c", false), made("a b", "c", true)};
	g_autofree char *first = rules_sum(rules[0]);

	for (size_t i = 1; i < G_N_ELEMENTS(rules); i++) {
		g_autofree char *sum = rules_sum(rules[i]);

		ck_assert_int_eq(!strcmp(sum, first), i == 1);
		rules_free(rules[i]);
	}
	rules_free(rules[0]);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("rules");

	tcase_add_test(tcase, gitignores_language);
	tcase_add_test(tcase, an_include_wins);
	tcase_add_test(tcase, before_the_type_is_known);
	tcase_add_test(tcase, without_a_path);
	tcase_add_test(tcase, upper_and_lower_case);
	tcase_add_test(tcase, no_pattern);
	tcase_add_test(tcase, ends);
	tcase_add_test(tcase, sums);
	return run_tcase(tcase);
}
