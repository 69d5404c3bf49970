/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tmpfs of the test's own to build trees in: it has file handles wherever the tests run. */
#ifndef TESTS_CRAWLER_TREE_H
#define TESTS_CRAWLER_TREE_H

#include <check.h>
#include <fcntl.h>
#include <glib.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* In a mount namespace of the process, so that nothing is left behind; changes into it. */
static inline void tree_mount(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/mnt", "tmpfs", 0, "mode=755,nr_inodes=2m") || chdir("/mnt")) {
		perror("the test must be root and mount a tmpfs on /mnt");
		exit(EXIT_FAILURE);
	}
}

static inline void tree_dirs(const char *const *paths)
{
	for (; *paths; paths++)
		ck_assert_msg(mkdir(*paths, 0755) == 0, "mkdir %s", *paths);
}

static inline unsigned tree_open_fds(void)
{
	GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
	unsigned n = 0;

	while (g_dir_read_name(dir))
		n++;
	g_dir_close(dir);
	return n - 1;
}

#endif
