/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/servers.h"

#include <glib.h>
#include <unistd.h>

#include "common/migrate.h"
#include "guard/process.h"

#define PAST_MAX 16 /* that are named; an smbd has one for each client */

struct server {
	int process;
	pid_t number;
};

struct servers {
	const char *socket;
	GArray *past, *marked; /* of struct server */
};

static void server_clear(void *data)
{
	close(((struct server *)data)->process);
}

static GArray *server_list(void)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct server));

	g_array_set_clear_func(list, server_clear);
	return list;
}

struct servers *servers_new(const char *socket)
{
	struct servers *servers = g_new0(struct servers, 1);

	servers->socket = socket;
	servers->past = server_list();
	servers->marked = server_list();
	return servers;
}

void servers_free(struct servers *servers)
{
	g_array_unref(servers->past);
	g_array_unref(servers->marked);
	g_free(servers);
}

bool servers_has(const struct servers *servers, int process)
{
	return migrate_is_door(servers->socket, process_number(process));
}

/* Whether it is in the list now, and was not. */
static bool add_server(GArray *list, int process)
{
	struct server server = {.number = process_number(process)};

	for (guint i = 0; i < list->len; i++)
		if (g_array_index(list, struct server, i).number == server.number)
			return false;
	server.process = process_open(server.number); /* a thread may end before it */
	if (server.process < 0)
		return false;
	if (process_number(process) != server.number) { /* it may be another's already */
		server_clear(&server);
		return false;
	}
	g_array_append_val(list, server);
	return true;
}

void servers_add_past(struct servers *servers, int process)
{
	if (servers->past->len >= PAST_MAX || !add_server(servers->past, process))
		return;
	g_autofree char *text = process_text(process_number(process));
	g_message(
		"%s serves the volume without the layer, and waits for unfinished files as a local "
		"program: see migratectl doors",
		text);
}

void servers_add_marked(struct servers *servers, int process)
{
	add_server(servers->marked, process);
}

bool servers_turn(struct servers *servers)
{
	bool left = false;

	for (guint i = servers->past->len; i-- > 0;) {
		const struct server *server = &g_array_index(servers->past, struct server, i);

		if (!process_number(server->process) || servers_has(servers, server->process))
			g_array_remove_index_fast(servers->past, i);
	}
	for (guint i = servers->marked->len; i-- > 0;) {
		const int process = g_array_index(servers->marked, struct server, i).process;
		const bool lives = process_number(process) != 0;

		if (lives && servers_has(servers, process))
			continue;
		left |= lives;
		g_array_remove_index_fast(servers->marked, i);
	}
	return left;
}

char *servers_past_text(const struct servers *servers)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < servers->past->len; i++) {
		const struct server *server = &g_array_index(servers->past, struct server, i);
		g_autofree char *name = process_text(server->number);

		g_string_append_printf(text, "%s%s", i ? ", " : "", name);
	}
	return g_string_free(text, text->len == 0);
}
