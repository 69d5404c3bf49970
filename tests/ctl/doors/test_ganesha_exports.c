/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/doors/served.h"
#include "tests/suite.h"

static char tree[64];
static GString *warned;

static void set_up(void)
{
	make_scratch(tree, "exports");
	warned = g_string_new(NULL);
}

static void tear_down(void)
{
	const char *const argv[] = {"rm", "-r", tree, NULL};

	ck_assert(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
			       NULL, NULL, NULL));
	g_string_free(warned, TRUE);
}

static void warn(void *arg, const char *line)
{
	g_string_append_printf(warned, "%s\n", line);
}

static char *put(const char *name, const char *text)
{
	char *path = g_build_filename(tree, name, NULL);

	ck_assert(g_file_set_contents(path, text, -1, NULL));
	return path;
}

/* "NAME PATH LAYER|..." of what the file exports. */
static char *exports(const char *text)
{
	g_autofree char *path = put("ganesha.conf", text);
	g_autoptr(GPtrArray) list = served_new();
	GString *all = g_string_new(NULL);

	served_by_ganesha(list, path, warn, NULL);
	for (guint i = 0; i < list->len; i++) {
		const struct served *served = list->pdata[i];

		g_string_append_printf(all, "%s %s %d|", served->name, served->path, served->layer);
	}
	return g_string_free(all, FALSE);
}

static void is(const char *text, const char *wanted)
{
	g_autofree char *got = exports(text);

	ck_assert_str_eq(got, wanted);
}

#define LAYERED "FSAL { Name = MIGRATE; Volume = \"v\"; FSAL { Name = VFS; } }"

START_TEST(exports_and_layers)
{
	is("EXPORT { Export_Id = 1; Path = /srv/v; " LAYERED " }", "export 1 /srv/v 1|");
	is("EXPORT { Export_Id = 2; Path = /srv/v; FSAL { Name = VFS; } }", "export 2 /srv/v 0|");
	is("EXPORT { FSAL { FSAL { Name = VFS; } Volume = v; Name = MIGRATE; } Path = /v; }",
	   "export without a number /v 1|");
	is("EXPORT { Path = /v; FSAL { Name = NULL; FSAL { Name = VFS; } } }",
	   "export without a number /v 0|");
	is("EXPORT { Path = /v; FSAL { Name = XFS; } }", "export without a number /v 0|");
	/* not of this machine */
	is("EXPORT { Path = /v; FSAL { Name = CEPH; } } EXPORT { Path = /v; FSAL { Name = PROXY; } "
	   "}",
	   "");
	is("EXPORT_DEFAULTS { Path = /v; } NFS_CORE_PARAM { FSAL { Name = VFS; } }", "");
	is("", "");
	ck_assert_str_eq(warned->str, "");
}
END_TEST

/* As the server reads it. */
START_TEST(spelling)
{
	is("export{eXport_iD=7;pATH=\"/srv/a b\" ; fsal{name=\"vfs\";}}", "export 7 /srv/a b 0|");
	is("EXPORT\n{\n# Path = /no;\n  Path = '/srv/v/'; # } \n Squash = None;\n"
	   "  CLIENT { Clients = 10.0.0.0/8, *.x; Access_Type = RO; }\n"
	   "  FSAL { Name = VFS; # Name = MIGRATE;\n } }\n",
	   "export without a number /srv/v/ 0|");
	is("EXPORT { Path = \"/a#b;{}\"; Tag = \"a\\\"b\"; FSAL { Name = VFS } }",
	   "export without a number /a#b;{} 0|");
	/* the end is missing */
	is("EXPORT { Path = /v; FSAL { Name = VFS; }", "export without a number /v 0|");
	ck_assert_str_eq(warned->str, "");
}
END_TEST

START_TEST(includes)
{
	g_autofree char *one G_GNUC_UNUSED =
		put("one", "EXPORT { Path = /one; FSAL { Name = VFS; } }");
	g_autofree char *fsal G_GNUC_UNUSED = put("fsal", "FSAL { Name = VFS; }");
	g_autofree char *text = g_strdup_printf(
		"%%include \"%s/one\"\n%%include one\nEXPORT { Path = /two; %%INCLUDE fsal\n }",
		tree);

	is(text, "export without a number /one 0|export without a number /one 0|"
		 "export without a number /two 0|");
	ck_assert_str_eq(warned->str, "");
	is("%include ganesha.conf\nEXPORT { Path = /v; FSAL { Name = VFS; } }",
	   "export without a number /v 0|export without a number /v 0|export without a number /v 0|"
	   "export without a number /v 0|export without a number /v 0|export without a number /v 0|"
	   "export without a number /v 0|export without a number /v 0|export without a number /v 0|"
	   "export without a number /v 0|export without a number /v 0|");
	ck_assert(strstr(warned->str, "too deep"));
}
END_TEST

/* What is not understood hides nothing of the rest. */
START_TEST(not_understood)
{
	is("%include nowhere\n%url \"rados://x\"\nEXPORT { Path = /v; FSAL { Name = VFS; } }",
	   "export without a number /v 0|");
	ck_assert(strstr(warned->str, "nowhere"));
	ck_assert(strstr(warned->str, "line 2"));
	g_string_truncate(warned, 0);
	is("} = ; EXPORT { Path = /v; FSAL { Name = VFS; } }", "export without a number /v 0|");
	ck_assert(strstr(warned->str, "line 1"));
	g_string_truncate(warned, 0);
	is("EXPORT { Path = \"/v; FSAL { Name = VFS; } }", "");
	ck_assert(strstr(warned->str, "no end"));
	is("%", "");
	is("{", "");
	is("=", "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ganesha_exports");
	TCase *tcase = tcase_create("ganesha_exports");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, exports_and_layers);
	tcase_add_test(tcase, spelling);
	tcase_add_test(tcase, includes);
	tcase_add_test(tcase, not_understood);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
