/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/data_hints.h"

#define DIRECTORIES_MAX 65536 /* about 1 MiB */

struct data_hints {
	GMutex lock;	 /* a leaf */
	GHashTable *set; /* of hashes of keys */
};

struct data_hints *data_hints_new(void)
{
	struct data_hints *brought = g_new0(struct data_hints, 1);

	g_mutex_init(&brought->lock);
	brought->set = g_hash_table_new(g_direct_hash, g_direct_equal);
	return brought;
}

void data_hints_free(struct data_hints *brought)
{
	if (!brought)
		return;
	g_hash_table_destroy(brought->set);
	g_mutex_clear(&brought->lock);
	g_free(brought);
}

/* FNV-1a */
static gpointer hash(const struct migrate_binding *key)
{
	guint64 h = 0xcbf29ce484222325;

	for (unsigned i = 0; i < key->len; i++)
		h = (h ^ key->bytes[i]) * 0x100000001b3;
	return GSIZE_TO_POINTER(h);
}

void data_hints_note(struct object *directory, bool all)
{
	struct data_hints *brought = directory->retriever->data_hints;

	g_mutex_lock(&brought->lock);
	if (!all)
		g_hash_table_remove(brought->set, hash(&directory->key));
	else if (g_hash_table_size(brought->set) < DIRECTORIES_MAX)
		g_hash_table_add(brought->set, hash(&directory->key));
	g_mutex_unlock(&brought->lock);
}

bool data_hints_take(struct object *directory)
{
	struct data_hints *brought = directory->retriever->data_hints;
	bool all;

	g_mutex_lock(&brought->lock);
	all = g_hash_table_remove(brought->set, hash(&directory->key));
	g_mutex_unlock(&brought->lock);
	return all;
}
