/* SPDX-License-Identifier: GPL-3.0-or-later */
/* smb://[DOMAIN;]USER@host[:port]/share/path */
#ifndef LIB_CONFIG_SMB_URL_H
#define LIB_CONFIG_SMB_URL_H

#include <glib.h>
#include <stdint.h>

struct smb_url {
	char *text; /* as configured; a URL with a password is refused */
	char *domain, *user, *host, *share;
	char *path; /* below the share, "" for its root */
	uint16_t port;
};
gboolean smb_url_parse(const char *text, struct smb_url *url, GError **error);
void smb_url_clear(struct smb_url *url);

#endif
