/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/smb.h"

#include <errno.h>
#include <string.h>

#include "common/migrate.h"
#include "lib/source/smb/smb_conn.h"
#include "lib/source/smb/smb_reply.h"
#include "lib/source/smb/smb_shares.h"
#include "lib/source/smb/smb_text.h"

#define AWAY_S	   30
#define WINDOW	   32
#define MAX_DEMAND 8
#define MAX_OTHERS 16
#define SPARES	   6 /* demand connections: some are ready while others are made again */

struct smb_backend {
	struct backend base;
	struct smb_server server;
	struct smb_config config;
	struct smb_pool demand, others, trial;
};

static void smb_close(struct backend *backend)
{
	struct smb_backend *smb = (struct smb_backend *)backend;

	/* a request that one pool cancels may be submitted again to the other */
	smb_conns_end(&smb->demand, &smb->server);
	smb_conns_end(&smb->others, &smb->server);
	smb_conns_end(&smb->trial, &smb->server);
	smb_conns_free(&smb->demand);
	smb_conns_free(&smb->others);
	smb_conns_free(&smb->trial);
	suspects_clear(&smb->server.suspects);
	smb_url_clear(&smb->server.url);
	g_free(smb->server.final);
	g_free(smb->server.last);
	g_free(smb->config.password_file);
	g_free(smb->config.ccache);
	g_free(smb->config.domain);
	smb_turns_clear(&smb->server.turns);
	pthread_mutex_destroy(&smb->server.lock);
	pthread_cond_destroy(&smb->server.changed);
	g_free(smb);
}

static struct smb_backend *smb_new(const struct backend_config *config)
{
	struct smb_backend *smb = g_new0(struct smb_backend, 1);
	const struct smb_config *from = config->smb;
	unsigned window = CLAMP(config->window ? config->window : WINDOW, 1, WIRE_SLOTS);
	pthread_condattr_t attr;

	smb->base.ops = &backend_smb_ops;
	if (from)
		smb->config = (struct smb_config){
			.password_file = g_strdup(from->password_file),
			.ccache = g_strdup(from->ccache),
			.domain = g_strdup(from->domain),
			.encryption = from->encryption,
			.signing = from->signing,
		};
	smb->server.config = &smb->config;
	smb_pool_init(&smb->demand, SMB_DEMAND, window);
	smb_pool_init(&smb->others, SMB_OTHERS, window);
	smb_pool_init(&smb->trial, SMB_TRIAL, 1);
	smb->server.demand = &smb->demand;
	smb->server.trial = &smb->trial;
	suspects_init(&smb->server.suspects);
	smb_turns_init(&smb->server.turns);
	pthread_mutex_init(&smb->server.lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&smb->server.changed, &attr);
	pthread_condattr_destroy(&attr);
	return smb;
}

/* Waits until the first connection has the root, or never will, or no server answers. */
static bool wait_for_root(struct smb_backend *smb, struct source_attr *attr, GError **error)
{
	struct smb_server *server = &smb->server;
	const struct timespec end = migrate_in_ms(AWAY_S * 1000);
	const char *why;
	bool known;

	pthread_mutex_lock(&server->lock);
	while (!server->known && !server->final &&
	       pthread_cond_timedwait(&server->changed, &server->lock, &end) != ETIMEDOUT)
		;
	known = server->known;
	why = server->final ? server->final : server->last;
	if (!known)
		error_set(error, server->locks ? EKEYREJECTED : EHOSTUNREACH, "%s%s",
			  why ? why : server->url.text,
			  why ? "" : ": the server does not answer: see that it runs");
	pthread_mutex_unlock(&server->lock);
	if (known && (!smb_attr_decode(&server->root, attr) || !S_ISDIR(attr->mode)))
		return error_set(error, EBADMSG,
				 "%s: the server's answers make no sense: see that it is an SMB "
				 "server",
				 server->url.text);
	return known;
}

/* Names the shares there are, where the one of the URL is not. */
static void explain_share(struct smb_backend *smb, GError **error)
{
	const struct smb_url *url = &smb->server.url;
	g_autofree char *shares = NULL;
	bool lacks;

	pthread_mutex_lock(&smb->server.lock);
	lacks = smb->server.lacks_share;
	pthread_mutex_unlock(&smb->server.lock);
	if (lacks)
		shares = smb_shares_text(&smb->config, url);
	if (!shares)
		return;
	g_clear_error(error);
	error_set(error, EHOSTUNREACH,
		  "%s: the server has no share \"%s\"; it shares %s: correct the URL", url->text,
		  url->share, shares);
}

static bool add_connections(struct smb_pool *pool, struct smb_server *server, unsigned wanted,
			    bool spare, const char *url, GError **error)
{
	while (pool->n < wanted)
		if (!smb_conn_add(pool, server, spare))
			return error_set(error, EAGAIN,
					 "%s: no threads for its connections; raise the limits on "
					 "processes and open files",
					 url);
	return true;
}

static struct backend *smb_open(const struct backend_config *config, struct source_object *root,
				struct source_attr *attr, GError **error)
{
	struct smb_backend *smb = smb_new(config);
	struct smb_server *server = &smb->server;
	const unsigned demand = CLAMP(config->demand_connections, 1, MAX_DEMAND);

	if (smb_url_parse(config->url, &server->url, error) &&
	    add_connections(&smb->demand, server, 1, false, config->url, error) &&
	    wait_for_root(smb, attr, error) &&
	    add_connections(&smb->demand, server, demand, false, config->url, error) &&
	    add_connections(&smb->others, server, CLAMP(config->connections, 1, MAX_OTHERS), false,
			    config->url, error) &&
	    add_connections(&smb->demand, server, demand + SPARES, true, config->url, error) &&
	    add_connections(&smb->trial, server, 1, true, config->url, error)) {
		root->path = g_strdup("");
		root->handle_len = 0;
		return &smb->base;
	}
	explain_share(smb, error);
	smb_close(&smb->base);
	return NULL;
}

/* 0, or the status of a request that needs no answer of the server. */
static int refusal_of(const struct backend_request *req)
{
	const char *path = req->object.path;

	if (!path)
		return -ESTALE;
	if (!smb_path_ok(path))
		return -ENOENT;
	if (strlen(path) > WIRE_PATH_MAX)
		return -ENAMETOOLONG;
	if (req->op != BACKEND_LOOKUP)
		return 0;
	if (req->up)
		return -ENOTSUP;
	if (strlen(req->name) > 255)
		return -ENAMETOOLONG;
	return source_name_ok(req->name, strlen(req->name)) ? 0 : -ENOENT;
}

static void smb_submit(struct backend *backend, struct backend_request *req)
{
	struct smb_backend *smb = (struct smb_backend *)backend;
	struct smb_pool *pool = smb_pool_of(req) == SMB_DEMAND ? &smb->demand : &smb->others;
	int refused;

	backend_prepare(req);
	req->backend.submitted = g_get_monotonic_time();
	refused = refusal_of(req);
	if (refused) {
		backend_complete(req, refused);
		return;
	}
	suspects_recall(&smb->server.suspects, req);
	if (suspects_hold(&smb->server.suspects, req,
			  req->backend.submitted - smb_span(SMB_HOLD))) {
		backend_complete(req, -EREMOTEIO);
		return;
	}
	if (smb_pool_lists(&smb->demand, req))
		pool = &smb->demand;
	else if (smb_pool_lists(&smb->others, req))
		pool = &smb->others;
	else if (smb_pool_lists(&smb->trial, req))
		pool = &smb->trial;
	backend_watch_begin(&smb->server.watch);
	if (req->backend.breaks >= SUSPECT_ALONE && !req->cookie)
		smb_conn_try(&smb->server, req);
	else if (!smb_pool_submit(pool, req)) {
		backend_watch_end(&smb->server.watch);
		backend_complete(req, -ECANCELED);
	}
}

static uint32_t smb_max_read(struct backend *backend)
{
	return ((struct smb_backend *)backend)->server.max_read;
}

static unsigned smb_away(struct backend *backend)
{
	return backend_watch_away(&((struct smb_backend *)backend)->server.watch);
}

static unsigned smb_carries(struct backend *backend)
{
	return BACKEND_CARRIES_ACL | BACKEND_CARRIES_XATTR;
}

static char *smb_not_carried(struct backend *backend)
{
	return g_strdup("extended attributes of OS/2 (EAs), and what reparse points other than "
			"symbolic links hold: named where an object has them");
}

static bool smb_clock(struct backend *backend, int64_t *ahead)
{
	struct smb_server *server = &((struct smb_backend *)backend)->server;
	bool good;

	pthread_mutex_lock(&server->lock);
	good = server->known && !__builtin_mul_overflow(server->clock, 1000, ahead);
	pthread_mutex_unlock(&server->lock);
	return good;
}

static void smb_retry(struct backend *backend)
{
	suspects_retry(&((struct smb_backend *)backend)->server.suspects);
}

const struct backend_ops backend_smb_ops = {
	.scheme = "smb",
	.spells = true,
	.open = smb_open,
	.close = smb_close,
	.submit = smb_submit,
	.max_read = smb_max_read,
	.away = smb_away,
	.carries = smb_carries,
	.not_carried = smb_not_carried,
	.clock = smb_clock,
	.retry = smb_retry,
};
