/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CTL_REPORT_PAGE_H
#define CTL_REPORT_PAGE_H

#include "ctl/report/final.h"

/* The report for people, as one page of HTML that needs nothing else: no script, no link, nothing
 * to load.  What comes from the old server stands in it as text.  g_free. */
char *final_page(const struct final *final);

#endif
