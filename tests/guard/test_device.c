/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/device.h"

#include "tests/guard/guard_place.h"

START_TEST(file_systems)
{
	g_autofree char *again = g_build_filename(place, "again", NULL);

	ck_assert(!device_is_shared(place, "/"));
	ck_assert(device_is_shared("/", "/"));
	ck_assert_int_eq(mkdir(again, 0755), 0);
	ck_assert_int_eq(mount("/proc", again, NULL, MS_BIND, NULL), 0);
	ck_assert(!device_is_shared(place, again));
	ck_assert(device_is_shared("/proc", again));
	ck_assert_int_eq(umount(again), 0);
	ck_assert(device_is_shared(place, again));
	ck_assert(device_is_shared(place, "/nowhere"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("device");

	tcase_add_checked_fixture(tcase, guard_place_make, guard_place_remove);
	tcase_add_test(tcase, file_systems);
	return run_tcase(tcase);
}
