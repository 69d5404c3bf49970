/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_mounting.h"

#include <errno.h>

#include "nfs_net.h"

#define CALL_SECONDS 10
#define PAUSE_US     (250 * 1000)

int nfs_mounting_call(struct nfs_mounting *m, unsigned port, uint32_t program, uint32_t version,
		      uint32_t procedure, const struct xdr_out *args, const uint8_t *start,
		      struct xdr_in *in, uint8_t **memory)
{
	struct nfs_server *server = m->server;
	size_t address = atomic_load(&server->address);
	struct nfs_call call = {
		.address = &server->addresses[address],
		.auth = &server->auth,
		.port = port,
		.program = program,
		.version = version,
		.procedure = procedure,
		.args = start,
		.args_len = (size_t)(args->p - start),
		.deadline =
			MIN(m->deadline, g_get_monotonic_time() + CALL_SECONDS * G_USEC_PER_SEC),
		.cancel_fd = -1,
	};

	return args->bad ? -ENAMETOOLONG : nfs_call(&call, in, memory);
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

	switch (-status) {
	case EACCES:
	case EPERM:
		return backend_set_error(error, -status,
					 "%s: the old server does not let this host in; export %s "
					 "to it, with AUTH_SYS and without squashing root",
					 url->text, url->path);
	case ENOTDIR:
		return backend_set_error(error, -status,
					 "%s: %s is not a directory there; name a directory",
					 url->text, url->path);
	}
	if (nfs_is_away(status))
		return backend_set_error(error, -status,
					 "%s: %s does not answer (%s): %s; check that host, %s",
					 url->text, url->host, m->last, g_strerror(-status), check);
	return backend_set_error(error, -status, "%s: the old server fails (%s): %s; see its log",
				 url->text, m->last, g_strerror(-status));
}
