/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/cluster/node_files.h"

#include "tests/ctl/cluster/found.h"

/* The items of the settings that a file of the tree has for the volume v. */
static GPtrArray *settings(const char *more)
{
	GPtrArray *items = items_new("v");
	struct volume_config config = {.name = (char *)"v", .server = {.host = (char *)"old"}};
	g_autofree char *file = g_strconcat(tree, "/conf", NULL);
	g_autofree char *text =
		g_strdup_printf("[defaults]\nbandwidth = 1M\nwave = 1\n"
				"[volume w]\nroot = /w\n[server old]\nrequests = 5\n"
				"[server other]\nrequests = 7\n"
				"[volume v]\nwave = 2\nroot = /v\n%s",
				more);

	put_file(tree, "/conf", text, 0600);
	node_files_settings(items, file, &config);
	return items;
}

START_TEST(settings_are_in_order)
{
	g_autoptr(GPtrArray) items = settings("hold-ms = 50\n");
	static const char *const keys[] = {"volume",	       "config hold-ms",
					   "config root",      "config wave",
					   "config bandwidth", "config server requests"};

	ck_assert_uint_eq(items->len, G_N_ELEMENTS(keys));
	for (unsigned i = 0; i < items->len; i++)
		ck_assert_str_eq(((struct item *)items->pdata[i])->key, keys[i]);
	is(items, "config wave", "2", NULL);
	is(items, "config server requests", "5", NULL);
}
END_TEST

START_TEST(secrets_are_not_told)
{
	g_autofree char *more = g_strdup_printf("smb-password-file = %s/pw\nnfs-ca = %s/ca\n"
						"smb-ccache = %s/cc\nnfs-key = %s/none\n",
						tree, tree, tree, tree);

	put_file(tree, "/pw", "correct horse", 0600);
	put_file(tree, "/ca", "correct horse", 0644);
	put_file(tree, "/cc", "correct horse", 0640);
	g_autoptr(GPtrArray) items = settings(more);
	g_autofree char *first = g_strdup(found(items, "file smb-password-file")->value);
	g_autofree char *whole =
		g_compute_checksum_for_string(G_CHECKSUM_SHA256, "correct horse", -1);
	g_autofree char *beginning = g_strndup(whole, 16);

	is(items, "file smb-password-file", NULL, NULL);
	ck_assert_uint_eq(strlen(strstr(first, "digest ")), strlen("digest 0123"));
	ck_assert_ptr_null(strstr(first, "horse"));
	ck_assert_ptr_null(strstr(whole, strstr(first, "digest ") + strlen("digest ")));
	is(items, "file nfs-ca", NULL, NULL);
	ck_assert_ptr_nonnull(strstr(found(items, "file nfs-ca")->value, beginning));
	is(items, "file smb-ccache", NULL, "chmod 600");
	ck_assert_ptr_null(strstr(found(items, "file smb-ccache")->value, "digest"));
	is(items, "file nfs-key", ITEMS_ABSENT, "No such file");

	put_file(tree, "/pw", "correct hors", 0600);
	g_autoptr(GPtrArray) again = settings(more);
	ck_assert_str_ne(found(again, "file smb-password-file")->value, first);
	put_file(tree, "/pw", "correct horse", 0604);
	g_autoptr(GPtrArray) open = settings(more);
	is(open, "file smb-password-file", NULL, "others than root");
}
END_TEST

static GPtrArray *state(const char *report)
{
	GPtrArray *items = items_new("v");
	const struct volume_config config = {.name = (char *)"v",
					     .report = (char *)report,
					     .journal = (char *)"/srv/state/v.journal"};

	node_files_state(items, &config, tree);
	return items;
}

START_TEST(what_stays_behind_is_told)
{
	g_autoptr(GPtrArray) bare = state("/var/lib/quickmigrate/v.report");

	is(bare, "state report", "/var/lib/quickmigrate/v.report", "set report");
	is(bare, "state journal", "/srv/state/v.journal", NULL);
	is(bare, "doors ganesha", ITEMS_ABSENT, NULL);
	ck_assert_uint_eq(bare->len, 5);

	put_file(tree, "/etc/ganesha/ganesha.conf", "NFSv4 {\n# RecoveryRoot = /no;\n}\n", 0644);
	g_autoptr(GPtrArray) usual = state("/srv/r");
	is(usual, "state report", "/srv/r", NULL);
	is(usual, "state ganesha", "/var/lib/nfs/ganesha", "RecoveryRoot");
	is(usual, "scope ganesha", ITEMS_ABSENT, "Server_Scope");
	is(usual, "state statd", ITEMS_ABSENT, "state-directory-path");
	put_file(tree, "/etc/nfs.conf", "[statd]\n# state-directory-path=/no\n", 0644);
	ck_assert(g_str_has_prefix(found(usual, "doors ganesha")->value, "ganesha.conf, digest "));

	put_file(tree, "/etc/ganesha/v.conf",
		 "NFSv4 { recoveryroot=\"/srv/state/nfs\" ; Server_Scope = \"v\";}\n", 0644);
	g_autoptr(GPtrArray) own = state("/srv/r");
	is(own, "state ganesha", "/srv/state/nfs", NULL);
	is(own, "scope ganesha", "v", NULL);
	is(own, "state statd", ITEMS_ABSENT, "state-directory-path");
	ck_assert(node_files_locks_v3(tree, "v"));
	put_file(tree, "/etc/nfs.conf", "[statd]\nstate-directory-path=/srv/state/statd\n", 0644);
	put_file(tree, "/etc/ganesha/v.conf", "NFS_CORE_PARAM { Protocols = 4;\n#Protocols=3\n}\n",
		 0644);
	g_autoptr(GPtrArray) four = state("/srv/r");
	for (unsigned i = 0; i < four->len; i++)
		ck_assert_str_ne(((struct item *)four->pdata[i])->key, "state statd");
	is(four, "scope ganesha", ITEMS_ABSENT, "Server_Scope");
	ck_assert(!node_files_locks_v3(tree, "v"));
	ck_assert(node_files_locks_v3(tree, "another"));
	put_file(tree, "/etc/ganesha/v.conf",
		 "EXPORT { Protocols = 4; }\nX { Protocols = 4, 3; }\n", 0644);
	g_autoptr(GPtrArray) both = state("/srv/r");
	is(both, "state statd", "/srv/state/statd", NULL);
	put_file(tree, "/etc/ganesha/v.conf", "NFS_CORE_PARAM { Enable_NLM = false; }\n", 0644);
	ck_assert(!node_files_locks_v3(tree, "v"));
	put_file(tree, "/etc/nfs.conf", "[statd]\nstate-directory-path=/var/lib/nfs/x\n", 0644);
	put_file(tree, "/etc/ganesha/v.conf", "", 0644);
	g_autoptr(GPtrArray) local = state("/srv/r");
	is(local, "state statd", "/var/lib/nfs/x", "state-directory-path");
}
END_TEST

static bool has(GPtrArray *items, const char *key)
{
	for (unsigned i = 0; i < items->len; i++)
		if (!strcmp(((struct item *)items->pdata[i])->key, key))
			return true;
	return false;
}

START_TEST(scopes_are_of_version_4)
{
	put_file(tree, "/etc/ganesha/v.conf", "NFS_CORE_PARAM { Protocols = 3; }\n", 0644);
	g_autoptr(GPtrArray) three = state("/srv/r");
	ck_assert(has(three, "state ganesha"));
	ck_assert(!has(three, "scope ganesha"));
}
END_TEST

static GPtrArray *others(const char *volume)
{
	static char *volumes[] = {(char *)"u", (char *)"v", (char *)"w", (char *)"x", NULL};
	GPtrArray *items = items_new(volume);

	node_files_others(items, volume, volumes, tree);
	return items;
}

/* x has no server of its own. */
START_TEST(one_volume_has_locks)
{
	static const char three[] = "NFSv4 { }\n", four[] = "NFS_CORE_PARAM { Protocols = 4; }\n";

	put_file(tree, "/etc/ganesha/ganesha.conf", three, 0644);
	put_file(tree, "/etc/ganesha/u.conf", four, 0644);
	put_file(tree, "/etc/ganesha/v.conf", three, 0644);
	put_file(tree, "/etc/ganesha/w.conf", four, 0644);
	g_autoptr(GPtrArray) alone = others("v");
	is(alone, "locks of others", ITEMS_ABSENT, NULL);
	g_autoptr(GPtrArray) none = others("w");
	ck_assert(!has(none, "locks of others"));
	g_autoptr(GPtrArray) usual = others("x");
	is(usual, "locks of others", "v", "Protocols = 4");

	put_file(tree, "/etc/ganesha/w.conf", three, 0644);
	put_file(tree, "/etc/ganesha/u.conf", three, 0644);
	g_autoptr(GPtrArray) more = others("v");
	is(more, "locks of others", "u w", "Protocols = 4");
}
END_TEST

/* They lead to what is not mounted on this node. */
START_TEST(links_are_followed)
{
	g_autofree char *nfs = g_strconcat(tree, "/var/lib/nfs", NULL);
	g_autofree char *sm = g_strconcat(nfs, "/sm", NULL);
	g_autofree char *loop = g_strconcat(nfs, "/ganesha", NULL);

	put_file(tree, "/etc/ganesha/ganesha.conf", "", 0644);
	put_file(tree, "/etc/nfs.conf", "[statd]\nstate-directory-path = /var/lib/nfs/sm\n", 0644);
	ck_assert_int_eq(g_mkdir_with_parents(nfs, 0755), 0);
	ck_assert_int_eq(symlink("/nowhere/state/../statd", sm), 0);
	ck_assert_int_eq(symlink("ganesha", loop), 0);
	g_autoptr(GPtrArray) items = state("/srv/r");
	is(items, "state statd", "/nowhere/statd", NULL);
	is(items, "state ganesha", "/var/lib/nfs/ganesha", "RecoveryRoot");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("lies_here");

	tcase_add_checked_fixture(tcase, make_tree, remove_tree);
	tcase_add_test(tcase, settings_are_in_order);
	tcase_add_test(tcase, secrets_are_not_told);
	tcase_add_test(tcase, what_stays_behind_is_told);
	tcase_add_test(tcase, scopes_are_of_version_4);
	tcase_add_test(tcase, one_volume_has_locks);
	tcase_add_test(tcase, links_are_followed);
	return run_tcase(tcase);
}
