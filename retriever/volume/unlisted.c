/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a client changed something is told by its record.  Where there is none, because it is
 * whole, its mtime is the old server's, and is earlier than its birth here, unless it was written
 * or given another since.
 *
 * What may crash where: the line of the report is there before the name goes; the directory is
 * unfilled until all of them are gone, and the next fill finds those that are left.
 */
#include "unlisted.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aside.h"
#include "report.h"
#include "seen.h"
#include "record.h"

#define CHANGED (MIGRATE_REC_CLIENT | MIGRATE_REC_SHOWN_MTIME | MIGRATE_REC_SHOWN_CTIME)

static bool was_written_here(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MTIME | STATX_BTIME, &st) < 0 ||
	    !(st.stx_mask & STATX_BTIME))
		return true;
	return st.stx_mtime.tv_sec > st.stx_btime.tv_sec ||
	       (st.stx_mtime.tv_sec == st.stx_btime.tv_sec &&
		st.stx_mtime.tv_nsec >= st.stx_btime.tv_nsec);
}

enum fate { GOES, STAYS, FAILED };

/* Or -errno. */
static int fate_of(int fd)
{
	struct migrate_record rec;
	int ret = migrate_record_load(fd, &rec);
	bool changed;

	if (ret < 0)
		return ret;
	if (!ret)
		return was_written_here(fd) ? STAYS : GOES;
	changed = (rec.flags & CHANGED) || rec.dirty.n ||
		  (rec.state == MIGRATE_FILLED && was_written_here(fd));
	ret = rec.error ? FAILED : changed ? STAYS : GOES;
	migrate_record_clear(&rec);
	return ret;
}

int unlisted_take_back(struct retriever *retriever, int dir_fd, const char *name, const char *path)
{
	int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	g_autofree char *directory = NULL, *at = NULL;
	int fate, ret;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	fate = fate_of(fd);
	close(fd);
	if (fate < 0 || fate == FAILED)
		return MIN(fate, 0);
	directory = retriever_fd_path(dir_fd);
	at = g_strconcat(directory, "/", name, NULL);
	ret = report_add(retriever->report, REPORT_SOURCE, at,
			 fate == STAYS ? "the old server answers to this name and does not list "
					 "it: a client has changed it here, and it stays"
				       : "the old server answers to this name and does not list "
					 "it: what was here meanwhile was taken back");
	if (ret || fate == STAYS)
		return ret;
	seen_uncount(retriever, dir_fd, name);
	return aside_put_left(retriever, dir_fd, dir_fd, name, path);
}
