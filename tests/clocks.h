/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_CLOCKS_H
#define TESTS_CLOCKS_H

#include <check.h>
#include <fcntl.h>
#include <glib.h>
#include <sys/stat.h>
#include <unistd.h>

/* File systems' clocks are coarse: until they have passed now, and may be behind it no more. */
static inline void wait_for_clocks_in(const char *dir)
{
	g_autofree char *path = g_build_filename(dir, "clock", NULL);
	const int64_t past = g_get_real_time() + 20000;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct stat st;

	ck_assert_int_ge(fd, 0);
	do {
		g_usleep(1000);
		ck_assert_int_eq(futimens(fd, NULL), 0);
		ck_assert_int_eq(fstat(fd, &st), 0);
	} while (st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000 <= past);
	close(fd);
	unlink(path);
}

#endif
