/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "common/record.h"
#include "common/record_io.h"
#include "tests/common/support.h"

#define SIZE 100000

static int fd;
static struct migrate_record rec, loaded;

static void setup(void)
{
	scratch_make();
	fd = scratch_file("file", SIZE);
	rec = (struct migrate_record){.state = MIGRATE_PARTIAL, .fileid = 7, .size = SIZE};
	ck_assert_int_eq(migrate_binding_get(fd, NULL, &rec.binding), 0);
	ck_assert_int_eq(migrate_extents_add(&rec.missing, 0, SIZE), 0);
}

static void teardown(void)
{
	migrate_record_clear(&rec);
	migrate_record_clear(&loaded);
	close(fd);
	scratch_remove();
}

START_TEST(stored_loaded_dropped)
{
	ck_assert_int_eq(migrate_record_load(fd, &loaded), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(migrate_record_load(fd, &loaded), 1);
	ck_assert_int_eq(loaded.state, MIGRATE_PARTIAL);
	ck_assert_uint_eq(loaded.fileid, 7);
	ck_assert_uint_eq(migrate_extents_bytes(&loaded.missing), SIZE);
	ck_assert_int_eq(migrate_record_drop(fd), 0);
	migrate_record_clear(&loaded);
	ck_assert_int_eq(migrate_record_load(fd, &loaded), 0);
	ck_assert_int_eq(migrate_record_drop(fd), 0);
}
END_TEST

START_TEST(through_o_path)
{
	int path = open(scratch_path("file"), O_PATH);

	ck_assert_int_eq(migrate_record_load(path, &loaded), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(migrate_record_load(path, &loaded), 1);
	ck_assert_int_eq(migrate_record_store(path, &rec), -EBADF);
	close(path);
}
END_TEST

START_TEST(of_a_symbolic_link)
{
	int path;

	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(symlink("file", scratch_path("link")), 0);
	path = open(scratch_path("link"), O_PATH | O_NOFOLLOW);
	/* The link's own, not the file's behind it. */
	ck_assert_int_eq(migrate_record_load(path, &loaded), 0);
	close(path);
}
END_TEST

/* I9: cp --preserve=xattr, rsync -X, a restored backup. */
START_TEST(copied_is_void)
{
	uint8_t value[MIGRATE_REC_MAX];
	int copy = scratch_file("copy", SIZE);
	ssize_t len;

	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	len = fgetxattr(fd, MIGRATE_XATTR, value, sizeof(value));
	ck_assert_int_gt(len, 0);
	ck_assert_int_eq(fsetxattr(copy, MIGRATE_XATTR, value, len, 0), 0);
	ck_assert_int_eq(migrate_record_load(copy, &loaded), 0);
	ck_assert_int_eq(migrate_record_load(fd, &loaded), 1);
	close(copy);
}
END_TEST

START_TEST(damaged_is_an_error)
{
	uint8_t value[MIGRATE_REC_MAX + 1] = {0};
	ssize_t len;

	ck_assert_int_eq(fsetxattr(fd, MIGRATE_XATTR, "", 0, 0), 0);
	ck_assert_int_eq(migrate_record_load(fd, &loaded), -EBADMSG);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	len = fgetxattr(fd, MIGRATE_XATTR, value, sizeof(value));
	value[10] ^= 1;
	ck_assert_int_eq(fsetxattr(fd, MIGRATE_XATTR, value, len, 0), 0);
	ck_assert_int_eq(migrate_record_load(fd, &loaded), -EBADMSG);
	/* Longer than any record; where the file system takes it. */
	if (fsetxattr(fd, MIGRATE_XATTR, value, sizeof(value), 0) == 0)
		ck_assert_int_eq(migrate_record_load(fd, &loaded), -EBADMSG);
}
END_TEST

START_TEST(clipped_to_the_size)
{
	struct stat st;

	migrate_extents_remove(&rec.missing, 1000, 2000);
	migrate_extents_add(&rec.dirty, 500, 50500);
	migrate_extents_remove(&rec.dirty, 1000, 2000);
	ck_assert(migrate_mount_epoch(fd, rec.epoch));
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(ftruncate(fd, 3000), 0);
	ck_assert_int_eq(migrate_record_load_stat(fd, &loaded, &st), 1);
	ck_assert_int_eq(st.st_size, 3000);
	ck_assert_uint_eq(loaded.missing.n, 2);
	ck_assert_uint_eq(loaded.missing.v[1].end, 3000);
	ck_assert_uint_eq(migrate_extents_bytes(&loaded.dirty), 500 + 1000);
	/* What the retriever stores back is valid. */
	ck_assert_int_eq(migrate_record_store(fd, &loaded), 0);
	migrate_record_clear(&loaded);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(migrate_record_load(fd, &loaded), 1);
	ck_assert(migrate_extents_empty(&loaded.missing) && migrate_extents_empty(&loaded.dirty));
	ck_assert_int_eq(migrate_record_store(fd, &loaded), 0);
	migrate_record_clear(&loaded);
	/* Once stored so, a larger size brings nothing back. */
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	ck_assert_int_eq(migrate_record_load(fd, &loaded), 1);
	ck_assert(migrate_extents_empty(&loaded.missing));
}
END_TEST

START_TEST(dirty_of_another_mount)
{
	migrate_extents_add(&rec.dirty, 10, 20);
	ck_assert(migrate_mount_epoch(fd, rec.epoch));
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(migrate_record_load(fd, &loaded), 1);
	ck_assert_uint_eq(migrate_extents_bytes(&loaded.dirty), 10);
	migrate_record_clear(&loaded);
	rec.epoch[0] ^= 1;
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(migrate_record_load(fd, &loaded), 1);
	ck_assert(migrate_extents_empty(&loaded.dirty));
	ck_assert_uint_eq(migrate_extents_bytes(&loaded.missing), SIZE);
}
END_TEST

START_TEST(system_errors)
{
	int closed = dup(fd);

	close(closed);
	ck_assert_int_eq(migrate_record_load(closed, &loaded), -EBADF);
	ck_assert_int_eq(migrate_record_store(closed, &rec), -EBADF);
	ck_assert_int_eq(migrate_record_drop(closed), -EBADF);
	rec.binding.len = 0;
	ck_assert_int_eq(migrate_record_store(fd, &rec), -EINVAL);
}
END_TEST

/* A record that lacks nothing yet, of this mount. */
static void nothing_missing(void)
{
	migrate_record_clear(&rec);
	rec = (struct migrate_record){.state = MIGRATE_PARTIAL, .size = SIZE};
	ck_assert_int_eq(migrate_binding_get(fd, NULL, &rec.binding), 0);
	migrate_mount_epoch(fd, rec.epoch);
}

static int with_record(void)
{
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	return migrate_is_missing(fd);
}

START_TEST(missing_of_a_file)
{
	nothing_missing();
	ck_assert_int_eq(migrate_is_missing(fd), 0);
	ck_assert_int_eq(with_record(), 0);
	ck_assert_int_eq(migrate_extents_add(&rec.missing, 4096, SIZE), 0);
	ck_assert_int_eq(with_record(), 1);
	ck_assert_int_eq(migrate_extents_add(&rec.dirty, 4096, 50000), 0);
	ck_assert_int_eq(with_record(), 1);
	ck_assert_int_eq(migrate_extents_add(&rec.dirty, 50000, SIZE), 0);
	ck_assert_int_eq(with_record(), 0); /* clients wrote it since */
	rec.epoch[0] ^= 1;
	ck_assert_int_eq(with_record(), 1); /* before the machine was started again */
	rec.binding.bytes[0] ^= 1;
	ck_assert_int_eq(with_record(), 0); /* another inode's */
	ck_assert_int_eq(fsetxattr(fd, "security.migrate", "rubbish", 7, 0), 0);
	ck_assert_int_eq(migrate_is_missing(fd), -EBADMSG);
	ck_assert_int_lt(migrate_is_missing(-1), 0);
}
END_TEST

START_TEST(missing_of_a_state)
{
	static const struct {
		enum migrate_state state;
		int missing;
	} all[] = {{MIGRATE_DUMMY, 1}, {MIGRATE_UNFILLED, 1}, {MIGRATE_FILLED, 0}};

	nothing_missing();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		rec.state = all[i].state;
		ck_assert_int_eq(with_record(), all[i].missing);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("record_io");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, stored_loaded_dropped);
	tcase_add_test(tcase, through_o_path);
	tcase_add_test(tcase, of_a_symbolic_link);
	tcase_add_test(tcase, copied_is_void);
	tcase_add_test(tcase, damaged_is_an_error);
	tcase_add_test(tcase, clipped_to_the_size);
	tcase_add_test(tcase, dirty_of_another_mount);
	tcase_add_test(tcase, system_errors);
	tcase_add_test(tcase, missing_of_a_file);
	tcase_add_test(tcase, missing_of_a_state);
	return run_case(tcase);
}
