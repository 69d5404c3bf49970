/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* For the check programs: a scratch directory, and a main() that runs one suite. */
#ifndef TESTS_COMMON_SUPPORT_H
#define TESTS_COMMON_SUPPORT_H

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite.h"

static char scratch[64];

static inline void scratch_make(void)
{
	make_scratch(scratch, "test");
}

/* Flat: no test makes directories that are not empty. */
static inline void scratch_remove(void)
{
	DIR *dir = opendir(scratch);
	struct dirent *entry;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		if (unlinkat(dirfd(dir), entry->d_name, 0) < 0)
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
	ck_assert_int_eq(rmdir(scratch), 0);
}

static inline const char *scratch_path(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	return path;
}

/* A new file of that size, open for reading and writing. */
static inline int scratch_file(const char *name, off_t size)
{
	int fd = open(scratch_path(name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, size), 0);
	return fd;
}

static inline unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* The same numbers in every run. */
static inline uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static inline int run_case(TCase *tcase)
{
	tcase_set_timeout(tcase, 60);
	return run_tcase(tcase);
}

#endif
