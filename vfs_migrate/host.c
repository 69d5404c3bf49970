/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "vfs_migrate/door.h"

int vm_fail(int result)
{
	switch (result) {
	case -EAGAIN:
	case -ECANCELED:
	case -ECONNRESET:
		errno = ETIMEDOUT;
		break;
	case -EREMOTEIO:
	case -ESTALE: /* there, not here */
	case -EBADMSG:
	case -EPROTO:
	case -ENOLCK:
	case -EXDEV: /* in a copy of the file system */
		errno = EIO;
		break;
	default:
		errno = -result;
	}
	return -1;
}

void vm_req_fail(struct tevent_req *req, int result)
{
	vm_fail(result);
	tevent_req_error(req, errno);
}

NTSTATUS vm_status(int result)
{
	if (result == 0)
		return NT_STATUS_OK;
	vm_fail(result);
	return map_nt_error_from_unix(errno);
}

int vm_dup(int fd)
{
	int copy = fd == AT_FDCWD ? open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)
				  : fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -errno : copy;
}

int vm_fd(const struct files_struct *fsp)
{
	if (fsp_is_alternate_stream(fsp))
		fsp = fsp->base_fsp;
	return fsp_get_pathref_fd(fsp);
}

bool vm_io_recv(struct tevent_req *req, const struct vfs_aio_state *done, struct vfs_aio_state *aio)
{
	bool failed = tevent_req_is_unix_error(req, &aio->error);

	if (!failed)
		*aio = *done;
	tevent_req_received(req);
	return !failed;
}
