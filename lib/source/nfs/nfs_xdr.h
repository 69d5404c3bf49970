/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * XDR (RFC 4506) over a piece of memory.  Reading and writing never leave the memory: what is not
 * there reads as zero, what has no room is not written, and both set `bad`, so that the caller
 * checks once, at its end.
 */
#ifndef LIB_SOURCE_NFS_NFS_XDR_H
#define LIB_SOURCE_NFS_NFS_XDR_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct xdr_in {
	const uint8_t *p, *end;
	bool bad;
};

static inline uint32_t xdr_get_u32(struct xdr_in *in)
{
	uint32_t value;

	if (in->end - in->p < 4) {
		in->bad = true;
		in->p = in->end;
		return 0;
	}
	memcpy(&value, in->p, 4);
	in->p += 4;
	return be32toh(value);
}

static inline uint64_t xdr_get_u64(struct xdr_in *in)
{
	uint64_t high = xdr_get_u32(in);

	return high << 32 | xdr_get_u32(in);
}

/* Opaque or string data: a pointer into the memory.  NULL, *len 0 and bad when the data are not all
 * there. */
static inline const uint8_t *xdr_get_bytes(struct xdr_in *in, uint32_t *len)
{
	uint32_t n = xdr_get_u32(in);
	size_t left = (size_t)(in->end - in->p), padded = ((size_t)n + 3) & ~(size_t)3;
	const uint8_t *bytes = in->p;

	if (in->bad || n > left) {
		in->bad = true;
		in->p = in->end;
		*len = 0;
		return NULL;
	}
	in->p += padded < left ? padded : left;
	*len = n;
	return bytes;
}

static inline void xdr_skip(struct xdr_in *in, size_t n)
{
	if ((size_t)(in->end - in->p) < n) {
		in->bad = true;
		in->p = in->end;
		return;
	}
	in->p += n;
}

struct xdr_out {
	uint8_t *p, *end;
	bool bad;
};

static inline void xdr_put_u32(struct xdr_out *out, uint32_t value)
{
	value = htobe32(value);
	if (out->end - out->p < 4) {
		out->bad = true;
		return;
	}
	memcpy(out->p, &value, 4);
	out->p += 4;
}

static inline void xdr_put_u64(struct xdr_out *out, uint64_t value)
{
	xdr_put_u32(out, (uint32_t)(value >> 32));
	xdr_put_u32(out, (uint32_t)value);
}

static inline void xdr_put_bytes(struct xdr_out *out, const void *bytes, uint32_t len)
{
	size_t padded = ((size_t)len + 3) & ~(size_t)3;

	xdr_put_u32(out, len);
	if (out->bad || (size_t)(out->end - out->p) < padded) {
		out->bad = true;
		return;
	}
	if (padded)
		memset(out->p + padded - 4, 0, 4);
	if (len)
		memcpy(out->p, bytes, len);
	out->p += padded;
}

#endif
