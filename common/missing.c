/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "common/record_io.h"

int migrate_is_missing(int fd)
{
	struct migrate_record record;
	int ret = migrate_record_load_snapshot(fd, &record);

	if (ret <= 0)
		return ret;
	if (record.state == MIGRATE_PARTIAL) {
		/* what clients wrote since is here */
		ret = migrate_extents_remove_all(&record.missing, &record.dirty);
		ret = ret ? ret : record.missing.n > 0;
	} else {
		ret = record.state != MIGRATE_FILLED;
	}
	migrate_record_clear(&record);
	return ret;
}
