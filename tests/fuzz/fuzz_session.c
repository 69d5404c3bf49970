/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an old server says in version 4.2 (I10): the making of a session, the proof at open, and the
 * answers to requests for user attributes.
 *
 * Input: replies, each behind two bytes of length, high byte first.  The first byte of all: whether
 * there is a session, and whether the first reply is that to the proof.
 */
#include <string.h>

#include "source/nfs/nfs_v4.h"
#include "fuzz.h"

static void check_xattrs(const struct source_xattrs *xattrs)
{
	for (guint i = 0; i < xattrs->list->len; i++) {
		const struct source_xattr *xattr =
			&g_array_index(xattrs->list, struct source_xattr, i);
		size_t len = strlen(xattr->name);

		REQUIRE(len > 5 && len <= 255 && strncmp(xattr->name, "user.", 5) == 0);
		REQUIRE(xattr->len <= 65536);
	}
	for (guint i = 0; i < xattrs->lost->len; i++)
		REQUIRE(*(char *)xattrs->lost->pdata[i]);
}

/* FALSE: the input ends. */
static int next(const uint8_t **data, size_t *size, struct xdr_in *in)
{
	size_t len;

	if (*size < 2)
		return 0;
	len = (size_t)(*data)[0] << 8 | (*data)[1];
	*data += 2;
	*size -= 2;
	if (len > *size)
		len = *size;
	*in = (struct xdr_in){.p = *data, .end = *data + len};
	*data += len;
	*size -= len;
	return 1;
}

static void drop_results(struct backend_request *req)
{
	nfs4_request_end(req);
	g_clear_pointer(&req->xattrs, source_xattrs_free);
}

static void request(struct nfs4_session *session, const uint8_t **data, size_t *size)
{
	struct backend_request req = {.op = BACKEND_XATTRS, .object = {.handle_len = 6}};
	uint8_t call[RPC_CALL_MAX];
	struct xdr_in in;
	int status = NFS_CALL_AGAIN;

	backend_prepare(&req);
	if (nfs4_request_begin(session, &req) < 0)
		return;
	while (status == NFS_CALL_AGAIN && next(data, size, &in)) {
		struct xdr_out out = {.p = call, .end = call + sizeof(call)};

		nfs4_request_encode(session, 0, &req, &out);
		REQUIRE(!out.bad);
		status = nfs4_request_decode(session, 0, &req, 0, &in);
		REQUIRE(status <= NFS_CALL_RESET);
	}
	if (status == 0)
		check_xattrs(req.xattrs);
	drop_results(&req);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct nfs4_session session;
	struct xdr_in in;
	uint8_t choice;

	if (size < 1)
		return 0;
	choice = *data++;
	size--;
	nfs4_reset(&session);
	if (choice & 1) {
		session.state = NFS4_READY;
		session.slots = 1;
	}
	while (session.state < NFS4_READY) {
		if (!next(&data, &size, &in) || nfs4_decode_setup(&session, 0, &in) < 0)
			return 0;
		REQUIRE(session.state != NFS4_READY ||
			(session.slots >= 1 && session.slots <= NFS4_SLOTS_MAX));
	}
	if (choice & 2 && next(&data, &size, &in))
		REQUIRE(nfs4_decode_proof(&session, 5, 0, &in) <= 0);
	while (size >= 2)
		request(&session, &data, &size);
	return 0;
}
