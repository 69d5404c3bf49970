/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "common/record.h"
#include "tests/common/support.h"

static int top, middle, bottom; /* directories, one in the other */

static int make(int dir, const char *name)
{
	int fd;

	ck_assert_int_eq(mkdirat(dir, name, 0700), 0);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static void setup(void)
{
	scratch_make();
	top = open(scratch_path("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(top, 0);
	middle = make(top, "middle");
	bottom = make(middle, "bottom");
}

static void teardown(void)
{
	ck_assert_int_eq(unlinkat(middle, "bottom", AT_REMOVEDIR), 0);
	ck_assert_int_eq(unlinkat(top, "middle", AT_REMOVEDIR), 0);
	close(bottom);
	close(middle);
	close(top);
	scratch_remove();
}

static void mark(int fd)
{
	struct migrate_record rec = {.state = MIGRATE_FILLED};

	ck_assert_int_eq(migrate_binding_get(fd, NULL, &rec.binding), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	migrate_record_clear(&rec);
}

START_TEST(records)
{
	int path = open(scratch_path("middle"), O_PATH | O_DIRECTORY | O_CLOEXEC);

	errno = ERANGE;
	ck_assert_int_eq(migrate_has_record(middle), 0);
	ck_assert_int_eq(errno, ERANGE);
	ck_assert_int_eq(migrate_has_record(path), 0);
	mark(middle);
	ck_assert_int_eq(migrate_has_record(middle), 1);
	ck_assert_int_eq(migrate_has_record(path), 1);
	ck_assert_int_eq(migrate_has_record(bottom), 0);
	ck_assert_int_eq(fsetxattr(middle, "security.migrate", "rubbish", 7, 0), 0);
	ck_assert_int_eq(migrate_has_record(middle), -EBADMSG);
	ck_assert_int_eq(migrate_has_record(-1), -EIO);
	close(path);
}
END_TEST

static struct migrate_inspection inspect(int fd)
{
	struct migrate_inspection found;

	ck_assert_int_eq(migrate_inspect(fd, &found), 0);
	return found;
}

/* Up to the top of the file system, whatever it is mounted on. */
START_TEST(inspected)
{
	int path = open(scratch_path("middle/bottom"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	int slash = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct migrate_inspection found;

	ck_assert(inspect(bottom).vacant && !inspect(bottom).unfinished && !inspect(bottom).root);
	ck_assert(!inspect(middle).vacant && !inspect(middle).unfinished && !inspect(middle).root);
	ck_assert(!inspect(slash).unfinished && !inspect(slash).root);
	mark(bottom);
	ck_assert(inspect(bottom).root && inspect(bottom).unfinished && !inspect(bottom).vacant);
	mark(top);
	ck_assert(inspect(bottom).unfinished && !inspect(bottom).root);
	ck_assert(inspect(path).unfinished && !inspect(path).root);
	ck_assert(inspect(middle).unfinished && !inspect(middle).root);
	ck_assert(inspect(top).root);
	ck_assert_int_eq(fsetxattr(middle, "security.migrate", "rubbish", 7, 0), 0);
	ck_assert_int_eq(migrate_inspect(bottom, &found), -EBADMSG);
	ck_assert_int_eq(migrate_inspect(middle, &found), -EBADMSG);
	ck_assert_int_eq(migrate_inspect(-1, &found), -EIO);
	close(path);
	close(slash);
}
END_TEST

/* Only the mark of this very directory tells it from a client's. */
START_TEST(private)
{
	uint8_t mark[128];
	ssize_t len;
	int fd, path;

	ck_assert(!migrate_has_private(bottom));
	fd = make(bottom, MIGRATE_PRIVATE_DIR);
	path = openat(bottom, MIGRATE_PRIVATE_DIR, O_PATH | O_CLOEXEC);
	ck_assert(!migrate_has_private(bottom));
	ck_assert(!migrate_private_is_marked(fd));
	ck_assert_int_eq(migrate_private_mark(fd), 0);
	ck_assert(migrate_private_is_marked(fd));
	ck_assert(migrate_private_is_marked(path));
	ck_assert(migrate_has_private(bottom));
	len = fgetxattr(fd, MIGRATE_XATTR_PRIVATE, mark, sizeof(mark));
	ck_assert_int_gt(len, 0);
	close(fd);
	fd = make(bottom, "other");
	ck_assert_int_eq(unlinkat(bottom, MIGRATE_PRIVATE_DIR, AT_REMOVEDIR), 0);
	close(path);
	ck_assert_int_eq(renameat(bottom, "other", bottom, MIGRATE_PRIVATE_DIR), 0);
	ck_assert_int_eq(fsetxattr(fd, MIGRATE_XATTR_PRIVATE, mark, len, 0), 0);
	ck_assert(!migrate_has_private(bottom));
	ck_assert_int_eq(fsetxattr(fd, MIGRATE_XATTR_PRIVATE, mark, 0, 0), 0);
	ck_assert(!migrate_has_private(bottom));
	close(fd);
	ck_assert_int_eq(unlinkat(bottom, MIGRATE_PRIVATE_DIR, AT_REMOVEDIR), 0);
	ck_assert_int_eq(symlinkat("/root", bottom, MIGRATE_PRIVATE_DIR), 0);
	ck_assert(!migrate_has_private(bottom));
	ck_assert_int_eq(unlinkat(bottom, MIGRATE_PRIVATE_DIR, 0), 0);
	ck_assert_int_eq(migrate_private_mark(-1), -EBADF);
	ck_assert(!migrate_private_is_marked(-1));
}
END_TEST

START_TEST(vacant)
{
	int fd;

	ck_assert(migrate_is_vacant(bottom, false));
	close(make(bottom, "lost+found"));
	ck_assert(migrate_is_vacant(bottom, false));
	fd = openat(bottom, "lost+found", O_PATH | O_DIRECTORY | O_CLOEXEC);
	close(make(fd, "lost+found"));
	ck_assert(!migrate_is_vacant(bottom, true)); /* the old server's may be another */
	ck_assert_int_eq(unlinkat(fd, "lost+found", AT_REMOVEDIR), 0);
	close(fd);
	ck_assert(migrate_is_empty(bottom, "lost+found"));
	ck_assert(!migrate_is_empty(bottom, "none"));
	ck_assert_int_eq(symlinkat("lost+found", bottom, "link"), 0);
	ck_assert(!migrate_is_empty(bottom, "link"));
	ck_assert_int_eq(unlinkat(bottom, "link", 0), 0);
	fd = make(bottom, MIGRATE_PRIVATE_DIR);
	ck_assert(migrate_is_vacant(bottom, true)); /* about to be marked */
	close(make(fd, "staging"));
	ck_assert(!migrate_is_vacant(bottom, true)); /* a client's */
	ck_assert_int_eq(migrate_private_mark(fd), 0);
	ck_assert(migrate_is_vacant(bottom, true));
	ck_assert(!migrate_is_vacant(bottom, false));
	close(make(bottom, ".x"));
	ck_assert(!migrate_is_vacant(bottom, true));
	ck_assert(!migrate_is_vacant(-1, true));
	ck_assert_int_eq(unlinkat(fd, "staging", AT_REMOVEDIR), 0);
	close(fd);
	ck_assert_int_eq(unlinkat(bottom, "lost+found", AT_REMOVEDIR), 0);
	ck_assert_int_eq(unlinkat(bottom, MIGRATE_PRIVATE_DIR, AT_REMOVEDIR), 0);
	ck_assert_int_eq(unlinkat(bottom, ".x", AT_REMOVEDIR), 0);
	ck_assert_int_eq(symlinkat(".x", bottom, "lost+found"), 0);
	ck_assert(!migrate_is_vacant(bottom, false));
	ck_assert_int_eq(unlinkat(bottom, "lost+found", 0), 0);
	ck_assert(migrate_is_vacant(bottom, false));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("root");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, records);
	tcase_add_test(tcase, inspected);
	tcase_add_test(tcase, private);
	tcase_add_test(tcase, vacant);
	return run_tcase(tcase);
}
