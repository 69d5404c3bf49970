/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/difference.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ctl/rollback/content.h"
#include "lib/report/fill_notes.h"

static void ignore(void *arg, const char *what)
{
}

static bool is_same_content(struct tree *tree, const struct node *node, const char *path)
{
	struct target_file *there;
	int here, ret;

	if (node->st.st_size != node->old.st_size)
		return false;
	here = tree_open_node(tree, node, O_RDONLY | O_NOATIME);
	ret = here < 0 ? here : target_file_open(tree->target, path, false, &there);
	if (!ret) {
		ret = content_same(here, there, tree->stop);
		target_file_close(there);
	}
	if (here >= 0)
		close(here);
	return ret == 1;
}

/* Whether giving the object there everything that is here would change nothing of it. */
static bool has_attributes(const struct tree *tree, const struct node *node)
{
	g_autofree char *path = tree_path(node);
	int here = tree_open_node(tree, node, O_PATH);
	struct attrs attrs = {0};
	struct attrs_base base;
	struct target_file *there = NULL;
	int ret = here < 0 ? here : attrs_read(here, &attrs);

	tree_base(tree, node, false, &base);
	base.set = true;
	attrs.base = &base;
	attrs.held = true;
	if (!ret)
		ret = path ? target_file_open(tree->target, path, false, &there) : -ENOENT;
	if (!ret)
		ret = target_file_give(there, &attrs, tree->config, ignore, NULL);
	if (there)
		target_file_close(there);
	attrs_clear(&attrs);
	if (here >= 0)
		close(here);
	return !ret;
}

unsigned difference_of(struct tree *tree, struct node *node, unsigned todo)
{
	g_autofree char *path = tree_path(node);

	if (!path)
		return todo;
	if (todo & TODO_DATA) {
		const bool untouched = fill_notes_has(tree->root_fd, &node->st, node->old.st_ino);
		const bool same = (untouched && migrate_ns(node->old.st_ctim) <= tree->switched) ||
				  is_same_content(tree, node, path);

		node->theirs = untouched && !same;
		if (untouched || same)
			todo &= ~(unsigned)TODO_DATA;
	}
	if (todo == TODO_META && has_attributes(tree, node))
		todo = 0;
	if (todo)
		node->why = todo & TODO_DATA
				    ? "may have been changed here, and has other bytes than on the "
				      "old server"
				    : "may have been changed here, and has other attributes than "
				      "on the old server";
	return todo;
}

bool difference_is_none(const struct tree *tree, const struct node *node, const char *path,
			const struct stat *st)
{
	const mode_t type = node->st.st_mode & S_IFMT;
	struct attrs attrs = {0};
	int here, ret;

	if ((st->st_mode & S_IFMT) != type)
		return false;
	if (type != S_IFLNK)
		return (type != S_IFCHR && type != S_IFBLK) || st->st_rdev == node->st.st_rdev;
	g_autofree char *text = target_read_link(tree->target, path, &ret);
	here = text ? tree_open_node(tree, node, O_PATH) : -1;
	const bool same = here >= 0 && !attrs_read(here, &attrs) && !strcmp(attrs.target, text);
	attrs_clear(&attrs);
	if (here >= 0)
		close(here);
	return same;
}

/* ---- others ---------------------------------------------------------------------------------- */

/* The latest time that a server may have kept as t: many keep times in whole seconds, or in steps
 * of two (server_clock.h). */
static int64_t last_of(struct timespec t)
{
	return migrate_ns(t) + (t.tv_nsec % 1000000 ? 0 : 2 * INT64_C(1000000000) - 1);
}

static bool is_as_carried(const struct node *node)
{
	const struct ledger_entry *carried = &node->carried;
	const int64_t mtime = migrate_ns(node->old.st_mtim), given = carried->staged_mtime;

	/* its data were being written, or are what they were; while there is a ctime, nothing was
	 * begun */
	if (carried->touching && !carried->ctime)
		return !carried->version || S_ISDIR(node->old.st_mode) ||
		       (carried->size == (uint64_t)node->old.st_size &&
			(mtime == carried->mtime || mtime / 100 == given / 100 ||
			 (mtime < given && given <= last_of(node->old.st_mtim))));
	if (!S_ISDIR(node->old.st_mode) && (carried->size != (uint64_t)node->old.st_size ||
					    carried->mtime != migrate_ns(node->old.st_mtim)))
		return false;
	return !carried->ctime || carried->ctime == migrate_ns(node->old.st_ctim);
}

int64_t difference_version(const struct node *node)
{
	return node->was_carried && node->carried.version && is_as_carried(node)
		       ? node->carried.version
		       : migrate_ns(node->old.st_ctim);
}

/* Whether the object's stub knows the ctime of the old server's object. */
static bool stub_knows(const struct tree *tree, const struct node *node)
{
	struct migrate_stub stub;
	const bool knows = tree_load_stub(tree, node, &stub) &&
			   stub.version.fileid == node->old.st_ino &&
			   stub.version.ctime == difference_version(node) &&
			   stub.version.mtime == migrate_ns(node->old.st_mtim);

	migrate_stub_clear(&stub);
	return knows;
}

/* Samba tells the time of modification as that of change. */
static bool has_no_ctime(const struct tree *tree, const struct node *node)
{
	return target_has_descriptors(tree->target) &&
	       migrate_ns(node->old.st_ctim) == migrate_ns(node->old.st_mtim);
}

/* Whether the object there is what is here, and would lose nothing if it were given everything that
 * is here. */
static bool is_the_same(const struct tree *tree, const struct node *node)
{
	const mode_t mode = target_has_descriptors(tree->target) ? S_IFMT : ~(mode_t)0;
	const int64_t mtime = migrate_ns(node->old.st_mtim);

	return node->here && (node->st.st_mode & mode) == (node->old.st_mode & mode) &&
	       (S_ISDIR(node->st.st_mode) || node->st.st_size == node->old.st_size) &&
	       migrate_ns(node->st.st_mtim) / 100 == mtime / 100 && /* SMB's steps */
	       (has_no_ctime(tree, node) || has_attributes(tree, node));
}

/* Whether nobody else has touched the object on the old server since the way back left it, or since
 * the switch, as far as its times tell. */
static bool is_untouched(const struct tree *tree, const struct node *node)
{
	return node->was_carried ? is_as_carried(node)
				 : last_of(node->old.st_ctim) <= tree->switched;
}

/* If no ctime tells when it got the name, one name of several may come from a gap of the
 * journal. */
bool difference_is_renamed(const struct tree *tree, const struct node *node)
{
	const struct ledger_entry *carried = &node->carried;
	const bool untold = (node->was_carried && (carried->touching || !carried->ctime)) ||
			    has_no_ctime(tree, node);

	return node->strayed &&
	       (!is_untouched(tree, node) ||
		(untold && (tree_has_one_name(node) || !(node->flags & JOURNAL_SCANNED))));
}

bool difference_root_is_as_left(const struct tree *tree)
{
	const int64_t ctime = target_root_ctime(tree->target);

	/* unless the killed run saw that it was changed */
	const bool ours =
		tree->killed && target_was_left(tree->target) && tree->root->carried.ctime >= 0;

	if (tree->root_ctime)
		return tree->root_ctime == ctime || (tree->root_ctime > 0 && ours);
	return ours || last_of(migrate_timespec(ctime)) <= tree->switched;
}

bool difference_by_others(const struct tree *tree, const struct node *node)
{
	if (node == tree->root ? difference_root_is_as_left(tree) : is_untouched(tree, node))
		return false;
	if (!node->why && is_the_same(tree, node))
		return false;
	return node->was_carried || !stub_knows(tree, node);
}

bool difference_of_rights(const struct tree *tree, const struct node *node)
{
	const bool differs = difference_by_others(tree, node) && !has_attributes(tree, node);
	int here = differs ? tree_open_node(tree, node, O_PATH) : -1;
	struct attrs attrs = {0};
	const bool given = here >= 0 && !attrs_read_times(here, &attrs) &&
			   !(attrs.left.what & (LEFT_ACL | LEFT_MODE | LEFT_OWNER));

	if (here >= 0)
		close(here);
	return given;
}
