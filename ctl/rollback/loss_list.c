/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/loss_list.h"

#include <stdio.h>
#include <string.h>

#include "common/migrate.h"
#include "lib/report/losses.h"

/* ---- skipped, or left out by a rule -----------------------------------------------------------
 */

static void take_loss_line(struct skipped *skipped, char *line)
{
	struct loss_line parsed = {0};

	if (!g_str_has_prefix(line, loss_kind_name(LOSS_NAME)) &&
	    !g_str_has_prefix(line, loss_kind_name(LOSS_RULE)))
		return;
	if (loss_parse(g_strchomp(line), &parsed) &&
	    (parsed.kind == LOSS_NAME || parsed.kind == LOSS_RULE)) {
		const char *slash = strrchr(parsed.path, '/');
		gpointer rule = parsed.kind == LOSS_RULE ? skipped : NULL;

		if (slash && (rule || !g_hash_table_contains(skipped->names, slash + 1)))
			g_hash_table_insert(skipped->names, g_strdup(slash + 1), rule);
		g_hash_table_insert(skipped->paths, g_steal_pointer(&parsed.path), rule);
	}
	loss_line_clear(&parsed);
}

static void read_on(struct skipped *skipped, FILE *file)
{
	g_autofree char *line = NULL;
	struct stat st;
	size_t size = 0;
	ssize_t len;

	if (fstat(fileno(file), &st) < 0 || st.st_ino != skipped->st.st_ino ||
	    st.st_dev != skipped->st.st_dev || st.st_size < skipped->st.st_size) {
		g_hash_table_remove_all(skipped->paths);
		g_hash_table_remove_all(skipped->names);
		skipped->st = st;
		skipped->st.st_size = 0;
	}
	if (fseeko(file, skipped->st.st_size, SEEK_SET) < 0)
		return;
	while ((len = getline(&line, &size, file)) > 0 && line[len - 1] == '\n') {
		skipped->st.st_size += len;
		take_loss_line(skipped, line);
	}
}

static const struct skipped *skipped_of(struct tree *tree)
{
	g_autofree char *inside =
		g_build_filename(tree->config->root, MIGRATE_PRIVATE_DIR, LOSSES_FILE, NULL);
	FILE *file = fopen(inside, "re");

	if (!tree->skipped.paths) {
		tree->skipped.paths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		tree->skipped.names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	}
	if (!file)
		file = fopen(tree->config->report, "re");
	if (file) {
		read_on(&tree->skipped, file);
		fclose(file);
	}
	return &tree->skipped;
}

void loss_list_note(struct tree *tree)
{
	skipped_of(tree);
}

/*
 * The report has the path that the directory had when the name was skipped, and clients may have
 * renamed directories before and since.  So only the last component counts: rather too much is left
 * there, and listed, than removed.
 */
bool loss_list_skipped(struct tree *tree, const struct node *node)
{
	const struct place *place = node->at->pdata[0];

	return g_hash_table_contains(skipped_of(tree)->names, place->name);
}

bool loss_list_ruled_out(struct tree *tree, const struct node *dir, const char *name, bool by_name)
{
	g_autofree char *now = tree_shown_path(dir), *then = tree_path(dir);
	g_autofree char *here = g_build_filename(tree->config->root, now, name, NULL);
	g_autofree char *there =
		then ? g_build_filename(tree->config->root, then, name, NULL) : NULL;
	const struct skipped *skipped = skipped_of(tree);

	return g_hash_table_lookup(skipped->paths, here) ||
	       (there && g_hash_table_lookup(skipped->paths, there)) ||
	       (by_name && g_hash_table_lookup(skipped->names, name));
}

struct took_name {
	const struct place place;
	bool took;
};

static bool note_took(void *arg, const struct journal_name *name)
{
	struct took_name *took = arg;

	took->took = name->kind == JOURNAL_NAME_GONE && !strcmp(name->name, took->place.name) &&
		     migrate_binding_equal(&name->parent, &took->place.dir->handle);
	return !took->took;
}

bool loss_list_never_came(struct tree *tree, const struct node *dir, const char *name,
			  const struct migrate_binding *handle)
{
	struct took_name took = {{(struct node *)dir, (char *)name, false}, false};
	g_autofree char *at = tree_path(dir), *path = at ? target_path(at, name) : NULL;
	struct stat st;

	if (loss_list_ruled_out(tree, dir, name, false))
		return true;
	/* its directory had another path then; what has one name came under that */
	if (!loss_list_ruled_out(tree, dir, name, true) ||
	    (path && !target_stat(tree->target, path, &st) &&
	     (S_ISDIR(st.st_mode) || st.st_nlink == 1)))
		return false;
	if (handle->type && dir->handle.type)
		journal_names(tree->journal, handle, note_took, &took, NULL);
	return !took.took;
}

/* The path, or one above it. */
static bool is_or_is_below(const struct skipped *skipped, const char *path)
{
	g_autofree char *at = g_strdup(path);

	for (char *slash; *at && !g_hash_table_contains(skipped->paths, at); *slash = '\0') {
		slash = strrchr(at, '/');
		if (!slash)
			return false;
	}
	return *at != '\0';
}

bool loss_list_left(struct tree *tree, const struct node *dir)
{
	g_autofree char *now = tree_shown_path(dir), *then = tree_path(dir);
	g_autofree char *here = g_build_filename(tree->config->root, now, NULL);
	g_autofree char *there = then ? g_build_filename(tree->config->root, then, NULL) : NULL;
	const struct skipped *skipped = skipped_of(tree);

	return is_or_is_below(skipped, here) || (there && is_or_is_below(skipped, there));
}

/* ---- parted ---------------------------------------------------------------------------------- */

/* The old server's path is the one that the name had here when it was made. */
static void take_parted(struct tree *tree, const char *reported)
{
	const size_t len = strlen(tree->config->root);
	guint64 fileid;
	struct stat st;

	if (strncmp(reported, tree->config->root, len) || reported[len] != '/' ||
	    target_stat(tree->target, reported + len + 1, &st))
		return;
	fileid = st.st_ino;
	g_hash_table_add(tree->parted, g_memdup2(&fileid, sizeof(fileid)));
}

bool loss_list_parted(struct tree *tree, uint64_t fileid)
{
	g_autofree char *inside =
		g_build_filename(tree->config->root, MIGRATE_PRIVATE_DIR, LOSSES_FILE, NULL);
	FILE *file = tree->parted ? NULL : fopen(inside, "re");
	const guint64 key = fileid;
	g_autofree char *line = NULL;
	size_t size = 0;

	if (!tree->parted) {
		tree->parted = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
		if (!file)
			file = fopen(tree->config->report, "re");
	}
	while (file && getline(&line, &size, file) > 0) {
		struct loss_line parsed = {0};

		if (loss_parse(g_strchomp(line), &parsed) &&
		    (parsed.kind == LOSS_LINK ||
		     (parsed.kind == LOSS_SOURCE && strstr(parsed.text, "file of its own"))))
			take_parted(tree, parsed.path);
		loss_line_clear(&parsed);
	}
	if (file)
		fclose(file);
	return g_hash_table_contains(tree->parted, &key);
}
