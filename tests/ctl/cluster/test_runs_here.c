/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/cluster/runs_here.h"

#include "tests/ctl/cluster/found.h"

#define CAPS  "limits of the old server"
#define STATD "unit nfs-ganesha-lock.service"

/* A program that is found, and that ends with the status of its last command. */
static void put_program(const char *name, const char *commands)
{
	g_autofree char *path = g_strconcat("/bin/", name, NULL);
	g_autofree char *text = g_strdup_printf("#!/bin/sh\n%s\n", commands);

	put_file(tree, path, text, 0755);
}

static void make_programs(void)
{
	make_tree();
	g_autofree char *path = g_strconcat(tree, "/bin", NULL);
	g_mkdir(path, 0755);
	g_setenv("PATH", path, TRUE);
}

static void remove_programs(void)
{
	g_setenv("PATH", "/usr/bin:/bin", TRUE);
	remove_tree();
}

static GPtrArray *services(void)
{
	GPtrArray *items = items_new("v");

	runs_here_services(items, "v");
	return items;
}

START_TEST(releases_are_told)
{
	g_autoptr(GPtrArray) bare = items_new("v"), items = items_new("v");

	runs_here_releases(bare, tree);
	is(bare, "agent ocf:quickmigrate:migrate", ITEMS_ABSENT, "install the package");
	is(bare, "agent ocf:quickmigrate:locks", ITEMS_ABSENT, "install the package");
	is(bare, "release samba", ITEMS_ABSENT, NULL);
	is(bare, "module ganesha", ITEMS_ABSENT, NULL);

	put_program("smbd", "echo Version 4.17");
	put_program("ganesha.nfsd", "echo V4.3; exit 1");
	put_file(tree, "/usr/lib/ocf/resource.d/quickmigrate/migrate", "agent", 0755);
	put_file(tree, "/usr/lib/x/ganesha/libfsalmigrate.so", "module", 0644);
	runs_here_releases(items, tree);
	is(items, "agent ocf:quickmigrate:migrate", "d4f0bc5a29de06b5", NULL);
	is(items, "release samba", "Version 4.17", NULL);
	is(items, "release ganesha", ITEMS_ABSENT, NULL);
	is(items, "module ganesha", "120970d812836f19", NULL);
}
END_TEST

START_TEST(units_that_start_at_boot_are_told)
{
	g_autoptr(GPtrArray) bare = items_new("v"), items = items_new("v");

	runs_here_units(bare, "v", true);
	is(bare, "unit migrate-guard@v.service", ITEMS_ABSENT, "needs systemd");
	put_program("systemctl",
		    "case $2 in *crawler*) echo enabled;; *ganesha*) echo enabled-runtime;;"
		    " *) echo disabled; exit 1;; esac");
	runs_here_units(items, "v", false);
	is(items, "unit migrate-retriever@v.service", "disabled", NULL);
	is(items, "unit migrate-crawler@v.service", "enabled",
	   "systemctl disable --now migrate-crawler@v.service");
	is(items, "unit nfs-ganesha.service", "enabled-runtime", "systemctl disable");
	for (unsigned i = 0; i < items->len; i++)
		ck_assert_str_ne(((struct item *)items->pdata[i])->key, STATD);
	is(bare, STATD, ITEMS_ABSENT, NULL);
	g_autoptr(GPtrArray) locks = items_new("v"), masked = items_new("v");
	runs_here_units(locks, "v", true);
	is(locks, STATD, "enabled-runtime", "systemctl mask --now");
	put_program("systemctl", "echo masked; exit 1");
	runs_here_units(masked, "v", true);
	is(masked, STATD, "masked", NULL);
}
END_TEST

START_TEST(fencing_is_needed)
{
	g_autoptr(GPtrArray) none = services();

	is(none, "fencing", "not known", "start it");
	put_program("crm_attribute", "echo true");
	put_program("cibadmin", "exit 105");
	g_autoptr(GPtrArray) bare = services();
	is(bare, "fencing", "enabled, without a device", "no fencing device");
	put_program("cibadmin", "echo '<primitive/>'");
	g_autoptr(GPtrArray) good = services();
	is(good, "fencing", "enabled", NULL);
	put_program("crm_attribute", "echo off");
	g_autoptr(GPtrArray) off = services();
	is(off, "fencing", "disabled", "stonith-enabled is off");
}
END_TEST

static GPtrArray *caps(const struct server_config *server)
{
	GPtrArray *items = items_new("v");

	runs_here_caps(items, server);
	return items;
}

START_TEST(caps_hold_over_nodes)
{
	struct server_config server = {(char *)"old", 5, 0, NULL, 1}, none = {.nodes = 1};
	g_autoptr(GPtrArray) nothing = caps(&none);
	ck_assert_uint_eq(nothing->len, 1);
	g_autoptr(GPtrArray) alone = caps(&server);
	is(alone, CAPS, "a part of 1", "set nodes there to the number of nodes (2)");
	put_program("cibadmin", "echo '<x><node id=\"1\"/><node id=\"2\"/><node id=\"3\"/></x>'");
	server.nodes = 2;
	g_autoptr(GPtrArray) few = caps(&server);
	is(few, CAPS, "a part of 2", "(3)");
	server.nodes = 3;
	g_autoptr(GPtrArray) good = caps(&server);
	is(good, CAPS, "a part of 3", NULL);
}
END_TEST

static void put_testparm(const char *security, const char *backend, const char *shares)
{
	g_autofree char *text = g_strdup_printf(
		"case $3 in *security) echo %s;; *config*) echo %s;; *private*) echo "
		"/var/lib/samba/private;; *state*) echo /srv/state;; *passdb*) echo tdbsam;; *) "
		"echo 'vfs objects = %s';; esac",
		security, backend, shares);

	put_program("testparm", text);
}

START_TEST(samba_is_looked_at_where_it_serves)
{
	put_testparm("ADS", "tdb", "acl_xattr");
	g_autoptr(GPtrArray) other = services();
	ck_assert_uint_eq(other->len, 3);
	put_testparm("ADS", "tdb", "migrate");
	g_autoptr(GPtrArray) member = services();
	is(member, "samba idmap", "tdb", "autorid");
	is(member, "state samba", NULL, "set private dir");
	is(member, "state samba registry", "/srv/state", NULL);
	is(member, "samba passdb", "tdbsam", NULL);
	put_testparm("ADS", "autorid", "migrate");
	g_autoptr(GPtrArray) good = services();
	is(good, "samba idmap", "autorid", NULL);
	put_testparm("USER", "tdb", "migrate");
	g_autoptr(GPtrArray) alone = services();
	is(alone, "samba idmap", "tdb", NULL);
}
END_TEST

START_TEST(a_second_mount_is_told)
{
	g_autoptr(GPtrArray) items = items_new("v"), other = items_new("v"), old = items_new("v");
	g_autoptr(GPtrArray) unknown = items_new("v");

	runs_here_disk(unknown, &(struct resources_disk){"v", NULL, NULL, NULL});
	is(unknown, "second mount", ITEMS_ABSENT, NULL);
	put_program("dumpe2fs", "test $2 = UUID=1-2 && printf 'Features: mmp\\nMMP_block:\\n'");
	runs_here_disk(items, &(struct resources_disk){"v", (char *)"-U 1-2", NULL, NULL});
	is(items, "second mount", "refused (mmp)", NULL);
	runs_here_disk(other, &(struct resources_disk){"v", (char *)"/dev/xfs", NULL, NULL});
	is(other, "second mount", "not refused by its file system", NULL);
	put_program("dumpe2fs", "echo Features:");
	runs_here_disk(old, &(struct resources_disk){"v", (char *)"/dev/b", NULL, NULL});
	ck_assert_ptr_nonnull(strstr(found(old, "second mount")->value, "tune2fs -O mmp"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("runs_here");

	tcase_add_checked_fixture(tcase, make_programs, remove_programs);
	tcase_add_test(tcase, releases_are_told);
	tcase_add_test(tcase, units_that_start_at_boot_are_told);
	tcase_add_test(tcase, fencing_is_needed);
	tcase_add_test(tcase, caps_hold_over_nodes);
	tcase_add_test(tcase, samba_is_looked_at_where_it_serves);
	tcase_add_test(tcase, a_second_mount_is_told);
	return run_tcase(tcase);
}
