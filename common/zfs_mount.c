/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "common/zfs_mount.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define NAME_LEN    256 /* ZFS_MAX_DATASET_NAME_LEN */
#define WORD_LEN    (4 * NAME_LEN)
#define KSTAT_NAMED 1

/* In mountinfo a space is \040. */
static void put_spaces(char *name)
{
	char *space;

	while ((space = strstr(name, "\\040"))) {
		*space = ' ';
		memmove(space + 1, space + 4, strlen(space + 4) + 1);
	}
}

/* False: it is none, or mounts of one file system are said to have several. */
static bool find_dataset(const char *proc, dev_t dev, char name[WORD_LEN])
{
	char path[PATH_MAX], type[8], word[WORD_LEN], *line = NULL;
	bool known = true;
	size_t size = 0;
	FILE *file;

	*name = '\0';
	snprintf(path, sizeof(path), "%s/self/mountinfo", proc);
	file = fopen(path, "re");
	while (file && getline(&line, &size, file) > 0) {
		const char *dash = strstr(line, " - ");
		unsigned high, low;

		if (!dash || sscanf(line, "%*u %*u %u:%u", &high, &low) != 2 ||
		    makedev(high, low) != dev)
			continue;
		known = known && sscanf(dash, " - %7s %1023s", type, word) == 2 &&
			strcmp(type, "zfs") == 0 && (!*name || strcmp(name, word) == 0);
		if (known)
			strcpy(name, word);
	}
	free(line);
	if (file)
		fclose(file);
	put_spaces(name);
	return known && *name;
}

/* 1: this kstat is the dataset's; 0: it is not; -1: it is, and is not understood. */
static int read_kstat(FILE *file, const char *dataset, struct migrate_zfs_kstat *out)
{
	unsigned long long id, made, seen, logged;
	char line[2 * NAME_LEN], name[NAME_LEN];
	bool headed, is = false;
	unsigned type;
	int end = 0;

	headed = fgets(line, sizeof(line), file) &&
		 sscanf(line, "%llu %u 0x%*x %*u %*u %llu %llu%n", &id, &type, &made, &seen,
			&end) == 4 &&
		 end && line[end] == '\n' && type == KSTAT_NAMED && made && made <= seen;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "dataset_name %*u %255[^\n]", name) == 1)
			is = !strcmp(dataset, name);
		else if (is && sscanf(line, "zil_itx_count %*u %llu", &logged) == 1)
			*out = (struct migrate_zfs_kstat){made, id, logged, true};
	}
	if (is && headed && !out->counts)
		*out = (struct migrate_zfs_kstat){made, id};
	return !is ? 0 : headed ? 1 : -1;
}

bool migrate_zfs_kstat(const char *proc, dev_t dev, struct migrate_zfs_kstat *out)
{
	char dataset[WORD_LEN], path[PATH_MAX];
	const struct dirent *entry;
	unsigned found = 0;
	bool known = true;
	size_t len;
	DIR *dir;

	*out = (struct migrate_zfs_kstat){0};
	if (!find_dataset(proc, dev, dataset))
		return false;
	snprintf(path, sizeof(path), "%s/spl/kstat/zfs/%.*s/", proc, (int)strcspn(dataset, "/"),
		 dataset);
	len = strlen(path);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		FILE *file;
		int is;

		if (strncmp(entry->d_name, "objset-0x", strlen("objset-0x")) != 0)
			continue;
		snprintf(path + len, sizeof(path) - len, "%s", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue; /* if it is the one, none is found */
		is = read_kstat(file, dataset, out);
		fclose(file);
		known = known && is >= 0;
		found += is != 0;
	}
	if (dir)
		closedir(dir);
	return known && found == 1;
}

bool migrate_zfs_tells_data(const char *version)
{
	unsigned major = 0, minor = 0, patch = 0;
	FILE *file = fopen(version, "re");
	bool told = file && fscanf(file, "%u.%u.%u", &major, &minor, &patch) == 3;

	if (file)
		fclose(file);
	return told && (major > 2 || (major == 2 && (minor > 2 || (minor == 2 && patch >= 4))));
}
