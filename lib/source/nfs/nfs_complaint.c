/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_complaint.h"

void nfs_complaint_init(struct nfs_complaint *complaint)
{
	pthread_mutex_init(&complaint->lock, NULL);
}

void nfs_complaint_clear(struct nfs_complaint *complaint)
{
	pthread_mutex_destroy(&complaint->lock);
	g_clear_pointer(&complaint->said, g_free);
}

void nfs_complaint_say(struct nfs_complaint *complaint, const char *url, const char *why)
{
	pthread_mutex_lock(&complaint->lock);
	if (why && g_strcmp0(why, complaint->said) != 0)
		g_warning("%s: %s", url, why);
	else if (!why && complaint->said)
		g_message("%s: connected again", url);
	g_free(complaint->said);
	complaint->said = g_strdup(why);
	pthread_mutex_unlock(&complaint->lock);
}
