/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/abandon/compared.h"

#include "tests/suite.h"

#define NOW INT64_C(1800000000)
#define DAY 86400

/* One key is another than in a comparison that counts. */
static bool counts_with(const char *group, const char *key, const char *value)
{
	g_autoptr(GKeyFile) status = g_key_file_new(), proof = g_key_file_new();

	g_key_file_set_string(status, "volume", "state", "whole");
	g_key_file_set_string(proof, "proof", "state", "through");
	g_key_file_set_integer(proof, "proof", "sample", 100000);
	g_key_file_set_int64(proof, "proof", "began", NOW - 7 * DAY);
	g_key_file_set_int64(proof, "proof", "objects", 12);
	g_key_file_set_int64(proof, "proof", "findings", 0);
	g_key_file_set_int64(proof, "proof", "same", 11);
	g_key_file_set_int64(proof, "proof", "changed-by-clients", 1);
	g_key_file_set_int64(proof, "proof", "unfinished", 0);
	if (group)
		g_key_file_set_value(!strcmp(group, "volume") ? status : proof, group, key, value);
	return compared_whole(status, proof, NOW);
}

START_TEST(what_counts)
{
	static const char *const bad[][3] = {
		{"volume", "state", "migrating"}, {"proof", "state", "stopped"},
		{"proof", "sample", "1000"},	  {"proof", "findings", "1"},
		{"proof", "unfinished", "1"},	  {"proof", "not-sampled", "1"},
		{"proof", "failed", "1"},	  {"proof", "objects", "0"},
		{"proof", "began", "1799395199"}, {"proof", "began", "1800000001"},
	};

	ck_assert(counts_with(NULL, NULL, NULL));
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		ck_assert_msg(!counts_with(bad[i][0], bad[i][1], bad[i][2]), "%s=%s", bad[i][1],
			      bad[i][2]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("compared");
	TCase *tcase = tcase_create("compared");

	tcase_add_test(tcase, what_counts);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
