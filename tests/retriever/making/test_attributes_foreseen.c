/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cannot be carried over is told before it is tried. */
#include "tests/retriever/core_xattrs.h"

#include "retriever/making/attributes.h"

static struct core core;

/* Without an object the same is lost as with one, and nothing else. */
START_TEST(foreseen)
{
	struct volume_config config = {.map_users = owners_parse("1000:2000", NULL)};
	struct retriever retriever = {.config = &config};
	const struct source_attr attr = {
		.mode = S_IFREG | 0640, .uid = 2000, .gid = UINT32_MAX, .mtime = 5, .atime = 5};
	struct source_xattrs *xattrs = source_xattrs_new();
	struct attributes_result set = {0}, foreseen = {0};
	uint8_t value[4000] = {0};
	int fd;

	core_make(&core);
	fd = open(core.dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	source_xattrs_add(xattrs, "user.one", "1", 1);
	source_xattrs_add(xattrs, "trusted.two", "2", 1);
	source_xattrs_add(xattrs, XATTR_ACL_ACCESS, "none", 4);
	source_xattrs_lose(xattrs, "what the old server keeps");
	ck_assert_int_eq(attributes_set(&retriever, fd, &attr, xattrs, false, &set), 0);
	ck_assert_uint_ge(
		attributes_foresee(&config, (struct attributes_room){0}, &attr, xattrs, &foreseen),
		strlen("user.one") + 1);
	ck_assert_uint_eq(set.lost->len, 5);
	ck_assert_uint_eq(foreseen.lost->len, set.lost->len);
	for (guint i = 0; i < set.lost->len; i++) {
		const struct loss_line *a = set.lost->pdata[i], *b = foreseen.lost->pdata[i];

		ck_assert_int_eq(a->kind, b->kind);
		ck_assert_str_eq(a->text, b->text);
	}
	attributes_clear(&foreseen);
	source_xattrs_add(xattrs, "user.large", value, sizeof(value));
	attributes_foresee(&config, (struct attributes_room){.together = 4000}, &attr, xattrs,
			   &foreseen);
	ck_assert_uint_eq(foreseen.lost->len, set.lost->len + 1);
	attributes_clear(&foreseen);
	attributes_foresee(&config, (struct attributes_room){.each = 3999}, &attr, xattrs,
			   &foreseen);
	ck_assert_uint_eq(foreseen.lost->len, set.lost->len + 1);
	attributes_clear(&foreseen);
	attributes_clear(&set);
	close(fd);
	source_xattrs_free(xattrs);
	owners_free(config.map_users);
	core_free(&core);
}
END_TEST

START_TEST(foreseen_times)
{
	const struct volume_config config = {0};
	const struct source_attr attr = {.mode = S_IFLNK | 0777, .mtime = INT64_MAX, .atime = -1};
	struct attributes_result foreseen = {0};

	attributes_foresee(&config, (struct attributes_room){0}, &attr, NULL, &foreseen);
	ck_assert_uint_eq(foreseen.lost->len, 2);
	attributes_clear(&foreseen);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("attributes_foreseen", 60);

	tcase_add_test(tcase, foreseen);
	tcase_add_test(tcase, foreseen_times);
	return run_tcase(tcase);
}
