/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/survey_run.h"

#include <errno.h>

#include "lib/source/source.h"
#include "tests/ctl/report/made.h"
#include "tests/retriever/core_tsan.h"

static struct volume_config config;
static struct checkpoint kept;
static struct survey survey;
static atomic_int stop;
static bool stop_soon;

static void progress(void *arg, const struct survey_progress *p)
{
	unsigned *calls = arg;

	(*calls)++;
	ck_assert_uint_ge(p->objects, 1);
	if (stop_soon)
		stop = 1;
}

static bool run(uint64_t requests, GError **error)
{
	g_autofree char *source = g_strconcat("file://", made_dir, "/old", NULL);
	unsigned calls = 0;
	const struct survey_options options = {.config = &config,
					       .target = made_dir,
					       .workers = 4,
					       .requests = requests,
					       .share = WALK_ALL,
					       .stop = &stop,
					       .progress = progress,
					       .arg = &calls};
	bool good;

	config =
		(struct volume_config){.source = source, .connections = 2, .demand_connections = 2};
	survey = (struct survey){0};
	stop = 0;
	ck_assert(checkpoint_open(&kept, made_dir, "v", NULL));
	good = survey_run(&options, &kept, &survey, error);
	checkpoint_close(&kept);
	return good;
}

START_TEST(whole)
{
	made_run("mkdir -p old/a/b && echo x > old/a/b/f && ln -s y old/l && "
		 "head -c 1000000 /dev/zero > old/z");
	ck_assert(run(0, NULL));
	ck_assert_uint_eq(tally_objects(&survey.tally), 6);
	ck_assert_uint_eq(survey.tally.bytes, 1000002);
	ck_assert_uint_eq(survey.runs, 1);
	ck_assert_double_gt(survey.measured.round_trip, 0);
	ck_assert_uint_eq(survey.measured.bytes, 1000000);
	ck_assert_double_gt(survey.estimate.crawl, 0);
	ck_assert(survey.target.known);
	survey_clear(&survey);
}
END_TEST

/* One that was stopped is gone on with; nothing counts twice. */
START_TEST(stopped)
{
	GError *error = NULL;
	unsigned runs = 0;

	made_run("mkdir -p old && cd old && mkdir $(seq 200) && "
		 "for i in $(seq 200); do echo x > $i/f; done");
	stop_soon = true;
	while (!run(400, &error)) {
		ck_assert(g_error_matches(error, ERRNO_ERROR, ECANCELED));
		g_clear_error(&error);
		survey_clear(&survey);
		stop_soon = ++runs < 2;
	}
	ck_assert_uint_eq(survey.runs, runs + 1);
	ck_assert_uint_eq(tally_objects(&survey.tally), 401);
	ck_assert_uint_eq(survey.tally.bytes, 400);
	survey_clear(&survey);
}
END_TEST

/* No more requests a second than were allowed, the first at once. */
START_TEST(limited)
{
	const gint64 began = g_get_monotonic_time();

	made_run("mkdir -p old && cd old && mkdir $(seq 200)");
	ck_assert(run(200, NULL));
	ck_assert_uint_ge(survey.requests, 200);
	ck_assert_int_ge(g_get_monotonic_time() - began,
			 (gint64)(survey.requests - 2) * G_USEC_PER_SEC / 200);
	survey_clear(&survey);
}
END_TEST

START_TEST(no_source)
{
	GError *error = NULL;

	ck_assert(!run(0, &error));
	ck_assert_ptr_nonnull(strstr(error->message, made_dir));
	g_clear_error(&error);
	survey_clear(&survey);
}
END_TEST

START_TEST(another_version)
{
	static const char v3[] = "ACLs: the old server does not tell them\nuser extended "
				 "attributes: no\nothers (x, y): never";
	g_autofree char *all = survey_brings(v3, "others (x, y): NFS does not have them");
	g_autofree char *some = survey_brings(v3, "user extended attributes: no\nowners: no\n"
						  "others (x, y): never");

	ck_assert_str_eq(all, "With ?version=4.2 in the source would come: ACLs, user extended "
			      "attributes");
	ck_assert_str_eq(some, "With ?version=4.2 in the source would come: ACLs (and not: "
			       "owners)");
	ck_assert_ptr_null(survey_brings(v3, v3));
	ck_assert_ptr_null(survey_brings(NULL, NULL));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {whole, stopped, limited, no_source, another_version, NULL};

	return run_made("survey_run", tests);
}
