/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/inventory.h"

#include <string.h>

#include "lib/base/text.h"

static void free_rule(void *data)
{
	struct inventory_rule *rule = data;

	g_free(rule->clients);
	g_free(rule->sec);
	g_free(rule);
}

static void free_export(void *data)
{
	struct inventory_export *export = data;

	g_free(export->path);
	g_free(export->sec);
	g_free(export->refused);
	g_ptr_array_unref(export->rules);
	g_free(export);
}

static void free_share(void *data)
{
	struct inventory_share *share = data;

	g_free(share->name);
	g_free(share->comment);
	g_free(share->path);
	g_ptr_array_unref(share->settings);
	g_ptr_array_unref(share->left);
	g_free(share);
}

void inventory_init(struct inventory *found)
{
	found->services = g_array_new(FALSE, TRUE, sizeof(struct inventory_service));
	found->nfs = g_ptr_array_new_with_free_func(g_free);
	found->smb = g_ptr_array_new_with_free_func(g_free);
	found->exports = g_ptr_array_new_with_free_func(free_export);
	found->shares = g_ptr_array_new_with_free_func(free_share);
	found->notes = g_ptr_array_new_with_free_func(g_free);
	found->incomplete = false;
}

void inventory_clear(struct inventory *found)
{
	g_array_unref(found->services);
	g_ptr_array_unref(found->nfs);
	g_ptr_array_unref(found->smb);
	g_ptr_array_unref(found->exports);
	g_ptr_array_unref(found->shares);
	g_ptr_array_unref(found->notes);
}

struct inventory_export *inventory_export(struct inventory *found, const char *path)
{
	struct inventory_export *export;

	for (unsigned i = 0; i < found->exports->len; i++) {
		export = found->exports->pdata[i];
		if (!strcmp(export->path, path))
			return export;
	}
	export = g_new0(struct inventory_export, 1);
	export->path = g_strdup(path);
	export->rules = g_ptr_array_new_with_free_func(free_rule);
	g_ptr_array_add(found->exports, export);
	return export;
}

struct inventory_share *inventory_share(struct inventory *found, const char *name)
{
	struct inventory_share *share;

	for (unsigned i = 0; i < found->shares->len; i++) {
		share = found->shares->pdata[i];
		if (!g_ascii_strcasecmp(share->name, name))
			return share;
	}
	share = g_new0(struct inventory_share, 1);
	share->name = g_strdup(name);
	share->comment = g_strdup("");
	share->type = "disk";
	share->settings = g_ptr_array_new_with_free_func(g_free);
	share->left = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(found->shares, share);
	return share;
}

struct inventory_rule *inventory_rule(struct inventory_export *export, const char *clients)
{
	struct inventory_rule *rule = g_new0(struct inventory_rule, 1);

	rule->clients = g_strdup(clients);
	rule->anon_uid = rule->anon_gid = -1;
	g_ptr_array_add(export->rules, rule);
	return rule;
}

void inventory_note(struct inventory *found, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	g_ptr_array_add(found->notes, g_strdup_vprintf(format, ap));
	va_end(ap);
}

char *inventory_size(uint64_t bytes)
{
	g_autofree char *text = g_format_size_full(bytes, G_FORMAT_SIZE_IEC_UNITS);
	g_auto(GStrv) parts = g_strsplit(text, "\u00a0", -1); /* that does not break */

	return g_strjoinv(" ", parts);
}
