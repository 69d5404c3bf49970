/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What values of the configuration have in common. */
#ifndef PARSE_H
#define PARSE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* All of text is a decimal number from 0 to OWNER_NONE - 1. */
bool parse_id(const char *text, uint32_t *id);
/* FALSE, with error set. */
G_GNUC_PRINTF(2, 3) bool parse_wrong(GError **error, const char *format, ...);

#endif
