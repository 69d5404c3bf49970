/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "report/final.h"

/* The report for people, as text, with all lines of the lists.  FALSE: not all was written. */
bool final_text(FILE *out, const struct final *final);

#endif
