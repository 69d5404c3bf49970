/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "door.h"

#include <errno.h>

#include "fsal_convert.h"

/* Ganesha drops requests of NFSv3 that end in ERR_FSAL_NOMEM or ERR_FSAL_NOT_OPENED (its
 * nfs_RetryableError()), and the client waits: nothing here becomes one of them. */
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
	case -EREMOTEIO:
	case -ESTALE: /* there, not here: the file handle is good */
	case -EBADMSG:
	case -EBADF:
		return fsalstat(ERR_FSAL_IO, -result);
	default:
		return fsalstat(posix2fsal_error(-result), -result);
	}
}

fsal_status_t mg_look_status(int result)
{
	return result == -ESTALE ? fsalstat(ERR_FSAL_STALE, ESTALE) : mg_status(result);
}
