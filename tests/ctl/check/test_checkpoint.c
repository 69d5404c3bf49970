/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/checkpoint.h"
#include "tests/ctl/check/surveyed.h"

static const struct made_object tree[] = {{"", S_IFDIR | 0755}, {"d", S_IFDIR | 0755}};
static struct made_walk made;
static struct checkpoint kept;

static struct survey begin(const char *source, unsigned share)
{
	made_walk_begin(&made, tree, G_N_ELEMENTS(tree));
	return (struct survey){.source = (char *)source, .share = share, .seconds = 1.5, .runs = 2};
}

static void save(void)
{
	struct survey survey = begin("nfs://a/b", 7);

	ck_assert(checkpoint_open(&kept, made_dir, "v", NULL));
	made_walk_root(&made);
	notices_add(made.walk.notices, NOTICE_ACL, "a", "b");
	ck_assert(checkpoint_save(&kept, &made.walk, &survey, NULL));
	made_walk_end(&made);
	checkpoint_close(&kept);
}

static bool load(const char *source, unsigned share, GError **error)
{
	struct survey survey = begin(source, share);
	bool good;

	ck_assert(checkpoint_open(&kept, made_dir, "v", NULL));
	good = checkpoint_load(&kept, &made.walk, &survey, error);
	if (good) {
		ck_assert_double_eq_tol(survey.seconds, 1.5, 1e-9);
		ck_assert_uint_eq(survey.runs, 2);
		ck_assert_uint_eq(frontier_count(made.walk.frontier), 1);
		ck_assert_uint_eq(notices_total(made.walk.notices, NOTICE_ACL), 1);
		ck_assert_uint_eq(tally_objects(&made.tally), 1);
	}
	made_walk_end(&made);
	checkpoint_close(&kept);
	return good;
}

START_TEST(gone_on_with)
{
	save();
	ck_assert(load("nfs://a/b", 7, NULL));
	ck_assert(load("nfs://a/b", 7, NULL));
}
END_TEST

/* Another source, or another share of it, begins anew. */
START_TEST(another)
{
	GError *error = NULL;

	ck_assert(!load("nfs://a/b", 7, &error));
	save();
	ck_assert(!load("nfs://a/c", 7, &error));
	save();
	ck_assert(!load("nfs://a/b", 8, &error));
	ck_assert_ptr_null(error);
}
END_TEST

START_TEST(damaged)
{
	GError *error = NULL;

	save();
	made_run("sed -i 's/^types=.*/types=x;/' v.check/state");
	ck_assert(!load("nfs://a/b", 7, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "v.check to begin anew"));
	g_clear_error(&error);
	save();
	made_run("rm pending.*");
	{
		struct survey survey = begin("nfs://a/b", 7);

		ck_assert(checkpoint_open(&kept, made_dir, "v", NULL));
		ck_assert(checkpoint_load(&kept, &made.walk, &survey, NULL));
		ck_assert_ptr_null(frontier_take(made.walk.frontier, &error));
		ck_assert_ptr_nonnull(error);
		g_clear_error(&error);
		made_walk_end(&made);
		checkpoint_close(&kept);
	}
}
END_TEST

/* One at a time, and nothing stays of it. */
START_TEST(locked)
{
	struct checkpoint other;
	GError *error = NULL;

	save();
	ck_assert(checkpoint_open(&kept, made_dir, "v", NULL));
	ck_assert(!checkpoint_open(&other, made_dir, "v", &error));
	ck_assert_ptr_nonnull(strstr(error->message, "under way"));
	g_clear_error(&error);
	checkpoint_remove(&kept);
	checkpoint_close(&kept);
	made_run("! test -e v.check");
	made_run("touch file");
	{
		g_autofree char *file = made_path("file");

		ck_assert(!checkpoint_open(&other, file, "v", &error));
		ck_assert_ptr_nonnull(strstr(error->message, "--output"));
		g_clear_error(&error);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {gone_on_with, another, damaged, locked, NULL};

	return run_made("checkpoint", tests);
}
