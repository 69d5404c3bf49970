/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

int lease_break_s = -1;

/* G_MAXINT64: nobody is let in (proc_sys_fs(5)). */
static gint64 break_time(void)
{
	g_autofree char *text = NULL;
	gint64 s;

	if (lease_break_s >= 0)
		return lease_break_s * G_USEC_PER_SEC;
	if (!g_file_get_contents("/proc/sys/fs/lease-break-time", &text, NULL, NULL))
		return 0;
	s = g_ascii_strtoll(text, NULL, 10);
	return s ? s * G_USEC_PER_SEC : G_MAXINT64;
}

int lease_take(struct lease *lease, int fd)
{
	signal(SIGIO, SIG_IGN); /* that somebody waits */
	*lease = (struct lease){.fd = fd, .alone = g_get_monotonic_time()};
	if (fcntl(fd, F_SETLEASE, F_WRLCK) == 0)
		return 0;
	return errno == EAGAIN ? -EBUSY : -errno;
}

bool lease_holds(struct lease *lease, unsigned part)
{
	const gint64 now = g_get_monotonic_time();

	if (fcntl(lease->fd, F_GETLEASE) != F_WRLCK)
		return now - lease->alone < break_time() / part;
	lease->alone = now;
	return true;
}
