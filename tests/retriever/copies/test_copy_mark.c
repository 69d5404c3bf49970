/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

#include <sys/sysmacros.h>

#define MARK	  "security.migrate.copied"
#define NS(s, ns) ((int64_t)(s)*1000000000 + (ns))

static int dir;
static struct source_attr attr;
static struct stat st;

/* "f" with that mtime, and what the old server would say of it. */
static int make_file(int64_t mtime)
{
	const struct timespec times[2] = {{1, 0}, migrate_timespec(mtime)};
	int fd;

	core_make(&core);
	dir = core_root(&core);
	write_file(core.root, "f", "text");
	fd = open_below(dir, "f", O_RDWR);
	ck_assert_int_eq(futimens(fd, times), 0);
	attr = (struct source_attr){.mode = S_IFREG | 0644,
				    .nlink = 1,
				    .size = 4,
				    .fileid = 77,
				    .mtime = mtime,
				    .ctime = NS(5, 6)};
	return fd;
}

static int compare(bool adopted)
{
	return copy_mark_compare(dir, "f", &attr, adopted, &st, NULL);
}

/* As Samba lists it: what moves ctime alone is not told. */
START_TEST(a_mark_without_a_ctime)
{
	int fd = make_file(NS(1000, 123456700));

	attr.ctime = attr.mtime;
	ck_assert_int_eq(copy_mark_set(fd, &attr), 0);
	ck_assert_int_eq(compare(false), COPY_SAME);
	attr.no_ctime = true;
	ck_assert_int_eq(compare(false), COPY_ALIKE);
	attr.fileid++;
	ck_assert_int_eq(compare(false), COPY_OTHER);
	close(fd);
	core_free_with(&core, dir);
}
END_TEST

START_TEST(a_mark_is_one_version)
{
	int fd = make_file(NS(1000, 123456789));
	uint64_t fileid;
	int64_t ctime;

	ck_assert(!copy_mark_get(fd, &fileid, &ctime));
	ck_assert_int_eq(compare(false), COPY_OTHER);
	ck_assert_int_eq(copy_mark_set(fd, &attr), 0);
	ck_assert(copy_mark_get(fd, &fileid, &ctime));
	ck_assert_uint_eq(fileid, 77);
	ck_assert_int_eq(ctime, NS(5, 6));
	for (int adopted = 0; adopted < 2; adopted++) {
		ck_assert_int_eq(compare(adopted), COPY_SAME);
		attr.ctime++;
		ck_assert_int_eq(compare(adopted), COPY_OTHER);
		attr.ctime--;
		attr.fileid++;
		ck_assert_int_eq(compare(adopted), COPY_OTHER);
		attr.fileid--;
		attr.size++;
		ck_assert_int_eq(compare(adopted), COPY_OTHER);
		attr.size--;
		attr.mtime += 1;
		ck_assert_int_eq(compare(adopted), COPY_OTHER);
		attr.mtime -= 1;
		attr.mode = S_IFLNK | 0777;
		ck_assert_int_eq(compare(adopted), COPY_OTHER);
		attr.mode = S_IFDIR | 0755;
		ck_assert_int_eq(compare(adopted), COPY_OTHER);
		attr.mode = S_IFREG | 0644;
	}
	/* written to here */
	ck_assert_int_eq(pwrite(fd, "TEXT", 4, 0), 4);
	ck_assert_int_eq(compare(false), COPY_OTHER);
	ck_assert_int_eq(copy_mark_remove_name(dir, "f"), 0);
	ck_assert_int_eq(copy_mark_remove_name(dir, "f"), 0);
	ck_assert(!copy_mark_get(fd, &fileid, &ctime));
	ck_assert_int_eq(copy_mark_compare(dir, "none", &attr, false, &st, NULL), COPY_NOTHING);
	close(fd);
	core_free_with(&core, dir);
}
END_TEST

/* I13: what was made so stays so when it is whole. */
START_TEST(a_mark_that_says_it_is_unsettled)
{
	int fd = make_file(NS(1000, 0));
	struct migrate_binding binding;
	uint64_t fileid;
	int64_t ctime;

	attr.unsettled = true;
	ck_assert_int_eq(copy_mark_set(fd, &attr), 0);
	attr.unsettled = false;
	ck_assert_int_eq(migrate_binding_get(fd, "", &binding), 0);
	ck_assert_int_eq(copy_mark_set_bound(fd, &binding, attr.fileid, attr.ctime), 0);
	ck_assert_int_eq(compare(false), COPY_UNSETTLED);
	ck_assert(copy_mark_get(fd, &fileid, &ctime));
	attr.ctime++;
	ck_assert_int_eq(compare(false), COPY_OTHER);
	ck_assert_int_eq(copy_mark_set_name(dir, "f", &attr), 0);
	ck_assert_int_eq(compare(false), COPY_SAME);
	close(fd);
	core_free_with(&core, dir);
}
END_TEST

/* I9, I12: every byte and every length of it, and one of another inode. */
START_TEST(i9_damaged_marks)
{
	int fd = make_file(NS(1000, 123456789)), other;
	uint8_t mark[256], bad[256];
	uint64_t fileid;
	int64_t ctime;
	ssize_t len;

	ck_assert_int_eq(copy_mark_set(fd, &attr), 0);
	len = fgetxattr(fd, MARK, mark, sizeof mark);
	ck_assert_int_gt(len, 0);
	for (ssize_t i = 0; i < len; i++) {
		memcpy(bad, mark, len);
		bad[i] ^= 0x41;
		ck_assert_int_eq(fsetxattr(fd, MARK, bad, len, 0), 0);
		ck_assert_int_eq(compare(false), COPY_OTHER);
	}
	for (ssize_t i = 0; i <= len + 20; i++) {
		memset(bad, 0, sizeof bad);
		memcpy(bad, mark, len);
		ck_assert_int_eq(fsetxattr(fd, MARK, bad, i, 0), 0);
		ck_assert_int_eq(compare(false), i == len ? COPY_SAME : COPY_OTHER);
	}
	write_file(core.root, "g", "text");
	other = open_below(dir, "g", O_RDWR);
	ck_assert_int_eq(fsetxattr(other, MARK, mark, len, 0), 0);
	ck_assert(!copy_mark_get(other, &fileid, &ctime));
	ck_assert_int_eq(futimens(other, (struct timespec[2]){{1, 0}, {1000, 123456789}}), 0);
	ck_assert_int_eq(copy_mark_compare(dir, "g", &attr, false, &st, NULL), COPY_OTHER);
	close(other);
	close(fd);
	core_free_with(&core, dir);
}
END_TEST

/* The last second that the new file system keeps; there it is the year 2150. */
START_TEST(times_that_cannot_be_kept)
{
	int fd = make_file(NS(INT32_MAX, 0));

	attr.mtime = NS(5680281600, 7);
	ck_assert_int_eq(compare(true), COPY_OTHER);
	ck_assert_int_eq(copy_mark_set(fd, &attr), 0);
	ck_assert_int_eq(compare(false), COPY_SAME);
	attr.mtime = NS(INT32_MAX - 1, 0);
	ck_assert_int_eq(compare(false), COPY_OTHER);
	close(fd);
	core_free_with(&core, dir);
}
END_TEST

/* Another tool's: nothing but what can be seen of it. */
START_TEST(without_marks)
{
	int fd = make_file(NS(1000, 123456000));

	ck_assert_int_eq(compare(true), COPY_ALIKE);
	attr.mtime += 789;
	ck_assert_int_eq(compare(true), COPY_ALIKE);
	ck_assert_int_eq(compare(false), COPY_OTHER);
	attr.mtime += 1000;
	ck_assert_int_eq(compare(true), COPY_OTHER);
	ck_assert_int_eq(unlinkat(dir, "f", 0), 0);
	ck_assert_int_eq(symlinkat("x", dir, "f"), 0);
	attr.mode = S_IFLNK | 0777;
	attr.size = 1;
	ck_assert_int_eq(compare(true), COPY_ALIKE); /* many tools give it a time of its own */
	ck_assert_int_eq(compare(false), COPY_OTHER);
	ck_assert_int_eq(unlinkat(dir, "f", 0), 0);
	ck_assert_int_eq(mknodat(dir, "f", S_IFCHR | 0600, makedev(1, 3)), 0);
	attr.mode = S_IFCHR | 0600;
	attr.rdev = makedev(1, 3);
	ck_assert_int_eq(compare(true), COPY_ALIKE);
	attr.rdev = makedev(1, 5);
	ck_assert_int_eq(compare(true), COPY_OTHER);
	close(fd);
	core_free_with(&core, dir);
}
END_TEST

/* A stub of this version goes on, one of another does not; a damaged record is nothing. */
START_TEST(stubs)
{
	struct migrate_record rec = {.state = MIGRATE_PARTIAL, .fileid = 77, .size = 4};
	int fd = make_file(NS(1000, 0));

	rec.mtime = attr.mtime;
	rec.ctime = attr.ctime;
	ck_assert_int_eq(migrate_binding_get(fd, "", &rec.binding), 0);
	ck_assert_int_eq(migrate_extents_add(&rec.missing, 0, 4), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(compare(false), COPY_UNFINISHED);
	ck_assert_int_eq(compare(true), COPY_UNFINISHED);
	attr.ctime++;
	ck_assert_int_eq(compare(false), COPY_OTHER);
	ck_assert_int_eq(compare(true), COPY_OTHER);
	attr.ctime--;
	ck_assert_int_eq(fsetxattr(fd, MIGRATE_XATTR, "damaged", 7, 0), 0);
	ck_assert_int_eq(compare(false), COPY_OTHER);
	ck_assert_int_eq(compare(true), COPY_OTHER);
	migrate_record_clear(&rec);
	close(fd);
	core_free_with(&core, dir);
}
END_TEST

/* I1: another tool has copied a stub with its attributes, past the doors: the bytes are zeros. */
START_TEST(i1_a_copy_of_a_stub)
{
	struct migrate_record rec = {.state = MIGRATE_PARTIAL, .fileid = 77, .size = 4};
	int fd = make_file(NS(1000, 0));

	ck_assert_int_eq(migrate_binding_get(dir, "", &rec.binding), 0);
	ck_assert_int_eq(migrate_extents_add(&rec.missing, 0, 4), 0);
	ck_assert_int_eq(compare(true), COPY_ALIKE);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(compare(true), COPY_OTHER);
	migrate_record_clear(&rec);
	close(fd);
	core_free_with(&core, dir);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("copied", 60);

	tcase_add_test(tcase, i1_a_copy_of_a_stub);
	tcase_add_test(tcase, a_mark_without_a_ctime);
	tcase_add_test(tcase, a_mark_is_one_version);
	tcase_add_test(tcase, a_mark_that_says_it_is_unsettled);
	tcase_add_test(tcase, i9_damaged_marks);
	tcase_add_test(tcase, times_that_cannot_be_kept);
	tcase_add_test(tcase, without_marks);
	tcase_add_test(tcase, stubs);
	return run_tcase(tcase);
}
