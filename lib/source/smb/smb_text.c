/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/smb_text.h"

#include <string.h>

static unsigned unit_at(const uint8_t *at)
{
	return at[0] | (unsigned)at[1] << 8;
}

static char *put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

long smb_text_from_utf16(const uint8_t *from, size_t len, char *to)
{
	char *out = to;

	if (len % 2)
		return -1;
	for (size_t i = 0; i < len; i += 2) {
		uint32_t c = unit_at(from + i);

		if (c >= 0xdc00 && c <= 0xdfff)
			return -1;
		if (c >= 0xd800 && c <= 0xdbff) {
			uint32_t low = i + 2 < len ? unit_at(from + i + 2) : 0;

			if (low < 0xdc00 || low > 0xdfff)
				return -1;
			c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
			i += 2;
		}
		out = put_utf8(out, c);
	}
	return out - to;
}

/* The character at *at, which moves on; UINT32_MAX: not UTF-8 (RFC 3629, section 4). */
static uint32_t get_utf8(const uint8_t **at, const uint8_t *end)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	uint32_t c = *(*at)++;
	unsigned more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;

	if (c < 0x80)
		return c;
	if (!more || c > 0xf4 || end - *at < (long)more)
		return UINT32_MAX;
	c &= 0x3fu >> more;
	for (unsigned i = 0; i < more; i++) {
		if ((**at & 0xc0) != 0x80)
			return UINT32_MAX;
		c = c << 6 | (*(*at)++ & 0x3f);
	}
	if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return UINT32_MAX;
	return c;
}

static uint8_t *put_unit(uint8_t *to, uint32_t unit)
{
	to[0] = (uint8_t)unit;
	to[1] = (uint8_t)(unit >> 8);
	return to + 2;
}

long smb_text_to_utf16(const char *from, size_t len, uint8_t *to)
{
	const uint8_t *at = (const uint8_t *)from, *end = at + len;
	uint8_t *out = to;

	while (at < end) {
		uint32_t c = get_utf8(&at, end);

		if (c == UINT32_MAX)
			return -1;
		if (c >= 0x10000) {
			out = put_unit(out, 0xd800 | (c - 0x10000) >> 10);
			c = 0xdc00 | ((c - 0x10000) & 0x3ff);
		}
		out = put_unit(out, c);
	}
	return out - to;
}

bool smb_name_ok(const char *name, size_t len)
{
	static const char refused[] = "/\\:*?<>|\"";

	if (!len || len > 255 || (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'))))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((uint8_t)name[i] < ' ' || strchr(refused, name[i]))
			return false;
	return true;
}

bool smb_path_ok(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (!smb_name_ok(path, len))
			return false;
		path += len;
		path += *path == '/';
	}
	return true;
}
