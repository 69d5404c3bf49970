/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/config_rules.h"

#include <string.h>

#include "lib/config/rules.h"

/* NetApp, Isilon, Qumulo, VAST, Pure: .snapshot, by SMB ~snapshot; ZFS: .zfs; EMC: .ckpt; Spectrum
 * Scale, snapper: .snapshots; CephFS, UFS: .snap; Synology: #snapshot; QNAP. */
static const char *const makers[] = {".snapshot", "~snapshot",		".zfs",
				     ".ckpt",	  ".snapshots",		".snap",
				     "#snapshot", "@Recently-Snapshot", NULL};
/* What Windows keeps at the root of a disk. */
static const char *const windows[] = {"/$RECYCLE.BIN", "/System Volume Information", NULL};

gboolean config_parse_patterns(void *field, const struct config_place *at, GError **error)
{
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	struct rules *rules = rules_new(false);
	char *mistake = NULL;
	const char *end;

	for (const char *p = at->value + strspn(at->value, " \t"); *p && !mistake;
	     p = end + strspn(end, " \t")) {
		for (end = p; *end && *end != ' ' && *end != '\t'; end++)
			end += *end == '\\' && end[1];
		g_autofree char *pattern = g_strndup(p, (gsize)(end - p));
		const struct config_place place = {at->file, at->group, at->key, pattern};
		g_strv_builder_add(builder, pattern);
		mistake = rules_add(rules, RULE_EXCLUDE, pattern);
		if (mistake)
			config_wrong(error, &place, "%s", mistake);
	}
	rules_free(rules);
	if (mistake) {
		g_free(mistake);
		return FALSE;
	}
	*(char ***)field = g_strv_builder_end(builder);
	return TRUE;
}

static gboolean add_all(struct volume_config *config, enum rule_kind kind, char **patterns,
			struct config_place *at, GError **error)
{
	for (unsigned i = 0; patterns && patterns[i]; i++) {
		g_autofree char *mistake = NULL;

		at->value = patterns[i];
		if (config->include && kind == RULE_EXCLUDE &&
		    g_strv_contains((const char *const *)config->include, patterns[i]))
			return config_wrong(error, at,
					    "stands in include, too; remove it from one of them");
		mistake = rules_add(config->rules, kind, patterns[i]);
		if (mistake)
			return config_wrong(error, at, "%s", mistake);
	}
	return TRUE;
}

static gboolean add_defaults(struct volume_config *config, bool smb, struct config_place *at,
			     GError **error)
{
	const char *const *names =
		config->snapshots ? (const char *const *)config->snapshots : makers;

	for (unsigned more = 0; names;
	     names = !more++ && smb && !config->snapshots ? windows : NULL)
		for (unsigned i = 0; names[i]; i++) {
			g_autofree char *pattern = g_strconcat(names[i], "/", NULL);
			g_autofree char *mistake = rules_add(config->rules, RULE_DEFAULT, pattern);

			at->value = names[i];
			if (mistake)
				return config_wrong(error, at, "%s", mistake);
		}
	return TRUE;
}

gboolean config_make_rules(struct volume_config *config, const char *file, const char *group,
			   GError **error)
{
	const bool smb = g_str_has_prefix(config->source, "smb://");
	struct config_place excludes = {file, group, "exclude", NULL},
			    includes = {file, group, "include", NULL},
			    defaults = {file, group, "snapshot-directories", NULL};

	config->rules = rules_new(smb);
	return add_all(config, RULE_INCLUDE, config->include, &includes, error) &&
	       add_all(config, RULE_EXCLUDE, config->exclude, &excludes, error) &&
	       add_defaults(config, smb, &defaults, error);
}
