/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Server-side copies: FSCTL_SRV_REQUEST_RESUME_KEY, then FSCTL_SRV_COPYCHUNK; or
 * FSCTL_DUP_EXTENTS_TO_FILE, which is both in one.
 *
 * The modules below copy from file to file, past this module's reads and writes: out of holes, and
 * outside of brackets.  So they get keys only of files that are whole, for ever.  The key of an
 * unfinished file is known to this module alone; copies from such a file, or to an unfinished file,
 * are made here, by reads and writes as if the client had made them.  A share of this smbd without
 * the module does not find such a key and refuses the copy.  To make that rare, a small file is
 * made whole before its key is given out.
 */
#include "vfs_migrate/call.h"
#include "vfs_migrate/compat.h"
#include "vfs_migrate/object.h"
#include "vfs_migrate/parts.h"

#include "modules/offload_token.h"

#define SMALL (16 << 20) /* bytes: of a small file no more may be missing */
#define PIECE (1 << 20)	 /* copied at a time */

/* The keys that this module alone knows; they go with their files_struct. */
static struct vfs_offload_ctx *own_keys;

/* ---- the key --------------------------------------------------------------------------------- */

struct key {
	struct vfs_handle_struct *handle;
	struct tevent_context *ev;
	struct files_struct *fsp;
	uint32_t fsctl, ttl;
	off_t offset;
	size_t n;
	uint32_t flags;
	uint64_t length;
	DATA_BLOB token;
};

static void key_done(struct tevent_req *subreq)
{
	struct tevent_req *req = tevent_req_callback_data(subreq, struct tevent_req);
	struct key *key = tevent_req_data(req, struct key);
	NTSTATUS status = SMB_VFS_NEXT_OFFLOAD_READ_RECV(subreq, key->handle, key, &key->flags,
							 &key->length, &key->token);

	TALLOC_FREE(subreq);
	if (!tevent_req_nterror(req, status))
		tevent_req_done(req);
}

static void key_below(struct tevent_req *req)
{
	struct key *key = tevent_req_data(req, struct key);
	struct tevent_req *subreq = SMB_VFS_NEXT_OFFLOAD_READ_SEND(
		key, key->ev, key->handle, key->fsp, key->fsctl, key->ttl, key->offset, key->n);

	if (!tevent_req_nomem(subreq, req))
		tevent_req_set_callback(subreq, key_done, req);
}

static void make_own_key(struct tevent_req *subreq)
{
	struct tevent_req *req = tevent_req_callback_data(subreq, struct tevent_req);
	struct key *key = tevent_req_data(req, struct key);
	NTSTATUS status = vfs_offload_token_ctx_init(key->fsp->conn->sconn->client, &own_keys);

	TALLOC_FREE(subreq);
	if (NT_STATUS_IS_OK(status))
		status = vfs_offload_token_create_blob(key, key->fsp, key->fsctl, &key->token);
	if (NT_STATUS_IS_OK(status))
		status = vfs_offload_token_db_store_fsp(own_keys, key->fsp, &key->token);
	if (!tevent_req_nterror(req, status))
		tevent_req_done(req);
}

/* vfs_default crashes on an unknown key unless it was once asked to make a token: so it is asked
 * for the token of an operation that does not exist. */
static void own_key(struct tevent_req *req)
{
	struct key *key = tevent_req_data(req, struct key);
	struct tevent_req *subreq =
		SMB_VFS_NEXT_OFFLOAD_READ_SEND(key, key->ev, key->handle, key->fsp, 0, 0, 0, 0);

	if (!tevent_req_nomem(subreq, req))
		tevent_req_set_callback(subreq, make_own_key, req);
}

/* After SYNC a file that is whole has no record any more. */
static void source_flushed(struct vm_call *call, int status, void *arg)
{
	struct tevent_req *req = arg;
	struct key *key = tevent_req_data(req, struct key);

	TALLOC_FREE(call);
	if (!change_to_user_and_service_by_fsp(key->fsp))
		tevent_req_nterror(req, NT_STATUS_ACCESS_DENIED);
	else if (status < 0 || vm_is_unfinished(key->handle, key->fsp) != 0)
		own_key(req);
	else
		key_below(req);
}

static void source_fetched(struct vm_call *call, int status, void *arg)
{
	struct tevent_req *req = arg;
	struct key *key = tevent_req_data(req, struct key);
	struct vm_ask ask = {.what = VM_SYNC, .fd = vm_fd(key->fsp)};

	TALLOC_FREE(call);
	if (status < 0)
		tevent_req_nterror(req, vm_status(status));
	else if (!vm_call_send(key, key->handle, key->ev, &ask, source_flushed, req))
		tevent_req_nterror(req, map_nt_error_from_unix(errno));
}

static void give_key(struct tevent_req *req)
{
	struct key *key = tevent_req_data(req, struct key);
	struct vm_ask ask = {.what = VM_RANGE, .fd = vm_fd(key->fsp), .length = UINT64_MAX};
	struct migrate_stub stub;
	uint64_t missing = 0;
	int result =
		vm_known_normal(key->handle, key->fsp) ? 0 : vm_look(key->handle, key->fsp, &stub);

	if (result > 0) {
		missing = stub.missing_bytes;
		migrate_stub_clear(&stub);
	}
	if (result < 0)
		tevent_req_nterror(req, vm_status(result));
	else if (result == 0)
		key_below(req);
	else if (missing > SMALL)
		own_key(req);
	else if (!vm_call_send(key, key->handle, key->ev, &ask, source_fetched, req))
		tevent_req_nterror(req, map_nt_error_from_unix(errno));
}

static struct tevent_req *vm_offload_read_send(TALLOC_CTX *mem_ctx, struct tevent_context *ev,
					       struct vfs_handle_struct *handle,
					       struct files_struct *fsp, uint32_t fsctl,
					       uint32_t ttl, off_t offset, size_t n)
{
	struct key *key;
	struct tevent_req *req = tevent_req_create(mem_ctx, &key, struct key);

	if (!req)
		return NULL;
	*key = (struct key){.handle = handle,
			    .ev = ev,
			    .fsp = fsp,
			    .fsctl = fsctl,
			    .ttl = ttl,
			    .offset = offset,
			    .n = n};
	give_key(req);
	return tevent_req_is_in_progress(req) ? req : tevent_req_post(req, ev);
}

static NTSTATUS vm_offload_read_recv(struct tevent_req *req, struct vfs_handle_struct *handle,
				     TALLOC_CTX *mem_ctx, uint32_t *flags, uint64_t *length,
				     DATA_BLOB *token)
{
	struct key *key = tevent_req_data(req, struct key);
	NTSTATUS status;

	if (!tevent_req_is_nterror(req, &status)) {
		*flags = key->flags;
		*length = key->length;
		*token = key->token;
		talloc_steal(mem_ctx, token->data);
		status = NT_STATUS_OK;
	}
	tevent_req_received(req);
	return status;
}

/* ---- the copy -------------------------------------------------------------------------------- */

struct copy {
	struct vfs_handle_struct *handle;
	struct tevent_context *ev;
	uint32_t fsctl;
	struct files_struct *from, *to;
	off_t from_offset, to_offset, left, copied;
	uint8_t *piece;
	size_t size; /* of the piece under way */
};

static void read_done(struct tevent_req *subreq);
static void write_done(struct tevent_req *subreq);

/* Becomes the file's user, and checks that others' locks allow to read or write there. */
static NTSTATUS may_copy(struct copy *copy, struct files_struct *fsp, off_t offset,
			 enum brl_type type)
{
	struct lock_struct lock;

	if (!change_to_user_and_service_by_fsp(fsp))
		return NT_STATUS_ACCESS_DENIED;
	/* As in the modules below, clones heed no locks. */
	if (copy->fsctl == FSCTL_DUP_EXTENTS_TO_FILE)
		return NT_STATUS_OK;
	vm_compat_lock(fsp, offset, copy->size, type, &lock);
	return SMB_VFS_STRICT_LOCK_CHECK(fsp->conn, fsp, &lock) ? NT_STATUS_OK
								: NT_STATUS_FILE_LOCK_CONFLICT;
}

static void copy_piece(struct tevent_req *req)
{
	struct copy *copy = tevent_req_data(req, struct copy);
	struct tevent_req *subreq;

	copy->size = MIN(copy->left, PIECE);
	if (tevent_req_nterror(req, may_copy(copy, copy->from, copy->from_offset, READ_LOCK)))
		return;
	subreq = SMB_VFS_PREAD_SEND(copy, copy->ev, copy->from, copy->piece, copy->size,
				    copy->from_offset);
	if (!tevent_req_nomem(subreq, req))
		tevent_req_set_callback(subreq, read_done, req);
}

/* Whether the whole piece was read or written. */
static bool is_whole(struct tevent_req *req, ssize_t done, const struct vfs_aio_state *aio)
{
	struct copy *copy = tevent_req_data(req, struct copy);

	if (done < 0)
		tevent_req_nterror(req, map_nt_error_from_unix(aio->error));
	else if ((size_t)done != copy->size)
		tevent_req_nterror(req, NT_STATUS_IO_DEVICE_ERROR);
	else
		return true;
	return false;
}

static void read_done(struct tevent_req *subreq)
{
	struct tevent_req *req = tevent_req_callback_data(subreq, struct tevent_req);
	struct copy *copy = tevent_req_data(req, struct copy);
	struct vfs_aio_state aio;
	ssize_t done = SMB_VFS_PREAD_RECV(subreq, &aio);

	TALLOC_FREE(subreq);
	if (!is_whole(req, done, &aio) ||
	    tevent_req_nterror(req, may_copy(copy, copy->to, copy->to_offset, WRITE_LOCK)))
		return;
	subreq = SMB_VFS_PWRITE_SEND(copy, copy->ev, copy->to, copy->piece, copy->size,
				     copy->to_offset);
	if (!tevent_req_nomem(subreq, req))
		tevent_req_set_callback(subreq, write_done, req);
}

static void write_done(struct tevent_req *subreq)
{
	struct tevent_req *req = tevent_req_callback_data(subreq, struct tevent_req);
	struct copy *copy = tevent_req_data(req, struct copy);
	struct vfs_aio_state aio;
	ssize_t done = SMB_VFS_PWRITE_RECV(subreq, &aio);

	TALLOC_FREE(subreq);
	if (!is_whole(req, done, &aio))
		return;
	copy->from_offset += done;
	copy->to_offset += done;
	copy->copied += done;
	copy->left -= done;
	if (copy->left > 0)
		copy_piece(req);
	else
		tevent_req_done(req);
}

/* The caller goes on as the destination's user. */
static void copy_cleanup(struct tevent_req *req, enum tevent_req_state state)
{
	struct copy *copy = tevent_req_data(req, struct copy);

	if (copy->piece && (state == TEVENT_REQ_DONE || state == TEVENT_REQ_USER_ERROR))
		change_to_user_and_service_by_fsp(copy->to);
}

static NTSTATUS copy_here(struct copy *copy)
{
	NTSTATUS status;

	/* Without a chunk nothing is copied, or for a Mac the whole file: not here. */
	if (copy->left == 0 ||
	    (copy->fsctl != FSCTL_SRV_COPYCHUNK && copy->fsctl != FSCTL_SRV_COPYCHUNK_WRITE &&
	     copy->fsctl != FSCTL_DUP_EXTENTS_TO_FILE))
		return NT_STATUS_NOT_SUPPORTED;
	if (copy->left < 0 || copy->from_offset < 0 || copy->to_offset < 0 ||
	    copy->from_offset > INT64_MAX - copy->left || copy->to_offset > INT64_MAX - copy->left)
		return NT_STATUS_INVALID_PARAMETER;
	status = vfs_offload_token_check_handles(copy->fsctl, copy->from, copy->to);
	if (!NT_STATUS_IS_OK(status))
		return status;
	copy->piece = talloc_array(copy, uint8_t, MIN(copy->left, PIECE));
	if (!copy->piece)
		return NT_STATUS_NO_MEMORY;
	if (!change_to_user_and_service_by_fsp(copy->from))
		return NT_STATUS_ACCESS_DENIED;
	status = vfs_stat_fsp(copy->from);
	if (NT_STATUS_IS_OK(status) &&
	    copy->from->fsp_name->st.st_ex_size < copy->from_offset + copy->left)
		return NT_STATUS_INVALID_VIEW_SIZE;
	return status;
}

static void copied_below(struct tevent_req *subreq)
{
	struct tevent_req *req = tevent_req_callback_data(subreq, struct tevent_req);
	struct copy *copy = tevent_req_data(req, struct copy);
	NTSTATUS status = SMB_VFS_NEXT_OFFLOAD_WRITE_RECV(copy->handle, subreq, &copy->copied);

	TALLOC_FREE(subreq);
	if (!tevent_req_nterror(req, status))
		tevent_req_done(req);
}

struct search {
	const DATA_BLOB *token;
	struct files_struct *found;
};

static struct files_struct *compare_token(struct files_struct *fsp, void *arg)
{
	struct search *search = arg;
	const uint8_t *token = search->token->data;

	if (!fsp->op ||
	    BVAL(token, SMB_VFS_ODX_TOKEN_OFFSET_PFID) != fsp->op->global->open_persistent_id ||
	    BVAL(token, SMB_VFS_ODX_TOKEN_OFFSET_VFID) != fsp->op->global->open_volatile_id)
		return NULL;
	search->found = fsp;
	return fsp;
}

/* The source behind a token, of this module or of vfs_default; NULL: none. */
static struct files_struct *find_source(struct files_struct *to, const DATA_BLOB *token, bool *own)
{
	struct search search = {.token = token};

	*own = own_keys &&
	       NT_STATUS_IS_OK(vfs_offload_token_db_fetch_fsp(own_keys, token, &search.found));
	if (!*own && token->length >= SMB_VFS_ODX_TOKEN_OFFSET_FSCTL + 4)
		files_forall(to->conn->sconn, compare_token, &search);
	return search.found;
}

/* Whether the copy is to be made here, 1, or below, 0; or -errno. */
static int must_copy_here(struct vfs_handle_struct *handle, struct files_struct *from,
			  struct files_struct *to, bool own)
{
	struct migrate_stub stub;
	int result;

	if (own)
		return 1;
	/* An unfinished source here: its key is outdated, or comes from a share without the
	 * module. */
	result = fsp_is_alternate_stream(from) ? 0 : vm_look_fd(vm_fd(from), &stub);
	if (result > 0) {
		migrate_stub_clear(&stub);
		return -EOPNOTSUPP;
	}
	return result < 0 ? result : vm_is_unfinished(handle, to);
}

static void start_copy(struct tevent_req *req, DATA_BLOB *token)
{
	struct copy *copy = tevent_req_data(req, struct copy);
	struct tevent_req *subreq;
	bool own;
	int result;

	copy->from = find_source(copy->to, token, &own);
	if (!copy->from) {
		tevent_req_nterror(req, NT_STATUS_OBJECT_NAME_NOT_FOUND);
		return;
	}
	result = must_copy_here(copy->handle, copy->from, copy->to, own);
	if (result < 0) {
		tevent_req_nterror(req, vm_status(result));
	} else if (result > 0) {
		if (!tevent_req_nterror(req, copy_here(copy)))
			copy_piece(req);
	} else {
		subreq = SMB_VFS_NEXT_OFFLOAD_WRITE_SEND(copy->handle, copy, copy->ev, copy->fsctl,
							 token, copy->from_offset, copy->to,
							 copy->to_offset, copy->left);
		if (!tevent_req_nomem(subreq, req))
			tevent_req_set_callback(subreq, copied_below, req);
	}
}

static struct tevent_req *vm_offload_write_send(struct vfs_handle_struct *handle,
						TALLOC_CTX *mem_ctx, struct tevent_context *ev,
						uint32_t fsctl, DATA_BLOB *token, off_t from_offset,
						struct files_struct *to, off_t to_offset, off_t n)
{
	struct copy *copy;
	struct tevent_req *req = tevent_req_create(mem_ctx, &copy, struct copy);

	if (!req)
		return NULL;
	*copy = (struct copy){.handle = handle,
			      .ev = ev,
			      .fsctl = fsctl,
			      .to = to,
			      .from_offset = from_offset,
			      .to_offset = to_offset,
			      .left = n};
	tevent_req_set_cleanup_fn(req, copy_cleanup);
	start_copy(req, token);
	return tevent_req_is_in_progress(req) ? req : tevent_req_post(req, ev);
}

static NTSTATUS vm_offload_write_recv(struct vfs_handle_struct *handle, struct tevent_req *req,
				      off_t *copied)
{
	struct copy *copy = tevent_req_data(req, struct copy);
	NTSTATUS status;
	bool failed = tevent_req_is_nterror(req, &status);

	*copied = failed ? 0 : copy->copied;
	tevent_req_received(req);
	return failed ? status : NT_STATUS_OK;
}

void vm_offload_fns(struct vfs_fn_pointers *fns)
{
	fns->offload_read_send_fn = vm_offload_read_send;
	fns->offload_read_recv_fn = vm_offload_read_recv;
	fns->offload_write_send_fn = vm_offload_write_send;
	fns->offload_write_recv_fn = vm_offload_write_recv;
}
