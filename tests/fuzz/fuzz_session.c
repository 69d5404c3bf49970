/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an old server says in version 4 (I10): the making of a session, the proof at open, and the
 * answers to requests for user attributes, or of version 4 alone.  What is accepted keeps to what
 * source.h says of it.
 *
 * Input: replies, each behind two bytes of length, high byte first.  The first byte of all: whether
 * there is a session, whether the first reply is that to the proof, and which requests are made.
 */
#include <string.h>

#include "lib/source/nfs/nfs4_holes.h"
#include "lib/source/nfs/nfs4_proc.h"
#include "lib/source/nfs/nfs4_xattr.h"
#include "tests/fuzz/fuzz.h"

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

static void check_entries(const struct backend_batch *batch)
{
	for (guint i = 0; i < batch->entries->len; i++) {
		const struct source_entry *e =
			&g_array_index(batch->entries, struct source_entry, i);

		REQUIRE(source_name_ok(e->name, strlen(e->name)));
		REQUIRE(e->has_handle == (e->handle_len > 0) && e->handle_len <= NFS4_FHSIZE);
		REQUIRE(!e->has_attr || e->attr.size <= INT64_MAX);
	}
}

static void check_acl(const struct source_xattrs *xattrs)
{
	const struct source_nfs4_acl *acl = xattrs->nfs4_acl;

	check_xattrs(xattrs);
	REQUIRE(!acl || (acl->aces->len > 0 && acl->aces->len <= NFS4_ACES_MAX));
	REQUIRE(!acl || acl->text->len > 0);
}

static unsigned sum; /* of what may be zeros, which are read */

static void check(const struct backend_request *req, const struct xdr_in *reply)
{
	REQUIRE(!req->has_attr || req->attr.size <= INT64_MAX);
	REQUIRE(req->handle_len <= NFS4_FHSIZE);
	if (req->op == BACKEND_READ) {
		REQUIRE(req->data_len <= req->count);
		REQUIRE(!req->data_len || req->holes ||
			(req->data && req->data + req->data_len <= reply->end));
		for (uint32_t i = 0; req->holes && i < req->data_len; i++)
			sum += req->data[i];
	}
	if (req->op == BACKEND_READLINK)
		REQUIRE(req->text && *req->text);
	if (req->op == BACKEND_READDIR)
		check_entries(req->batch);
	if (req->with_acl)
		check_acl(req->xattrs);
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
	nfs4_xattr_end(req);
	g_clear_pointer(&req->xattrs, source_xattrs_free);
}

static void request(struct nfs4_session *session, const uint8_t **data, size_t *size)
{
	struct backend_request req = {.op = BACKEND_XATTRS, .object = {.handle_len = 6}};
	uint8_t call[RPC_CALL_MAX];
	struct xdr_in in;
	int status = NFS_CALL_AGAIN;

	backend_prepare(&req);
	if (nfs4_xattr_begin(session, &req) < 0)
		return;
	while (status == NFS_CALL_AGAIN && next(data, size, &in)) {
		struct xdr_out out = {.p = call, .end = call + sizeof(call)};

		nfs4_xattr_encode(session, 0, &req, &out);
		REQUIRE(!out.bad);
		status = nfs4_xattr_decode(session, 0, &req, 0, &in);
		REQUIRE(status <= NFS_CALL_RESET);
	}
	if (status == 0)
		check_xattrs(req.xattrs);
	drop_results(&req);
}

/* Of version 4 alone: by a handle, or a path. */
static void full_request(struct nfs4_session *session, uint8_t choice, const uint8_t **data,
			 size_t *size)
{
	static char path[] = "some/where";
	static struct nfs4_holes *holes;
	const struct source_attr sparse = {.mode = S_IFREG, .size = 1 << 30};
	struct nfs_view view = {.path = "/x",
				.url = "nfs://old/x",
				.minor = 2,
				.max_read = NFS4_HOLE_MIN,
				.max_entries = 4096};
	struct backend_request req = {
		.op = (choice >> 3 & 7) % BACKEND_XATTRS,
		.with_acl = (choice >> 3 & 7) == BACKEND_XATTRS,
		.name = "name",
		.count = NFS4_HOLE_MIN,
		.names_only = choice & 0x80,
		.holes = choice & 0x80,
		.object = {.handle_len = choice & 0x40 ? 0 : 6, .path = path}};
	uint8_t call[RPC_CALL_MAX];
	struct xdr_in in, reply;
	int status = NFS_CALL_AGAIN;

	nfs4_mask_wanted(view.attrs, NULL);
	if (!holes)
		holes = nfs4_holes_new();
	view.holes = holes;
	nfs4_holes_seen(holes, req.object.handle, req.object.handle_len, &sparse);
	atomic_init(&view.referred, true); /* a line in each run is too many */
	backend_prepare(&req);
	REQUIRE(nfs4_request_begin(&view, &req) == 0);
	while (status == NFS_CALL_AGAIN && next(data, size, &in)) {
		struct xdr_out out = {.p = call, .end = call + sizeof(call)};

		reply = in;
		nfs4_request_encode(&view, session, 0, &req, &out);
		REQUIRE(!out.bad);
		status = nfs4_request_decode(&view, session, 0, &req, 0, &in);
		REQUIRE(status <= NFS_CALL_RESET);
	}
	if (status == 0)
		check(&req, &reply);
	nfs4_request_end(&req);
	g_clear_pointer(&req.batch, backend_batch_free);
	g_clear_pointer(&req.xattrs, source_xattrs_free);
	g_clear_pointer(&req.text, g_free);
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
	session.minor = NFS4_XATTR_MINOR;
	session.opens = choice & 4;
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
	while (size >= 2 && choice & 4)
		full_request(&session, choice, &data, &size);
	while (size >= 2)
		request(&session, &data, &size);
	return 0;
}
