/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A directory that clients have mounted has two names in the file: the old server's handle, and the
 * handle of its inode here, which stays the same whatever becomes of the directory's name.  So the
 * directory must have been made here before, but nothing in it.
 */
#include "ctl/takeover_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"
#include "ctl/ctl.h"
#include "lib/source/ask.h"
#include "ctl/discover/mounts.h"
#include "lib/base/error.h"
#include "lib/base/spawn.h"

#define NAME_SECONDS 60 /* for one directory's name */

struct making {
	const struct volume_config *config;
	struct mounts_server server;
	const char *top; /* the source's path */
	struct migrate_volume *volume;
	int root_fd;
	GArray *aliases; /* of struct migrate_alias */
	struct takeover_made *made;
};

static void leave_out(struct making *making, const char *path, const char *why)
{
	g_autofree char *shown = g_strescape(path, NULL);

	making->made->left_out++;
	ctl_complain("%s: clients that have %s mounted have to mount it anew: %s",
		     making->config->name, shown, why);
}

/* ---- which directories ----------------------------------------------------------------------- */

/* The path below the source's, "." for that; NULL: it is neither that nor below. */
static const char *path_below(const char *top, const char *path)
{
	const size_t len = strcmp(top, "/") ? strlen(top) : 0;

	if (strncmp(path, top, len) || (path[len] && path[len] != '/'))
		return NULL;
	path += len;
	while (*path == '/')
		path++;
	return *path ? path : ".";
}

static void add_path(struct making *making, GPtrArray *paths, const char *told)
{
	g_autofree char *path = g_strdup(told);

	for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	if (!path_below(making->top, path) ||
	    g_ptr_array_find_with_equal_func(paths, path, g_str_equal, NULL))
		return;
	for (const char *at = path; *at; at++)
		if (g_ascii_iscntrl(*at)) {
			leave_out(making, path, "its name has control characters");
			return;
		}
	if (paths->len < MIGRATE_ALIASES_MAX)
		g_ptr_array_add(paths, g_steal_pointer(&path));
	else
		leave_out(making, path, "there are too many");
}

static GPtrArray *find_paths(struct making *making, GError **error)
{
	g_autoptr(GPtrArray) clients = g_ptr_array_new_with_free_func(mounts_client_free);
	g_autoptr(GPtrArray) exports = g_ptr_array_new_with_free_func(g_free);
	char *const *named = making->config->takeover_directories;
	GPtrArray *paths;

	if (!mounts_inquire(&making->server, clients, exports, error))
		return NULL;
	paths = g_ptr_array_new_with_free_func(g_free);
	add_path(making, paths, making->top);
	for (guint i = 0; named && named[i]; i++)
		if (path_below(making->top, named[i]))
			add_path(making, paths, named[i]);
		else
			leave_out(making, named[i], "it is not below the volume's source");
	for (guint i = 0; i < exports->len; i++)
		add_path(making, paths, exports->pdata[i]);
	for (guint i = 0; i < clients->len; i++)
		add_path(making, paths, ((struct mounts_client *)clients->pdata[i])->path);
	return paths;
}

/* ---- what they are here ---------------------------------------------------------------------- */

struct answer {
	bool done;
	int status;
};

static void take_state_answer(void *arg, int status)
{
	struct answer *answer = arg;

	answer->done = true;
	answer->status = status;
}

static int fetch_name(struct making *making, int dir_fd, const char *name)
{
	const struct timespec end = migrate_in_ms(NAME_SECONDS * 1000);
	struct answer answer = {.done = false};
	uint64_t request =
		migrate_fetch_name(making->volume, dir_fd, name, 0, take_state_answer, &answer);

	if (!request)
		return -errno;
	while (!answer.done) {
		if (migrate_passed(&end))
			migrate_cancel(making->volume, request);
		migrate_volume_dispatch(making->volume, 1000);
	}
	return answer.status == -ECANCELED ? -ETIMEDOUT : answer.status;
}

/* A descriptor, or -errno. */
static int enter_directory(struct making *making, int dir_fd, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC;
	struct stat here, there;
	int fd = openat(dir_fd, name, flags), result;

	if (fd < 0 && errno == ENOENT) {
		result = fetch_name(making, dir_fd, name);
		if (result < 0)
			return result;
		fd = openat(dir_fd, name, flags);
	}
	if (fd < 0)
		return errno == ELOOP ? -ENOTDIR : -errno;
	if (fstat(making->root_fd, &here) || fstat(fd, &there) || here.st_dev != there.st_dev) {
		close(fd);
		return -EXDEV;
	}
	return fd;
}

static int open_directory_state(struct making *making, const char *path)
{
	g_auto(GStrv) names = g_strsplit(path, "/", -1);
	int fd = openat(making->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (guint i = 0; fd >= 0 && names[i]; i++) {
		int dir_fd = fd;

		if (!*names[i] || !strcmp(names[i], "."))
			continue;
		fd = !strcmp(names[i], "..") || (!i && !strcmp(names[i], MIGRATE_PRIVATE_DIR))
			     ? -ENOENT
			     : enter_directory(making, dir_fd, names[i]);
		close(dir_fd);
	}
	return fd;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Adds alias, or puts it in the place of the one that the file had for that handle. */
static void put_state(struct making *making, const struct migrate_alias *alias)
{
	for (guint i = 0; i < making->aliases->len; i++) {
		struct migrate_alias *had =
			&g_array_index(making->aliases, struct migrate_alias, i);

		if (had->old_len == alias->old_len &&
		    !memcmp(had->old, alias->old, alias->old_len)) {
			free(had->path);
			*had = *alias;
			return;
		}
	}
	g_array_append_val(making->aliases, *alias);
}

static void add_handle(struct making *making, const struct mounts_handle *handle)
{
	const char *path = path_below(making->top, handle->path);
	struct migrate_alias alias = {
		.old_len = (uint8_t)handle->len, .fileid = handle->fileid, .fsid = handle->fsid};
	int fd, result;

	if (!handle->len) {
		leave_out(making, handle->path, handle->why);
		return;
	}
	fd = open_directory_state(making, path);
	result = fd < 0 ? fd : migrate_alias_bind(fd, "", &alias);
	if (fd >= 0)
		close(fd);
	if (result < 0) {
		leave_out(making, handle->path, g_strerror(-result));
		return;
	}
	memcpy(alias.old, handle->handle, handle->len);
	alias.path = strdup(path);
	put_state(making, &alias);
	if (!strcmp(path, "."))
		making->made->fsid = handle->fsid;
	else if (handle->fsid != making->made->fsid)
		making->made->many = TRUE;
}

static gboolean load_aliases(struct making *making, GError **error)
{
	struct migrate_alias *list;
	size_t n;
	int result = migrate_aliases_load(making->config->takeover_file, &list, &n);

	if (result < 0 && result != -ENOENT)
		return error_set(error, -result,
				 "%s: %s cannot be used: %s; move it away, if no client has "
				 "an old mount yet",
				 making->config->name, making->config->takeover_file,
				 g_strerror(-result));
	if (n)
		g_array_append_vals(making->aliases, list, (guint)n);
	free(list); /* not the paths */
	return TRUE;
}

static gboolean save_state(struct making *making, GError **error)
{
	const char *path = making->config->takeover_file;
	g_autofree char *text = NULL;
	size_t len;
	FILE *file = open_memstream(&text, &len);
	g_autoptr(GError) mistake = NULL;

	migrate_aliases_print(file, (struct migrate_alias *)(void *)making->aliases->data,
			      making->aliases->len);
	fclose(file);
	return g_file_set_contents_full(path, text, (gssize)len,
					G_FILE_SET_CONTENTS_CONSISTENT |
						G_FILE_SET_CONTENTS_DURABLE,
					0600, &mistake) ||
	       error_set(error, EIO, "%s: %s", making->config->name, mistake->message);
}

static gboolean make_all(struct making *making, GError **error)
{
	g_autoptr(GPtrArray) handles = g_ptr_array_new_with_free_func(mounts_handle_free);
	g_autoptr(GPtrArray) paths = find_paths(making, error);

	if (!paths || !mounts_ask_handles(&making->server, paths, handles, error) ||
	    !load_aliases(making, error))
		return FALSE;
	for (guint i = 0; i < handles->len; i++)
		add_handle(making, handles->pdata[i]);
	making->made->handles = making->aliases->len;
	return save_state(making, error);
}

static void alias_clear(gpointer alias)
{
	free(((struct migrate_alias *)alias)->path);
}

gboolean takeover_make(const struct volume_config *config, struct takeover_made *made,
		       GError **error)
{
	struct making making = {.config = config, .made = made, .root_fd = -1};
	g_autofree char *program = program_find(ASK_PROGRAM), *host = NULL, *top = NULL;
	gboolean ok = FALSE;
	int result;

	memset(made, 0, sizeof(*made));
	if (!mounts_server_of(config->source, &making.server, &host, &top, error))
		return FALSE;
	making.top = top;
	making.server.how.program = program;
	making.aliases = g_array_new(FALSE, FALSE, sizeof(struct migrate_alias));
	g_array_set_clear_func(making.aliases, alias_clear);
	making.root_fd = open(config->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	result = making.root_fd < 0 ? -errno
				    : migrate_volume_new(config->name, config->socket,
							 MIGRATE_ROLE_CONTROL, &making.volume);
	if (result < 0)
		error_set(error, -result, "%s: %s: %s", config->name, config->root,
			  g_strerror(-result));
	else
		ok = make_all(&making, error);
	if (making.volume)
		migrate_volume_free(making.volume);
	if (making.root_fd >= 0)
		close(making.root_fd);
	g_array_unref(making.aliases);
	return ok;
}
