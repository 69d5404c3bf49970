/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/checklist.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/source/ask.h"
#include "ctl/discover/mounts.h"
#include "lib/base/spawn.h"

#define SHOWN 20 /* lines of what there may be any number of */

void checklist_item(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("  [ ] ", stdout);
	vprintf(format, args);
	putchar('\n');
	va_end(args);
}

void checklist_lines(const GPtrArray *lines)
{
	for (guint i = 0; i < MIN(lines->len, SHOWN); i++)
		printf("        %s\n", (const char *)lines->pdata[i]);
	if (lines->len > SHOWN)
		printf("        and %u more\n", lines->len - SHOWN);
}

/* Whether one is the other, or above it. */
static bool overlap(const char *a, const char *b)
{
	size_t len = MIN(strlen(a), strlen(b));

	return !strncmp(a, b, len) && strchr("/", len == strlen(a) ? b[len] : a[len]);
}

GPtrArray *checklist_mounts(const struct volume_config *config, GError **error)
{
	g_autoptr(GPtrArray) clients = g_ptr_array_new_with_free_func(mounts_client_free);
	g_autofree char *program = program_find(ASK_PROGRAM), *host = NULL, *top = NULL;
	struct mounts_server server;
	GPtrArray *found;

	if (!mounts_server_of(config->source, &server, &host, &top, error))
		return NULL;
	server.how.program = program;
	if (!mounts_inquire(&server, clients, NULL, error))
		return NULL;
	found = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < clients->len; i++) {
		const struct mounts_client *client = clients->pdata[i];
		g_autofree char *line = g_strconcat(client->host, ":", client->path, NULL);

		if (!strcmp(top, "/") || overlap(client->path, top))
			g_ptr_array_add(found, g_strescape(line, NULL));
	}
	return found;
}
