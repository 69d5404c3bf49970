/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Security descriptors of an old SMB server: read in bounds, and what is written is read again. */
#include <stdlib.h>
#include <string.h>

#include "lib/acl/nt_mode.h"
#include "lib/acl/smb_descriptor.h"
#include "tests/fuzz/fuzz.h"

static struct sid_map *map;

static void shift(uint8_t *sd)
{
	for (unsigned at = 4; at < 20; at += 4) {
		uint32_t offset;

		memcpy(&offset, sd + at, 4);
		if (offset)
			offset -= 8;
		memcpy(sd + at, &offset, 4);
	}
}

/* What was made is in order, and making it again changes nothing. */
static void again(const uint8_t *value, uint32_t len)
{
	const char *why;
	g_autofree uint8_t *sd = g_memdup2(value + 8, len - 8), *second = NULL;
	struct nt_descriptor *decoded;
	uint32_t second_len;

	shift(sd);
	decoded = nt_decode(sd, len - 8, &why);
	if (!decoded)
		abort();
	second = nt_encode(decoded, &second_len, &why);
	if (!second || second_len != len || memcmp(value, second, len) != 0)
		abort();
	nt_free(decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source_windows source = {.sd = (uint8_t *)data, .sd_len = (uint32_t)size};
	struct windows_map maps = {.modes = SMB_MODES_DESCRIPTOR};
	struct windows *w;

	if (!map)
		map = sid_map_parse("S-1-1-0:S-1-5-21-1-2-3-4-5-6-7-8-9", false, NULL);
	source.streams = g_array_new(FALSE, FALSE, sizeof(struct source_stream));
	for (unsigned i = 0; i < 2; i++) {
		maps.sids = i ? map : NULL;
		w = smb_descriptor_new(&source, i, &maps);
		if (w->acl_len > 65536 && w->acl)
			abort();
		if (w->acl)
			again(w->acl, w->acl_len);
		again(w->closed, w->closed_len);
		smb_descriptor_free(w);
	}
	g_array_unref(source.streams);
	return 0;
}
