/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An old server with objects whose attributes are carried over, and what the new ones got. */
#ifndef TESTS_RETRIEVER_CORE_ATTRIBUTES_H
#define TESTS_RETRIEVER_CORE_ATTRIBUTES_H

#include "tests/retriever/core_hook.h"
#include "tests/retriever/core_xattrs.h"

#include "lib/report/losses.h"
#include "retriever/making/attributes.h"

static struct core core;

static inline void source_mode(const char *name, mode_t mode)
{
	g_autofree char *path = g_strconcat(core.source, "/", name, NULL);

	ck_assert_int_eq(chmod(path, mode), 0);
}

static inline void source_owner(const char *name, uid_t uid, gid_t gid)
{
	g_autofree char *path = g_strconcat(core.source, "/", name, NULL);

	ck_assert_int_eq(lchown(path, uid, gid), 0);
}

/* One file "f" and a directory "d" on the old server. */
static inline void make(void)
{
	core_make(&core);
	core_carry(&core);
	core_source_file(&core, "f", 5000, 1);
	core_source_file(&core, "d/g", 10, 2);
}

static inline int open_stub(const char *name)
{
	return core_find(&core, name, O_RDONLY);
}

static inline mode_t mode_of(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_mode & 07777;
}

static inline void expect_times(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, 1100000001);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 123456789);
	ck_assert_int_eq(st.st_atim.tv_sec, 1000000001);
}

#endif
