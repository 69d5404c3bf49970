/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <locale.h>

#include "ctl/report/json.h"
#include "ctl/report/page.h"
#include "tests/ctl/report/made.h"

/* What comes from the old server is text, whatever it is; nothing is loaded from anywhere. */
START_TEST(of_a_report)
{
	static const char *const never[] = {"<script", "<img",	 "<b>",	 "<v>",	 "src=\"", "href",
					    "http:",   "https:", "url(", "\x1b", "\xff"};
	struct final *final = made_final();

	for (unsigned i = 0; i < FINAL_KINDS; i++)
		final_add(final, i, HOSTILE, HOSTILE);
	for (unsigned i = 0; i < FINAL_SHOWN + 23; i++)
		final_add(final, FINAL_DIFFERENT, "x", "y");
	g_free(final->state);
	final->state = g_strdup(HOSTILE);
	g_autofree char *json = final_json(final);
	g_autofree char *page = page_of_json("Of <v>", false, HOSTILE, json);

	for (unsigned i = 0; i < G_N_ELEMENTS(never); i++)
		ck_assert_msg(!strstr(page, never[i]), "%s", never[i]);
	ck_assert_ptr_nonnull(strstr(page, "&lt;script&gt;"));
	ck_assert_ptr_nonnull(strstr(page, "default-src 'none'"));
	ck_assert_ptr_nonnull(strstr(page, "<h1>Of &lt;v&gt;</h1>\n<p class=\"bad\">"));
	ck_assert_ptr_nonnull(strstr(page, "<h3>What differs from the old server: 1024</h3>"));
	ck_assert_ptr_nonnull(strstr(page, "These are the first 1000."));
	ck_assert_ptr_nonnull(strstr(page, "<svg"));
	final_free(final);
}
END_TEST

static void shows(const char *json, const char *what)
{
	g_autofree char *page = page_of_json("t", true, "v", json);

	ck_assert_msg(strstr(page, what) != NULL, "%s is not in %s", what, page);
}

/* Lines go from the left to the right, whatever the numbers and the language. */
START_TEST(values)
{
	setlocale(LC_ALL, "de_DE.UTF-8");
	shows("{\"progress\": [[1000, 5, 0, 0, 0], [1000, 5, 2, 0, 0],"
	      " [5000, 9223372036854775807, 4, 0, 0]]}",
	      "points=\"0,200 0,200 800,0 \"");
	shows("{\"progress\": [[1000, 5, 0, 0, 0]]}", "points=\"0,0 \"");
	shows("{\"progress\": []}", "<h2>progress</h2>\n<p>none</p>");
	shows("{\"bytes_free\": 2048}", "<th>bytes free</th><td class=\"n\">2048 (2");
	shows("{\"rate\": 0.5, \"at\": null}",
	      "<td>0.5</td></tr>\n<tr><th>at</th><td>not known</td>");
	shows("{\"stops\": [\"a<b\"]}", "<p>a&lt;b</p>");
	shows("{\"a\": {\"b\": {\"c\": true}}}", "<h3>b</h3>\n<table>\n<tr><th>c</th><td>yes</td>");
	shows("{\"bytes_per_second\": 2097152.5}", "<td>2097152 (2");
	shows("{\"l\": {\"total\": 2, \"first\": [{\"objects\": 1, \"text\": \"a\"},"
	      " {\"path\": \"p\", \"text\": \"b\"}]}}",
	      "<td></td><td data-is=\"text\">b</td><td data-is=\"path\">p</td>");
	shows("{\"not UTF-8\": \"\xff\"}", "This page could not be made: see the text.");
	shows("{\"few\": [{\"n\": 4, \"x\": \"p\"}, {\"n\": 1}]}",
	      "<td class=\"n\" data-is=\"n\">1 <meter max=\"4\" "
	      "value=\"1\"></meter></td><td></td>");
	shows("{\"l\": [{\"a\\\"<b\": \"\\u202egpj\\u0007\\u05d0\"}]}",
	      "<td data-is=\"a&quot;&lt;b\">\\342\\200\\256gpj\\007\xd7\x90</td>");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {of_a_report, values, NULL};

	return run_made("page", tests);
}
