/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/calendar.h"
#include "lib/config/config.h"
#include "lib/config/owners.h"
#include "lib/config/source_config.h"
#include "tests/suite.h"

static char *dir, *file, *root;

static void setup(void)
{
	dir = g_dir_make_tmp("config-XXXXXX", NULL);
	ck_assert_ptr_nonnull(dir);
	file = g_build_filename(dir, "quickmigrate.conf", NULL);
	root = g_build_filename(dir, "root", NULL);
	ck_assert_int_eq(g_mkdir(root, 0755), 0);
}

static void teardown(void)
{
	g_unlink(file);
	g_rmdir(root);
	g_rmdir(dir);
	g_free(file);
	g_free(root);
	g_free(dir);
}

/* ROOT in text becomes the directory that exists. */
static void put(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "ROOT", -1);
	g_autofree char *whole = g_strjoinv(root, parts);

	ck_assert(g_file_set_contents(file, whole, -1, NULL));
}

static void refused(const char *text, const char *place, const char *remedy)
{
	g_autoptr(GError) error = NULL;

	put(text);
	ck_assert_ptr_null(config_load(file, "v", &error));
	ck_assert_ptr_nonnull(error);
	const char *message = error->message;
	ck_assert_msg(strstr(message, file) != NULL, "no file in: %s", message);
	ck_assert_msg(strstr(message, place) != NULL, "no '%s' in: %s", place, message);
	ck_assert_msg(strstr(message, remedy) != NULL, "no '%s' in: %s", remedy, message);
	ck_assert_msg(!strchr(message, '\n'), "more than one line: %s", message);
}

#define V	"[volume v]\n"
#define MINIMAL "[volume v]\nroot = ROOT\nsource = nfs://old/export\n"

START_TEST(defaults)
{
	g_autoptr(GError) error = NULL;

	put(MINIMAL);
	struct volume_config *config = config_load(file, "v", &error);
	ck_assert_msg(config != NULL, "%s", error ? error->message : "");
	ck_assert_str_eq(config->name, "v");
	ck_assert_str_eq(config->root, root);
	ck_assert_str_eq(config->source, "nfs://old/export");
	ck_assert_uint_eq(config->connections, 2);
	ck_assert_uint_eq(config->demand_connections, 2);
	ck_assert_uint_eq(config->window, 0);
	ck_assert_uint_eq(config->hold_ms, 500);
	ck_assert_uint_eq(config->bandwidth, 0);
	ck_assert_int_eq(config->stub_attributes, STUB_EAGER);
	ck_assert_uint_eq(config->crawler_workers, 4);
	ck_assert_int_eq(config->crawler_order, CRAWL_NAMESPACE_FIRST);
	ck_assert_ptr_null(config->map_users);
	ck_assert_ptr_null(config->map_groups);
	ck_assert_str_eq(config->report, "/var/lib/quickmigrate/v.report");
	ck_assert_str_eq(config->journal, "/var/lib/quickmigrate/v.journal");
	ck_assert_int_eq(config->takeover, TAKEOVER_NONE);
	ck_assert_ptr_null(config->takeover_directories);
	ck_assert_str_eq(config->takeover_file, "/var/lib/quickmigrate/v.takeover");
	ck_assert_int_eq(config->guard, GUARD_YES);
	ck_assert_ptr_null(config->guard_refuse);
	ck_assert_uint_eq(config->guard_wait, 60);
	ck_assert_str_eq(config->socket, "/run/quickmigrate/v.sock");
	config_free(config);
}
END_TEST

START_TEST(everything)
{
	put("# a comment\n[volume other]\nroot=/nowhere\nsource=nfs://x/y\n" MINIMAL
	    "connections=16\ndemand-connections = 8\nwindow = 1024\nhold-ms = 10\n"
	    "requests = 300\nlimits = Mon 08:00-09:00 pause; 00:00-24:00 7/s\n"
	    "bandwidth = 50m  \nstub-attributes = lazy\ncrawler-workers = 64\n"
	    "map-users = 1000:2000 3000-3999:13000\nmap-groups=5:6,6:5\n"
	    "guard = strict\nguard-refuse = clamscan, updatedb\nguard-wait = 5\n"
	    "takeover = mounts\ntakeover-directories = /a /b/c\ntakeover-file = /tmp/t\n"
	    "crawler-order = depth-first\nreport = /tmp/a report\njournal = /tmp/a journal\nsocket "
	    "= /tmp/a socket\n");
	struct volume_config *config = config_load(file, "v", NULL);
	ck_assert_ptr_nonnull(config);
	ck_assert_uint_eq(config->connections, 16);
	ck_assert_uint_eq(config->demand_connections, 8);
	ck_assert_uint_eq(config->window, 1024);
	ck_assert_uint_eq(config->hold_ms, 10);
	ck_assert_uint_eq(config->bandwidth, 50 << 20);
	ck_assert_uint_eq(config->requests, 300);
	ck_assert_ptr_nonnull(calendar_at(config->limits, 0));
	ck_assert_int_eq(config->stub_attributes, STUB_LAZY);
	ck_assert_uint_eq(config->crawler_workers, 64);
	ck_assert_int_eq(config->crawler_order, CRAWL_DEPTH_FIRST);
	ck_assert_uint_eq(owners_map(config->map_users, 3001), 13001);
	ck_assert_uint_eq(owners_map(config->map_groups, 6), 5);
	ck_assert_uint_eq(owners_map(config->map_groups, 1000), 1000);
	ck_assert_int_eq(config->guard, GUARD_STRICT);
	ck_assert_int_eq(config->takeover, TAKEOVER_MOUNTS);
	ck_assert(config->nfs->elsewhere);
	ck_assert_uint_eq(g_strv_length(config->takeover_directories), 2);
	ck_assert_str_eq(config->takeover_directories[1], "/b/c");
	ck_assert_str_eq(config->takeover_file, "/tmp/t");
	ck_assert_uint_eq(g_strv_length(config->guard_refuse), 2);
	ck_assert_str_eq(config->guard_refuse[1], "updatedb");
	ck_assert_uint_eq(config->guard_wait, 5);
	ck_assert_str_eq(config->report, "/tmp/a report");
	ck_assert_str_eq(config->journal, "/tmp/a journal");
	ck_assert_str_eq(config->socket, "/tmp/a socket");
	config_free(config);
}
END_TEST

START_TEST(sources)
{
	static const char *const good[] = {"nfs://h/", "nfs://h:2049/a b", "nfs://[fe80::1]/x",
					   "nfs://[::1]:20049/x", "file:///elsewhere"};

	for (unsigned i = 0; i < G_N_ELEMENTS(good); i++) {
		g_autofree char *text = g_strdup_printf(V "root=ROOT\nsource=%s\n", good[i]);

		put(text);
		g_autoptr(GError) error = NULL;
		struct volume_config *config = config_load(file, "v", &error);
		ck_assert_msg(config != NULL, "%s", error ? error->message : "");
		ck_assert_str_eq(config->source, good[i]);
		config_free(config);
	}

	static const char *const bad[][2] = {
		{"oldserver:/export", "nfs://host"},
		{"ftp://h/s", "nfs://host"},
		{"smb://h/s", "no user"},
		{"smb://u@h", "no share"},
		{"nfs:///x", "no host"},
		{"nfs://h", "no path"},
		{"nfs://h:0/x", "no port"},
		{"nfs://h:70000/x", "no port"},
		{"nfs://:2049/x", "no host"},
		{"nfs://[::1/x", "closing bracket"},
		{"nfs://h/x?readahead=5", "unknown argument"},
		{"file://x", "three slashes"},
		{"file://ROOT", "overlaps"},
		{"file://ROOT/sub/..", "overlaps"},
		{"file:///", "overlaps"},
	};
	for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autofree char *text = g_strdup_printf(V "root=ROOT\nsource=%s\n", bad[i][0]);

		refused(text, "[volume v] source", bad[i][1]);
	}
}
END_TEST

START_TEST(wrong_values)
{
	refused(MINIMAL "connections = 17", "[volume v] connections = 17", "from 1 to 16");
	refused(MINIMAL "connections = two", "connections = two", "default 2");
	refused(MINIMAL "connections = 4 # many", "connections = 4 # many", "from 1 to 16");
	refused(MINIMAL "connections =", "connections = ", "from 1 to 16");
	refused(MINIMAL "demand-connections=0", "demand-connections = 0", "from 1 to 8");
	refused(MINIMAL "window=-1", "window = -1", "from 0 to 1024");
	refused(MINIMAL "hold-ms=9", "hold-ms = 9", "from 10 to 60000");
	refused(MINIMAL "bandwidth=10MB", "bandwidth = 10MB", "50M");
	refused(MINIMAL "requests=5/s", "requests = 5/s", "write for example 500");
	refused(MINIMAL "limits=8-18 1M", "limits = 8-18 1M", "no times");
	refused(MINIMAL "stub-attributes=x", "stub-attributes = x", "eager or lazy");
	refused(MINIMAL "crawler-workers=65", "crawler-workers = 65", "from 1 to 64");
	refused(MINIMAL "crawler-order=x", "crawler-order = x", "recent-first");
	refused(MINIMAL "map-users=1:2:3", "[volume v] map-users = 1:2:3", "OLD:NEW");
	refused(MINIMAL "map-users=", "map-users = ", "remove the line");
	refused(MINIMAL "map-groups=1-5:9 5:1", "map-groups = 1-5:9 5:1", "5 is mapped twice");
	refused(MINIMAL "map-groups=1:9 5:9", "map-groups", "1 and 5 of the old server");
	refused(MINIMAL "report=x", "report = x", "remove the line");
	refused(MINIMAL "journal=x", "journal = x", "remove the line");
	refused(MINIMAL "takeover=some", "takeover = some", "none");
	refused(MINIMAL "takeover=all", "takeover = all", "version=3");
	refused(MINIMAL "takeover-file=/x/", "takeover-file = /x/", "remove the line");
	refused(MINIMAL "takeover-directories=/a b", "b is not an absolute path", "mount them");
	refused(MINIMAL "report=/tmp/", "report = /tmp/", "remove the line");
	refused(MINIMAL "socket=run/x", "socket = run/x", "remove the line");
}
END_TEST

START_TEST(wrong_roots)
{
	refused(V "source=nfs://h/x\n", "[volume v] root", "missing; add it");
	refused(V "root=ROOT\n", "[volume v] source", "missing; add it");
	refused(V "source=nfs://h/x\nroot=\n", "root = :", "not an absolute path");
	refused(V "source=nfs://h/x\nroot=srv\n", "root = srv", "not an absolute path");
	refused(V "source=nfs://h/x\nroot=ROOT/no\n", "/no: No such file", "create the directory");
	struct volume_config *config = config_load_unmounted(file, "v", NULL);
	ck_assert(g_str_has_suffix(config->root, "/no"));
	config_free(config);
	refused(V "source=nfs://h/x\nroot=ROOT/../quickmigrate.conf\n",
		"root =", "not a directory");
	refused(MINIMAL "[volume w]\nroot=ROOT/below\nsource=nfs://h/y\n", "[volume v] root",
		"overlaps with the root of [volume w]");
	refused(MINIMAL "[volume w]\nroot=ROOT/x/..\nsource=nfs://h/y\n", "[volume v] root",
		"overlaps with the root of [volume w]");
	refused(V "source=nfs://h/x\nroot=ROOT/a/b\n[volume w]\nroot=ROOT\nsource=nfs://h/y\n",
		"[volume v] root", "overlaps with the root of [volume w]");
	refused(V "source=file://ROOT/a%20b/c\nroot=ROOT/a b\n", "[volume v] source",
		"overlaps with root");
	/* neither is there yet */
	g_autofree char *link = g_build_filename(dir, "link", NULL);
	ck_assert_int_eq(symlink(root, link), 0);
	refused(V "source=nfs://h/x\nroot=ROOT/a/b\n[volume w]\nroot=ROOT/../link/a\n"
		  "source=nfs://h/y\n",
		"[volume v] root", "overlaps with the root of [volume w]");
	g_unlink(link);
}
END_TEST

START_TEST(wrong_files)
{
	refused(MINIMAL "bandwith = 1M\n", "[volume v] bandwith", "correct or remove it");
	refused(MINIMAL "[volume w]\nfoo = 1\n", "[volume w] foo", "correct or remove it");
	refused(MINIMAL "[volumes]\n", "[volumes]", "[volume NAME]");
	refused(MINIMAL "[volume a/b]\n", "[volume a/b]", "no good volume name");
	refused(MINIMAL "[volume .x]\n", "[volume .x]", "no good volume name");
	refused(MINIMAL "root\n", "root", "correct that line");
	refused("root = /\n", "", "correct that line");
	refused(MINIMAL MINIMAL, "[volume v]", "twice (again in line 4)");
	refused(MINIMAL "root = /x\n", "[volume v] root", "twice (again in line 4)");
	refused("[volume w]\nroot=/x\nsource=nfs://h/y\n", "[volume v]", "there are: w");
	refused("", "[volume v]", "(none)");

	g_unlink(file);
	g_autoptr(GError) error = NULL;
	ck_assert_ptr_null(config_load(file, "v", &error));
	ck_assert_ptr_nonnull(strstr(error->message, file));
	ck_assert_ptr_nonnull(strstr(error->message, "--config"));
}
END_TEST

/* What the volume says counts more; what cannot be for it does not count. */
START_TEST(common_values)
{
	g_autoptr(GError) error = NULL;
	struct volume_config *config;

	put("[defaults]\nbandwidth = 5M\nconnections = 4\nmap-sids = "
	    "S-1-5-21-1-2-3-*:S-1-5-21-4-5-6-*\n"
	    "map-users = 1:2\nsmb-modes = open\nsmb-ccache = /tmp/c\nwave = 7\n" MINIMAL
	    "connections = 9\n[volume w]\nroot = ROOT/../w\nsource = smb://u@h/s\n"
	    "smb-password-file = /tmp/p\nwave = last\n");
	config = config_load(file, "v", &error);
	ck_assert_msg(config != NULL, "%s", error ? error->message : "");
	ck_assert_uint_eq(config->bandwidth, 5 << 20);
	ck_assert_uint_eq(config->connections, 9);
	ck_assert_uint_eq(owners_map(config->map_users, 1), 2);
	ck_assert_ptr_null(config->map_sids);
	ck_assert_str_eq(config->wave, "7");
	config_free(config);

	g_autofree char *other = g_build_filename(dir, "w", NULL);
	ck_assert_int_eq(g_mkdir(other, 0755), 0);
	config = config_load(file, "w", &error);
	ck_assert_msg(config != NULL, "%s", error ? error->message : "");
	ck_assert_ptr_null(config->map_users);
	ck_assert_ptr_nonnull(config->map_sids);
	ck_assert_str_eq(config->smb->password_file, "/tmp/p");
	ck_assert_ptr_null(config->smb->ccache);
	ck_assert_str_eq(config->wave, "last");
	config_free(config);
	g_rmdir(other);

	refused("[defaults]\nroot = /x\n" MINIMAL, "[defaults] root", "each volume has its own");
	refused("[defaults]\nfoo = 1\n" MINIMAL, "[defaults] foo", "correct or remove it");
	refused("[defaults]\nwindow = x\n" MINIMAL, "[defaults] window = x", "from 0 to 1024");
	refused(MINIMAL "wave = a/b\n", "wave = a/b", "no good name of a wave");
}
END_TEST

START_TEST(volumes)
{
	put("[volume b]\n[volume a]\n");
	g_auto(GStrv) names = config_volumes(file, NULL);
	ck_assert_ptr_nonnull(names);
	ck_assert_uint_eq(g_strv_length(names), 2);
	ck_assert_str_eq(names[0], "b");
	ck_assert_str_eq(names[1], "a");

	put("[defaults]\nwave = 1\n[volume b]\nwindow = wrong\n"
	    "[volume a]\nwave=2\nsocket = /s\nroot = /no/../a\nsource = x\n");
	g_autoptr(GPtrArray) list = config_names(file, NULL);
	ck_assert_ptr_nonnull(list);
	ck_assert_uint_eq(list->len, 2);
	const struct volume_name *b = list->pdata[0], *a = list->pdata[1];
	ck_assert_str_eq(b->name, "b");
	ck_assert_str_eq(b->wave, "1");
	ck_assert_str_eq(b->socket, "/run/quickmigrate/b.sock");
	ck_assert_str_eq(a->wave, "2");
	ck_assert_str_eq(a->socket, "/s");
	ck_assert_str_eq(a->root, "/no/../a");
	ck_assert_str_eq(a->source, "x");
	ck_assert_ptr_null(b->root);

	put("nonsense");
	g_autoptr(GError) error = NULL;
	ck_assert_ptr_null(config_volumes(file, &error));
	ck_assert_ptr_nonnull(error);
}
END_TEST

START_TEST(sizes)
{
	uint64_t bytes = 1;

	ck_assert(config_parse_size("0", &bytes) && bytes == 0);
	ck_assert(config_parse_size("10M", &bytes) && bytes == 10485760);
	ck_assert(config_parse_size("3k", &bytes) && bytes == 3072);
	ck_assert(config_parse_size("2G", &bytes) && bytes == 2147483648u);
	ck_assert(config_parse_size("9223372036854775807", &bytes) && bytes == INT64_MAX);
	ck_assert(!config_parse_size("9223372036854775808", &bytes));
	ck_assert(!config_parse_size("99999999999999999999", &bytes));
	ck_assert(!config_parse_size("9007199254740992K", &bytes));
	ck_assert(!config_parse_size("", &bytes));
	ck_assert(!config_parse_size("K", &bytes));
	ck_assert(!config_parse_size("-1", &bytes));
	ck_assert(!config_parse_size("1T", &bytes));
	ck_assert(!config_parse_size("1 M", &bytes));
	ck_assert(!config_parse_size("1MB", &bytes));
	ck_assert_uint_eq(bytes, INT64_MAX);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("config");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, defaults);
	tcase_add_test(tcase, everything);
	tcase_add_test(tcase, sources);
	tcase_add_test(tcase, wrong_values);
	tcase_add_test(tcase, wrong_roots);
	tcase_add_test(tcase, wrong_files);
	tcase_add_test(tcase, common_values);
	tcase_add_test(tcase, volumes);
	tcase_add_test(tcase, sizes);
	return run_tcase(tcase);
}
