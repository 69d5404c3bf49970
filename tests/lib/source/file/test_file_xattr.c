/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In a file of the directory that the program runs in: its file system has to have them. */
#include "lib/source/file/file_xattr.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/retriever/backend_support.h"

static char path[64];
static int fd;
static uint8_t *memory;
static struct source_xattrs *xattrs;

/* u::rw-,u:1001:r--,g::r--,m::r--,o::--- */
static const char acl[] = "\2\0\0\0"
			  "\1\0\6\0\377\377\377\377"
			  "\2\0\4\0\351\3\0\0"
			  "\4\0\4\0\377\377\377\377"
			  "\20\0\4\0\377\377\377\377"
			  "\40\0\0\0\377\377\377\377";
static const char trivial[] = "\2\0\0\0"
			      "\1\0\6\0\377\377\377\377"
			      "\4\0\4\0\377\377\377\377"
			      "\40\0\0\0\377\377\377\377";

static void setup(void)
{
	strcpy(path, "xattrs.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(path));
	fd = open(path, O_PATH);
	ck_assert_int_ge(fd, 0);
	/* To its very end, for the address sanitizer. */
	memory = g_malloc(FILE_XATTR_MEMORY);
	xattrs = source_xattrs_new();
}

static void teardown(void)
{
	close(fd);
	rmdir(path);
	g_free(memory);
	source_xattrs_free(xattrs);
}

static void set(const char *name, const void *value, size_t len)
{
	if (setxattr(path, name, value, len, 0) < 0)
		ck_abort_msg("%s: %s", name, strerror(errno));
}

static void get(bool nfs4)
{
	source_xattrs_free(xattrs);
	xattrs = source_xattrs_new();
	ck_assert_int_eq(file_get_xattrs(fd, nfs4, memory, xattrs), 0);
}

static void check(const char *name, const void *value, size_t len)
{
	const struct source_xattr *xattr;

	for (guint i = 0; i < xattrs->list->len; i++) {
		xattr = &g_array_index(xattrs->list, struct source_xattr, i);
		if (strcmp(xattr->name, name) != 0)
			continue;
		ck_assert_uint_eq(xattr->len, len);
		if (len)
			ck_assert_mem_eq(xattr->value, value, len);
		return;
	}
	ck_abort_msg("%s did not come", name);
}

START_TEST(nothing_is_nothing)
{
	get(false);
	ck_assert_uint_eq(xattrs->list->len + xattrs->lost->len, 0);
	ck_assert(!file_has_nfs4_acls(fd, memory));
}
END_TEST

START_TEST(acls_and_user_attributes_come)
{
	char big[3000];

	memset(big, 0xfe, sizeof(big));
	set("user.one", "1\0\n", 3);
	set("user.empty", "", 0);
	set("user.big", big, sizeof(big));
	set("user.\303\244 = \"", "x", 1);
	set("system.posix_acl_access", acl, sizeof(acl) - 1);
	set("system.posix_acl_default", trivial, sizeof(trivial) - 1);
	get(false);
	ck_assert_uint_eq(xattrs->list->len, 6);
	ck_assert_uint_eq(xattrs->lost->len, 0);
	check("user.one", "1\0\n", 3);
	check("user.empty", "", 0);
	check("user.big", big, sizeof(big));
	check("user.\303\244 = \"", "x", 1);
	check("system.posix_acl_access", acl, sizeof(acl) - 1);
	check("system.posix_acl_default", trivial, sizeof(trivial) - 1);
}
END_TEST

START_TEST(what_stays_behind_is_told)
{
	set("security.capability", "\1\0\0\2\0\40\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
	set("trusted.something", "x", 1);
	set("user.one", "1", 1);
	get(false);
	ck_assert_uint_eq(xattrs->list->len, 1);
	ck_assert_uint_eq(xattrs->lost->len, 2);
	for (guint i = 0; i < 2; i++) {
		const char *line = xattrs->lost->pdata[i];

		ck_assert_msg(g_str_has_prefix(line, "security.capability: file capabilities") ||
				      strcmp(line, "trusted.something: not carried") == 0,
			      "%s", line);
	}
}
END_TEST

START_TEST(flags_stay_behind)
{
	file_tell_flags(FS_EXTENT_FL | FS_PROJINHERIT_FL, xattrs);
	ck_assert_uint_eq(xattrs->lost->len, 0);
	file_tell_flags(FS_EXTENT_FL | FS_IMMUTABLE_FL | FS_APPEND_FL, xattrs);
	ck_assert_uint_eq(xattrs->lost->len, 1);
	ck_assert_str_eq(xattrs->lost->pdata[0],
			 "flags (chattr +ia): not carried; set them when it is whole");
}
END_TEST

START_TEST(labels_of_the_host_are_not_told_of)
{
	set("security.selinux", "system_u:object_r:etc_t:s0", 27);
	set("trusted.SGI_ACL_FILE", "x", 1); /* an ACL of xfs is listed by this name too */
	get(false);
	ck_assert_uint_eq(xattrs->list->len + xattrs->lost->len, 0);
}
END_TEST

START_TEST(failures_are_returned)
{
	int none = dup(fd);

	close(none);
	ck_assert_int_eq(file_get_xattrs(none, false, memory, xattrs), -ENOENT);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, nothing_is_nothing);
	tcase_add_test(tcase, acls_and_user_attributes_come);
	tcase_add_test(tcase, what_stays_behind_is_told);
	tcase_add_test(tcase, flags_stay_behind);
	tcase_add_test(tcase, labels_of_the_host_are_not_told_of);
	tcase_add_test(tcase, failures_are_returned);
	return run_tcase(tcase);
}
