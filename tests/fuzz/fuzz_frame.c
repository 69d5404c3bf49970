/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The frame's decoder: what it accepts is within the message, and encodes to the same bytes. */
#include <errno.h>
#include <string.h>

#include "common/protocol.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct migrate_frame frame;
	uint8_t *again;
	int ret = migrate_frame_decode(data, size, &frame);

	if (ret < 0) {
		REQUIRE(ret == -EBADMSG || ret == -EPROTO);
		return 0;
	}
	REQUIRE(frame.text_len == size - MIGRATE_FRAME_HEADER);
	again = malloc(size);
	REQUIRE(again);
	REQUIRE(migrate_frame_encode(&frame, again, size) == (ssize_t)size);
	REQUIRE(memcmp(data, again, size) == 0);
	REQUIRE(migrate_frame_encode(&frame, again, size - 1) == -EMSGSIZE);
	free(again);
	return 0;
}
