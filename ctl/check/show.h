/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shows a survey: as text for people, and as JSON for machines. */
#ifndef CTL_CHECK_SHOW_H
#define CTL_CHECK_SHOW_H

#include <stdio.h>

#include "ctl/check/survey.h"

#define SHOW_FORMAT 1  /* of the JSON */
#define SHOW_LINES  10 /* of a list, in the text */

/* FALSE: not all was written. */
bool show_text(FILE *out, const struct survey *survey);
/* A formatted object; migratectl(8) has its keys.  g_free. */
char *show_json(const struct survey *survey);

#endif
