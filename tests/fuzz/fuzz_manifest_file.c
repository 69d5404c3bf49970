/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole manifests: the input as one, and as the text of one, which zstd takes. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "lib/report/manifest/manifest.h"
#include "tests/fuzz/fuzz.h"

static void read_all(const void *bytes, size_t size)
{
	g_autoptr(GError) error = NULL;
	int fd = memfd_create("manifest", MFD_CLOEXEC);
	struct manifest *manifest;
	uint64_t n = 0;

	REQUIRE(write(fd, bytes, size) == (ssize_t)size);
	lseek(fd, 0, SEEK_SET);
	manifest = manifest_open(fd, &error);
	REQUIRE(!manifest == (error != NULL));
	while (manifest && manifest_next(manifest, &error)) {
		REQUIRE(manifest_line(manifest)[0] == '.');
		REQUIRE(manifest_counted(manifest)->entries == ++n);
	}
	manifest_close(manifest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t room = ZSTD_compressBound(size);
	g_autofree void *packed = g_malloc(room);
	size_t len = ZSTD_compress(packed, room, data, size, 1);

	read_all(data, size);
	REQUIRE(!ZSTD_isError(len));
	read_all(packed, len);
	return 0;
}
