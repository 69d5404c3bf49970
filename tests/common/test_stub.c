/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "common/record.h"
#include "tests/common/support.h"

#define SIZE 100000

static struct migrate_stub stub;
static struct migrate_record rec;

static void teardown(void)
{
	migrate_stub_clear(&stub);
	migrate_record_clear(&rec);
	scratch_remove();
}

/* Makes rec the record of fd. */
static void make_stub(int fd, enum migrate_state state)
{
	rec.state = state;
	rec.size = SIZE;
	rec.mtime = 5000000001;
	rec.ctime = -1;
	ck_assert_int_eq(migrate_binding_get(fd, NULL, &rec.binding), 0);
	if (state == MIGRATE_PARTIAL)
		ck_assert_int_eq(migrate_extents_add(&rec.missing, 0, SIZE), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
}

static int scratch_directory(void)
{
	int fd;

	ck_assert_int_eq(mkdir(scratch_path("dir"), 0700), 0);
	fd = open(scratch_path("dir"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(normal)
{
	int fd = scratch_file("file", SIZE);
	uint64_t start, end;

	memset(&stub, 0xff, sizeof(stub));
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.state, MIGRATE_NORMAL);
	ck_assert(!stub.show_times && !stub.missing_bytes && !stub.error);
	ck_assert(migrate_stub_present(&stub, 0, UINT64_MAX));
	ck_assert(!migrate_stub_next_missing(&stub, 0, &start, &end));
	close(fd);
}
END_TEST

START_TEST(partial)
{
	int fd = scratch_file("file", SIZE);
	uint64_t start, end;

	rec.error = EACCES;
	make_stub(fd, MIGRATE_PARTIAL);
	migrate_extents_remove(&rec.missing, 1000, 2000);
	migrate_extents_add(&rec.dirty, 2000, 3000);
	ck_assert(migrate_mount_epoch(fd, rec.epoch));
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.state, MIGRATE_PARTIAL);
	ck_assert_int_eq(stub.error, EACCES);
	ck_assert_uint_eq(stub.size, SIZE);
	ck_assert(stub.show_times);
	ck_assert(stub.mtime.tv_sec == 5 && stub.mtime.tv_nsec == 1);
	ck_assert(stub.ctime.tv_sec == -1 && stub.ctime.tv_nsec == 999999999);
	ck_assert_uint_eq(stub.missing_bytes, SIZE - 2000);
	/* What a client wrote is here, in this mount. */
	ck_assert(migrate_stub_present(&stub, 1000, 2000));
	ck_assert(!migrate_stub_present(&stub, 999, 1));
	ck_assert(!migrate_stub_present(&stub, 1000, 2001));
	ck_assert(!migrate_stub_present(&stub, 1000, UINT64_MAX));
	ck_assert(migrate_stub_present(&stub, SIZE, UINT64_MAX));
	ck_assert(migrate_stub_present(&stub, 0, 0));
	ck_assert(migrate_stub_next_missing(&stub, 500, &start, &end));
	ck_assert(start == 0 && end == 1000);
	ck_assert(migrate_stub_next_missing(&stub, 1000, &start, &end));
	ck_assert(start == 3000 && end == SIZE);
	ck_assert(!migrate_stub_next_missing(&stub, SIZE, &start, &end));
	close(fd);
}
END_TEST

START_TEST(space)
{
	struct migrate_stub part = {.state = MIGRATE_PARTIAL, .missing_bytes = 5000};

	ck_assert_uint_eq(migrate_stub_space(&part, 100000, 0), 8192);
	ck_assert_uint_eq(migrate_stub_space(&part, 100000, 40960), 49152);
	/* never more than the whole file, unless it uses more */
	ck_assert_uint_eq(migrate_stub_space(&part, 100000, 98304), 102400);
	ck_assert_uint_eq(migrate_stub_space(&part, 100000, 200704), 200704);
	part.missing_bytes = 0;
	ck_assert_uint_eq(migrate_stub_space(&part, 100000, 4096), 4096);
}
END_TEST

START_TEST(the_record_s_name)
{
	ck_assert(migrate_is_record("security.migrate"));
	ck_assert(migrate_is_record("security.migrate2"));
	ck_assert(!migrate_is_record("security.migrat"));
	ck_assert(!migrate_is_record("user.security.migrate"));
}
END_TEST

START_TEST(shown_times)
{
	int fd = scratch_file("file", SIZE);

	rec.flags = MIGRATE_REC_SHOWN_MTIME | MIGRATE_REC_SHOWN_CTIME;
	rec.shown_mtime = 7000000000;
	rec.shown_ctime = 8000000000;
	make_stub(fd, MIGRATE_PARTIAL);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.mtime.tv_sec, 7);
	ck_assert_int_eq(stub.ctime.tv_sec, 8);
	close(fd);
}
END_TEST

START_TEST(dummy_is_never_present)
{
	int fd = scratch_file("file", 0);
	uint64_t start, end;

	make_stub(fd, MIGRATE_DUMMY);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.state, MIGRATE_DUMMY);
	ck_assert(!migrate_stub_present(&stub, 0, 1));
	ck_assert(migrate_stub_present(&stub, 0, 0));
	ck_assert(migrate_stub_next_missing(&stub, 0, &start, &end));
	ck_assert(start == 0 && end == INT64_MAX);
	ck_assert(!migrate_stub_next_missing(&stub, INT64_MAX, &start, &end));
	close(fd);
}
END_TEST

static void touch(int fd, int64_t ns)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, migrate_timespec(ns)};

	ck_assert_int_eq(futimens(fd, times), 0);
}

/* One that was found may still be so, however much has been filled or written since, unless the
 * stub is one of another file by now. */
START_TEST(confirmed)
{
	int fd = scratch_file("file", SIZE);

	rec.fileid = 7;
	make_stub(fd, MIGRATE_PARTIAL);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(migrate_stub_confirm(fd, &stub.version), 1);
	migrate_extents_remove(&rec.missing, 0, SIZE / 2);
	rec.flags = MIGRATE_REC_SHOWN_MTIME | MIGRATE_REC_SHOWN_CTIME;
	rec.shown_mtime = rec.shown_ctime = 7;
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(migrate_stub_confirm(fd, &stub.version), 1);
	for (int n = 0; n < 4; n++) {
		struct migrate_record other = rec;

		other.fileid += n == 0;
		other.size += n == 1;
		other.mtime += n == 2;
		other.ctime += n == 3;
		ck_assert_int_eq(migrate_record_store(fd, &other), 0);
		ck_assert_int_eq(migrate_stub_confirm(fd, &stub.version), 0);
	}
	ck_assert_int_eq(migrate_record_drop(fd), 0);
	ck_assert_int_eq(migrate_stub_confirm(fd, &stub.version), 0);
	ck_assert_int_eq(fsetxattr(fd, MIGRATE_XATTR, "garbage", 7, 0), 0);
	ck_assert_int_eq(migrate_stub_confirm(fd, &stub.version), -EBADMSG);
	close(fd);
	ck_assert_int_eq(migrate_stub_confirm(fd, &stub.version), -EIO);
}
END_TEST

static int confirm_bytes(int fd, const struct migrate_found *found, uint64_t offset,
			 const char *bytes, size_t length)
{
	/* in pieces that are none of the file system's */
	struct iovec read[3] = {{(void *)bytes, length / 3},
				{(void *)(bytes + length / 3), length / 2 - length / 3},
				{(void *)(bytes + length / 2), SIZE}};

	return migrate_read_confirm(fd, found, offset, read, 3, length);
}

/* Zeros where something is not durable may be a hole. */
START_TEST(i4_zeros_are_doubtful)
{
	static char bytes[SIZE];
	int fd = scratch_file("file", SIZE);
	struct migrate_found found;

	memset(bytes, 'x', SIZE);
	make_stub(fd, MIGRATE_PARTIAL);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert(!migrate_stub_dirty(&stub));
	found = migrate_stub_found(&stub, 0, SIZE);
	ck_assert_int_eq(confirm_bytes(fd, &found, 0, bytes, SIZE), 1);
	ck_assert_int_eq(confirm_bytes(fd, &found, 0, bytes, 0), 1);
	memset(bytes + 5130, 0, 1970); /* no block of them */
	ck_assert_int_eq(confirm_bytes(fd, &found, 0, bytes, SIZE), 1);
	memset(bytes + 5000, 0, 2500);
	ck_assert_int_eq(confirm_bytes(fd, &found, 0, bytes, SIZE), MIGRATE_DOUBTFUL);
	ck_assert_int_eq(confirm_bytes(fd, &found, 0, bytes, 5121), MIGRATE_DOUBTFUL);
	ck_assert_int_eq(confirm_bytes(fd, &found, 0, bytes, 5120), 1);
	ck_assert_int_eq(confirm_bytes(fd, &found, 5500, bytes + 5500, 10), MIGRATE_DOUBTFUL);
	memset(bytes, 'x', SIZE);
	bytes[SIZE - 1] = 0;
	ck_assert_int_eq(confirm_bytes(fd, &found, 0, bytes, SIZE), 1);
	ck_assert_int_eq(confirm_bytes(fd, &found, SIZE - 1, bytes + SIZE - 1, 1),
			 MIGRATE_DOUBTFUL);
	ck_assert_int_eq(migrate_record_drop(fd), 0);
	ck_assert_int_eq(confirm_bytes(fd, &found, SIZE - 1, bytes + SIZE - 1, 1), 0);
	close(fd);
}
END_TEST

/* What is durable is not; a part of a block, that a client wrote, may be a hole by itself. */
START_TEST(i4_zeros_of_a_client)
{
	static char bytes[SIZE];
	int fd = scratch_file("file", SIZE);
	struct migrate_found found;

	make_stub(fd, MIGRATE_PARTIAL);
	migrate_mount_epoch(fd, rec.epoch);
	ck_assert_int_eq(migrate_extents_remove(&rec.missing, 0, 8192), 0);
	ck_assert_int_eq(migrate_extents_add(&rec.dirty, 20000, 20100), 0);
	ck_assert_int_eq(migrate_extents_add(&rec.dirty, SIZE - 1024 - SIZE % 1024, SIZE), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert(migrate_stub_dirty(&stub));
	found = migrate_stub_found(&stub, 0, 8192);
	ck_assert_int_eq(confirm_bytes(fd, &found, 0, bytes, 8192), 1);
	memset(bytes, 'x', SIZE);
	bytes[20050] = 0;
	bytes[SIZE - 2] = 0;
	found = migrate_stub_found(&stub, 20050, 2);
	ck_assert_int_eq(confirm_bytes(fd, &found, 20050, bytes + 20050, 2), MIGRATE_DOUBTFUL);
	found = migrate_stub_found(&stub, 8192, 20000);
	ck_assert_int_eq(confirm_bytes(fd, &found, 8192, bytes + 8192, 20000), MIGRATE_DOUBTFUL);
	found = migrate_stub_found(&stub, SIZE - 500, 1000);
	ck_assert_int_eq(confirm_bytes(fd, &found, SIZE - 500, bytes + SIZE - 500, 500), 1);
	close(fd);
}
END_TEST

/* Of what is beyond its present size nothing is here either. */
START_TEST(about_to_be_resized)
{
	int fd = scratch_file("file", SIZE / 2);

	rec.flags = MIGRATE_REC_RESIZE;
	make_stub(fd, MIGRATE_PARTIAL);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert(!migrate_stub_present(&stub, SIZE / 2, 1));
	close(fd);
}
END_TEST

START_TEST(filled_directory_until_a_client_changes_it)
{
	int fd = scratch_directory();

	make_stub(fd, MIGRATE_FILLED);
	touch(fd, rec.mtime);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.state, MIGRATE_FILLED);
	ck_assert(stub.show_times);
	ck_assert(migrate_stub_present(&stub, 0, 1));
	touch(fd, rec.mtime + 1);
	migrate_stub_clear(&stub);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert(!stub.show_times);
	close(fd);
}
END_TEST

/* I8: its ctime does not go back to what it was before it got a record again. */
START_TEST(directory_that_was_normal_shows_the_inode)
{
	int fd = scratch_directory();

	make_stub(fd, MIGRATE_FILLED);
	rec.flags = MIGRATE_REC_RETURNED;
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	touch(fd, rec.mtime);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert(!stub.show_times);
	close(fd);
}
END_TEST

START_TEST(unfilled_directory_always_shows_the_record)
{
	int fd = scratch_directory();

	make_stub(fd, MIGRATE_UNFILLED);
	touch(fd, rec.mtime + 1);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.state, MIGRATE_UNFILLED);
	ck_assert(stub.show_times);
	close(fd);
}
END_TEST

START_TEST(errors_are_not_whole)
{
	int fd = scratch_file("file", 0);

	ck_assert_int_eq(fsetxattr(fd, MIGRATE_XATTR, "garbage", 7, 0), 0);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), -EBADMSG);
	ck_assert_int_ne(stub.state, MIGRATE_NORMAL);
	ck_assert(!migrate_stub_present(&stub, 0, 1));
	close(fd);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), -EIO);
	ck_assert_int_ne(stub.state, MIGRATE_NORMAL);
}
END_TEST

START_TEST(through_o_path)
{
	int fd = scratch_file("file", SIZE), path = open(scratch_path("file"), O_PATH);

	ck_assert_int_eq(migrate_stub_load(path, &stub), 0);
	ck_assert_int_eq(stub.state, MIGRATE_NORMAL);
	make_stub(fd, MIGRATE_PARTIAL);
	ck_assert_int_eq(migrate_stub_load(path, &stub), 0);
	ck_assert_int_eq(stub.state, MIGRATE_PARTIAL);
	close(path);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("stub");

	tcase_add_checked_fixture(tcase, scratch_make, teardown);
	tcase_add_test(tcase, normal);
	tcase_add_test(tcase, partial);
	tcase_add_test(tcase, space);
	tcase_add_test(tcase, the_record_s_name);
	tcase_add_test(tcase, shown_times);
	tcase_add_test(tcase, confirmed);
	tcase_add_test(tcase, i4_zeros_are_doubtful);
	tcase_add_test(tcase, i4_zeros_of_a_client);
	tcase_add_test(tcase, about_to_be_resized);
	tcase_add_test(tcase, dummy_is_never_present);
	tcase_add_test(tcase, filled_directory_until_a_client_changes_it);
	tcase_add_test(tcase, directory_that_was_normal_shows_the_inode);
	tcase_add_test(tcase, unfilled_directory_always_shows_the_record);
	tcase_add_test(tcase, errors_are_not_whole);
	tcase_add_test(tcase, through_o_path);
	return run_case(tcase);
}
