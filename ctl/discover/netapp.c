/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/netapp.h"

#include <string.h>

#include "ctl/discover/ontap.h"
#include "lib/base/error.h"

struct reading {
	const char *file;
	struct found *found;
	GHashTable *used; /* policies that exports have: "vserver policy" */
};

static void note_line(void *arg, unsigned line, const char *text)
{
	struct reading *reading = arg;
	g_autofree char *shown = found_text(text);

	found_note(reading->found, "%s, line %u is not understood: %s", reading->file, line, shown);
}

static const char *clients_of(const struct ontap_record *record)
{
	return ontap_get(record, "clientmatch", "clientmatchspec",
			 "listofclientmatchhostnamesipaddressesnetgroupsordomains",
			 "clientmatchhostnameipaddressnetgroupordomain", NULL);
}

static char *policy_of(const struct ontap_record *record)
{
	const char *vserver = ontap_get(record, "vserver", "vservername", NULL);
	const char *policy = ontap_get(record, "policyname", "policy", "exportpolicy", NULL);

	return *policy ? g_strdup_printf("%s %s", vserver, policy) : NULL;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* Of "any", "never", "none" or a list of flavours. */
static char *flavours_of(const char *words)
{
	static const char *const known[] = {"sys", "krb5", "krb5i", "krb5p", NULL};
	g_auto(GStrv) all = g_strsplit_set(words, ", \n", -1);
	g_autoptr(GStrvBuilder) kept = g_strv_builder_new();

	for (char **word = all; *word; word++)
		if (g_strv_contains(known, *word))
			g_strv_builder_add(kept, *word);
	g_auto(GStrv) list = g_strv_builder_end(kept);
	return *list ? g_strjoinv(", ", list) : NULL;
}

static void add_rule(struct found_export *export, const struct ontap_record *record,
		     const char *client)
{
	const char *ro = ontap_get(record, "rorule", "roaccessrule", NULL);
	const char *rw = ontap_get(record, "rwrule", "rwaccessrule", NULL);
	const char *root = ontap_get(record, "superuser", "superusersecuritytypes", NULL);
	const char *anon = ontap_get(record, "anon", "useridtowhichanonymoususersaremapped", NULL);
	/* everybody by address, and ".domain" */
	g_autofree char *pattern = *client == '.' ? g_strconcat("*", client, NULL) : NULL;
	struct found_rule *rule = found_rule(export, !strcmp(client, "0.0.0.0/0") ? "*"
						     : pattern			  ? pattern
										  : client);
	guint64 uid;

	if (!strcmp(ro, "never") && (!*rw || !strcmp(rw, "never")))
		rule->access = RULE_NONE;
	else if (*rw)
		rule->access = strcmp(rw, "never") ? RULE_RW : RULE_RO;
	if (*root)
		rule->squash =
			strcmp(root, "none") && strcmp(root, "never") ? SQUASH_NONE : SQUASH_ROOT;
	if (g_ascii_string_to_unsigned(anon, 10, 0, G_MAXUINT32, &uid, NULL))
		rule->anon_uid = (int64_t)uid;
	rule->sec = flavours_of(ro);
}

static void apply_policy(struct reading *reading, const GPtrArray *records, const char *policy,
			 const char *path)
{
	struct found_export *export = found_export(reading->found, path);

	g_hash_table_add(reading->used, g_strdup(policy));
	g_ptr_array_set_size(export->rules, 0);
	for (unsigned i = 0; i < records->len; i++) {
		const struct ontap_record *record = records->pdata[i];
		g_autofree char *other = policy_of(record);
		g_auto(GStrv) clients = g_strsplit_set(clients_of(record), ", \n", -1);

		for (char **client = clients; other && !strcmp(other, policy) && *client; client++)
			if (**client)
				add_rule(export, record, *client);
	}
	if (export->rules->len)
		return;
	found_rule(export, "*")->access = RULE_NONE;
	g_autofree char *shown = found_text(path), *name = found_text(policy);
	found_note(reading->found, "%s: no rule of %s's export policy, %s, is there: nobody may",
		   reading->file, shown, name);
}

static void note_unused(struct reading *reading, const GPtrArray *records)
{
	for (unsigned i = 0; i < records->len; i++) {
		g_autofree char *policy = policy_of(records->pdata[i]);

		if (!policy || !*clients_of(records->pdata[i]) ||
		    !g_hash_table_add(reading->used, g_strdup(policy)))
			continue;
		g_autofree char *shown = found_text(policy);
		found_note(reading->found,
			   "%s: which exports have the export policy %s is not said: add what "
			   "\"volume show -fields junction-path,policy\" prints",
			   reading->file, shown);
	}
}

/* ---- shares ---------------------------------------------------------------------------------- */

static void add_name(GHashTable *lists, const char *key, const char *name)
{
	const char *before = g_hash_table_lookup(lists, key);

	g_hash_table_replace(lists, (void *)key,
			     before ? g_strdup_printf("%s, \"%s\"", before, name)
				    : g_strdup_printf("\"%s\"", name));
}

/* "NAME / Right" in lines.  Who is let in must be named in smb.conf, unless everybody is. */
static void take_acl(struct found_share *share, const char *acl)
{
	g_autoptr(GHashTable) lists = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	g_auto(GStrv) entries = g_strsplit(acl, "\n", -1);
	bool everyone = false, everyone_writes = false;
	GHashTableIter at;
	void *key, *value;

	for (char **entry = entries; *entry; entry++) {
		char *slash = strstr(*entry, " / ");
		const bool reads = slash && g_str_has_prefix(slash, " / Read");
		const bool none = slash && !g_ascii_strncasecmp(slash, " / No", strlen(" / No"));

		if (!slash || strchr(*entry, '"')) {
			g_ptr_array_add(share->left, g_strdup(*entry));
			continue;
		}
		*slash = '\0';
		if (!strcmp(*entry, "Everyone") && !none) {
			everyone = true;
			everyone_writes = everyone_writes || !reads;
			continue;
		}
		add_name(lists, none ? "invalid users" : "valid users", *entry);
		if (!none)
			add_name(lists, reads ? "read list" : "write list", *entry);
	}
	if (everyone)
		g_hash_table_remove(lists, "valid users");
	g_ptr_array_add(share->settings, g_strdup(everyone && !everyone_writes ? "read only = yes"
									       : "read only = no"));
	g_hash_table_iter_init(&at, lists);
	while (g_hash_table_iter_next(&at, &key, &value))
		g_ptr_array_add(share->settings,
				g_strdup_printf("%s = %s", (char *)key, (char *)value));
}

static void take_share(struct reading *reading, const struct ontap_record *record, const char *name)
{
	struct found_share *share = found_share(reading->found, name);
	const char *path = ontap_get(record, "path", NULL);
	const char *comment = ontap_get(record, "sharecomment", "comment", NULL);
	const char *acl = ontap_get(record, "shareacl", "acl", NULL);

	if (*path) {
		g_free(share->path);
		share->path = g_strdup(path);
	}
	if (*comment) {
		g_free(share->comment);
		share->comment = g_strdelimit(g_strdup(comment), "\n", ' ');
	}
	g_ptr_array_set_size(share->settings, 0);
	if (*acl)
		take_acl(share, acl);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void take_record(struct reading *reading, const GPtrArray *records,
			const struct ontap_record *record)
{
	const char *junction = ontap_get(record, "junctionpath", "junction", NULL);
	const char *share = ontap_get(record, "share", "sharename", NULL);
	g_autofree char *policy = policy_of(record);

	if (*share)
		take_share(reading, record, share);
	else if (*junction && policy)
		apply_policy(reading, records, policy, junction);
	else if (!*clients_of(record) && !g_hash_table_contains(record->fields, "junctionpath"))
		note_line(reading, record->line, "no export rule, share or volume");
}

gboolean netapp_read(const char *file, struct found *found, GError **error)
{
	g_autoptr(GHashTable) used = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	struct reading reading = {.file = file, .found = found, .used = used};
	g_autofree char *text = NULL;
	g_autoptr(GError) inner = NULL;

	if (!g_file_get_contents(file, &text, NULL, &inner))
		return error_set(error, EIO, "--netapp: %s", inner->message);
	g_autoptr(GPtrArray) records = ontap_read(text, note_line, &reading);
	for (unsigned i = 0; i < records->len; i++)
		take_record(&reading, records, records->pdata[i]);
	note_unused(&reading, records);
	return TRUE;
}
