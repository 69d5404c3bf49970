/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/displace.h"

#include <errno.h>
#include <string.h>

#define CHANGED "was changed on the old server while it was carried"
#define ROUNDS	16 /* numbers may be others after each rename, as over some FUSE file systems */

static char *in_stage(const struct node *node, char kind)
{
	g_autofree char *name = tree_stage_name(node, kind);

	return target_path(TARGET_STAGE, name);
}

bool displace_is_known(const struct node *node, const struct stat *st, bool moved)
{
	const struct stat *old = &node->old;

	if (st->st_ino != old->st_ino || st->st_mode != old->st_mode || st->st_uid != old->st_uid ||
	    st->st_gid != old->st_gid)
		return false;
	if (S_ISDIR(st->st_mode))
		return true;
	return st->st_size == old->st_size && migrate_ns(st->st_mtim) == migrate_ns(old->st_mtim) &&
	       (moved || migrate_ns(st->st_ctim) == migrate_ns(old->st_ctim));
}

static void note_displaced(struct tree *tree, const struct node *node, GError **error)
{
	if (!*error && ledger_put(tree->ledger, &node->handle, &node->carried, error))
		ledger_commit(tree->ledger, error);
}

int displace_conflict(struct tree *tree, struct node *node, GError **error)
{
	struct ledger_entry *carried = &node->carried;

	tree_conflict(tree, node, CHANGED);
	node->theirs = true;
	carried->generation = 0;
	carried->staged = 0;
	carried->touching = false;
	carried->size = UINT64_MAX; /* never as it is there */
	carried->ctime = -1;
	node->intended = false; /* it is not to be put back */
	note_displaced(tree, node, error);
	return -ECANCELED;
}

static int leave(struct tree *tree, struct node *node)
{
	node->left = LEFT_LATER;
	tree_conflict(tree, node, TARGET_IN_USE);
	return -ECANCELED;
}

/* The node's place is that of an object that is in use: both are left. */
static int leave_over(struct tree *tree, struct node *node, struct node *over)
{
	node->left = LEFT_LATER;
	return leave(tree, over);
}

/* What came out of the node's place could not be seen, or dealt with (ret): nothing more is done
 * with either in this run, and the next one finds both.  Returns ret. */
static int leave_both(struct node *node, struct node *over, int ret)
{
	node->left = over->left = LEFT_LATER;
	node->todo = over->todo = 0;
	return ret;
}

static void park(struct node *node, const char *path)
{
	g_autofree char *name = g_path_get_basename(path);

	place_add(node->at, NULL, name);
}

/* ---- replacing ------------------------------------------------------------------------------- */

/* Deals with the object that came out, which has the attributes st: a former version stays there,
 * one name of several is removed, another object is parked. */
static int take_out(struct tree *tree, struct node *node, struct node *over, const char *out,
		    const struct stat *st)
{
	g_autofree char *parked = in_stage(over, STAGE_PARKED);
	int ret;

	node->former |= over == node;
	if (over == node)
		return 0;
	if (st->st_nlink > 1)
		return target_remove(tree->target, out, false);
	ret = target_rename_new(tree->target, out, parked, false);
	if (!ret)
		park(over, parked);
	return ret;
}

/* Puts what came out (`out`) back into its place, and the object that had been put there (its
 * fileid is `ours`) to `from`.  If somebody replaced that one meanwhile, the object that came
 * instead is newer, and goes back in its turn. */
static int put_back(struct tree *tree, const char *from, const char *to, const char *out,
		    uint64_t ours)
{
	struct stat back, st;

	for (unsigned i = 0; i < ROUNDS; i++, ours = back.st_ino) {
		int ret = target_stat(tree->target, out, &back);
		if (!ret)
			ret = target_replace(tree->target, out, to, from);
		if (!ret)
			ret = target_stat(tree->target, from, &st);
		if (ret || st.st_ino == ours)
			return ret == -ENOENT ? 0 : ret;
		ret = target_rename_new(tree->target, from, out, false);
		if (ret)
			return ret;
	}
	return -EBUSY;
}

int displace_replace(struct tree *tree, struct node *node, const char *from, const char *to,
		     struct node *over, GError **error)
{
	g_autofree char *out = in_stage(over, over == node ? STAGE_FORMER : STAGE_DROPPED);
	const uint64_t ours = node->staged ? node->staged->st_ino : node->old.st_ino;
	struct stat st;
	over->begun = true;
	int ret = target_replace(tree->target, from, to, out);

	if (ret == -EAGAIN)
		return leave_over(tree, node, over);
	if (!ret)
		over->moved = true;
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	ret = target_stat(tree->target, out, &st);
	if (ret)
		return ret == -ENOENT ? 0 : leave_both(node, over, ret);
	const bool known = displace_is_known(over, &st, true);
	const bool goes = known && !target_is_open(tree->target, out);
	ret = goes ? take_out(tree, node, over, out, &st) : put_back(tree, from, to, out, ours);
	if (ret)
		return leave_both(node, over, ret);
	if (goes)
		return 0;
	if (known)
		return leave_over(tree, node, over);
	displace_conflict(tree, over, error);
	return over == node ? -ECANCELED : -EEXIST;
}

/* Whether st is the former version that was noted before it was replaced; *same: and is
 * unchanged. */
static bool is_former(struct tree *tree, const struct node *node, const struct stat *st, bool *same)
{
	struct ledger_entry carried;
	bool former = ledger_get(tree->ledger, &node->handle, &carried) &&
		      carried.fileid == st->st_ino && carried.staged != st->st_ino;

	*same = former && carried.size == (uint64_t)st->st_size &&
		carried.mtime == migrate_ns(st->st_mtim);
	ledger_clear(&carried);
	return former;
}

/* Puts the former version into its place again if the new version is as the way back left it; else
 * both stay. */
static void restore(struct tree *tree, struct node *node, const char *former, const struct stat *st,
		    GError **error)
{
	g_autofree char *to = tree_path(node), *fresh = in_stage(node, STAGE_NEW);
	struct stat now;

	if (to && !target_stat(tree->target, to, &now) && displace_is_known(node, &now, true) &&
	    !target_replace(tree->target, former, to, fresh)) {
		if (!target_stat(tree->target, fresh, &now) && displace_is_known(node, &now, true))
			target_remove(tree->target, fresh, false);
		else
			target_rename_new(tree->target, fresh, former, false);
		node->carried.fileid = st->st_ino;
	}
	node->todo = 0;
	displace_conflict(tree, node, error);
}

bool displace_former(struct tree *tree, struct node *node, GError **error)
{
	g_autofree char *former = in_stage(node, STAGE_FORMER);
	struct stat st;
	bool same;

	if (!node->former)
		return true;
	int ret = target_stat(tree->target, former, &st);
	if (!ret && is_former(tree, node, &st, &same) && same &&
	    !target_is_open(tree->target, former))
		ret = target_remove(tree->target, former, false);
	else if (!ret)
		restore(tree, node, former, &st, error);
	/* over SMB one that others have open (-EBUSY) goes when they close it */
	node->former = ret && ret != -ENOENT && ret != -EBUSY;
	if (node->former)
		node->left = LEFT_LATER;
	return !node->former;
}

int displace_aside(struct tree *tree, const char *name, const struct stat *st, char **aside)
{
	g_autofree char *from = target_path(TARGET_STAGE, name);
	struct node named = {0};
	int ret = -EEXIST;

	if (!ledger_find(tree->ledger, st->st_ino, &named.handle) &&
	    !tree_stage_parse(name, &named.handle))
		return -EINVAL;
	for (unsigned i = 0; i < 2 && ret == -EEXIST; i++) {
		g_autofree char *to = in_stage(&named, STAGE_DROPPED);

		ret = target_rename_new(tree->target, from, to, false);
		if (!ret && aside)
			*aside = g_path_get_basename(to);
		/* another object has that name: name it by its fileid alone */
		const uint64_t fileid = st->st_ino;
		named.handle = (struct migrate_binding){.len = sizeof(fileid)};
		memcpy(named.handle.bytes, &fileid, sizeof(fileid));
	}
	return ret;
}

/* Whether the object at the name of the node's new version, or link, is another one, which came out
 * of its place and was not looked at any more. */
static bool came_out(const struct node *node, const struct stat *st)
{
	const struct ledger_entry *carried = &node->carried;
	const uint64_t ours = carried->staged			 ? carried->staged
			      : node->there && carried->touching ? carried->fileid
								 : 0;

	return ours && st->st_ino != ours && st->st_nlink == 1;
}

static bool take_aside(struct tree *tree, const char *name, const struct stat *st, GError **error)
{
	g_autofree char *aside = NULL;
	int ret = displace_aside(tree, name, st, &aside);

	if (!ret)
		return displace_clean(tree, aside, st, error);
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-ret),
		    "the old server's " TARGET_STAGE
		    "/%s cannot be renamed: %s; it is somebody else's",
		    name, g_strerror(-ret));
	return true;
}

bool displace_clean(struct tree *tree, const char *name, const struct stat *st, GError **error)
{
	g_autofree char *path = target_path(TARGET_STAGE, name);
	struct migrate_binding handle;
	bool same;

	if (S_ISDIR(st->st_mode) || !tree_stage_parse(name, &handle))
		return false;
	struct node *node = tree_node(tree, &handle);
	node->moved |= st->st_nlink > 1; /* its ctime, when that name goes */
	const bool former = is_former(tree, node, st, &same);
	if (*name == STAGE_DROPPED) {
		if (!node->last_path)
			node->last_path = g_strdup(path);
		const bool last = st->st_nlink == 1;
		const bool goes = former && (!last || (same && !node->here));

		if (goes && !(last && target_is_open(tree->target, path)))
			target_remove(tree->target, path, false);
		else if (former && !goes)
			displace_conflict(tree, node, error);
		return true; /* or somebody else's: leftovers_tell() */
	}
	if (!former || !node->there || node->old.st_ino == st->st_ino)
		return *name == STAGE_NEW && came_out(node, st) &&
		       take_aside(tree, name, st, error);
	if (!same)
		restore(tree, node, path, st, error);
	else if (target_is_open(tree->target, path) || target_remove(tree->target, path, false)) {
		node->left = LEFT_LATER; /* the ledger goes on telling of it */
		node->todo = 0;
	}
	return true;
}

/* ---- removing -------------------------------------------------------------------------------- */

/* It keeps another name. */
static bool is_dropped(uint64_t fileid, const struct stat *st)
{
	return st->st_ino == fileid && st->st_nlink > 1;
}

int displace_drop(struct tree *tree, struct node *node, const char *path, GError **error)
{
	g_autofree char *out = in_stage(node, STAGE_DROPPED);
	struct stat st;
	node->begun = true;
	int ret = target_rename_new(tree->target, path, out, false);

	if (!ret)
		ret = target_stat(tree->target, out, &st);
	if (ret)
		return ret == -EAGAIN ? leave(tree, node) : ret;
	const bool dropped = is_dropped(node->old.st_ino, &st);
	if (dropped) {
		node->moved = true;
		ret = target_remove(tree->target, out, false);
		if (!ret)
			return 0;
	}
	target_rename_new(tree->target, out, path, false);
	return dropped ? ret : displace_conflict(tree, node, error);
}

/* The object is at path, which is in TARGET_STAGE where it is parked. */
static int remove_file(struct tree *tree, struct node *node, const char *path, GError **error)
{
	g_autofree char *out = in_stage(node, STAGE_PARKED);
	const bool parked = !strcmp(path, out);
	struct stat st;
	bool known;
	int ret = parked ? 0 : target_rename_new(tree->target, path, out, false);

	if (ret)
		return ret == -EAGAIN ? leave(tree, node) : ret;
	ret = target_stat(tree->target, out, &st);
	if (ret)
		return ret;
	known = displace_is_known(node, &st, true);
	if (known && !target_is_open(tree->target, out)) {
		node->moved = true;
		ret = target_remove(tree->target, out, false);
		if (!ret)
			return 0;
	}
	/* a file that somebody has open by SMB may go only when it is closed, and from
	 * TARGET_STAGE */
	if (!parked && target_rename_new(tree->target, out, path, false) && !ret) {
		g_ptr_array_remove_index(node->at, 0);
		park(node, out);
	}
	return ret ? ret : known ? leave(tree, node) : displace_conflict(tree, node, error);
}

int displace_remove(struct tree *tree, struct node *node, GError **error)
{
	g_autofree char *path = tree_path(node);
	struct stat st;
	int ret = path ? target_stat(tree->target, path, &st) : -ENOENT;

	if (ret)
		return ret;
	if (!displace_is_known(node, &st, node->moved))
		return displace_conflict(tree, node, error);
	node->begun = true;
	return S_ISDIR(st.st_mode) ? target_remove(tree->target, path, true)
				   : remove_file(tree, node, path, error);
}
