/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "ctl/discover/draft.h"
#include "ctl/discover/quote.h"
#include "lib/base/text.h"

static void leave_out(GString *out, const char *setting)
{
	g_autofree char *text = text_line(setting);

	g_string_append_printf(out, "\t# left out: %s\n", text);
}

/* Settings are the administrator's file's, so macros may stand in them. */
static void append_settings(GString *out, const struct inventory_share *share)
{
	bool writes = false;

	for (unsigned i = 0; i < share->settings->len; i++) {
		const char *setting = share->settings->pdata[i];

		if (!quote_is_value(setting, true)) {
			leave_out(out, setting);
			continue;
		}
		writes = writes || g_str_has_prefix(setting, "read only = ");
		g_string_append_printf(out, "\t%s\n", setting);
	}
	if (!writes)
		g_string_append(out, "\tread only = no\n");
	for (unsigned i = 0; i < share->left->len; i++)
		leave_out(out, share->left->pdata[i]);
}

void draft_add_share(GString *out, const struct draft_volume *volume,
		     const struct draft_share *entry)
{
	const struct inventory_share *share = entry->share;
	const bool by_smb = !volume->export;

	g_string_append_c(out, '\n');
	if (!quote_is_share(share->name)) {
		g_autofree char *text = text_line(share->name);

		g_string_append_printf(out, "# left out, a share cannot be called that here: %s\n",
				       text);
		return;
	}
	g_string_append_printf(out, "[%s]\n\tpath = %s\n", share->name, entry->path);
	if (quote_is_value(share->comment, false))
		g_string_append_printf(out, "\tcomment = %s\n", share->comment);
	else if (*share->comment)
		leave_out(out, share->comment);
	append_settings(out, share);
	g_string_append_printf(out, "\tvfs objects = migrate%s\n\tmigrate:volume = %s\n",
			       by_smb ? " streams_xattr acl_xattr" : "", volume->name);
	if (by_smb)
		g_string_append(out, "\tacl_xattr:ignore system acls = yes\n");
}

char *draft_shares(const struct draft *draft)
{
	g_autofree char *host = text_line(draft->host);
	GString *out = g_string_new("");

	g_string_append_printf(out,
			       "# What %s shares; for /etc/samba/smb.conf.\n[global]\n"
			       "\tkernel change notify = no\n"
			       "\t# Samba before 4.22 does not know it, and says so\n"
			       "\tsmb3 directory leases = no\n",
			       host);
	for (unsigned i = 0; i < draft->volumes->len; i++) {
		const struct draft_volume *volume = draft->volumes->pdata[i];

		for (unsigned j = 0; j < volume->shares->len; j++)
			draft_add_share(out, volume, volume->shares->pdata[j]);
	}
	return g_string_free(out, FALSE);
}
