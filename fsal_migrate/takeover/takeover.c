/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/takeover/takeover.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abstract_mem.h"
#include "export_mgr.h"
#include "nfs_exports.h"
#include "nfs_fh.h"
#include "nfs_file_handle.h"
#include "fsal_migrate/takeover/takeover_handles.h"
#include "fsal_migrate/takeover/takeover_objects.h"
#include "fsal_migrate/takeover/takeover_server.h"

/* First in the order of locks, and the only one that is held across calls of the FSAL below.  No
 * request waits for it, except those of clients that mount. */
static pthread_mutex_t refreshing = PTHREAD_MUTEX_INITIALIZER;

/* ---- a handle of the host's ------------------------------------------------------------------ */

/* Finds where the directory is now: 0 or -errno. */
static int find_path(const struct mg_volume *volume, const struct migrate_alias *alias, char *path,
		     struct stat *st)
{
	char link[sizeof("/proc/self/fd/") + 12];
	int fd = migrate_open_handle(volume->mount_fd, alias->type, alias->handle, alias->len,
				     O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
	ssize_t len;
	int result = 0;

	if (fd < 0)
		return fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, PATH_MAX - 1);
	if (len < 0 || fstat(fd, st) < 0)
		result = -errno;
	else
		path[len] = '\0';
	close(fd);
	return result;
}

static bool is_below_top(const char *path, const char *top)
{
	size_t len = strlen(top);

	return !strcmp(top, "/") || (!strncmp(path, top, len) && (!path[len] || path[len] == '/'));
}

/* Whether the old server's handle is also the handle of another object here. */
static bool is_taken(struct fsal_export *below, const struct migrate_alias *alias)
{
	const file_handle_v3_t *own = (const void *)alias->old;
	char bytes[NFS3_FHSIZE];
	struct gsh_buffdesc fh = {.addr = bytes};
	struct fsal_obj_handle *sub = NULL;

	if (alias->old_len <= offsetof(file_handle_v3_t, fsopaque) ||
	    own->fhversion != GANESHA_FH_VERSION ||
	    ntohs(own->exportid) != op_ctx->ctx_export->export_id ||
	    own->fs_len > alias->old_len - offsetof(file_handle_v3_t, fsopaque))
		return false;
	fh.len = own->fs_len;
	memcpy(bytes, own->fsopaque, own->fs_len);
	if (FSAL_IS_ERROR(
		    below->exp_ops.wire_to_host(below, FSAL_DIGEST_NFSV3, &fh, own->fhflags1)) ||
	    FSAL_IS_ERROR(below->exp_ops.create_handle(below, &fh, &sub, NULL)))
		return false;
	sub->obj_ops->release(sub);
	return true;
}

/* Makes a handle of NFS version 3 as the host does (nfs_fh.h).  Between enter and leave. */
static bool encode(struct fsal_obj_handle *sub, struct mg_takeover_handle *handle)
{
	file_handle_v3_t *own = (void *)handle->own;
	struct gsh_buffdesc opaque = {.addr = own->fsopaque,
				      .len = NFS3_FHSIZE - offsetof(file_handle_v3_t, fsopaque)};

	if (FSAL_IS_ERROR(sub->obj_ops->handle_to_wire(sub, FSAL_DIGEST_NFSV3, &opaque)))
		return false;
	own->fhversion = GANESHA_FH_VERSION;
#if (BYTE_ORDER == BIG_ENDIAN)
	own->fhflags1 = FH_FSAL_BIG_ENDIAN;
#endif
	own->fs_len = (uint8_t)opaque.len;
	own->exportid = htons(handle->export_id);
	handle->own_len = (uint8_t)nfs3_sizeof_handle(own);
	return true;
}

/* Between enter and leave.  NULL, or why no handle can be made; "": none has to be. */
static const char *make_own(struct mg_export *export, const struct migrate_alias *alias,
			    struct mg_takeover_handle *handle)
{
	struct fsal_export *below = export->fsal.sub_export;
	struct fsal_obj_handle *sub = NULL;
	char path[PATH_MAX];
	bool made;
	struct stat st;

	if (find_path(export->volume, alias, path, &st) < 0)
		return "the directory is gone";
	if (!is_below_top(path, CTX_FULLPATH(op_ctx)))
		return ""; /* the directory belongs to another export */
	if (FSAL_IS_ERROR(below->exp_ops.lookup_path(below, path, &sub, NULL)))
		return "the directory cannot be looked up";
	made = sub->fileid == st.st_ino && encode(sub, handle);
	sub->obj_ops->release(sub);
	if (!made)
		return "the directory is being moved";
	if (handle->own_len == alias->old_len && !memcmp(handle->own, alias->old, alias->old_len))
		return ""; /* both handles are the same */
	return is_taken(below, alias) ? "another directory here has that handle" : NULL;
}

/* ---- an export's ----------------------------------------------------------------------------- */

/* In an operation; list stays for ever. */
static void publish_aliases(struct mg_export *export, struct migrate_alias *list, size_t n)
{
	struct mg_takeover_handle *handles = gsh_calloc(n + 1, sizeof(handles[0]));
	struct mg_takeover *takeover = &export->takeover;
	size_t ready = 0;

	mg_enter();
	for (size_t i = 0; i < n; i++) {
		struct mg_takeover_handle *handle = &handles[ready];
		const char *why;

		memset(handle, 0, sizeof(*handle));
		handle->alias = &list[i];
		handle->export_id = op_ctx->ctx_export->export_id;
		handle->depth = strlen(CTX_FULLPATH(op_ctx));
		handle->clients = takeover->clients;
		why = make_own(export, &list[i], handle);
		if (!why)
			ready++;
		else if (*why)
			LogCrit(COMPONENT_FSAL,
				"Volume %s: clients that have %s of the old server mounted have "
				"to mount it anew: %s",
				export->volume->name, list[i].path, why);
	}
	mg_leave(export);
	mg_takeover_handles_set(export, handles, ready, takeover->objects);
	gsh_free(handles);
	LogEvent(COMPONENT_FSAL, "Volume %s: takeover handles that are known for export %u: %zu",
		 export->volume->name, op_ctx->ctx_export->export_id, ready);
}

/* Between enter and leave. */
static bool make_pattern(struct mg_export *export, struct mg_takeover_objects *objects)
{
	struct fsal_export *below = export->fsal.sub_export;
	struct mg_takeover_handle root = {.export_id = objects->export_id};
	struct migrate_alias alias;
	struct fsal_obj_handle *sub = NULL;
	const char *path = CTX_FULLPATH(op_ctx);
	bool made;

	if (migrate_alias_bind(AT_FDCWD, path, &alias) < 0 ||
	    FSAL_IS_ERROR(below->exp_ops.lookup_path(below, path, &sub, NULL)))
		return false;
	made = encode(sub, &root) &&
	       mg_takeover_objects_set_pattern(objects, root.own, root.own_len, alias.handle,
					       alias.len);
	sub->obj_ops->release(sub);
	return made;
}

/* Whether the export is that of the source's root: it answers for all that is below. */
static bool is_top(const struct mg_export *export, const struct migrate_alias *list, size_t n)
{
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].path, ".") &&
		    find_path(export->volume, &list[i], path, &st) == 0)
			return !strcmp(path, CTX_FULLPATH(op_ctx));
	return false;
}

/* Whether there is an index of all objects by now. */
static bool has_more(const struct mg_takeover *takeover)
{
	char *file = gsh_concat(takeover->file, ".all");
	bool more = !takeover->all_known && access(file, F_OK) == 0;

	gsh_free(file);
	return more;
}

/* NULL, or why the objects cannot be translated.  Between enter and leave. */
static const char *make_objects(struct mg_export *export, struct mg_takeover_objects *objects)
{
	char *file = gsh_concat(export->takeover.file, ".all");
	int result = migrate_old_index_open(file, &objects->index);

	gsh_free(file);
	if (result < 0)
		return strerror(-result);
	if (op_ctx_export_has_option(EXPORT_OPTION_USE_COOKIE_VERIFIER))
		return "the export needs UseCookieVerifier = false";
	return make_pattern(export, objects)
		       ? NULL
		       : "handles of the FSAL below are not made from the kernel's";
}

/* refreshing; in an operation.  The index stays for ever. */
static void open_objects(struct mg_export *export)
{
	struct mg_takeover *takeover = &export->takeover;
	struct mg_takeover_objects *objects = gsh_calloc(1, sizeof(*objects));
	const char *why;

	objects->clients = takeover->clients;
	objects->export_id = op_ctx->ctx_export->export_id;
	mg_enter();
	why = make_objects(export, objects);
	mg_leave(export);
	if (!why) {
		objects->server = mg_takeover_server_new(export);
		takeover->objects = objects;
		return;
	}
	LogCrit(COMPONENT_FSAL,
		"Volume %s: %s.all: %s: clients that hold something open get ESTALE",
		export->volume->name, takeover->file, why);
	migrate_old_index_close(objects->index);
	gsh_free(objects);
}

/* Takes the objects away; they are not freed, as requests may still look at them. */
static void drop_objects(struct mg_export *export)
{
	if (export->takeover.objects)
		mg_takeover_server_close(export->takeover.objects->server);
	export->takeover.objects = NULL;
}

static void forget_aliases(struct mg_export *export)
{
	if (!export->takeover.known)
		return;
	export->takeover.known = export->takeover.all_known = false;
	drop_objects(export);
	mg_takeover_handles_set(export, NULL, 0, NULL);
	LogEvent(COMPONENT_FSAL, "Volume %s: %s is gone: no takeover handles are known any more",
		 export->volume->name, export->takeover.file);
}

/* refreshing */
static void take(struct mg_export *export, const struct stat *st)
{
	struct mg_takeover *takeover = &export->takeover;
	struct migrate_alias *list;
	size_t n;
	int result = migrate_aliases_load(takeover->file, &list, &n);

	takeover->st = *st; /* also if the file makes no sense: that is told only once */
	if (result < 0) {
		LogCrit(COMPONENT_FSAL,
			"Volume %s: %s cannot be used (%s): the takeover handles that were known "
			"before "
			"are; make it anew with migratectl takeover %s prepare",
			export->volume->name, takeover->file, strerror(-result),
			export->volume->name);
		return;
	}
	takeover->known = true;
	if (has_more(takeover)) {
		takeover->all_known = true;
		if (is_top(export, list, n))
			open_objects(export);
	}
	publish_aliases(export, list, n);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void mg_takeover_refresh(struct mg_export *export)
{
	struct mg_takeover *takeover = &export->takeover;
	struct stat st;

	if (!takeover->file)
		return;
	pthread_mutex_lock(&refreshing);
	if (stat(takeover->file, &st) == 0) {
		if (!takeover->known || !is_same_file(&st, &takeover->st) || has_more(takeover))
			take(export, &st);
	} else if (errno == ENOENT) {
		forget_aliases(export);
	}
	pthread_mutex_unlock(&refreshing);
}

int mg_takeover_open(struct mg_export *export, const char *file)
{
	struct mg_takeover *takeover = &export->takeover;
	struct migrate_alias *list;
	char *clients;
	size_t n;
	int result;

	if (!file || !*file)
		return 0;
	result = migrate_aliases_load(file, &list, &n);
	migrate_aliases_free(list, n);
	if (result < 0 && result != -ENOENT) {
		LogMajor(COMPONENT_FSAL,
			 "Volume %s: Takeover: %s cannot be used (%s): make it anew with "
			 "migratectl takeover %s prepare, or take the line out",
			 export->volume->name, file, strerror(-result), export->volume->name);
		return -EBADMSG;
	}
	if (result == -ENOENT)
		LogWarn(COMPONENT_FSAL,
			"Volume %s: Takeover: there is no %s yet: no takeover handle is known "
			"before "
			"migratectl takeover %s prepare",
			export->volume->name, file, export->volume->name);
	clients = gsh_concat(file, ".clients");
	takeover->clients = mg_takeover_clients_of(clients);
	gsh_free(clients);
	takeover->file = gsh_strdup(file);
	return 0;
}

void mg_takeover_close(struct mg_export *export)
{
	if (!export->takeover.file)
		return;
	mg_takeover_handles_set(export, NULL, 0, NULL);
	drop_objects(export);
	mg_takeover_clients_save(export->takeover.clients, true);
	gsh_free(export->takeover.file);
	export->takeover.file = NULL;
}

/* ---- the dispatcher's ------------------------------------------------------------------------ */

static void tick_takeover(struct mg_export *export)
{
	struct gsh_export *gsh = get_gsh_export(export->fsal.export_id);
	struct req_op_context context;

	mg_takeover_clients_save(export->takeover.clients, false);
	if (!gsh)
		return; /* it is not in service yet */
	init_op_context_simple(&context, gsh, &export->fsal);
	mg_takeover_refresh(export);
	release_op_context();
}

void mg_takeover_tick(struct mg_volume *volume)
{
	struct mg_export **exports;
	struct glist_head *link;
	unsigned n = 0;

	pthread_mutex_lock(&volume->lock);
	exports = gsh_calloc(glist_length(&volume->export_list) + 1, sizeof(exports[0]));
	glist_for_each(link, &volume->export_list)
	{
		struct mg_export *export = glist_entry(link, struct mg_export, link);

		if (export->takeover.file && !export->closing) {
			export->pending++;
			exports[n++] = export;
		}
	}
	pthread_mutex_unlock(&volume->lock);
	for (unsigned i = 0; i < n; i++) {
		tick_takeover(exports[i]);
		mg_pending_end(exports[i]);
	}
	gsh_free(exports);
}

void mg_takeover_end(void)
{
	mg_takeover_handles_end();
}
