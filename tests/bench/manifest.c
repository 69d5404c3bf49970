/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * manifest OBJECTS: the manifest of a volume of so many, made of lines in no order, as `migratectl
 * report --final` makes it, and read again as `report --check` reads it: seconds and memory of
 * each.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/report/manifest/manifest_writer.h"

#define DIRECTORY 100 /* files in each */
#define STEP	  UINT64_C(2654435761)

static double seconds(void)
{
	return (double)g_get_monotonic_time() / G_USEC_PER_SEC;
}

static double mebibytes(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)usage.ru_maxrss / 1024;
}

static double cpu(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void fail(const GError *error)
{
	fprintf(stderr, "%s\n", error ? error->message : "it has other entries than were written");
	exit(1);
}

/* Hashes do not get smaller when they are compressed. */
static void fill(struct proof_entry *entry, uint64_t number, GString *path, struct proof_hash *hash)
{
	g_string_printf(path, "department-%03" PRIu64 "/project-%06" PRIu64 "/file-%09" PRIu64,
			number / DIRECTORY % 997, number / DIRECTORY, number);
	proof_hash_add(hash, &number, sizeof(number));
	proof_hash_take(hash, entry->sha256);
	entry->path = path->str;
	entry->size = number * STEP % 100000;
	entry->mtime = (int64_t)(number * STEP % 1000000007 * 1000000000 + number % 1000000000);
}

static struct proof_sorter *lines(uint64_t objects)
{
	struct proof_entry entry = {.mode = S_IFREG | 0644, .uid = 1000, .gid = 100, .nlink = 1};
	g_autoptr(GString) path = g_string_new(NULL), line = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	struct proof_sorter *sorter = proof_sorter_new("/var/tmp", &error);
	struct proof_hash *hash = proof_hash_new();

	if (!sorter)
		fail(error);
	for (uint64_t i = 0; i < objects; i++) {
		fill(&entry, i * STEP % objects, path, hash);
		g_string_truncate(line, 0);
		proof_entry_format(line, &entry);
		if (!proof_sorter_add(sorter, line->str, line->len, &error))
			fail(error);
	}
	proof_hash_free(hash);
	return sorter;
}

int main(int argc, char **argv)
{
	const uint64_t objects = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct manifest_count count;
	g_autoptr(GError) error = NULL;
	struct stat st;
	double begun = seconds(), made, used;

	struct proof_sorter *sorter = lines(objects);
	if (!manifest_write(fd, "", sorter, NULL, NULL, &count, &error))
		fail(error);
	proof_sorter_free(sorter);
	made = seconds() - begun;
	used = cpu(RUSAGE_SELF);
	printf("made: %.1f s, %.1f s of CPU, and %.1f of sort's; %.0f MiB of memory, and %.0f of "
	       "sort's\n",
	       made, used, cpu(RUSAGE_CHILDREN), mebibytes(RUSAGE_SELF),
	       mebibytes(RUSAGE_CHILDREN));
	begun = seconds();
	if (lseek(fd, 0, SEEK_SET) || fstat(fd, &st))
		return 1;
	struct manifest *manifest = manifest_open(fd, &error);
	while (manifest && manifest_next(manifest, &error))
		;
	if (error || manifest_counted(manifest)->entries != count.entries ||
	    count.entries != objects)
		fail(error);
	manifest_close(manifest);
	printf("read: %.1f s, %.1f s of CPU; %.0f MiB of memory\n", seconds() - begun,
	       cpu(RUSAGE_SELF) - used, mebibytes(RUSAGE_SELF));
	printf("manifest objects=%" PRIu64 " bytes_an_object=%.1f\n", objects,
	       (double)st.st_size / (double)objects);
	return 0;
}
