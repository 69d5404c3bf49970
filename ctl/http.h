/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics by HTTP. */
#ifndef CTL_HTTP_H
#define CTL_HTTP_H

#include "ctl/ctl.h"

/* All volumes' metrics, g_free: OpenMetrics 1.0 if open, or Prometheus' text format 0.0.4.  NULL:
 * the configuration cannot be read, which was said. */
typedef char *(*ctl_metrics_fn)(const struct ctl *ctl, bool open);

/* Answers the one HTTP request that is on standard input, on standard output. */
enum ctl_exit ctl_http_answer(const struct ctl *ctl, ctl_metrics_fn metrics);

#endif
