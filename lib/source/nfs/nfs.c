/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs.h"

#include <errno.h>

#include "lib/source/nfs/nfs_conn.h"
#include "lib/source/nfs/nfs_gather.h"

#define MAX_DEMAND     8
#define MAX_BACKGROUND 16

struct nfs_backend {
	struct backend base;
	struct nfs_server server;
	unsigned n_demand, n_background;
	struct nfs_conn *demand[MAX_DEMAND], *background[MAX_BACKGROUND];
	unsigned n_acl, n_v4;		 /* 0: there are no such connections; else 2 */
	struct nfs_conn *acl[2], *v4[2]; /* demand, background; beside version 3 */
	struct nfs_gather_ways ways;
};

static void for_all(struct nfs_backend *nfs, void (*each)(struct nfs_conn *conn))
{
	struct nfs_service *services[] = {&nfs->server.nfs, &nfs->server.acl, &nfs->server.v4};

	for (unsigned i = 0; i < nfs->n_demand; i++)
		each(nfs->demand[i]);
	for (unsigned i = 0; i < nfs->n_background; i++)
		each(nfs->background[i]);
	for (unsigned i = 0; i < nfs->n_acl; i++)
		each(nfs->acl[i]);
	for (unsigned i = 0; i < nfs->n_v4; i++)
		each(nfs->v4[i]);
	for (unsigned i = 0; i < G_N_ELEMENTS(services); i++)
		if (services[i]->trial)
			each(services[i]->trial);
}

static void nfs_close(struct backend *backend)
{
	struct nfs_backend *nfs = (struct nfs_backend *)backend;

	/* A request that one connection cancels may be submitted again to another: no connection is
	 * freed before all have ended. */
	for_all(nfs, nfs_conn_stop);
	for_all(nfs, nfs_conn_join);
	for_all(nfs, nfs_conn_free);
	nfs_server_clear(&nfs->server);
	g_free(nfs);
}

static void submit_plain(void *user, struct backend_request *req)
{
	struct nfs_backend *nfs = user;
	bool demand = req->priority == BACKEND_DEMAND;
	struct nfs_conn **conns = demand ? nfs->demand : nfs->background;
	unsigned n = demand ? nfs->n_demand : nfs->n_background, best = 0;

	for (unsigned i = 1; i < n; i++)
		if (nfs_conn_load(conns[i]) < nfs_conn_load(conns[best]))
			best = i;
	nfs_conn_submit(conns[best], req);
}

static void submit_acls(void *user, struct backend_request *req)
{
	struct nfs_backend *nfs = user;

	if (nfs->n_acl > 0)
		nfs_conn_submit(nfs->acl[req->priority == BACKEND_DEMAND ? 0 : 1], req);
	else
		submit_plain(nfs, req);
}

static void submit_attrs(void *user, struct backend_request *req)
{
	struct nfs_backend *nfs = user;

	nfs_conn_submit(nfs->v4[req->priority == BACKEND_DEMAND ? 0 : 1], req);
}

static void nfs_submit(struct backend *backend, struct backend_request *req)
{
	struct nfs_backend *nfs = (struct nfs_backend *)backend;

	if (req->op == BACKEND_XATTRS)
		nfs_gather(&nfs->ways, nfs, req);
	else
		submit_plain(nfs, req);
}

static bool add_connections(struct nfs_conn **conns, unsigned *n, struct nfs_server *server,
			    struct nfs_service *service, unsigned wanted, bool at_once,
			    bool unhurried)
{
	if (wanted && !service->trial) {
		service->trial = nfs_conn_new(server, service, false, false);
		if (!service->trial)
			return false;
	}
	while (*n < wanted) {
		conns[*n] = nfs_conn_new(server, service, at_once, unhurried);
		if (!conns[*n])
			return false;
		(*n)++;
	}
	return true;
}

static struct backend *nfs_open(const struct backend_config *config, struct source_object *root,
				struct source_attr *attr, GError **error)
{
	struct nfs_backend *nfs = g_new0(struct nfs_backend, 1);
	struct nfs_server *server = &nfs->server;
	bool version4;

	nfs->base.ops = &backend_nfs_ops;
	suspects_init(&server->suspects);
	server->window = config->window;
	if (!nfs_url_parse(config->url, &server->url, error) ||
	    !nfs_server_open(server, config->nfs, attr, error)) {
		nfs_close(&nfs->base);
		return NULL;
	}
	version4 = server->view.v4;
	nfs->ways = (struct nfs_gather_ways){
		.plain = submit_plain,
		.acls = server->no_acl ? NULL : submit_acls,
		.version4 = version4,
		.attrs = server->no_xattrs ? NULL
			 : version4	   ? submit_plain
					   : submit_attrs,
	};
	root->path = g_strdup("");
	root->handle_len = server->view.root.len;
	memcpy(root->handle, server->view.root.bytes, root->handle_len);
	if (add_connections(nfs->demand, &nfs->n_demand, server, &server->nfs,
			    CLAMP(config->demand_connections, 1, MAX_DEMAND), true, false) &&
	    add_connections(nfs->background, &nfs->n_background, server, &server->nfs,
			    CLAMP(config->connections, 1, MAX_BACKGROUND), false, true) &&
	    add_connections(nfs->acl, &nfs->n_acl, server, &server->acl,
			    server->acl_apart ? G_N_ELEMENTS(nfs->acl) : 0, false, false) &&
	    add_connections(nfs->v4, &nfs->n_v4, server, &server->v4,
			    server->no_xattrs || version4 ? 0 : G_N_ELEMENTS(nfs->v4), false,
			    false))
		return &nfs->base;
	error_set(error, EAGAIN,
		  "%s: no threads for its connections; raise the limits on processes and "
		  "open files",
		  config->url);
	source_object_clear(root);
	nfs_close(&nfs->base);
	return NULL;
}

static uint32_t nfs_max_read(struct backend *backend)
{
	return ((struct nfs_backend *)backend)->server.max_read;
}

static unsigned nfs_away(struct backend *backend)
{
	return backend_watch_away(&((struct nfs_backend *)backend)->server.watch);
}

static unsigned nfs_carries(struct backend *backend)
{
	const struct nfs_server *server = &((struct nfs_backend *)backend)->server;

	return (server->no_acl	  ? 0
		: server->view.v4 ? BACKEND_CARRIES_ACL | BACKEND_TRANSLATES_ACL
				  : BACKEND_CARRIES_ACL) |
	       (server->no_xattrs ? 0 : BACKEND_CARRIES_XATTR);
}

static char *nfs_not_carried(struct backend *backend)
{
	const struct nfs_server *server = &((struct nfs_backend *)backend)->server;
	GString *text = g_string_new(NULL);

	if (server->no_acl)
		g_string_append_printf(text, "ACLs: %s\n", server->no_acl);
	if (server->no_xattrs)
		g_string_append_printf(text, "user extended attributes: %s\n", server->no_xattrs);
	g_string_append(text, "other extended attributes (file capabilities, labels, trusted.*): "
			      "NFS does not have them");
	return g_string_free(text, FALSE);
}

void backend_nfs_set_stall(struct backend *backend, unsigned ms)
{
	atomic_store(&((struct nfs_backend *)backend)->server.stall_ms, ms);
}

static int nfs_writable(struct backend *backend)
{
	return nfs_server_writable(&((struct nfs_backend *)backend)->server);
}

const struct backend_ops backend_nfs_ops = {
	.scheme = "nfs",
	.open = nfs_open,
	.close = nfs_close,
	.submit = nfs_submit,
	.max_read = nfs_max_read,
	.away = nfs_away,
	.carries = nfs_carries,
	.not_carried = nfs_not_carried,
	.writable = nfs_writable,
};
