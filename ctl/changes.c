/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * changes: lists what the journal knows.  The journal's store is read directly, beside the process
 * that writes it.
 *
 * Rows name objects by handle.  A directory's path is the one that the kernel tells; a directory
 * that is gone has the path that it had at the switch.
 */
#include "ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "journal/store/live.h"
#include "journal/store/reader.h"
#include "lib/base/text.h"
#include "lib/config/config.h"

#define DEEP 100 /* directories that are gone, one in the other */

static gboolean opt_settle;

struct listing {
	const struct ctl *ctl;
	struct journal_reader *reader;
	char *root; /* as the kernel calls it */
	int root_fd;
	bool begun; /* an array of JSON */
	/* NULL: all are wanted.  max: how many are listed at most */
	bool (*wanted)(void *arg, const struct journal_row *row);
	void *arg;
	uint64_t max, count;
};

/* ---- paths ----------------------------------------------------------------------------------- */

/* Below the root, "." for itself; NULL: it is gone, or elsewhere. */
static char *present_path(const struct listing *listing, const struct migrate_binding *handle)
{
	int fd = migrate_binding_open(listing->root_fd, handle, O_PATH | O_CLOEXEC);
	g_autofree char *path = fd < 0 ? NULL : migrate_fd_path(fd);
	size_t len = strlen(listing->root);
	struct stat st;
	bool there = path && fstat(fd, &st) == 0 && st.st_nlink;

	if (fd >= 0)
		close(fd);
	if (!there || !g_str_has_prefix(path, listing->root))
		return NULL;
	if (!path[len])
		return g_strdup(".");
	return path[len] == '/' || len == 1 ? g_strdup(path + len + (len > 1)) : NULL;
}

static char *join(char *directory, const char *name)
{
	g_autofree char *above = directory;

	return strcmp(above, ".") ? g_strconcat(above, "/", name, NULL) : g_strdup(name);
}

static bool add_lost(void *arg, const struct journal_name *name)
{
	if (name->kind == JOURNAL_NAME_GONE)
		g_ptr_array_add(arg, g_memdup2(name, sizeof(*name)));
	return true;
}

static GPtrArray *lost_names(const struct listing *listing, const struct migrate_binding *handle)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

	journal_names(listing->reader, handle, add_lost, names, NULL);
	return names;
}

/* The path of a directory, or "?" if nothing tells it. */
static char *directory_path(const struct listing *listing, struct migrate_binding handle)
{
	char *path = present_path(listing, &handle);
	g_autofree char *below = NULL;

	for (unsigned i = 0; !path && i < DEEP; i++) {
		g_autoptr(GPtrArray) names = lost_names(listing, &handle);

		if (!names->len)
			break;
		const struct journal_name *name = names->pdata[0];
		char *longer =
			below ? g_strconcat(name->name, "/", below, NULL) : g_strdup(name->name);

		g_free(below);
		below = longer;
		handle = name->parent;
		path = present_path(listing, &handle);
	}
	if (!path)
		path = g_strdup("?");
	return below ? join(path, below) : path;
}

/* The whole path of an object that has several names, of which the kernel tells one in another
 * tree. */
static char *path_elsewhere(const struct listing *listing, const struct migrate_binding *handle)
{
	int fd = migrate_binding_open(listing->root_fd, handle, O_PATH | O_CLOEXEC);
	struct stat st;
	char *path = fd >= 0 && fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode) && st.st_nlink > 1
			     ? migrate_fd_path(fd)
			     : NULL;

	if (fd >= 0)
		close(fd);
	return path;
}

/* The path of the object, or NULL. */
static char *object_path(const struct listing *listing, const struct journal_row *row)
{
	struct migrate_binding found;
	int fd = row->parent.len
			 ? migrate_binding_open(listing->root_fd, &row->parent, O_PATH | O_CLOEXEC)
			 : -1;
	bool there = fd >= 0 && migrate_binding_get(fd, row->name, &found) == 0 &&
		     migrate_binding_equal(&found, &row->handle);

	if (fd >= 0)
		close(fd);
	return there ? join(directory_path(listing, row->parent), row->name)
		     : present_path(listing, &row->handle);
}

/* ---- listing --------------------------------------------------------------------------------- */

static const struct {
	unsigned flag;
	const char *name;
} kinds[] = {
	{JOURNAL_MADE, "made"},	      {JOURNAL_DATA, "data"},	{JOURNAL_META, "attributes"},
	{JOURNAL_ENTRIES, "entries"}, {JOURNAL_NAMES, "names"}, {JOURNAL_GONE, "removed"},
	{JOURNAL_SCANNED, "scanned"}, {JOURNAL_MAYBE, "maybe"},
};

static void print_json(struct listing *listing, const struct journal_row *row, const char *path,
		       char **before)
{
	g_autoptr(JsonBuilder) builder = json_builder_new();

	json_builder_begin_object(builder);
	if (path) {
		g_autofree char *text = text_utf8(path);

		json_builder_set_member_name(builder, "path");
		json_builder_add_string_value(builder, text);
	}
	json_builder_set_member_name(builder, "before");
	json_builder_begin_array(builder);
	for (; *before; before++) {
		g_autofree char *text = text_utf8(*before);

		json_builder_add_string_value(builder, text);
	}
	json_builder_end_array(builder);
	json_builder_set_member_name(builder, "directory");
	json_builder_add_boolean_value(builder, row->flags & JOURNAL_DIRECTORY);
	json_builder_set_member_name(builder, "what");
	json_builder_begin_array(builder);
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (row->flags & kinds[i].flag)
			json_builder_add_string_value(builder, kinds[i].name);
	json_builder_end_array(builder);
	json_builder_end_object(builder);
	fputs(listing->begun ? ",\n" : "[\n", stdout);
	listing->begun = true;
	ctl_print_json(json_builder_get_root(builder), false);
}

static void print_text(const struct journal_row *row, const char *path, char **before)
{
	g_autoptr(GString) what = g_string_new("");
	g_autofree char *shown = path ? text_line(path) : NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (row->flags & kinds[i].flag)
			g_string_append_printf(what, "%s%s", what->len ? "," : "", kinds[i].name);
	printf("%-24s  %s", what->str, shown ? shown : *before ? "" : "?");
	for (bool first = true; *before; before++, first = false) {
		g_autofree char *was = text_line(*before);

		printf("%s%s", first && !shown ? "" : first ? "  was " : ", ", was);
	}
	putchar('\n');
}

static bool print_row(void *arg, const struct journal_row *row)
{
	struct listing *listing = arg;
	g_autoptr(GPtrArray) names = lost_names(listing, &row->handle);
	g_autoptr(GPtrArray) before = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *path = row->flags & JOURNAL_GONE ? NULL : object_path(listing, row);

	if (!path && !names->len && !(row->flags & JOURNAL_GONE))
		path = path_elsewhere(listing, &row->handle);
	/* The object came and went; or it is as it was again; or nobody can tell where it is. */
	if (!row->flags || (row->flags & JOURNAL_MADE && !path) || (!path && !names->len))
		return true;
	if ((listing->wanted && !listing->wanted(listing->arg, row)) ||
	    ++listing->count > listing->max)
		return true;
	for (unsigned i = 0; i < names->len; i++) {
		const struct journal_name *name = names->pdata[i];

		g_ptr_array_add(before, join(directory_path(listing, name->parent), name->name));
	}
	g_ptr_array_add(before, NULL);
	if (listing->ctl->json)
		print_json(listing, row, path, (char **)before->pdata);
	else
		print_text(row, path, (char **)before->pdata);
	return true;
}

static bool open_listing(struct listing *listing, const struct volume_config *config,
			 GError **error)
{
	listing->root_fd = open(config->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	listing->root = listing->root_fd < 0 ? NULL : migrate_fd_path(listing->root_fd);
	if (!listing->root)
		g_set_error(error, JOURNAL_ERROR, errno, "%s: %s", config->root, g_strerror(errno));
	return listing->root != NULL;
}

static void close_listing(struct listing *listing)
{
	if (listing->root_fd >= 0)
		close(listing->root_fd);
	g_free(listing->root);
}

static bool print_rows(struct listing *listing, GError **error)
{
	const bool good = journal_each(listing->reader, 0, print_row, listing, error);

	if (listing->ctl->json && good)
		puts(listing->begun ? "]" : "[]");
	return good;
}

bool ctl_list_changes(const struct ctl *ctl, const struct volume_config *config,
		      struct journal_reader *reader,
		      bool (*wanted)(void *arg, const struct journal_row *row), void *arg,
		      uint64_t max, uint64_t *count, GError **error)
{
	struct listing listing = {
		.ctl = ctl, .reader = reader, .wanted = wanted, .arg = arg, .max = max};
	const bool good = open_listing(&listing, config, error) && print_rows(&listing, error);

	*count = listing.count;
	close_listing(&listing);
	return good;
}

static enum ctl_exit list_changes(struct listing *listing)
{
	g_autoptr(GError) error = NULL;
	struct journal_state state;
	const int64_t asked = journal_realtime();
	bool good = !opt_settle || journal_settle(listing->reader, true, -1, &error);

	good = good && journal_state(listing->reader, &state, &error) &&
	       print_rows(listing, &error);
	if (!good) {
		ctl_complain("%s", error->message);
		return CTL_REFUSED;
	}
	/* Everything that was waited for is there, whatever came back since. */
	if (state.complete ||
	    (opt_settle && state.running && !state.full && !state.unread && state.gap >= asked))
		return CTL_OK;
	if (state.unread) {
		g_autofree char *path = text_line(state.unread_path);

		ctl_complain("%s: changes of " TEXT_COUNT
			     ", and below them, may be missing, because they cannot be "
			     "looked at: %s%s: check the file system, then give --settle",
			     listing->ctl->volume, TEXT_COUNTED(state.unread, "objects"), path,
			     state.unread > 1 ? ", ..." : "");
		return CTL_REFUSED;
	}
	g_autofree char *since = ctl_time(MIN(state.gap, state.seen) / CTL_NS);
	ctl_complain("%s: changes since %s may be missing; see " PROGRAM " status %s",
		     listing->ctl->volume, since, listing->ctl->volume);
	return CTL_REFUSED;
}

static enum ctl_exit run_changes(const struct ctl *ctl)
{
	struct volume_config *config = ctl_config(ctl);
	struct listing listing = {.ctl = ctl, .max = UINT64_MAX};
	g_autoptr(GError) error = NULL;
	enum ctl_exit result = CTL_REFUSED;

	if (!config)
		return CTL_USAGE;
	if (open_listing(&listing, config, &error) &&
	    (listing.reader = journal_open(config->journal, &error)))
		result = list_changes(&listing);
	else
		ctl_complain("%s", error->message);
	journal_close(listing.reader);
	close_listing(&listing);
	config_free(config);
	return result;
}

static const GOptionEntry changes_options[] = {
	CTL_OPTION_JSON,
	CTL_FLAG("settle", opt_settle, "first look for what is being written just now"),
	{NULL},
};

CTL_COMMAND(changes, "changes", "NAME", 1, 1, "list what clients changed since the switch",
	    .example = "changes --settle projects", .changes = "nothing",
	    .exits = "0 complete, 1 some may be missing, 2 wrong usage",
	    .options = changes_options);
