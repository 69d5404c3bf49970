/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>

#include "common/migrate.h"

static int seek_data(const struct migrate_stub *stub, const struct migrate_seek *seek,
		     uint64_t offset, uint64_t *at)
{
	uint64_t block = seek->block, start, end;
	int result = seek->below(seek->arg, false, offset, at);

	if ((result < 0 && result != -ENXIO) ||
	    !migrate_stub_next_missing(stub, offset - offset % block, &start, &end))
		return result;
	start -= start % block;
	if (start < offset)
		start = offset;
	if (start < seek->size && (result < 0 || start < *at)) {
		*at = start;
		return 0;
	}
	return result;
}

static int seek_hole(const struct migrate_stub *stub, const struct migrate_seek *seek,
		     uint64_t offset, uint64_t *at)
{
	uint64_t block = seek->block, start, end;

	for (;;) {
		int result = seek->below(seek->arg, true, offset, at);

		if (result < 0 || *at >= seek->size)
			return result;
		/* in a block that is to have data */
		if (!migrate_stub_next_missing(stub, *at - *at % block, &start, &end) ||
		    start >= *at - *at % block + block)
			return 0;
		offset = end + (block - end % block) % block;
		if (offset >= seek->size) {
			*at = seek->size;
			return 0;
		}
	}
}

int migrate_stub_seek(const struct migrate_stub *stub, const struct migrate_seek *seek, bool hole,
		      uint64_t offset, uint64_t *at)
{
	return hole ? seek_hole(stub, seek, offset, at) : seek_data(stub, seek, offset, at);
}
