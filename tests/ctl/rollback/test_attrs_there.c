/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/attrs.h"

#include <sys/wait.h>
#include <sys/xattr.h>

#include "lib/source/posix_acl.h"
#include "tests/ctl/rollback/trees.h"

#define ALL (TOLD_KNOWN | TOLD_ACLS | TOLD_XATTRS)

static struct volume_config config = {.source = (char *)"file:///mnt/old"};
static bool written;
static unsigned lost;
static GHashTable *gave;

static void count(void *arg, const char *what)
{
	lost++;
}

/* OLD_TREE and NEW_TREE: the object's two sides. */
static void begin(void)
{
	trees_make("touch 1 && mkdir d && "
		   "touch -hd 2001-02-03T04:05:06.789 1 d");
}

static void give(const char *name, struct attrs_base base)
{
	g_autofree char *from = g_build_filename(NEW_TREE, name, NULL);
	g_autofree char *to = g_build_filename(OLD_TREE, name, NULL);
	struct attrs attrs;
	struct stat st;
	int a = open(from, O_PATH), b = open(to, O_PATH);

	ck_assert_int_eq(fstat(b, &st), 0);
	ck_assert_int_eq(attrs_read(a, &attrs), 0);
	base.old = &st;
	attrs.base = &base;
	attrs.gave = &gave;
	attrs.written = written;
	lost = 0;
	ck_assert_int_eq(attrs_give(b, &attrs, &config, count, NULL), 0);
	attrs_clear(&attrs);
	close(a);
	close(b);
}

static bool has(const char *name, const char *xattr)
{
	g_autofree char *path = g_build_filename(OLD_TREE, name, NULL);

	return getxattr(path, xattr, NULL, 0) >= 0;
}

#define ACL "u::rw,u:9:r,g::-,m::r,o::-"

/* A class of which the source does not tell, or which nobody knows about. */
START_TEST(never_told)
{
	begin();
	sh("setfacl -m " ACL " " OLD_TREE "/1");
	give("1", (struct attrs_base){.told = TOLD_KNOWN | TOLD_XATTRS, .set = true});
	ck_assert(has("1", XATTR_ACL_ACCESS));
	ck_assert_uint_eq(lost, 0);
	give("1", (struct attrs_base){.told = 0, .set = true});
	ck_assert(has("1", XATTR_ACL_ACCESS));
	ck_assert_uint_eq(lost, 1); /* a client may have removed it */
	give("1", (struct attrs_base){.told = ALL, .set = false});
	ck_assert(has("1", XATTR_ACL_ACCESS));
	give("1", (struct attrs_base){.told = ALL, .set = true});
	ck_assert(!has("1", XATTR_ACL_ACCESS));
	ck_assert_uint_eq(lost, 0);
}
END_TEST

/* What came from here goes again. */
START_TEST(given)
{
	begin();
	sh("setfacl -m " ACL " " NEW_TREE "/1");
	give("1", (struct attrs_base){.told = TOLD_KNOWN, .set = true});
	ck_assert(has("1", XATTR_ACL_ACCESS));
	ck_assert(gave && g_hash_table_contains(gave, XATTR_ACL_ACCESS));
	sh("setfacl -b " NEW_TREE "/1");
	give("1", (struct attrs_base){.told = TOLD_KNOWN, .set = true, .given = gave});
	ck_assert(!has("1", XATTR_ACL_ACCESS));
	g_clear_pointer(&gave, g_hash_table_unref);
	sh("setfacl -m " ACL " " NEW_TREE "/1");
	give("1", (struct attrs_base){.told = ALL, .set = true});
	ck_assert_ptr_null(gave); /* that is known without */
}
END_TEST

/* An owner who is nobody here, the mode and the ACL without him, a time that could not be kept. */
START_TEST(stand_ins)
{
	const struct attrs_base base = {.told = ALL, .set = true};
	struct stat st;

	begin();
	sh("cd " OLD_TREE
	   " && chown 5:6 1 && chmod 4764 1 && touch -d 2001-02-03T04:05:06.789 1 && "
	   "setfacl -m u:9:rwx,m::rw d");
	sh("cd " NEW_TREE
	   " && chown 65534:6 1 && chmod 0064 1 && touch -d 2001-02-03T04:05:06 1 && "
	   "chmod 700 d");
	mark("1", (struct omissions){.what = LEFT_OWNER | LEFT_MODE | LEFT_TIME});
	mark("d", (struct omissions){.what = LEFT_ACL});
	sh("chmod 0060 " NEW_TREE "/1");
	give("1", base);
	ck_assert_int_eq(stat(OLD_TREE "/1", &st), 0);
	ck_assert_uint_eq(st.st_uid, 5);
	ck_assert_uint_eq(st.st_mode & 07777, 0060); /* which a client has set */
	ck_assert_int_eq(st.st_mtim.tv_nsec, 789000000);
	sh("chown 7:8 " NEW_TREE "/1 && touch -d 2002-02-02 " NEW_TREE "/1");
	give("1", base);
	ck_assert_int_eq(stat(OLD_TREE "/1", &st), 0);
	ck_assert_uint_eq(st.st_uid, 7);
	ck_assert_uint_eq(st.st_gid, 8);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 0);
	give("d", base);
	ck_assert_int_eq(stat(OLD_TREE "/d", &st), 0);
	ck_assert(has("d", XATTR_ACL_ACCESS));
	ck_assert_uint_eq(st.st_mode & 070, 060);
}
END_TEST

/* Of which the old server told nothing, so that nobody may use it here. */
START_TEST(what_was_refused)
{
	const struct attrs_base base = {.told = ALL, .set = true};
	struct stat st;

	begin();
	sh("cd " OLD_TREE " && chown 5:6 1 d && chmod 764 1 d && setfacl -m u:9:rwx,m::rwx 1 d && "
	   "setfattr -n user.a -v b 1 && cd " NEW_TREE " && chmod 0 1 d");
	for (unsigned i = 0; i < 2; i++) {
		const char *name = i ? "d" : "1";
		g_autofree char *path = g_build_filename(OLD_TREE, name, NULL);

		mark(name,
		     (struct omissions){.what = LEFT_OWNER | LEFT_MODE | LEFT_ACL | LEFT_OTHERS});
		give(name, base);
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_uint_eq(st.st_uid, 5);
		ck_assert_uint_eq(st.st_gid, 6);
		ck_assert_uint_eq(st.st_mode & 07777, 0774);
		ck_assert(has(name, XATTR_ACL_ACCESS));
	}
	ck_assert(has("1", "user.a"));
}
END_TEST

/* A mark is of the kind that was left out. */
START_TEST(marks_of_other_kinds)
{
	const struct attrs_base base = {.told = ALL, .set = true};

	begin();
	sh("cd " NEW_TREE " && setfacl -m u:9:r 1");
	mark("1", (struct omissions){.what = LEFT_OTHERS | LEFT_SOURCE});
	sh("cd " OLD_TREE " && chown 7:8 1 && setfacl -m u:9:-,u:10:r 1 && chmod 600 1 && "
	   "touch -d 2002-02-02 1");
	give("1", base);
	ck_assert_uint_eq(lost, 0);
	same_trees();
	/* of which each says nothing of the others */
	mark("1", (struct omissions){.what = LEFT_TIME});
	sh("cd " OLD_TREE " && chown 7:8 1 && setfacl -m u:9:-,u:10:r 1 && chmod 600 1");
	give("1", base);
	same_trees();
	mark("1", (struct omissions){.what = LEFT_MODE});
	sh("cd " OLD_TREE " && chown 7:8 1 && setfacl -m u:9:-,u:10:r 1 && touch -d 2002-02-02 1");
	give("1", base);
	same_trees();
}
END_TEST

static void is_there(const char *name, const char *what)
{
	sh("cd " OLD_TREE " && is=$(stat -c %%u:%%g:%%a %s) && test $is = %s || { echo $is >&2; "
	   "false; }",
	   name, what);
}

/* Who becomes the owner or the group, or is named, gets no rights that stand there for another. */
START_TEST(nobody_gains)
{
	const struct attrs_base base = {.told = ALL, .set = true};
	static const struct {
		const char *command, *there;
	} cases[] = {
		{"true", "5:6:4770"},
		{"chown 7 1", "7:6:50"},
		{"chgrp 8 1", "5:8:50"},
		{"setfacl -m u:9:-,m::r 1", "5:6:40"},
		{"setfacl -m u:9:rx,m::rx 1", "5:6:50"},
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			begin();
			sh("cd " OLD_TREE " && chown 5:6 1 && chmod 4770 1 && cd " NEW_TREE
			   " && chown 65534:65533 1 && chmod 50 1");
			mark("1", (struct omissions){.what = LEFT_OWNER | LEFT_MODE});
			sh("cd " NEW_TREE " && %s", cases[i].command);
			give("1", base);
			is_there("1", cases[i].there);
			exit(0);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_msg(!status, "%s", cases[i].command);
	}
}
END_TEST

/* The owning group of an ACL that stands for another one. */
START_TEST(no_group_gains)
{
	const struct attrs_base base = {.told = ALL, .set = true};

	begin();
	sh("setfacl -m u:9:rwx,g::rwx,m::rwx " OLD_TREE
	   "/1 && setfacl -m u:9:rwx,g::-,m::rwx " NEW_TREE "/1 && chgrp 65533 " NEW_TREE "/1");
	mark("1", (struct omissions){.what = LEFT_OWNER});
	give("1", base);
	sh("getfacl -n " OLD_TREE "/1 | grep -q ^group::rwx");
	sh("chgrp 8 " NEW_TREE "/1");
	give("1", base);
	is_there("1", "0:8:674");
	sh("getfacl -n " OLD_TREE "/1 | grep -q ^group::---");
}
END_TEST

/* Set-id bits were for the data that were there. */
START_TEST(written_by_clients)
{
	struct attrs_base base = {.told = ALL, .set = true};

	begin();
	sh("chmod 4755 " OLD_TREE "/1 && chmod 755 " NEW_TREE "/1");
	mark("1", (struct omissions){.what = LEFT_MODE});
	for (unsigned i = 0; i < 2; i++, base.set = false) {
		sh("chmod 4755 " OLD_TREE "/1");
		written = false;
		give("1", base);
		is_there("1", "0:0:4755");
		written = true;
		give("1", base);
		is_there("1", "0:0:755");
	}
	/* what was remembered brings none back */
	base.set = true;
	base.given = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_hash_table_add(base.given, g_strdup("=stat 0 0 4755 0"));
	written = false;
	give("1", base);
	is_there("1", "0:0:755");
	g_hash_table_unref(base.given);
}
END_TEST

/* Whoever stands for nobody may be somebody to whom a client gave it. */
START_TEST(default_owner)
{
	const struct attrs_base base = {.told = ALL, .set = true};

	begin();
	config.default_given = 1;
	config.default_uid = config.default_gid = 1000;
	sh("chown 5:6 " OLD_TREE "/1 && chown 1000:1000 " NEW_TREE "/1");
	give("1", (struct attrs_base){.set = true});
	is_there("1", "5:6:644"); /* nobody knows what he stands for */
	give("1", base);
	is_there("1", "1000:1000:644");
}
END_TEST

/* A file whose data go there: whether another may take its place. */
START_TEST(holds_more)
{
	static const struct {
		const char *command;
		bool set, more;
	} cases[] = {
		{"true", true, false},
		{"setfattr -n trusted.kept -v 1 1", true, true},
		{"setfattr -n trusted.SGI_ACL_FILE -v 1 1", true, false},
		{"setfacl -m " ACL " 1", true, false},
		{"setfacl -m " ACL " 1", false, true},
		{"chattr +d 1", true, true},
	};
	struct attrs attrs;
	struct stat st;

	tree_mount = ON_EXT4;
	begin();
	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct attrs_base base = {.told = ALL, .set = cases[i].set, .old = &st};
		int from = open(NEW_TREE "/1", O_PATH), to;

		sh("cd " OLD_TREE " && rm 1 && echo 1 >1 && chmod 644 1 && %s", cases[i].command);
		to = open(OLD_TREE "/1", O_RDONLY);
		ck_assert_int_eq(fstat(to, &st), 0);
		ck_assert_int_eq(attrs_read(from, &attrs), 0);
		ck_assert(!attrs_holds_more(to, &attrs)); /* made here */
		attrs.base = &base;
		ck_assert_msg(attrs_holds_more(to, &attrs) == cases[i].more, "%s",
			      cases[i].command);
		attrs_clear(&attrs);
		close(from);
		close(to);
	}
}
END_TEST

/* An ACL that came as one of NFS version 4 lost what its mask hides. */
START_TEST(translated)
{
	const struct attrs_base base = {.told = ALL | TOLD_NFS4, .set = true};

	begin();
	sh("setfacl -m u:9:rwx,g::r,m::r " OLD_TREE "/1 && setfacl -m u:9:r,g::r,m::r " NEW_TREE
	   "/1");
	give("1", base);
	sh("getfacl -n " OLD_TREE "/1 | grep -q ^user:9:rwx");
	sh("setfacl -m u:9:-,m::r " NEW_TREE "/1");
	give("1", base);
	sh("getfacl -n " OLD_TREE "/1 | grep -q ^user:9:---");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, never_told);
	tcase_add_test(tcase, given);
	tcase_add_test(tcase, stand_ins);
	tcase_add_test(tcase, what_was_refused);
	tcase_add_test(tcase, marks_of_other_kinds);
	tcase_add_test(tcase, nobody_gains);
	tcase_add_test(tcase, no_group_gains);
	tcase_add_test(tcase, written_by_clients);
	tcase_add_test(tcase, default_owner);
	tcase_add_test(tcase, holds_more);
	tcase_add_test(tcase, translated);
	return run_tcase(tcase);
}
