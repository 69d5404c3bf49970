/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * volumes: groups of the configuration, exports and shares from the rows of a table.  They are
 * added at the end of files; what stands there already is never changed, and so an export keeps its
 * number.
 */
#include "ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/discover/draft.h"
#include "ctl/discover/quote.h"
#include "lib/base/csv.h"
#include "lib/base/text.h"
#include "lib/config/config.h"
#include "lib/config/config_file.h"
#include "lib/config/nfs_url.h"

#define GANESHA_FILE "/etc/ganesha/ganesha.conf"

static const char *opt_csv, *opt_write;
static gboolean opt_add;

enum { GROUPS, EXPORTS, SHARES, FILES };

struct table {
	struct csv csv;
	char **header;
	GHashTable *names; /* of the rows before */
	GKeyFile *config;  /* with the groups that are added */
	GHashTable *roots; /* of all of these */
	struct {
		char *path, *before;
		GString *more;
		GHashTable *settings; /* that are in it, as_read() */
	} files[FILES];
	unsigned last_id; /* of an export */
	bool deaf, bad;
};

G_GNUC_PRINTF(2, 3) static bool bad_row(struct table *table, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_autofree char *what = g_strdup_vprintf(format, args), *line = text_line(what);
	va_end(args);
	table->bad = true;
	return ctl_complain("%s:%u: %s", opt_csv, table->csv.line, line);
}

/* What the row has in that column, or "". */
static const char *cell_of(const struct table *table, const char *column)
{
	for (guint i = 0; table->header[i]; i++)
		if (!strcmp(table->header[i], column))
			return table->csv.cells->pdata[i];
	return "";
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A setting as the servers read it: in any case, however it is spaced, "x" or x, /x or //x/. */
static char *as_read(const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1), *folded = g_utf8_casefold(valid, -1);
	g_auto(GStrv) parts = g_strsplit_set(folded, " \t\r\"", -1);
	char *read = g_strjoinv("", parts), *end = read;

	for (const char *c = read; *c; c++)
		if (*c != '/' || (c[1] && !strchr("/;", c[1])))
			*end++ = *c;
	*end = '\0';
	return read;
}

static void note_settings(struct table *table, unsigned i, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line; line++) {
		g_autofree char *read = as_read(*line);
		g_auto(GStrv) settings = g_strsplit_set(read, ";{}", -1);

		for (char **setting = settings; *read != '#' && *setting; setting++) {
			if (**setting == '[') /* whatever stands behind it */
				(*setting)[strcspn(*setting, "]")] = '\0';
			g_hash_table_add(table->files[i].settings, g_strdup(*setting));
		}
	}
}

static bool has_setting(const struct table *table, unsigned i, const char *text)
{
	g_autofree char *read = as_read(text);

	read[strcspn(read, ";]")] = '\0';
	return g_hash_table_contains(table->files[i].settings, read);
}

/* Takes path. */
static bool load_file(struct table *table, unsigned i, char *path)
{
	char *text = ctl_read_text(path, false);

	table->files[i].path = path;
	table->files[i].more = g_string_new(NULL);
	table->files[i].before = text;
	table->files[i].settings = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	note_settings(table, i, text ? text : "");
	return text;
}

/* What ends the last line, if nothing does. */
static const char *missing_end(const char *text)
{
	return !*text || g_str_has_suffix(text, "\n") ? "" : "\n";
}

static void show_difference(const struct table *table, unsigned i)
{
	const char *before = table->files[i].before, *path = table->files[i].path;
	g_auto(GStrv) more = g_strsplit(table->files[i].more->str, "\n", -1);
	guint at = *missing_end(before) != '\0', n = g_strv_length(more) - 1;

	for (; *before; before++)
		at += *before == '\n';
	printf("--- %s\n+++ %s\n@@ -%u,0 +%u,%u @@\n", path, path, at, at + 1, n);
	for (char **line = more; line < more + n; line++)
		printf("+%s\n", *line);
}

/* Replaces the file at once, unless somebody has changed it since it was read. */
static bool write_file(const struct table *table, unsigned i)
{
	const char *path = table->files[i].path, *before = table->files[i].before;
	g_autofree char *now = NULL, *all = g_strconcat(before, missing_end(before),
							table->files[i].more->str, NULL);
	char *real = realpath(path, NULL); /* of a symbolic link, what it leads to */
	struct stat st = {.st_mode = 0644};
	g_autoptr(GError) error = NULL;
	const int flags = G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE;
	g_autofree char *dir = g_path_get_dirname(real ? real : path);
	const int lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool good;

	if (lock >= 0)
		flock(lock, LOCK_EX); /* another of this command */
	if (real)
		stat(real, &st);
	g_file_get_contents(path, &now, NULL, NULL);
	good = !strcmp(now ? now : "", before) ||
	       ctl_complain("volumes: %s was changed meanwhile: run it again", path);
	if (good && !g_file_set_contents_full(real ? real : path, all, -1, flags,
					      (int)st.st_mode & 0777, &error))
		good = ctl_complain("volumes: %s", error->message);
	if (good && real && (chown(real, st.st_uid, st.st_gid) || chmod(real, st.st_mode & 07777)))
		good = ctl_complain("volumes: owner or mode of %s: %s", real, g_strerror(errno));
	free(real);
	if (lock >= 0)
		close(lock);
	return good;
}

/* ---- a row ----------------------------------------------------------------------------------- */

/* Adds a block, of which `same` is a part, unless there is one that has one of the marks. */
static void add_block(struct table *table, unsigned i, const char *block, const char *same,
		      const char *const marks[])
{
	while (*marks && !has_setting(table, i, *marks))
		marks++;
	if (!*marks) {
		g_string_append(table->files[i].more, block);
		note_settings(table, i, block);
	} else if (!strstr(table->files[i].before, same)) {
		bad_row(table, "%s%s has another block with %s, and is left as it is",
			table->files[i].path, i == EXPORTS ? " or " GANESHA_FILE : "", *marks);
	}
}

/* Without it, and with an empty one, everybody may use a share. */
static char *users_setting(const struct table *table)
{
	return g_strconcat("valid users = ", cell_of(table, "valid-users"), NULL);
}

/* Takes the clients of the row, and looks whether all of its text may stand in the servers' files.
 */
static bool check_drafted(struct table *table, const struct volume_config *config,
			  struct inventory_export *export)
{
	const char *share = cell_of(table, "share"), *users = cell_of(table, "valid-users");
	g_autofree char *setting = users_setting(table);
	g_auto(GStrv) clients = g_strsplit_set(cell_of(table, "clients"), " ,", -1);
	g_autofree char *path = quote_ganesha_path(config->root);

	for (char **client = clients; *client; client++) {
		g_autofree char *quoted = quote_client(*client);
		struct inventory_rule *rule = **client ? inventory_rule(export, *client) : NULL;

		if (rule && !quoted)
			return bad_row(table, "clients: no address, network, name or @netgroup: %s",
				       *client);
		if (rule)
			*rule = (struct inventory_rule){rule->clients, RULE_RW, SQUASH_ROOT, -1,
							-1};
	}
	if (!path || !quote_is_value(config->root, false) || strchr(config->root, ';'))
		return bad_row(table, "root: ganesha.conf and smb.conf cannot have %s",
			       config->root);
	if (*share && !quote_is_share(share))
		return bad_row(table, "share: no share can be called %s", share);
	if (*share && (!quote_is_value(setting, false) || strchr(users, ';') ||
		       !users[strspn(users, " ,\"")]))
		return bad_row(table, "valid-users: say who may use the share, in up to 986 bytes: "
				      "users, @groups");
	if (export->rules->len && config->smb_modes == SMB_MODES_OPEN)
		return bad_row(table,
			       "clients: with smb-modes = open they could read and write all");
	return true;
}

static void draft_export(struct table *table, const struct draft_volume *volume)
{
	g_autofree char *mark = g_strdup_printf("Volume = \"%s\";", volume->name);
	g_autofree char *path = NULL, *pseudo = NULL;
	g_autoptr(GString) block = g_string_new(NULL);
	const gsize before = table->files[EXPORTS].more->len;
	const char *same;

	draft_add_export(block, volume, table->last_id + 1, &table->deaf);
	same = strstr(block->str, "\tPath =");
	path = g_strndup(same + 1, strcspn(same, ";"));
	pseudo = g_strndup(strstr(same, "Pseudo ="), strcspn(strstr(same, "Pseudo ="), "\n"));
	add_block(table, EXPORTS, block->str, same,
		  (const char *const[]){mark, pseudo, path, NULL});
	if (table->files[EXPORTS].more->len > before && ++table->last_id > UINT16_MAX) {
		g_string_truncate(table->files[EXPORTS].more, before);
		bad_row(table, "an Export_Id is at most %u, and that one is taken", UINT16_MAX);
	}
}

static void draft_share(struct table *table, const struct draft_volume *volume,
			struct inventory_share *share)
{
	struct draft_share entry = {share, volume->root};
	g_autofree char *mark = g_strdup_printf("[%s]", share->name);
	g_autoptr(GString) section = g_string_new(NULL);

	g_ptr_array_add(share->settings, users_setting(table));
	draft_add_share(section, volume, &entry);
	add_block(table, SHARES, section->str, section->str, (const char *const[]){mark, NULL});
}

/* FALSE: the row is bad, and nothing is added. */
static bool draft_row(struct table *table, const struct volume_config *config)
{
	static const char *const secs[] = {"sys", "krb5", "krb5i", "krb5p"};
	const bool smb = g_str_has_prefix(config->source, "smb:") || config->acl_source;
	g_autofree char *path = g_strconcat("/", config->name, NULL);
	const char *share = cell_of(table, "share");
	struct nfs_url url = {.sec = NFS_SEC_SYS};
	struct inventory found;

	if (g_str_has_prefix(config->source, "nfs:"))
		nfs_url_parse(config->source, &url, NULL);
	inventory_init(&found);
	struct inventory_export *export = inventory_export(&found, url.path ? url.path : path);
	struct draft_volume volume = {config->name, config->root, export};
	export->sec = g_strdup(secs[url.sec]);
	bool good = check_drafted(table, config, export);
	if (good && export->rules->len)
		draft_export(table, &volume);
	volume.export = smb ? NULL : export;
	if (good && *share)
		draft_share(table, &volume, inventory_share(&found, share));
	nfs_url_clear(&url);
	inventory_clear(&found);
	return good;
}

static void take_group(struct table *table, const char *name)
{
	g_autofree char *group = g_strconcat(CONFIG_VOLUME, name, NULL);
	g_autofree char *place = g_strdup_printf("%s:%u", opt_csv, table->csv.line);
	const bool there = g_key_file_has_group(table->config, group);
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	struct volume_config *config;

	g_string_printf(text, "\n[%s]\n", group);
	for (char **key = table->header; *key; key++) {
		const char *cell = config_is_key(*key) ? cell_of(table, *key) : "";
		g_autofree char *value = config_file_value(table->config, group, *key);

		if (there && *cell && g_strcmp0(cell, value) != 0) {
			bad_row(table, "[%s] has another %s in %s already: %s", group, *key,
				table->files[GROUPS].path, value ? value : "none");
			return;
		}
		if (there || !*cell)
			continue;
		g_key_file_set_value(table->config, group, *key, cell);
		g_string_append_printf(text, "%s = %s\n", *key, cell);
	}
	config = config_of_group(table->config, table->roots, place, name, &error);
	if (!config)
		table->bad = !ctl_complain("%s", error->message);
	if (config && opt_write && !draft_row(table, config))
		g_clear_pointer(&config, config_free);
	if (config && !there) {
		g_string_append(table->files[GROUPS].more, text->str);
		config_roots_add(table->roots, group, config->root);
	}
	if (!config && !there)
		g_key_file_remove_group(table->config, group, NULL);
	config_free(config);
}

/* FALSE: there is no volume in them: one is bad, or a spreadsheet has filled a blank row. */
static bool check_cells(struct table *table)
{
	const guint columns = g_strv_length(table->header);
	bool any = false;

	if (table->csv.wrong)
		return bad_row(table, "%s", table->csv.wrong);
	if (table->csv.cells->len != columns)
		return bad_row(table, "%u cells for %u columns", table->csv.cells->len, columns);
	for (guint i = 0; i < columns; i++) {
		char *cell = g_strstrip(table->csv.cells->pdata[i]);
		g_autofree char *line = text_line(cell);

		if (strcmp(cell, line) != 0)
			return bad_row(table, "%s: a line of a configuration cannot have %s",
				       table->header[i], cell);
		any = any || *cell;
	}
	return any;
}

static void take_row(struct table *table)
{
	const char *name = check_cells(table) ? cell_of(table, "name") : NULL;

	if (name && !config_name_ok(name))
		bad_row(table, "name: a volume cannot be called \"%s\"", name);
	else if (name && !g_hash_table_add(table->names, g_strdup(name)))
		bad_row(table, "name: %s is in a row before, too", name);
	else if (name)
		take_group(table, name);
}

static bool take_header(struct table *table)
{
	static const char *const own[] = {"name", "clients", "share", "valid-users", NULL};
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	const bool read = csv_read(&table->csv) && !table->csv.wrong;

	for (guint i = 0; i < table->csv.cells->len; i++)
		g_strv_builder_add(builder, g_strstrip(table->csv.cells->pdata[i]));
	table->header = g_strv_builder_end(builder);
	for (guint i = 0; read && table->header[i]; i++)
		if ((!config_is_key(table->header[i]) && !g_strv_contains(own, table->header[i])) ||
		    cell_of(table, table->header[i]) != table->csv.cells->pdata[i])
			return bad_row(
				table,
				"no column, or one that is there twice (commas stand between "
				"columns): %s",
				table->header[i]);
	return (read && *cell_of(table, "name")) ||
	       bad_row(table, "the first row names the columns, and \"name\" is one");
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum ctl_exit put_files(const struct ctl *ctl, const struct table *table)
{
	const unsigned first = opt_add ? GROUPS : EXPORTS, end = opt_write ? FILES : EXPORTS;
	enum ctl_exit result = CTL_OK;
	unsigned n = 0;

	if (!opt_add && !opt_write)
		fputs(table->files[GROUPS].more->str, stdout);
	for (unsigned i = first; i < end; i++)
		if (table->files[i].more->len && ++n)
			show_difference(table, i);
	fflush(stdout);
	if (n && !ctl->dry_run)
		result = ctl_confirm(ctl, "volumes: this is added to " TEXT_COUNT,
				     TEXT_COUNTED(n, "files"));
	for (unsigned i = first; i < end && !ctl->dry_run && !result; i++)
		if (table->files[i].more->len && !write_file(table, i))
			result = CTL_USAGE;
	return result;
}

static bool load_files(const struct ctl *ctl, struct table *table)
{
	const char *config = ctl->config_file ? ctl->config_file : CONFIG_FILE;
	const char *dir = opt_write ? opt_write : "/nonexistent";
	g_autoptr(GRegex) regex = g_regex_new("Export_Id\\s*=\\s*(\\d{1,5})",
					      G_REGEX_CASELESS | G_REGEX_RAW, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *main_file = NULL, *text = NULL;

	if (!load_file(table, GROUPS, g_strdup(config)) ||
	    !load_file(table, EXPORTS, g_build_filename(dir, "exports.conf", NULL)) ||
	    !load_file(table, SHARES, g_build_filename(dir, "shares.conf", NULL)))
		return false;
	table->config =
		*table->files[GROUPS].before ? config_parse(config, &error) : g_key_file_new();
	table->last_id = DRAFT_FIRST_ID - 1;
	g_file_get_contents(GANESHA_FILE, &main_file, NULL, NULL);
	text = g_strconcat(table->files[EXPORTS].before, main_file, NULL);
	note_settings(table, EXPORTS, main_file ? main_file : "");
	g_regex_match(regex, text, 0, &match);
	for (; g_match_info_matches(match); g_match_info_next(match, NULL)) {
		g_autofree char *id = g_match_info_fetch(match, 1);

		table->last_id = MAX(table->last_id, (unsigned)atoi(id));
	}
	if (!table->config)
		return ctl_complain("%s", error->message);
	table->roots = config_roots_new(table->config, NULL);
	return true;
}

static enum ctl_exit run_volumes(const struct ctl *ctl)
{
	struct table table = {.names =
				      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
	enum ctl_exit result = CTL_USAGE;
	g_autofree char *text = opt_csv ? ctl_read_text(opt_csv, true) : NULL;

	if (!opt_csv)
		ctl_complain("volumes: give --csv=FILE");
	else if (text && load_files(ctl, &table)) {
		csv_init(&table.csv, text);
		if (take_header(&table)) {
			while (csv_read(&table.csv))
				take_row(&table);
			result = put_files(ctl, &table);
			result = table.bad ? CTL_USAGE : result;
		}
		csv_clear(&table.csv);
	}
	for (unsigned i = 0; i < FILES; i++) {
		g_free(table.files[i].path);
		g_free(table.files[i].before);
		if (table.files[i].more) {
			g_string_free(table.files[i].more, TRUE);
			g_hash_table_unref(table.files[i].settings);
		}
	}
	g_clear_pointer(&table.config, g_key_file_unref);
	g_clear_pointer(&table.roots, g_hash_table_unref);
	g_hash_table_unref(table.names);
	g_strfreev(table.header);
	return result;
}

static const GOptionEntry volumes_options[] = {
	CTL_FILE("csv", opt_csv, "the table; its first row names the columns", "FILE"),
	CTL_FLAG("add", opt_add, "add the groups to the configuration"),
	CTL_FILE("write", opt_write, "add exports and shares to exports.conf, shares.conf there",
		 "DIR"),
	CTL_OPTION_YES,
	CTL_OPTION_DRY_RUN,
	{NULL},
};

CTL_COMMAND(volumes, "volumes", "", 0, 0, "write volumes, exports and shares from a table",
	    .example = "volumes --csv=volumes.csv --add",
	    .changes = "nothing; --add the configuration; --write files in DIR",
	    .exits = CTL_EXITS_ALONE, .options = volumes_options);
