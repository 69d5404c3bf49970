/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members of an object of JSON that is being built. */
#ifndef CTL_REPORT_MEMBERS_H
#define CTL_REPORT_MEMBERS_H

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Anything may be in text; NULL: "". */
void member_text(JsonBuilder *builder, const char *key, const char *text);
void member_number(JsonBuilder *builder, const char *key, uint64_t number);
void member_bool(JsonBuilder *builder, const char *key, bool value);
/* Begins an object. */
void member_object(JsonBuilder *builder, const char *key);

#endif
