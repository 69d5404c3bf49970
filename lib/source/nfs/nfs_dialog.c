/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_dialog.h"

#include <errno.h>

void nfs_dialog_init(struct nfs_dialog *dialog, struct nfs_view *view, const struct rpc_auth *auth,
		     enum backend_op probe, bool version4)
{
	*dialog = (struct nfs_dialog){.view = view, .auth = auth, .probe = probe};
	if (!version4)
		return;
	dialog->full = view->v4;
	dialog->session = g_new0(struct nfs4_session, 1);
	dialog->session->opens = dialog->full;
	dialog->session->minor = dialog->full ? view->minor : NFS4_XATTR_MINOR;
}

void nfs_dialog_clear(struct nfs_dialog *dialog)
{
	g_clear_pointer(&dialog->session, g_free);
}

void nfs_dialog_start(struct nfs_dialog *dialog, struct backend_request *probe)
{
	dialog->set_up = false;
	if (dialog->session)
		nfs4_reset(dialog->session);
	nfs_dialog_renew(dialog, probe);
}

/* In version 4 the root is asked for by its path: its handle may expire. */
void nfs_dialog_renew(struct nfs_dialog *dialog, struct backend_request *probe)
{
	static char root[] = "";

	backend_prepare(probe);
	probe->op = dialog->full ? BACKEND_GETATTR : dialog->probe;
	probe->backend.data = NULL;
	probe->object = (struct source_object){.path = dialog->full ? root : NULL};
	if (dialog->full) {
		nfs4_request_begin(dialog->view, probe);
		return;
	}
	probe->object.handle_len = dialog->view->root.len;
	memcpy(probe->object.handle, dialog->view->root.bytes, dialog->view->root.len);
}

int64_t nfs_dialog_lease(const struct nfs_dialog *dialog)
{
	return dialog->full && dialog->view->minor
		       ? (int64_t)dialog->view->lease * G_USEC_PER_SEC / 2
		       : 0;
}

bool nfs_dialog_started(struct nfs_dialog *dialog, struct backend_request *probe)
{
	g_clear_pointer(&probe->xattrs, source_xattrs_free);
	nfs_dialog_end(dialog, probe);
	dialog->set_up = true;
	if (dialog->full)
		return dialog->session->state == NFS4_READY;
	return !dialog->session || dialog->session->state >= NFS4_READY;
}

unsigned nfs_dialog_window(const struct nfs_dialog *dialog, unsigned window)
{
	return dialog->session ? MIN(window, MAX(dialog->session->slots, 1u)) : window;
}

int nfs_dialog_status(const struct nfs_dialog *dialog)
{
	return !dialog->full && dialog->session && dialog->session->state == NFS4_REFUSED
		       ? -EREMOTEIO
		       : 0;
}

static bool is_by_xattr(const struct nfs_dialog *dialog, const struct backend_request *req)
{
	return !dialog->full || req->op == BACKEND_XATTRS;
}

bool nfs_dialog_tells_fsids(const struct nfs_dialog *dialog, const struct backend_request *req)
{
	return !dialog->session || !is_by_xattr(dialog, req);
}

int nfs_dialog_begin(const struct nfs_dialog *dialog, struct backend_request *req)
{
	if (!dialog->session)
		return nfs_request_begin(dialog->view, req);
	return is_by_xattr(dialog, req) ? nfs4_xattr_begin(dialog->session, req)
					: nfs4_request_begin(dialog->view, req);
}

void nfs_dialog_end(const struct nfs_dialog *dialog, struct backend_request *req)
{
	if (!dialog->session)
		nfs_request_end(req);
	else if (is_by_xattr(dialog, req))
		nfs4_xattr_end(req);
	else
		nfs4_request_end(req);
}

enum nfs_procedure nfs_dialog_encode(const struct nfs_dialog *dialog,
				     const struct backend_request *req, unsigned slot, uint32_t xid,
				     struct xdr_out *out)
{
	uint8_t *start = out->p;
	enum nfs_procedure procedure =
		dialog->session ? NFSPROC4_COMPOUND : nfs_request_procedure(dialog->view, req);

	rpc_call_begin(out, dialog->auth, xid, nfs_program_of(procedure), nfs_version_of(procedure),
		       nfs_number_of(procedure));
	if (!dialog->session)
		nfs_request_encode(req, procedure, out);
	else if (!dialog->set_up && dialog->session->state < NFS4_READY)
		nfs4_encode_setup(dialog->session, out);
	else if (is_by_xattr(dialog, req))
		nfs4_xattr_encode(dialog->session, slot, req, out);
	else
		nfs4_request_encode(dialog->view, dialog->session, slot, req, out);
	g_assert(!out->bad);
	rpc_call_finish(out, dialog->auth, start);
	return procedure;
}

/* Makes one more call, until there is a session or it is certain that there will be none; where
 * version 4 is alone, a request for the root follows. */
static int decode_setup(const struct nfs_dialog *dialog, int rpc, struct xdr_in *in)
{
	int ret = nfs4_decode_setup(dialog->session, rpc, in);

	return ret == 0 && (dialog->full || dialog->session->state < NFS4_READY) ? NFS_CALL_AGAIN
										 : ret;
}

int nfs_dialog_decode(struct nfs_dialog *dialog, struct backend_request *req, unsigned slot,
		      enum nfs_procedure procedure, int rpc, struct xdr_in *in)
{
	if (!dialog->session)
		return nfs_request_decode(dialog->view, req, procedure, rpc, in);
	if (!dialog->set_up && dialog->session->state < NFS4_READY)
		return decode_setup(dialog, rpc, in);
	if (is_by_xattr(dialog, req))
		return nfs4_xattr_decode(dialog->session, slot, req, rpc, in);
	return nfs4_request_decode(dialog->view, dialog->session, slot, req, rpc, in);
}
