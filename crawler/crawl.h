/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the crawler: connects to the retriever, walks the tree pass by pass, and reports. */
#ifndef CRAWLER_CRAWL_H
#define CRAWLER_CRAWL_H

#include <stdbool.h>

#include "crawler/policy.h"

enum crawl_exit {
	CRAWL_WHOLE = 0,   /* everything is whole (with metadata_only: every name is here), or a
			      signal said to stop */
	CRAWL_REFUSED = 1, /* the run could not begin; a line on stderr says why */
	CRAWL_LEFT = 2,	   /* the run is over, and something is left; or a list's path failed */
	CRAWL_VERSION = 3, /* the retriever is of another version: to be started again */
};

struct crawl_options {
	const char *volume;
	const char *socket; /* NULL: the usual one */
	bool metadata_only, once, quiet;
	bool lists;	  /* work on the lists of migratectl fetch alone, and tell what failed */
	unsigned workers; /* 0: as the retriever says */
	bool has_order;	  /* else: as the retriever says */
	enum policy_order order;
};

/* Blocks SIGTERM and SIGINT in the process and takes them as "stop".  To be called only once. */
enum crawl_exit crawl_run(const struct crawl_options *options);

#endif
