/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "common/migrate.h"
#include "tests/common/support.h"

static int64_t ns(struct timespec ts)
{
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

START_TEST(counts_from_now)
{
	for (unsigned ms = 0; ms < 5000; ms += 333) {
		struct timespec before, after, at;

		clock_gettime(CLOCK_MONOTONIC, &before);
		at = migrate_in_ms(ms);
		clock_gettime(CLOCK_MONOTONIC, &after);
		ck_assert_int_ge(ns(at), ns(before) + ms * 1000000LL);
		ck_assert_int_le(ns(at), ns(after) + ms * 1000000LL);
		ck_assert_int_lt(at.tv_nsec, 1000000000);
	}
}
END_TEST

START_TEST(passes)
{
	struct timespec now = migrate_in_ms(0), later = migrate_in_ms(3600000);
	struct timespec earlier = {.tv_nsec = 999999999};

	ck_assert(migrate_passed(NULL));
	ck_assert(migrate_passed(&now));
	ck_assert(migrate_passed(&earlier));
	ck_assert(!migrate_passed(&later));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("deadline");

	tcase_add_test(tcase, counts_from_now);
	tcase_add_test(tcase, passes);
	return run_tcase(tcase);
}
