/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "ctl/check/show.h"
#include "ctl/check/walk.h"
#include "ctl/report/final.h"
#include "lib/base/text.h"

#define NUMBER "%14" G_GUINT64_FORMAT

static void put_fact(FILE *out, const char *name, const char *value)
{
	g_autofree char *shown = text_printable(value);

	fprintf(out, "%-16s%s\n", name, shown);
}

/* Takes value. */
static void put_taken(FILE *out, const char *name, char *value)
{
	put_fact(out, name, value);
	g_free(value);
}

static void put_head(FILE *out, const struct survey *survey)
{
	g_autofree char *verdict = survey_verdict_text(survey), *made = final_time(survey->made);
	g_autofree char *shown = text_printable(verdict);
	g_autoptr(GPtrArray) stops = survey_stops(survey);

	fprintf(out, "Check of %s\n\n%s.\n\n", survey->name, shown);
	for (guint i = 1; i < stops->len; i++)
		fprintf(out, "And: %s.\n", (char *)stops->pdata[i]);
	put_fact(out, "Old server", survey->source);
	if (survey->target.known)
		put_taken(out, "New server",
			  g_strdup_printf("%s, %s", survey->target.path,
					  survey->target.limits.name ? survey->target.limits.name
								     : "another file system"));
	put_fact(out, "Made", made);
}

/* ---- what there is --------------------------------------------------------------------------- */

static void put_classes(FILE *out, const char *heading, const struct tally_class *classes,
			unsigned n, const char *(*title)(unsigned class))
{
	fprintf(out, "\n%s\n\n", heading);
	for (unsigned i = 0; i < n; i++) {
		g_autofree char *bytes = survey_bytes_text((double)classes[i].bytes);

		if (classes[i].objects)
			fprintf(out, NUMBER "  %-20s %s\n", classes[i].objects, title(i), bytes);
	}
}

static void put_top(FILE *out, const char *heading, const struct tally_top *top, bool bytes)
{
	fprintf(out, "\n%s\n\n", heading);
	for (unsigned i = 0; i < top->n; i++) {
		const struct tally_place *place = &top->places[i];
		g_autofree char *path = text_printable(*place->path ? place->path : ".");
		g_autofree char *size = bytes ? survey_bytes_text((double)place->value)
					      : g_strdup_printf("%" G_GUINT64_FORMAT, place->value);

		fprintf(out, "%14s  %s\n", size, path);
	}
}

static void put_tree(FILE *out, const struct survey *survey)
{
	const struct tally *tally = &survey->tally;
	g_autofree char *bytes = survey_bytes_text((double)tally->bytes);
	g_autofree char *used = survey_bytes_text((double)tally->used);

	fputs("\nWhat there is\n\n", out);
	for (unsigned i = 0; i < TALLY_TYPES; i++)
		fprintf(out, NUMBER "  %s\n", tally->types[i], tally_type_title(i));
	fprintf(out, "%14s  in files; the old server needs %s for them\n", bytes, used);
	fprintf(out, NUMBER "  names of files with several\n", tally->linked);
	fprintf(out, NUMBER "  objects with an ACL, of %" G_GUINT64_FORMAT " that were asked\n",
		tally->acls, tally->asked);
	fprintf(out, NUMBER "  objects with extended attributes or streams\n", tally->xattrs);
	fprintf(out, NUMBER "  names below each other, at most\n", (uint64_t)tally->depth);
	put_classes(out, "Files by size", tally->sizes, TALLY_SIZES, tally_size_title);
	put_classes(out, "Objects by age (mtime)", tally->ages, TALLY_AGES, tally_age_title);
	put_top(out, "Directories with the most entries", &tally->wide, false);
	put_top(out, "Directories with the most bytes in their files", &tally->heavy, true);
	put_top(out, "Longest paths, in bytes: one of each directory", &tally->paths, false);
	put_top(out, "Longest names, in bytes: one of each directory", &tally->names, false);
}

/* ---- what cannot come ------------------------------------------------------------------------ */

static void put_loss(FILE *out, const struct survey *survey, enum notice_kind kind)
{
	const GPtrArray *first = notices_first(survey->notices, kind);
	const uint64_t total = notices_total(survey->notices, kind);

	if (!total)
		return;
	fprintf(out, "\n" NUMBER "  %s\n", total, notice_title(kind));
	for (guint i = 0; i < first->len && i < SHOW_LINES; i++) {
		const struct notice_line *line = first->pdata[i];
		g_autofree char *path = text_printable(line->path);
		g_autofree char *text = text_printable(line->text);

		g_autofree char *bytes = survey_bytes_text((double)line->bytes);

		if (*path)
			fprintf(out, "                %s: %s\n", path, text);
		else if (kind == NOTE_RULE)
			fprintf(out, "                %s (" TEXT_COUNT ", %s in files)\n", text,
				TEXT_COUNTED(line->count, "objects"), bytes);
		else
			fprintf(out, "                %s (" TEXT_COUNT ")\n", text,
				TEXT_COUNTED(line->count, "objects"));
	}
	if (first->len > SHOW_LINES)
		fputs("                ...\n", out);
}

static void put_losses(FILE *out, const struct survey *survey)
{
	g_auto(GStrv) lines = g_strsplit(survey->not_carried ? survey->not_carried : "", "\n", -1);

	fputs("\nWhat cannot come as it is\n", out);
	if (!notices_sum(survey->notices))
		fputs("\n                nothing that was found\n", out);
	for (unsigned i = 0; i < NOTICE_NOTES; i++)
		put_loss(out, survey, i);
	if (lines[0] && *lines[0])
		fputs("\n                No object of this old server comes with:\n", out);
	for (unsigned i = 0; lines[i]; i++)
		if (*lines[i])
			fprintf(out, "                %s\n", lines[i]);
	if (survey->brings)
		fprintf(out, "\n                %s\n", survey->brings);
}

static void put_notes(FILE *out, const struct survey *survey)
{
	fputs("\nWhat is worth knowing\n", out);
	for (unsigned i = NOTICE_NOTES; i < NOTE_OWNERS; i++)
		put_loss(out, survey, i);
}

/* ---- what it takes --------------------------------------------------------------------------- */

static void put_needs(FILE *out, const struct survey *survey)
{
	g_autofree char *mkfs = new_fs_mkfs(&survey->target, &survey->need);

	fputs("\nThe new file system\n\n", out);
	put_taken(out, "Space", survey_space_text(survey));
	put_taken(out, "Inodes", survey_inodes_text(survey));
	if (survey->need.stubs)
		put_taken(out, "Stubs", survey_stubs_text(survey));
	if (mkfs)
		put_fact(out, "One that fits", mkfs);
	fputs("\nThe old server\n\n", out);
	put_taken(out, "Rights", survey_rights_text(survey));
	put_taken(out, "Clock", survey_clock_text(survey));
}

static void put_times(FILE *out, const struct survey *survey)
{
	const struct measured *m = &survey->measured;
	const struct estimate *e = &survey->estimate;
	g_autofree char *rate = survey_bytes_text(m->byte_rate);
	g_autofree char *pass = survey_time_text(survey->seconds);

	put_taken(out, "Round trip", survey_round_trip_text(survey));
	put_taken(out, "Objects",
		  g_strdup_printf("%.0f a second, in this pass of %s with " TEXT_COUNT,
				  survey_rate(survey), pass,
				  TEXT_COUNTED(survey->requests, "requests")));
	if (m->small_rate > 0)
		put_taken(out, "Small files",
			  g_strdup_printf("%.0f a second (%" G_GUINT64_FORMAT " were read)",
					  m->small_rate, m->small_files));
	if (m->byte_rate > 0)
		put_taken(out, "Longer files", g_strdup_printf("%s a second", rate));
	fputs("\nHow long it takes, about\n\n", out);
	put_taken(out, "Names", survey_time_text(e->names));
	put_taken(out, "All of it", survey_time_text(e->crawl));
	put_taken(out, "A further run", survey_time_text(e->again));
	put_taken(out, "Widest listing", survey_time_text(e->widest));
}

bool show_text(FILE *out, const struct survey *survey)
{
	put_head(out, survey);
	put_losses(out, survey);
	put_needs(out, survey);
	put_times(out, survey);
	put_notes(out, survey);
	put_tree(out, survey);
	if (survey->share < WALK_ALL)
		fprintf(out,
			"\nOf %g %% of the files it was asked what they have beside their names "
			"and "
			"attributes.\n",
			survey->share * 100.0 / WALK_ALL);
	return fflush(out) == 0 && !ferror(out);
}
