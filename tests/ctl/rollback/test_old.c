/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/old.h"

#include <sys/fsuid.h>

#include "ctl/rollback/old_ops.h"
#include "tests/ctl/rollback/trees.h"

static struct old *old;

START_TEST(stage_leaves_no_trace)
{
	struct stat before, after;

	old = old_begun();
	old_end(old);
	ck_assert_int_eq(stat(OLD_TREE, &before), 0);
	ck_assert_int_eq(before.st_mtim.tv_nsec, 789000000);
	GError *error = NULL;
	int64_t skew;
	ck_assert(old_begin(old, &skew, &error));
	sh("test -d " OLD_TREE "/" OLD_STAGE);
	old_end(old);
	ck_assert_int_eq(stat(OLD_TREE, &after), 0);
	ck_assert_int_eq(after.st_mtim.tv_nsec, 789000000);
	sh("test ! -e " OLD_TREE "/" OLD_STAGE);
	old_close(old);
}
END_TEST

START_TEST(cannot_be_written)
{
	GError *error = NULL;
	int64_t skew;

	trees_make(FILL);
	sh("mount -o remount,ro " OLD_TREE);
	old = old_open(OLD_TREE, &error);
	ck_assert(!old_begin(old, &skew, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "cannot be written"));
	g_clear_error(&error);
	old_close(old);
	ck_assert_ptr_null(old_open("/mnt/none", &error));
	ck_assert_ptr_nonnull(strstr(error->message, "/mnt/none"));
	g_error_free(error);
}
END_TEST

/* The old server takes root for nobody. */
static void squashed(const char *mode)
{
	GError *error = NULL;
	int64_t skew;

	trees_make(FILL);
	sh("chmod %s " OLD_TREE, mode);
	old = old_open(OLD_TREE, &error);
	setfsgid(65534);
	setfsuid(65534);
	bool begun = old_begin(old, &skew, &error);
	setfsuid(0);
	setfsgid(0);
	ck_assert(!begun);
	ck_assert_ptr_nonnull(strstr(error->message, "no_root_squash"));
	g_error_free(error);
	old_close(old);
	sh("test ! -e " OLD_TREE "/" OLD_STAGE);
}

START_TEST(root_is_nobody_there)
{
	static const char *const modes[] = {"755", "1777", "-R a=rwX " OLD_TREE " && chown 65534"};

	squashed(modes[_i]);
}
END_TEST

/* It may have been there, be another's, and hand on rights. */
START_TEST(stage_is_private)
{
	g_autofree char *path = g_build_filename(OLD_TREE, OLD_STAGE, NULL);
	GError *error = NULL;
	struct stat st;
	int64_t skew;

	trees_make(FILL);
	sh("umask 0; mkdir %s && setfacl -m u:1000:rwx,d:u:1000:rwx %s && chown 1000 %s", path,
	   path, path);
	old = old_open(OLD_TREE, &error);
	ck_assert(old_begin(old, &skew, &error));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_uid, 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	sh("mkdir %s/made && getfacl -n %s/made | awk '/1000|default/ { exit 1 }'", path, path);
	old_close(old);
}
END_TEST

static int is_anothers(struct old *stage_of)
{
	return -EPERM;
}

START_TEST(stage_of_another)
{
	GError *error = NULL;
	int64_t skew;

	old = old_begun();
	struct old_ops ops = *old->ops;
	ops.protect = is_anothers;
	old->ops = &ops;
	ck_assert(!old_begin(old, &skew, &error));
	ck_assert_ptr_nonnull(strstr(error->message, OLD_STAGE " in it is another user's"));
	g_error_free(error);
	old_close(old);
}
END_TEST

static const struct old_ops *real_ops;

static int create_late(struct old *late, const char *path, struct old_file **file)
{
	g_usleep(200000);
	return real_ops->create(late, path, file);
}

/* What somebody changed there just after the switch must not count as changed before it. */
START_TEST(slow_servers_are_not_ahead)
{
	GError *error = NULL;
	struct old_ops slow;
	int64_t skew;

	old = old_begun();
	old_end(old);
	real_ops = old->ops;
	slow = *real_ops;
	slow.create = create_late;
	old->ops = &slow;
	ck_assert(old_begin(old, &skew, &error));
	ck_assert_int_le(skew, 0);
	old_end(old);
	old->ops = real_ops;
	old_close(old);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("old");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, stage_leaves_no_trace);
	tcase_add_test(tcase, cannot_be_written);
	tcase_add_loop_test(tcase, root_is_nobody_there, 0, 3);
	tcase_add_test(tcase, stage_is_private);
	tcase_add_test(tcase, stage_of_another);
	tcase_add_test(tcase, slow_servers_are_not_ahead);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
