/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/describe.h"

#include "lib/base/text.h"

static const char *describe_access(const struct inventory_rule *rule)
{
	static const char *const words[] = {"", "ro", "rw"};

	return words[rule->access];
}

static const char *describe_squash(const struct inventory_rule *rule)
{
	static const char *const words[] = {"", "no_root_squash", "root_squash", "all_squash"};

	return words[rule->squash];
}

static const char *program_name(uint32_t program)
{
	static const struct {
		uint32_t number;
		const char *name;
	} programs[] = {{100000, "portmapper"}, {100003, "nfs"},    {100005, "mountd"},
			{100021, "nlockmgr"},	{100024, "status"}, {100011, "rquotad"},
			{100227, "nfs_acl"}};

	for (unsigned i = 0; i < G_N_ELEMENTS(programs); i++)
		if (programs[i].number == program)
			return programs[i].name;
	return NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_list(GString *out, const char *head, const GPtrArray *words)
{
	if (!words->len)
		return;
	g_string_append(out, head);
	for (unsigned i = 0; i < words->len; i++)
		g_string_append_printf(out, "%s%s", i ? ", " : " ", (char *)words->pdata[i]);
	g_string_append_c(out, '\n');
}

/* Each program once, with its versions: "mountd 1/tcp 3/tcp". */
static void print_services(GString *out, const GArray *services)
{
	const struct inventory_service *all = (const void *)services->data;
	g_autoptr(GString) text = g_string_new("");

	for (unsigned i = 0; i < services->len; i++) {
		const char *name = program_name(all[i].program);
		bool before = false;

		for (unsigned j = 0; j < i; j++)
			before = before || all[j].program == all[i].program;
		if (!name || before)
			continue;
		g_string_append_printf(text, "%s%s", text->len ? ", " : " ", name);
		for (unsigned j = i; j < services->len; j++)
			if (all[j].program == all[i].program)
				g_string_append_printf(text, " %u/%s", all[j].version,
						       all[j].tcp ? "tcp" : "udp");
	}
	if (text->len)
		g_string_append_printf(out, "Services:%s\n", text->str);
}

static char *describe_rule(const struct inventory_rule *rule)
{
	const char *words[] = {describe_access(rule), describe_squash(rule),
			       rule->sec ? rule->sec : ""};
	g_autofree char *clients = text_line(rule->clients);
	g_autoptr(GString) text = g_string_new("");

	for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
		if (*words[i])
			g_string_append_printf(text, "%s%s", text->len ? "; " : "", words[i]);
	return text->len ? g_strdup_printf("%s (%s)", clients, text->str)
			 : g_steal_pointer(&clients);
}

static void print_export(GString *out, const struct inventory_export *export)
{
	g_autofree char *path = text_line(export->path);
	g_autofree char *why = export->refused ? text_line(export->refused) : NULL;

	g_string_append_printf(out, "  %s\n", path);
	if (export->has_space) {
		g_autofree char *size = inventory_size(export->space.bytes);
		g_autofree char *rest = inventory_size(export->space.available);

		g_string_append_printf(out,
				       "    %s, %s free; files: %" G_GUINT64_FORMAT
				       ", and %" G_GUINT64_FORMAT " more at most\n",
				       size, rest,
				       export->space.files -
					       MIN(export->space.files, export->space.free_files),
				       export->space.free_files);
	}
	if (why)
		g_string_append_printf(out, "    not mounted: %s\n", why);
	if (export->sec)
		g_string_append_printf(out, "    security: %s\n", export->sec);
	if (!export->rules->len)
		g_string_append(out, "    clients: everyone\n");
	for (unsigned i = 0; i < export->rules->len; i++) {
		g_autofree char *rule = describe_rule(export->rules->pdata[i]);

		g_string_append_printf(out, "%s %s", i ? "," : "    clients:", rule);
	}
	if (export->rules->len)
		g_string_append_c(out, '\n');
}

static void print_share(GString *out, const struct inventory_share *share)
{
	g_autofree char *name = text_line(share->name);
	g_autofree char *comment = text_line(share->comment);

	g_string_append_printf(out, "  %-20s %-8s%s%s\n", name, share->type, *comment ? " " : "",
			       comment);
	if (share->path) {
		g_autofree char *path = text_line(share->path);
		g_string_append_printf(out, "    path: %s\n", path);
	}
	for (unsigned i = 0; i < share->settings->len; i++) {
		g_autofree char *line = text_line(share->settings->pdata[i]);
		g_string_append_printf(out, "    %s\n", line);
	}
}

char *describe_text(const char *host, const struct inventory *found)
{
	GString *out = g_string_new("");

	g_string_append_printf(out, "%s\n", host);
	print_list(out, "NFS:", found->nfs);
	print_list(out, "SMB:", found->smb);
	print_services(out, found->services);
	if (found->exports->len)
		g_string_append(out, "\nExports:\n");
	for (unsigned i = 0; i < found->exports->len; i++)
		print_export(out, found->exports->pdata[i]);
	if (found->shares->len)
		g_string_append(out, "\nShares:\n");
	for (unsigned i = 0; i < found->shares->len; i++)
		print_share(out, found->shares->pdata[i]);
	return g_string_free(out, FALSE);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_text(JsonBuilder *json, const char *key, const char *bytes)
{
	g_autofree char *text = bytes && *bytes ? text_line(bytes) : NULL;

	if (!text)
		return;
	json_builder_set_member_name(json, key);
	json_builder_add_string_value(json, text);
}

/* JSON's numbers of this library are signed. */
static void add_number(JsonBuilder *json, const char *key, uint64_t value)
{
	json_builder_set_member_name(json, key);
	json_builder_add_int_value(json, (gint64)MIN(value, (uint64_t)G_MAXINT64));
}

static void add_list(JsonBuilder *json, const char *key, const GPtrArray *texts)
{
	json_builder_set_member_name(json, key);
	json_builder_begin_array(json);
	for (unsigned i = 0; i < texts->len; i++) {
		g_autofree char *text = text_line(texts->pdata[i]);
		json_builder_add_string_value(json, text);
	}
	json_builder_end_array(json);
}

static void add_rule(JsonBuilder *json, const struct inventory_rule *rule)
{
	json_builder_begin_object(json);
	add_text(json, "clients", rule->clients);
	add_text(json, "access", describe_access(rule));
	add_text(json, "squash", describe_squash(rule));
	add_text(json, "security", rule->sec);
	if (rule->anon_uid >= 0)
		add_number(json, "anon_uid", (uint64_t)rule->anon_uid);
	if (rule->anon_gid >= 0)
		add_number(json, "anon_gid", (uint64_t)rule->anon_gid);
	json_builder_end_object(json);
}

static void add_export(JsonBuilder *json, const struct inventory_export *export)
{
	json_builder_begin_object(json);
	add_text(json, "path", export->path);
	add_text(json, "security", export->sec);
	add_text(json, "refused", export->refused);
	if (export->has_space) {
		add_number(json, "bytes", export->space.bytes);
		add_number(json, "bytes_free", export->space.free);
		add_number(json, "bytes_available", export->space.available);
		add_number(json, "files", export->space.files);
		add_number(json, "files_free", export->space.free_files);
	}
	json_builder_set_member_name(json, "rules");
	json_builder_begin_array(json);
	for (unsigned i = 0; i < export->rules->len; i++)
		add_rule(json, export->rules->pdata[i]);
	json_builder_end_array(json);
	json_builder_end_object(json);
}

static void add_share(JsonBuilder *json, const struct inventory_share *share)
{
	json_builder_begin_object(json);
	add_text(json, "name", share->name);
	add_text(json, "type", share->type);
	add_text(json, "comment", share->comment);
	add_text(json, "path", share->path);
	add_list(json, "settings", share->settings);
	json_builder_end_object(json);
}

static void add_service(JsonBuilder *json, const struct inventory_service *service)
{
	json_builder_begin_object(json);
	add_number(json, "program", service->program);
	add_text(json, "name", program_name(service->program));
	add_number(json, "version", service->version);
	add_text(json, "transport", service->tcp ? "tcp" : "udp");
	add_number(json, "port", service->port);
	json_builder_end_object(json);
}

JsonNode *describe_json(const char *host, const struct inventory *found)
{
	g_autoptr(JsonBuilder) json = json_builder_new();

	json_builder_begin_object(json);
	add_text(json, "host", host);
	add_list(json, "nfs", found->nfs);
	add_list(json, "smb", found->smb);
	json_builder_set_member_name(json, "services");
	json_builder_begin_array(json);
	for (unsigned i = 0; i < found->services->len; i++)
		add_service(json, &g_array_index(found->services, struct inventory_service, i));
	json_builder_end_array(json);
	json_builder_set_member_name(json, "exports");
	json_builder_begin_array(json);
	for (unsigned i = 0; i < found->exports->len; i++)
		add_export(json, found->exports->pdata[i]);
	json_builder_end_array(json);
	json_builder_set_member_name(json, "shares");
	json_builder_begin_array(json);
	for (unsigned i = 0; i < found->shares->len; i++)
		add_share(json, found->shares->pdata[i]);
	json_builder_end_array(json);
	add_list(json, "notes", found->notes);
	json_builder_end_object(json);
	return json_builder_get_root(json);
}
