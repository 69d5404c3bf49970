/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rules: what of the old server's tree each rule has left out, by the configuration and the list of
 * losses; and what the retriever says would change, or has changed, as rules were added or taken
 * away (retriever/compare/rule_change.h).
 */
#include "ctl/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/migrate.h"
#include "lib/base/text.h"
#include "lib/config/config.h"
#include "lib/config/rules.h"
#include "lib/report/losses.h"

static gboolean opt_apply;

/* counts: the text of a rule -> guint64.  What is not there yet has no lines. */
static bool count_rules(const char *path, GHashTable *counts)
{
	FILE *file = fopen(path, "re");
	struct loss_line line;
	char *text = NULL;
	size_t room = 0;

	if (!file && errno != ENOENT)
		return ctl_complain("%s: %s", path, g_strerror(errno));
	while (file && getline(&text, &room, file) > 0) {
		if (!g_str_has_prefix(text, "rule\t") || !loss_parse(text, &line))
			continue;
		guint64 *count = g_hash_table_lookup(counts, line.text);

		if (!count) {
			count = g_new0(guint64, 1);
			g_hash_table_insert(counts, g_strdup(line.text), count);
		}
		++*count;
		loss_line_clear(&line);
	}
	free(text);
	if (file)
		fclose(file);
	return true;
}

static void print_rules(const struct ctl *ctl, const struct rules *rules, GHashTable *counts)
{
	GHashTableIter iter;
	gpointer key, value;
	const char *text;

	for (unsigned i = 0; (text = rules_text(rules, i)); i++) {
		const guint64 *count = g_hash_table_lookup(counts, text);
		g_autofree char *shown = text_printable(text);

		if (g_str_has_prefix(text, "include"))
			printf("%s\n", shown);
		else
			printf("%s: " TEXT_COUNT " left out so far\n", shown,
			       TEXT_COUNTED(count ? *count : 0, "objects"));
		g_hash_table_remove(counts, text);
	}
	g_hash_table_iter_init(&iter, counts);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		g_autofree char *shown = text_printable(key);

		printf("%s: " TEXT_COUNT " left out before, while it was a rule; " PROGRAM
		       " report %s lists them\n",
		       shown, TEXT_COUNTED(*(guint64 *)value, "objects"), ctl->volume);
	}
}

/* ---- what changes ---------------------------------------------------------------------------- */

static void print_rule(GKeyFile *reply, const char *group)
{
	const uint64_t objects = ctl_number(reply, group, "objects");
	const uint64_t aside = ctl_number(reply, group, "aside");
	const uint64_t left = ctl_number(reply, group, "left");
	g_autofree char *bytes = ctl_bytes(ctl_number(reply, group, "bytes"));
	g_autofree char *text = ctl_text(reply, group, "text");
	g_autofree char *shown = text_printable(text);

	if (objects)
		printf("%s: names " TEXT_COUNT " here (%s): %" G_GUINT64_FORMAT " %s\n", shown,
		       TEXT_COUNTED(objects, "objects"), bytes, aside,
		       opt_apply ? "set aside, each with what is in it"
				 : "would be set aside, each with what is in it");
	if (left && opt_apply)
		printf("%s: is no rule for " TEXT_COUNT " that were left out: %" G_GUINT64_FORMAT
		       " brought\n",
		       shown, TEXT_COUNTED(left, "objects"), ctl_number(reply, group, "brought"));
	else if (left)
		printf("%s: is no rule for " TEXT_COUNT " that were left out: they would be "
		       "brought\n",
		       shown, TEXT_COUNTED(left, "objects"));
}

static void print_change(const struct ctl *ctl, GKeyFile *reply)
{
	g_auto(GStrv) groups = g_key_file_get_groups(reply, NULL);
	const uint64_t stays = ctl_number(reply, "rules", "stays");
	uint64_t told = 0, rules = 0;

	for (char **group = groups; *group; group++) {
		if (g_str_has_prefix(*group, "rule ")) {
			print_rule(reply, *group);
			rules++;
		} else if (g_str_has_prefix(*group, "stays ")) {
			g_autofree char *path = ctl_text(reply, *group, "path");
			g_autofree char *why = ctl_text(reply, *group, "why");

			printf("%s: stays as it is: %s\n", path, why);
			told++;
		}
	}
	if (stays > told)
		printf("... and %" G_GUINT64_FORMAT " more that stay as they are\n", stays - told);
	if (opt_apply)
		printf("%s: %" G_GUINT64_FORMAT " set aside, %" G_GUINT64_FORMAT " brought\n",
		       ctl->volume, ctl_number(reply, "rules", "aside"),
		       ctl_number(reply, "rules", "brought"));
	else if (rules)
		printf("%s: to do it: " PROGRAM " rules --apply %s\n", ctl->volume, ctl->volume);
}

/* Whether a retriever has anything to say: between attach and finalize. */
static bool is_under_way(const struct volume_config *config)
{
	g_autofree char *private = g_build_filename(config->root, MIGRATE_PRIVATE_DIR, NULL);

	return access(private, F_OK) == 0;
}

static enum ctl_exit ask_change(const struct ctl *ctl, const struct volume_config *config)
{
	g_autofree char *sum = rules_sum(config->rules);
	g_autofree char *command =
		g_strconcat(opt_apply ? "rules apply " : "rules look ", sum, NULL);
	g_autoptr(GKeyFile) reply = NULL;
	enum ctl_exit result = opt_apply
				       ? ctl_confirm(ctl,
						     "%s: what a rule names is set aside, and what "
						     "was left out and no rule names is brought "
						     "(without --apply: what that is)",
						     ctl->volume)
				       : CTL_OK;

	if (!result)
		result = ctl_ask_once(ctl, command, &reply);
	if (result)
		return result;
	print_change(ctl, reply);
	if (opt_apply && ctl_number(reply, "rules", "brought"))
		ctl_hint("the data of what was brought: systemctl start migrate-crawler@%s",
			 ctl->volume);
	return ctl_number(reply, "rules", "failed") ? CTL_REFUSED : CTL_OK;
}

static enum ctl_exit run_rules(const struct ctl *ctl)
{
	struct volume_config *config = ctl_config(ctl);
	g_autoptr(GHashTable) counts =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autofree char *path = config ? ctl_report_path(ctl) : NULL;
	bool good = config && (!path || count_rules(path, counts));
	enum ctl_exit result = good ? CTL_OK : CTL_REFUSED;

	if (good && !opt_apply)
		print_rules(ctl, config->rules, counts);
	if (good && (opt_apply || is_under_way(config))) {
		fflush(stdout);
		result = ask_change(ctl, config);
	}
	config_free(config);
	return result;
}

static const GOptionEntry rules_options[] = {
	CTL_FLAG("apply", opt_apply, "set aside, and bring, what rules that changed say"),
	CTL_OPTION_YES,
	{NULL},
};

CTL_COMMAND(rules, "rules", "NAME", 1, 1,
	    "list what rules leave on the old server, and what would change",
	    .example = "rules --apply projects",
	    .changes = "nothing; --apply sets objects aside, and brings others",
	    .options = rules_options);
