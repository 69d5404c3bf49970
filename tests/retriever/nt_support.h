/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Security descriptors for tests, written as text. */
#ifndef TESTS_RETRIEVER_NT_SUPPORT_H
#define TESTS_RETRIEVER_NT_SUPPORT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/acl/nt_acl.h"

#define ANNA  "S-1-5-21-1-2-3-1001"
#define STAFF "S-1-5-21-1-2-3-513"
#define WORLD "S-1-1-0"

static inline void nt_put16(GByteArray *out, unsigned v)
{
	const uint8_t b[] = {v & 255, v >> 8 & 255};

	g_byte_array_append(out, b, 2);
}

static inline void nt_put32(GByteArray *out, uint32_t v)
{
	nt_put16(out, v & 0xffff);
	nt_put16(out, v >> 16);
}

static inline void nt_set32(GByteArray *out, unsigned at, uint32_t v)
{
	const uint8_t b[] = {v & 255, v >> 8 & 255, v >> 16 & 255, v >> 24};

	memcpy(out->data + at, b, 4);
}

static inline struct sid nt_sid(const char *text)
{
	struct sid sid;

	ck_assert_msg(sid_parse(text, &sid), "%s is no SID", text);
	return sid;
}

static inline void nt_put_sid(GByteArray *out, const char *text)
{
	struct sid sid = nt_sid(text);

	g_byte_array_append(out, sid.bytes, sid.len);
}

/* An entry as "TYPE FLAGS MASK SID [TAIL]": numbers in hexadecimal, TAIL in hexadecimal bytes,
 * which stand before the SID where an entry is for objects. */
static inline void nt_put_ace(GByteArray *out, const char *text)
{
	g_auto(GStrv) w = g_strsplit(text, " ", -1);
	unsigned long type = strtoul(w[0], NULL, 16);
	gboolean object = (type >= 5 && type <= 8) || type == 11 || type == 12;
	g_autoptr(GByteArray) tail = g_byte_array_new();
	guint begin = out->len;

	for (const char *p = g_strv_length(w) > 4 ? w[4] : ""; *p; p += 2) {
		const uint8_t b = g_ascii_xdigit_value(p[0]) << 4 | g_ascii_xdigit_value(p[1]);

		g_byte_array_append(tail, &b, 1);
	}
	nt_put16(out, type | strtoul(w[1], NULL, 16) << 8);
	nt_put16(out, 0);
	nt_put32(out, strtoul(w[2], NULL, 16));
	if (object)
		g_byte_array_append(out, tail->data, tail->len);
	nt_put_sid(out, w[3]);
	if (!object && tail->len)
		g_byte_array_append(out, tail->data, tail->len);
	out->data[begin + 2] = (out->len - begin) & 255;
	out->data[begin + 3] = (out->len - begin) >> 8;
}

/* entries: separated by commas; NULL: no list. */
static inline void nt_put_list(GByteArray *out, unsigned at, unsigned base, const char *entries)
{
	g_auto(GStrv) w = g_strsplit(entries ? entries : "", ",", -1);
	guint begin = out->len;

	if (!entries)
		return;
	nt_set32(out, at, begin - base);
	nt_put16(out, 2);
	nt_put16(out, 0);
	nt_put16(out, g_strv_length(w));
	nt_put16(out, 0);
	for (guint i = 0; w[i]; i++)
		nt_put_ace(out, w[i]);
	out->data[begin + 2] = (out->len - begin) & 255;
	out->data[begin + 3] = (out->len - begin) >> 8;
}

/* base: how many bytes stand before it, from which no offset counts. */
static inline GByteArray *nt_text(unsigned control, const char *owner, const char *group,
				  const char *sacl, const char *dacl)
{
	GByteArray *out = g_byte_array_new();

	nt_put16(out, 1);
	nt_put16(out, control | 0x8000);
	for (unsigned i = 0; i < 4; i++)
		nt_put32(out, 0);
	if (owner)
		nt_set32(out, 4, out->len);
	if (owner)
		nt_put_sid(out, owner);
	if (group)
		nt_set32(out, 8, out->len);
	if (group)
		nt_put_sid(out, group);
	nt_put_list(out, 12, 0, sacl);
	nt_put_list(out, 16, 0, dacl);
	return out;
}

/* What security.NTACL must be: the same, shifted. */
static inline GByteArray *nt_value(const GByteArray *sd)
{
	static const uint8_t prefix[] = {1, 0, 1, 0, 0, 0, 2, 0};
	GByteArray *out = g_byte_array_new();

	g_byte_array_append(out, prefix, sizeof(prefix));
	g_byte_array_append(out, sd->data, sd->len);
	for (unsigned at = 12; at < 28; at += 4) {
		const uint8_t *p = out->data + at;
		uint32_t offset = p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;

		if (offset)
			nt_set32(out, at, offset + 8);
	}
	return out;
}

#endif
