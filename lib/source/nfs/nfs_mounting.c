/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_mounting.h"

#include <errno.h>

#include "lib/source/nfs/nfs_context.h"
#include "lib/source/nfs/nfs_net.h"
#include "lib/source/nfs/nfs_reach.h"

#define CALL_SECONDS 10
#define PAUSE_US     (250 * 1000)

void nfs_mounting_init(struct nfs_mounting *m, struct nfs_server *server, gint64 deadline)
{
	*m = (struct nfs_mounting){.server = server, .deadline = deadline, .auth = server->auth};
}

void nfs_mounting_clear(struct nfs_mounting *m)
{
	struct nfs_server *server = m->server;

	if (server->n_addresses > 0)
		nfs_reach_end_context(server, &server->nfs, atomic_load(&server->address),
				      &m->auth.gss);
	g_clear_pointer(&m->why, g_free);
	g_clear_pointer(&m->has, g_free);
}

/* Makes one context for all calls: they are made one after the other. */
static int get_context(struct nfs_mounting *m, const struct nfs_call *call)
{
	if (m->auth.gss && !nfs_gss_is_worn(m->auth.gss, g_get_monotonic_time()))
		return 0;
	g_clear_pointer(&m->auth.gss, nfs_gss_free);
	return nfs_context_make(m->server, call->address, call->port, call->program, call->version,
				call->deadline, call->cancel_fd, &m->auth.gss, &m->why);
}

int nfs_mounting_call(struct nfs_mounting *m, unsigned port, uint32_t program, uint32_t version,
		      uint32_t procedure, const struct xdr_out *args, const uint8_t *start,
		      struct xdr_in *in, uint8_t **memory)
{
	struct nfs_server *server = m->server;
	size_t address = atomic_load(&server->address);
	/* As other clients do it: MOUNT is asked without a context, and without TLS. */
	const bool nfs = program != MOUNT_PROGRAM;
	const bool secure = nfs && server->url.sec != NFS_SEC_SYS;
	struct nfs_call call = {
		.address = &server->addresses[address],
		.auth = secure ? &m->auth : &server->auth,
		.port = port,
		.program = program,
		.version = version,
		.procedure = procedure,
		.args = start,
		.args_len = (size_t)(args->p - start),
		.deadline =
			MIN(m->deadline, g_get_monotonic_time() + CALL_SECONDS * G_USEC_PER_SEC),
		.elsewhere = server->elsewhere,
		.cancel_fd = -1,
		.tls = nfs ? nfs_server_tls(server) : NULL,
		.why = &m->why,
	};

	int ret = args->bad ? -ENAMETOOLONG : 0;

	*memory = NULL;
	g_clear_pointer(&m->why, g_free);
	if (ret == 0 && secure)
		ret = get_context(m, &call);
	return ret < 0 ? ret : nfs_call(&call, in, memory);
}

bool nfs_mounting_pause(struct nfs_mounting *m)
{
	struct nfs_server *server = m->server;

	if (g_get_monotonic_time() + PAUSE_US > m->deadline)
		return false;
	atomic_store(&server->address, (atomic_load(&server->address) + 1) % server->n_addresses);
	g_usleep(PAUSE_US);
	return true;
}

gboolean nfs_mounting_explain(const struct nfs_mounting *m, int status, const char *check,
			      GError **error)
{
	const struct nfs_url *url = &m->server->url;

	if (m->why)
		return error_set(error, EACCES, "%s: %s", url->text, m->why);
	switch (-status) {
	case EACCES:
	case EPERM:
		if (url->sec != NFS_SEC_SYS)
			return error_set(
				error, -status,
				"%s: the old server does not let this host's principal in; export "
				"%s to it with that sec=, and have it take the principal for root",
				url->text, url->path);
		return error_set(error, -status,
				 "%s: the old server does not let this host in; export %s "
				 "to it, with AUTH_SYS (or write sec=krb5), or xprtsec=tls, "
				 "and without squashing root",
				 url->text, url->path);
	case ENOTDIR:
		return error_set(error, -status,
				 "%s: %s is not a directory there; name a directory", url->text,
				 url->path);
	}
	if (nfs_is_away(status))
		return error_set(error, -status,
				 "%s: %s does not answer (%s): %s; check that host, %s", url->text,
				 url->host, m->last, g_strerror(-status), check);
	return error_set(error, -status, "%s: the old server fails (%s): %s; see its log",
			 url->text, m->last, g_strerror(-status));
}
