/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/fetch_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/write_fully.h"

#define HEAD "quickmigrate-fetch 1 %d %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n"

bool fetch_list_load(int fd, struct fetch_list *list)
{
	char head[FETCH_LIST_HEAD];

	if (pread(fd, head, sizeof(head), 0) != sizeof(head))
		return false;
	head[sizeof(head) - 1] = '\0';
	return sscanf(head, HEAD, &list->names_only, &list->since, &list->paths, &list->done,
		      &list->failed) == 5;
}

int fetch_list_save(int fd, const struct fetch_list *list)
{
	char head[FETCH_LIST_HEAD] = "";

	snprintf(head, sizeof(head), HEAD, list->names_only, list->since, list->paths, list->done,
		 list->failed);
	return write_fully(fd, head, sizeof(head), 0);
}
