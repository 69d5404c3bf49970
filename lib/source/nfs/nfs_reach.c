/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_reach.h"

#include <errno.h>

#include "lib/source/nfs/nfs_context.h"
#include "lib/source/nfs/nfs_net.h"

#define PORT_SECONDS 2

static gint64 in_seconds(unsigned seconds)
{
	return g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
}

static void complain(struct nfs_server *server, const char *why)
{
	if (why)
		nfs_complaint_say(&server->complaint, server->url.text, why);
}

void nfs_reach_ask_port(const struct nfs_server *server, struct nfs_service *service, int cancel_fd)
{
	unsigned port;

	if (!service->fixed && nfs_ask_port(server, service->program, service->version,
					    in_seconds(PORT_SECONDS), cancel_fd, &port) == 0)
		atomic_store(&service->port, port);
}

bool nfs_reach_connect(struct nfs_server *server, struct nfs_service *service, size_t address,
		       int cancel_fd, struct nfs_link *link, struct nfs_gss **gss)
{
	g_autofree char *why = NULL;
	struct nfs_call call = {
		.address = &server->addresses[address],
		.port = atomic_load(&service->port),
		.program = service->program,
		.version = service->version,
		.elsewhere = server->elsewhere,
		.cancel_fd = cancel_fd,
		.tls = nfs_server_tls(server),
		.why = &why,
	};
	int ret = 0;

	if (server->url.sec != NFS_SEC_SYS)
		ret = nfs_context_make(server, call.address, call.port, call.program, call.version,
				       in_seconds(NFS_REACH_SECONDS), cancel_fd, gss, &why);
	call.deadline = in_seconds(NFS_REACH_SECONDS);
	if (ret == 0 && call.tls)
		ret = nfs_connect(&call, link);
	else if (ret == 0)
		ret = link->fd = nfs_socket(call.address, call.port);
	complain(server, why);
	return ret >= 0;
}

void nfs_reach_end_context(const struct nfs_server *server, struct nfs_service *service,
			   size_t address, struct nfs_gss **gss)
{
	if (*gss)
		nfs_context_end(server, &server->addresses[address], atomic_load(&service->port),
				service->program, service->version, g_steal_pointer(gss));
}

void nfs_reach_ended(struct nfs_server *server, const struct nfs_link *link, int err)
{
	g_autofree char *why = NULL;

	if (err == EPROTO && nfs_server_tls(server))
		why = nfs_tls_ended(&server->tls, link);
	complain(server, why);
}
