/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/page.h"

#include "ctl/report/chart.h"
#include "ctl/report/html.h"

static void add_head_page(GString *html, const struct final *final)
{
	g_autofree char *verdict = final_verdict(final), *made = final_time(final->made);
	g_autofree char *contents = final_contents(final);

	html_begin(html, "Migration of ", final->volume);
	html_add(html, "<p class=\"%s\">%s.</p>\n<p>%s.</p>\n<table>\n",
		 final_is_complete(final) ? "good" : "bad", verdict, contents);
	html_fact(html, "Old server", final->source);
	html_fact(html, "New server", final->server);
	html_fact(html, "Root", final->root);
	html_fact(html, "State", final->state);
	html_fact(html, "Made", made);
	html_fact(html, "By", final->version);
	g_string_append(html, "</table>\n");
}

static void add_objects(GString *html, const struct final *final)
{
	g_autofree char *sums = final_sums(final);

	g_string_append(html, "<h2>Every object</h2>\n<table>\n");
	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++)
		if (i != PROOF_MADE && (final->count.status[i] || i == PROOF_SAME))
			html_number(html, final_status_title(i), final->count.status[i]);
	if (final->unlisted)
		html_number(html, FINAL_UNLISTED, final->unlisted);
	html_add(html,
		 "<tr><th class=\"n\">%" G_GUINT64_FORMAT "</th><th>%s</th></tr>\n</table>\n"
		 "<table>\n",
		 final_old_objects(final), final_sum_title(final));
	html_number(html, final_status_title(PROOF_MADE), final->count.status[PROOF_MADE]);
	g_string_append(html, "</table>\n");
	if (*sums)
		html_add(html, "<p class=\"bad\">The sums do NOT add up: %s.</p>\n", sums);
	else
		g_string_append(html, "<p>The sums add up.</p>\n");
}

static void add_list(GString *html, const struct final_list *list, const char *title)
{
	html_add(html, "<h2>%s: %" G_GUINT64_FORMAT "</h2>\n", title, list->total);
	if (!list->total)
		return;
	g_string_append(html, "<table>\n");
	for (guint i = 0; i < list->first->len; i++) {
		const struct final_line *line = g_ptr_array_index(list->first, i);

		html_add(html, "<tr><td><code>%s</code></td><td>%s</td></tr>\n", line->path,
			 line->what);
	}
	g_string_append(html, "</table>\n");
	if (list->total > list->first->len)
		html_add(html, "<p>And %" G_GUINT64_FORMAT " more, which the text has.</p>\n",
			 list->total - list->first->len);
}

/* How many objects the comparison found to be what. */
static void add_comparison(GString *html, const struct final *final)
{
	struct chart_bar bars[PROOF_STATUS_COUNT];

	if (!final->comparison.any)
		return;
	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++) {
		const uint64_t n = final->comparison.status[i];

		bars[i] = (struct chart_bar){final_status_title(i), (double)n,
					     g_strdup_printf("%" G_GUINT64_FORMAT, n)};
	}
	chart_bars(html, "What verify --content has found", bars, PROOF_STATUS_COUNT);
}

char *final_page(const struct final *final)
{
	GString *html = g_string_new(NULL);

	add_head_page(html, final);
	add_objects(html, final);
	add_comparison(html, final);
	g_string_append(html, "<h2>Progress: bytes found (dashed) and whole</h2>\n");
	chart_append(html, final->history, true);
	g_string_append(html, "<h2>Progress: objects found (dashed) and whole</h2>\n");
	chart_append(html, final->history, false);
	for (unsigned i = 0; i < FINAL_KINDS; i++)
		add_list(html, &final->lists[i], final_kind_title(i));
	html_add(html,
		 "<h2>How to check this</h2>\n<p><code>migratectl report --check "
		 "%s-report.json</code> verifies the signature, this page and the manifest.</p>\n"
		 "</body></html>\n",
		 final->volume);
	return g_string_free(html, FALSE);
}
