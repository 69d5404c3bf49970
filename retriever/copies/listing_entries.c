/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/copies/listing_entries.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/filetree.h"

#define NAME_LEN 32
#define BUFFER	 (16 << 10) /* bytes that are written at a time */

static void name_of(char name[NAME_LEN], ino_t ino)
{
	g_snprintf(name, NAME_LEN, LISTING_ENTRIES_DIR "/%016" G_GINT64_MODIFIER "x", (guint64)ino);
}

/* ---- arrays ---- */

GArray *listing_entries_array(void)
{
	return g_array_new(FALSE, FALSE, sizeof(uint64_t));
}

static int compare_listed(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void listing_entries_sort(GArray *hashes)
{
	if (hashes->len) /* an empty array has no data */
		qsort(hashes->data, hashes->len, sizeof(uint64_t), compare_listed);
}

bool listing_entries_has(const GArray *hashes, uint64_t hash)
{
	return hashes->len &&
	       bsearch(&hash, hashes->data, hashes->len, sizeof hash, compare_listed);
}

/* ---- files ---- */

int listing_entries_remove(const struct retriever *retriever, ino_t ino)
{
	char name[NAME_LEN];

	name_of(name, ino);
	if (unlinkat(retriever->private_fd, name, 0) == 0 || errno == ENOENT || errno == ENOTDIR)
		return 0;
	return -errno;
}

static int create(int private_fd, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(private_fd, name, flags, 0600);

	if (fd < 0 && errno == ENOENT && mkdirat(private_fd, LISTING_ENTRIES_DIR, 0700) == 0)
		fd = openat(private_fd, name, flags, 0600);
	return fd < 0 ? -errno : fd;
}

static void put_hashes(FILE *out, const GArray *hashes)
{
	for (guint i = 0; i < hashes->len; i++) {
		uint64_t h = htole64(g_array_index(hashes, uint64_t, i));

		fwrite(&h, sizeof h, 1, out);
	}
}

int listing_entries_store(const struct retriever *retriever, ino_t ino, const void *head,
			  size_t len, const struct listing_entries *listed)
{
	char name[NAME_LEN], buffer[BUFFER];
	bool failed;
	FILE *out;
	int fd;

	name_of(name, ino);
	fd = create(retriever->private_fd, name);
	if (fd < 0)
		return fd;
	out = fdopen(fd, "w");
	if (!out) {
		close(fd);
		return -ENOMEM;
	}
	setvbuf(out, buffer, _IOFBF, sizeof buffer);
	fwrite(head, len, 1, out);
	put_hashes(out, listed->entries);
	put_hashes(out, listed->names);
	failed = ferror(out);
	return fclose(out) || failed ? -EIO : 0;
}

static GArray *take_listed(const guint8 *text, uint64_t n)
{
	GArray *hashes = listing_entries_array();

	for (uint64_t i = 0; i < n; i++) {
		uint64_t h;

		memcpy(&h, text + i * sizeof h, sizeof h);
		h = le64toh(h);
		g_array_append_val(hashes, h);
	}
	return hashes;
}

/* NULL: the file cannot be read, or is not one that listing_entries_store() has written. */
static guint8 *read_all_listed(int fd, size_t *len)
{
	struct stat st;
	guint8 *text;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > (off_t)(3 * sizeof(uint64_t) * LISTING_ENTRIES_MAX))
		return NULL;
	*len = (size_t)st.st_size;
	text = g_malloc(*len + 1);
	if (read(fd, text, *len) == (ssize_t)*len)
		return text;
	g_free(text);
	return NULL;
}

bool listing_entries_load(const struct retriever *retriever, ino_t ino, const void *head,
			  size_t len, uint64_t n, struct listing_entries *listed)
{
	g_autofree guint8 *text = NULL;
	char name[NAME_LEN];
	size_t size;
	int fd;

	name_of(name, ino);
	fd = openat(retriever->private_fd, name, O_RDONLY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC);
	if (fd < 0)
		return false;
	text = read_all_listed(fd, &size);
	close(fd);
	if (!text || n > LISTING_ENTRIES_MAX || size < len + n * sizeof n ||
	    memcmp(text, head, len) != 0)
		return false;
	listed->entries = take_listed(text + len, n);
	listed->names = take_listed(text + len + n * sizeof n, (size - len) / sizeof n - n);
	return true;
}

/* ---- after the copy ---- */

static int remove_one(void *arg, const struct own_entry *entry)
{
	const struct retriever *retriever = arg;

	unlinkat(entry->dir_fd, entry->name, S_ISDIR(entry->st->st_mode) ? AT_REMOVEDIR : 0);
	return g_atomic_int_get(&retriever->closing);
}

void listing_entries_remove_all(void *retriever)
{
	own_walk(((struct retriever *)retriever)->private_fd, LISTING_ENTRIES_DIR, remove_one,
		 retriever);
}
