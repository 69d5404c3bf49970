/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <sys/xattr.h>

#include "common/record.h"
#include "tests/common/support.h"

#define SIZE 100000

static int fd;
static struct migrate_record rec;

static void setup(void)
{
	scratch_make();
	fd = scratch_file("file", SIZE);
	rec = (struct migrate_record){.state = MIGRATE_PARTIAL, .size = SIZE};
	ck_assert_int_eq(migrate_binding_get(fd, NULL, &rec.binding), 0);
	migrate_mount_epoch(fd, rec.epoch);
}

static void teardown(void)
{
	migrate_record_clear(&rec);
	close(fd);
	scratch_remove();
}

static int with_record(void)
{
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	return migrate_is_missing(fd);
}

START_TEST(of_a_file)
{
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

START_TEST(of_a_state)
{
	static const struct {
		enum migrate_state state;
		int missing;
	} all[] = {{MIGRATE_DUMMY, 1}, {MIGRATE_UNFILLED, 1}, {MIGRATE_FILLED, 0}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		rec.state = all[i].state;
		ck_assert_int_eq(with_record(), all[i].missing);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("missing");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, of_a_file);
	tcase_add_test(tcase, of_a_state);
	return run_tcase(tcase);
}
