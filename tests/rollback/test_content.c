/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "content.h"

#include "trees.h"

START_TEST(holes_stay)
{
	uint64_t bytes = 0;
	struct stat st;

	trees_make("truncate -s 20M s && printf x | dd of=s bs=1 seek=5000000 conv=notrunc "
		   "2>/dev/null && "
		   "seq 100000 >>s && echo full >t");
	struct old *old = old_open(OLD_TREE, NULL);
	struct content *content = content_new("none", "/mnt/none.sock", &stop_now);
	struct old_file *to;
	int from = open(NEW_TREE "/s", O_RDONLY);
	ck_assert_int_eq(old_file_open(old, "t", true, &to), 0);
	ck_assert_int_eq(content_copy(content, from, to, &bytes), 0);
	ck_assert_uint_lt(bytes, 1 << 20);
	sh("cmp " NEW_TREE "/s " OLD_TREE "/t");
	ck_assert_int_eq(old_stat(old, "t", &st), 0);
	ck_assert_int_lt(st.st_blocks, 4096);
	close(from);
	from = open(NEW_TREE "/t", O_RDONLY);
	ck_assert_int_eq(content_copy(content, from, to, &bytes), 0);
	sh("cmp " NEW_TREE "/t " OLD_TREE "/t");
	stop_now = true;
	ck_assert_int_eq(content_copy(content, from, to, &bytes), -ECANCELED);
	close(from);
	content_free(content);
	old_file_close(to);
	old_close(old);
}
END_TEST

/* What is whole needs no retriever. */
START_TEST(whole)
{
	struct content *content = content_new("none", "/mnt/none.sock", &stop_now);

	trees_make("echo full >t");
	int fd = open(NEW_TREE "/t", O_RDONLY);
	ck_assert_int_eq(content_fetch(content, fd), 0);
	close(fd);
	content_free(content);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("content");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, holes_stay);
	tcase_add_test(tcase, whole);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
