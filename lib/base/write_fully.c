/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/write_fully.h"

#include <errno.h>
#include <unistd.h>

int write_fully(int fd, const void *bytes, size_t len, off_t at)
{
	for (size_t done = 0; done < len;) {
		const char *rest = (const char *)bytes + done;
		ssize_t n = at == WRITE_BEHIND ? write(fd, rest, len - done)
					       : pwrite(fd, rest, len - done, at + (off_t)done);

		if (n == 0)
			errno = EIO;
		if (n <= 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}
