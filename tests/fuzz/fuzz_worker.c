/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What migrate-smb-worker may say, having been taken over by an old server (I10): whatever is
 * accepted keeps to what source.h says of it.
 *
 * Input: a byte for the request, its highest bit for one that wants no bytes, a struct wire_reply,
 * what is in the slot.
 */
#include <errno.h>
#include <string.h>

#include "lib/source/backend.h"
#include "lib/source/smb/smb_reply.h"
#include "tests/fuzz/fuzz.h"

#define COUNT 4096

static void check_attr(const struct source_attr *attr)
{
	REQUIRE(attr->size <= INT64_MAX && attr->used <= INT64_MAX);
	REQUIRE(attr->fileid && attr->nlink);
	REQUIRE(S_ISREG(attr->mode) || S_ISDIR(attr->mode) || S_ISLNK(attr->mode));
}

static void check_entries(const struct backend_batch *batch)
{
	for (guint i = 0; i < batch->entries->len; i++) {
		const struct source_entry *e =
			&g_array_index(batch->entries, struct source_entry, i);

		REQUIRE(source_name_ok(e->name, strlen(e->name)));
		REQUIRE(e->has_attr && !e->has_handle);
		check_attr(&e->attr);
	}
}

static void check_windows(const struct source_windows *windows)
{
	REQUIRE(windows && windows->sd && windows->sd_len >= 1);
	REQUIRE(windows->sd_len <= WINDOWS_DESCRIPTOR_MAX);
	for (guint i = 0; i < windows->streams->len; i++) {
		const struct source_stream *stream =
			&g_array_index(windows->streams, struct source_stream, i);

		REQUIRE(g_utf8_validate(stream->name, -1, NULL));
		REQUIRE(!stream->data || stream->size <= WINDOWS_STREAM_MAX);
	}
}

/* All of the file that the attributes speak of, where it was wanted, or nothing. */
static void check_data(const struct backend_request *req)
{
	const struct source_xattrs *xattrs = req->xattrs;

	REQUIRE(xattrs->data ? xattrs->data_len > 0 : xattrs->data_len == 0);
	REQUIRE(xattrs->data_len <= req->count);
	if (xattrs->data)
		REQUIRE(S_ISREG(req->attr.mode) && xattrs->data_len == req->attr.size);
}

static void check(const struct backend_request *req, const uint8_t *slot)
{
	if (req->has_attr)
		check_attr(&req->attr);
	switch (req->op) {
	case BACKEND_READ:
		REQUIRE(req->has_attr && req->data == slot && req->data_len <= COUNT);
		break;
	case BACKEND_READDIR:
		REQUIRE(req->batch && (req->eof || req->cookie));
		check_entries(req->batch);
		break;
	case BACKEND_READLINK:
		REQUIRE(req->text && *req->text && strlen(req->text) < 4096);
		break;
	case BACKEND_XATTRS:
		REQUIRE(req->has_attr && req->xattrs);
		check_windows(req->xattrs->windows);
		check_data(req);
		break;
	default:
		REQUIRE(req->has_attr);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t slot[WIRE_SLOT_BYTES];
	struct backend_request req = {.count = 0};
	struct smb_url url = {"url", "", "user", "host", "share", "path", 445};
	struct wire_reply reply;
	char *text;
	int status;

	if (size < 1 + sizeof(reply))
		return 0;
	req.op = (*data & 0x7f) % (BACKEND_XATTRS + 1);
	req.count = *data & 0x80 ? 0 : COUNT;
	memcpy(&reply, data + 1, sizeof(reply));
	data += 1 + sizeof(reply);
	size -= 1 + sizeof(reply);
	if (size > sizeof(slot))
		size = sizeof(slot);
	memcpy(slot, data, size);
	backend_prepare(&req);
	status = smb_reply_decode(&reply, slot, &req);
	REQUIRE(status <= 0 && status != -ECANCELED);
	if (status == 0)
		check(&req, slot);
	g_clear_pointer(&req.batch, backend_batch_free);
	g_clear_pointer(&req.text, g_free);
	g_clear_pointer(&req.xattrs, source_xattrs_free);
	text = smb_failure_text(&url, &reply);
	REQUIRE(text && !strchr(text, '\n'));
	g_free(text);
	return 0;
}
