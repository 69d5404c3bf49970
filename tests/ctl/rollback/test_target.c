/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/target.h"

#include <sys/fsuid.h>

#include "common/record.h"
#include "ctl/rollback/target_ops.h"
#include "tests/ctl/rollback/trees.h"

static struct target *target;

START_TEST(stage_leaves_no_trace)
{
	struct stat before, after;

	target = target_begun();
	target_end(target);
	ck_assert_int_eq(stat(OLD_TREE, &before), 0);
	ck_assert_int_eq(before.st_mtim.tv_nsec, 789000000);
	GError *error = NULL;
	int64_t skew;
	ck_assert(target_begin(target, &skew, &error));
	sh("test -d " OLD_TREE "/" TARGET_STAGE);
	target_end(target);
	ck_assert_int_eq(stat(OLD_TREE, &after), 0);
	ck_assert_int_eq(after.st_mtim.tv_nsec, 789000000);
	sh("test ! -e " OLD_TREE "/" TARGET_STAGE);
	target_close(target);
}
END_TEST

START_TEST(cannot_be_written)
{
	GError *error = NULL;
	int64_t skew;

	trees_make(FILL);
	sh("mount -o remount,ro " OLD_TREE);
	target = target_open(OLD_TREE, &error);
	ck_assert(!target_begin(target, &skew, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "cannot be written"));
	g_clear_error(&error);
	target_close(target);
	ck_assert_ptr_null(target_open("/mnt/none", &error));
	ck_assert_ptr_nonnull(strstr(error->message, "/mnt/none"));
	g_error_free(error);
}
END_TEST

/* What is compared with it, and written to it, would be past its doors. */
START_TEST(is_being_migrated)
{
	struct migrate_record rec = {.state = MIGRATE_UNFILLED};
	GError *error = NULL;
	int fd;

	trees_make(FILL);
	fd = open(OLD_TREE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(migrate_binding_get(fd, "", &rec.binding), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_ptr_null(target_open(OLD_TREE, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "itself being migrated"));
	g_clear_error(&error);
	ck_assert_int_eq(migrate_record_drop(fd), 0);
	close(fd);
	target = target_open(OLD_TREE, &error);
	ck_assert_ptr_nonnull(target);
	target_close(target);
}
END_TEST

/* The old server takes root for nobody. */
static void squashed(const char *mode)
{
	GError *error = NULL;
	int64_t skew;

	trees_make(FILL);
	sh("chmod %s " OLD_TREE, mode);
	target = target_open(OLD_TREE, &error);
	setfsgid(65534);
	setfsuid(65534);
	bool begun = target_begin(target, &skew, &error);
	setfsuid(0);
	setfsgid(0);
	ck_assert(!begun);
	ck_assert_ptr_nonnull(strstr(error->message, "no_root_squash"));
	g_error_free(error);
	target_close(target);
	sh("test ! -e " OLD_TREE "/" TARGET_STAGE);
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
	g_autofree char *path = g_build_filename(OLD_TREE, TARGET_STAGE, NULL);
	GError *error = NULL;
	struct stat st;
	int64_t skew;

	trees_make(FILL);
	sh("umask 0; mkdir %s && setfacl -m u:1000:rwx,d:u:1000:rwx %s && chown 1000 %s", path,
	   path, path);
	target = target_open(OLD_TREE, &error);
	ck_assert(target_begin(target, &skew, &error));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_uid, 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	sh("mkdir %s/made && getfacl -n %s/made | awk '/1000|default/ { exit 1 }'", path, path);
	target_close(target);
}
END_TEST

static int is_anothers(struct target *stage_of)
{
	return -EPERM;
}

START_TEST(stage_of_another)
{
	GError *error = NULL;
	int64_t skew;

	target = target_begun();
	struct target_ops ops = *target->ops;
	ops.protect = is_anothers;
	target->ops = &ops;
	ck_assert(!target_begin(target, &skew, &error));
	ck_assert_ptr_nonnull(strstr(error->message, TARGET_STAGE " in it is another user's"));
	g_error_free(error);
	target_close(target);
}
END_TEST

static const struct target_ops *real_ops;

static int create_late(struct target *late, const char *path, struct target_file **file)
{
	g_usleep(200000);
	return real_ops->create(late, path, file);
}

/* What somebody changed there just after the switch must not count as changed before it. */
START_TEST(slow_servers_are_not_ahead)
{
	GError *error = NULL;
	struct target_ops slow;
	int64_t skew;

	target = target_begun();
	target_end(target);
	real_ops = target->ops;
	slow = *real_ops;
	slow.create = create_late;
	target->ops = &slow;
	ck_assert(target_begin(target, &skew, &error));
	ck_assert_int_le(skew, 0);
	target_end(target);
	target->ops = real_ops;
	target_close(target);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, stage_leaves_no_trace);
	tcase_add_test(tcase, cannot_be_written);
	tcase_add_test(tcase, is_being_migrated);
	tcase_add_loop_test(tcase, root_is_nobody_there, 0, 3);
	tcase_add_test(tcase, stage_is_private);
	tcase_add_test(tcase, stage_of_another);
	tcase_add_test(tcase, slow_servers_are_not_ahead);
	return run_tcase(tcase);
}
