/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/acl/nfs4_posix.h"
#include "lib/acl/nt_acl.h"
#include "lib/acl/smb_descriptor.h"
#include "retriever/compare/likeness.h"
#include "tests/retriever/core_copied.h"
#include "tests/retriever/core_xattrs.h"
#include "tests/retriever/nfs4_acl_support.h"

static struct core core;
static struct scratches *scratches;
static bool lost; /* likeness.lost of the last one */

static struct source_attr attr_of(const char *name)
{
	g_autofree char *old = g_strconcat(core.source, "/", name, NULL);
	struct stat st;

	ck_assert_int_eq(stat(old, &st), 0);
	return (struct source_attr){.mode = st.st_mode,
				    .uid = st.st_uid,
				    .gid = st.st_gid,
				    .mtime = migrate_ns(st.st_mtim)};
}

static int open_new(const char *name)
{
	g_autofree char *new = core_path(&core, name);
	int fd = open(new, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* How name differs from what the old one's attributes and these become, as one text. */
static char *compare_with(const char *name, const struct source_xattrs *xattrs)
{
	struct source_attr attr = attr_of(name);
	struct likeness like = {0};
	int fd = open_new(name);
	char *text;

	ck_assert_int_eq(likeness_compare(scratches, fd, &attr, xattrs, &like), 0);
	text = g_strconcat(like.attributes->str, "|", like.xattrs->str, NULL);
	lost = like.lost;
	likeness_clear(&like);
	close(fd);
	return text;
}

static void expect(const char *name, const struct source_xattrs *xattrs, const char *text)
{
	g_autofree char *found = compare_with(name, xattrs);

	ck_assert_str_eq(found, text);
}

/* With user.x=1. */
static char *compare(const char *name, bool xattr)
{
	struct source_xattrs *xattrs = source_xattrs_new();
	char *text;

	if (xattr)
		source_xattrs_add(xattrs, "user.x", "1", 1);
	text = compare_with(name, xattrs);
	source_xattrs_free(xattrs);
	return text;
}

static void is(const char *name, bool xattr, const char *text)
{
	g_autofree char *found = compare(name, xattr);

	ck_assert_str_eq(found, text);
}

START_TEST(tells)
{
	core_copied(&core, NULL);
	scratches = scratches_new(core.retriever);
	is("a", false, "|");
	is("d", false, "|");
	is("a", true, "|user.x is missing");
	core_shell(&core, "setfattr -n user.x -v 1 $new/a; setfattr -n user.x -v 1 $new/d");
	is("a", true, "|");
	is("d", true, "|");
	is("a", false, "|user.x is not there on the old server");
	core_shell(&core, "setfattr -n user.x -v 2 $new/a");
	is("a", true, "|user.x is another one");
	core_shell(&core, "chmod 600 $new/b; chown 7:8 $new/b; touch -d @5 $new/b");
	is("b", false,
	   "owner 7 and not 0, group 8 and not 0, mode 0600 and not 0644, mtime 5.000000000 and "
	   "not 1100000002.123456789|");
	scratches_free(scratches);
	core_free(&core);
}
END_TEST

static void leave_out(const char *name, unsigned what, const char *xattr)
{
	struct omissions left = {.what = what};
	int fd = open_new(name);

	if (xattr)
		omissions_add(&left, xattr);
	ck_assert_int_eq(omissions_put(fd, NULL, &left), 0);
	close(fd);
}

/* So many others, and what has no name. */
static void leave_out_many(const char *name, unsigned n)
{
	struct omissions left = {.what = LEFT_OTHERS};
	int fd = open_new(name);

	for (unsigned i = 0; i < n; i++) {
		g_autofree char *xattr = g_strdup_printf("user.other%u", i);

		omissions_add(&left, xattr);
	}
	ck_assert_int_eq(omissions_put(fd, NULL, &left), 0);
	close(fd);
}

/* The mark of what was left out is believed, and nothing beyond it. */
START_TEST(what_had_no_room_beside_a_record)
{
	static const uint8_t zeros[200];
	struct source_xattrs *xattrs = source_xattrs_new();
	struct source_attr attr;
	int fd;

	core_copied(&core, NULL);
	scratches = scratches_new(core.retriever);
	source_xattrs_add(xattrs, "user.a", zeros, 100);
	source_xattrs_add(xattrs, "user.b", zeros, 200);
	source_xattrs_add(xattrs, "user.c", "1", 1);
	fd = open_new("a");
	ck_assert_int_eq(fsetxattr(fd, "user.a", zeros, 100, 0), 0);
	ck_assert_int_eq(fsetxattr(fd, "user.c", "1", 1, 0), 0);
	close(fd);
	expect("a", xattrs, "|user.b is missing");
	ck_assert(!lost);
	leave_out("a", 0, "user.b");
	expect("a", xattrs, "|");
	ck_assert(lost);
	core_room = 360; /* beside user.b the scratch has none for user.c */
	expect("a", xattrs, "|");
	core_shell(&core, "setfattr -n user.c -v 2 $new/a");
	expect("a", xattrs, "|user.c is not there on the old server");
	core_room = 0;
	expect("a", xattrs, "|user.c is another one");
	core_shell(&core, "setfattr -n user.b -v 2 $new/a; setfattr -n user.c -v 1 $new/a");
	expect("a", xattrs, "|user.b is another one");
	core_shell(&core, "setfattr -x user.b $new/a");
	leave_out_many("a", LEFT_NAMES_MAX); /* and what has no name, but no more of these */
	expect("a", xattrs, "|user.b is missing");
	leave_out_many("a", LEFT_NAMES_MAX + 1);
	expect("a", xattrs, "|");
	leave_out("a", 0, "user.b");
	core_shell(&core, "setfattr -x user.c $new/a");
	expect("a", xattrs, "|user.c is missing");
	attr = attr_of("a");
	fd = open_new("a");
	ck_assert_int_eq(likeness_mend(scratches, fd, &attr, xattrs), 0);
	ck_assert_int_lt(fgetxattr(fd, XATTR_LEFT_OUT, NULL, 0), 0);
	close(fd);
	expect("a", xattrs, "|");
	ck_assert(!lost);
	source_xattrs_free(xattrs);
	scratches_free(scratches);
	core_free(&core);
}
END_TEST

/* Likewise an ACL, as long as its stand-in is what it was. */
START_TEST(an_acl_that_had_no_room)
{
	struct source_xattrs *xattrs = source_xattrs_new();
	uint32_t len;
	g_autofree uint8_t *acl = core_acl("u::6 u:1000:4 g::4 m::4 o::4", &len);

	core_copied(&core, NULL);
	scratches = scratches_new(core.retriever);
	source_xattrs_add(xattrs, XATTR_ACL_ACCESS, acl, len);
	core_shell(&core, "chmod 600 $new/a");
	expect("a", xattrs, "mode 0600 and not 0644|system.posix_acl_access is missing");
	leave_out("a", LEFT_ACL, NULL);
	expect("a", xattrs, "|");
	ck_assert(lost);
	core_shell(&core, "chmod 604 $new/a");
	expect("a", xattrs, "mode 0604 and not 0644|system.posix_acl_access is missing");
	core_shell(&core, "chmod 600 $new/a; setfacl -m u:1000:rwx $new/a");
	expect("a", xattrs, "mode 0670 and not 0644|system.posix_acl_access is another one");
	source_xattrs_free(xattrs);
	scratches_free(scratches);
	core_free(&core);
}
END_TEST

/* Those that are not POSIX only by name: nothing tells what stands in for them. */
START_TEST(an_acl_of_another_kind)
{
	static const char *const names[] = {XATTR_NFS4_KEPT, XATTR_NTACL};
	struct source_xattrs *xattrs = source_xattrs_new();
	g_autofree char *missing = g_strdup_printf("|%s is missing", names[_i]);

	core_copied(&core, NULL);
	((struct volume_config *)core.retriever->config)->acl_mode =
		_i ? ACL_MODE_NT : ACL_MODE_KEEP;
	scratches = scratches_new(core.retriever);
	xattrs->nfs4_acl = nfs4_acl("A::OWNER@:rwa,A::EVERYONE@:r");
	leave_out("a", LEFT_ACL, NULL);
	expect("a", xattrs, missing);
	leave_out("a", LEFT_ACL, names[!_i]);
	expect("a", xattrs, missing);
	leave_out("a", LEFT_ACL, names[_i]);
	expect("a", xattrs, "|");
	ck_assert(lost);
	source_xattrs_free(xattrs);
	scratches_free(scratches);
	core_free(&core);
}
END_TEST

/* Samba's, of a file that was never given one through it. */
START_TEST(times_of_creation_that_are_made_up)
{
	uint8_t there[24] = {0, 0, 5, 0, 5, 0, 0, 0, 0x11}, here[24];
	struct source_xattrs *xattrs = source_xattrs_new();
	uint64_t time;

	core_copied(&core, NULL);
	scratches = scratches_new(core.retriever);
	time = (uint64_t)(attr_of("a").mtime / 100 + INT64_C(116444736000000000));
	memcpy(there + 16, &time, 8); /* little-endian hosts */
	source_xattrs_add(xattrs, XATTR_DOSATTRIB, there, sizeof there);
	for (int how = 0; how < 4; how++) {
		const uint64_t other = how == 1 ? time + 1 : time - 10;
		int fd = open_new("a");

		memcpy(here, there, sizeof here);
		memcpy(here + 16, &other, 8);
		here[12] = how == 2; /* read-only */
		ck_assert_int_eq(fsetxattr(fd, XATTR_DOSATTRIB, here, how == 3 ? 20 : 24, 0), 0);
		expect("a", xattrs, how ? "|user.DOSATTRIB is another one" : "|");
		close(fd);
	}
	core_shell(&core, "touch -d @1000 $old/a $new/a"); /* then it is none of its times */
	memcpy(here, there, sizeof here);
	here[16]--;
	core_shell(&core, "setfattr -x user.DOSATTRIB $new/a");
	{
		int fd = open_new("a");

		ck_assert_int_eq(fsetxattr(fd, XATTR_DOSATTRIB, here, 24, 0), 0);
		expect("a", xattrs, "|user.DOSATTRIB is another one");
		close(fd);
	}
	source_xattrs_free(xattrs);
	scratches_free(scratches);
	core_free(&core);
}
END_TEST

/* A scratch for a directory has a name for a moment: nobody is to see that it had. */
START_TEST(leaves_nothing)
{
	struct stat before, after;

	core_copied(&core, NULL);
	scratches = scratches_new(core.retriever);
	ck_assert_int_eq(stat(core.root, &before), 0);
	is("d", false, "|");
	ck_assert_int_eq(stat(core.root, &after), 0);
	ck_assert_int_eq(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
	ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	core_shell(&core, "[ \"$(ls -A $new)\" = \"$(ls -A $old)\" ]");
	scratches_free(scratches);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("likeness", 60);

	tcase_add_test(tcase, tells);
	tcase_add_test(tcase, leaves_nothing);
	tcase_add_test(tcase, what_had_no_room_beside_a_record);
	tcase_add_test(tcase, an_acl_that_had_no_room);
	tcase_add_loop_test(tcase, an_acl_of_another_kind, 0, 2);
	tcase_add_test(tcase, times_of_creation_that_are_made_up);
	return run_tcase(tcase);
}
