/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/check.h"
#include "tests/ctl/report/made.h"

static void note(void *arg, bool good, const char *line)
{
	g_string_append_printf(arg, "%s%s\n", good ? "" : "BAD ", line);
}

static bool check(const char *signers, const char *tree, char **said)
{
	g_autofree char *file = made_path("v" FINAL_JSON);
	GString *text = g_string_new(NULL);
	const struct check what = {file, signers, tree, made_dir, note, text};
	bool good = check_report(&what);

	ck_assert_int_eq(good, !strstr(text->str, "BAD "));
	*said = g_string_free(text, FALSE);
	return good;
}

static void expect(const char *signers, bool good, const char *wanted)
{
	g_autofree char *said = NULL;

	ck_assert_msg(check(signers, NULL, &said) == good, "%s", said);
	ck_assert_msg(strstr(said, wanted), "%s", said);
}

static char *signed_report(void)
{
	g_autofree char *key = made_path("key");

	made_run("ssh-keygen -q -t ed25519 -N '' -f key; echo \"me $(cat key.pub)\" >signers");
	made_report(key);
	return made_path("signers");
}

START_TEST(good)
{
	g_autofree char *signers = signed_report();

	expect(signers, true, "signed by me\n");
	expect(NULL, true, "whose key that is is not known");
	expect(NULL, true, "5 entries, as the report counts them");
	made_run("rm v-report.json.sig");
	expect(NULL, true, "it is not signed");
	expect(signers, false, "it is not signed");
}
END_TEST

/* One byte of any file. */
START_TEST(changed)
{
	static const char *const files[] = {"v-report.json", "v-report.txt", "v-report.html",
					    "v-manifest.mtree.zst", "v-report.json.sig"};
	g_autofree char *signers = signed_report();

	for (unsigned i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = made_path(files[i]), *bytes = NULL, *said = NULL;
		gsize len;

		ck_assert(g_file_get_contents(path, &bytes, &len, NULL));
		bytes[len / 2] ^= 1;
		ck_assert(g_file_set_contents(path, bytes, (gssize)len, NULL));
		ck_assert_msg(!check(signers, NULL, &said), "%s", files[i]);
		bytes[len / 2] ^= 1;
		ck_assert(g_file_set_contents(path, bytes, (gssize)len, NULL));
	}
	expect(signers, true, "signed by me");
}
END_TEST

/* What is missing, cut off, or something else. */
START_TEST(broken)
{
	static const struct {
		const char *change, *said;
	} cases[] = {
		{"rm v-report.txt", "v-report.txt: No such file"},
		{"ln -sf /etc/passwd v-report.txt", "v-report.txt: "},
		{"rm v-report.txt; mkfifo v-report.txt", "v-report.txt: "},
		{"rm v-manifest.mtree.zst", "no manifest"},
		{"mkfifo v-report.json.sig", "it is not a file"},
		{"truncate -s -1 v-manifest.mtree.zst", "cut off"},
		{"truncate -s 0 v-report.json", "v-report.json: "},
		{"rm v-report.json", "v-report.json: No such file"},
		{"rm v-report.json; mkdir v-report.json", "it is not a report"},
		{"rm v-report.json; mkfifo v-report.json", "it is not a report"},
		{"truncate -s 1G v-report.json", "it is not a report"},
		{"head -c 1M /dev/zero | tr '\\0' '[' >v-report.json", "too deep"},
		{"sed -i 's/\"complete\" : true/\"complete\" : false/' v-report.json",
		 "BAD it says: "},
		{"sed -i 's/\"same\" : 2/\"same\" : 3/' v-report.json", "counts other objects"},
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		made_run("rm -rf v-*");
		made_report(NULL);
		made_run("%s", cases[i].change);
		expect(NULL, false, cases[i].said);
	}
}
END_TEST

/* Of the tree each difference is a line. */
START_TEST(with_tree)
{
	g_autofree char *tree = made_path("t"), *said = NULL, *none = NULL;

	made_report(NULL);
	made_run("mkdir -p t/d; : >t/mine; : >t/x");
	ck_assert(!check(NULL, tree, &said));
	ck_assert_ptr_nonnull(strstr(said, "BAD x: the manifest does not have it\n"));
	ck_assert_ptr_nonnull(strstr(said, "\\033[2J"));
	ck_assert_ptr_null(strchr(said, '\x1b'));
	ck_assert(!check(NULL, "/nonexistent", &none));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {good, changed, broken, with_tree, NULL};

	return run_made("check", tests);
}
