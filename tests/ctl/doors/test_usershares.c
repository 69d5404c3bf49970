/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/record.h"
#include "ctl/doors/served.h"
#include "tests/suite.h"

static char tree[64];
static unsigned warnings;

static void count(void *arg, const char *line)
{
	warnings++;
}

static char *put(const char *name, const char *text)
{
	char *path = g_build_filename(tree, name, NULL);

	ck_assert(g_file_set_contents(path, text, -1, NULL));
	return path;
}

/* What Samba serves that prints these settings of [global], and shares behind them. */
static void is(const char *settings, const char *wanted)
{
	g_autoptr(GPtrArray) list = served_new();
	g_autoptr(GString) all = g_string_new(NULL);
	g_autofree char *text =
		g_strdup_printf("[global]\nusershare path = %s\n%s", tree, settings);

	served_by_samba(list, text, count, NULL);
	for (guint i = 0; i < list->len; i++) {
		const struct served *served = list->pdata[i];

		g_string_append_printf(all, "%s %s %d|", served->name, served->path, served->layer);
	}
	ck_assert_str_eq(all->str, wanted);
}

START_TEST(files_of_users)
{
	make_scratch(tree, "usershares");
	ck_assert_int_eq(chmod(tree, 01770), 0);
	g_autofree char *mine = put("mine", "#VERSION 2\npath=/usr\ncomment=path=/x\n"
					    "usershare_acl=S-1-1-0:R\nsharename=Mine\n");

	is("", "usershare [Mine] /usr 0|");
	is("vfs objects = migrate acl_xattr\n", "usershare [Mine] /usr 1|");
	is("usershare template share = T\n[t]\navailable = no\nvfs objects = migrate\n[u]\n",
	   "usershare [Mine] /usr 1|");
	is("usershare template share = T\n[t]\n[u]\nvfs objects = migrate\n",
	   "usershare [Mine] /usr 0|");
	is("vfs objects = migrate\nusershare template share =\n", "usershare [Mine] /usr 1|");
	ck_assert_uint_eq(warnings, 0);
	/* the template is not printed */
	is("vfs objects = migrate\nusershare template share = t\n", "usershare [Mine] /usr 0|");
	ck_assert_uint_eq(warnings, 1);
	is("usershare max shares = 0\n", "");
	/* a user shares what is his */
	ck_assert_int_eq(chown(mine, 1000, 1000), 0);
	is("", "");
	is("usershare owner only = No\n", "usershare [Mine] /usr 0|");
	g_autofree char *below = g_build_filename(tree, "his", NULL);
	ck_assert_int_eq(g_mkdir(below, 0755), 0);
	ck_assert_int_eq(chown(below, 1000, 1000), 0);
	g_autofree char *his_text = g_strdup_printf("#VERSION 2\npath=%s\n", below);
	g_autofree char *his = put("mine", his_text);
	ck_assert_int_eq(chown(his, 1000, 1000), 0);
	g_autofree char *his_line = g_strdup_printf("usershare [mine] %s 0|", below);
	is("", his_line);
	/* which is filled later, or is there with its owner */
	g_rmdir(below);
	is("", his_line);
	ck_assert_int_eq(g_mkdir(below, 0755), 0);
	is("", "");
	ck_assert_int_eq(setxattr(below, MIGRATE_XATTR, "damaged", 7, 0), 0);
	is("", his_line);
	g_rmdir(below);
	/* those that Samba does not take */
	ck_assert_int_eq(chmod(his, 0666), 0);
	is("", "");
	ck_assert_int_eq(unlink(his), 0);
	g_autofree char *link = g_build_filename(tree, "link", NULL);
	ck_assert_int_eq(symlink("old", link), 0);
	g_autofree char *other = put("other", "path=/usr\n");
	g_autofree char *relative = put("relative", "#VERSION 1\npath=usr\n");
	g_autofree char *pipe = g_build_filename(tree, "pipe", NULL);
	ck_assert_int_eq(mkfifo(pipe, 0600), 0);
	is("", "");
	g_autofree char *old = put("old", "#VERSION 1\npath=/var/%U\n");
	is("", "usershare [old] /var/%U 0|");
	static const mode_t not_taken[] = {0770, 01777, 0777};
	for (unsigned i = 0; i < G_N_ELEMENTS(not_taken); i++) {
		ck_assert_int_eq(chmod(tree, not_taken[i]), 0);
		is("", "");
	}
	ck_assert_int_eq(chmod(tree, 01770), 0);
	ck_assert_int_eq(chown(tree, 1000, 0), 0);
	is("", "");
	ck_assert_int_eq(chown(tree, 0, 0), 0);
	is("", "usershare [old] /var/%U 0|");
	for (const char **path = (const char *[]){mine, link, other, relative, pipe, old, NULL};
	     *path; path++)
		g_unlink(*path);
	is("", "");
	g_rmdir(tree);
	is("", "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("usershares");
	TCase *tcase = tcase_create("usershares");

	tcase_add_test(tcase, files_of_users);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
