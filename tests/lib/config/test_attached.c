/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/attached.h"

#include <glib/gstdio.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>

#include "common/migrate.h"
#include "lib/config/config.h"
#include "lib/config/config_file.h"
#include "tests/suite.h"

#define NOTE	REPORT_DIR "/v.attached"
#define CLUSTER REPORT_DIR "/v.cluster"

static struct volume_config config = {
	.name = (char *)"v", .root = (char *)"/srv/v", .installed = true};

/* A /var/lib of its own. */
static void set_up(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("none", "/var/lib", "tmpfs", 0, NULL), 0);
}

static void put(const char *path, const char *text)
{
	ck_assert_int_eq(g_mkdir_with_parents(REPORT_DIR, 0755), 0);
	ck_assert(g_file_set_contents(path, text, -1, NULL));
}

static void root_is(const char *expected)
{
	g_autofree char *root = attached_root("v");

	ck_assert_pstr_eq(root, expected);
}

START_TEST(written_and_removed)
{
	root_is(NULL);
	ck_assert_int_eq(attached_note(&config, false), 0);
	ck_assert_int_eq(attached_note(&config, true), 0);
	root_is("/srv/v");
	ck_assert_int_eq(attached_note(&config, true), 0);
	ck_assert_int_eq(attached_note(&config, false), 0);
	ck_assert_int_ne(g_access(NOTE, F_OK), 0);
}
END_TEST

/* That finalize was killed, when nothing is left but the note. */
START_TEST(of_one_that_ends)
{
	char root[64];
	g_autofree char *private = NULL;

	make_scratch(root, "attached");
	private = g_build_filename(root, MIGRATE_PRIVATE_DIR, NULL);
	struct volume_config other = config;
	other.root = root;
	ck_assert_int_eq(g_mkdir(private, 0700), 0);
	ck_assert_int_eq(attached_note(&other, true), 0);
	ck_assert_int_eq(attached_note_end(&other), 0);
	root_is(root);
	ck_assert_int_eq(g_rmdir(private), 0);
	root_is(NULL);
	g_autoptr(GPtrArray) list = attached_add(NULL);
	ck_assert_uint_eq(list->len, 0);
	ck_assert_int_eq(attached_note(&other, true), 0);
	root_is(root);
	ck_assert_int_eq(g_rmdir(root), 0);
}
END_TEST

START_TEST(of_the_installed_configuration)
{
	struct volume_config other = config;

	other.installed = false;
	ck_assert_int_eq(attached_note(&other, true), 0);
	root_is(NULL);
	put(NOTE, "/srv/v\n");
	ck_assert_int_eq(attached_note(&other, false), 0);
	root_is("/srv/v");
}
END_TEST

START_TEST(what_a_cluster_has)
{
	ck_assert_int_eq(attached_note(&config, true), 0);
	put(CLUSTER, "");
	root_is(NULL);
	ck_assert_int_eq(attached_note(&config, true), 0);
	ck_assert_int_eq(g_unlink(CLUSTER), 0);
	root_is(NULL);
}
END_TEST

START_TEST(no_room)
{
	ck_assert_int_eq(mount("none", "/var/lib", NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	ck_assert_int_lt(attached_note(&config, true), 0);
}
END_TEST

START_TEST(damaged)
{
	put(NOTE, "");
	root_is(NULL);
	put(NOTE, "srv/v\n");
	root_is(NULL);
	ck_assert_ptr_null(attached_root("../v"));
}
END_TEST

START_TEST(added_to_a_list)
{
	struct volume_name *known = g_new0(struct volume_name, 1);

	ck_assert_int_eq(attached_note(&config, true), 0);
	g_autoptr(GPtrArray) alone = attached_add(NULL);
	ck_assert_uint_eq(alone->len, 1);
	const struct volume_name *found = alone->pdata[0];
	ck_assert_str_eq(found->name, "v");
	ck_assert_str_eq(found->root, "/srv/v");

	g_autoptr(GPtrArray) list = config_names_new();
	known->name = g_strdup("v");
	known->root = g_strdup("/srv/v");
	g_ptr_array_add(list, known);
	ck_assert_uint_eq(attached_add(list)->len, 1);
	g_free(known->root);
	known->root = g_strdup("/srv/w");
	ck_assert_uint_eq(attached_add(list)->len, 2);
}
END_TEST

START_TEST(for_the_guard)
{
	ck_assert_ptr_null(attached_config("v"));
	ck_assert_int_eq(attached_note(&config, true), 0);
	struct volume_config *found = attached_config("v");
	ck_assert_str_eq(found->root, "/srv/v");
	ck_assert(found->guard == GUARD_YES);
	ck_assert(g_str_has_suffix(found->socket, "/v.sock"));
	config_free(found);
}
END_TEST

/* Where the group is missing the root is named. */
START_TEST(forgotten)
{
	g_autoptr(GError) error = NULL;

	ck_assert_int_eq(mount("none", "/etc", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(g_mkdir("/etc/quickmigrate", 0755), 0);
	put(CONFIG_FILE, "[volume w]\nroot = /srv/w\nsource = nfs://old/export\n");
	ck_assert_int_eq(attached_note(&config, true), 0);
	ck_assert_ptr_null(config_load(NULL, "v", &error));
	ck_assert_ptr_nonnull(strstr(error->message, "/srv/v was attached under this name"));
	struct volume_config *known = config_load_unmounted(NULL, "w", NULL);
	ck_assert(known->installed);
	config_free(known);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("attached");
	TCase *tcase = tcase_create("attached");

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, written_and_removed);
	tcase_add_test(tcase, of_one_that_ends);
	tcase_add_test(tcase, of_the_installed_configuration);
	tcase_add_test(tcase, what_a_cluster_has);
	tcase_add_test(tcase, no_room);
	tcase_add_test(tcase, damaged);
	tcase_add_test(tcase, added_to_a_list);
	tcase_add_test(tcase, for_the_guard);
	tcase_add_test(tcase, forgotten);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
