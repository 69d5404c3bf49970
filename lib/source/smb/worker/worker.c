/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/worker/worker.h"

#include <sys/socket.h>

void worker_say(struct worker *worker, struct wire_reply *reply)
{
	ssize_t n;

	reply->version = WIRE_VERSION;
	do
		n = send(worker->sock, reply, sizeof(*reply), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n != sizeof(*reply))
		_exit(4); /* the retriever is gone */
}

void worker_fail(struct worker *worker, enum wire_failure failure, uint32_t code)
{
	struct wire_reply reply = {.type = WIRE_FAILED, .status = (int32_t)failure, .code = code};

	worker_say(worker, &reply);
	_exit(1);
}

void worker_alive(struct worker *worker)
{
	struct wire_reply reply = {.type = WIRE_ALIVE};

	worker_say(worker, &reply);
}

void job_done(struct job *job, int status)
{
	struct worker *worker = job->worker;
	uint8_t *slot = worker->memory + (size_t)job->request.slot * WIRE_SLOT_BYTES;

	job->reply.type = WIRE_REPLY;
	job->reply.slot = job->request.slot;
	job->reply.serial = job->request.serial;
	job->reply.status = status;
	job->reply.len = status ? 0 : (uint32_t)(job->out.at - slot);
	worker_say(worker, &job->reply);
	talloc_free(job);
}

int worker_errno(NTSTATUS status)
{
	static const struct {
		NTSTATUS status;
		int err;
	} known[] = {
		{NT_STATUS_OBJECT_NAME_NOT_FOUND, -ENOENT},
		{NT_STATUS_OBJECT_PATH_NOT_FOUND, -ENOENT},
		{NT_STATUS_NO_SUCH_FILE, -ENOENT},
		{NT_STATUS_NOT_FOUND, -ENOENT},
		{NT_STATUS_DELETE_PENDING, -ENOENT},
		{NT_STATUS_NAME_TOO_LONG, -ENAMETOOLONG},
		{NT_STATUS_NOT_A_DIRECTORY, -ENOTDIR},
		{NT_STATUS_STOPPED_ON_SYMLINK, -ENOTDIR}, /* in the middle of a path */
		{NT_STATUS_FILE_IS_A_DIRECTORY, -EISDIR},
		{NT_STATUS_ACCESS_DENIED, -EACCES},
		{NT_STATUS_NETWORK_ACCESS_DENIED, -EACCES},
		{NT_STATUS_PRIVILEGE_NOT_HELD, -EPERM},
		{NT_STATUS_SHARING_VIOLATION, -EAGAIN},
		{NT_STATUS_FILE_LOCK_CONFLICT, -EAGAIN},
		{NT_STATUS_INSUFFICIENT_RESOURCES, -EAGAIN},
		{NT_STATUS_INSUFF_SERVER_RESOURCES, -EAGAIN},
		{NT_STATUS_TOO_MANY_OPENED_FILES, -EAGAIN},
		{NT_STATUS_NETWORK_BUSY, -EAGAIN},
		{NT_STATUS_RETRY, -EAGAIN},
		{NT_STATUS_IO_TIMEOUT, -EAGAIN},
		{NT_STATUS_FILE_IS_OFFLINE, -EAGAIN},
		{NT_STATUS_FILE_NOT_AVAILABLE, -EAGAIN},
		{NT_STATUS_SERVER_UNAVAILABLE, -EAGAIN},
		{NT_STATUS_REQUEST_NOT_ACCEPTED, -EAGAIN},
		{NT_STATUS_OBJECT_NAME_COLLISION, -EEXIST},
		{NT_STATUS_DIRECTORY_NOT_EMPTY, -ENOTEMPTY},
		{NT_STATUS_OBJECT_NAME_INVALID, -EINVAL},
		{NT_STATUS_CANNOT_DELETE, -EACCES},
		{NT_STATUS_INVALID_OWNER, -EPERM},
		{NT_STATUS_DISK_FULL, -ENOSPC},
		{NT_STATUS_QUOTA_EXCEEDED, -EDQUOT},
		{NT_STATUS_MEDIA_WRITE_PROTECTED, -EROFS},
		{NT_STATUS_NOT_SUPPORTED, -ENOTSUP},
		{NT_STATUS_PATH_NOT_COVERED, -ENOTSUP}, /* DFS */
		{NT_STATUS_INVALID_NETWORK_RESPONSE, -EBADMSG},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (NT_STATUS_EQUAL(status, known[i].status))
			return known[i].err;
	return NT_STATUS_IS_OK(status) ? -EBADMSG : -EREMOTEIO;
}

void job_failed(struct job *job, NTSTATUS status)
{
	job->reply.code = NT_STATUS_V(status);
	job_done(job, worker_errno(status));
}
