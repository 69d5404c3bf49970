/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/link_pairs.h"

struct link_pairs {
	GMutex lock;	   /* a leaf */
	GHashTable *there; /* fileid -> inode */
	GHashTable *here;  /* inode -> fileid */
};

G_STATIC_ASSERT(sizeof(gpointer) == sizeof(guint64));

struct link_pairs *link_pairs_new(void)
{
	struct link_pairs *linked = g_new0(struct link_pairs, 1);

	g_mutex_init(&linked->lock);
	linked->there = g_hash_table_new(NULL, NULL);
	linked->here = g_hash_table_new(NULL, NULL);
	return linked;
}

void link_pairs_free(struct link_pairs *linked)
{
	if (!linked)
		return;
	g_hash_table_destroy(linked->there);
	g_hash_table_destroy(linked->here);
	g_mutex_clear(&linked->lock);
	g_free(linked);
}

/* Whether key has this value, which it gets if it has none. */
static bool claim(GHashTable *table, guint64 key, guint64 value)
{
	gpointer found;

	if (g_hash_table_lookup_extended(table, (gpointer)key, NULL, &found))
		return found == (gpointer)value;
	g_hash_table_insert(table, (gpointer)key, (gpointer)value);
	return true;
}

bool link_pairs_note(struct link_pairs *linked, guint64 fileid, guint64 inode)
{
	bool there, here;

	g_mutex_lock(&linked->lock);
	there = claim(linked->there, fileid, inode);
	here = claim(linked->here, inode, fileid);
	g_mutex_unlock(&linked->lock);
	return there && here;
}
