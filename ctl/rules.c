/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rules: what of the old server's tree each rule has left out, and what was left out by a rule that
 * is none any more.  It reads the configuration and the list of losses, and needs no retriever.
 */
#include "ctl/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/text.h"
#include "lib/config/config.h"
#include "lib/config/rules.h"
#include "lib/report/losses.h"

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

		printf("%s: " TEXT_COUNT " left out before, while it was a rule: nothing brings "
		       "them now; migratectl report %s lists them, so that they can be copied\n",
		       shown, TEXT_COUNTED(*(guint64 *)value, "objects"), ctl->volume);
	}
}

static enum ctl_exit run_rules(const struct ctl *ctl)
{
	struct volume_config *config = ctl_config(ctl);
	g_autoptr(GHashTable) counts =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autofree char *path = config ? ctl_report_path(ctl) : NULL;
	bool good = config && (!path || count_rules(path, counts));

	if (good)
		print_rules(ctl, config->rules, counts);
	config_free(config);
	return good ? CTL_OK : CTL_REFUSED;
}

CTL_COMMAND(rules, "rules", "NAME", 1, 1,
	    "list what rules leave on the old server: exclude, include",
	    .example = "rules projects", .changes = "nothing");
