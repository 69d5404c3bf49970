/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/advice.h"

#ifndef FAN_PRE_ACCESS
#define FAN_PRE_ACCESS 0x00100000
#endif
#define ERRNO_SHIFT   24    /* FAN_DENY_ERRNO() of Linux 6.14 */
#define NUMBERS	      65536 /* more descriptors than a guard may have */
#define BUFFER_EVENTS 64

const char *const marks_names[MARKS_GROUPS] = {[MARKS_OPEN] = "open", [MARKS_ACCESS] = "access"};

static const uint64_t masks[MARKS_GROUPS] = {
	[MARKS_OPEN] = FAN_OPEN_PERM | FAN_ONDIR, [MARKS_ACCESS] = FAN_PRE_ACCESS};

static bool respond(int group, int number, unsigned response)
{
	const struct fanotify_response answer = {.fd = number, .response = response};

	return write(group, &answer, sizeof(answer)) == sizeof(answer);
}

/* With the error, where the kernel knows any. */
static bool deny(int group, int number, int error)
{
	return respond(group, number, FAN_DENY | (unsigned)error << ERRNO_SHIFT) ||
	       (errno == EINVAL && respond(group, number, FAN_DENY));
}

static void fail_unanswered(int group)
{
	for (int number = 0; number < NUMBERS; number++)
		deny(group, number, EIO);
}

void marks_fail_unanswered(const struct marks *marks)
{
	for (int group = 0; group < MARKS_GROUPS; group++)
		if (marks->fd[group] >= 0)
			fail_unanswered(marks->fd[group]);
}

static int mark(int group, const char *root, uint64_t mask)
{
	return fanotify_mark(group, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, mask, AT_FDCWD, root) < 0
		       ? errno
		       : 0;
}

/* In *fd; 0 or an errno. */
static int begin_group(const char *root, uint64_t mask, int *fd)
{
	/* Without a limit of its queue: what finds no room there goes on without an answer. */
	const unsigned flags = FAN_CLASS_PRE_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK |
			       FAN_UNLIMITED_QUEUE | FAN_UNLIMITED_MARKS | FAN_REPORT_TID;
	int error;

	*fd = fanotify_init(flags, O_RDONLY | O_LARGEFILE | O_CLOEXEC);
	error = *fd < 0 ? errno : mark(*fd, root, mask);
	if (error && *fd >= 0)
		close(*fd);
	if (error)
		*fd = -1;
	return error;
}

/* What it would say again, however often it is asked. */
static bool is_mark_refused(int failed)
{
	return failed == EPERM || failed == ENOSYS || failed == EINVAL || failed == EOPNOTSUPP ||
	       failed == ENODEV || failed == EXDEV;
}

gboolean marks_begin(struct marks *marks, const char *root, bool access, GError **error)
{
	int failed;

	for (int group = 0; group < MARKS_GROUPS; group++) {
		/* Again, should it have died in between. */
		failed = marks->fd[group] < 0 ? 0 : mark(marks->fd[group], root, masks[group]);
		if (failed == EINVAL || failed == EBADF) { /* it is no group */
			close(marks->fd[group]);
			marks->fd[group] = -1;
		}
		if (marks->fd[group] >= 0) {
			fail_unanswered(marks->fd[group]);
			continue;
		}
		if (group == MARKS_ACCESS && !access)
			continue;
		failed = begin_group(root, masks[group], &marks->fd[group]);
		/* EINVAL: this kernel does not know it; EOPNOTSUPP: not on this file system. */
		if (failed &&
		    (group != MARKS_ACCESS || (failed != EINVAL && failed != EOPNOTSUPP))) {
			g_set_error(error, G_FILE_ERROR,
				    is_mark_refused(failed) ? (gint)G_FILE_ERROR_INVAL
							    : (gint)g_file_error_from_errno(failed),
				    "%s: it cannot be guarded: fanotify: %s%s", root,
				    g_strerror(failed), advice_for(failed));
			return FALSE;
		}
	}
	marks_ask_mounts(marks);
	return TRUE;
}

void marks_ask_mounts(const struct marks *marks)
{
	for (int group = 0; group < MARKS_GROUPS; group++)
		if (marks->fd[group] >= 0)
			fanotify_mark(marks->fd[group], FAN_MARK_FLUSH | FAN_MARK_MOUNT, 0,
				      AT_FDCWD, "/");
}

bool marks_are_left(const struct marks *marks)
{
	bool left = false;

	for (int group = 0; group < MARKS_GROUPS && !left; group++) {
		g_autofree char *path = g_strdup_printf("/proc/self/fdinfo/%d", marks->fd[group]);
		g_autofree char *text = NULL;

		left = marks->fd[group] >= 0 && (!g_file_get_contents(path, &text, NULL, NULL) ||
						 strstr(text, "fanotify sdev:"));
	}
	return left;
}

bool marks_are_on(const struct marks *marks, const char *root)
{
	for (int group = 0; group < MARKS_GROUPS; group++)
		/* Takes away what the mark has not: an error only where there is none. */
		if (marks->fd[group] >= 0 &&
		    fanotify_mark(marks->fd[group], FAN_MARK_REMOVE | FAN_MARK_FILESYSTEM,
				  FAN_CLOSE_WRITE, AT_FDCWD, root) < 0 &&
		    errno == ENOENT)
			return false;
	return true;
}

void marks_flush(const struct marks *marks)
{
	for (int group = 0; group < MARKS_GROUPS; group++)
		if (marks->fd[group] >= 0)
			fanotify_mark(marks->fd[group], FAN_MARK_FLUSH | FAN_MARK_FILESYSTEM, 0,
				      AT_FDCWD, "/");
}

void marks_end(struct marks *marks)
{
	marks_flush(marks);
	for (int group = 0; group < MARKS_GROUPS; group++) {
		if (marks->fd[group] >= 0)
			close(marks->fd[group]);
		marks->fd[group] = -1;
	}
}

int marks_read(const struct marks *marks, enum marks_group group, marks_take_fn take, void *arg)
{
	struct fanotify_event_metadata buffer[BUFFER_EVENTS];
	ssize_t len;

	/* EMFILE and the like: the kernel has refused that one. */
	while ((len = read(marks->fd[group], buffer, sizeof(buffer))) != 0) {
		const struct fanotify_event_metadata *event = buffer;

		if (len < 0 && errno == EAGAIN)
			return 0;
		if (len < 0 && (errno == EBADF || errno == EINVAL || errno == EFAULT))
			return errno;
		for (; len > 0 && FAN_EVENT_OK(event, len); event = FAN_EVENT_NEXT(event, len))
			if (event->fd >= 0)
				take(arg, &(struct marks_event){group, event->fd, event->pid});
	}
	return EIO;
}

void marks_answer(const struct marks *marks, const struct marks_event *event, int error)
{
	if (!error)
		respond(marks->fd[event->group], event->fd, FAN_ALLOW);
	else
		deny(marks->fd[event->group], event->fd, error);
}

static int ignore(const struct marks *marks, unsigned flags, uint64_t but, int fd)
{
	int result = 0;

	for (int group = 0; group < MARKS_GROUPS && !result; group++)
		if (marks->fd[group] >= 0 &&
		    fanotify_mark(marks->fd[group], FAN_MARK_ADD | FAN_MARK_IGNORE_SURV | flags,
				  masks[group] & ~but, fd, NULL) < 0)
			result = -errno;
	return result;
}

void marks_ignore(const struct marks *marks, int fd)
{
	struct stat st;
	struct marks some = *marks;

	if (fstat(fd, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		some.fd[MARKS_ACCESS] = -1;
	ignore(&some, FAN_MARK_EVICTABLE, S_ISDIR(st.st_mode) ? 0 : FAN_ONDIR, fd);
}

int marks_ignore_mount(const struct marks *marks, int fd)
{
	return ignore(marks, FAN_MARK_MOUNT, 0, fd);
}
