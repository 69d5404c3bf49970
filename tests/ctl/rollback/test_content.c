/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/content.h"

#include "common/record_io.h"
#include "tests/ctl/rollback/trees.h"

START_TEST(holes_stay)
{
	uint64_t bytes = 0;
	struct stat st;

	trees_make("truncate -s 20M s && printf x | dd of=s bs=1 seek=5000000 conv=notrunc "
		   "2>/dev/null && "
		   "seq 100000 >>s && echo full >t");
	struct target *target = target_open(OLD_TREE, NULL);
	struct content *content = content_new("none", "/mnt/none.sock", &stop_now);
	struct target_file *to;
	int from = open(NEW_TREE "/s", O_RDONLY);
	ck_assert_int_eq(target_file_open(target, "t", true, &to), 0);
	ck_assert_int_eq(content_copy(content, from, to, &bytes), 0);
	ck_assert_uint_lt(bytes, 1 << 20);
	target_file_close(to); /* its lease lets others wait */
	sh("cmp " NEW_TREE "/s " OLD_TREE "/t");
	ck_assert_int_eq(target_stat(target, "t", &st), 0);
	ck_assert_int_lt(st.st_blocks, 4096);
	close(from);
	from = open(NEW_TREE "/t", O_RDONLY);
	ck_assert_int_eq(target_file_open(target, "t", true, &to), 0);
	ck_assert_int_eq(content_copy(content, from, to, &bytes), 0);
	target_file_close(to);
	sh("cmp " NEW_TREE "/t " OLD_TREE "/t");
	ck_assert_int_eq(target_file_open(target, "t", true, &to), 0);
	stop_now = true;
	ck_assert_int_eq(content_copy(content, from, to, &bytes), -ECANCELED);
	close(from);
	content_free(content);
	target_file_close(to);
	target_close(target);
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

static int compared(const char *here, const char *there)
{
	struct target *target = target_open(OLD_TREE, NULL);
	struct target_file *file;
	int from = open(here, O_RDONLY), ret;

	ck_assert(from >= 0);
	ck_assert_int_eq(target_file_open(target, there, false, &file), 0);
	ret = content_same(from, file, &stop_now);
	target_file_close(file);
	target_close(target);
	close(from);
	return ret;
}

START_TEST(the_same)
{
	trees_make("seq 1000000 >long && truncate -s 20M holes && echo x >>holes && : >empty");
	ck_assert_int_eq(compared(NEW_TREE "/long", "long"), 1);
	ck_assert_int_eq(compared(NEW_TREE "/holes", "holes"), 1);
	ck_assert_int_eq(compared(NEW_TREE "/empty", "empty"), 1);
	ck_assert_int_eq(compared(NEW_TREE "/long", "empty"), 0);
	sh("printf y | dd of=" OLD_TREE "/long bs=1 seek=6000000 conv=notrunc 2>/dev/null");
	ck_assert_int_eq(compared(NEW_TREE "/long", "long"), 0);
	sh("printf y | dd of=" OLD_TREE "/holes bs=1 seek=6000000 conv=notrunc 2>/dev/null");
	ck_assert_int_eq(compared(NEW_TREE "/holes", "holes"), 0);
	stop_now = true;
	ck_assert_int_eq(compared(NEW_TREE "/long", "long"), -ECANCELED);
}
END_TEST

/* What is missing here is not compared: it will be what it is there. */
START_TEST(the_same_as_far_as_it_is_here)
{
	struct migrate_record rec = {.state = MIGRATE_PARTIAL, .size = 4000, .fileid = 1};
	struct migrate_extents *missing = &rec.missing;
	int fd;

	trees_make("head -c 4000 /dev/zero | tr '\\0' x >f");
	sh("printf zzzz | dd of=" NEW_TREE "/f bs=1 seek=1000 conv=notrunc 2>/dev/null");
	fd = open(NEW_TREE "/f", O_RDWR);
	ck_assert_int_eq(migrate_binding_get(fd, NULL, &rec.binding), 0);
	ck_assert_int_eq(migrate_extents_add(missing, 1000, 1004), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(compared(NEW_TREE "/f", "f"), 1);
	migrate_extents_clear(missing);
	ck_assert_int_eq(migrate_extents_add(missing, 1001, 4000), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(compared(NEW_TREE "/f", "f"), 0);
	migrate_record_clear(&rec);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, holes_stay);
	tcase_add_test(tcase, whole);
	tcase_add_test(tcase, the_same);
	tcase_add_test(tcase, the_same_as_far_as_it_is_here);
	return run_tcase(tcase);
}
