/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/migrate.h"
#include "journal/store/layout.h"
#include "lib/base/text.h"

/* ---- places ---------------------------------------------------------------------------------- */

static void place_free(gpointer p)
{
	struct place *place = p;

	g_free(place->name);
	g_free(place);
}

void place_add(GPtrArray *places, struct node *dir, const char *name)
{
	struct place *place = g_new0(struct place, 1);

	place->dir = dir;
	place->name = g_strdup(name);
	g_ptr_array_add(places, place);
}

int place_find(const GPtrArray *places, const struct node *dir, const char *name)
{
	for (guint i = 0; i < places->len; i++) {
		const struct place *place = places->pdata[i];

		if (place->dir == dir && !strcmp(place->name, name))
			return (int)i;
	}
	return -1;
}

bool tree_keeps_a_name(const struct node *node)
{
	for (guint i = 0; i < node->at->len; i++)
		if (!tree_drops(node, node->at->pdata[i]))
			return true;
	return false;
}

void tree_guess(struct node *node, struct node *dir, const char *name)
{
	place_add(node->at, dir, name);
	((struct place *)node->at->pdata[node->at->len - 1])->guessed = true;
	node->guessed = true;
}

bool tree_is_gone(const struct node *node)
{
	return !node->here || ((node->flags & JOURNAL_GONE) && !node->wanted->len);
}

/* Names from the last one to the first. */
static char *join(const GPtrArray *names)
{
	GString *path = g_string_new(NULL);

	for (guint i = names->len; i > 0; i--)
		g_string_append_printf(path, "%s%s", path->len ? "/" : "",
				       (const char *)names->pdata[i - 1]);
	return g_string_free(path, FALSE);
}

/* From the object upwards.  old: on the old server. */
static char *path_of(const struct node *node, const struct place *place, bool old)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();

	while (names->len < DEPTH_MAX) {
		if (!*place->name && place->dir == node)
			return join(names);
		g_ptr_array_add(names, place->name);
		if (!place->dir) {
			g_ptr_array_add(names, (gpointer)TARGET_STAGE);
			return join(names);
		}
		node = place->dir;
		if (old && node->active && !node->there)
			return NULL; /* its place is not known yet */
		const GPtrArray *places = !old && node->wanted->len ? node->wanted : node->at;
		if (!places->len && (old || !node->last_path))
			return NULL;
		if (!places->len) {
			g_ptr_array_add(names, node->last_path);
			return join(names);
		}
		place = places->pdata[0];
	}
	return NULL;
}

char *tree_place_path(const struct node *node, const struct place *place)
{
	return path_of(node, place, true);
}

char *tree_path(const struct node *node)
{
	return node->at->len ? path_of(node, node->at->pdata[0], true) : NULL;
}

char *tree_shown_path(const struct node *node)
{
	const GPtrArray *places = node->wanted->len ? node->wanted : node->at;
	const struct place *place = places->len ? places->pdata[0] : NULL;
	char *path;

	if (place && !place->dir && node->last_path)
		place = NULL; /* parked, with no place to go to: show the name that it had */
	path = place ? path_of(node, place, !node->wanted->len) : NULL;
	if (!path && place) /* nobody looked there yet */
		path = path_of(node, place, false);
	if (!path)
		path = g_strdup(node->last_path ? node->last_path : "(an object without a name)");
	return path;
}

char *tree_stage_name(const struct node *node, char kind)
{
	GString *name = g_string_new(NULL);

	g_string_printf(name, "%c%02x", kind, node->handle.type);
	for (unsigned i = 0; i < node->handle.len; i++)
		g_string_append_printf(name, "%02x", node->handle.bytes[i]);
	return g_string_free(name, FALSE);
}

bool tree_stage_parse(const char *name, struct migrate_binding *handle)
{
	size_t len = strlen(name);

	*handle = (struct migrate_binding){0};
	if (len < 3 || len % 2 == 0 || (len - 3) / 2 > MIGRATE_BINDING_MAX ||
	    strspn(name + 1, "0123456789abcdef") != len - 1)
		return false;
	handle->len = (uint8_t)((len - 3) / 2);
	for (size_t i = 1; i < len; i += 2) {
		int byte = g_ascii_xdigit_value(name[i]) << 4 | g_ascii_xdigit_value(name[i + 1]);

		*(i == 1 ? &handle->type : &handle->bytes[(i - 3) / 2]) = (uint8_t)byte;
	}
	return true;
}

static char *name_key(const struct migrate_binding *dir, const char *name)
{
	const struct node at = {.handle = *dir};
	g_autofree char *hex = tree_stage_name(&at, STAGE_PARKED);

	return target_path(hex, name);
}

bool tree_was_named(const struct node *node, const struct node *dir, const char *name)
{
	g_autofree char *key = name_key(&dir->handle, name);

	/* the journal may take the retriever's work for clients'; an object with a stub is found by
	 * its fileid */
	return node->fileid ||
	       (!dir->made && (!node->not_there || !g_hash_table_contains(node->not_there, key)));
}

/* ---- problems -------------------------------------------------------------------------------- */

static void problem_free(gpointer p)
{
	struct problem *problem = p;

	g_free(problem->path);
	g_free(problem->text);
	g_free(problem);
}

static void add_problem(GPtrArray *problems, const struct node *node, const char *text)
{
	struct problem *problem = g_new(struct problem, 1);
	g_autofree char *path = tree_shown_path(node);

	problem->path = text_line(*path ? path : ".");
	problem->text = g_strdup(text);
	problem->todo = node->todo;
	g_ptr_array_add(problems, problem);
}

static void unsettle(const GPtrArray *places)
{
	for (guint i = 0; i < places->len; i++) {
		const struct place *place = places->pdata[i];

		if (place->dir)
			place->dir->unsettled = true;
	}
}

void tree_unsettle(struct node *node)
{
	unsettle(node->wanted);
	unsettle(node->at);
}

const char *tree_told(const struct tree *tree, const struct node *node)
{
	return node->conflict ? node->conflict
			      : g_hash_table_lookup(tree->deferred.told, &node->handle);
}

void tree_conflict(struct tree *tree, struct node *node, const char *text)
{
	if (!tree_told(tree, node))
		add_problem(tree->conflicts, node, text);
	node->conflict = g_intern_string(text);
	if (node->handle.type)
		g_hash_table_insert(tree->deferred.told,
				    g_memdup2(&node->handle, sizeof(node->handle)),
				    (gpointer)node->conflict);
	tree_unsettle(node);
}

int tree_leave(struct tree *tree, struct node *node, const char *what, int ret)
{
	g_autofree char *text = g_strdup_printf("%s: %s", what, g_strerror(-ret));

	if (target_try(tree->target, ret))
		return ret;
	node->left = LEFT_LATER;
	tree_conflict(tree, node, text);
	return 0;
}

void tree_loss(struct tree *tree, const struct node *node, const char *text)
{
	add_problem(tree->losses, node, text);
}

void tree_plan(struct tree *tree, const struct node *node, const char *why)
{
	if (tree->planned)
		add_problem(tree->planned, node, why);
}

GPtrArray *tree_problems_new(void)
{
	return g_ptr_array_new_with_free_func(problem_free);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void node_free(gpointer p)
{
	struct node *node = p;

	g_free(node->last_path);
	g_free(node->staged);
	g_ptr_array_unref(node->wanted);
	g_ptr_array_unref(node->at);
	g_clear_pointer(&node->not_there, g_hash_table_unref);
	g_clear_pointer(&node->listed, g_hash_table_unref);
	g_clear_pointer(&node->names, g_hash_table_unref);
	g_clear_pointer(&node->had, g_hash_table_unref);
	ledger_clear(&node->carried);
	g_free(node);
}

static struct node *node_new(struct tree *tree)
{
	struct node *node = g_new0(struct node, 1);

	node->wanted = g_ptr_array_new_with_free_func(place_free);
	node->at = g_ptr_array_new_with_free_func(place_free);
	g_ptr_array_add(tree->all, node);
	return node;
}

int tree_open_node(const struct tree *tree, const struct node *node, int flags)
{
	return migrate_binding_open(tree->root_fd, &node->handle, flags | O_CLOEXEC | O_NOFOLLOW);
}

bool tree_load_stub(const struct tree *tree, const struct node *node, struct migrate_stub *stub)
{
	int fd = node->here == HERE_STUB ? tree_open_node(tree, node, O_PATH) : -1;

	*stub = (struct migrate_stub){0};
	const bool loaded = fd >= 0 && !migrate_stub_load(fd, stub);
	if (fd >= 0)
		close(fd);
	return loaded && stub->state != MIGRATE_NORMAL;
}

struct names {
	struct node *node;
	GArray *gone; /* of struct journal_name */
};

static bool take_name_node(void *arg, const struct journal_name *name)
{
	struct names *names = arg;

	GHashTable **not_there = &names->node->not_there;

	if (name->kind == JOURNAL_NAME_GONE) {
		g_array_append_val(names->gone, *name);
		return true;
	}
	if (!*not_there)
		*not_there = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_hash_table_add(*not_there, name_key(&name->parent, name->name));
	return true;
}

/* The name that an open directory has now. */
static void find_directory(struct tree *tree, struct node *node, int fd)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
	g_autofree char *path = g_file_read_link(link, NULL);
	/* the kernel does not tell a long path */
	g_autofree char *name = path ? g_path_get_basename(path) : migrate_dir_name(fd);
	struct migrate_binding parent, found;
	int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (up >= 0 && name && !migrate_binding_get(up, NULL, &parent) &&
	    !migrate_binding_get(up, name, &found) && migrate_binding_equal(&found, &node->handle))
		node->made ? place_add(node->wanted, tree_node(tree, &parent), name)
			   : tree_guess(node, tree_node(tree, &parent), name);
	if (up >= 0)
		close(up);
}

static bool is_gone(int ret)
{
	return ret == -ENOENT || ret == -ENOTDIR || ret == -ESTALE;
}

/* Whether the node has the name; -errno: that cannot be seen. */
static int has_name(const struct tree *tree, const struct node *node, const struct place *place)
{
	int fd = tree_open_node(tree, place->dir, O_PATH | O_DIRECTORY);
	struct migrate_binding found;
	int ret = fd < 0 ? fd : migrate_binding_get(fd, place->name, &found);

	if (fd < 0 && place->dir->unseen)
		return place->dir->unseen;
	if (fd >= 0)
		close(fd);
	return !ret ? migrate_binding_equal(&found, &node->handle) : is_gone(ret) ? 0 : ret;
}

bool tree_is_named(const struct tree *tree, const struct node *node, const struct place *place)
{
	return has_name(tree, node, place) > 0;
}

/* The reason (-errno) why the object cannot be looked at, or 0: it is gone.  For an inode that
 * cannot be read the kernel says the same as for one that is gone, also to a scan of the journal.
 * Then its names tell; if that scan says that it is gone, only what a name tells counts.  An object
 * whose names are not known is gone if the journal says so: a file may have other names than those
 * that it lost; and an object that was made and removed again has no row any more. */
static int why_unseen(struct tree *tree, const struct node *node, const struct journal_row *row,
		      const struct place *named)
{
	const bool file = row && !(row->flags & JOURNAL_DIRECTORY);
	bool gone = row ? row->flags & JOURNAL_GONE : node->was_carried;

	if (row && gone && !(row->flags & JOURNAL_SCANNED))
		return 0;
	if (row && !gone && tree->unscanned)
		return -ESTALE;
	int ret = named ? has_name(tree, node, named) : 0;
	for (guint i = 0; i < node->at->len && !ret; i++) {
		ret = has_name(tree, node, node->at->pdata[i]);
		ret = gone && ret == -ESTALE ? 0 : ret;
	}
	gone = gone || named || (node->at->len && !file);
	tree->vanished |= !ret && !gone && !tree->unscanned;
	return ret < 0 ? ret : ret || !gone ? -ESTALE : 0;
}

/* It could not be opened. */
static void take_unseen(struct tree *tree, struct node *node, const struct journal_row *row,
			int ret)
{
	const bool named = row && row->parent.len && !(row->flags & JOURNAL_GONE);
	const struct place place = {named ? tree_node(tree, &row->parent) : NULL,
				    named ? (char *)row->name : NULL, false};

	node->unseen = is_gone(ret) ? why_unseen(tree, node, row, named ? &place : NULL) : ret;
	if (!node->unseen || !named)
		return;
	place_add(node->wanted, place.dir, place.name);
	if (!node->at->len && tree_was_named(node, place.dir, place.name))
		tree_guess(node, place.dir, place.name);
}

/* The name that the journal saw last, if it still is one. */
static void find_by_hint(struct tree *tree, struct node *node, const struct journal_row *row)
{
	if (!row->parent.len)
		return;
	const struct place place = {tree_node(tree, &row->parent), (char *)row->name, false};
	if (tree_is_named(tree, node, &place) && tree_was_named(node, place.dir, row->name))
		tree_guess(node, place.dir, row->name);
}

static void resolve_names(struct tree *tree, struct node *node, const struct journal_row *row,
			  int fd)
{
	struct names names = {node, g_array_new(FALSE, FALSE, sizeof(struct journal_name))};

	/* an object that is not there has no names there, whatever names it was to have */
	const GArray *known = node->was_carried ? node->carried.names : NULL;

	for (guint i = 0; known && i < known->len; i++) {
		const struct ledger_name *name = &g_array_index(known, struct ledger_name, i);

		place_add(node->at, tree_node(tree, &name->parent), name->name);
	}
	if (!known && row)
		journal_names(tree->journal, &node->handle, take_name_node, &names, NULL);
	for (guint i = 0; i < names.gone->len && !node->made; i++) {
		const struct journal_name *name =
			&g_array_index(names.gone, struct journal_name, i);

		place_add(node->at, tree_node(tree, &name->parent), name->name);
	}
	g_array_unref(names.gone);
	/* a directory that was made is found when the one that it is in is listed, except in a
	 * window */
	if (fd < 0 || known || (node->made && !(tree->window && S_ISDIR(node->st.st_mode))))
		return;
	if (!S_ISDIR(node->st.st_mode) && row)
		find_by_hint(tree, node, row);
	else if (!node->at->len)
		find_directory(tree, node, fd);
}

/* false: the stub only keeps the place of an object that is still to come, which no client has
 * seen. */
static bool take_stub(struct node *node, int fd)
{
	struct migrate_stub stub;
	bool object = true;

	if (node->here && !S_ISREG(node->st.st_mode) && !S_ISDIR(node->st.st_mode))
		node->here = HERE_WHOLE;
	if (node->here != HERE_STUB)
		return true;
	int ret = migrate_stub_load(fd, &stub);
	if (!ret && stub.state == MIGRATE_NORMAL) {
		node->here = HERE_WHOLE;
	} else if (!ret) {
		/* only what came from the old server has such a record */
		if (S_ISREG(node->st.st_mode) || stub.version.fileid)
			node->made = false;
		if (!node->made)
			node->fileid = stub.version.fileid;
		object = stub.state != MIGRATE_DUMMY;
	}
	migrate_stub_clear(&stub);
	return object;
}

bool tree_is_unplaced(const struct journal_row *row)
{
	return !row->parent.len &&
	       !(row->flags & (JOURNAL_NAMES | JOURNAL_MADE | JOURNAL_GONE | JOURNAL_DIRECTORY));
}

bool tree_is_doubted(const struct node *node)
{
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		const struct place *place = node->at->len ? node->at->pdata[0] : NULL;

		if (node->was_carried || node->fileid || node->made || !place || place->dir == node)
			return false;
		if (node->flags & JOURNAL_SCANNED &&
		    (!S_ISDIR(node->st.st_mode) || node->flags & JOURNAL_NAMES || !node->seen_in ||
		     node->seen_in->flags & JOURNAL_SCANNED))
			return true;
		if (!place->dir)
			return false;
		node = place->dir;
	}
	return false;
}

void tree_doubt(struct node *node)
{
	node->flags |= JOURNAL_SCANNED | JOURNAL_META;
	if (S_ISDIR(node->st.st_mode))
		node->flags |= JOURNAL_ENTRIES;
	else if (S_ISREG(node->st.st_mode))
		node->flags |= JOURNAL_DATA;
}

static void find_carried(const struct tree *tree, struct node *node)
{
	ledger_get(tree->ledger, &node->handle, &node->carried);
	node->was_carried = node->carried.fileid || node->carried.staged;
}

static void resolve(struct tree *tree, struct node *node)
{
	struct journal_row row;
	bool has_row = journal_has_row(tree->journal, &node->handle, &row);
	int fd = tree_open_node(tree, node, O_PATH);

	if (fd >= 0 && !fstat(fd, &node->st) && node->st.st_nlink)
		node->here = HERE_STUB;
	find_carried(tree, node);
	if (has_row) {
		node->flags = row.flags;
		node->generation = row.generation;
		node->made = row.flags & JOURNAL_MADE;
		node->belongs = tree_is_unplaced(&row) ? BELONGS_UNKNOWN : BELONGS_HERE;
		if (node->here)
			journal_was_made(tree->journal, &row, node->st.st_nlink, &node->made, NULL);
		/* the names of a row are looked up one after the other */
		node->made_guessed = node->made && !(row.flags & JOURNAL_MADE);
		if (node->flags & JOURNAL_SCANNED && row.parent.len && S_ISDIR(node->st.st_mode))
			node->seen_in = tree_node(tree, &row.parent);
	}
	node->scope = tree->window ? SCOPE_PASSIVE : SCOPE_MET;
	if (tree->window)
		node->generation = node->carried.generation;
	/* objects that the old server has alone are found in its listings */
	node->active = take_stub(node, fd) && node->handle.type && !tree->window &&
		       ((has_row && node->carried.generation != node->generation) ||
			node->carried.touching);
	resolve_names(tree, node, has_row ? &row : NULL, node->here ? fd : -1);
	if (fd < 0 && (has_row || is_gone(fd)))
		take_unseen(tree, node, has_row ? &row : NULL, fd);
	if (fd >= 0)
		close(fd);
}

struct node *tree_node(struct tree *tree, const struct migrate_binding *handle)
{
	struct node *node = g_hash_table_lookup(tree->nodes, handle);

	if (node)
		return node;
	node = node_new(tree);
	node->handle = *handle;
	g_hash_table_insert(tree->nodes, &node->handle, node);
	resolve(tree, node);
	return node;
}

void tree_activate(struct tree *tree, struct node *node)
{
	guint64 inode = node->st.st_ino;

	g_ptr_array_add(tree->active, node);
	node->active = true;
	if (node->here)
		g_hash_table_insert(tree->inodes, g_memdup2(&inode, sizeof(inode)), node);
}

struct node *tree_node_there(struct tree *tree, struct node *dir, const char *name, uint64_t fileid)
{
	struct node *node = node_new(tree);

	place_add(node->at, dir, name);
	node->flags = JOURNAL_GONE;
	node->handle.len = sizeof(fileid);
	memcpy(node->handle.bytes, &fileid, sizeof(fileid));
	find_carried(tree, node);
	return node;
}

/* ---- the tree -------------------------------------------------------------------------------- */

static void make_root(struct tree *tree, const struct migrate_binding *handle)
{
	tree->root = node_new(tree);
	tree->root->handle = *handle;
	place_add(tree->root->at, tree->root, "");
	g_hash_table_insert(tree->nodes, &tree->root->handle, tree->root);
	resolve(tree, tree->root);
}

struct tree *tree_open(const struct volume_config *config, struct journal_reader *journal,
		       struct ledger *ledger, struct target *target, int64_t switched,
		       GError **error)
{
	struct migrate_binding handle;
	int fd = open(config->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || migrate_binding_get(fd, NULL, &handle)) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
			    "%s: %s; is its file system mounted?", config->root, g_strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	migrate_watch(fd);
	struct tree *tree = g_new0(struct tree, 1);
	tree->config = config;
	tree->journal = journal;
	tree->ledger = ledger;
	tree->target = target;
	tree->root_fd = fd;
	tree->told = omissions_get_told(fd);
	tree->switched = switched;
	tree->nodes = g_hash_table_new(journal_handle_hash, journal_handle_equal);
	tree->inodes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	tree->fileids = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	tree->deferred.dirs =
		g_hash_table_new_full(journal_handle_hash, journal_handle_equal, g_free, g_free);
	tree->deferred.told =
		g_hash_table_new_full(journal_handle_hash, journal_handle_equal, g_free, NULL);
	tree->deferred.fates = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	tree->active = g_ptr_array_new();
	tree->conflicts = tree_problems_new();
	tree->losses = tree_problems_new();
	tree->all = g_ptr_array_new_with_free_func(node_free);
	make_root(tree, &handle);
	return tree;
}

void tree_empty(struct tree *tree)
{
	const struct migrate_binding handle = tree->root->handle;

	g_hash_table_remove_all(tree->nodes);
	g_hash_table_remove_all(tree->inodes);
	g_hash_table_remove_all(tree->fileids);
	g_ptr_array_set_size(tree->active, 0);
	g_ptr_array_set_size(tree->all, 0);
	make_root(tree, &handle);
}

void tree_base(const struct tree *tree, const struct node *node, bool new_one,
	       struct attrs_base *base)
{
	/* in a gap of the journal the retriever's stubs look as if clients had made them */
	const bool made = node->made && !node->made_guessed && !(node->flags & JOURNAL_SCANNED);
	const bool ours = new_one || !node->there || made;

	*base = (struct attrs_base){.told = tree->told,
				    .old = ours ? NULL : &node->old,
				    .set = node->flags & (JOURNAL_META | JOURNAL_SCANNED) ||
					   !node->generation,
				    .given = node->carried.given};
}

int tree_sync(const struct tree *tree)
{
	/* the root is always there */
	return tree->active->len > 1 && syncfs(tree->root_fd) < 0 ? -errno : 0;
}

bool tree_stops(const struct tree *tree, GError **error)
{
	if (!tree->stop || !*tree->stop)
		return false;
	g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_INTR, "stopped");
	return true;
}

void tree_close(struct tree *tree)
{
	if (!tree)
		return;
	g_hash_table_unref(tree->nodes);
	g_hash_table_unref(tree->inodes);
	g_hash_table_unref(tree->fileids);
	g_clear_pointer(&tree->deferred.handles, fclose);
	g_hash_table_unref(tree->deferred.dirs);
	g_hash_table_unref(tree->deferred.told);
	g_hash_table_unref(tree->deferred.fates);
	g_clear_pointer(&tree->parted, g_hash_table_unref);
	g_ptr_array_unref(tree->active);
	g_ptr_array_unref(tree->conflicts);
	g_ptr_array_unref(tree->losses);
	g_clear_pointer(&tree->planned, g_ptr_array_unref);
	g_ptr_array_unref(tree->all);
	g_clear_pointer(&tree->skipped.paths, g_hash_table_unref);
	g_clear_pointer(&tree->skipped.names, g_hash_table_unref);
	close(tree->root_fd);
	g_free(tree);
}
