/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of `migratectl takeover`: the file of takeover handles, and the clients that use
 * them. */
#ifndef CTL_TAKEOVER_STEPS_H
#define CTL_TAKEOVER_STEPS_H

#include <glib.h>

#include "lib/config/volume_config.h"

/* ---- making the file of takeover handles (takeover_make.c) ----------------------------------- */

struct takeover_made {
	guint handles;
	guint left_out; /* directories, each with a line on stderr */
	guint64 fsid;	/* of the source's root */
	gboolean many;	/* other directories have another fsid */
};
/*
 * Asks the old server for the handles of the source's root, and of each directory below it that it
 * exports, that a client has mounted, or that the configuration names; brings the names of these
 * directories here, and adds the handles to the file.  Handles that are in the file stay.  FALSE
 * with error set, one line: the file is as before.  Blocks.
 */
gboolean takeover_make(const struct volume_config *config, struct takeover_made *made,
		       GError **error);

/* ---- who uses them (takeover_clients.c) ------------------------------------------------------ */

struct takeover_client {
	char *address;
	char *last;	  /* the day, YYYY-MM-DD, UTC */
	guint64 requests; /* of that day */
};
/* The clients that the door has counted: struct takeover_client, those of the latest day first. */
GPtrArray *takeover_clients(const struct volume_config *config);
/* How many of these clients used takeover handles today, or yesterday. */
guint takeover_recent(const GPtrArray *clients);

#endif
