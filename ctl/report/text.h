/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CTL_REPORT_TEXT_H
#define CTL_REPORT_TEXT_H

#include "ctl/report/final.h"

/* The report for people, as text, with all lines of the lists.  FALSE: not all was written. */
bool final_text(FILE *out, const struct final *final);

#endif
