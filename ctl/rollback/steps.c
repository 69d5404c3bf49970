/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ctl/rollback/attrs.h"
#include "ctl/rollback/content.h"
#include "ctl/rollback/displace.h"

#define CANNOT_MOVE "it cannot be moved on the old server"

/* ---- failures -------------------------------------------------------------------------------- */

/* Returns FALSE.  The node is left for the next run.  The whole run ends if no other object will do
 * better; a quota, or a file that is too large for the room that is left, does not end it. */
static bool fail_step(struct carry *carry, struct node *node, const char *what, int ret)
{
	const bool in_use = ret == -EBUSY || ret == -EAGAIN;
	g_autofree char *text =
		g_strdup_printf("%s: %s", what, in_use ? TARGET_IN_USE : g_strerror(-ret));

	if (ret == -ECANCELED)
		return false;
	if ((ret == -ENOSPC || ret == -EDQUOT || ret == -EROFS || ret == -EIO || ret == -ESTALE ||
	     ret == -ENOTCONN) &&
	    target_try(carry->tree->target, ret)) {
		g_autofree char *path = tree_shown_path(node);

		if (!*carry->error)
			g_set_error(carry->error, G_FILE_ERROR, g_file_error_from_errno(-ret),
				    "%s: %s", path, text);
		return false;
	}
	tree_conflict(carry->tree, node, text);
	return false;
}

/* Takes over what came of giving something to an object, except how it ended. */
static void take_gift(struct carry *carry, struct node *node, struct making *making)
{
	if (making->new_one) /* a new object that failed has given nothing to the former one */
		g_clear_pointer(making->ret ? &making->given : &node->carried.given,
				g_hash_table_unref);
	if (making->given)
		ledger_add_given(&node->carried, g_steal_pointer(&making->given));
	for (guint i = 0; making->losses && i < making->losses->len; i++)
		tree_loss(carry->tree, node, making->losses->pdata[i]);
	g_clear_pointer(&making->losses, g_ptr_array_unref);
	carry->result->bytes += making->bytes;
}

/* ---- content --------------------------------------------------------------------------------- */

bool steps_fetch(struct carry *carry, struct node *node)
{
	if (node->here == HERE_WHOLE)
		return true;
	int fd = tree_open_node(carry->tree, node, O_RDONLY | O_NOATIME);
	int ret = fd < 0 ? fd : content_fetch(carry->content, fd);

	if (fd >= 0)
		close(fd);
	if (!ret)
		return true;
	node->todo &= ~(unsigned)(TODO_MAKE | TODO_DATA | TODO_META);
	if (ret == -ENOTCONN) {
		g_set_error(
			carry->error, G_FILE_ERROR, G_FILE_ERROR_AGAIN,
			"the retriever does not answer, and files have to be fetched: systemctl "
			"start migrate-retriever@%s",
			carry->tree->config->name);
		return false;
	}
	if (ret != -ESTALE)
		return fail_step(carry, node, "its data cannot be had from the old server", ret);
	if (node->here)
		tree_conflict(carry->tree, node,
			      "its data cannot be had from the old server: migratectl errors says "
			      "why");
	return false;
}

/* ---- TARGET_STAGE -------------------------------------------------------------------------------
 */

static int note_now(struct carry *carry, const struct node *node)
{
	struct ledger *store = carry->tree->ledger;

	return ledger_put(store, &node->handle, &node->carried, carry->error) &&
			       ledger_commit(store, carry->error)
		       ? 0
		       : -ECANCELED;
}

/* A step is about to move the object's ctime, which after a kill could not tell any more that
 * somebody else has changed its rights: notes that. */
static int note_their_rights(struct carry *carry, struct node *node)
{
	node->their_rights = true;
	if (!node->intended)
		return 0;
	node->carried.ctime = -1;
	return note_now(carry, node);
}

/* Looks at the object before a step moves its ctime: nobody may take away what somebody else has
 * given it, and its fileid may be another object's when it is gone.  -ECANCELED: it is not to be
 * moved. */
static int check_moving(struct carry *carry, struct node *node, const char *path)
{
	const unsigned changes = node->todo & (TODO_DATA | TODO_META | TODO_REMOVE);
	struct stat st;
	int ret = node->moved ? 0 : target_stat(carry->tree->target, path, &st);

	if ((ret && ret != -ENOENT) || node->moved || (!ret && displace_is_known(node, &st, false)))
		return ret;
	const bool other = ret || st.st_ino != node->old.st_ino;
	if (!changes && !other)
		return note_their_rights(carry, node);
	displace_conflict(carry->tree, node, carry->error);
	node->todo &= ~(unsigned)(TODO_DATA | TODO_META | TODO_REMOVE);
	return other || changes & TODO_REMOVE ? -ECANCELED : 0;
}

/* Called before a step moves a directory's ctime: until then the ctime tells that somebody gave the
 * directory other rights meanwhile.  dir: NULL is TARGET_STAGE. */
static void enter_directory(struct carry *carry, struct node *dir)
{
	const bool first = dir && dir->there && !dir->entered && !dir->moved &&
			   !target_has_descriptors(carry->tree->target);
	g_autofree char *path = first ? tree_path(dir) : NULL;
	struct stat st;

	if (dir)
		dir->entered = true;
	if (!path || target_stat(carry->tree->target, path, &st) ||
	    migrate_ns(st.st_ctim) == migrate_ns(dir->old.st_ctim))
		return;
	note_their_rights(carry, dir);
	if (dir == carry->tree->root)
		carry->tree->root_ctime = -1;
}

/* The object that was parked may be another one, which had the name for a moment. */
static int check_parked(struct carry *carry, struct node *node, const char *from, const char *to)
{
	struct stat st;
	int ret = target_stat(carry->tree->target, to, &st);

	if (ret || st.st_ino == node->old.st_ino)
		return ret;
	target_rename_new(carry->tree->target, to, from, S_ISDIR(st.st_mode));
	return displace_conflict(carry->tree, node, carry->error);
}

bool steps_park(struct carry *carry, struct node *node)
{
	g_autofree char *from = tree_path(node), *name = tree_stage_name(node, STAGE_PARKED);
	g_autofree char *to = target_path(TARGET_STAGE, name);
	struct place *place = node->at->len ? node->at->pdata[0] : NULL;
	int ret = from ? check_moving(carry, node, from) : -ENOENT;

	if (S_ISDIR(node->old.st_mode))
		enter_directory(carry, node);
	enter_directory(carry, place ? place->dir : NULL);
	node->begun |= !ret;
	if (!ret && strcmp(from, to) != 0)
		ret = target_rename_new(carry->tree->target, from, to, S_ISDIR(node->old.st_mode));
	const bool renamed = !ret;
	if (renamed)
		ret = check_parked(carry, node, from, to);
	if (!renamed || ret == -ECANCELED)
		return fail_step(carry, node, CANNOT_MOVE, ret);
	if (place->dir) {
		g_free(node->last_path);
		node->last_path = g_steal_pointer(&from);
		node->last_dir = place->dir;
	}
	place->dir = NULL;
	g_free(place->name);
	place->name = g_steal_pointer(&name);
	node->moved = true;
	if (!ret)
		return true;
	/* it cannot be seen what was parked: that stays there until the next run */
	node->left = LEFT_LATER;
	node->todo = 0;
	return fail_step(carry, node, CANNOT_MOVE, ret);
}

/* Puts an object that cannot come to its new place back to its former one, unless that is taken. */
static void restore_parked(struct carry *carry, struct node *node)
{
	const struct place *parked = node->at->len ? node->at->pdata[0] : NULL;

	if (!parked || parked->dir || !node->last_dir || !node->last_path)
		return;
	g_autofree char *name = g_path_get_basename(node->last_path), *from = tree_path(node);
	const struct place place = {node->last_dir, name, false};
	g_autofree char *to = tree_place_path(node->last_dir, &place);

	if (!from || !to || strcmp(to, node->last_path) != 0 ||
	    target_rename_new(carry->tree->target, from, to, S_ISDIR(node->old.st_mode)))
		return;
	place_add(node->at, node->last_dir, name);
	g_ptr_array_remove_index(node->at, 0);
}

bool steps_made(struct carry *carry, struct node *node, struct making *making)
{
	const int ret = making->ret;

	take_gift(carry, node, making);
	if (!ret) {
		ledger_stage(&node->carried, &making->there);
		g_free(node->staged);
		node->staged = g_memdup2(&making->there, sizeof(making->there));
	}
	if (ret == -ESTALE || ret == -EAGAIN) /* gone here meanwhile, or changed all the time */
		return false;
	return !ret || fail_step(carry, node, "it cannot be made on the old server", ret);
}

bool steps_stage(struct carry *carry, struct node *node)
{
	struct making making = {.node = node};

	steps_make(carry, &making);
	return steps_made(carry, node, &making);
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool names_it(const struct node *node, const struct stat *st)
{
	return node->there ? node->old.st_ino == st->st_ino
			   : node->carried.staged && node->carried.staged == st->st_ino;
}

/* Whether the node is to go, or to lose this name and to keep another. */
static bool gives_way(const struct node *node, const struct place *place)
{
	int at = place_find(node->at, place->dir, place->name);

	return (node->todo & TODO_REMOVE) ||
	       ((node->todo & TODO_NAMES) && at >= 0 && node->at->len > 1 &&
		tree_drops(node, node->at->pdata[at]));
}

/* Whether something may be renamed over what is at the place: nothing is there, or the object
 * itself, or an object that gives way.  *there: its fileid, or 0. */
static int check_place(struct carry *carry, struct node *node, const struct place *place,
		       const char *path, struct node **over, uint64_t *there)
{
	const struct target_name *name =
		place->dir && place->dir->listed
			? g_hash_table_lookup(place->dir->listed, place->name)
			: NULL;
	struct stat st;
	int ret = target_stat(carry->tree->target, path, &st);

	*over = NULL;
	*there = ret ? 0 : st.st_ino;
	/* a new version of an object that somebody has removed */
	if (ret == -ENOENT && node->there && place_find(node->at, place->dir, place->name) >= 0)
		return displace_conflict(carry->tree, node, carry->error);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	if (names_it(node, &st)) {
		*over = node;
		return displace_is_known(node, &st, node->moved)
			       ? 0
			       : displace_conflict(carry->tree, node, carry->error);
	}
	*over = name ? g_hash_table_lookup(carry->tree->fileids, &name->fileid) : NULL;
	/* where it is a directory and the node none, or the other way round, it should have been
	 * parked, and could not be */
	const bool unparked = S_ISDIR(st.st_mode) != tree_is_dir(node) &&
			      (S_ISDIR(st.st_mode) || st.st_nlink == 1);
	if (!*over || (*over)->old.st_ino != st.st_ino || !gives_way(*over, place) || unparked)
		return -EEXIST;
	if (displace_is_known(*over, &st, (*over)->moved))
		return 0;
	displace_conflict(carry->tree, *over, carry->error);
	return -EEXIST;
}

static void forget_place(struct node *node, const struct place *place)
{
	int at = node ? place_find(node->at, place->dir, place->name) : -1;

	if (at >= 0)
		g_ptr_array_remove_index(node->at, (guint)at);
}

/* over: what is there; NULL: nothing. */
static int take_place(struct carry *carry, struct node *node, const char *from, bool directory,
		      const struct place *place, const char *to, struct node *over)
{
	struct target *target = carry->tree->target;

	if (!over)
		return target_rename_new(target, from, to, directory);
	/* an empty one, or in TARGET_STAGE */
	if (directory || !place->dir)
		return target_rename(target, from, to, directory);
	return displace_replace(carry->tree, node, from, to, over, carry->error);
}

/* Renames what is at a path, which is a directory or not, to a place.  fileid: of it. */
static int rename_to(struct carry *carry, struct node *node, const char *from, bool directory,
		     uint64_t fileid, const struct place *place)
{
	g_autofree char *to = tree_place_path(place->dir, place);
	struct node *over;
	uint64_t there;
	int ret = to ? check_place(carry, node, place, to, &over, &there) : -ENOENT;

	if (!ret)
		enter_directory(carry, place->dir);
	if (!ret && over)
		over->begun = true;
	/* a name that goes anyway, of a file */
	if (!ret && over && directory && !S_ISDIR(over->old.st_mode)) {
		ret = displace_drop(carry->tree, over, to, carry->error);
		there = 0;
	}
	/* to rename one link over another of the same object does nothing */
	if (!ret)
		ret = fileid == there ? target_remove(carry->tree->target, from, false)
				      : take_place(carry, node, from, directory, place, to,
						   there ? over : NULL);
	if (ret)
		return ret;
	if (over != node)
		forget_place(over, place);
	if (place_find(node->at, place->dir, place->name) < 0)
		place_add(node->at, place->dir, place->name);
	node->moved = true;
	return 0;
}

/* Removes what is at the node's STAGE_NEW if its fileid is `ours`; returns whether it was.  Another
 * object there came out of a place, and could not go back. */
static bool remove_new(struct carry *carry, const char *name, bool directory, uint64_t ours)
{
	g_autofree char *path = target_path(TARGET_STAGE, name);
	struct stat st;

	if (target_stat(carry->tree->target, path, &st))
		return false;
	if (st.st_ino == ours)
		target_remove(carry->tree->target, path, directory);
	else
		displace_aside(carry->tree, name, &st, NULL);
	return st.st_ino == ours;
}

/* The new object, or version, comes to its place. */
static int publish_names(struct carry *carry, struct node *node)
{
	g_autofree char *name = tree_stage_name(node, STAGE_NEW);
	g_autofree char *from = target_path(TARGET_STAGE, name);
	const GPtrArray *places = node->there ? node->at : node->wanted;
	int ret = places->len ? rename_to(carry, node, from, S_ISDIR(node->st.st_mode),
					  node->carried.staged, places->pdata[0])
			      : -ENOENT;

	if (ret) {
		/* else the next run has to know which one is ours */
		if (node->staged &&
		    remove_new(carry, name, S_ISDIR(node->st.st_mode), node->staged->st_ino))
			node->carried.staged = 0;
		return ret;
	}
	node->there = THERE_SEEN;
	node->old = *node->staged;
	node->their_rights = false;
	g_clear_pointer(&node->staged, g_free);
	return 0;
}

/* What was parked comes to the first of its places that it does not have. */
static int unpark(struct carry *carry, struct node *node)
{
	g_autofree char *from = tree_path(node);
	int ret = 0;

	for (guint i = 0; i < node->wanted->len; i++) {
		const struct place *place = node->wanted->pdata[i];

		if (place_find(node->at, place->dir, place->name) >= 0)
			continue;
		ret = from ? rename_to(carry, node, from, S_ISDIR(node->old.st_mode),
				       node->old.st_ino, place)
			   : -ENOENT;
		if (!ret)
			g_ptr_array_remove_index(node->at, 0);
		return ret;
	}
	return 0;
}

static int link_to(struct carry *carry, struct node *node, const struct place *place)
{
	g_autofree char *from = tree_path(node), *name = tree_stage_name(node, STAGE_NEW);
	g_autofree char *path = target_path(TARGET_STAGE, name);
	int ret = from ? check_moving(carry, node, from) : -ENOENT;

	node->begun |= !ret;
	if (!ret)
		ret = target_link(carry->tree->target, from, path);
	if (ret == -EEXIST && remove_new(carry, name, false, node->old.st_ino))
		ret = target_link(carry->tree->target, from, path);
	if (!ret) {
		node->moved = true; /* its ctime */
		ret = rename_to(carry, node, path, false, node->old.st_ino, place);
	}
	if (ret)
		remove_new(carry, name, false, node->old.st_ino);
	return ret;
}

/* Looks at the object by a name that it keeps: somebody else may have given the other names to
 * other objects. */
static int check_dropping(struct carry *carry, struct node *node)
{
	guint i = 0;

	while (i + 1 < node->at->len && tree_drops(node, node->at->pdata[i]))
		i++;
	g_autofree char *path = tree_place_path(node, node->at->pdata[i]);
	return path ? check_moving(carry, node, path) : -ENOENT;
}

static int drop_names(struct carry *carry, struct node *node)
{
	int ret = 0;

	for (guint i = 0; i < node->at->len && node->at->len > 1 && !ret;) {
		const struct place *place = node->at->pdata[i];
		g_autofree char *path = tree_place_path(node, place);
		struct stat st;

		if (!tree_drops(node, place)) {
			i++;
			continue;
		}
		ret = check_dropping(carry, node);
		if (ret)
			break;
		enter_directory(carry, place->dir);
		ret = path ? target_stat(carry->tree->target, path, &st) : -ENOENT;
		if (!ret && names_it(node, &st))
			ret = displace_drop(carry->tree, node, path, carry->error);
		if (!ret || ret == -ENOENT)
			g_ptr_array_remove_index(node->at, i);
		ret = ret == -ENOENT ? 0 : ret;
	}
	return ret;
}

bool steps_place(struct carry *carry, struct node *node)
{
	bool parked = node->at->len && !((struct place *)node->at->pdata[0])->dir;
	int ret = node->carried.staged && (node->todo & (TODO_MAKE | TODO_DATA))
			  ? publish_names(carry, node)
		  : parked ? unpark(carry, node)
			   : 0;

	for (guint i = 0; i < node->wanted->len && !ret; i++) {
		const struct place *place = node->wanted->pdata[i];

		if (place_find(node->at, place->dir, place->name) < 0)
			ret = link_to(carry, node, place);
		if (ret != -EOPNOTSUPP)
			continue;
		tree_loss(carry->tree, node, "has further names (hard links), which are not made");
		ret = 0;
	}
	if (!ret)
		ret = drop_names(carry, node);
	if (ret == -EEXIST) {
		tree_conflict(carry->tree, node,
			      "its name is taken on the old server by something that stays there");
		restore_parked(carry, node);
		return false;
	}
	return !ret ||
	       fail_step(carry, node, "it cannot be put in its place on the old server", ret);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int check_open(struct carry *carry, struct node *node, struct target_file *file)
{
	struct stat st;
	int ret = target_file_stat(file, &st);

	if (ret || (displace_is_known(node, &st, node->moved) &&
		    (!S_ISDIR(st.st_mode) || target_has_descriptors(carry->tree->target) ||
		     migrate_ns(st.st_ctim) == migrate_ns(node->old.st_ctim))))
		return ret;
	return displace_conflict(carry->tree, node, carry->error);
}

/* Notes what the object is like from now on, so that what others do to it later shows.  What they
 * did meanwhile shows if its size is not the one that it was given. */
static int take_given(struct carry *carry, struct node *node, struct target_file *file, bool data,
		      off_t given)
{
	const off_t size = data ? given : node->old.st_size;
	struct stat st;
	int ret = target_file_stat(file, &st);

	if (ret && ret != -EBUSY)
		return ret;
	if (ret)
		return displace_conflict(carry->tree, node, carry->error);
	node->old = st;
	node->their_rights = false;
	if (S_ISDIR(st.st_mode) || st.st_size == size)
		return 0;
	return displace_conflict(carry->tree, node, carry->error);
}

static int read_acls(struct carry *carry, const char *path, GBytes *acls[2])
{
	int ret = path ? 0 : -ENOENT;

	for (unsigned i = 0; i < 2; i++)
		acls[i] = ret ? NULL
			      : target_read_xattr(carry->tree->target, path, attrs_acls[i], &ret);
	return ret;
}

static void free_acls(GBytes *acls[2])
{
	for (unsigned i = 0; i < 2; i++)
		g_clear_pointer(&acls[i], g_bytes_unref);
}

bool steps_remember(struct carry *carry, struct node *node)
{
	g_autofree char *path = tree_path(node);
	int from = tree_open_node(carry->tree, node, O_PATH), ret = from < 0 ? from : 0;
	struct attrs attrs = {0};
	GBytes *acls[2] = {NULL, NULL};

	if (!ret && (ret = attrs_read(from, &attrs)) == -EAGAIN)
		ret = 0; /* it is to come, and is marked by then */
	struct attrs_base base;
	if (!ret && node->todo & (TODO_DATA | TODO_META)) {
		tree_base(carry->tree, node, false, &base);
		attrs.base = &base;
		attrs.gave = &node->carried.given;
		attrs_note_to_give(&attrs);
	}
	/* without its ACLs nothing is noted: they would count as none */
	if (!ret && path && (attrs.left.what || !(carry->tree->told & TOLD_KNOWN))) {
		ret = read_acls(carry, path, acls);
		if (!ret)
			attrs_remember(&node->carried.given, &node->old, acls,
				       node->todo & (TODO_DATA | TODO_META));
	}
	tree_base(carry->tree, node, false, &base);
	attrs.base = &base;
	if (!ret)
		node->carried.staged_mtime = attrs_mtime(&attrs);
	free_acls(acls);
	attrs_clear(&attrs);
	if (from >= 0)
		close(from);
	if (ret == -ESTALE) /* gone here meanwhile */
		return false;
	return !ret || fail_step(carry, node, "it cannot be looked at", ret);
}

/* Notes what the object has after it was given attributes.  If that cannot be seen, the notes
 * before stay. */
static void remember_given(struct carry *carry, struct node *node, const char *path)
{
	GBytes *acls[2];

	if (!node->carried.given)
		return;
	if (!read_acls(carry, path, acls))
		attrs_note_left(node->carried.given, &node->old, acls);
	free_acls(acls);
}

/* A file that is written in place is noted before its first byte is written; until then it is
 * compared, even after a kill. */
static int begin_step(struct carry *carry, struct node *node, bool data)
{
	node->begun = true;
	if (!data)
		return 0;
	node->carried.ctime = node->carried.version = 0;
	return note_now(carry, node);
}

bool steps_give(struct carry *carry, struct node *node)
{
	const bool data = (node->todo & TODO_DATA) && S_ISREG(node->st.st_mode);
	g_autofree char *path = tree_path(node);
	struct making making = {.node = node};
	struct target_file *file;
	int ret = path ? target_file_open(carry->tree->target, path, data, &file) : -ENOENT;
	const bool in_use = ret == -EAGAIN;

	if (ret == -ENOENT && !node->moved)
		ret = displace_conflict(carry->tree, node, carry->error);
	if (!ret) {
		ret = check_open(carry, node, file);
		if (!ret)
			ret = begin_step(carry, node, data);
		if (!ret)
			ret = steps_give_content(carry, &making, file, data);
		if (ret == -EAGAIN && S_ISREG(node->st.st_mode) && !data &&
		    steps_fetch(carry, node))
			ret = steps_give_content(carry, &making, file, data);
		if (ret == -TARGET_CHANGED)
			ret = displace_conflict(carry->tree, node, carry->error);
		if (!ret && data)
			ret = target_file_sync(file);
		if (!ret)
			ret = take_given(carry, node, file, data, making.size);
		target_file_close(file);
	}
	take_gift(carry, node, &making);
	if (!ret)
		remember_given(carry, node, path);
	if (ret == -ESTALE || (ret == -EAGAIN && !in_use))
		return false; /* it is changed here right now, or gone: the next run's */
	return !ret || fail_step(carry, node, "it cannot be changed on the old server", ret);
}

bool steps_remove(struct carry *carry, struct node *node)
{
	int ret = 0;

	while (node->at->len && !ret) {
		struct node *dir = ((struct place *)node->at->pdata[0])->dir;

		enter_directory(carry, dir);
		ret = displace_remove(carry->tree, node, carry->error);
		node->last_dir = dir;
		if (!ret || ret == -ENOENT)
			g_ptr_array_remove_index(node->at, 0);
		ret = ret == -ENOENT ? 0 : ret;
	}
	if (ret == -ENOTEMPTY || ret == -EEXIST) {
		tree_conflict(carry->tree, node,
			      "was removed here, and has something in it on the old server");
		return false;
	}
	return !ret || fail_step(carry, node, "it cannot be removed on the old server", ret);
}

bool steps_give_times(struct carry *carry, struct node *node)
{
	g_autofree char *path = tree_path(node);
	int from = tree_open_node(carry->tree, node, O_PATH);
	struct attrs attrs = {0};
	struct attrs_base base;
	struct target_file *to = NULL;
	struct stat st;
	int ret = path ? target_file_open(carry->tree->target, path, false, &to) : -ENOENT;

	if (!ret && (ret = target_file_stat(to, &st)) == 0 && node->there &&
	    st.st_ino != node->old.st_ino)
		ret = displace_conflict(carry->tree, node, carry->error);
	if (!ret)
		ret = from < 0 ? from : attrs_read_times(from, &attrs);
	tree_base(carry->tree, node, false, &base);
	attrs.base = &base;
	if (!ret)
		ret = target_file_give_times(to, &attrs);
	if (to)
		target_file_close(to);
	if (from >= 0)
		close(from);
	return !ret || fail_step(carry, node, "its times cannot be set on the old server", ret);
}
