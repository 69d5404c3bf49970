/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The index of old handles, asked for handles of any bytes and length: of an index that is whole it
 * finds those that were named and nothing else, and of one that is damaged nothing that was not
 * asked for.  Input: how many bytes are changed, for each of them where (three bytes) and what is
 * there then; the rest is the handle, or the number of an inode.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/migrate.h"
#include "tests/fuzz/fuzz.h"

#define OBJECTS 100
#define UNNAMED 10 /* one of so many has no name */
#define PATCH	4  /* bytes */

static struct migrate_alias added[OBJECTS];
static uint8_t *whole; /* the file */
static off_t whole_len;
static char path[64];
static int file;

/* Each is the beginning of another one, or differs from it in a bit. */
static void make_alias(size_t n)
{
	struct migrate_alias *alias = &added[n];

	*alias = (struct migrate_alias){.old_len = (uint8_t)(1 + n % MIGRATE_OLD_HANDLE_MAX),
					.len = 12,
					.type = 1,
					.fileid = n};
	memset(alias->old, 'a', alias->old_len);
	if (n >= MIGRATE_OLD_HANDLE_MAX)
		alias->old[alias->old_len - 1] ^= 1;
	memcpy(alias->handle, &n, sizeof(n));
}

static void setup(void)
{
	struct migrate_old_index *index;
	uint64_t at;

	file = memfd_create("index", MFD_CLOEXEC);
	REQUIRE(file >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	REQUIRE(migrate_old_index_create(path, OBJECTS, &index) == 0);
	for (size_t n = 0; n < OBJECTS; n++) {
		make_alias(n);
		REQUIRE(migrate_old_index_add(index, n, &added[n], &at) == 0);
		REQUIRE(n % UNNAMED == 0 || migrate_old_index_name(index, at) == 0);
	}
	migrate_old_index_close(index);
	whole_len = lseek(file, 0, SEEK_END);
	whole = malloc(whole_len);
	REQUIRE(whole && pread(file, whole, whole_len, 0) == whole_len);
}

static bool was_added(const uint8_t *handle, size_t len)
{
	for (size_t n = 0; n < OBJECTS; n++)
		if (n % UNNAMED && added[n].old_len == len && !memcmp(added[n].old, handle, len))
			return true;
	return false;
}

static void ask(const struct migrate_old_index *index, const uint8_t *data, size_t size,
		bool damaged)
{
	struct migrate_alias alias;
	uint64_t inode = 0;
	uint8_t *handle = malloc(size ? size : 1); /* exact, so that overruns are seen */
	bool found;

	REQUIRE(handle);
	memcpy(handle, data, size);
	found = migrate_old_index_find(index, handle, size, &alias);
	REQUIRE(!found || (alias.old_len == size && !memcmp(alias.old, handle, size)));
	REQUIRE(!found || alias.len <= MIGRATE_NEW_HANDLE_MAX);
	REQUIRE(damaged || found == was_added(handle, size));
	free(handle);
	memcpy(&inode, data, size < sizeof(inode) ? size : sizeof(inode));
	found = migrate_old_index_find_inode(index, inode, &alias);
	REQUIRE(!found || alias.old_len <= MIGRATE_OLD_HANDLE_MAX);
	REQUIRE(!found || damaged || alias.fileid == inode);
	REQUIRE(damaged || found == (inode < OBJECTS));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct migrate_old_index *index;
	size_t patches;

	if (!whole)
		setup();
	if (size == 0)
		return 0;
	patches = data[0] % 32;
	data++, size--;
	REQUIRE(ftruncate(file, whole_len) == 0 && pwrite(file, whole, whole_len, 0) == whole_len);
	for (size_t n = 0; n < patches && size >= PATCH; n++, data += PATCH, size -= PATCH) {
		off_t at = (data[0] | data[1] << 8 | data[2] << 16) % whole_len;

		REQUIRE(pwrite(file, data + 3, 1, at) == 1);
	}
	if (migrate_old_index_open(path, &index) == 0) {
		ask(index, data, size, patches != 0);
		migrate_old_index_close(index);
	}
	return 0;
}
