/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads.
 *
 *   look: missing -> RANGE -> read below -> look again -> answer
 *         present ----------> read below                  or from the start
 *         normal -----------> read below -> answer          or RANGE, durable -> from the start
 *
 * All reads of files that are not known to be whole are asynchronous, even against `aio read size`
 * (aio_force): other requests of the client go on, and sendfile, which sends a reply's header
 * before it is known whether the data are here, is not tried.  Reads that remain synchronous (parts
 * of compounds, smbd's own reads) wait here.  A read that is given up, at the deadline or because
 * the client is gone, leaves the fetch under way.
 */
#include "vfs_migrate/call.h"
#include "vfs_migrate/object.h"
#include "vfs_migrate/parts.h"

/* What the look before a read found. */
struct found {
	bool unfinished;
	struct migrate_found stub;
};

/* Whether the range is missing: 1, 0 or -errno. */
static int is_missing(struct vfs_handle_struct *handle, struct files_struct *fsp, off_t offset,
		      size_t n, struct found *found)
{
	struct migrate_stub stub;
	int result;

	found->unfinished = false;
	if (vm_known_normal(handle, fsp))
		return 0;
	result = vm_look(handle, fsp, &stub);
	if (result <= 0)
		return result;
	*found = (struct found){true, migrate_stub_found(&stub, offset, n)};
	result = !migrate_stub_present(&stub, offset, n);
	migrate_stub_clear(&stub);
	return result;
}

/* Whether the bytes that were read can be the answer: 1, 0, MIGRATE_DOUBTFUL or -errno. */
static int confirm_read(struct files_struct *fsp, const struct found *found, off_t offset,
			void *data, size_t n)
{
	struct iovec read = {data, n};
	int error = errno, result = 1;

	if (found->unfinished)
		result = migrate_read_confirm(vm_fd(fsp), &found->stub, offset, &read, 1, n);
	errno = error;
	return result;
}

static struct vm_ask ask_range(const struct files_struct *fsp, off_t offset, size_t n)
{
	return (struct vm_ask){.what = VM_RANGE, .fd = vm_fd(fsp), .offset = offset, .length = n};
}

/* ---- asynchronous ---------------------------------------------------------------------------- */

struct read {
	struct vfs_handle_struct *handle;
	struct tevent_context *ev;
	struct files_struct *fsp;
	void *data;
	size_t n;
	off_t offset;
	struct found found;
	ssize_t result;
	struct vfs_aio_state aio;
};

static void look_and_read(struct tevent_req *req);

/* Goes on as the read's user, but does not go to the share's directory again: a read has no path,
 * and the user may not be allowed to search that directory any more. */
static void as_user(struct tevent_req *req, void (*resume)(struct tevent_req *req))
{
	struct read *read = tevent_req_data(req, struct read);

	if (!become_user_without_service_by_fsp(read->fsp)) {
		tevent_req_error(req, EACCES);
		return;
	}
	resume(req);
	unbecome_user_without_service();
}

static void range_durable(struct vm_call *call, int status, void *arg)
{
	TALLOC_FREE(call);
	if (status < 0)
		vm_req_fail(arg, status);
	else
		as_user(arg, look_and_read);
}

static void make_durable(struct tevent_req *req)
{
	struct read *read = tevent_req_data(req, struct read);
	struct vm_ask ask = ask_range(read->fsp, read->offset, read->n);

	ask.make_durable = true;
	if (!vm_call_send(read, read->handle, read->ev, &ask, range_durable, req))
		tevent_req_error(req, errno);
}

static void pread_done(struct tevent_req *subreq)
{
	struct tevent_req *req = tevent_req_callback_data(subreq, struct tevent_req);
	struct read *read = tevent_req_data(req, struct read);
	int result;

	read->result = SMB_VFS_PREAD_RECV(subreq, &read->aio);
	TALLOC_FREE(subreq);
	if (read->result < 0) {
		tevent_req_error(req, read->aio.error);
		return;
	}
	result = confirm_read(read->fsp, &read->found, read->offset, read->data, read->result);
	if (result < 0)
		vm_req_fail(req, result);
	else if (result == MIGRATE_DOUBTFUL)
		make_durable(req);
	else if (result == 0)
		as_user(req, look_and_read);
	else
		tevent_req_done(req);
}

static void read_below(struct tevent_req *req)
{
	struct read *read = tevent_req_data(req, struct read);
	struct tevent_req *subreq = SMB_VFS_NEXT_PREAD_SEND(read, read->ev, read->handle, read->fsp,
							    read->data, read->n, read->offset);

	if (!tevent_req_nomem(subreq, req))
		tevent_req_set_callback(subreq, pread_done, req);
}

static void range_fetched(struct vm_call *call, int status, void *arg)
{
	TALLOC_FREE(call);
	if (status < 0)
		vm_req_fail(arg, status);
	else
		as_user(arg, read_below);
}

static void look_and_read(struct tevent_req *req)
{
	struct read *read = tevent_req_data(req, struct read);
	struct vm_ask ask = ask_range(read->fsp, read->offset, read->n);
	int result = is_missing(read->handle, read->fsp, read->offset, read->n, &read->found);

	if (result < 0)
		vm_req_fail(req, result);
	else if (result == 0)
		read_below(req);
	else if (!vm_call_send(read, read->handle, read->ev, &ask, range_fetched, req))
		tevent_req_error(req, errno);
}

static struct tevent_req *vm_pread_send(struct vfs_handle_struct *handle, TALLOC_CTX *mem_ctx,
					struct tevent_context *ev, struct files_struct *fsp,
					void *data, size_t n, off_t offset)
{
	struct read *read;
	struct tevent_req *req = tevent_req_create(mem_ctx, &read, struct read);

	if (!req)
		return NULL;
	*read = (struct read){
		.handle = handle, .ev = ev, .fsp = fsp, .data = data, .n = n, .offset = offset};
	look_and_read(req);
	return tevent_req_is_in_progress(req) ? req : tevent_req_post(req, ev);
}

static ssize_t vm_pread_recv(struct tevent_req *req, struct vfs_aio_state *aio)
{
	struct read *read = tevent_req_data(req, struct read);
	ssize_t result = read->result;

	return vm_io_recv(req, &read->aio, aio) ? result : -1;
}

static bool vm_aio_force(struct vfs_handle_struct *handle, struct files_struct *fsp)
{
	/* A write of nothing to a directory would be let through. */
	if (fsp->fsp_flags.is_directory)
		return SMB_VFS_NEXT_AIO_FORCE(handle, fsp);
	return !vm_known_normal(handle, fsp) || SMB_VFS_NEXT_AIO_FORCE(handle, fsp);
}

/* ---- synchronous ----------------------------------------------------------------------------- */

static ssize_t vm_pread(struct vfs_handle_struct *handle, struct files_struct *fsp, void *data,
			size_t n, off_t offset)
{
	struct vm_ask ask = ask_range(fsp, offset, n);
	struct found found;
	ssize_t done;
	int result;

	do {
		result = is_missing(handle, fsp, offset, n, &found);
		if (result > 0)
			result = vm_call_wait(handle, &ask, NULL);
		if (result < 0)
			return vm_fail(result);
		done = SMB_VFS_NEXT_PREAD(handle, fsp, data, n, offset);
		if (done < 0)
			return done;
		result = confirm_read(fsp, &found, offset, data, done);
		ask.make_durable = result == MIGRATE_DOUBTFUL;
		if (ask.make_durable)
			result = MIN(vm_call_wait(handle, &ask, NULL), 0);
		ask.make_durable = false;
	} while (result == 0);
	return result < 0 ? vm_fail(result) : done;
}

/* ENOSYS: smbd reads. */
static ssize_t vm_sendfile(struct vfs_handle_struct *handle, int to, struct files_struct *fsp,
			   const DATA_BLOB *header, off_t offset, size_t n)
{
	if (vm_is_unfinished(handle, fsp) == 0)
		return SMB_VFS_NEXT_SENDFILE(handle, to, fsp, header, offset, n);
	errno = ENOSYS;
	return -1;
}

void vm_read_fns(struct vfs_fn_pointers *fns)
{
	fns->pread_fn = vm_pread;
	fns->pread_send_fn = vm_pread_send;
	fns->pread_recv_fn = vm_pread_recv;
	fns->sendfile_fn = vm_sendfile;
	fns->aio_force_fn = vm_aio_force;
}
