/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/schemes.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/source/acl_source.h"
#include "lib/source/file/file_source.h"
#include "lib/source/nfs/nfs.h"
#include "lib/source/smb/smb.h"

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
	error_set(error, EPROTONOSUPPORT, "%s: not a URL of a source; use one that starts with %s",
		  url, known->str);
	return NULL;
}

static struct backend *open_url(const struct volume_config *config, const char *url,
				unsigned window, struct source_object *root,
				struct source_attr *attr, GError **error)
{
	const struct backend_config backend = {
		.url = url,
		.smb = config->smb,
		.nfs = config->nfs,
		.connections = config->connections,
		.demand_connections = config->demand_connections,
		.window = window,
	};
	const struct backend_ops *ops = scheme_find(url, error);

	return ops ? ops->open(&backend, root, attr, error) : NULL;
}

/* Closes inner where there is an error. */
static struct backend *open_acl_source(const struct volume_config *config, struct backend *inner,
				       GError **error)
{
	struct source_object root = {0};
	struct source_attr attr;
	struct backend *windows = open_url(config, config->acl_source, 0, &root, &attr, error);

	source_object_clear(&root);
	if (windows)
		return backend_acl_source_new(inner, windows);
	inner->ops->close(inner);
	return NULL;
}

struct backend *scheme_open(const struct volume_config *config, struct source_object *root,
			    struct source_attr *attr, GError **error)
{
	struct backend *inner = open_url(config, config->source, config->window, root, attr, error);

	return inner && config->acl_source ? open_acl_source(config, inner, error) : inner;
}
