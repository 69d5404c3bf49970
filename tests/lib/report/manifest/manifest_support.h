/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Manifests of entries that are made up. */
#ifndef TESTS_LIB_REPORT_MANIFEST_MANIFEST_SUPPORT_H
#define TESTS_LIB_REPORT_MANIFEST_MANIFEST_SUPPORT_H

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/report/manifest/manifest_writer.h"
#include "tests/suite.h"

#define MEANT "# volume: v\n"

static inline void put_entry(struct proof_sorter *sorter, const char *path, mode_t mode,
			     uint64_t size, enum proof_status status)
{
	struct proof_entry entry = {.path = (char *)path, .mode = mode, .size = size, .nlink = 1};
	GString *line = g_string_new(NULL);

	entry.status = status;
	if (S_ISLNK(mode))
		entry.link = (char *)"a target";
	if (S_ISREG(mode))
		memset(entry.sha256, 'a', PROOF_HASH_HEX);
	proof_entry_format(line, &entry);
	ck_assert(proof_sorter_add(sorter, line->str, line->len, NULL));
	g_string_free(line, TRUE);
}

/* A small one, in memory. */
static inline int small_manifest(void)
{
	struct proof_sorter *sorter = proof_sorter_new("/var/tmp", NULL);
	struct manifest_count count;
	int fd = memfd_create("manifest", MFD_CLOEXEC);

	put_entry(sorter, "b", S_IFREG | 0644, 7, PROOF_SAME);
	put_entry(sorter, "", S_IFDIR | 0755, 0, PROOF_SAME);
	put_entry(sorter, "a", S_IFDIR | 0755, 0, PROOF_SAME);
	put_entry(sorter, "a/x y", S_IFREG | 0644, 5, PROOF_CHANGED);
	put_entry(sorter, "a.b", S_IFLNK | 0777, 0, PROOF_LOST);
	put_entry(sorter, "a\x01", S_IFIFO | 0600, 0, PROOF_MADE);
	ck_assert(manifest_write(fd, MEANT, sorter, NULL, NULL, &count, NULL));
	proof_sorter_free(sorter);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Bytes as a file. */
static inline int file_of(const void *bytes, size_t len)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	ck_assert_int_eq(write(fd, bytes, len), len);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Reads it to its end: the number of entries, or -1 where it is refused. */
static inline gint64 read_manifest(int fd, char **message)
{
	g_autoptr(GError) error = NULL;
	struct manifest *manifest = manifest_open(fd, &error);
	gint64 n = 0;

	while (manifest && manifest_next(manifest, &error))
		n++;
	manifest_close(manifest);
	if (message)
		*message = g_strdup(error ? error->message : NULL);
	return error ? -1 : n;
}

#endif
