/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/quote.h"

#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "lib/config/nfs_url.h"
#include "lib/config/smb_url.h"

#define NAME_LEN  48
#define SHARE_LEN 80
#define VALUE_LEN 1000
#define GOOD_NAME G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-"

char *quote_name(const char *path)
{
	g_autofree char *base = g_path_get_basename(path);
	char *name = g_strndup(base, NAME_LEN);

	g_strcanon(name, GOOD_NAME, '-');
	for (size_t len = strlen(name); len && strchr("-.", name[len - 1]); len--)
		name[len - 1] = '\0';
	memmove(name, name + strspn(name, "-."), strlen(name + strspn(name, "-.")) + 1);
	if (*name)
		return name;
	g_free(name);
	return g_strdup("volume");
}

static char *host_part(const char *host)
{
	return strchr(host, ':') ? g_strdup_printf("[%s]", host) : g_strdup(host);
}

/* The security to write if the export does not take AUTH_SYS: the best that it takes. */
static const char *sec_argument(const char *host, const char *sec)
{
	static const char *const best[] = {"krb5p", "krb5i", "krb5"};
	static const char *const arguments[] = {"?sec=krb5p", "?sec=krb5i", "?sec=krb5"};
	g_auto(GStrv) told = g_strsplit_set(sec ? sec : "sys", ", :", -1);

	if (g_strv_contains((const char *const *)told, "sys") || g_hostname_is_ip_address(host))
		return "";
	for (size_t i = 0; i < G_N_ELEMENTS(best); i++)
		if (g_strv_contains((const char *const *)told, best[i]))
			return arguments[i];
	return "";
}

char *quote_nfs_url(const char *host, const char *path, const char *sec)
{
	g_autofree char *at = host_part(host);
	g_autofree char *escaped = g_uri_escape_bytes((const guint8 *)path, strlen(path), "/");
	g_autofree char *url =
		g_strdup_printf("nfs://%s%s%s", at, escaped, sec_argument(host, sec));
	struct nfs_url parsed = {.text = NULL};
	const bool good = *path == '/' && nfs_url_parse(url, &parsed, NULL);

	nfs_url_clear(&parsed);
	return good ? g_steal_pointer(&url) : NULL;
}

char *quote_smb_url(const char *user, const char *host, const char *share)
{
	const char *name = strchr(user, '\\') ? strchr(user, '\\') + 1 : user;
	g_autofree char *at = host_part(host);
	g_autofree char *domain = g_strndup(user, name == user ? 0 : (gsize)(name - user - 1));
	g_autofree char *domain_part =
		g_uri_escape_bytes((const guint8 *)domain, strlen(domain), NULL);
	g_autofree char *user_part = g_uri_escape_bytes((const guint8 *)name, strlen(name), NULL);
	g_autofree char *share_part =
		g_uri_escape_bytes((const guint8 *)share, strlen(share), NULL);
	g_autofree char *url = g_strdup_printf("smb://%s%s%s@%s/%s", domain_part,
					       *domain_part ? ";" : "", user_part, at, share_part);
	struct smb_url parsed = {.text = NULL};
	const bool good = smb_url_parse(url, &parsed, NULL);

	smb_url_clear(&parsed);
	return good ? g_steal_pointer(&url) : NULL;
}

/* Whether it is text, without characters that end a line or are invisible. */
static bool is_plain(const char *text, size_t max)
{
	if (strlen(text) > max || !g_utf8_validate(text, -1, NULL))
		return false;
	for (; *text; text = g_utf8_next_char(text)) {
		const gunichar c = g_utf8_get_char(text);

		if (!g_unichar_isprint(c) || c == 0x2028 || c == 0x2029)
			return false;
	}
	return true;
}

char *quote_ganesha_path(const char *path)
{
	if (*path != '/' || !is_plain(path, VALUE_LEN) || strpbrk(path, "\"\\'$"))
		return NULL;
	return g_strdup_printf("\"%s\"", path);
}

/* ADDRESS/MASK with the mask's length; anything else as it is. */
static char *shorten_mask(const char *clients)
{
	g_auto(GStrv) parts = g_strsplit(clients, "/", 2);
	struct in_addr address, mask;
	unsigned bits = 0;

	if (!parts[0] || !parts[1] || inet_pton(AF_INET, parts[0], &address) != 1 ||
	    inet_pton(AF_INET, parts[1], &mask) != 1)
		return g_strdup(clients);
	const uint32_t ones = ntohl(mask.s_addr);
	while (bits < 32 && ones & (1u << (31 - bits)))
		bits++;
	if (bits < 32 && ones << bits)
		return NULL;
	return g_strdup_printf("%s/%u", parts[0], bits);
}

char *quote_client(const char *clients)
{
	g_autofree char *text = shorten_mask(clients);
	const char *name = text && *text == '@' ? text + 1 : text;
	const char *slash = name ? strchr(name, '/') : NULL;

	if (!text || !*name || strlen(text) > 255 ||
	    strspn(name, GOOD_NAME ":/*?") != strlen(name) || *name == '-')
		return NULL;
	if (!slash)
		return strchr(name, ':') && !g_hostname_is_ip_address(name)
			       ? NULL
			       : g_steal_pointer(&text);
	/* a network */
	g_autofree char *address = g_strndup(name, (gsize)(slash - name));
	guint64 bits;
	if (*text == '@' || !g_hostname_is_ip_address(address) ||
	    !g_ascii_string_to_unsigned(slash + 1, 10, 0, strchr(address, ':') ? 128 : 32, &bits,
					NULL))
		return NULL;
	return g_steal_pointer(&text);
}

char *quote_sec(const char *sec)
{
	static const char *const known[] = {"none", "sys", "krb5", "krb5i", "krb5p", NULL};
	g_auto(GStrv) words = g_strsplit_set(sec ? sec : "", ", :", -1);
	g_autoptr(GStrvBuilder) kept = g_strv_builder_new();

	for (unsigned i = 0; words[i]; i++)
		if (g_strv_contains(known, words[i]))
			g_strv_builder_add(kept, words[i]);
	g_auto(GStrv) list = g_strv_builder_end(kept);
	return *list ? g_strjoinv(", ", list) : NULL;
}

bool quote_is_share(const char *name)
{
	static const char *const special[] = {"global", "homes", "printers",
					      "print$", "ipc$",	 NULL};
	g_autofree char *low = g_ascii_strdown(name, -1);

	return *name && is_plain(name, SHARE_LEN) && !strpbrk(name, "%<>*?|/\\+=;:\",[]#") &&
	       !g_strv_contains(special, low) && *name != ' ' && name[strlen(name) - 1] != ' ';
}

bool quote_is_value(const char *value, bool macros)
{
	return *value && is_plain(value, VALUE_LEN) && value[strlen(value) - 1] != '\\' &&
	       (macros || !strchr(value, '%'));
}
