/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/door.h"

#include <errno.h>

#include "fsal_convert.h"

/* Ganesha drops requests of NFSv3 that end in ERR_FSAL_NOMEM or ERR_FSAL_NOT_OPENED (its
 * nfs_RetryableError()), and the client waits: so no result becomes one of these two. */
fsal_status_t mg_status(int result)
{
	switch (result) {
	case 0:
		return mg_ok();
	case -EAGAIN:
	case -ECANCELED:
	case -ECONNRESET:
	case -EPROTO:
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
	case -ENOLCK:
		return mg_delay();
	case -ENOENT:
	case -EACCES:
	case -EPERM:
	case -ENOSPC:
	case -EDQUOT:
	case -EROFS:
	case -EOPNOTSUPP:
	case -EINVAL:
	case -ENAMETOOLONG:
	case -ENOTDIR:
		return fsalstat(posix2fsal_error(-result), -result);
	default: /* -ESTALE too: there, not here; the file handle is good */
		return fsalstat(ERR_FSAL_IO, -result);
	}
}

fsal_status_t mg_fill_status(int result)
{
	switch (result) {
	case -ENOSPC:
	case -EDQUOT:
	case -EROFS:
		return fsalstat(ERR_FSAL_IO, -result);
	default:
		return mg_status(result);
	}
}

fsal_status_t mg_look_status(int result)
{
	return result == -ESTALE ? fsalstat(ERR_FSAL_STALE, ESTALE) : mg_status(result);
}
