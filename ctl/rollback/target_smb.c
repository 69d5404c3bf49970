/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The old server's tree by SMB: each step opens an object by its path, does one thing to it and
 * closes it; a file that is written in place is held open until it has its attributes, too.
 * Objects are known by the server's file numbers, as in the retriever.  A symbolic link in a path
 * is followed by the server, within its share.
 */
#include "ctl/rollback/target.h"

#include <errno.h>
#include <string.h>

#include "common/record.h"
#include "ctl/rollback/target_ops.h"
#include "ctl/rollback/smb_give.h"
#include "ctl/rollback/smb_private.h"
#include "ctl/rollback/smb_set.h"
#include "lib/acl/nt_acl.h"
#include "lib/acl/smb_descriptor.h"
#include "lib/source/smb/smb_listing.h"
#include "lib/source/smb/smb_reply.h"
#include "lib/source/smb/smb_text.h"

#define PROBE TARGET_STAGE "/flushed"

struct smb_target {
	struct target target;
	struct smb_call *call;
	GHashTable *changed;	    /* a set of paths: what is to be flushed with the next sync */
	GHashTable *unsynced;	    /* a set of paths that the last sync could not flush */
	struct smb_private private; /* TARGET_STAGE */
	GHashTable *bare;	    /* in it, without descriptors: path -> whether a directory */
	char *given;		    /* the last object that was given something, or NULL */
	bool refuses;		    /* flushes of directories, which was said */
};

struct smb_file {
	struct target_file file;
	char *path;
	bool written, held;
	struct stat looked; /* st_ino 0: it was not */
	uint32_t had; /* attributes, which come back unless others are given; 0: it has them */
};

static struct smb_call *call_of(const struct target *target)
{
	return ((const struct smb_target *)target)->call;
}

static char *changed_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? g_strndup(path, (gsize)(slash - path)) : g_strdup("");
}

/* Notes that a name has come to the path's directory, or has left it. */
static void note_name(struct target *target, const char *path)
{
	g_hash_table_add(((struct smb_target *)target)->changed, changed_parent(path));
}

/* ---- what can be said ------------------------------------------------------------------------ */

static const char *smb_objection(const char *path, mode_t mode)
{
	if (S_ISLNK(mode))
		return "is a symbolic link, which is not made over SMB";
	if (!S_ISDIR(mode) && !S_ISREG(mode))
		return "is a special file, which SMB does not know";
	return smb_path_ok(path) ? NULL : "has a name, or is below one, that SMB cannot say";
}

/* ---- looking --------------------------------------------------------------------------------- */

/* Finds only an object whose name is spelled in this way: a name that differs in case is another
 * one, though both cannot exist. */
static int smb_stat(struct target *target, const char *path, struct stat *st)
{
	const char *slash = strrchr(path, '/');
	g_autofree char *dir = changed_parent(path);
	struct backend_request req = {.name = slash ? slash + 1 : path};
	int ret = !smb_path_ok(path) ? -ENOENT
				     : smb_ask(call_of(target), &req,
					       *path ? BACKEND_LOOKUP : BACKEND_GETATTR, dir);

	if (ret)
		return ret == -ENOTUNIQ ? -ENOENT : ret;
	*st = (struct stat){.st_ino = req.attr.fileid,
			    .st_mode = req.attr.mode & S_IFMT,
			    .st_nlink = req.attr.nlink,
			    .st_size = (off_t)req.attr.size,
			    .st_atim = migrate_timespec(req.attr.atime),
			    .st_mtim = migrate_timespec(req.attr.mtime),
			    /* a Samba's is the time of the last write, which copies keep */
			    .st_ctim = migrate_timespec(MAX(
				    req.attr.ctime, smb_time(smb_call_created(call_of(target)))))};
	return 0;
}

/* Whether the object has something that no copy of it would be given: a time of creation counts,
 * too. */
static bool keeps_stream(const struct attrs *attrs, const struct source_stream *stream)
{
	g_autofree char *xattr = stream ? smb_attrs_stream(stream->name) : NULL;

	if (!attrs_old(attrs))
		return false;
	if (!stream)
		return !g_hash_table_contains(attrs->xattrs, XATTR_NTACL) ||
		       !g_hash_table_contains(attrs->xattrs, XATTR_DOSATTRIB);
	return !g_hash_table_contains(attrs->xattrs, xattr) && attrs_keeps(attrs, xattr, NULL);
}

/* A stream or audit entries that were not carried, extended attributes, what a reparse point
 * holds. */
static bool smb_holds_more(struct target *target, const char *path, const struct attrs *attrs)
{
	struct source_windows *windows;
	bool more = true;

	if (smb_look(call_of(target), path, &windows))
		return true;
	more = windows->ea_size || windows->streams_unknown || windows->more_streams ||
	       windows->attributes & SMB_ATTR_REPARSE ||
	       (smb_attrs_audits(windows->sd, windows->sd_len) && !smb_attrs_audited(attrs)) ||
	       keeps_stream(attrs, NULL);
	for (guint i = 0; i < windows->streams->len; i++) {
		const struct source_stream *stream =
			&g_array_index(windows->streams, struct source_stream, i);

		if (!g_str_has_prefix(stream->name, "::"))
			more |= !stream->data || keeps_stream(attrs, stream);
	}
	source_windows_free(windows);
	return more;
}

static char *smb_read_link(struct target *target, const char *path, int *ret)
{
	struct backend_request req = {0};

	*ret = smb_ask(call_of(target), &req, BACKEND_READLINK, path);
	return *ret ? NULL : req.text;
}

static int smb_list(struct target *target, const char *path, GHashTable *names)
{
	struct backend_request req = {0};
	int ret = 0;

	while (!ret && !req.eof) {
		ret = smb_ask(call_of(target), &req, BACKEND_READDIR, path);
		for (guint i = 0; !ret && i < req.batch->entries->len; i++) {
			const struct source_entry *entry =
				&g_array_index(req.batch->entries, struct source_entry, i);

			target_add_name(names, entry->name, entry->attr.fileid);
		}
		if (req.batch)
			backend_batch_free(g_steal_pointer(&req.batch));
	}
	return ret;
}

/* ---- changing -------------------------------------------------------------------------------- */

static int make_empty(struct target *target, const char *path, uint32_t options)
{
	const struct wire_change what = {
		.access = READ_ATTRIBUTES, .options = options, .disposition = CREATE};

	note_name(target, path);
	return smb_do(call_of(target), path, "", &what, "");
}

static int smb_mkdir(struct target *target, const char *path)
{
	return make_empty(target, path, DIRECTORY);
}

static int smb_symlink(struct target *target, const char *text, const char *path)
{
	return -EOPNOTSUPP;
}

static int smb_mknod(struct target *target, const char *path, mode_t mode, dev_t device)
{
	return -EOPNOTSUPP;
}

/* An object that was given no descriptor has the one of TARGET_STAGE, which would close it for
 * good. */
static int leave_stage(struct target *target, const char *from, const char *to)
{
	struct smb_target *smb = (struct smb_target *)target;
	g_autofree char *dir = changed_parent(to);
	gpointer directory;
	int ret;

	if (!g_hash_table_lookup_extended(smb->bare, from, NULL, &directory))
		return 0;
	ret = smb_inherit(smb->call, &smb->private, from, dir, GPOINTER_TO_INT(directory));
	if (!ret)
		g_hash_table_remove(smb->bare, from);
	return ret;
}

static int smb_protect_stage(struct target *target)
{
	struct smb_target *smb = (struct smb_target *)target;
	int ret;

	smb_private_clear(&smb->private);
	ret = smb_protect(smb->call, TARGET_STAGE, &smb->private);
	if (!ret && !smb->private.kept)
		g_message("%s: the old server does not keep the descriptor of " TARGET_STAGE
			  ": what is carried can be read there by whoever may read what is made in "
			  "the root, until it is in its place",
			  target->where);
	return ret;
}

/* FileRenameInformation, FileLinkInformation: the name counts from the share's root.  A file is
 * renamed while no other has it open to write. */
static int name_to(struct target *target, const char *from, const char *to, uint32_t class,
		   bool replace, bool directory)
{
	struct wire_change what = {.access = READ_ATTRIBUTES |
					     (class == RENAME ? DELETE : WRITE_ATTRIBUTES),
				   .options = REPARSE_POINT,
				   .disposition = OPEN,
				   .kind = WIRE_SET,
				   .type = INFO_FILE,
				   .class = class,
				   .alone = class == RENAME && !directory};
	const char *base = smb_call_base(call_of(target));
	g_autofree char *path = target_path(base, to);
	g_autofree uint8_t *name = g_malloc(2 * strlen(path) + 1);
	g_autoptr(GByteArray) data = g_byte_array_new();
	long len;
	int ret;

	if (!smb_path_ok(to))
		return -EINVAL;
	if (class == RENAME && (ret = leave_stage(target, from, to)))
		return ret;
	len = smb_text_to_utf16(g_strdelimit(path, "/", '\\'), strlen(path), name);
	if (len < 0)
		return -EINVAL;
	smb_put(data, replace, 8);
	smb_put(data, 0, 8);
	smb_put(data, (uint32_t)len, 4);
	g_byte_array_append(data, name, (guint)len);
	while (data->len < 24)
		smb_put(data, 0, 1);
	note_name(target, from);
	note_name(target, to);
	what.len = data->len;
	return smb_do(call_of(target), from, "", &what, data->data);
}

static int smb_link(struct target *target, const char *from, const char *to)
{
	int ret = name_to(target, from, to, LINK, false, false);

	/* what servers say whose file systems have no links */
	return ret == -EREMOTEIO || ret == -ENOTSUP ? -EOPNOTSUPP : ret;
}

/* Servers mark a file that is renamed for the archive, and may not rename one that is read-only. */
static int rename_file(struct target *target, const char *from, const char *to, bool over)
{
	struct smb_call *call = call_of(target);
	struct source_windows *windows;
	uint32_t attributes, had = 0;
	int ret = smb_look(call, from, &windows);

	if (ret)
		return ret;
	attributes = windows->attributes;
	source_windows_free(windows);
	ret = name_to(target, from, to, RENAME, over, false);
	if (ret == -EACCES) {
		bool was_locked = !smb_make_writable(call, from, &had);

		had = 0;
		was_locked |= over && !smb_make_writable(call, to, &had);
		if (was_locked)
			ret = name_to(target, from, to, RENAME, over, false);
		if (ret && had)
			smb_set_basic(call, to, 0, 0, 0, had);
	}
	if ((attributes & (ARCHIVE | SMB_READONLY)) != ARCHIVE)
		smb_set_basic(call, ret ? from : to, 0, 0, 0, smb_settable(attributes));
	return ret;
}

/* Replaces only an object whose name is spelled in this way: an object with a name in other case
 * would neither be replaced nor get the new name. */
static int smb_rename(struct target *target, const char *from, const char *to, bool directory)
{
	struct stat st;

	return directory ? name_to(target, from, to, RENAME, false, true)
			 : rename_file(target, from, to, !smb_stat(target, to, &st));
}

static int smb_rename_new(struct target *target, const char *from, const char *to, bool directory)
{
	return directory ? name_to(target, from, to, RENAME, false, true)
			 : rename_file(target, from, to, false);
}

static int smb_replace(struct target *target, const char *from, const char *to, const char *out)
{
	int ret = leave_stage(target, from, to); /* before the place is empty */

	if (!ret)
		ret = rename_file(target, to, out, false);
	if (ret)
		return ret;
	ret = rename_file(target, from, to, false);
	if (ret)
		rename_file(target, out, to, false);
	return ret;
}

static int smb_remove(struct target *target, const char *path, bool directory)
{
	const uint32_t options = REPARSE_POINT | (directory ? DIRECTORY : NO_DIRECTORY);
	struct smb_call *call = call_of(target);
	g_autoptr(GByteArray) data = g_byte_array_new();
	uint32_t had;
	int ret;

	smb_put(data, 1, 1);
	note_name(target, path);
	ret = smb_set(call, path, DELETE, options, DISPOSITION, data);
	if (ret == -EACCES && !smb_make_writable(call, path, &had)) {
		ret = smb_set(call, path, DELETE, options, DISPOSITION, data);
		if (ret)
			smb_set_basic(call, path, 0, 0, 0, had);
	}
	return ret ? ret : smb_check_gone(call, path, "");
}

static bool cannot_flush(int ret)
{
	return ret == -EACCES || ret == -EPERM || ret == -EINVAL || ret == -EREMOTEIO ||
	       ret == -ENOTSUP;
}

/* Whether somebody else lets nobody write to it, or the server puts the request off. */
static bool is_busy(int ret)
{
	return ret == -EAGAIN || ret == -EBUSY;
}

/* What has another path now, or none, came by it in a directory that is flushed. */
static bool flush_failed(int ret)
{
	return ret && ret != -ENOENT && ret != -ENOTDIR && !cannot_flush(ret) && !is_busy(ret);
}

/* One that nobody else has. */
static int flush_another(struct target *target)
{
	int ret;

	smb_remove(target, PROBE, false);
	ret = make_empty(target, PROBE, NO_DIRECTORY);
	if (!ret)
		ret = smb_flush(call_of(target), PROBE, "");
	smb_remove(target, PROBE, false);
	return ret;
}

/*
 * What files hold is durable when they were given.  SMB promises nothing of names and attributes:
 * directories whose names have changed are flushed, and the last object that was given something,
 * which takes along what was given before, where the server's file system has one journal.
 */
static int smb_sync(struct target *target)
{
	struct smb_target *smb = (struct smb_target *)target;
	GHashTableIter iter;
	gpointer path;
	int ret;

	g_hash_table_remove_all(smb->unsynced);
	g_hash_table_iter_init(&iter, smb->changed);
	while (g_hash_table_iter_next(&iter, &path, NULL)) {
		ret = smb_flush(smb->call, path, "");
		if (cannot_flush(ret) && !smb->refuses) {
			smb->refuses = true;
			g_message("%s: the old server does not flush directories (%s): what is "
				  "carried back may be lost there if it loses power within the "
				  "next minute",
				  target->where, g_strerror(-ret));
		}
		if (flush_failed(ret))
			return ret;
		if (is_busy(ret))
			g_hash_table_add(smb->unsynced, g_strdup(path));
		else
			g_hash_table_iter_remove(&iter);
	}
	ret = smb->given ? smb_flush(smb->call, smb->given, "") : 0;
	if (is_busy(ret))
		ret = flush_another(target);
	if (is_busy(ret) || flush_failed(ret))
		return ret;
	g_clear_pointer(&smb->given, g_free);
	return 0;
}

static GHashTable *smb_unsynced(struct target *target)
{
	GHashTable *unsynced = ((struct smb_target *)target)->unsynced;

	return g_hash_table_size(unsynced) ? unsynced : NULL;
}

static void smb_sync_names(struct target *target, const char *dir)
{
	g_hash_table_add(((struct smb_target *)target)->changed, g_strdup(dir));
}

/* ---- giving ---------------------------------------------------------------------------------- */

static struct smb_file *smb_file_of(struct target_file *file)
{
	return (struct smb_file *)file;
}

static void note_given(struct target_file *file)
{
	struct smb_target *smb = (struct smb_target *)file->target;

	g_free(smb->given);
	smb->given = g_strdup(smb_file_of(file)->path);
}

static int smb_open(struct target *target, const char *path, bool data, struct target_file **file)
{
	struct smb_file *opened = g_new0(struct smb_file, 1);

	opened->file.target = target;
	opened->path = g_strdup(path);
	*file = &opened->file;
	return 0;
}

static int smb_create(struct target *target, const char *path, struct target_file **file)
{
	int ret = make_empty(target, path, NO_DIRECTORY);

	return ret || !file ? ret : smb_open(target, path, true, file);
}

static int smb_stat_file(struct target_file *file, struct stat *st)
{
	int ret = smb_stat(file->target, smb_file_of(file)->path, st);

	if (!ret)
		smb_file_of(file)->looked = *st;
	return ret;
}

static void smb_close_file(struct target_file *file)
{
	struct smb_file *opened = smb_file_of(file);

	if (opened->had)
		smb_set_basic(call_of(file->target), opened->path, 0, 0, 0, opened->had);
	if (opened->held)
		smb_leave(call_of(file->target), opened->path);
	g_free(opened->path);
	g_free(opened);
}

static int set_size(struct target_file *file, uint64_t size)
{
	const struct wire_change what = {.access = WRITE_DATA,
					 .options = NO_DIRECTORY,
					 .disposition = OPEN,
					 .kind = WIRE_SET,
					 .type = INFO_FILE,
					 .class = END_OF_FILE,
					 .len = 8};
	g_autoptr(GByteArray) data = g_byte_array_new();

	smb_put(data, size, 8);
	return smb_do(call_of(file->target), smb_file_of(file)->path, "", &what, data->data);
}

/* Not before it was looked at: the time of change moves.  From here on nobody else writes to it;
 * who did since it was looked at is found out. */
static int hold_file(struct target_file *file)
{
	struct smb_file *opened = smb_file_of(file);
	const struct stat *looked = &opened->looked;
	int ret = smb_make_writable(call_of(file->target), opened->path, &opened->had);
	struct stat st;

	if (ret && ret != -EACCES)
		return ret;
	if (target_is_stage(file->target, opened->path))
		return 0;
	ret = smb_hold(call_of(file->target), opened->path);
	opened->held = !ret;
	if (!ret)
		ret = smb_stat(file->target, opened->path, &st);
	if (!ret && looked->st_ino &&
	    (st.st_ino != looked->st_ino || st.st_size != looked->st_size ||
	     migrate_ns(st.st_mtim) != migrate_ns(looked->st_mtim)))
		ret = -TARGET_CHANGED;
	return ret;
}

static int smb_resize(struct target_file *file, off_t size)
{
	struct smb_file *opened = smb_file_of(file);
	int ret = opened->written ? 0 : hold_file(file);

	if (ret)
		return ret;
	opened->written = true;
	return set_size(file, (uint64_t)size);
}

static ssize_t smb_read(struct target_file *file, void *data, size_t len, off_t at)
{
	struct smb_call *call = call_of(file->target);
	struct backend_request req = {.offset = (uint64_t)at,
				      .count = (uint32_t)MIN(len, smb_call_max(call))};
	const int ret = smb_ask(call, &req, BACKEND_READ, smb_file_of(file)->path);

	if (ret)
		return ret;
	memcpy(data, req.data, req.data_len);
	return req.data_len;
}

static int smb_write(struct target_file *file, const void *data, size_t len, off_t at)
{
	return smb_write_at(call_of(file->target), smb_file_of(file)->path, "", data, len,
			    (uint64_t)at);
}

/* Before attributes are given, which may forbid it. */
static int smb_sync_file(struct target_file *file)
{
	int ret = 0;

	if (smb_file_of(file)->written)
		ret = smb_flush(call_of(file->target), smb_file_of(file)->path, "");
	smb_file_of(file)->written &= ret != 0;
	return ret;
}

static int compare_given(struct target_file *file, const struct attrs *attrs,
			 const struct volume_config *config)
{
	const char *path = smb_file_of(file)->path;
	struct stat st;
	int ret = smb_stat(file->target, path, &st);

	if (!ret && smb_attrs_time(st.st_mtim) != smb_attrs_time(attrs->st.st_mtim))
		ret = -EAGAIN;
	if (ret || S_ISLNK(attrs->st.st_mode))
		return ret;
	return smb_compare_attrs(call_of(file->target), path, attrs, config);
}

static void note_bare(const struct target_file *file, const struct smb_attrs *smb, bool directory)
{
	const struct smb_target *target = (const struct smb_target *)file->target;
	const char *path = ((const struct smb_file *)file)->path;

	g_hash_table_remove(target->bare, path);
	if (target->private.kept && !smb->sd && g_str_has_prefix(path, TARGET_STAGE "/"))
		g_hash_table_insert(target->bare, g_strdup(path), GINT_TO_POINTER(directory));
}

static int smb_give(struct target_file *file, const struct attrs *attrs,
		    const struct volume_config *config, attrs_lost_fn lost, void *arg)
{
	struct smb_attrs smb;
	int ret = smb_sync_file(file);

	if (ret)
		return ret;
	if (attrs->held)
		return compare_given(file, attrs, config);
	if (S_ISLNK(attrs->st.st_mode))
		return target_file_give_times(file, attrs);
	note_given(file);
	smb_attrs_take(attrs, config, &smb, lost, arg);
	if (!smb.attributes || smb.added)
		smb.attributes |= smb_file_of(file)->had;
	ret = smb_give_attrs(call_of(file->target), smb_file_of(file)->path, &smb, lost, arg);
	if (!ret) {
		smb_file_of(file)->had = 0;
		note_bare(file, &smb, S_ISDIR(attrs->st.st_mode));
	}
	smb_attrs_clear(&smb);
	return ret;
}

static int smb_give_times(struct target_file *file, const struct attrs *attrs)
{
	note_given(file);
	return smb_set_basic(call_of(file->target), smb_file_of(file)->path, 0,
			     smb_attrs_time(attrs->st.st_atim), smb_attrs_time(attrs->st.st_mtim),
			     0);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void smb_close(struct target *target)
{
	struct smb_target *smb = (struct smb_target *)target;

	smb_private_clear(&smb->private);
	smb_call_close(smb->call);
	g_hash_table_unref(smb->changed);
	g_hash_table_unref(smb->unsynced);
	g_hash_table_unref(smb->bare);
	g_free(smb->given);
	g_free(target->where);
	g_free(smb);
}

static const struct target_ops smb_ops = {
	.descriptors = true,
	.folds = true,
	.cannot_write = "give the user of rollback-source the rights to write there",
	.close = smb_close,
	.protect = smb_protect_stage,
	.objection = smb_objection,
	.stat = smb_stat,
	.holds_more = smb_holds_more,
	.read_link = smb_read_link,
	.list = smb_list,
	.mkdir = smb_mkdir,
	.create = smb_create,
	.symlink = smb_symlink,
	.mknod = smb_mknod,
	.link = smb_link,
	.rename = smb_rename,
	.rename_new = smb_rename_new,
	.replace = smb_replace,
	.remove = smb_remove,
	.sync = smb_sync,
	.unsynced = smb_unsynced,
	.sync_names = smb_sync_names,
	.open = smb_open,
	.close_file = smb_close_file,
	.stat_file = smb_stat_file,
	.resize = smb_resize,
	.read = smb_read,
	.write = smb_write,
	.sync_file = smb_sync_file,
	.give = smb_give,
	.give_times = smb_give_times,
};

struct target *target_open_smb(const char *url, const struct volume_config *config, GError **error)
{
	struct smb_call *call = smb_call_open(url, config, error);
	struct smb_target *smb;

	if (!call)
		return NULL;
	smb = g_new0(struct smb_target, 1);
	smb->target.ops = &smb_ops;
	smb->target.where = g_strdup(url);
	smb->call = call;
	smb->bare = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	smb->unsynced = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	smb->changed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return &smb->target;
}
