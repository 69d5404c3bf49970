/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/doors/served.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/record.h"
#include "tests/suite.h"

static char tree[64], root[96];
static unsigned warnings;

static void warn(void *arg, const char *line)
{
	warnings++;
}

static char *below(const char *name)
{
	return g_build_filename(tree, name, NULL);
}

static void make(const char *name)
{
	g_autofree char *path = below(name);

	ck_assert_int_eq(g_mkdir_with_parents(path, 0755), 0);
}

static void set_up(void)
{
	make_scratch(tree, "served");
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	g_snprintf(root, sizeof(root), "%s/srv/v", tree);
	make("srv/v/a/b");
	make("srv/vv");
	make("other");
	warnings = 0;
}

static void tear_down(void)
{
	const char *const argv[] = {"rm", "-r", tree, NULL};

	ck_assert(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
			       NULL, NULL, NULL));
}

static bool is_past_with(const char *path, bool layer)
{
	struct served served = {(char *)"it", (char *)path, layer};

	return served_is_past(&served, root, warn, NULL);
}

static bool is_past(const char *name)
{
	g_autofree char *path = g_str_has_prefix(name, "%") ? g_strdup(name) : below(name);

	return is_past_with(path, false);
}

START_TEST(at_above_below)
{
	ck_assert(is_past("srv/v"));
	ck_assert(is_past("srv/v/"));
	ck_assert(is_past("srv/../srv//v/."));
	ck_assert(is_past("srv"));
	ck_assert(is_past("srv/v/a/b"));
	ck_assert(is_past("srv/v/nowhere"));
	ck_assert(is_past_with("/", false));
	ck_assert(!is_past("srv/vv"));
	ck_assert(!is_past("other"));
	ck_assert(!is_past("srv/nowhere"));
	ck_assert(!is_past_with("", false));
	ck_assert(!is_past_with(root, true));
	struct served layered = {(char *)"it", root, true};
	ck_assert(served_covers(&layered, root, warn, NULL));
	ck_assert_uint_eq(warnings, 0);
}
END_TEST

START_TEST(links_and_mounts)
{
	g_autofree char *link = below("link"), *other = below("other"), *srv = below("srv");

	ck_assert_int_eq(symlink("srv/v/a", link), 0);
	ck_assert(is_past("link"));
	ck_assert(is_past("link/b"));
	ck_assert(is_past("link/nowhere"));
	ck_assert_int_eq(mount(root, other, NULL, MS_BIND, NULL), 0);
	ck_assert(is_past("other"));
	ck_assert(is_past("other/a"));
	ck_assert_int_eq(umount2(other, MNT_DETACH), 0);
	ck_assert_int_eq(mount(srv, other, NULL, MS_BIND, NULL), 0);
	ck_assert(is_past("other"));
	ck_assert(!is_past("other/vv"));
	ck_assert_int_eq(umount2(other, MNT_DETACH), 0);
}
END_TEST

START_TEST(variables)
{
	make("srv/root");
	ck_assert(is_past("srv/v/%U"));
	ck_assert(is_past("srv/v/a%U/b"));
	ck_assert(!is_past("other/%U"));
	ck_assert_uint_eq(warnings, 0);
	ck_assert(!is_past("srv/%U")); /* there is no user v */
	ck_assert_uint_eq(warnings, 1);
	ck_assert(!is_past("%H/x"));
	ck_assert_uint_eq(warnings, 2);
	g_snprintf(root, sizeof(root), "%s/srv/root", tree);
	ck_assert(is_past("srv/%U"));
	ck_assert(is_past("srv/%S/x"));
	ck_assert(!is_past("srv/%m"));
	ck_assert_uint_eq(warnings, 3);
}
END_TEST

START_TEST(unfinished)
{
	g_autofree char *private = below("srv/v/.migrate"), *nowhere = below("nowhere");

	ck_assert(!served_is_unfinished(root));
	ck_assert(!served_is_unfinished(nowhere));
	ck_assert_int_eq(g_mkdir(private, 0700), 0);
	ck_assert(!served_is_unfinished(root)); /* a client's of that name */
	ck_assert(served_is_away(root));
	ck_assert(served_is_away(nowhere));
	const int fd = open(private, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(migrate_private_mark(fd), 0);
	ck_assert(served_is_whole(root));
	close(fd);
	ck_assert(served_is_unfinished(root));
	ck_assert(!served_is_away(root));
	g_autofree char *file = below("file");
	ck_assert(g_file_set_contents(file, "", 0, NULL));
	ck_assert(!served_is_away(file)); /* nobody knows */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("served");
	TCase *tcase = tcase_create("served");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, at_above_below);
	tcase_add_test(tcase, links_and_mounts);
	tcase_add_test(tcase, variables);
	tcase_add_test(tcase, unfinished);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
