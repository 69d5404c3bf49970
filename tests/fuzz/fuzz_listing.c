/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Buffers of an old SMB server (I10), as the worker reads them; and the texts in them, which are
 * the same after there and back.
 *
 * Input: a byte for what it is, then the buffer.
 */
#include <string.h>

#include "lib/source/smb/smb_listing.h"
#include "lib/source/smb/smb_text.h"
#include "tests/fuzz/fuzz.h"

#define ROOM 65536

static void listing(const uint8_t *data, size_t size)
{
	static uint8_t room[ROOM];
	struct wire_pack pack = {room, room + sizeof(room)};
	struct wire_unpack in = {room, room};
	uint32_t rejected = 0;
	size_t len;

	if (smb_listing(data, size, &pack, &rejected) < 0)
		return;
	in.end = pack.at;
	while (in.at < in.end) {
		wire_get(&in, sizeof(struct wire_attr));
		bool refused = wire_get_u32(&in);
		const uint8_t *name = wire_get_bytes(&in, refused ? WIRE_REFUSED_BYTES : 255, &len);

		REQUIRE(name && (refused || smb_name_ok((const char *)name, len)));
	}
	REQUIRE(!in.bad);
}

static void each(void *user, const uint8_t *name, size_t name_len, uint64_t size)
{
	const uint8_t **span = user;

	REQUIRE(name >= span[0] && name + name_len <= span[1]);
}

static void text(const uint8_t *data, size_t size)
{
	char *utf8 = malloc(size * 3 / 2 + 1);
	uint8_t *back = malloc(size * 2 + 2);
	long len = smb_text_from_utf16(data, size, utf8);

	if (len >= 0)
		REQUIRE(smb_text_to_utf16(utf8, (size_t)len, back) == (long)size &&
			memcmp(back, data, size) == 0);
	len = smb_text_to_utf16((const char *)data, size, back);
	if (len >= 0) {
		free(utf8);
		utf8 = malloc((size_t)len * 3 / 2 + 1);
		REQUIRE(smb_text_from_utf16(back, (size_t)len, utf8) == (long)size &&
			memcmp(utf8, data, size) == 0);
	}
	free(utf8);
	free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *span[2];
	struct wire_attr attr;
	uint64_t volume;
	char *link;

	if (size < 1 || size > 20000)
		return 0;
	span[0] = data + 1;
	span[1] = data + size;
	switch (*data % 6) {
	case 0:
		listing(data + 1, size - 1);
		break;
	case 1:
		smb_all_info(data + 1, size - 1, &attr);
		break;
	case 2:
		smb_streams(data + 1, size - 1, each, span);
		break;
	case 3:
		link = malloc(size * 3 / 2 + 1);
		smb_link_text(data + 1, size - 1, link);
		free(link);
		break;
	case 4:
		text(data + 1, size - 1);
		break;
	default:
		smb_volume(data + 1, size - 1, &volume);
	}
	return 0;
}
