/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs4_holes.h"

#include <errno.h>

#define PLACES	     65536u
#define DATA_CONTENT 0

struct nfs4_holes {
	atomic_uchar likely[PLACES];
};

static uint8_t zeros[NFS_READ_MAX]; /* never written */

struct nfs4_holes *nfs4_holes_new(void)
{
	return g_new0(struct nfs4_holes, 1);
}

void nfs4_holes_free(struct nfs4_holes *holes)
{
	g_free(holes);
}

static atomic_uchar *place(struct nfs4_holes *holes, const uint8_t *handle, uint32_t len)
{
	uint32_t hash = 5381;

	for (uint32_t i = 0; i < len; i++)
		hash = (hash ^ handle[i]) * UINT32_C(0x01000193);
	return &holes->likely[(hash ^ hash >> 16) % PLACES];
}

void nfs4_holes_seen(struct nfs4_holes *holes, const uint8_t *handle, uint32_t len,
		     const struct source_attr *attr)
{
	if (holes && len > 0 && S_ISREG(attr->mode))
		atomic_store(place(holes, handle, len),
			     attr->size > NFS4_HOLE_MIN && attr->used < attr->size - NFS4_HOLE_MIN);
}

void nfs4_holes_none(struct nfs4_holes *holes, const uint8_t *handle, uint32_t len,
		     const struct source_attr *attr)
{
	if (holes && attr->used >= attr->size / 4)
		atomic_store(place(holes, handle, len), 0);
}

bool nfs4_holes_likely(struct nfs4_holes *holes, const uint8_t *handle, uint32_t len)
{
	return holes && atomic_load(place(holes, handle, len));
}

void nfs4_put_seek(struct xdr_out *out, bool opened, uint64_t offset)
{
	xdr_put_u32(out, OP_SEEK);
	nfs4_put_current(out, opened ? 1 : 0);
	xdr_put_u64(out, offset);
	xdr_put_u32(out, DATA_CONTENT);
}

int nfs4_get_seek(struct xdr_in *in, uint64_t offset, uint64_t *data, bool *ended)
{
	uint32_t status;
	int ret = nfs4_get_op(in, OP_SEEK, &status);
	bool none;

	*ended = ret != -EBADMSG && status == NFS4ERR_NXIO;
	*data = NFS4_NO_DATA;
	if (*ended || ret < 0)
		return *ended ? 0 : ret;
	none = xdr_get_u32(in) != 0;
	if (none)
		xdr_skip(in, 8);
	else
		*data = xdr_get_u64(in);
	return in->bad || *data < offset ? -EBADMSG : 0;
}

bool nfs4_give_hole(struct backend_request *req, uint64_t data, uint32_t asked)
{
	uint64_t end = MIN(data, req->has_attr ? req->attr.size : 0);
	bool all;

	if (end <= req->offset)
		return false;
	req->data_len = (uint32_t)MIN(end - req->offset, asked);
	all = req->data_len == asked || end == req->attr.size;
	if (!all && req->data_len < NFS4_HOLE_MIN) {
		req->data_len = 0;
		return false;
	}
	req->data = zeros;
	req->eof = req->offset + req->data_len == req->attr.size;
	return true;
}
