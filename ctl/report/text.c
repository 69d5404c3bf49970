/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/text.h"

#include "lib/base/text.h"

static void put_fact(FILE *out, const char *name, const char *value)
{
	g_autofree char *shown = text_printable(value);

	fprintf(out, "%-12s%s\n", name, shown);
}

static void put_report_head(FILE *out, const struct final *final)
{
	g_autofree char *verdict = final_verdict(final), *made = final_time(final->made);
	g_autofree char *contents = final_contents(final);

	fprintf(out, "Migration of %s\n\n%s.\n%s.\n\n", final->volume, verdict, contents);
	put_fact(out, "Old server", final->source);
	put_fact(out, "New server", final->server);
	put_fact(out, "Root", final->root);
	put_fact(out, "State", final->state);
	put_fact(out, "Made", made);
	put_fact(out, "By", final->version);
	fputc('\n', out);
}

static void put_number(FILE *out, uint64_t number, const char *what)
{
	fprintf(out, "%14" G_GUINT64_FORMAT "  %s\n", number, what);
}

static void put_objects(FILE *out, const struct final *final)
{
	const struct manifest_count *count = &final->count;
	g_autofree char *sums = final_sums(final);

	fputs("Every object:\n\n", out);
	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++)
		if (i != PROOF_MADE)
			put_number(out, count->status[i], final_status_title(i));
	if (final->unlisted)
		put_number(out, final->unlisted, FINAL_UNLISTED);
	fputs("  ------------\n", out);
	put_number(out, final_old_objects(final), final_sum_title(final));
	fputc('\n', out);
	put_number(out, count->status[PROOF_MADE], final_status_title(PROOF_MADE));
	if (final->names_here >= 0)
		put_number(out, final->names_here, "names in the new tree when this was made");
	fprintf(out, "\nThe sums %s%s.\n\n", *sums ? "do NOT add up: " : "add up", sums);
	fprintf(out,
		"The manifest has " TEXT_COUNT " (" TEXT_COUNT ", " TEXT_COUNT " of " TEXT_COUNT
		", " TEXT_COUNT ", " TEXT_COUNT "), %" G_GUINT64_FORMAT " with a hash.\n",
		TEXT_COUNTED(count->entries, "entries"),
		TEXT_COUNTED(count->directories, "directories"),
		TEXT_COUNTED(count->files, "files"), TEXT_COUNTED(count->bytes, "bytes"),
		TEXT_COUNTED(count->links, "symbolic links"), TEXT_COUNTED(count->others, "others"),
		count->hashed);
}

static bool copy(FILE *from, FILE *out)
{
	char room[65536];
	size_t n;

	rewind(from);
	while ((n = fread(room, 1, sizeof room, from)) > 0)
		if (fwrite(room, 1, n, out) != n)
			return false;
	return !ferror(from);
}

bool final_text(FILE *out, const struct final *final)
{
	bool ok = true;

	put_report_head(out, final);
	put_objects(out, final);
	for (unsigned i = 0; i < FINAL_KINDS; i++) {
		fprintf(out, "\n%s: %" G_GUINT64_FORMAT "\n\n", final_kind_title(i),
			final->lists[i].total);
		ok = copy(final->lists[i].all, out) && ok;
	}
	return ok && fflush(out) == 0 && !ferror(out);
}
