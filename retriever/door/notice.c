/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "notice.h"

#include <glib.h>

struct notice {
	unsigned waiting;
	void (*done)(void *arg);
	void *arg;
};

struct notice *notice_new(void (*done)(void *arg), void *arg)
{
	struct notice *notice = g_new(struct notice, 1);

	*notice = (struct notice){1, done, arg};
	return notice;
}

void notice_add(struct notice *notice)
{
	notice->waiting++;
}

void notice_noted(struct notice *notice)
{
	if (--notice->waiting)
		return;
	notice->done(notice->arg);
	g_free(notice);
}
