/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/text.h"

#include <string.h>

static bool is_shown(gunichar c)
{
	return c == ' ' || (g_unichar_isgraph(c) && !g_unichar_isspace(c) && c != '\\');
}

static void put_bytes(GString *out, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		g_string_append_printf(out, "\\%03o", (uint8_t)bytes[i]);
}

static void put_char(GString *out, gunichar c)
{
	char utf8[6];
	int len = g_unichar_to_utf8(c, utf8);

	if (is_shown(c))
		g_string_append_len(out, utf8, len);
	else
		put_bytes(out, utf8, (size_t)len);
}

/* The character there, or the byte that is none; how long it is. */
static size_t put_next(GString *out, const char *at, const char *end)
{
	gunichar c = g_utf8_get_char_validated(at, end - at);

	if (c >= 0x110000 || !*at) {
		put_bytes(out, at, 1);
		return 1;
	}
	put_char(out, c);
	return (size_t)(g_utf8_next_char(at) - at);
}

/* Whether there is room for one character more of these bytes. */
static bool has_room(GString *out, bool more, const void *bytes, size_t len)
{
	g_autofree char *sum = NULL;

	if (!more || out->len <= REFUSED_TEXT_MAX - 64)
		return more;
	sum = g_compute_checksum_for_data(G_CHECKSUM_SHA1, bytes, len);
	g_string_append_printf(out, "...(%s)", sum);
	return false;
}

char *text_name(const void *bytes, size_t len)
{
	GString *out = g_string_new(len ? NULL : "\"\"");
	const char *at = bytes, *end = at + len;

	while (has_room(out, at < end, bytes, len))
		at += put_next(out, at, end);
	return g_string_free(out, FALSE);
}

static gunichar unit_at(const uint8_t *at)
{
	return at[0] | (gunichar)at[1] << 8;
}

char *text_name_utf16(const uint8_t *bytes, size_t len)
{
	GString *out = g_string_new(len ? NULL : "\"\"");
	size_t i = 0;

	while (has_room(out, i + 1 < len, bytes, len)) {
		gunichar c = unit_at(bytes + i);
		gunichar low = i + 3 < len ? unit_at(bytes + i + 2) : 0;

		i += 2;
		if (c >= 0xd800 && c < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
			put_char(out, 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff)));
			i += 2;
		} else if (c >= 0xd800 && c < 0xe000) {
			g_string_append_printf(out, "\\u%04X", c);
		} else {
			put_char(out, c);
		}
	}
	return g_string_free(out, FALSE);
}

char *text_utf8(const char *text)
{
	return g_utf8_validate(text, -1, NULL) ? g_strdup(text) : g_strescape(text, NULL);
}

char *text_line(const char *text)
{
	GString *line = g_string_new(NULL);
	const char *end = text + strlen(text);

	while (text < end) {
		if (*text == '\\')
			g_string_append_c(line, *text++);
		else
			text += put_next(line, text, end);
	}
	return g_string_free(line, FALSE);
}

char *text_printable(const char *text)
{
	g_autofree char *valid = text_utf8(text);

	return text_line(valid);
}

const char *text_plural(uint64_t n, const char *plural)
{
	static const char *const ends[][2] = {{"ies", "y"},	  {"sses", "ss"},
					      {"s", ""},	  {"s are", " is"},
					      {"s have", " has"}, {"s were", " was"}};

	for (unsigned i = 0; n == 1 && i < G_N_ELEMENTS(ends); i++)
		if (g_str_has_suffix(plural, ends[i][0])) {
			const int len = (int)(strlen(plural) - strlen(ends[i][0]));
			g_autofree char *singular =
				g_strdup_printf("%.*s%s", len, plural, ends[i][1]);

			return g_intern_string(singular);
		}
	return plural;
}
