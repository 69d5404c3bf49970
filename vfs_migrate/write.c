/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes and flushes.
 *
 *   look: unfinished -> BEGIN -> write below -> END -> answer
 *                         ^                      |
 *                         +--- retriever away ---+
 *
 * The write itself is made in the middle of the dispatch that brings the reply to BEGIN, in
 * whatever hook that is, and not by a thread or from the event loop, as a hook that waits runs no
 * event loop.  Such a hook may wait for a bracket or a fill of this very file, which wait for this
 * bracket to be closed; and other clients must not wait for the write because one client's smbd
 * waits for a name.
 *
 * A request whose client is gone is freed: if BEGIN is granted after that, it is ended without a
 * change; if END was made, it is on its way.
 *
 * Appended data (SMB3's POSIX extensions) go to the end that the file has when they are written.
 * Nothing is missing from there on, so that no bracket can lose them: they are written once.
 * Others may move the end just then; the range that END is told is good enough, because nothing is
 * missing there either way.
 *
 * Durability: a stable write and a flush end in fsync, which is made for the data first, and then
 * SYNC for the record.
 */
#include "vfs_migrate/bracket.h"
#include "vfs_migrate/call.h"
#include "vfs_migrate/compat.h"
#include "vfs_migrate/object.h"
#include "vfs_migrate/parts.h"

#include "lib/util/sys_rw.h"

/* Where data go that are written at that offset. */
static uint64_t start_of(struct files_struct *fsp, off_t offset)
{
	struct stat st;

	if (!vm_compat_appends(fsp))
		return offset;
	return fstat(vm_fd(fsp), &st) < 0 ? INT64_MAX : st.st_size;
}

/* ---- asynchronous ---------------------------------------------------------------------------- */

struct write {
	struct vfs_handle_struct *handle;
	struct tevent_context *ev;
	struct files_struct *fsp;
	const void *data;
	size_t n;
	off_t offset;
	uint64_t start; /* of what is changed */
	struct migrate_bracket bracket;
	ssize_t result;
	struct vfs_aio_state aio;
};

static void begin_write(struct tevent_req *req);

/* The host marks the file as changed when it has the answer, and does that as the file's user.  A
 * user who is gone is no error. */
static void become_writer(struct files_struct *fsp)
{
	(void)change_to_user_and_service_by_fsp(fsp);
}

/* Makes the bracket's next step: begins again, or completes the request. */
static void go_on_write(struct tevent_req *req, int status)
{
	struct write *write = tevent_req_data(req, struct write);

	if (migrate_bracket_next(&write->bracket, status) == MIGRATE_STEP_BEGIN)
		begin_write(req);
	else if (write->bracket.status < 0)
		vm_req_fail(req, write->bracket.status);
	else if (write->result < 0)
		tevent_req_error(req, write->aio.error);
	else
		tevent_req_done(req);
}

static void write_ended(struct vm_call *call, int status, void *arg)
{
	struct write *write = tevent_req_data(arg, struct write);

	TALLOC_FREE(call);
	become_writer(write->fsp);
	go_on_write(arg, status);
}

/* Writes; called in the middle of any hook, as root. */
static void write_now(struct write *write)
{
	if (!become_user_without_service_by_fsp(write->fsp)) {
		write->result = -1;
		write->aio.error = EACCES;
		return;
	}
	write->start = start_of(write->fsp, write->offset);
	write->result = SMB_VFS_NEXT_PWRITE(write->handle, write->fsp, write->data, write->n,
					    write->offset);
	write->aio.error = write->result < 0 ? errno : 0;
	unbecome_user_without_service();
}

static void write_begun(struct vm_call *call, int status, void *arg)
{
	struct tevent_req *req = arg;
	struct write *write = tevent_req_data(req, struct write);
	struct vm_ask ask = {.what = VM_END, .begun = vm_call_begun(call)};

	TALLOC_FREE(call);
	tevent_req_defer_callback(req, write->ev);
	if (status < 0) {
		go_on_write(req, status);
		return;
	}
	if (migrate_bracket_next(&write->bracket, 0) == MIGRATE_STEP_CHANGE) {
		write_now(write);
		migrate_bracket_next(&write->bracket, write->result < 0 ? -EIO : 0);
	}
	ask.offset = write->start;
	ask.changed = write->result > 0;
	ask.length = ask.changed ? write->result : 0;
	if (!vm_call_send(write, write->handle, write->ev, &ask, write_ended, req))
		tevent_req_error(req, errno);
}

static void begin_write(struct tevent_req *req)
{
	struct write *write = tevent_req_data(req, struct write);
	struct vm_ask ask = {
		.what = VM_BEGIN,
		.fd = vm_fd(write->fsp),
		.change = MIGRATE_WRITE,
		.offset = start_of(write->fsp, write->offset),
		.length = write->n,
		.at_once = true,
	};

	if (!vm_call_send(write, write->handle, write->ev, &ask, write_begun, req))
		tevent_req_error(req, errno);
}

static void written(struct tevent_req *subreq)
{
	struct tevent_req *req = tevent_req_callback_data(subreq, struct tevent_req);
	struct write *write = tevent_req_data(req, struct write);

	write->result = SMB_VFS_PWRITE_RECV(subreq, &write->aio);
	TALLOC_FREE(subreq);
	if (write->result < 0)
		tevent_req_error(req, write->aio.error);
	else
		tevent_req_done(req);
}

static void pass_down(struct tevent_req *req)
{
	struct write *write = tevent_req_data(req, struct write);
	struct tevent_req *subreq = SMB_VFS_NEXT_PWRITE_SEND(
		write, write->ev, write->handle, write->fsp, write->data, write->n, write->offset);

	if (!tevent_req_nomem(subreq, req))
		tevent_req_set_callback(subreq, written, req);
}

static struct tevent_req *vm_pwrite_send(struct vfs_handle_struct *handle, TALLOC_CTX *mem_ctx,
					 struct tevent_context *ev, struct files_struct *fsp,
					 const void *data, size_t n, off_t offset)
{
	struct write *write;
	struct tevent_req *req = tevent_req_create(mem_ctx, &write, struct write);
	int result;

	if (!req)
		return NULL;
	*write = (struct write){.handle = handle,
				.ev = ev,
				.fsp = fsp,
				.data = data,
				.n = n,
				.offset = offset,
				.bracket.once = vm_compat_appends(fsp),
				.bracket.until = migrate_in_ms(vm_share(handle)->hold_ms)};
	result = vm_is_unfinished(handle, fsp);
	if (result < 0)
		vm_req_fail(req, result);
	else if (result > 0)
		begin_write(req);
	else
		pass_down(req);
	return tevent_req_is_in_progress(req) ? req : tevent_req_post(req, ev);
}

static ssize_t vm_pwrite_recv(struct tevent_req *req, struct vfs_aio_state *aio)
{
	struct write *write = tevent_req_data(req, struct write);
	ssize_t result = write->result;

	return vm_io_recv(req, &write->aio, aio) ? result : -1;
}

/* ---- synchronous ----------------------------------------------------------------------------- */

struct sync_write {
	struct vm_change change;
	struct vfs_handle_struct *handle;
	struct files_struct *fsp;
	const void *data;
	off_t offset;
	ssize_t result;
};

static int make_write(void *arg)
{
	struct sync_write *write = arg;

	write->change.offset = start_of(write->fsp, write->offset);
	write->result = SMB_VFS_NEXT_PWRITE(write->handle, write->fsp, write->data,
					    write->change.length, write->offset);
	if (write->result < 0)
		return -1;
	write->change.length = write->result; /* what END is to be told */
	return 0;
}

static ssize_t vm_pwrite(struct vfs_handle_struct *handle, struct files_struct *fsp,
			 const void *data, size_t n, off_t offset)
{
	struct sync_write write = {
		.change = {.kind = MIGRATE_WRITE,
			   .length = n,
			   .once = vm_compat_appends(fsp),
			   .make = make_write},
		.handle = handle,
		.fsp = fsp,
		.data = data,
		.offset = offset,
	};

	write.change.offset = start_of(fsp, offset);
	if (vm_known_normal(handle, fsp))
		return SMB_VFS_NEXT_PWRITE(handle, fsp, data, n, offset);
	write.change.arg = &write;
	return vm_change(handle, fsp, &write.change) < 0 ? -1 : write.result;
}

/* Writes out of a buffer, as bytes from a socket cannot be read again if the bracket has to be
 * repeated.  Afterwards all n bytes are read from the socket, unless it failed or would have
 * blocked. */
static ssize_t receive_write(struct vfs_handle_struct *handle, int from, struct files_struct *fsp,
			     off_t offset, size_t n, uint8_t *buffer)
{
	size_t done = 0, size = talloc_array_length(buffer);

	while (done < n) {
		ssize_t got = sys_read(from, buffer, MIN(n - done, size));
		off_t at = vm_compat_appends(fsp) ? VM_APPEND : offset + (off_t)done;

		if (got < 0 && done && (errno == EAGAIN || errno == EWOULDBLOCK))
			return done;
		if (got == 0)
			errno = ECONNRESET;
		if (got <= 0)
			return -1;
		if (vm_pwrite(handle, fsp, buffer, got, at) != got) {
			int error = errno;

			drain_socket(from, n - done - got);
			errno = error;
			return -1;
		}
		done += got;
	}
	return done;
}

static ssize_t vm_recvfile(struct vfs_handle_struct *handle, int from, struct files_struct *fsp,
			   off_t offset, size_t n)
{
	uint8_t *buffer;
	ssize_t result;

	if (vm_is_unfinished(handle, fsp) == 0)
		return SMB_VFS_NEXT_RECVFILE(handle, from, fsp, offset, n);
	buffer = talloc_array(NULL, uint8_t, MIN(n, 1 << 20));
	if (!buffer) {
		drain_socket(from, n);
		errno = ENOMEM;
		return -1;
	}
	result = receive_write(handle, from, fsp, offset, n, buffer);
	TALLOC_FREE(buffer);
	return result;
}

/* ---- flush ----------------------------------------------------------------------------------- */

struct sync {
	struct vfs_handle_struct *handle;
	struct tevent_context *ev;
	struct files_struct *fsp;
	bool again; /* the file was unfinished when its data were flushed */
	struct vfs_aio_state aio;
};

static void data_flushed(struct tevent_req *subreq);

static void flush_data(struct tevent_req *req)
{
	struct sync *sync = tevent_req_data(req, struct sync);
	struct tevent_req *subreq =
		SMB_VFS_NEXT_FSYNC_SEND(sync, sync->ev, sync->handle, sync->fsp);

	if (!tevent_req_nomem(subreq, req))
		tevent_req_set_callback(subreq, data_flushed, req);
}

static void record_flushed(struct vm_call *call, int status, void *arg)
{
	struct sync *sync = tevent_req_data(arg, struct sync);

	TALLOC_FREE(call);
	become_writer(sync->fsp); /* of a write that is to be durable */
	if (status < 0)
		vm_req_fail(arg, status);
	else
		tevent_req_done(arg);
}

/*
 * The record must not tell of less than is on disk.  If it was dropped since the data were flushed,
 * that must be durable, too.
 */
static void flush_record(struct tevent_req *req)
{
	struct sync *sync = tevent_req_data(req, struct sync);
	struct vm_ask ask = {.what = VM_SYNC, .fd = vm_fd(sync->fsp)};
	int result = vm_is_unfinished(sync->handle, sync->fsp);

	sync->again = false;
	if (result < 0)
		vm_req_fail(req, result);
	else if (result == 0)
		flush_data(req);
	else if (!vm_call_send(sync, sync->handle, sync->ev, &ask, record_flushed, req))
		tevent_req_error(req, errno);
}

static void data_flushed(struct tevent_req *subreq)
{
	struct tevent_req *req = tevent_req_callback_data(subreq, struct tevent_req);
	struct sync *sync = tevent_req_data(req, struct sync);
	int result = SMB_VFS_FSYNC_RECV(subreq, &sync->aio);

	TALLOC_FREE(subreq);
	if (result < 0)
		tevent_req_error(req, sync->aio.error);
	else if (sync->again)
		flush_record(req);
	else
		tevent_req_done(req);
}

static struct tevent_req *vm_fsync_send(struct vfs_handle_struct *handle, TALLOC_CTX *mem_ctx,
					struct tevent_context *ev, struct files_struct *fsp)
{
	struct sync *sync;
	struct tevent_req *req = tevent_req_create(mem_ctx, &sync, struct sync);

	if (!req)
		return NULL;
	*sync = (struct sync){
		.handle = handle,
		.ev = ev,
		.fsp = fsp,
		/* A directory's record is flushed with it. */
		.again = !fsp->fsp_flags.is_directory && !vm_known_normal(handle, fsp),
	};
	flush_data(req);
	return tevent_req_is_in_progress(req) ? req : tevent_req_post(req, ev);
}

static int vm_fsync_recv(struct tevent_req *req, struct vfs_aio_state *aio)
{
	struct sync *sync = tevent_req_data(req, struct sync);

	return vm_io_recv(req, &sync->aio, aio) ? 0 : -1;
}

void vm_write_fns(struct vfs_fn_pointers *fns)
{
	fns->pwrite_fn = vm_pwrite;
	fns->pwrite_send_fn = vm_pwrite_send;
	fns->pwrite_recv_fn = vm_pwrite_recv;
	fns->recvfile_fn = vm_recvfile;
	fns->fsync_send_fn = vm_fsync_send;
	fns->fsync_recv_fn = vm_fsync_recv;
}
