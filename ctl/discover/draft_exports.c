/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <netdb.h>
#include <string.h>

#include "ctl/discover/draft.h"
#include "ctl/discover/quote.h"
#include "lib/base/text.h"

/* Ganesha takes the first CLIENT block that fits, Linux the most specific rule: hosts, networks,
 * patterns, netgroups, everybody. */
static int rank(const struct inventory_rule *rule)
{
	const char *clients = rule->clients;

	return !strcmp(clients, "*")	? 4
	       : *clients == '@'	? 3
	       : strpbrk(clients, "*?") ? 2
	       : strchr(clients, '/')	? 1
					: 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct inventory_rule *const *left = a, *const *right = b;

	return rank(*left) - rank(*right);
}

/* Ganesha does not load an export with a client for which it finds no address.  *deaf: name servers
 * do not answer, which takes long to find out, and is found out once. */
static bool has_address(const char *client, bool *deaf)
{
	struct addrinfo *list;
	int ret;

	if (strpbrk(client, "@*?/") || g_hostname_is_ip_address(client))
		return true;
	ret = *deaf ? EAI_AGAIN : getaddrinfo(client, NULL, NULL, &list);
	*deaf = ret == EAI_AGAIN;
	if (!ret)
		freeaddrinfo(list);
	return !ret;
}

static void append_access(GString *out, const struct inventory_rule *rule)
{
	static const char *const access[] = {"RW", "RO", "RW"};
	static const char *const squash[] = {"Root_Squash", "No_Root_Squash", "Root_Squash",
					     "All_Squash"};
	g_autofree char *sec = quote_sec(rule->sec);

	g_string_append_printf(out, "\t\tAccess_Type = %s;\n\t\tSquash = %s;\n",
			       access[rule->access], squash[rule->squash]);
	if (rule->anon_uid >= 0)
		g_string_append_printf(out, "\t\tAnonymous_Uid = %" G_GINT64_FORMAT ";\n",
				       rule->anon_uid);
	if (rule->anon_gid >= 0)
		g_string_append_printf(out, "\t\tAnonymous_Gid = %" G_GINT64_FORMAT ";\n",
				       rule->anon_gid);
	if (sec)
		g_string_append_printf(out, "\t\tSecType = %s;\n", sec);
}

static void append_client(GString *out, const struct inventory_rule *rule, bool *deaf)
{
	g_autofree char *client = quote_client(rule->clients);
	g_autofree char *text = text_line(rule->clients);

	if (!client) {
		g_string_append_printf(out, "\t# left out, no name of clients for Ganesha: %s\n",
				       text);
		return;
	}
	if (!has_address(client, deaf)) {
		g_string_append_printf(out, "\t# left out, it has no address here: %s\n", text);
		return;
	}
	g_string_append_printf(out, "\tCLIENT {\n\t\tClients = %s;\n", client);
	append_access(out, rule);
	g_string_append(out, "\t}\n");
}

static bool is_told(const struct inventory_export *export)
{
	for (unsigned i = 0; i < export->rules->len; i++)
		if (((struct inventory_rule *)export->rules->pdata[i])->access != RULE_UNKNOWN)
			return true;
	return false;
}

static void append_clients(GString *out, const struct inventory_export *export, bool *deaf)
{
	g_autoptr(GPtrArray) rules = g_ptr_array_new();

	if (!is_told(export))
		g_string_append(out, "\t# MOUNT does not tell whether clients may write, nor of "
				     "squashing: look at the old server.\n");
	for (unsigned i = 0; i < export->rules->len; i++)
		g_ptr_array_add(rules, export->rules->pdata[i]);
	g_ptr_array_sort(rules, by_rank);
	for (unsigned i = 0; i < rules->len; i++)
		append_client(out, rules->pdata[i], deaf);
}

void draft_add_export(GString *out, const struct draft_volume *volume, unsigned id, bool *deaf)
{
	const struct inventory_export *export = volume->export;
	g_autofree char *text = text_line(export->path);
	g_autofree char *pseudo = quote_ganesha_path(export->path);
	g_autofree char *sec = quote_sec(export->sec);

	g_string_append_printf(out, "\n# %s\n", text);
	if (!pseudo)
		g_string_append(out, "# Such a path cannot stand here; clients get another one.\n");
	g_string_append_printf(out, "EXPORT {\n\tExport_Id = %u;\n\tPath = \"%s\";\n", id,
			       volume->root);
	if (pseudo && strcmp(export->path, "/"))
		g_string_append_printf(out, "\tPseudo = %s;\n", pseudo);
	else
		g_string_append_printf(out, "\tPseudo = \"/%s\";\n", volume->name);
	g_string_append_printf(out,
			       "\tAccess_Type = %s;\n\tSquash = Root_Squash;\n\tSecType = %s;\n"
			       "\tProtocols = 3, 4;\n",
			       export->rules->len ? "None" : "RW", sec ? sec : "sys");
	append_clients(out, export, deaf);
	g_string_append_printf(out,
			       "\tFSAL {\n\t\tName = MIGRATE;\n\t\tVolume = \"%s\";\n"
			       "\t\tFSAL { Name = VFS; }\n\t}\n}\n",
			       volume->name);
}

char *draft_exports(const struct draft *draft)
{
	g_autofree char *host = text_line(draft->host);
	GString *out = g_string_new("");
	bool deaf = false;

	g_string_append_printf(out,
			       "# What %s exports; for /etc/ganesha/ganesha.conf. For NFSv3 "
			       "clients to mount what they\n# are used to: NFS_CORE_PARAM { "
			       "mount_path_pseudo = true; }\n",
			       host);
	for (unsigned i = 0; i < draft->volumes->len; i++) {
		const struct draft_volume *volume = draft->volumes->pdata[i];

		if (volume->export)
			draft_add_export(out, volume, DRAFT_FIRST_ID + i, &deaf);
	}
	return g_string_free(out, FALSE);
}
