/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "volume/errors.h"
#include "volume/report.h"
#include "volume/templates.h"

/* Directories still to be looked at, by kernel handle: no path, no open descriptor. */
struct walk {
	struct retriever *retriever;
	struct volume_count *count;
	GHashTable *linked; /* inodes of files with more than one name that have been seen */
	GArray *pending;    /* of struct migrate_binding */
};

static void note_unfinished(struct walk *walk, int dir_fd, const char *name)
{
	walk->count->unfinished++;
	if (!walk->count->first) {
		g_autofree char *dir = retriever_fd_path(dir_fd);

		walk->count->first = strcmp(name, ".") ? g_strconcat(dir, "/", name, NULL)
						       : g_steal_pointer(&dir);
	}
}

/* The list may have been lost with the process: then the record's mark brings it back. */
static void list_failed(struct walk *walk, int fd, const struct migrate_record *rec)
{
	struct errors *errors = walk->retriever->errors;

	if (rec->error && !errors_has(errors, &rec->binding))
		errors_add_fd(errors, fd, -rec->error,
			      "it failed before the retriever was started again");
}

/* 1: unfinished, 0: normal, -errno (a damaged record counts as unfinished). */
static int state_of(struct walk *walk, int fd, enum migrate_state *state)
{
	struct migrate_record rec;
	int ret = migrate_record_load(fd, &rec);

	*state = MIGRATE_NORMAL;
	if (ret > 0) {
		*state = rec.state;
		list_failed(walk, fd, &rec);
		migrate_record_clear(&rec);
	}
	return ret == -EBADMSG ? 1 : ret;
}

static int look_at_directory(struct walk *walk, int fd, int dir_fd, const char *name)
{
	enum migrate_state state;
	struct migrate_binding binding;
	int ret = state_of(walk, fd, &state);

	if (ret < 0)
		return ret;
	walk->count->directories++;
	walk->count->directories_whole += ret == 0;
	walk->count->unfilled += state == MIGRATE_UNFILLED;
	if (ret)
		note_unfinished(walk, dir_fd, name);
	ret = migrate_binding_get(fd, "", &binding);
	if (!ret)
		g_array_append_val(walk->pending, binding);
	return ret;
}

static int look_at_file(struct walk *walk, int fd, const struct stat *st, int dir_fd,
			const char *name)
{
	enum migrate_state state;
	int ret = state_of(walk, fd, &state);

	if (ret < 0)
		return ret;
	if (st->st_nlink > 1 &&
	    !g_hash_table_add(walk->linked, g_memdup2(&st->st_ino, sizeof st->st_ino)))
		return 0; /* another name of one that was counted */
	walk->count->files++;
	walk->count->files_whole += ret == 0;
	walk->count->bytes += st->st_size;
	walk->count->bytes_whole += ret == 0 ? st->st_size : 0;
	if (ret)
		note_unfinished(walk, dir_fd, name);
	return 0;
}

static int look_at(struct walk *walk, int dir_fd, const char *name)
{
	struct stat st;
	int fd, ret = 0;

	fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	walk->count->objects++;
	if (fstat(fd, &st) < 0)
		ret = -errno;
	else if (S_ISDIR(st.st_mode))
		ret = look_at_directory(walk, fd, dir_fd, name);
	else if (S_ISREG(st.st_mode))
		ret = look_at_file(walk, fd, &st, dir_fd, name);
	else
		walk->count->files++, walk->count->files_whole++;
	close(fd);
	return ret;
}

static int list(struct walk *walk, int fd, bool is_root)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	int ret = 0;

	if (!dir) {
		ret = -errno;
		close(fd);
		return ret;
	}
	while (!ret && (errno = 0, e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    (is_root && !strcmp(e->d_name, MIGRATE_PRIVATE_DIR)))
			continue;
		ret = look_at(walk, fd, e->d_name);
	}
	if (!ret && errno)
		ret = -errno;
	closedir(dir);
	return ret;
}

static void set_counters(struct retriever *retriever, const struct volume_count *count)
{
	COUNT_SET(retriever, directories_found, count->directories);
	COUNT_SET(retriever, directories_whole, count->directories_whole);
	COUNT_SET(retriever, unfilled, count->unfilled);
	COUNT_SET(retriever, files_found, count->files);
	COUNT_SET(retriever, files_whole, count->files_whole);
	COUNT_SET(retriever, bytes_found, count->bytes);
	COUNT_SET(retriever, bytes_whole, count->bytes_whole);
	COUNT_SET(retriever, exact, 1);
}

int volume_verify(struct retriever *retriever, struct volume_count *count, char **message)
{
	struct walk walk = {.retriever = retriever, .count = count};
	bool is_root = true;
	int ret;

	memset(count, 0, sizeof *count);
	walk.pending = g_array_new(FALSE, FALSE, sizeof(struct migrate_binding));
	walk.linked = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	count->objects = 1;
	ret = look_at_directory(&walk, retriever->root_fd, retriever->root_fd, ".");
	while (!ret && walk.pending->len) {
		struct migrate_binding next =
			g_array_index(walk.pending, struct migrate_binding, walk.pending->len - 1);
		int fd = retriever_open_binding(retriever, &next, O_RDONLY | O_DIRECTORY);

		g_array_set_size(walk.pending, walk.pending->len - 1);
		if (fd < 0)
			ret = errno == ESTALE ? 0 : -errno; /* removed meanwhile */
		else
			ret = list(&walk, fd, is_root);
		is_root = false;
		if (g_atomic_int_get(&retriever->closing))
			ret = -ECANCELED;
	}
	g_array_free(walk.pending, TRUE);
	g_hash_table_destroy(walk.linked);
	if (ret)
		*message = g_strdup_printf("%s: the walk failed: %s", retriever->config->root,
					   g_strerror(-ret));
	else
		set_counters(retriever, count);
	return ret;
}

/* Removes the names in a directory of ours, one level deep. */
static void remove_all(int parent_fd, const char *name)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (unlinkat(fd, e->d_name, 0) < 0)
			remove_all(fd, e->d_name);
	}
	if (dir)
		closedir(dir);
	unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* The root's mtime is the clients': removing our directory must not move it. */
static void remove_private(struct retriever *retriever)
{
	struct stat st;

	fstat(retriever->root_fd, &st);
	remove_all(retriever->root_fd, MIGRATE_PRIVATE_DIR);
	futimens(retriever->root_fd, (struct timespec[2]){st.st_atim, st.st_mtim});
	fsync(retriever->root_fd);
}

/* Nobody writes there any more; who still looks at the descriptors finds removed directories. */
static void leave_private(struct retriever *retriever)
{
	g_mutex_lock(&retriever->save_lock);
	retriever->finished_fds[0] = atomic_exchange(&retriever->private_fd, -1);
	retriever->finished_fds[1] = atomic_exchange(&retriever->links_fd, -1);
	retriever->finished_fds[2] = atomic_exchange(&retriever->staging_fd, -1);
	g_mutex_unlock(&retriever->save_lock);
	errors_set_directory(retriever->errors, -1);
	report_set_directory(retriever->report, -1);
	templates_set_directory(retriever->templates, -1);
}

static int keep_report(struct retriever *retriever, char **message)
{
	const char *path = retriever->config->report;
	g_autofree char *head = g_strdup_printf(
		"carried\tacls\t%" G_GINT64_FORMAT "\ncarried\txattrs\t%" G_GINT64_FORMAT "\n",
		COUNT_GET(retriever, acls_carried), COUNT_GET(retriever, xattrs_carried));
	int ret = report_keep(retriever->report, path, head);

	if (ret)
		*message =
			g_strdup_printf("%s: the report of what could not be carried over cannot "
					"be kept there: %s: make room, or set \"report\" in the "
					"configuration",
					path, g_strerror(-ret));
	return ret;
}

static char *finalized(struct retriever *retriever, uint64_t losses, uint64_t names)
{
	g_autoptr(GKeyFile) f = g_key_file_new();

	g_key_file_set_uint64(f, "finalize", "losses", losses);
	g_key_file_set_uint64(f, "finalize", "names-skipped", names);
	g_key_file_set_string(f, "finalize", "report", retriever->config->report);
	return g_key_file_to_data(f, NULL, NULL);
}

int volume_finalize(struct retriever *retriever, char **message)
{
	struct volume_count count;
	enum volume_state state = volume_state(retriever);
	uint64_t losses = report_count(retriever->report), names = report_names(retriever->report);
	int ret;

	if (state == VOLUME_FINISHED)
		return 0;
	if (state == VOLUME_UNATTACHED) {
		*message = g_strdup_printf("%s is not attached: there is nothing to finalize",
					   retriever->config->root);
		return -EINVAL;
	}
	ret = volume_verify(retriever, &count, message);
	if (!ret && count.unfinished) {
		*message =
			g_strdup_printf("%" G_GUINT64_FORMAT " objects are unfinished, the first "
					"is %s: run migrate-crawler %s, see migratectl errors %s",
					count.unfinished, count.first, retriever->config->name,
					retriever->config->name);
		ret = -EBUSY;
	}
	g_free(count.first);
	if (ret)
		return ret;
	if (syncfs(retriever->root_fd) < 0) {
		*message = g_strdup_printf("%s: %s", retriever->config->root, g_strerror(errno));
		return -EIO;
	}
	ret = keep_report(retriever, message);
	if (ret)
		return ret;
	leave_private(retriever);
	remove_private(retriever);
	*message = finalized(retriever, losses, names);
	return 0;
}
