/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/smb_ccache.h"

#include <stdbool.h>
#include <string.h>

#include "lib/source/smb/wire.h"

#define VERSION 0x0504u
#define OPTIONS "X-CACHECONF:" /* the realm of entries that are no tickets */

/* Most significant byte first. */
static uint32_t get_number(struct wire_unpack *in, unsigned bytes)
{
	const uint8_t *at = wire_get(in, bytes);
	uint32_t value = 0;

	for (unsigned i = 0; at && i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}

static char *get_counted_text(struct wire_unpack *in)
{
	uint32_t len = get_number(in, 4);
	const uint8_t *at = wire_get(in, len);

	return at ? g_strndup((const char *)at, len) : NULL;
}

static void skip_bytes(struct wire_unpack *in)
{
	wire_get(in, get_number(in, 4));
}

/* "name/instance", and its realm; NULL: the cache ended too early. */
static char *get_principal(struct wire_unpack *in, char **realm)
{
	uint32_t parts;
	GString *name = g_string_new(NULL);

	get_number(in, 4); /* type */
	parts = get_number(in, 4);
	*realm = get_counted_text(in);
	for (uint32_t i = 0; i < parts && !in->bad; i++) {
		g_autofree char *part = get_counted_text(in);

		g_string_append_printf(name, "%s%s", i ? "/" : "", part ? part : "");
	}
	return g_string_free(name, in->bad);
}

/* Addresses, or authorization data. */
static void skip_list(struct wire_unpack *in)
{
	for (uint32_t n = get_number(in, 4); n > 0 && !in->bad; n--) {
		get_number(in, 2);
		skip_bytes(in);
	}
}

/* When a ticket ends; 0: the entry is no ticket. */
static uint32_t ticket_end(struct wire_unpack *in)
{
	g_autofree char *client_realm = NULL, *server_realm = NULL;
	uint32_t end;

	g_free(get_principal(in, &client_realm));
	g_free(get_principal(in, &server_realm));
	get_number(in, 2); /* the key */
	skip_bytes(in);
	get_number(in, 4); /* from when on */
	get_number(in, 4);
	end = get_number(in, 4);
	get_number(in, 4);
	get_number(in, 1);
	get_number(in, 4);
	skip_list(in);
	skip_list(in);
	skip_bytes(in);
	skip_bytes(in);
	return in->bad || !strcmp(server_realm, OPTIONS) ? 0 : end;
}

static char *expiry_text(uint32_t end)
{
	g_autoptr(GDateTime) utc = g_date_time_new_from_unix_utc(end);
	g_autoptr(GDateTime) local = g_date_time_to_local(utc);
	g_autofree char *when = g_date_time_format(local, "%F %T");

	return g_strdup_printf("its tickets expired at %s: renew them (kinit), and see why nothing "
			       "does",
			       when);
}

char *smb_ccache_objection(const uint8_t *data, size_t len, const char *user, gint64 now)
{
	struct wire_unpack in = {data, data + len, false};
	g_autofree char *name = NULL, *realm = NULL;
	uint32_t end = 0;

	if (get_number(&in, 2) != VERSION)
		in.bad = true;
	wire_get(&in, get_number(&in, 2));
	name = get_principal(&in, &realm);
	if (in.bad)
		return g_strdup("is no ticket cache of the type FILE: make one (kinit -c FILE)");
	if (g_ascii_strcasecmp(name, user) != 0)
		return g_strdup_printf("has tickets of %s@%s, not of %s: correct the user in the "
				       "URL, or get that user's (kinit)",
				       name, realm, user);
	while (!in.bad && in.at < in.end) {
		uint32_t one = ticket_end(&in);

		end = MAX(end, one);
	}
	if (!end)
		return g_strdup("holds no ticket: get one (kinit)");
	return end > now ? NULL : expiry_text(end);
}
