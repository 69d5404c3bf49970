/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/mutes.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

#include "journal/store/events.h"

#define FILES_MAX 1024

#ifndef FAN_MARK_EVICTABLE
#define FAN_MARK_EVICTABLE 0x00000200
#endif
#ifndef FAN_MARK_IGNORE_SURV
#define FAN_MARK_IGNORE_SURV (0x00000400 | FAN_MARK_IGNORED_SURV_MODIFY)
#endif

/* 0 or an errno. */
static int mute(const struct mutes *mutes, const struct migrate_binding *object)
{
	int fd = migrate_binding_open(mutes->root, object, O_PATH | O_CLOEXEC), result;

	if (fd < 0)
		return -fd;
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
	result = fanotify_mark(mutes->fan, FAN_MARK_ADD | FAN_MARK_IGNORE_SURV | FAN_MARK_EVICTABLE,
			       FAN_MODIFY, AT_FDCWD, path) < 0
			 ? errno
			 : 0;
	close(fd);
	return result;
}

void mutes_add(struct mutes *mutes, const struct fanotify_event_metadata *bytes)
{
	struct event event;
	int failed;

	if (mutes->closed || mutes->unable || mutes->count >= FILES_MAX ||
	    !event_decode(bytes, &event) || !event.object.len || !(event.mask & FAN_MODIFY) ||
	    event.mask & FAN_ONDIR)
		return;
	failed = mute(mutes, &event.object);
	mutes->count += !failed;
	mutes->unable = failed == EINVAL || failed == ENOSPC || failed == ENOMEM;
}

void mutes_close(struct mutes *mutes)
{
	mutes->closed = true;
	/* of files alone: that of the file system stays */
	if (mutes->count)
		fanotify_mark(mutes->fan, FAN_MARK_FLUSH, 0, AT_FDCWD, "/");
	mutes->count = 0;
}

void mutes_open(struct mutes *mutes)
{
	mutes->closed = false;
}
