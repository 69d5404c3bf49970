/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core_copied.h"
#include "proving/likeness.h"

static struct core core;
static struct scratches *scratches;

/* How name differs from what the old one's attributes and user.x=1 become, as one text. */
static char *compare(const char *name, bool xattr)
{
	g_autofree char *old = g_strconcat(core.source, "/", name, NULL);
	g_autofree char *new = core_path(&core, name);
	struct source_xattrs *xattrs = source_xattrs_new();
	struct likeness like = {0};
	struct source_attr attr = {0};
	struct stat st;
	char *text;
	int fd = open(new, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(stat(old, &st), 0);
	attr.mode = st.st_mode;
	attr.uid = st.st_uid;
	attr.gid = st.st_gid;
	attr.mtime = st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	if (xattr)
		source_xattrs_add(xattrs, "user.x", "1", 1);
	ck_assert_int_eq(likeness_compare(scratches, fd, &attr, xattrs, &like), 0);
	text = g_strconcat(like.attributes->str, "|", like.xattrs->str, NULL);
	likeness_clear(&like);
	source_xattrs_free(xattrs);
	close(fd);
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
	Suite *suite = suite_create("likeness");
	TCase *tcase = CORE_TCASE(suite, "likeness", 60);

	tcase_add_test(tcase, tells);
	tcase_add_test(tcase, leaves_nothing);
	return run_suite(suite);
}
