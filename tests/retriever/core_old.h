/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the check programs of `takeover = all` share. */
#ifndef TESTS_RETRIEVER_CORE_OLD_H
#define TESTS_RETRIEVER_CORE_OLD_H

#include "tests/retriever/core_copy.h"

#include "retriever/objects/old_handles.h"

/* An empty source. */
static inline void old_begin(void)
{
	core_make(&core);
	core.takeover = TAKEOVER_ALL;
	shell("mkdir %s/kept", core.dir);
}

static inline struct migrate_old_index *old_index(void)
{
	g_autofree char *file = g_strconcat(core.dir, "/kept/takeover.all", NULL);
	struct migrate_old_index *index;

	ck_assert_int_eq(migrate_old_index_open(file, &index), 0);
	return index;
}

/* Whether what the old server has there is found here, by what clients call it. */
static inline bool old_is_found(const struct migrate_old_index *index, const char *there)
{
	struct migrate_alias bound, found;
	uint8_t old[sizeof(int32_t) + sizeof(bound.handle)];
	int32_t type;

	ck_assert_int_eq(migrate_alias_bind(AT_FDCWD, there, &bound), 0);
	type = bound.type;
	memcpy(old, &type, sizeof(type));
	memcpy(old + sizeof(type), bound.handle, bound.len);
	return migrate_old_index_find(index, old, sizeof(type) + bound.len, &found);
}

/* Of `path` what the old server calls it leads to what it is here, and back. */
static inline void old_expect_known(const struct migrate_old_index *index, const char *path)
{
	g_autofree char *here = g_build_filename(core.root, path, NULL);
	g_autofree char *there = g_build_filename(core.source, path, NULL);
	struct migrate_alias alias, bound, again;
	struct stat st, old;

	ck_assert_int_eq(lstat(here, &st), 0);
	ck_assert_int_eq(lstat(there, &old), 0);
	ck_assert_int_eq(migrate_alias_bind(AT_FDCWD, here, &bound), 0);
	ck_assert_msg(migrate_old_index_find_inode(index, st.st_ino, &alias), "%s", path);
	ck_assert_msg(alias.fileid == old.st_ino, "%s", path);
	ck_assert_int_eq(alias.len, bound.len);
	ck_assert_mem_eq(alias.handle, bound.handle, bound.len);
	ck_assert_int_eq(alias.type, bound.type);
	ck_assert(migrate_old_index_find(index, alias.old, alias.old_len, &again));
	ck_assert_mem_eq(&again, &alias, sizeof(alias));
}

#endif
