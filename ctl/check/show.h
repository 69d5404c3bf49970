/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A survey for people and for machines. */
#ifndef CTL_CHECK_SHOW_H
#define CTL_CHECK_SHOW_H

#include <stdio.h>

#include "ctl/check/survey.h"

#define SHOW_FORMAT 1  /* of the JSON */
#define SHOW_LINES  10 /* of a list, in the text */

/* FALSE: not all was written. */
bool show_text(FILE *out, const struct survey *survey);
/* A formatted object, the keys of which are in migratectl(8).  g_free. */
char *show_json(const struct survey *survey);

#endif
