/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/calendar.h"
#include "lib/config/config.h"
#include "lib/config/config_limits.h"
#include "tests/suite.h"

static char *dir, *file;

static void setup(void)
{
	dir = g_dir_make_tmp("config-XXXXXX", NULL);
	ck_assert_ptr_nonnull(dir);
	file = g_build_filename(dir, "quickmigrate.conf", NULL);
	for (char name[] = "x"; name[0] <= 'z'; name[0]++) {
		g_autofree char *root = g_build_filename(dir, name, NULL);

		ck_assert_int_eq(g_mkdir(root, 0755), 0);
	}
}

static void teardown(void)
{
	for (char name[] = "x"; name[0] <= 'z'; name[0]++) {
		g_autofree char *root = g_build_filename(dir, name, NULL);

		g_rmdir(root);
	}
	g_unlink(file);
	g_rmdir(dir);
	g_free(file);
	g_free(dir);
}

static struct volume_config *load(const char *volume, const char *groups, GError **error)
{
	g_autofree char *text = g_strdup_printf(
		"[volume x]\nroot = %s/x\nsource = nfs://Old:2049/export\n"
		"[volume y]\nroot = %s/y\nsource = file:///elsewhere\n"
		"[volume z]\nroot = %s/z\nsource = smb://u@[fe80::1]/share\nsmb-modes = open\n%s",
		dir, dir, dir, groups);

	ck_assert(g_file_set_contents(file, text, -1, NULL));
	return config_load(file, volume, error);
}

START_TEST(servers)
{
	static const char groups[] = "[server old]\nbandwidth = 5M\nrequests = 7\n"
				     "limits = 00:00-24:00 pause\n[server fe80::1]\n";
	struct volume_config *config = load("x", groups, NULL);

	ck_assert_str_eq(config->server.host, "old");
	ck_assert_uint_eq(config->server.bandwidth, 5 << 20);
	ck_assert_uint_eq(config->server.requests, 7);
	ck_assert(calendar_at(config->server.limits, 0)->pause);
	ck_assert_uint_eq(config->bandwidth, 0);
	config_free(config);
	config = load("y", groups, NULL);
	ck_assert_ptr_null(config->server.host);
	config_free(config);
	config = load("z", groups, NULL);
	ck_assert_str_eq(config->server.host, "fe80::1");
	ck_assert_uint_eq(config->server.bandwidth, 0);
	config_free(config);
}
END_TEST

/* Each node of a cluster has its part, whatever limits are in force. */
START_TEST(parts_of_nodes)
{
	static const char groups[] =
		"[server old]\nbandwidth = 5M\nrequests = 7\nnodes = 3\n"
		"limits = Mon-Fri 00:00-24:00 1000 9/s; 00:00-24:00 pause\n[server fe80::1]\n";
	const time_t friday = 15 * 86400 + 43200;
	struct volume_config *config = load("x", groups, NULL);
	const struct calendar_rule *rule = calendar_at(config->server.limits, friday);

	ck_assert_uint_eq(config->server.bandwidth, (5 << 20) / 3);
	ck_assert_uint_eq(config->server.requests, 2);
	ck_assert_uint_eq(rule->bandwidth, 333);
	ck_assert_uint_eq(rule->requests, 3);
	config_free(config);
	config = load("z", groups, NULL);
	ck_assert_uint_eq(config->server.nodes, 1);
	config_free(config);
}
END_TEST

static void refused(const char *groups, const char *what)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(load("x", groups, &error));
	ck_assert_msg(strstr(error->message, what) != NULL, "%s", error->message);
}

START_TEST(mistakes)
{
	refused("[server other]\n", "[server other]: no volume has a source there");
	refused("[server a/b]\n", "[server a/b]: no host");
	refused("[server ../x]\n", "no host");
	refused("[server old]\nbandwidth = x\n", "[server old] bandwidth = x");
	refused("[server old]\nlimits = x\n", "[server old] limits = x");
	refused("[server old]\nwindow = 1\n", "[server old] window: not of an old server");
	refused("[server old]\n[server old]\n", "twice");
	refused("[server old]\nnodes = 0\n", "[server old] nodes = 0");
	refused("[server old]\nnodes = 65\n", "[server old] nodes = 65");
	refused("[server old]\nnodes = 3\nrequests = 2\n", "less than the number of nodes");
	refused("[server old]\nnodes = 3\nbandwidth = 2\n", "less than the number of nodes");
	refused("[server old]\nnodes = 3\nlimits = 00:00-24:00 2/s\n", "less than the number");
	refused("nodes = 3\n[server old]\n", "unknown key");
}
END_TEST

START_TEST(places)
{
	g_autofree char *host = config_host("nfs://[::1]/a%20b?version=3");
	g_autofree char *path = config_nfs_path("nfs://[::1]/a%20b?version=3");

	ck_assert_str_eq(host, "::1");
	ck_assert_str_eq(path, "/a b");
	ck_assert_ptr_null(config_nfs_path("smb://u@h/share"));
	ck_assert_ptr_null(config_nfs_path(NULL));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("config_limits");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, servers);
	tcase_add_test(tcase, places);
	tcase_add_test(tcase, parts_of_nodes);
	tcase_add_test(tcase, mistakes);
	return run_tcase(tcase);
}
