/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/parse.h"

#include <string.h>

#include "lib/config/url.h"

bool parse_id(const char *text, uint32_t *id)
{
	guint64 value;

	if (!g_ascii_string_to_unsigned(text, 10, 0, OWNER_NONE - 1, &value, NULL))
		return false;
	*id = (uint32_t)value;
	return true;
}

gboolean config_parse_size(const char *text, uint64_t *bytes)
{
	uint64_t value = 0;
	const char *p = text;

	if (!g_ascii_isdigit(*p))
		return FALSE;
	for (; g_ascii_isdigit(*p); p++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return FALSE;
	if (*p) {
		const char *unit = strchr("KMG", g_ascii_toupper(*p));

		if (!unit || p[1])
			return FALSE;
		unsigned shift = 10 * (unsigned)(strchr("_KMG", *unit) - "_KMG");
		if (value > (uint64_t)INT64_MAX >> shift)
			return FALSE;
		value <<= shift;
	}
	if (value > INT64_MAX)
		return FALSE;
	*bytes = value;
	return TRUE;
}

bool parse_wrong(GError **error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (error)
		*error = g_error_new_valist(G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_INVALID_VALUE,
					    format, args);
	va_end(args);
	return false;
}

gboolean config_wrong(GError **error, const struct config_place *at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_autofree char *what = g_strdup_vprintf(format, args);
	va_end(args);
	g_autofree char *open = at->value ? url_shown(at->value) : NULL;
	g_autofree char *shown = open ? g_strescape(open, NULL) : NULL;
	if (!at->key)
		g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_GROUP_NOT_FOUND,
			    "%s: [%s]: %s", at->file, at->group, what);
	else if (shown)
		g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_INVALID_VALUE,
			    "%s: [%s] %s = %s: %s", at->file, at->group, at->key, shown, what);
	else
		g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_KEY_NOT_FOUND,
			    "%s: [%s] %s: %s", at->file, at->group, at->key, what);
	return FALSE;
}

gboolean config_take_word(unsigned *number, const char *const *words, unsigned n,
			  const struct config_place *at, GError **error)
{
	g_autoptr(GString) known = g_string_new(NULL);

	for (unsigned i = 0; i < n; i++) {
		if (!words[i])
			continue;
		*number = i;
		if (!strcmp(at->value, words[i]))
			return TRUE;
		g_string_append_printf(known, "%s%s",
				       !known->len ? ""
				       : i + 1 < n ? ", "
						   : " or ",
				       words[i]);
	}
	return config_wrong(error, at, "unknown; use %s", known->str);
}

gboolean config_take_url(char **text, const struct config_place *at, const GError *mistake,
			 GError **error)
{
	const struct config_place hidden = {at->file, at->group, at->key, NULL};

	if (mistake)
		config_wrong(error, &hidden, "%s", mistake->message);
	else
		*text = g_strdup(at->value);
	return !mistake;
}
