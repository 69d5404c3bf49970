/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "lib/base/advice.h"

const char *advice_for(int error)
{
	switch (error < 0 ? -error : error) {
	case ENOSPC:
	case EDQUOT:
		return "; make room on that file system, then do it again";
	case EROFS:
		return "; mount that file system for writing, then do it again";
	case EIO:
	case EUCLEAN:
		return "; see dmesg, and check that file system before anything else";
	case EACCES:
	case EPERM:
		return "; see which mount option, security module or sandbox forbids it";
	case ENOENT:
	case ENOTDIR:
		return "; mount or make it, then do it again";
	case EMFILE:
	case ENFILE:
		return "; raise LimitNOFILE= of the service";
	case ENOMEM:
	case EAGAIN:
		return "; see what takes the memory, or raise the service's limits";
	case ESTALE:
	case ENODEV:
		return "; see that what should be mounted there is, then do it again";
	case EXDEV:
		return "; unmount what is mounted there, then do it again";
	case EADDRINUSE:
		return "; see what else uses it";
	default:
		return "";
	}
}
