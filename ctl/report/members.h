/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds members to an object of JSON that is being built. */
#ifndef CTL_REPORT_MEMBERS_H
#define CTL_REPORT_MEMBERS_H

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

/* text may have any bytes; NULL: "". */
void member_text(JsonBuilder *builder, const char *key, const char *text);
void member_number(JsonBuilder *builder, const char *key, uint64_t number);
void member_bool(JsonBuilder *builder, const char *key, bool value);
/* Begins an object. */
void member_object(JsonBuilder *builder, const char *key);

#endif
