/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "lib/config/config.h"
#include "lib/config/rules.h"
#include "tests/suite.h"

static char *dir, *file;

static void setup(void)
{
	dir = g_dir_make_tmp("rules-XXXXXX", NULL);
	ck_assert_ptr_nonnull(dir);
	file = g_build_filename(dir, "quickmigrate.conf", NULL);
}

static void teardown(void)
{
	remove(file);
	remove(dir);
	g_free(file);
	g_free(dir);
}

/* lines: of the volume, and groups behind it. */
static struct volume_config *load(const char *source, const char *lines, char **why)
{
	g_autofree char *text =
		g_strdup_printf("[volume x]\nroot = %s\nsource = %s\n%s", dir, source, lines);
	g_autoptr(GError) error = NULL;
	struct volume_config *config;

	ck_assert(g_file_set_contents(file, text, -1, NULL));
	config = config_load(file, "x", &error);
	ck_assert_int_eq(!config, error != NULL);
	if (why)
		*why = g_strdup(error ? error->message : "");
	return config;
}

#define NFS "nfs://old/export"
#define SMB "smb://u@old/share"

static bool has(const struct volume_config *config, const char *path, const char *name)
{
	return rules_find(config->rules, path, name, RULE_DIRECTORY);
}

START_TEST(defaults)
{
	struct volume_config *config = load(NFS, "", NULL);

	ck_assert(has(config, "d", ".snapshot"));
	ck_assert(has(config, "", ".zfs"));
	ck_assert(!has(config, "", ".Snapshot"));
	ck_assert(!has(config, "", "$RECYCLE.BIN"));
	ck_assert_ptr_null(rules_find(config->rules, "d", ".snapshot", RULE_FILE));
	config_free(config);
	config = load(SMB, "smb-modes = open\n", NULL);
	ck_assert(has(config, "d", "~SNAPSHOT"));
	ck_assert(has(config, "", "$Recycle.Bin"));
	ck_assert(has(config, "", "System Volume Information"));
	ck_assert(!has(config, "d", "$Recycle.Bin"));
	config_free(config);
	config = load(SMB, "smb-modes = open\nsnapshot-directories = none\n", NULL);
	ck_assert(!has(config, "", "$Recycle.Bin") && !has(config, "", "~snapshot"));
	config_free(config);
	config = load(NFS, "snapshot-directories = mine\ninclude = .zfs\n", NULL);
	ck_assert(has(config, "d", "mine"));
	ck_assert(!has(config, "d", ".snapshot"));
	config_free(config);
	config = load(NFS, "include = .zfs/\n", NULL);
	ck_assert(!has(config, "d", ".zfs"));
	ck_assert(has(config, "d", ".snapshot"));
	config_free(config);
}
END_TEST

START_TEST(patterns)
{
	struct volume_config *config =
		load(NFS, "exclude =  *.tmp\t/a\\ b,c  d\\\\ e\ninclude = keep.tmp\n", NULL);

	ck_assert(has(config, "x", "a.tmp"));
	ck_assert(!has(config, "x", "keep.tmp"));
	ck_assert(has(config, "", "a b,c"));
	ck_assert(has(config, "x", "d\\"));
	ck_assert(has(config, "x", "e"));
	config_free(config);
}
END_TEST

START_TEST(for_all_volumes)
{
	struct volume_config *config = load(NFS, "[defaults]\nexclude = a\ninclude = b\n", NULL);

	ck_assert(has(config, "", "a"));
	config_free(config);
	config = load(NFS, "exclude = c\n[defaults]\nexclude = a\n", NULL);
	ck_assert(!has(config, "", "a"));
	ck_assert(has(config, "", "c"));
	config_free(config);
	config = load(NFS, "exclude =\n[defaults]\nexclude = a\n", NULL);
	ck_assert(!has(config, "", "a"));
	config_free(config);
}
END_TEST

START_TEST(mistakes)
{
	g_autofree char *none = NULL, *both = NULL, *given = NULL;

	ck_assert_ptr_null(load(NFS, "exclude = a [b\n", &none));
	ck_assert_ptr_nonnull(strstr(none, "[volume x] exclude = [b: "));
	ck_assert_ptr_null(load(NFS, "exclude = a b\ninclude = c b\n", &both));
	ck_assert_ptr_nonnull(strstr(both, "[volume x] exclude = b: stands in include, too"));
	ck_assert_ptr_null(load(NFS, "[defaults]\ninclude = ../a\n", &given));
	ck_assert_ptr_nonnull(strstr(given, "[defaults] include = ../a: "));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("config_rules");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, defaults);
	tcase_add_test(tcase, patterns);
	tcase_add_test(tcase, for_all_volumes);
	tcase_add_test(tcase, mistakes);
	return run_tcase(tcase);
}
