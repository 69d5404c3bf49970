/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/survey.h"

#include <math.h>

#include "lib/base/text.h"

double survey_rate(const struct survey *survey)
{
	return survey->seconds > 0 ? (double)tally_objects(&survey->tally) / survey->seconds : 0;
}

/* ---- facts ----------------------------------------------------------------------------------- */

char *survey_bytes_text(double bytes)
{
	g_autofree char *text = g_format_size_full((guint64)bytes, G_FORMAT_SIZE_IEC_UNITS);
	g_auto(GStrv) words = g_strsplit(text, "\302\240", -1); /* blanks that hold together */

	return g_strjoinv(" ", words);
}

char *survey_time_text(double seconds)
{
	const uint64_t s = (uint64_t)ceil(seconds);

	if (!(seconds > 0))
		return g_strdup("cannot be told");
	if (seconds < 1)
		return g_strdup("less than a second");
	if (s < 120)
		return g_strdup_printf("%" G_GUINT64_FORMAT " s", s);
	if (s < 7200)
		return g_strdup_printf("%" G_GUINT64_FORMAT " min", (s + 59) / 60);
	if (s < 172800)
		return g_strdup_printf("%" G_GUINT64_FORMAT " h %" G_GUINT64_FORMAT " min",
				       s / 3600, s % 3600 / 60);
	return g_strdup_printf("%" G_GUINT64_FORMAT " days %" G_GUINT64_FORMAT " h", s / 86400,
			       s % 86400 / 3600);
}

char *survey_space_text(const struct survey *survey)
{
	const struct need *need = &survey->need;
	g_autofree char *bytes = survey_bytes_text((double)need->bytes);
	g_autofree char *least = survey_bytes_text((double)need->least);
	g_autofree char *here = survey_bytes_text((double)survey->target.available);
	g_autofree char *holes =
		need->least < need->bytes - need->bytes / 20
			? g_strdup_printf(" (%s if all that the old server saves is holes)", least)
			: g_strdup("");

	if (!survey->target.known)
		return g_strdup_printf("%s are needed%s", bytes, holes);
	return g_strdup_printf("%s are needed%s, %s are free: %s", bytes, holes, here,
			       need->fits	   ? "enough"
			       : need->fits_barely ? "enough only if holes stay holes"
						   : "NOT enough");
}

char *survey_inodes_text(const struct survey *survey)
{
	const struct new_fs *target = &survey->target;
	const struct need *need = &survey->need;
	g_autofree char *size =
		need->inodes_small
			? g_strdup_printf(
				  "; its inodes have %u bytes, and %u would save a block of "
				  "4 KiB for most objects",
				  target->inode_size, need->inode_size)
			: g_strdup("");

	if (!target->known)
		return g_strdup_printf("%" G_GUINT64_FORMAT " are needed, of %u bytes",
				       need->inodes, need->inode_size);
	if (!target->limits.fixed_inodes)
		return g_strdup_printf(
			"%" G_GUINT64_FORMAT " are needed; %s makes them as they are", need->inodes,
			target->limits.name ? target->limits.name : "the file system");
	return g_strdup_printf("%" G_GUINT64_FORMAT " are needed, %" G_GUINT64_FORMAT
			       " are free: %s%s",
			       need->inodes, target->inodes_available,
			       need->inodes_fit ? "enough" : "NOT enough", size);
}

char *survey_stubs_text(const struct survey *survey)
{
	g_autofree char *bytes = survey_bytes_text((double)survey->need.stubs);

	return g_strdup_printf("%s more until all is whole: in inodes of 256 bytes most records "
			       "take a block",
			       bytes);
}

char *survey_round_trip_text(const struct survey *survey)
{
	if (!(survey->measured.round_trip > 0))
		return g_strdup("could not be measured");
	return g_strdup_printf("%.2f ms", survey->measured.round_trip * 1000);
}

char *survey_rights_text(const struct survey *survey)
{
	const uint64_t files = survey->tally.types[TALLY_FILES];
	const uint64_t refused = notices_total(survey->notices, NOTICE_UNREAD);
	const uint64_t unlisted = notices_total(survey->notices, NOTICE_UNLISTED);
	g_autofree char *untried =
		read_trials_untried(survey->trials)
			? g_strdup_printf(", %" G_GUINT64_FORMAT " were not tried",
					  read_trials_untried(survey->trials))
			: g_strdup("");

	if (!refused && !unlisted)
		return g_strdup_printf("everything can be read: one file each of " TEXT_COUNT
				       " of owner, mode and ACL was%s",
				       TEXT_COUNTED(read_trials_kinds(survey->trials), "kinds"),
				       untried);
	return g_strdup_printf("NOT everything can be read: %" G_GUINT64_FORMAT " of " TEXT_COUNT
			       " cannot, and " TEXT_COUNT
			       " cannot be listed%s: most likely root is squashed "
			       "there (no_root_squash), or the account lacks rights",
			       refused, TEXT_COUNTED(files, "files"),
			       TEXT_COUNTED(unlisted, "directories"), untried);
}

static char *clock_side(int64_t ns)
{
	return g_strdup_printf("%.1f s %s", fabs((double)ns / 1e9), ns < 0 ? "behind" : "ahead");
}

char *survey_clock_text(const struct survey *survey)
{
	const struct measured *measured = &survey->measured;
	g_autofree char *least = clock_side(measured->clock_least);
	g_autofree char *most = clock_side(measured->clock_most);

	if (!measured->clock_by)
		return g_strdup(
			"cannot be told: nothing that was read tells the old server's time");
	if (measured->clock_most == INT64_MAX)
		return g_strdup_printf("the old server's is at least %s of this machine's (%s)",
				       least, measured->clock_by);
	return g_strdup_printf("the old server's is between %s and %s of this machine's (%s)",
			       least, most, measured->clock_by);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

GPtrArray *survey_stops(const struct survey *survey)
{
	GPtrArray *stops = g_ptr_array_new_with_free_func(g_free);
	const uint64_t files = survey->tally.types[TALLY_FILES];
	const uint64_t refused = notices_total(survey->notices, NOTICE_UNREAD);

	if (survey->target.folds)
		g_ptr_array_add(stops,
				g_strdup_printf("Names in %s that differ in case alone are one "
						"there, and attach refuses that: take a directory "
						"without chattr +F (ext4), a file system made "
						"without -n version=ci (xfs)",
						survey->target.path));
	if (survey->target.refusal)
		g_ptr_array_add(stops, g_strdup_printf("attach refuses %s: %s", survey->target.path,
						       survey->target.refusal));
	if (survey->target.filled && survey->target.adoption_refusal)
		g_ptr_array_add(stops, g_strdup_printf("attach --adopt refuses what is there: %s",
						       survey->target.adoption_refusal));
	if (!survey->need.fits_barely) {
		g_autofree char *text = survey_space_text(survey);

		g_ptr_array_add(stops,
				g_strdup_printf("Space in %s: %s", survey->target.path, text));
	}
	if (!survey->need.inodes_fit) {
		g_autofree char *text = survey_inodes_text(survey);

		g_ptr_array_add(stops,
				g_strdup_printf("Inodes in %s: %s", survey->target.path, text));
	}
	if (refused && 2 * refused >= files)
		g_ptr_array_add(stops, g_strdup_printf("The old server does not let this machine "
						       "read %" G_GUINT64_FORMAT " of " TEXT_COUNT,
						       refused, TEXT_COUNTED(files, "files")));
	if (tally_objects(&survey->tally) == 1)
		g_ptr_array_add(stops,
				g_strdup(notices_total(survey->notices, NOTICE_UNLISTED)
						 ? "The old server does not list the root"
						 : "The old server's tree is empty: see that its "
						   "file system is mounted there"));
	return stops;
}

enum survey_verdict survey_verdict(const struct survey *survey)
{
	g_autoptr(GPtrArray) stops = survey_stops(survey);

	if (stops->len)
		return SURVEY_STOP;
	return notices_sum(survey->notices) || !survey->need.fits ? SURVEY_LOSSES : SURVEY_GO;
}

const char *survey_verdict_key(enum survey_verdict verdict)
{
	static const char *const keys[] = {"go", "losses", "stop"};

	return keys[verdict];
}

static char *verdict_words(const struct survey *survey)
{
	const enum survey_verdict verdict = survey_verdict(survey);
	const uint64_t sum = notices_sum(survey->notices);

	if (verdict == SURVEY_GO)
		return g_strdup("Go: everything can come as it is");
	if (verdict == SURVEY_LOSSES && !sum)
		return g_strdup("Go, but the space is enough only if holes stay holes");
	if (verdict == SURVEY_LOSSES)
		return g_strdup_printf("Go with losses: " TEXT_COUNT " cannot come as %s",
				       TEXT_COUNTED(sum, "things"),
				       sum == 1 ? "it is" : "they are");
	g_autoptr(GPtrArray) stops = survey_stops(survey);
	return g_strdup_printf("Stop: %s", (char *)stops->pdata[0]);
}

char *survey_verdict_text(const struct survey *survey)
{
	g_autofree char *words = verdict_words(survey);

	if (!survey->target.filled || survey_verdict(survey) == SURVEY_STOP)
		return g_steal_pointer(&words);
	return g_strdup_printf("%s; but %s is not empty: attach refuses that, unless --adopt is to "
			       "take over what another tool has copied there",
			       words, survey->target.path);
}
