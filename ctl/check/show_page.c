/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/show.h"
#include "ctl/report/chart.h"
#include "ctl/report/final.h"
#include "ctl/report/html.h"

#define SHOWN 100 /* lines of a list */

static void add_taken(GString *html, const char *name, char *value)
{
	html_fact(html, name, value);
	g_free(value);
}

static void add_head(GString *html, const struct survey *survey)
{
	g_autofree char *made = final_time(survey->made), *text = survey_verdict_text(survey);
	g_autofree char *shown = final_printable(text);
	g_autoptr(GPtrArray) stops = survey_stops(survey);

	html_begin(html, "Check of ", survey->name);
	html_add(html, "<p class=\"%s\">%s.</p>\n",
		 survey_verdict(survey) == SURVEY_GO ? "good" : "bad", shown);
	for (guint i = 1; i < stops->len; i++)
		html_add(html, "<p class=\"bad\">%s.</p>\n", (char *)stops->pdata[i]);
	g_string_append(html, "<table>\n");
	html_fact(html, "Old server", survey->source);
	if (survey->target.known)
		html_fact(html, "New server", survey->target.path);
	html_fact(html, "Made", made);
	html_fact(html, "By", survey->version);
	g_string_append(html, "</table>\n");
}

/* ---- what there is --------------------------------------------------------------------------- */

static void add_classes(GString *html, const char *title, const struct tally_class *classes,
			unsigned n, const char *(*name)(unsigned class), bool bytes)
{
	struct chart_bar bars[MAX(TALLY_SIZES, TALLY_AGES)];

	html_add(html, "<h2>%s</h2>\n", title);
	for (unsigned i = 0; i < n; i++) {
		const uint64_t value = bytes ? classes[i].bytes : classes[i].objects;

		bars[i] = (struct chart_bar){name(i), (double)value,
					     bytes ? survey_bytes_text((double)value)
						   : g_strdup_printf("%" G_GUINT64_FORMAT, value)};
	}
	chart_bars(html, title, bars, n);
}

static void add_top(GString *html, const char *title, const struct tally_top *top, bool bytes)
{
	html_add(html, "<h2>%s</h2>\n<table>\n", title);
	for (unsigned i = 0; i < top->n; i++) {
		const struct tally_place *place = &top->places[i];
		g_autofree char *path = final_printable(*place->path ? place->path : ".");
		g_autofree char *value =
			bytes ? survey_bytes_text((double)place->value)
			      : g_strdup_printf("%" G_GUINT64_FORMAT, place->value);

		html_add(html, "<tr><td class=\"n\">%s</td><td><code>%s</code></td></tr>\n", value,
			 path);
	}
	g_string_append(html, "</table>\n");
}

static void add_tree(GString *html, const struct survey *survey)
{
	const struct tally *tally = &survey->tally;

	g_string_append(html, "<h2>What there is</h2>\n<table>\n");
	for (unsigned i = 0; i < TALLY_TYPES; i++)
		html_number(html, tally_type_title(i), tally->types[i]);
	html_number(html, "bytes in files", tally->bytes);
	html_number(html, "bytes that the old server needs for them", tally->used);
	html_number(html, "names of files with several", tally->linked);
	html_number(html, "objects with an ACL", tally->acls);
	html_number(html, "objects with extended attributes or streams", tally->xattrs);
	html_number(html, "names below each other, at most", tally->depth);
	g_string_append(html, "</table>\n");
	add_classes(html, "Files by size", tally->sizes, TALLY_SIZES, tally_size_title, false);
	add_classes(html, "Bytes by the size of their file", tally->sizes, TALLY_SIZES,
		    tally_size_title, true);
	add_classes(html, "Objects by age (mtime)", tally->ages, TALLY_AGES, tally_age_title,
		    false);
	add_classes(html, "Bytes by the age of their file", tally->ages, TALLY_AGES,
		    tally_age_title, true);
	add_top(html, "Directories with the most entries", &tally->wide, false);
	add_top(html, "Directories with the most bytes in their files", &tally->heavy, true);
	add_top(html, "Longest paths, in bytes", &tally->paths, false);
	add_top(html, "Longest names, in bytes", &tally->names, false);
}

/* ---- what cannot come ------------------------------------------------------------------------ */

static void add_loss(GString *html, const struct survey *survey, enum loss_kind kind)
{
	const GPtrArray *first = losses_first(survey->losses, kind);
	const uint64_t total = losses_total(survey->losses, kind);

	if (!total)
		return;
	html_add(html, "<h2>%s: %" G_GUINT64_FORMAT "</h2>\n<table>\n", loss_title(kind), total);
	for (guint i = 0; i < first->len && i < SHOWN; i++) {
		const struct loss_line *line = first->pdata[i];
		g_autofree char *path = final_printable(line->path);
		g_autofree char *text = final_printable(line->text);
		g_autofree char *many =
			*path ? NULL
			      : g_strdup_printf("%" G_GUINT64_FORMAT " objects", line->count);

		html_add(html, "<tr><td><code>%s</code></td><td>%s</td></tr>\n", many ? many : path,
			 text);
	}
	g_string_append(html, "</table>\n");
	if (first->len > SHOWN)
		g_string_append(html, "<p>And more, which the JSON has.</p>\n");
}

static void add_losses(GString *html, const struct survey *survey)
{
	struct chart_bar bars[LOSS_NOTES];
	unsigned n = 0;

	g_string_append(html, "<h2>What cannot come as it is</h2>\n");
	for (unsigned i = 0; i < LOSS_NOTES; i++) {
		const uint64_t total = losses_total(survey->losses, i);

		if (total)
			bars[n++] =
				(struct chart_bar){loss_key(i), (double)total,
						   g_strdup_printf("%" G_GUINT64_FORMAT, total)};
	}
	chart_bars(html, "What cannot come as it is", bars, n);
	for (unsigned i = 0; i < LOSS_KINDS; i++)
		add_loss(html, survey, i);
	if (survey->not_carried)
		html_add(html, "<h2>No object of this old server comes with</h2>\n<p>%s</p>\n",
			 survey->not_carried);
}

/* ---- what it takes --------------------------------------------------------------------------- */

static void add_needs(GString *html, const struct survey *survey)
{
	g_autofree char *mkfs = target_mkfs(&survey->target, &survey->need);

	g_string_append(html, "<h2>The new file system</h2>\n<table>\n");
	add_taken(html, "Space", survey_space_text(survey));
	add_taken(html, "Inodes", survey_inodes_text(survey));
	if (survey->need.stubs)
		add_taken(html, "Stubs", survey_stubs_text(survey));
	if (mkfs)
		html_fact(html, "One that fits", mkfs);
	g_string_append(html, "</table>\n<h2>The old server</h2>\n<table>\n");
	add_taken(html, "Rights", survey_rights_text(survey));
	add_taken(html, "Clock", survey_clock_text(survey));
	add_taken(html, "Round trip", survey_round_trip_text(survey));
	g_string_append(html, "</table>\n");
}

static void add_times(GString *html, const struct survey *survey)
{
	const struct estimate *e = &survey->estimate;
	struct chart_bar bars[] = {
		{"names", e->names, survey_time_text(e->names)},
		{"data", e->data, survey_time_text(e->data)},
		{"all of it", e->crawl, survey_time_text(e->crawl)},
		{"a further run of a copy", e->again, survey_time_text(e->again)},
		{"the widest listing", e->widest, survey_time_text(e->widest)},
	};

	g_string_append(html, "<h2>How long it takes, about</h2>\n");
	chart_bars(html, "How long it takes", bars, G_N_ELEMENTS(bars));
	html_add(html,
		 "<p>Measured: %.0f objects a second in this pass, %.0f small files a second, %.1f "
		 "MiB of longer ones a second. migratectl(8) has the formulas.</p>\n",
		 survey_rate(survey), survey->measured.small_rate,
		 survey->measured.byte_rate / (1 << 20));
}

char *show_page(const struct survey *survey)
{
	GString *html = g_string_new(NULL);

	add_head(html, survey);
	add_times(html, survey);
	add_needs(html, survey);
	add_losses(html, survey);
	add_tree(html, survey);
	g_string_append(html, "</body></html>\n");
	return g_string_free(html, FALSE);
}
