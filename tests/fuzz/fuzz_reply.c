/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an old server sends (I10): the byte stream cut into records, reply headers, and the results
 * of every call.  What is accepted keeps to what source.h says of it.
 *
 * Input: a byte for the request, then the stream.
 */
#include <string.h>

#include "lib/source/nfs/nfs_proc.h"
#include "tests/fuzz/fuzz.h"

#define COUNT 4096

static void check_entries(const struct backend_batch *batch)
{
	for (guint i = 0; i < batch->entries->len; i++) {
		const struct source_entry *e =
			&g_array_index(batch->entries, struct source_entry, i);
		size_t len = strlen(e->name);

		REQUIRE(len >= 1 && len <= 255 && !strchr(e->name, '/'));
		REQUIRE(strcmp(e->name, ".") && strcmp(e->name, ".."));
		REQUIRE(!e->has_handle || (e->handle_len >= 1 && e->handle_len <= NFS3_FHSIZE));
		REQUIRE(!e->has_attr || e->attr.size <= INT64_MAX);
	}
}

/* As the kernel takes it: entries in their order, with what must be there. */
static void check_acl(const struct source_xattr *xattr)
{
	const uint8_t *at = xattr->value, *end = at + xattr->len;
	unsigned seen = 0;

	REQUIRE(xattr->len >= 28 && xattr->len % 8 == 4 && memcmp(at, "\2\0\0\0", 4) == 0);
	for (at += 4; at < end; at += 8) {
		unsigned tag = at[0] | at[1] << 8, perm = at[2] | at[3] << 8;

		REQUIRE(tag && tag <= 32 && !(tag & (tag - 1)) && perm <= 7);
		REQUIRE(seen < 2 * tag && (!(seen & tag) || tag == 2 || tag == 8));
		seen |= tag;
	}
	REQUIRE((seen & 37) == 37 && (!(seen & 10) || seen & 16));
}

static void check_xattrs(const struct source_xattrs *xattrs)
{
	REQUIRE(xattrs->list->len + xattrs->lost->len <= 2);
	for (guint i = 0; i < xattrs->list->len; i++)
		check_acl(&g_array_index(xattrs->list, struct source_xattr, i));
}

static void check(const struct backend_request *req, const struct xdr_in *record)
{
	REQUIRE(!req->has_attr || req->attr.size <= INT64_MAX);
	REQUIRE(req->handle_len <= NFS3_FHSIZE);
	if (req->op == BACKEND_READ) {
		REQUIRE(req->data_len <= req->count);
		REQUIRE(!req->data_len || (req->data && req->data + req->data_len <= record->end));
	}
	if (req->op == BACKEND_READLINK)
		REQUIRE(req->text && *req->text);
	if (req->op == BACKEND_READDIR) {
		REQUIRE(req->batch);
		check_entries(req->batch);
	}
	if (req->op == BACKEND_XATTRS) {
		REQUIRE(req->xattrs);
		check_xattrs(req->xattrs);
	}
}

static void decode(uint8_t choice, struct xdr_in record)
{
	struct nfs_view view = {.root = {.len = 4, .bytes = "root"}, .root_fs = 7};
	struct backend_request req = {.op = choice & 0x20 ? BACKEND_XATTRS
							  : choice % (BACKEND_READLINK + 1),
				      .name = "name",
				      .count = COUNT,
				      .names_only = choice & 0x40};
	struct xdr_in in = record;
	struct rpc_reply reply;
	int rpc, status;

	atomic_init(&view.no_plus, (choice & 0x80) != 0);
	memcpy(req.object.handle, "object", 6);
	req.object.handle_len = 6;
	backend_prepare(&req);
	if (nfs_request_begin(&view, &req) < 0)
		return;
	rpc = rpc_reply_begin(&in, &reply);
	status = nfs_request_decode(&view, &req, nfs_request_procedure(&view, &req), rpc, &in);
	REQUIRE(status <= NFS_CALL_AGAIN);
	if (status == 0)
		check(&req, &record);
	g_clear_pointer(&req.batch, backend_batch_free);
	g_clear_pointer(&req.text, g_free);
	g_clear_pointer(&req.xattrs, source_xattrs_free);
	nfs_request_end(&req);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rpc_stream stream;
	static bool ready;
	struct xdr_in record;
	uint8_t choice;

	if (size < 1)
		return 0;
	if (!ready)
		rpc_stream_init(&stream);
	ready = true;
	rpc_stream_reset(&stream);
	choice = *data++;
	size--;
	while (size) {
		size_t room;
		uint8_t *to = rpc_stream_room(&stream, &room);
		int ret;

		REQUIRE(room > 0);
		if (room > size)
			room = size;
		if (room > 64) /* in pieces */
			room = 64;
		memcpy(to, data, room);
		rpc_stream_received(&stream, room);
		data += room;
		size -= room;
		while ((ret = rpc_stream_next(&stream, &record)) == 1)
			decode(choice, record);
		if (ret < 0)
			return 0;
	}
	return 0;
}
