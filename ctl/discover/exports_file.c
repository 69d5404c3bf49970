/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/exports_file.h"

#include <string.h>

#include "lib/base/error.h"
#include "lib/base/text.h"

#define BLANKS " \t\r"

struct reading {
	const char *file;
	struct inventory *found;
	GHashTable *paths; /* that this file has named before */
	unsigned line;	   /* where the entry begins */
};

static void apply_option(struct inventory_rule *rule, const char *option)
{
	const char *equals = strchr(option, '=');
	const char *value = equals ? equals + 1 : "";
	guint64 id;

	if (!strcmp(option, "ro"))
		rule->access = RULE_RO;
	else if (!strcmp(option, "rw"))
		rule->access = RULE_RW;
	else if (!strcmp(option, "no_root_squash") && rule->squash != SQUASH_ALL)
		rule->squash = SQUASH_NONE;
	else if (!strcmp(option, "root_squash") && rule->squash != SQUASH_ALL)
		rule->squash = SQUASH_ROOT;
	else if (!strcmp(option, "all_squash"))
		rule->squash = SQUASH_ALL;
	else if (!strcmp(option, "no_all_squash") && rule->squash == SQUASH_ALL)
		rule->squash = SQUASH_ROOT;
	else if (g_str_has_prefix(option, "anonuid=") &&
		 g_ascii_string_to_unsigned(value, 10, 0, G_MAXUINT32, &id, NULL))
		rule->anon_uid = (int64_t)id;
	else if (g_str_has_prefix(option, "anongid=") &&
		 g_ascii_string_to_unsigned(value, 10, 0, G_MAXUINT32, &id, NULL))
		rule->anon_gid = (int64_t)id;
	else if (g_str_has_prefix(option, "sec=")) {
		g_auto(GStrv) flavours = g_strsplit(value, ":", -1);
		g_autofree char *list = g_strjoinv(", ", flavours);
		char *all = rule->sec ? g_strconcat(rule->sec, ", ", list, NULL) : g_strdup(list);

		g_free(rule->sec);
		rule->sec = all;
	}
}

static void apply_options(struct inventory_rule *rule, const char *text)
{
	g_auto(GStrv) options = g_strsplit(text, ",", -1);

	for (char **option = options; *option; option++)
		apply_option(rule, *option);
}

/* The next word of a line, with its quotes and \ooo taken away; NULL at its end, or if a quote has
 * no other (*bad). */
static char *next_word(const char **at, bool *bad)
{
	GString *word = g_string_new("");
	bool quoted = false;
	const char *p = *at + strspn(*at, BLANKS);

	if (!*p) {
		g_string_free(word, TRUE);
		return NULL;
	}
	for (; *p && (quoted || !strchr(BLANKS, *p)); p++) {
		if (*p == '"')
			quoted = !quoted;
		else if (*p == '\\' && strspn(p + 1, "01234567") >= 3 && p[1] < '4') {
			g_string_append_c(
				word, (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0')));
			p += 3;
		} else {
			g_string_append_c(word, *p);
		}
	}
	*at = p;
	*bad = *bad || quoted;
	return g_string_free(word, FALSE);
}

/* client, client(options) or (options); FALSE: something else. */
static gboolean take_client(struct inventory_export *export, char *word, const char *defaults)
{
	char *open = strchr(word, '(');
	const size_t len = strlen(word);

	if (open && (word[len - 1] != ')' || strchr(open + 1, '(')))
		return FALSE;
	if (open) {
		word[len - 1] = '\0';
		*open++ = '\0';
	}
	const bool gss =
		g_str_has_prefix(word, "gss/"); /* krb5 for everybody, as it was once said */
	struct inventory_rule *rule = inventory_rule(export, *word && !gss ? word : "*");
	rule->access = RULE_RO;
	rule->squash = SQUASH_ROOT;
	apply_options(rule, defaults);
	apply_options(rule, open ? open : "");
	if (gss && !rule->sec)
		rule->sec = g_strdup(word + strlen("gss/"));
	return TRUE;
}

static gboolean take_entry(struct reading *reading, const char *line)
{
	g_autofree char *defaults = g_strdup("");
	bool bad = false;
	const char *at = line;
	g_autofree char *path = next_word(&at, &bad);
	unsigned clients = 0;

	if (!path)
		return TRUE;
	if (bad || *path != '/')
		return FALSE;
	struct inventory_export *export = inventory_export(reading->found, path);
	if (g_hash_table_add(reading->paths, g_strdup(path)))
		g_ptr_array_set_size(export->rules, 0);
	for (char *word; (word = next_word(&at, &bad)); g_free(word)) {
		if (*word == '-') {
			g_free(defaults);
			defaults = g_strdup(word + 1);
		} else if (bad || !take_client(export, word, defaults)) {
			g_free(word);
			return FALSE;
		} else {
			clients++;
		}
	}
	if (!clients && !export->rules->len) {
		char everyone[] = "*";
		return take_client(export, everyone, defaults);
	}
	return TRUE;
}

/* Without its comment. */
static void cut_comment(GString *line)
{
	bool quoted = false;

	for (gsize i = 0; i < line->len; i++) {
		quoted = quoted != (line->str[i] == '"');
		if (line->str[i] == '#' && !quoted)
			g_string_truncate(line, i);
	}
}

gboolean exports_file_read(const char *file, struct inventory *found, GError **error)
{
	g_autoptr(GHashTable) paths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	struct reading reading = {.file = file, .found = found, .paths = paths};
	g_autoptr(GString) entry = g_string_new("");
	g_autofree char *text = NULL;
	g_autoptr(GError) inner = NULL;

	if (!g_file_get_contents(file, &text, NULL, &inner))
		return error_set(error, EIO, "--exports: %s", inner->message);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (unsigned i = 0; lines[i]; i++) {
		if (!entry->len)
			reading.line = i + 1;
		g_string_append(entry, lines[i]);
		cut_comment(entry);
		if (entry->len && entry->str[entry->len - 1] == '\\' && lines[i + 1]) {
			entry->str[entry->len - 1] = ' ';
			continue;
		}
		if (!take_entry(&reading, entry->str)) {
			g_autofree char *shown = text_line(entry->str);
			inventory_note(found, "%s, line %u is not understood: %s", file,
				       reading.line, shown);
		}
		g_string_truncate(entry, 0);
	}
	return TRUE;
}
