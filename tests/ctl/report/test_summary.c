/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/summary.h"
#include "tests/ctl/report/made.h"

static struct summary *parse(const char *text, GError **error)
{
	return summary_new(text, strlen(text), error);
}

static char *json_made(void)
{
	g_autofree char *path = made_path("v" FINAL_JSON);
	char *text = NULL;

	made_report(NULL);
	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	return text;
}

/* Cut off anywhere, or one bit turned over: refused, or read, and nothing else. */
START_TEST(damaged)
{
	g_autofree char *json = json_made();
	size_t len = strlen(json);

	for (size_t cut = 0; cut < len - 2; cut += 3) {
		g_autoptr(GError) error = NULL;

		ck_assert_ptr_null(summary_new(json, cut, &error));
		ck_assert_ptr_nonnull(error);
	}
	for (size_t bit = 0; bit < 8 * len; bit += 11) {
		json[bit / 8] ^= 1 << bit % 8;
		summary_free(summary_new(json, len, NULL));
		json[bit / 8] ^= 1 << bit % 8;
	}
	summary_free(parse(json, NULL));
}
END_TEST

START_TEST(hostile)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"null",
		"1",
		"{\"quickmigrate_report\":\"1\"}",
		"{\"quickmigrate_report\":1}",
		"{\"quickmigrate_report\":2}",
		"{\"quickmigrate_report\":1,\"volume\":{},\"source\":[]}",
		"\xff\xfe",
		"{\"a\":1"};
	g_autofree char *deep = g_strnfill(10 << 20, '[');
	g_autofree char *quoted = g_strconcat("{\"a\": \"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[\", ", NULL);
	g_autoptr(GError) error = NULL;

	for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++)
		ck_assert_ptr_null(parse(texts[i], NULL));
	ck_assert_ptr_null(parse(quoted, NULL));
	g_autofree char *hidden = g_strconcat("/* \" */ ", deep, NULL);
	ck_assert_ptr_null(parse(hidden, NULL));
	ck_assert_ptr_null(parse(deep, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "too deep"));
	g_clear_error(&error);
	ck_assert_ptr_null(
		summary_new(deep, 16, &error)); /* and what is behind it is not looked at */
	ck_assert_ptr_null(strstr(error->message, "too deep"));
}
END_TEST

static void replaced(const char *json, const char *what, const char *with, bool good)
{
	g_auto(GStrv) parts = g_strsplit(json, what, -1);
	g_autofree char *text = g_strjoinv(with, parts);
	struct summary *parsed = parse(text, NULL);

	ck_assert_msg(strcmp(text, json) != 0, "%s", what);
	ck_assert_msg(!!parsed == good, "%s", with);
	summary_free(parsed);
}

/* Parts are files beside it, and numbers are numbers. */
START_TEST(changed)
{
	g_autofree char *json = json_made();
	static const char *const names[] = {"../x", "/etc/passwd", "", ".", "a/b"};

	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
		replaced(json, "v-report.txt", names[i], false);
	replaced(json, "v-report.txt", "w-report.txt", true);
	replaced(json, "\"same\" : 2", "\"same\" : -2", false);
	replaced(json, "\"same\" : 2", "\"same\" : 2.5", false);
	replaced(json, "\"same\" : 2", "\"same\" : \"2\"", false);
	replaced(json, "\"complete\" : true", "\"complete\" : 1", false);
	replaced(json, "\"parts\"", "\"Parts\"", false);
	replaced(json, "\"sha256\" : \"", "\"sha256\" : \"x", false);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {damaged, hostile, changed, NULL};

	return run_made("summary", tests);
}
