/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of an object that has an NFSv4 ACL, by acl-mode. */
#include "tests/retriever/core_hook.h"
#include "tests/retriever/core_xattrs.h"

#include "lib/acl/nfs4_posix.h"
#include "lib/report/omissions.h"
#include "lib/report/losses.h"
#include "retriever/objects/errors.h"
#include "tests/retriever/nfs4_acl_support.h"
#include "tests/retriever/nt_support.h"

#define TEXT "A::OWNER@:rwaC,A:g:1002:r,D::EVERYONE@:x,A::EVERYONE@:rC"

static struct core core;

/* The descriptor of the file "f", owned by 5:6 on the old server. */
static int make_stub(enum acl_mode mode, const char *text)
{
	g_autofree char *path = NULL;

	core_make(&core);
	core_carry(&core);
	core_source_file(&core, "f", 5000, 1);
	path = g_strconcat(core.source, "/f", NULL);
	ck_assert_int_eq(lchown(path, 5, 6), 0);
	ck_assert_int_eq(chmod(path, 02644), 0);
	core_xattrs_of("f")->nfs4_acl = nfs4_acl(text);
	core_start(&core);
	((struct volume_config *)core.retriever->config)->acl_mode = mode;
	return core_find(&core, "f", O_RDONLY);
}

static mode_t mode_of(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_mode & 07777;
}

static void expect_posix(int fd)
{
	uint32_t len;
	g_autofree uint8_t *value = core_acl("u::6 g::4 g:1002:4 m::4 o::4", &len);
	uint8_t got[256];

	ck_assert_int_eq(fgetxattr(fd, XATTR_ACL_ACCESS, got, sizeof(got)), len);
	ck_assert_mem_eq(got, value, len);
	ck_assert_uint_eq(mode_of(fd), 02644);
	core_expect_report(&core, "acl\t");
	core_expect_report(&core, "it was " TEXT);
}

static void end(int fd)
{
	core_free_with(&core, fd);
}

START_TEST(posix)
{
	int fd = make_stub(ACL_MODE_POSIX, TEXT);

	expect_posix(fd);
	ck_assert_int_lt(fgetxattr(fd, XATTR_NFS4_KEPT, NULL, 0), 0);
	ck_assert_int_lt(fgetxattr(fd, XATTR_NTACL, NULL, 0), 0);
	end(fd);
}
END_TEST

START_TEST(a_mode_is_enough)
{
	int fd = make_stub(ACL_MODE_POSIX, "A::OWNER@:rwa,A::EVERYONE@:r");

	ck_assert_int_lt(fgetxattr(fd, XATTR_ACL_ACCESS, NULL, 0), 0);
	ck_assert_uint_eq(mode_of(fd), 02644);
	ck_assert_uint_eq(losses_count(core.retriever->losses), 0);
	end(fd);
}
END_TEST

START_TEST(the_acl_is_the_mode)
{
	int fd = make_stub(ACL_MODE_POSIX, "A::OWNER@:r");

	ck_assert_uint_eq(mode_of(fd), 02440);
	core_expect_report(&core, "mode");
	end(fd);
}
END_TEST

START_TEST(keep)
{
	int fd = make_stub(ACL_MODE_KEEP, TEXT);
	char got[256];

	expect_posix(fd);
	ck_assert_int_eq(fgetxattr(fd, XATTR_NFS4_KEPT, got, sizeof(got)), strlen(TEXT));
	ck_assert_mem_eq(got, TEXT, strlen(TEXT));
	end(fd);
}
END_TEST

START_TEST(nt)
{
	int fd = make_stub(ACL_MODE_NT, TEXT);
	uint8_t got[512];
	ssize_t len = fgetxattr(fd, XATTR_NTACL, got, sizeof(got));
	g_autoptr(GByteArray) expected =
		nt_text(0x8004, "S-1-22-1-5", "S-1-22-2-6", NULL,
			"0 0 14001f S-1-22-1-5,0 0 100009 S-1-22-2-1002,1 0 20 " WORLD
			",0 0 140009 " WORLD);

	expect_posix(fd);
	ck_assert_int_eq(len, 8 + expected->len);
	ck_assert_mem_eq(got + 8 + 20, expected->data + 20, expected->len - 20);
	end(fd);
}
END_TEST

/* The mark says which, so that nothing else is excused. */
START_TEST(what_could_not_be_set)
{
	static const char *const names[] = {XATTR_NFS4_KEPT, XATTR_NTACL};
	struct omissions left;
	char fd_path[32];
	int fd;

	core_fail_errno = E2BIG;
	core_fail_xattr = names[_i];
	fd = make_stub(_i ? ACL_MODE_NT : ACL_MODE_KEEP, TEXT);
	expect_posix(fd);
	core_expect_report(&core, "the NFSv4 ACL could not be ");
	g_snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", fd);
	omissions_get(fd_path, &left);
	ck_assert_uint_eq(left.what, LEFT_ACL | LEFT_NAMES);
	ck_assert(omissions_has(&left, names[_i]) && !omissions_has(&left, names[!_i]));
	end(fd);
}
END_TEST

int main(void)
{
	TCase *tc = core_tcase("attributes_nfs4", 60);

	tcase_add_test(tc, posix);
	tcase_add_test(tc, a_mode_is_enough);
	tcase_add_test(tc, the_acl_is_the_mode);
	tcase_add_test(tc, keep);
	tcase_add_test(tc, nt);
	tcase_add_loop_test(tc, what_could_not_be_set, 0, 2);
	return run_tcase(tc);
}
