/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs4_owner.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/source/nfs/nfs4_owner_host.h"

#define TEXT_MAX       512u   /* bytes of a name that is asked for */
#define KNOWN_MAX      65536u /* of users, and of groups: a server may make up any number */
#define LINES_MAX      1000u
#define THREADS_MAX    8u
#define BACKGROUND_MAX 4u /* threads that ask for the background's names */
#define SWEEP_PAUSE    (G_USEC_PER_SEC / 10)

enum owner_state { OWNER_KNOWN, OWNER_QUEUED, OWNER_ASKED, OWNER_FAILED };

struct owner {
	char *text;
	bool group, demand, said;
	enum owner_state state;
	uint32_t id;   /* KNOWN */
	gint64 until;  /* KNOWN, FAILED: it is asked for again from then on */
	gint64 wanted; /* since then without an answer */
	GList link;    /* QUEUED */
};

struct nfs4_owners {
	char *url;
	nfs4_owner_fn ask;
	struct nfs4_owner_times times;
	pthread_mutex_t lock; /* guards the rest; not held while the name service is asked */
	pthread_cond_t queued;
	GHashTable *known[2]; /* users, groups: text -> struct owner */
	GQueue queue[2];      /* the background's, demand */
	unsigned threads, idle, background;
	gint64 swept; /* when what is known was last forgotten, for want of room */
	unsigned lines;
	bool failing, stop;
};

static void owner_free(gpointer p)
{
	struct owner *owner = p;

	g_free(owner->text);
	g_free(owner);
}

struct nfs4_owners *nfs4_owners_new(const char *url, nfs4_owner_fn ask,
				    const struct nfs4_owner_times *times)
{
	static const struct nfs4_owner_times usual = {
		.patience = 30 * G_USEC_PER_SEC,
		.nobody = 60 * G_USEC_PER_SEC,
		.pause = G_USEC_PER_SEC / 2,
	};
	struct nfs4_owners *owners = g_new0(struct nfs4_owners, 1);

	owners->url = g_strdup(url);
	owners->ask = ask ? ask : nfs4_owner_ask_host;
	owners->times = times ? *times : usual;
	pthread_mutex_init(&owners->lock, NULL);
	pthread_cond_init(&owners->queued, NULL);
	for (unsigned i = 0; i < 2; i++)
		owners->known[i] = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, owner_free);
	return owners;
}

static void free_now(struct nfs4_owners *owners)
{
	for (unsigned i = 0; i < 2; i++)
		g_hash_table_unref(owners->known[i]);
	pthread_cond_destroy(&owners->queued);
	pthread_mutex_destroy(&owners->lock);
	g_free(owners->url);
	g_free(owners);
}

void nfs4_owners_free(struct nfs4_owners *owners)
{
	bool last;

	if (!owners)
		return;
	pthread_mutex_lock(&owners->lock);
	owners->stop = true;
	last = owners->threads == 0;
	pthread_cond_broadcast(&owners->queued);
	pthread_mutex_unlock(&owners->lock);
	if (last)
		free_now(owners);
}

/* ---- answers; all with the lock ---- */

static void say_unknown(struct nfs4_owners *owners, struct owner *owner)
{
	g_autofree char *shown = text_name(owner->text, strlen(owner->text));

	if (owner->said || owners->lines++ >= LINES_MAX)
		return;
	owner->said = true;
	g_message("%s: the old server's %s %s is nobody here: make it known to this host (id, "
		  "getent, Domain in /etc/idmapd.conf), or let the old server send numbers",
		  owners->url, owner->group ? "group" : "user", shown);
}

static void say_failing(struct nfs4_owners *owners, const struct owner *owner)
{
	g_autofree char *shown = text_name(owner->text, strlen(owner->text));

	if (owners->failing)
		return;
	owners->failing = true;
	g_warning("%s: this host's name service does not tell who the old server's %s %s is: what "
		  "belongs to such names waits; see getent, /etc/nsswitch.conf and the log of that "
		  "service",
		  owners->url, owner->group ? "group" : "user", shown);
}

static void take_owner_answer(struct nfs4_owners *owners, struct owner *owner, int ret, uint32_t id)
{
	gint64 now = g_get_monotonic_time();

	if (ret != 0 && ret != -ENOENT) {
		owner->until = now + owners->times.pause;
		owner->state = OWNER_FAILED;
		say_failing(owners, owner);
		return;
	}
	owners->failing = false;
	owner->state = OWNER_KNOWN;
	owner->id = ret == 0 ? id : NFS4_NOBODY;
	owner->until = now + owners->times.nobody;
	if (owner->id == NFS4_NOBODY)
		say_unknown(owners, owner);
}

/* ---- the threads ---- */

static struct owner *next_owner(struct nfs4_owners *owners)
{
	bool demand = !g_queue_is_empty(&owners->queue[true]);
	GList *link;

	if (!demand && owners->background >= BACKGROUND_MAX)
		return NULL;
	link = g_queue_pop_head_link(&owners->queue[demand]);
	return link ? link->data : NULL;
}

static void ask(struct nfs4_owners *owners, struct owner *owner)
{
	g_autofree char *text = g_strdup(owner->text);
	bool background = !owner->demand;
	uint32_t id = NFS4_NOBODY;
	int ret;

	owner->state = OWNER_ASKED;
	owners->background += background;
	pthread_mutex_unlock(&owners->lock);
	ret = owners->ask(owner->group, text, &id);
	pthread_mutex_lock(&owners->lock);
	owners->background -= background;
	take_owner_answer(owners, owner, ret, id);
}

static void *ask_for_names(void *arg)
{
	struct nfs4_owners *owners = arg;
	struct owner *owner;
	bool last;

	pthread_mutex_lock(&owners->lock);
	while (!owners->stop) {
		owner = next_owner(owners);
		if (owner) {
			ask(owners, owner);
			continue;
		}
		owners->idle++;
		pthread_cond_wait(&owners->queued, &owners->lock);
		owners->idle--;
	}
	last = --owners->threads == 0;
	pthread_mutex_unlock(&owners->lock);
	if (last)
		free_now(owners);
	return NULL;
}

static void wake_thread(struct nfs4_owners *owners)
{
	const guint queued = owners->queue[0].length + owners->queue[1].length;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_cond_signal(&owners->queued);
	/* a thread that was woken before still counts as idle */
	if (owners->idle >= queued || owners->threads == THREADS_MAX)
		return;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	owners->threads += pthread_create(&thread, &attr, ask_for_names, owners) == 0;
	pthread_attr_destroy(&attr);
}

/* ---- questions; all with the lock ---- */

static void enqueue(struct nfs4_owners *owners, struct owner *owner, bool demand)
{
	owner->state = OWNER_QUEUED;
	owner->demand = demand;
	owner->link = (GList){.data = owner};
	g_queue_push_tail_link(&owners->queue[demand], &owner->link);
	wake_thread(owners);
}

static gboolean is_settled(gpointer key, gpointer value, gpointer user)
{
	const struct owner *owner = value;

	return owner->state == OWNER_KNOWN || owner->state == OWNER_FAILED;
}

/* NULL: too many names are being asked for. */
static struct owner *add_owner(struct nfs4_owners *owners, bool group, const char *text, gint64 now)
{
	GHashTable *known = owners->known[group];
	struct owner *owner;

	if (g_hash_table_size(known) >= KNOWN_MAX && now - owners->swept > SWEEP_PAUSE) {
		owners->swept = now;
		g_hash_table_foreach_remove(known, is_settled, NULL);
	}
	if (g_hash_table_size(known) >= KNOWN_MAX)
		return NULL;
	owner = g_new0(struct owner, 1);
	owner->text = g_strdup(text);
	owner->group = group;
	owner->id = NFS4_NOBODY;
	if (!strchr(text, '@')) { /* without a domain: it will never be anybody's */
		owner->until = G_MAXINT64;
		say_unknown(owners, owner);
	}
	g_hash_table_insert(known, owner->text, owner);
	return owner;
}

static int look_up_owner(struct nfs4_owners *owners, bool demand, bool group, const char *text,
			 uint32_t *id)
{
	struct owner *owner = g_hash_table_lookup(owners->known[group], text);
	gint64 now = owner && owner->id != NFS4_NOBODY ? 0 : g_get_monotonic_time();

	if (!owner)
		owner = add_owner(owners, group, text, now);
	if (!owner)
		return -EAGAIN;
	if (owner->state == OWNER_KNOWN && (owner->id != NFS4_NOBODY || now < owner->until)) {
		*id = owner->id;
		return 0;
	}
	if (owner->state == OWNER_KNOWN ||
	    (owner->state == OWNER_FAILED && now - owner->until > owners->times.patience))
		owner->wanted = now; /* nobody has wanted it since */
	if (owner->state == OWNER_QUEUED && (owners->threads == 0 || (demand && !owner->demand))) {
		g_queue_unlink(&owners->queue[owner->demand], &owner->link);
		enqueue(owners, owner, demand || owner->demand);
	} else if (owner->state == OWNER_KNOWN ||
		   (owner->state == OWNER_FAILED && now >= owner->until)) {
		enqueue(owners, owner, demand);
	}
	return now - owner->wanted < owners->times.patience ? -EAGAIN : -EHOSTDOWN;
}

int nfs4_owners_id(struct nfs4_owners *owners, bool demand, bool group, const uint8_t *text,
		   uint32_t len, uint32_t *id)
{
	char name[TEXT_MAX + 1];
	guint64 number;
	int ret;

	*id = NFS4_NOBODY;
	if (len == 0 || len > TEXT_MAX || memchr(text, '\0', len))
		return 0;
	memcpy(name, text, len);
	name[len] = '\0';
	if (g_ascii_string_to_unsigned(name, 10, 0, NFS4_NOBODY - 1, &number, NULL))
		*id = (uint32_t)number;
	else if (owners) {
		pthread_mutex_lock(&owners->lock);
		ret = look_up_owner(owners, demand, group, name, id);
		pthread_mutex_unlock(&owners->lock);
		return ret;
	}
	return 0;
}

int nfs4_owner_status(struct backend_request *req)
{
	int status = req->attr.no_owner;

	if (status == -EHOSTDOWN && req->attempts < NFS4_OWNER_TRIES)
		status = -EAGAIN;
	req->here |= status == -EAGAIN;
	return status;
}
