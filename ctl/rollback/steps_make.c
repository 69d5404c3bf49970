/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/steps_make.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "ctl/rollback/attrs.h"
#include "ctl/rollback/content.h"

#define TRIES 3

static void lose_step(void *arg, const char *what)
{
	struct making *making = arg;

	if (!making->losses)
		making->losses = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(making->losses, g_strdup(what));
}

int steps_give_content(const struct carry *carry, struct making *making, struct target_file *to,
		       bool data)
{
	const struct node *node = making->node;
	const bool regular = S_ISREG(node->st.st_mode);
	int from =
		tree_open_node(carry->tree, node, regular && data ? O_RDONLY | O_NOATIME : O_PATH);
	struct attrs attrs = {0};
	int ret = from < 0 ? from : -EAGAIN;

	for (unsigned i = 0; i < TRIES && ret == -EAGAIN; i++) {
		attrs_clear(&attrs);
		ret = attrs_read(from, &attrs);
		if (!ret && data && regular && attrs.partial)
			ret = -EAGAIN;
		if (!ret && data && regular)
			ret = content_copy(carry->content, from, to, &making->bytes);
	}
	struct attrs_base base;
	tree_base(carry->tree, node, making->new_one, &base);
	attrs.base = &base;
	attrs.gave = &making->given;
	attrs.written = data && regular;
	/* clients have written meanwhile: a kill would leave a time that nobody knows */
	if (!ret && !data && regular && attrs_mtime(&attrs) != node->carried.staged_mtime)
		ret = -EAGAIN;
	attrs.held =
		attrs.partial && (carry->tree->serving ||
				  migrate_ns(attrs.st.st_mtim) != migrate_ns(node->old.st_mtim));
	making->size = attrs.st.st_size;
	if (!ret)
		ret = target_file_give(to, &attrs, carry->tree->config, lose_step, making);
	attrs_clear(&attrs);
	if (from >= 0)
		close(from);
	return ret;
}

/* *file: of a regular one, to be written. */
static int make_step(const struct carry *carry, const struct node *node, const char *path,
		     struct target_file **file)
{
	struct target *target = carry->tree->target;
	struct attrs attrs;
	int fd, ret;

	switch (node->st.st_mode & S_IFMT) {
	case S_IFDIR:
		return target_mkdir(target, path);
	case S_IFREG:
		return target_create(target, path, file);
	case S_IFLNK:
		fd = tree_open_node(carry->tree, node, O_PATH);
		if (fd < 0)
			return fd;
		ret = attrs_read(fd, &attrs);
		if (!ret)
			ret = target_symlink(target, attrs.target, path);
		attrs_clear(&attrs);
		close(fd);
		return ret;
	default:
		return target_mknod(target, path, node->st.st_mode, node->st.st_rdev);
	}
}

/* file: the open one, which is closed; NULL: it is not open yet. */
static int fill_step(const struct carry *carry, struct making *making, const char *path,
		     struct target_file *file)
{
	struct target *target = carry->tree->target;
	int ret = file ? 0 : target_file_open(target, path, false, &file);

	if (!ret) {
		ret = steps_give_content(carry, making, file, true);
		target_file_close(file);
	}
	if (!ret)
		ret = target_stat(target, path, &making->there);
	return ret;
}

void steps_make(const struct carry *carry, struct making *making)
{
	const struct node *node = making->node;
	const bool directory = S_ISDIR(node->st.st_mode);
	g_autofree char *name = tree_stage_name(node, STAGE_NEW);
	g_autofree char *path = target_path(TARGET_STAGE, name);

	struct target_file *file = NULL;

	making->new_one = true;
	making->ret = *carry->stop ? -ECANCELED : make_step(carry, node, path, &file);
	if (making->ret == -EEXIST) {
		target_remove(carry->tree->target, path, directory);
		making->ret = make_step(carry, node, path, &file);
	}
	if (making->ret == -ECANCELED)
		return;
	if (!making->ret)
		making->ret = fill_step(carry, making, path, file);
	if (making->ret)
		target_remove(carry->tree->target, path, directory);
}
