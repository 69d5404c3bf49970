/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "schemes.h"

#include <errno.h>
#include <string.h>

#include "source/backend.h"
#include "source/file/file_source.h"
#include "source/nfs/nfs.h"
#include "source/smb/smb.h"

static const struct backend_ops *const schemes[] = {&backend_nfs_ops, &backend_smb_ops,
						    &backend_file_ops};

const struct backend_ops *scheme_find(const char *url, GError **error)
{
	const char *end = strstr(url, "://");
	g_autoptr(GString) known = g_string_new(NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
		const char *scheme = schemes[i]->scheme;

		if (end && strlen(scheme) == (size_t)(end - url) &&
		    g_ascii_strncasecmp(url, scheme, (gsize)(end - url)) == 0)
			return schemes[i];
		g_string_append_printf(known, "%s%s://", i ? ", " : "", scheme);
	}
	backend_set_error(error, EPROTONOSUPPORT,
			  "%s: not a URL of a source; use one that starts with %s", url,
			  known->str);
	return NULL;
}
