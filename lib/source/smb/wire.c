/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/wire.h"

#include <string.h>

#define CCACHE_MAX (1024u * 1024)

void wire_put(struct wire_pack *pack, const void *bytes, size_t len)
{
	if (pack->full || len > (size_t)(pack->end - pack->at)) {
		pack->full = true;
		return;
	}
	if (len)
		memcpy(pack->at, bytes, len);
	pack->at += len;
}

void wire_put_u32(struct wire_pack *pack, uint32_t value)
{
	wire_put(pack, &value, sizeof(value));
}

void wire_put_u64(struct wire_pack *pack, uint64_t value)
{
	wire_put(pack, &value, sizeof(value));
}

void wire_put_bytes(struct wire_pack *pack, const void *bytes, size_t len)
{
	wire_put_u32(pack, (uint32_t)len);
	wire_put(pack, bytes, len);
}

const uint8_t *wire_get(struct wire_unpack *in, size_t len)
{
	const uint8_t *at = in->at;

	if (in->bad || len > (size_t)(in->end - in->at)) {
		in->bad = true;
		return NULL;
	}
	in->at += len;
	return at;
}

uint32_t wire_get_u32(struct wire_unpack *in)
{
	const uint8_t *at = wire_get(in, sizeof(uint32_t));
	uint32_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

uint64_t wire_get_u64(struct wire_unpack *in)
{
	const uint8_t *at = wire_get(in, sizeof(uint64_t));
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

const uint8_t *wire_get_bytes(struct wire_unpack *in, size_t max, size_t *len)
{
	*len = wire_get_u32(in);
	if (*len > max)
		in->bad = true;
	const uint8_t *at = wire_get(in, *len);

	if (!at)
		*len = 0;
	return at;
}

static void put_text(struct wire_pack *pack, const char *text)
{
	wire_put_bytes(pack, text ? text : "", strlen(text ? text : "") + 1);
}

static const char *get_text(struct wire_unpack *in)
{
	size_t len;
	const char *text = (const char *)wire_get_bytes(in, WIRE_PATH_MAX + 1, &len);

	if (!text || !len || text[len - 1])
		in->bad = true;
	return in->bad ? "" : text;
}

bool wire_start_put(struct wire_pack *pack, const struct wire_start *start)
{
	wire_put_u32(pack, WIRE_VERSION);
	wire_put_u32(pack, start->port);
	wire_put_u32(pack, start->encryption);
	wire_put_u32(pack, start->signing);
	wire_put_u32(pack, start->stall_ms);
	put_text(pack, start->host);
	put_text(pack, start->share);
	put_text(pack, start->path);
	put_text(pack, start->user);
	put_text(pack, start->domain);
	put_text(pack, start->password);
	wire_put_u32(pack, start->ccache != NULL);
	wire_put_bytes(pack, start->ccache, start->ccache_len);
	return !pack->full;
}

bool wire_start_get(struct wire_unpack *in, struct wire_start *start)
{
	bool ccache;

	if (wire_get_u32(in) != WIRE_VERSION)
		return false;
	start->port = wire_get_u32(in);
	start->encryption = wire_get_u32(in);
	start->signing = wire_get_u32(in);
	start->stall_ms = wire_get_u32(in);
	start->host = get_text(in);
	start->share = get_text(in);
	start->path = get_text(in);
	start->user = get_text(in);
	start->domain = get_text(in);
	start->password = get_text(in);
	ccache = wire_get_u32(in);
	start->ccache = wire_get_bytes(in, CCACHE_MAX, &start->ccache_len);
	if (!ccache)
		start->ccache = NULL;
	return !in->bad;
}
