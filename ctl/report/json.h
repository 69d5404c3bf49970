/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CTL_REPORT_JSON_H
#define CTL_REPORT_JSON_H

#include "ctl/report/final.h"

/* The report for machines: a formatted object; migratectl(8) has its keys.  g_free. */
char *final_json(const struct final *final);

#endif
