/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/error.h"

G_DEFINE_QUARK(quickmigrate - errno, errno_error)

gboolean error_set(GError **error, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (error)
		*error = g_error_new_valist(ERRNO_ERROR, code, format, args);
	va_end(args);
	return FALSE;
}
