/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "common/crc32c.h"
#include "tests/common/support.h"

/* RFC 3720 appendix B.4 */
START_TEST(vectors)
{
	uint8_t bytes[32];

	ck_assert_uint_eq(migrate_crc32c("", 0), 0);
	ck_assert_uint_eq(migrate_crc32c("123456789", 9), 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	ck_assert_uint_eq(migrate_crc32c(bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	ck_assert_uint_eq(migrate_crc32c(bytes, sizeof(bytes)), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = i;
	ck_assert_uint_eq(migrate_crc32c(bytes, sizeof(bytes)), 0x46dd794e);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("crc32c");

	tcase_add_test(tcase, vectors);
	return run_case(tcase);
}
