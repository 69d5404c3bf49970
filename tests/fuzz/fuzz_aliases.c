/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The file of old handles: what is accepted is in range, each handle is there once, and it is read
 * again as it is written. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/migrate.h"
#include "tests/fuzz/fuzz.h"

static int make_file(char *path, size_t len)
{
	int fd = memfd_create("aliases", MFD_CLOEXEC);

	REQUIRE(fd >= 0);
	snprintf(path, len, "/proc/self/fd/%d", fd);
	return fd;
}

static void check(const struct migrate_alias *list, size_t n)
{
	char path[64];
	int fd = make_file(path, sizeof(path));
	FILE *out = fopen(path, "w");
	struct migrate_alias *again;
	size_t found;

	REQUIRE(out && migrate_aliases_print(out, list, n) == 0 && fclose(out) == 0);
	REQUIRE(migrate_aliases_load(path, &again, &found) == 0 && found == n);
	for (size_t i = 0; i < n; i++) {
		REQUIRE(list[i].old_len >= 1 && list[i].old_len <= MIGRATE_OLD_HANDLE_MAX);
		REQUIRE(list[i].len <= MIGRATE_NEW_HANDLE_MAX);
		REQUIRE(again[i].old_len == list[i].old_len && again[i].len == list[i].len &&
			again[i].fileid == list[i].fileid);
		REQUIRE(!memcmp(again[i].old, list[i].old, list[i].old_len) &&
			!memcmp(again[i].handle, list[i].handle, list[i].len));
		for (size_t k = 0; k < i; k++)
			REQUIRE(list[k].old_len != list[i].old_len ||
				memcmp(list[k].old, list[i].old, list[i].old_len) != 0);
	}
	migrate_aliases_free(again, found);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct migrate_alias *list;
	char path[64];
	size_t n;
	int fd = make_file(path, sizeof(path));

	REQUIRE(write(fd, data, size) == (ssize_t)size);
	if (migrate_aliases_load(path, &list, &n) == 0) {
		check(list, n);
		migrate_aliases_free(list, n);
	}
	close(fd);
	return 0;
}
