/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GErrors whose code is an errno. */
#ifndef LIB_BASE_ERROR_H
#define LIB_BASE_ERROR_H

#include <glib.h>

#define ERRNO_ERROR (errno_error_quark())
GQuark errno_error_quark(void);

/* FALSE, with error set, unless that is NULL.  code: an errno, positive. */
gboolean error_set(GError **error, int code, const char *format, ...) G_GNUC_PRINTF(3, 4);

#endif
