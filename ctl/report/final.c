/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/final.h"

#include <errno.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "retriever/progress/history.h"

static const struct {
	const char *key, *title;
} kinds[FINAL_KINDS] = {
	[FINAL_DIFFERENT] = {"differences", "What differs from the old server"},
	[FINAL_UNFINISHED] = {"unfinished", "What is not here yet"},
	[FINAL_FAILED] = {"failed", "What failed, and why"},
	[FINAL_SKIPPED] = {"given_up", "Names that were skipped"},
	[FINAL_LOST] = {"lost", "What could not be carried over"},
	[FINAL_CLIENTS] = {"clients", "What clients made, changed and removed"},
};

static const char *const status_titles[PROOF_STATUS_COUNT] = {
	[PROOF_SAME] = "the same on both servers",
	[PROOF_NOT_SAMPLED] = "here; not compared with the old server",
	[PROOF_LOST] = "the same but for lost attributes",
	[PROOF_CHANGED] = "changed by clients since the switch",
	[PROOF_MADE] = "made by clients since the switch",
	[PROOF_REMOVED] = "removed or renamed by clients",
	[PROOF_SKIPPED] = "skipped",
	[PROOF_UNFINISHED] = "unfinished",
	[PROOF_DIFFERENT] = "different",
	[PROOF_FAILED] = "could not be compared",
};

const char *final_kind_key(enum final_kind kind)
{
	return kinds[kind].key;
}

const char *final_kind_title(enum final_kind kind)
{
	return kinds[kind].title;
}

const char *final_status_title(enum proof_status status)
{
	return status_titles[status];
}

char *final_time(int64_t seconds)
{
	g_autoptr(GDateTime) time = seconds ? g_date_time_new_from_unix_utc(seconds) : NULL;

	return time ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ") : g_strdup("-");
}

/* ---- what it consists of --------------------------------------------------------------------- */

struct final_line *final_line_new(const char *path, const char *what)
{
	struct final_line *line = g_new0(struct final_line, 1);

	line->path = text_printable(path);
	line->what = text_printable(what);
	return line;
}

void final_line_free(struct final_line *line)
{
	g_free(line->path);
	g_free(line->what);
	g_free(line);
}

static void free_part(gpointer arg)
{
	struct final_part *part = arg;

	g_free(part->file);
	g_free(part);
}

/* It has no name. */
static FILE *scratch(const char *directory)
{
	g_autofree char *name = g_build_filename(directory, ".report-XXXXXX", NULL);
	int fd = g_mkstemp(name);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");

	if (fd >= 0)
		unlink(name);
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

struct final *final_new(const char *directory, GError **error)
{
	struct final *final = g_new0(struct final, 1);

	final->names_here = -1;
	final->parts = g_ptr_array_new_with_free_func(free_part);
	for (unsigned i = 0; i < FINAL_KINDS; i++)
		final->lists[i].first =
			g_ptr_array_new_with_free_func((GDestroyNotify)final_line_free);
	for (unsigned i = 0; i < FINAL_KINDS; i++) {
		final->lists[i].all = scratch(directory);
		if (final->lists[i].all)
			continue;
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
			    "%s: a temporary file cannot be made: %s", directory,
			    g_strerror(errno));
		final_free(final);
		return NULL;
	}
	return final;
}

void final_free(struct final *final)
{
	if (!final)
		return;
	for (unsigned i = 0; i < FINAL_KINDS; i++) {
		g_ptr_array_free(final->lists[i].first, TRUE);
		if (final->lists[i].all)
			fclose(final->lists[i].all);
	}
	g_ptr_array_free(final->parts, TRUE);
	history_free(final->history);
	g_free(final->comparison.told_by);
	g_free(final->volume);
	g_free(final->root);
	g_free(final->source);
	g_free(final->server);
	g_free(final->version);
	g_free(final->state);
	g_free(final);
}

void final_add(struct final *final, enum final_kind kind, const char *path, const char *what)
{
	struct final_list *list = &final->lists[kind];
	struct final_line *line = final_line_new(*path ? path : ".", what);

	fprintf(list->all, "%s: %s\n", line->path, line->what);
	if (list->total++ < FINAL_SHOWN)
		g_ptr_array_add(list->first, line);
	else
		final_line_free(line);
}

bool final_lists_whole(struct final *final)
{
	for (unsigned i = 0; i < FINAL_KINDS; i++)
		if (fflush(final->lists[i].all) != 0 || ferror(final->lists[i].all))
			return false;
	return true;
}

void final_add_part(struct final *final, const char *file, uint64_t bytes, const char *sha256)
{
	struct final_part *part = g_new0(struct final_part, 1);

	part->file = g_strdup(file);
	part->bytes = bytes;
	g_strlcpy(part->sha256, sha256, sizeof part->sha256);
	g_ptr_array_add(final->parts, part);
}

const char *final_sum_title(const struct final *final)
{
	return final->comparison.any ? "on the old server" : "together";
}

/* ---- what it says ---------------------------------------------------------------------------- */

uint64_t final_old_objects(const struct final *final)
{
	return final->count.entries - final->count.status[PROOF_MADE] + final->unlisted;
}

static void say(GString *text, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void say(GString *text, const char *format, ...)
{
	va_list args;

	if (text->len)
		g_string_append(text, "; ");
	va_start(args, format);
	g_string_append_vprintf(text, format, args);
	va_end(args);
}

char *final_sums(const struct final *final)
{
	const struct manifest_count *count = &final->count;
	const struct final_comparison *c = &final->comparison;
	GString *text = g_string_new(NULL);
	uint64_t sum = 0;

	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++) {
		sum += count->status[i];
		if (c->any && c->status[i] != count->status[i])
			say(text,
			    "the comparison counted " TEXT_COUNT
			    " that are %s, the manifest has %" G_GUINT64_FORMAT,
			    TEXT_COUNTED(c->status[i], "objects"), proof_status_name(i),
			    count->status[i]);
	}
	if (sum != count->entries)
		say(text,
		    "the manifest has " TEXT_COUNT ", and %" G_GUINT64_FORMAT
		    " of them are accounted for",
		    TEXT_COUNTED(count->entries, "objects"), sum);
	if (!c->any && final->names_here >= 0 &&
	    (uint64_t) final->names_here != count->entries - count->status[PROOF_SKIPPED])
		say(text,
		    "the new tree has " TEXT_COUNT ", the manifest has %" G_GUINT64_FORMAT
		    ": clients changed it meanwhile; make the report again",
		    TEXT_COUNTED(final->names_here, "names"), count->entries);
	return g_string_free(text, FALSE);
}

bool final_is_complete(const struct final *final)
{
	const uint64_t *status = final->count.status;
	g_autofree char *sums = final_sums(final);

	return !*sums && final->count.entries && !status[PROOF_UNFINISHED] &&
	       !status[PROOF_DIFFERENT] && !status[PROOF_FAILED] &&
	       !final->lists[FINAL_FAILED].total;
}

static char *good_verdict(const struct final *final)
{
	uint64_t skipped = final->count.status[PROOF_NOT_SAMPLED];

	if (!final->comparison.any)
		return g_strdup_printf("Whole: " TEXT_COUNT
				       " here; nothing was compared with the old server",
				       TEXT_COUNTED(final->count.entries, "objects are"));
	if (skipped)
		return g_strdup_printf("Complete: " TEXT_COUNT
				       " of the old server, all accounted for; "
				       "%" G_GUINT64_FORMAT " not in the sample",
				       TEXT_COUNTED(final_old_objects(final), "objects"), skipped);
	return g_strdup_printf("Complete: " TEXT_COUNT " of the old server, all accounted for",
			       TEXT_COUNTED(final_old_objects(final), "objects"));
}

char *final_verdict(const struct final *final)
{
	const uint64_t *status = final->count.status;
	g_autofree char *sums = final_sums(final);
	GString *text;

	if (final_is_complete(final))
		return good_verdict(final);
	text = g_string_new(NULL);
	if (*sums)
		say(text, "the sums do not add up: %s", sums);
	if (status[PROOF_DIFFERENT] || status[PROOF_FAILED])
		say(text,
		    TEXT_COUNT " with differences, %" G_GUINT64_FORMAT " could not be compared",
		    TEXT_COUNTED(status[PROOF_DIFFERENT], "objects"), status[PROOF_FAILED]);
	if (status[PROOF_UNFINISHED])
		say(text,
		    TEXT_COUNT " unfinished: run migrate-crawler %s, then make the report again",
		    TEXT_COUNTED(status[PROOF_UNFINISHED], "objects are"), final->volume);
	if (final->lists[FINAL_FAILED].total)
		say(text, TEXT_COUNT " failed: see migratectl errors %s",
		    TEXT_COUNTED(final->lists[FINAL_FAILED].total, "things"), final->volume);
	if (!text->len)
		say(text, "nothing is known of any object");
	g_string_prepend(text, "NOT complete: ");
	return g_string_free(text, FALSE);
}

char *final_contents(const struct final *final)
{
	const struct final_comparison *c = &final->comparison;
	g_autofree char *began = final_time(c->began), *ended = final_time(c->ended);
	g_autofree char *sample = NULL;
	const char *told;

	if (!c->any)
		return g_strdup_printf("Contents were not compared, and what clients made or "
				       "changed is not told apart: migratectl verify --content %s "
				       "does so; then make the report again",
				       final->volume);
	told = g_strcmp0(c->told_by, "journal") ? "times" : "the journal";
	if (c->sample == FINAL_ALL)
		sample = g_strdup("all files");
	else
		sample = g_strdup_printf(
			"a sample of %g %% of the files (seed %" G_GUINT64_FORMAT
			"; if %g %% of all files differed, it would have shown one "
			"with %.4g %%)",
			c->sample / (FINAL_ALL / 100.0), c->seed, c->fraction, c->confidence);
	return g_strdup_printf("Contents of %s were compared, " TEXT_COUNT ", " TEXT_COUNT
			       ", from %s to %s; what clients changed is known by %s",
			       sample, TEXT_COUNTED(c->files, "files"),
			       TEXT_COUNTED(c->bytes, "bytes"), began, ended, told);
}
