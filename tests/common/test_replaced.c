/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <sys/resource.h>
#include <sys/xattr.h>

#include "common/record.h"
#include "tests/common/support.h"

static int dir;

static void setup(void)
{
	scratch_make();
	dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void teardown(void)
{
	close(dir);
	scratch_remove();
}

static void mark(int fd, enum migrate_state state)
{
	struct migrate_record rec = {.state = state, .size = 10};

	ck_assert_int_eq(migrate_binding_get(fd, NULL, &rec.binding), 0);
	if (state == MIGRATE_PARTIAL)
		ck_assert_int_eq(migrate_extents_add(&rec.missing, 0, 10), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	migrate_record_clear(&rec);
}

static int make_dir(const char *name)
{
	ck_assert_int_eq(mkdirat(dir, name, 0700), 0);
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static struct migrate_replaced find(const char *name, const struct stat *moved)
{
	struct migrate_replaced replaced;

	ck_assert_int_eq(migrate_replaced_find(dir, name, moved, &replaced), 0);
	return replaced;
}

START_TEST(nothing_is_in_the_way)
{
	int file = scratch_file("file", 10);
	struct migrate_replaced replaced;
	struct stat moved;

	ck_assert_int_eq(fstat(file, &moved), 0);
	replaced = find("other", &moved);
	ck_assert_int_eq(replaced.fd, -1);
	char long_name[NAME_MAX + 2] = {0};
	replaced = find(memset(long_name, 'n', NAME_MAX + 1), &moved); /* which cannot be */
	ck_assert_int_eq(replaced.fd, -1);
	replaced = find("file", &moved); /* itself */
	ck_assert_int_eq(replaced.fd, -1);
	ck_assert(!replaced.fill && !replaced.touch);
	migrate_replaced_clear(&replaced);
	close(file);
}
END_TEST

START_TEST(other_names_are_touched)
{
	int file = scratch_file("file", 10), one = scratch_file("one", 10);
	const struct stat moved = {.st_mode = S_IFREG};
	struct migrate_replaced replaced;

	ck_assert_int_eq(linkat(dir, "file", dir, "second", 0), 0);
	replaced = find("file", &moved);
	ck_assert_int_ge(replaced.fd, 0);
	ck_assert(!replaced.touch); /* normal */
	migrate_replaced_clear(&replaced);
	mark(file, MIGRATE_PARTIAL);
	mark(one, MIGRATE_PARTIAL);
	replaced = find("second", &moved);
	ck_assert(replaced.touch && !replaced.fill);
	migrate_replaced_clear(&replaced);
	replaced = find("one", &moved);
	ck_assert(!replaced.touch);
	migrate_replaced_clear(&replaced);
	close(file);
	close(one);
}
END_TEST

START_TEST(directories_are_filled)
{
	int unfilled = make_dir("unfilled"), filled = make_dir("filled");
	const struct stat file = {.st_mode = S_IFREG}, other = {.st_mode = S_IFDIR};
	struct migrate_replaced replaced;

	mark(unfilled, MIGRATE_UNFILLED);
	mark(filled, MIGRATE_FILLED);
	replaced = find("unfilled", &other);
	ck_assert(replaced.fill && !replaced.touch);
	migrate_replaced_clear(&replaced);
	replaced = find("unfilled", &file); /* which fails */
	ck_assert(!replaced.fill);
	migrate_replaced_clear(&replaced);
	replaced = find("filled", &other);
	ck_assert(!replaced.fill);
	migrate_replaced_clear(&replaced);
	mark(unfilled, MIGRATE_DUMMY);
	replaced = find("unfilled", &other);
	ck_assert(replaced.fill);
	migrate_replaced_clear(&replaced);
	ck_assert_int_eq(fsetxattr(unfilled, "security.migrate", "rubbish", 7, 0), 0);
	ck_assert_int_eq(migrate_replaced_find(dir, "unfilled", &other, &replaced), -EBADMSG);
	ck_assert_int_eq(replaced.fd, -1);
	close(unfilled);
	close(filled);
}
END_TEST

/* What cannot be looked at is not taken for nothing: an unfilled directory looks empty. */
START_TEST(what_is_there_must_be_known)
{
	int unfilled = make_dir("unfilled"), next;
	const struct stat moved = {.st_mode = S_IFDIR};
	struct migrate_replaced replaced;
	struct rlimit limit, none;

	mark(unfilled, MIGRATE_UNFILLED);
	next = dup(unfilled);
	close(next);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){next, limit.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(migrate_replaced_find(dir, "unfilled", &moved, &replaced), -EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(replaced.fd, -1);
	ck_assert_int_eq(migrate_replaced_find(unfilled, "other", &moved, &replaced), 0);
	close(unfilled);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("replaced");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, nothing_is_in_the_way);
	tcase_add_test(tcase, other_names_are_touched);
	tcase_add_test(tcase, directories_are_filled);
	tcase_add_test(tcase, what_is_there_must_be_known);
	return run_tcase(tcase);
}
