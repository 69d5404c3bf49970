/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/old_handles.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "retriever/objects/state.h"

/* What dir_fd has there. */
static int bind(const uint8_t *handle, uint8_t len, uint64_t fileid, int dir_fd, const char *name,
		struct migrate_alias *alias, uint64_t *inode)
{
	struct stat st;
	int result;

	*inode = 0;
	*alias = (struct migrate_alias){.old_len = len, .fileid = fileid};
	result = migrate_alias_bind(dir_fd, name, alias);
	if (result)
		return result;
	if (fstatat(dir_fd, name, &st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (len == 0 || len > sizeof(alias->old))
		return -EINVAL;
	memcpy(alias->old, handle, len);
	*inode = st.st_ino;
	return 0;
}

bool old_handles_are_wanted(const struct retriever *retriever)
{
	return retriever->old_index != NULL;
}

/* The first is told; there may be as many as objects. */
static void warn_of_lost_handle(struct retriever *retriever, const char *name, int err)
{
	if (g_atomic_int_compare_and_exchange(&retriever->old_handle_lost, 0, 1))
		g_warning("%s: %s.all: the takeover handle of %s is lost: %s; make room there: "
			  "clients "
			  "that hold such objects open meet ESTALE (said once)",
			  retriever->config->name, retriever->config->takeover_file, name,
			  g_strerror(err));
}

/* It has its name. */
static int put_handle(struct retriever *retriever, uint64_t inode,
		      const struct migrate_alias *alias)
{
	uint64_t at;
	int result = migrate_old_index_add(retriever->old_index, inode, alias, &at);

	return result ? result : migrate_old_index_name(retriever->old_index, at);
}

static void put_or_tell(struct retriever *retriever, const char *name, uint64_t inode,
			const struct migrate_alias *alias)
{
	int result = put_handle(retriever, inode, alias);

	if (result)
		warn_of_lost_handle(retriever, name, -result);
}

static bool is_same(const struct migrate_alias *a, const struct migrate_alias *b)
{
	return a->len == b->len && !memcmp(a->handle, b->handle, a->len) &&
	       a->old_len == b->old_len && !memcmp(a->old, b->old, a->old_len);
}

uint64_t old_handles_add(struct retriever *retriever, const struct source_entry *entry, int dir_fd,
			 const char *name)
{
	struct migrate_alias alias;
	uint64_t inode, at = 0;
	int result;

	if (!retriever->old_index)
		return 0;
	result = bind(entry->handle, entry->handle_len, entry->attr.fileid, dir_fd, name, &alias,
		      &inode);
	if (!result)
		result = migrate_old_index_add(retriever->old_index, inode, &alias, &at);
	if (!result)
		return at;
	warn_of_lost_handle(retriever, entry->name, -result);
	return 0;
}

void old_handles_name(struct retriever *retriever, const struct source_entry *entry, uint64_t added)
{
	int result = added ? migrate_old_index_name(retriever->old_index, added) : 0;

	if (result)
		warn_of_lost_handle(retriever, entry->name, -result);
}

void old_handles_name_again(struct retriever *retriever, const struct source_entry *entry,
			    int dir_fd, const char *name)
{
	struct migrate_alias alias, known;
	uint64_t inode;

	if (retriever->old_index &&
	    bind(entry->handle, entry->handle_len, entry->attr.fileid, dir_fd, name, &alias,
		 &inode) == 0 &&
	    migrate_old_index_find_inode(retriever->old_index, inode, &known) &&
	    is_same(&known, &alias))
		put_or_tell(retriever, entry->name, inode, &alias);
}

void old_handles_restore(struct retriever *retriever, const struct source_object *source,
			 uint64_t fileid, int fd)
{
	struct migrate_alias alias, known;
	uint64_t inode;

	if (!retriever->old_index ||
	    bind(source->handle, source->handle_len, fileid, fd, "", &alias, &inode) != 0 ||
	    migrate_old_index_find(retriever->old_index, alias.old, alias.old_len, &known))
		return;
	if (!migrate_old_index_find_inode(retriever->old_index, inode, &known) ||
	    known.len != alias.len || memcmp(known.handle, alias.handle, alias.len) != 0 ||
	    is_same(&known, &alias))
		put_or_tell(retriever, source->path ? source->path : "an object", inode, &alias);
}

bool old_handles_find(const struct retriever *retriever, const struct source_object *object,
		      struct migrate_binding *key)
{
	struct migrate_alias alias;

	if (!migrate_old_index_find(retriever->old_index, object->handle, object->handle_len,
				    &alias) ||
	    alias.len > sizeof(key->bytes))
		return false;
	*key = (struct migrate_binding){.type = (uint8_t)alias.type, .len = alias.len};
	memcpy(key->bytes, alias.handle, alias.len);
	return true;
}

void old_handles_save(struct retriever *retriever)
{
	enum volume_state state;
	int result;

	if (!retriever->old_index)
		return;
	result = migrate_old_index_sync(retriever->old_index);
	if (result)
		warn_of_lost_handle(retriever, "what was made last", -result);
	state = volume_state(retriever);
	result = migrate_old_index_set_complete(
		retriever->old_index,
		state == VOLUME_WHOLE || state == VOLUME_FINISHED ||
			(state == VOLUME_MIGRATING &&
			 !migrate_old_index_is_doubted(retriever->old_index) &&
			 COUNT_GET(retriever, exact) && COUNT_GET(retriever, unfilled) == 0));
	if (result)
		warn_of_lost_handle(retriever, "whether all are known", -result);
}

/* How many there may be; where inodes are not counted, one for each 16 KiB, as ext4 has them. */
static uint64_t objects_of(const struct statvfs *fs)
{
	return fs->f_files ? fs->f_files : (uint64_t)fs->f_blocks * fs->f_frsize >> 14;
}

bool old_handles_open(struct retriever *retriever, GError **error)
{
	g_autofree char *file = g_strconcat(retriever->config->takeover_file, ".all", NULL);
	const struct source_object *root = &retriever->source_root;
	struct statvfs fs;
	struct migrate_alias alias, known;
	uint64_t inode;
	int result;

	if (retriever->config->takeover != TAKEOVER_ALL || retriever->copying)
		return true;
	result = fstatvfs(retriever->root_fd, &fs) < 0 ? -errno : 0;
	if (!result)
		result = migrate_old_index_create(file, objects_of(&fs), &retriever->old_index);
	if (!result)
		result = bind(root->handle, root->handle_len, retriever->source_root_attr.fileid,
			      retriever->root_fd, "", &alias, &inode);
	if (!result) {
		if (!migrate_old_index_find_inode(retriever->old_index, inode, &known) &&
		    volume_state(retriever) != VOLUME_UNATTACHED)
			result = migrate_old_index_doubt(retriever->old_index); /* another file */
		if (!result)
			result = put_handle(retriever, inode, &alias);
	}
	if (result)
		g_set_error(
			error, RETRIEVER_ERROR, 0, "[volume %s] takeover = all: %s: %s; %s",
			retriever->config->name, file, g_strerror(-result),
			result == -EBADMSG
				? "it is damaged, or no file of ours: move it away, and it is made "
				  "anew; clients that hold open what is whole already meet ESTALE"
				: "it has to be kept there, or set takeover-file");
	return !result;
}

void old_handles_close(struct retriever *retriever)
{
	old_handles_save(retriever);
	migrate_old_index_close(retriever->old_index);
	retriever->old_index = NULL;
}
