/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/socket/server.h"

#include <errno.h>
#include <glib-unix.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/advice.h"
#include "lib/base/log.h"
#include "lib/config/config.h"
#include "retriever/socket/peer.h"
#include "retriever/socket/requests.h"

#define GROUPS	     "/etc/group"
#define PAUSE_MS     200
#define WATCHERS_MAX 16 /* peers that are not root get no more of clients' descriptors */

struct server {
	struct retriever *retriever;
	char *path;
	int sock;
	guint source;
	gid_t monitors; /* MONITOR_GROUP; 0: there is none */
	unsigned watchers;
	GPtrArray *peers;
};

static void forget_peer(void *arg, struct peer *peer)
{
	struct server *server = arg;

	server->watchers -= peer_is_watcher(peer);
	g_ptr_array_remove_fast(server->peers, peer);
}

static gboolean on_connect(gint sock, GIOCondition condition, gpointer arg);

static gboolean listen_again(gpointer arg)
{
	struct server *server = arg;

	server->source = g_unix_fd_add(server->sock, G_IO_IN, on_connect, server);
	return G_SOURCE_REMOVE;
}

/* Stops listening for a moment: a peer that waits for its connection would wake the loop again at
 * once. */
static gboolean pause_listening(struct server *server)
{
	g_warning("no connection can be taken: %s%s", g_strerror(errno), advice_for(errno));
	server->source = g_timeout_add(PAUSE_MS, listen_again, server);
	return G_SOURCE_REMOVE;
}

/* Whether the peer's process was in that group when it connected. */
static bool is_in_group(int fd, const struct ucred *cred, gid_t group)
{
	socklen_t len = NGROUPS_MAX * sizeof(gid_t);
	g_autofree gid_t *groups = g_malloc(len);

	if (!group || cred->gid == group)
		return group != 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
		return false;
	for (size_t i = 0; i < len / sizeof *groups; i++)
		if (groups[i] == group)
			return true;
	return false;
}

static gboolean on_connect(gint sock, GIOCondition condition, gpointer arg)
{
	struct server *server = arg;
	struct ucred cred;
	socklen_t len = sizeof cred;
	int fd = accept4(sock, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM
			       ? pause_listening(server)
			       : G_SOURCE_CONTINUE;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
	    (cred.uid != 0 && !is_in_group(fd, &cred, server->monitors))) {
		log_event(EVENT_PEER_REFUSED, G_LOG_LEVEL_WARNING, NULL, NULL, QM_NONE, 0,
			  "a process that is not root was turned away (pid %d)", (int)cred.pid);
		close(fd);
		return G_SOURCE_CONTINUE;
	}
	if (cred.uid != 0 && server->watchers == WATCHERS_MAX) {
		close(fd);
		return G_SOURCE_CONTINUE;
	}
	server->watchers += cred.uid != 0;
	g_ptr_array_add(server->peers,
			peer_new(server->retriever, fd, cred.uid != 0, forget_peer, server));
	return G_SOURCE_CONTINUE;
}

static void describe(void *arg, GKeyFile *file)
{
	g_autoptr(GPtrArray) list = requests_list_new();
	struct server *server = arg;

	for (guint i = 0; i < server->peers->len; i++)
		peer_add_open(server->peers->pdata[i], list);
	requests_describe(list, file);
}

/* The group of watchers, from this machine's own file; 0: there is no such group.  A directory
 * service may be slow to answer, and clients wait until the socket is there. */
static gid_t group_of_monitors(void)
{
	g_autofree char *text = NULL;

	if (!g_file_get_contents(GROUPS, &text, NULL, NULL))
		return 0;
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line; line++) {
		g_auto(GStrv) fields = g_strsplit(*line, ":", 4);
		guint64 gid;

		if (g_strv_length(fields) == 4 && !strcmp(fields[0], MONITOR_GROUP) &&
		    g_ascii_string_to_unsigned(fields[2], 10, 1, G_MAXUINT32 - 1, &gid, NULL))
			return (gid_t)gid;
	}
	return 0;
}

/* A socket file that is there was left by a kill, because this process holds the volume's lock. */
static int listen_on(const char *path, gid_t monitors, GError **error)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	g_autofree char *dir = g_path_get_dirname(path);
	int sock;

	if (strlen(path) >= sizeof addr.sun_path) {
		g_set_error(error, RETRIEVER_ERROR, 0,
			    "%s: the socket's path is longer than %zu bytes: set `socket` to a "
			    "shorter one",
			    path, sizeof addr.sun_path - 1);
		return -1;
	}
	strcpy(addr.sun_path, path);
	g_mkdir_with_parents(dir, 0755);
	unlink(path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0 || bind(sock, (struct sockaddr *)&addr, sizeof addr) < 0 ||
	    lchown(path, 0, monitors) < 0 || chmod(path, monitors ? 0660 : 0600) < 0 ||
	    listen(sock, 128) < 0) {
		g_set_error(error, RETRIEVER_ERROR, 0, "%s: cannot listen there: %s%s", path,
			    g_strerror(errno), advice_for(errno));
		if (sock >= 0)
			close(sock);
		return -1;
	}
	return sock;
}

struct server *server_new(struct retriever *retriever, GError **error)
{
	struct server *server;
	const gid_t monitors = group_of_monitors();
	int sock = listen_on(retriever->config->socket, monitors, error);

	if (sock < 0)
		return NULL;
	server = g_new0(struct server, 1);
	server->retriever = retriever;
	retriever->describe = describe;
	retriever->describer = server;
	server->path = g_strdup(retriever->config->socket);
	server->sock = sock;
	server->monitors = monitors;
	server->peers = g_ptr_array_new();
	server->source = g_unix_fd_add(sock, G_IO_IN, on_connect, server);
	return server;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	g_source_remove(server->source);
	close(server->sock);
	unlink(server->path);
	while (server->peers->len)
		peer_disconnect(server->peers->pdata[0]);
	g_ptr_array_free(server->peers, TRUE);
	g_free(server->path);
	g_free(server);
}
