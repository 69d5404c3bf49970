/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/suite.h"

#include "lib/config/snapshot_names.h"

START_TEST(of_the_makers)
{
	const struct volume_config config = {0};

	ck_assert(snapshot_name_is(&config, ".snapshot"));
	ck_assert(snapshot_name_is(&config, ".zfs"));
	ck_assert(!snapshot_name_is(&config, ".Snapshot"));
	ck_assert(!snapshot_name_is(&config, "snapshot"));
}
END_TEST

START_TEST(of_the_configuration)
{
	char *names[] = {(char *)"mine", NULL}, *none[] = {NULL};
	const struct volume_config config = {.snapshots = names}, all = {.snapshots = none};

	ck_assert(snapshot_name_is(&config, "mine"));
	ck_assert(!snapshot_name_is(&config, ".snapshot"));
	ck_assert(!snapshot_name_is(&all, ".snapshot"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("snapshot_names");

	tcase_add_test(tcase, of_the_makers);
	tcase_add_test(tcase, of_the_configuration);
	return run_tcase(tcase);
}
