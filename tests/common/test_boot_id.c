/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "record.h"
#include "support.h"

START_TEST(is_the_kernels)
{
	const uint8_t *id = migrate_boot_id();
	char text[64] = "", ours[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");

	ck_assert_ptr_nonnull(file);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), file));
	fclose(file);
	for (int i = 0; i < 16; i++) {
		bool dash = i == 4 || i == 6 || i == 8 || i == 10;

		snprintf(ours + strlen(ours), sizeof(ours) - strlen(ours), "%s%02x",
			 dash ? "-" : "", id[i]);
	}
	text[strcspn(text, "\n")] = 0;
	ck_assert_str_eq(ours, text);
	ck_assert_ptr_eq(migrate_boot_id(), id);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("boot_id");

	tcase_add_test(tcase, is_the_kernels);
	return run_case(tcase);
}
