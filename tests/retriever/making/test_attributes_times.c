/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_attributes.h"

#include <sched.h>
#include <sys/mount.h>

START_TEST(times_that_cannot_be_stored)
{
	const struct source_attr attr = {
		.mode = S_IFREG | 0644, .atime = INT64_MIN, .mtime = INT64_MIN};
	struct attributes_result carried = {0};
	struct stat st;
	int fd;

	make();
	core_start(&core);
	fd = open(core.dir, O_TMPFILE | O_RDWR, 0600);
	ck_assert_int_eq(attributes_set(core.retriever, fd, &attr, NULL, false, &carried), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	if (st.st_mtim.tv_sec == INT64_MIN / 1000000000 - 1) /* btrfs can */
		ck_assert_ptr_null(carried.lost);
	else
		ck_assert_uint_eq(carried.lost->len, 2);
	attributes_clear(&carried);
	core_free_with(&core, fd);
}
END_TEST

/* In inodes of 128 bytes: no fractions, and 32 bits of seconds. */
START_TEST(times_that_are_cut)
{
	static const struct {
		int64_t mtime, far;
		const char *lost; /* in the first line; NULL: nothing is */
	} cases[] = {
		{1000 * INT64_C(1000000000), 0, NULL},
		{1000 * INT64_C(1000000000) + 500, 0, "1000.000000500 seconds"},
		{5680281600 * INT64_C(1000000000), 0,
		 "5680281600 seconds from 1970, became 2147483647"},
		{INT64_MAX, 13569465600, "13569465600 seconds from 1970, became 2147483647"},
		{INT64_MIN, -9600000000, "-9600000000 seconds from 1970, became -2147483648"},
	};

	make();
	core_start(&core);
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	{
		g_autofree char *command = g_strdup_printf(
			"cd %s && mkdir small && truncate -s 8M image && mkfs.ext4 -q -I 128 image "
			"2>/dev/null && mount -o loop image small",
			core.dir);
		ck_assert_int_eq(system(command), 0);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct source_attr attr = {
			.mode = S_IFREG | 0644, .mtime = cases[i].mtime, .far_mtime = cases[i].far};
		g_autofree char *path = g_build_filename(core.dir, "small", NULL);
		struct attributes_result carried = {0};
		int fd = open(path, O_TMPFILE | O_RDWR, 0600);

		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(attributes_set(core.retriever, fd, &attr, NULL, false, &carried),
				 0);
		ck_assert_uint_eq(carried.lost ? carried.lost->len : 0, cases[i].lost != NULL);
		if (cases[i].lost) {
			const struct loss_line *line = carried.lost->pdata[0];

			ck_assert_int_eq(line->kind, LOSS_TIME);
			ck_assert_msg(strstr(line->text, cases[i].lost), "%s", line->text);
		}
		attributes_clear(&carried);
		close(fd);
	}
	{
		g_autofree char *small = g_build_filename(core.dir, "small", NULL);

		ck_assert_int_eq(umount(small), 0);
	}
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("carried", 60);

	tcase_add_test(tcase, times_that_cannot_be_stored);
	tcase_add_test(tcase, times_that_are_cut);
	return run_tcase(tcase);
}
