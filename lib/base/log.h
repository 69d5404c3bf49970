/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a daemon says: a line on standard error.  Where that is systemd's journal, an entry with
 * its priority and with fields instead (systemd.journal-fields(7)): SYSLOG_IDENTIFIER,
 * QUICKMIGRATE_VOLUME, and of the events below MESSAGE_ID, QUICKMIGRATE_PATH, QUICKMIGRATE_REASON,
 * QUICKMIGRATE_CODE and ERRNO, as far as they are known.  migrate-retriever(8) has the table.
 *
 * Whatever is said goes through text_line(): it is one line of UTF-8, and what else a name or an
 * old server's text has is \ooo.  Any thread; it blocks while the journal does not take it.
 */
#ifndef LIB_BASE_LOG_H
#define LIB_BASE_LOG_H

#include <glib.h>

#include "lib/base/error_codes.h"

enum event {
	EVENT_OBJECT_FAILED,
	EVENT_NAME_SKIPPED,
	EVENT_WHOLE,
	EVENT_SOURCE_AWAY,
	EVENT_SOURCE_BACK,
	EVENT_DAMAGED,
	EVENT_PEER_REFUSED,
	EVENTS,
};

/* Once, before there are threads; from then on it has what g_message() and its like say, too.
 * program, volume: kept. */
void log_begin(const char *program, const char *volume);

/* What ends the program, or keeps it from beginning: of the priority 3 (err). */
void log_failure(const char *message);

/* path, reason: NULL: none.  code: QM_NONE: none.  status: -errno, or 0.  Before log_begin() it is
 * g_log(). */
void log_event(enum event event, GLogLevelFlags level, const char *path, const char *reason,
	       enum error_code code, int status, const char *format, ...) G_GNUC_PRINTF(7, 8);

#endif
