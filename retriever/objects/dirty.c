/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/dirty.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Marks the pages dirty as a program does that has the file mapped and writes to it: no byte is
 * copied, so that no write of a client that is under way is undone. */
static int touch_pages(int fd, uint64_t start, uint64_t end)
{
	uint64_t from = start - start % sysconf(_SC_PAGESIZE);
	void *pages = mmap(NULL, end - from, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
	int ret = 0;

	if (pages == MAP_FAILED)
		return -errno;
	if (madvise(pages, end - from, MADV_POPULATE_WRITE) < 0)
		ret = errno == EINVAL ? 0 : -errno; /* before Linux 5.14 */
	munmap(pages, end - from);
	return ret;
}

static int write_range_again(int fd, uint64_t at, uint64_t end, struct migrate_extents *lost)
{
	int ret = 0;

	while (!ret && at < end) {
		off_t data = lseek(fd, at, SEEK_DATA), hole;

		if (data < 0 && errno != ENXIO)
			return -errno;
		if (data < 0 || (uint64_t)data > end)
			data = end;
		ret = migrate_extents_add(lost, at, data);
		at = data;
		if (ret || at == end)
			break;
		hole = lseek(fd, at, SEEK_HOLE);
		if (hole < 0)
			return -errno;
		data = (uint64_t)hole < end ? (uint64_t)hole : end;
		/* what cannot be read again has gone, too */
		if (touch_pages(fd, at, data) < 0)
			ret = migrate_extents_add(lost, at, data);
		at = data;
	}
	return ret;
}

int dirty_write_again(int fd, const struct migrate_extents *dirty, struct migrate_extents *lost)
{
	int ret = 0;

	for (size_t i = 0; i < dirty->n && !ret; i++)
		ret = write_range_again(fd, dirty->v[i].start, dirty->v[i].end, lost);
	return ret;
}
