/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `migratectl takeover` is made of. */
#ifndef CTL_TAKEOVER_STEPS_H
#define CTL_TAKEOVER_STEPS_H

#include <glib.h>

#include "lib/config/volume_config.h"

/* ---- making the file of takeover handles (takeover_make.c)
 * ------------------------------------------
 */

struct takeover_made {
	guint handles;
	guint left_out; /* directories, each with a line on stderr */
	guint64 fsid;	/* of the source's root */
	gboolean many;	/* others have another one */
};
/*
 * Asks the old server for the handles of the source's root and of each directory below it that it
 * exports, that a client has mounted, or that the configuration names; brings these directories'
 * names here, and adds all to the file.  What is in it already stays.  FALSE with error set, one
 * line; the file is as before then.  Blocks.
 */
gboolean takeover_make(const struct volume_config *config, struct takeover_made *made,
		       GError **error);

/* ---- who uses them (takeover_clients.c) --------------------------------------------------------
 */

struct takeover_client {
	char *address;
	char *last;	  /* the day, YYYY-MM-DD, UTC */
	guint64 requests; /* of that day */
};
/* What the door has counted, of struct takeover_client, those of the latest day first. */
GPtrArray *takeover_clients(const struct volume_config *config);
/* How many of them used takeover handles today, or yesterday. */
guint takeover_recent(const GPtrArray *clients);

#endif
