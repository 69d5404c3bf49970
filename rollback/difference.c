/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "difference.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "content.h"
#include "volume/fill_notes.h"

static void ignore(void *arg, const char *what)
{
	(void)arg;
	(void)what;
}

static bool is_same_content(struct tree *tree, const struct node *node, const char *path)
{
	struct old_file *there;
	int here, ret;

	if (node->st.st_size != node->old.st_size)
		return false;
	here = tree_open_node(tree, node, O_RDONLY | O_NOATIME);
	ret = here < 0 ? here : old_file_open(tree->old, path, false, &there);
	if (!ret) {
		ret = content_same(here, there, tree->stop);
		old_file_close(there);
	}
	if (here >= 0)
		close(here);
	return ret == 1;
}

bool difference_has_attributes(const struct tree *tree, const struct node *node)
{
	g_autofree char *path = tree_path(node);
	int here = tree_open_node(tree, node, O_PATH);
	struct attrs attrs = {0};
	struct attrs_base base;
	struct old_file *there = NULL;
	int ret = here < 0 ? here : attrs_read(here, &attrs);

	tree_base(tree, node, false, &base);
	base.set = true;
	attrs.base = &base;
	attrs.held = true;
	if (!ret)
		ret = path ? old_file_open(tree->old, path, false, &there) : -ENOENT;
	if (!ret)
		ret = old_file_give(there, &attrs, tree->config, ignore, NULL);
	if (there)
		old_file_close(there);
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
	if (todo == TODO_META && difference_has_attributes(tree, node))
		todo = 0;
	if (todo)
		node->differs =
			todo & TODO_DATA
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
	g_autofree char *text = old_read_link(tree->old, path, &ret);
	here = text ? tree_open_node(tree, node, O_PATH) : -1;
	const bool same = here >= 0 && !attrs_read(here, &attrs) && !strcmp(attrs.target, text);
	attrs_clear(&attrs);
	if (here >= 0)
		close(here);
	return same;
}
