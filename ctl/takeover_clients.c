/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/takeover_steps.h"

#include <string.h>

static void client_free(gpointer data)
{
	struct takeover_client *client = data;

	g_free(client->address);
	g_free(client->last);
	g_free(client);
}

static gint by_day(gconstpointer a, gconstpointer b)
{
	const struct takeover_client *x = *(struct takeover_client *const *)a;
	const struct takeover_client *y = *(struct takeover_client *const *)b;
	const int order = strcmp(y->last, x->last);

	return order ? order : strcmp(x->address, y->address);
}

/* A line "DAY ADDRESS REQUESTS"; days come in their order. */
static void take_takeover_clients(GPtrArray *clients, GHashTable *known, const char *line)
{
	g_auto(GStrv) fields = g_strsplit(line, " ", -1);
	struct takeover_client *client;
	guint64 requests;

	if (g_strv_length(fields) != 3 ||
	    !g_ascii_string_to_unsigned(fields[2], 10, 0, G_MAXUINT64, &requests, NULL))
		return;
	client = g_hash_table_lookup(known, fields[1]);
	if (!client) {
		client = g_new0(struct takeover_client, 1);
		client->address = g_strdup(fields[1]);
		g_ptr_array_add(clients, client);
		g_hash_table_insert(known, client->address, client);
	}
	g_free(client->last);
	client->last = g_strdup(fields[0]);
	client->requests = requests;
}

GPtrArray *takeover_clients(const struct volume_config *config)
{
	g_autofree char *path = g_strconcat(config->takeover_file, ".clients", NULL), *text = NULL;
	GPtrArray *clients = g_ptr_array_new_with_free_func(client_free);
	g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return clients;
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i]; i++)
		take_takeover_clients(clients, known, lines[i]);
	g_ptr_array_sort(clients, by_day);
	return clients;
}

guint takeover_recent(const GPtrArray *clients)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();
	g_autoptr(GDateTime) before = g_date_time_add_days(now, -1);
	g_autofree char *yesterday = g_date_time_format(before, "%Y-%m-%d");
	guint n = 0;

	while (n < clients->len &&
	       strcmp(((struct takeover_client *)clients->pdata[n])->last, yesterday) >= 0)
		n++;
	return n;
}
