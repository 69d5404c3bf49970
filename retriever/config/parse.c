/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parse.h"

#include "owners.h"

bool parse_id(const char *text, uint32_t *id)
{
	guint64 value;

	if (!g_ascii_string_to_unsigned(text, 10, 0, OWNER_NONE - 1, &value, NULL))
		return false;
	*id = (uint32_t)value;
	return true;
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
