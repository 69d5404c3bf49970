/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs4_owner.h"

#include <glib.h>
#include <nfsidmap.h>
#include <pthread.h>
#include <string.h>

#include "source/refused.h"

#define TEXT_MAX  512u	 /* bytes of one that is asked for */
#define KNOWN_MAX 65536u /* texts: a server may make up any number of them */
#define LINES_MAX 1000u

struct nfs4_owners {
	const char *url;
	nfs4_owner_fn ask;
	pthread_mutex_t lock; /* guards the rest, and libnfsidmap */
	GHashTable *known[2]; /* users, groups: text -> id */
	unsigned lines;
};

static pthread_mutex_t idmap_lock = PTHREAD_MUTEX_INITIALIZER;
static bool idmap_ready, idmap_works;

static void say_nothing(const char *format, ...)
{
}

static int ask_host(bool group, char *text, uint32_t *id)
{
	int ret = -1;

	pthread_mutex_lock(&idmap_lock);
	if (!idmap_ready) {
		nfs4_set_debug(0, say_nothing);
		idmap_works = nfs4_init_name_mapping(NULL) == 0;
		idmap_ready = true;
	}
	if (idmap_works)
		ret = group ? nfs4_name_to_gid(text, id) : nfs4_name_to_uid(text, id);
	pthread_mutex_unlock(&idmap_lock);
	return ret;
}

struct nfs4_owners *nfs4_owners_new(const char *url, nfs4_owner_fn ask)
{
	struct nfs4_owners *owners = g_new0(struct nfs4_owners, 1);

	owners->url = url;
	owners->ask = ask ? ask : ask_host;
	pthread_mutex_init(&owners->lock, NULL);
	for (unsigned i = 0; i < 2; i++)
		owners->known[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return owners;
}

void nfs4_owners_free(struct nfs4_owners *owners)
{
	if (!owners)
		return;
	for (unsigned i = 0; i < 2; i++)
		g_hash_table_unref(owners->known[i]);
	pthread_mutex_destroy(&owners->lock);
	g_free(owners);
}

/* With the lock. */
static void say_unknown(struct nfs4_owners *owners, bool group, const char *text)
{
	g_autofree char *shown = refused_text(text, strlen(text));

	if (owners->lines++ >= LINES_MAX)
		return;
	g_message("%s: the old server's %s %s is nobody here: make it known to this host (id, "
		  "getent, Domain in /etc/idmapd.conf) and restart the retriever, or let the old "
		  "server send numbers",
		  owners->url, group ? "group" : "user", shown);
}

static uint32_t look_up(struct nfs4_owners *owners, bool group, const char *text)
{
	GHashTable *known = owners->known[group];
	g_autofree char *asked = NULL;
	gpointer value;
	uint32_t id = NFS4_NOBODY;

	if (g_hash_table_lookup_extended(known, text, NULL, &value))
		return GPOINTER_TO_UINT(value);
	asked = g_strdup(text); /* libnfsidmap writes to it */
	if (!strchr(text, '@') || owners->ask(group, asked, &id) != 0)
		id = NFS4_NOBODY;
	if (id == NFS4_NOBODY)
		say_unknown(owners, group, text);
	if (g_hash_table_size(known) >= KNOWN_MAX)
		g_hash_table_remove_all(known);
	g_hash_table_insert(known, g_strdup(text), GUINT_TO_POINTER(id));
	return id;
}

uint32_t nfs4_owners_id(struct nfs4_owners *owners, bool group, const uint8_t *text, uint32_t len)
{
	char name[TEXT_MAX + 1];
	guint64 number;
	uint32_t id;

	if (len == 0 || len > TEXT_MAX || memchr(text, '\0', len))
		return NFS4_NOBODY;
	memcpy(name, text, len);
	name[len] = '\0';
	if (g_ascii_string_to_unsigned(name, 10, 0, NFS4_NOBODY - 1, &number, NULL))
		return (uint32_t)number;
	if (!owners)
		return NFS4_NOBODY;
	pthread_mutex_lock(&owners->lock);
	id = look_up(owners, group, name);
	pthread_mutex_unlock(&owners->lock);
	return id;
}
