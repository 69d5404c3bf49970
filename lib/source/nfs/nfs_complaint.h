/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tells the log why there is no connection to an old server that answers, each reason once.  Any
 * thread. */
#ifndef LIB_SOURCE_NFS_NFS_COMPLAINT_H
#define LIB_SOURCE_NFS_NFS_COMPLAINT_H

#include <glib.h>
#include <pthread.h>

struct nfs_complaint {
	pthread_mutex_t lock;
	char *said; /* what is wrong, as it was told last; NULL: nothing */
};
void nfs_complaint_init(struct nfs_complaint *complaint);
/* *complaint may be all zeros. */
void nfs_complaint_clear(struct nfs_complaint *complaint);
/* why NULL: there is a connection. */
void nfs_complaint_say(struct nfs_complaint *complaint, const char *url, const char *why);

#endif
