/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/mounts.h"

#include <errno.h>
#include <string.h>

#include "lib/source/ask.h"
#include "lib/base/error.h"
#include "lib/config/nfs_url.h"

#define NFS_PROGRAM   100003
#define MOUNT_PROGRAM 100005
#define NFS_PORT      2049
#define WAIT	      10 /* s, for each answer */
#define AT_ONCE	      64 /* paths that one process asks about */
#define PACKET_ROOM   32768
#define EXPORTS_MAX   4096

struct listening {
	GPtrArray *clients, *exports;
	const GPtrArray *paths;
	GPtrArray *handles;
	guint first, count; /* paths that are asked about */
	const char *path;   /* that answers are of */
};

void mounts_client_free(gpointer data)
{
	struct mounts_client *client = data;

	g_free(client->host);
	g_free(client->path);
	g_free(client);
}

void mounts_handle_free(gpointer data)
{
	struct mounts_handle *handle = data;

	g_free(handle->path);
	g_free(handle->why);
	g_free(handle);
}

gboolean mounts_server_of(const char *source, struct mounts_server *server, char **host,
			  char **path, GError **error)
{
	struct nfs_url url;

	if (!g_str_has_prefix(source, "nfs://"))
		return error_set(error, EINVAL,
				 "%s is no server of NFS version 3, whose clients this is "
				 "for",
				 source);
	if (!nfs_url_parse(source, &url, error)) {
		nfs_url_clear(&url);
		return FALSE;
	}
	if (url.minors) {
		error_set(error, EINVAL,
			  "%s is spoken to by NFS version 4: this is for clients of version "
			  "3; take version= out",
			  source);
		nfs_url_clear(&url);
		return FALSE;
	}
	*host = g_strdup(url.host);
	*path = g_strdup(url.path);
	for (size_t len = strlen(*path); len > 1 && (*path)[len - 1] == '/'; len--)
		(*path)[len - 1] = '\0';
	*server = (struct mounts_server){.how = {.host = *host, .wait = WAIT},
					 .mount_port = url.mount_port,
					 .nfs_port = url.nfs_port};
	nfs_url_clear(&url);
	return TRUE;
}

/* ---- ports ----------------------------------------------------------------------------------- */

struct place {
	char *address, *mount, *nfs; /* g_free */
};

static void place_clear(struct place *place)
{
	g_free(place->address);
	g_free(place->mount);
	g_free(place->nfs);
}

static gboolean find_place(const struct mounts_server *server, struct place *place, GError **error)
{
	unsigned mount = server->mount_port, nfs = server->nfs_port;
	g_autofree char *why = NULL, *again = NULL;

	place->address = ask_address(server->how.host, error);
	if (!place->address)
		return FALSE;
	if (!mount)
		mount = inquiry_port(&server->how, place->address, MOUNT_PROGRAM, 3, &why);
	if (!mount)
		return error_set(error, ENOTCONN, "%s: MOUNT 3 by TCP: %s", server->how.host,
				 why ? why : "it is not there");
	if (!nfs)
		nfs = inquiry_port(&server->how, place->address, NFS_PROGRAM, 3, &again);
	place->mount = g_strdup_printf("%u", mount);
	place->nfs = g_strdup_printf("%u", nfs ? nfs : NFS_PORT);
	return TRUE;
}

static gboolean ask_there(const struct mounts_server *server, const char *const *question,
			  ask_fn each, struct listening *listening, GError **error)
{
	g_autofree char *why =
		ask(server->how.program, question, server->how.wait, each, listening, NULL);

	return !why || error_set(error, ENOTCONN, "%s: %s: %s", server->how.host, question[0], why);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static gboolean take_mount(void *arg, char **fields)
{
	struct listening *listening = arg;

	if (strcmp(fields[0], "mount") || g_strv_length(fields) != 3 ||
	    listening->clients->len >= MOUNTS_MAX)
		return FALSE;
	struct mounts_client *client = g_new(struct mounts_client, 1);
	client->host = g_strdup(fields[1]);
	client->path = g_strdup(fields[2]);
	g_ptr_array_add(listening->clients, client);
	return TRUE;
}

static gboolean take_export(void *arg, char **fields)
{
	struct listening *listening = arg;

	if (g_strv_length(fields) != 2 || listening->exports->len >= EXPORTS_MAX)
		return FALSE;
	if (!strcmp(fields[0], "export"))
		g_ptr_array_add(listening->exports, g_strdup(fields[1]));
	return !strcmp(fields[0], "export") || !strcmp(fields[0], "group");
}

gboolean mounts_inquire(const struct mounts_server *server, GPtrArray *clients, GPtrArray *exports,
			GError **error)
{
	struct listening listening = {.clients = clients, .exports = exports};
	struct place place = {NULL, NULL, NULL};
	gboolean ok = find_place(server, &place, error);
	const char *of_exports[] = {"exports", place.address, place.mount, NULL};
	const char *of_clients[] = {"mounts", place.address, place.mount, NULL};

	ok = ok && (!exports || ask_there(server, of_exports, take_export, &listening, error)) &&
	     ask_there(server, of_clients, take_mount, &listening, error);
	place_clear(&place);
	return ok;
}

/* ---- handles --------------------------------------------------------------------------------- */

static gboolean parse_handle(char **fields, struct mounts_handle *handle)
{
	const size_t len = strlen(fields[1]);

	if (len < 2 || len % 2 || len > 2 * MOUNTS_HANDLE_MAX)
		return FALSE;
	for (size_t i = 0; i < len; i++)
		if (!g_ascii_isxdigit(fields[1][i]))
			return FALSE;
	for (size_t i = 0; i < len / 2; i++)
		handle->handle[i] = (guint8)(g_ascii_xdigit_value(fields[1][2 * i]) << 4 |
					     g_ascii_xdigit_value(fields[1][2 * i + 1]));
	handle->len = (guint)(len / 2);
	return g_ascii_string_to_unsigned(fields[2], 10, 0, G_MAXUINT64, &handle->fileid, NULL) &&
	       g_ascii_string_to_unsigned(fields[3], 10, 0, G_MAXUINT64, &handle->fsid, NULL);
}

static gboolean take_handle(void *arg, char **fields)
{
	struct listening *listening = arg;
	const guint n = g_strv_length(fields);
	guint64 at;

	if (!strcmp(fields[0], "at")) {
		if (n != 2 || listening->path ||
		    !g_ascii_string_to_unsigned(fields[1], 10, 0, listening->count - 1, &at, NULL))
			return FALSE;
		listening->path = listening->paths->pdata[listening->first + at];
		return TRUE;
	}
	if (!listening->path || !((!strcmp(fields[0], "handle") && n == 4) ||
				  (!strcmp(fields[0], "refused") && n == 2)))
		return FALSE;
	struct mounts_handle *handle = g_new0(struct mounts_handle, 1);
	handle->path = g_strdup(listening->path);
	g_ptr_array_add(listening->handles, handle);
	listening->path = NULL;
	if (n == 4)
		return parse_handle(fields, handle);
	handle->why = g_strescape(fields[1], NULL);
	return TRUE;
}

/* How many of the paths from first on are asked about at once: at least one. */
static guint add_paths(const GPtrArray *paths, guint first, const char **question)
{
	size_t room = PACKET_ROOM;
	guint n = 0;

	for (; n < AT_ONCE && first + n < paths->len; n++) {
		const char *path = paths->pdata[first + n];

		if (n && strlen(path) + 8 > room)
			break;
		room -= MIN(room, strlen(path) + 8);
		question[n] = path;
	}
	return n;
}

gboolean mounts_ask_handles(const struct mounts_server *server, const GPtrArray *paths,
			    GPtrArray *handles, GError **error)
{
	struct listening listening = {.paths = paths, .handles = handles};
	struct place place = {NULL, NULL, NULL};
	gboolean ok = find_place(server, &place, error);

	while (ok && listening.first < paths->len) {
		const char *question[AT_ONCE + 5] = {"handles", place.address, place.mount,
						     place.nfs};

		listening.count = add_paths(paths, listening.first, question + 4);
		ok = ask_there(server, question, take_handle, &listening, error);
		listening.first += listening.count;
		if (ok && handles->len != listening.first)
			ok = error_set(error, EBADMSG,
				       "%s: not all handles were told; try it again",
				       server->how.host);
	}
	place_clear(&place);
	return ok;
}
