/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_systems.h"

#include <pthread.h>
#include <stdatomic.h>

struct nfs_systems {
	pthread_mutex_t lock;	      /* a leaf; guards the next four */
	GHashTable *known, *in_doubt; /* of uint64_t */
	unsigned were_in_doubt;
	gint64 since; /* g_get_monotonic_time(), since when `known` is filled */
	atomic_uint doubts;
};

static GHashTable *set_new(void)
{
	return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

struct nfs_systems *nfs_systems_new(void)
{
	struct nfs_systems *systems = g_new0(struct nfs_systems, 1);

	pthread_mutex_init(&systems->lock, NULL);
	systems->known = set_new();
	systems->in_doubt = set_new();
	return systems;
}

void nfs_systems_free(struct nfs_systems *systems)
{
	if (!systems)
		return;
	g_hash_table_unref(systems->known);
	g_hash_table_unref(systems->in_doubt);
	pthread_mutex_destroy(&systems->lock);
	g_free(systems);
}

void nfs_systems_see(struct nfs_systems *systems, uint64_t fs, gint64 now)
{
	if (!systems)
		return;
	pthread_mutex_lock(&systems->lock);
	if (now - systems->since >= NFS_BELIEVED_US) {
		systems->since = now;
		systems->were_in_doubt = 0;
		g_hash_table_remove_all(systems->known);
	}
	if (systems->were_in_doubt < NFS_DOUBTS_MAX &&
	    !g_hash_table_contains(systems->known, &fs)) {
		systems->were_in_doubt +=
			g_hash_table_add(systems->in_doubt, g_memdup2(&fs, sizeof(fs)));
		atomic_fetch_add(&systems->doubts, 1);
	}
	pthread_mutex_unlock(&systems->lock);
}

unsigned nfs_systems_doubts(struct nfs_systems *systems)
{
	return systems ? atomic_load(&systems->doubts) : 0;
}

GHashTable *nfs_systems_ask(struct nfs_systems *systems)
{
	GHashTable *asked;

	if (!systems)
		return NULL;
	pthread_mutex_lock(&systems->lock);
	asked = systems->in_doubt;
	systems->in_doubt = set_new();
	pthread_mutex_unlock(&systems->lock);
	return asked;
}

void nfs_systems_believe(struct nfs_systems *systems, GHashTable *asked)
{
	GHashTableIter iter;
	gpointer fs;

	pthread_mutex_lock(&systems->lock);
	g_hash_table_iter_init(&iter, asked);
	while (g_hash_table_iter_next(&iter, &fs, NULL))
		g_hash_table_add(systems->known, g_memdup2(fs, sizeof(uint64_t)));
	pthread_mutex_unlock(&systems->lock);
}
