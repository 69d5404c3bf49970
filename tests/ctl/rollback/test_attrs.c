/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/attrs.h"

#include <sys/syscall.h>
#include <sys/xattr.h>

#include "lib/config/owners.h"
#include "tests/ctl/rollback/trees.h"

static unsigned lost;
static int failing; /* with this errno none can be set; 0: they can */

int setxattr(const char *path, const char *name, const void *value, size_t size, int flags)
{
	errno = failing;
	return failing ? -1 : (int)syscall(SYS_setxattr, path, name, value, size, flags);
}

static void count(void *arg, const char *what)
{
	lost++;
}

static void give(const char *from, const char *to, const struct volume_config *config)
{
	struct attrs attrs;
	int a = open(from, O_PATH | O_NOFOLLOW), b = open(to, O_PATH | O_NOFOLLOW);

	lost = 0;
	ck_assert_int_eq(attrs_read(a, &attrs), 0);
	ck_assert_int_eq(attrs_give(b, &attrs, config, count, NULL), 0);
	attrs_clear(&attrs);
	close(a);
	close(b);
}

START_TEST(all_of_it)
{
	const struct volume_config config = {0};

	trees_make(FILL);
	sh("cd " NEW_TREE " && chown 5:6 a/1 && chmod 6751 a/1 && setfacl -m u:9:r,g:8:w a/1 && "
	   "setfacl -d -m u:9:rwx e && chown -h 3:4 a/symlink");
	give(NEW_TREE "/a/1", OLD_TREE "/a/1", &config);
	give(NEW_TREE "/e", OLD_TREE "/e", &config);
	give(NEW_TREE "/a/symlink", OLD_TREE "/a/symlink", &config);
	ck_assert_uint_eq(lost, 0);
	same_trees();
	sh("cd " NEW_TREE " && setfacl -b a/1 && setfacl -b e");
	give(NEW_TREE "/a/1", OLD_TREE "/a/1", &config);
	give(NEW_TREE "/e", OLD_TREE "/e", &config);
	same_trees();
}
END_TEST

/* What it has already is not set, and nothing is while it is held. */
START_TEST(held)
{
	const struct volume_config config = {0};
	const char *const changes[] = {"chmod 600", "chown 5", "chgrp 5", "setfacl -m u:9:r",
				       "touch -d 2002-02-02"};
	struct attrs attrs;
	int a, b;

	trees_make(FILL);
	for (unsigned i = 0; i <= G_N_ELEMENTS(changes); i++) {
		struct stat before, after;

		if (i)
			sh("%s " NEW_TREE "/a/%u", changes[i - 1], i);
		g_autofree char *from = g_strdup_printf(NEW_TREE "/a/%u", MAX(i, 1));
		g_autofree char *to = g_strdup_printf(OLD_TREE "/a/%u", MAX(i, 1));
		a = open(from, O_PATH);
		b = open(to, O_PATH);
		ck_assert_int_eq(fstat(b, &before), 0);
		ck_assert_int_eq(attrs_read(a, &attrs), 0);
		attrs.held = true;
		ck_assert_int_eq(attrs_give(b, &attrs, &config, count, NULL), i ? -EAGAIN : 0);
		attrs.held = false;
		if (!i)
			ck_assert_int_eq(attrs_give(b, &attrs, &config, count, NULL), 0);
		ck_assert_int_eq(fstat(b, &after), 0);
		ck_assert_int_eq(migrate_ns(after.st_ctim), migrate_ns(before.st_ctim));
		attrs_clear(&attrs);
		close(a);
		close(b);
	}
}
END_TEST

START_TEST(owners_backwards)
{
	struct volume_config config = {.map_users = owners_parse("100-199:1100", NULL),
				       .map_groups = owners_parse("7:17", NULL)};

	trees_make(FILL);
	sh("cd " NEW_TREE " && chown 1105:17 a/1 && setfacl -m u:1106:r a/1 && chown 150 a/2 && "
	   "chown 42 a/3");
	give(NEW_TREE "/a/1", OLD_TREE "/a/1", &config);
	sh("cd " OLD_TREE " && test $(stat -c %%u:%%g a/1) = 105:7 && "
	   "getfacl -n a/1 | grep -q user:106:r");
	give(NEW_TREE "/a/3", OLD_TREE "/a/3", &config);
	ck_assert_uint_eq(lost, 0);
	give(NEW_TREE "/a/2", OLD_TREE "/a/2", &config); /* 150 there becomes 1150 here */
	ck_assert_uint_eq(lost, 1);
	/* 1150 there is kept here, where 150 becomes it as well: it stays who it is there */
	sh("setfacl -m u:1150:r,u:7:r " OLD_TREE
	   "/a/4 && setfacl -m u:1150:r,u:8:r,u:1151:r " NEW_TREE "/a/4 && chown 1150 " OLD_TREE
	   "/a/4 " NEW_TREE "/a/4");
	give(NEW_TREE "/a/4", OLD_TREE "/a/4", &config);
	sh("cd " OLD_TREE " && test $(stat -c %%u a/4) = 1150 && "
	   "test $(getfacl -cn a/4 | grep -c ^user:) = 4 && "
	   "test $(getfacl -cn a/4 | grep -cE '^user:(151|1150|8):r--') = 3");
	owners_free(config.map_users);
	owners_free(config.map_groups);
}
END_TEST

/* A file system without ACLs: nobody is granted more. */
START_TEST(what_is_not_taken)
{
	const struct volume_config config = {0};

	trees_make(FILL);
	sh("mkdir /mnt/plain && mount -t ramfs plain /mnt/plain && touch /mnt/plain/1 && "
	   "cd " NEW_TREE " && chmod 644 a/1 && setfacl -m u:9:rwx,g::- a/1");
	give(NEW_TREE "/a/1", "/mnt/plain/1", &config);
	ck_assert_uint_eq(lost, 1);
	sh("test $(stat -c %%a /mnt/plain/1) = 600 -o $(stat -c %%a /mnt/plain/1) = 604");
}
END_TEST

/* What the old server never takes is a loss; what fails now, as of a full disk, is given later. */
START_TEST(what_is_a_loss)
{
	static const struct {
		int error;
		bool loss;
	} cases[] = {{EOPNOTSUPP, true},
		     {EPERM, true},
		     {EINVAL, true},
		     {ENODATA, true},
		     {E2BIG, true},
		     {ERANGE, true},
		     {ENAMETOOLONG, true},
		     {ENOSPC, false},
		     {EDQUOT, false},
		     {EROFS, false},
		     {EIO, true} /* of an ACL */,
		     {ESTALE, false}};
	const struct volume_config config = {0};
	struct attrs attrs;
	int a, b;

	trees_make(FILL);
	sh("setfacl -m u:9:r " NEW_TREE "/a/1");
	a = open(NEW_TREE "/a/1", O_PATH);
	b = open(OLD_TREE "/a/1", O_PATH);
	ck_assert_int_eq(attrs_read(a, &attrs), 0);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		lost = 0;
		failing = cases[i].error;
		const int ret = attrs_give(b, &attrs, &config, count, NULL);
		failing = 0;
		ck_assert_msg(ret == (cases[i].loss ? 0 : -cases[i].error), "%s: %d",
			      strerror(cases[i].error), ret);
		ck_assert_msg(lost == cases[i].loss, "%s: %u", strerror(cases[i].error), lost);
	}
	attrs_clear(&attrs);
	close(a);
	close(b);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, all_of_it);
	tcase_add_test(tcase, held);
	tcase_add_test(tcase, owners_backwards);
	tcase_add_test(tcase, what_is_not_taken);
	tcase_add_test(tcase, what_is_a_loss);
	return run_tcase(tcase);
}
