/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/skip_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/latch.h"
#include "lib/base/project.h"
#include "lib/report/losses.h"
#include "retriever/copies/aside.h"
#include "retriever/data/fetch.h"
#include "retriever/data/version.h"
#include "retriever/names/fill.h"
#include "retriever/names/skip_names.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/links.h"

#define LEFT "left-"

/* One name of the file. */
struct name {
	int dir_fd;
	char *name;
};

static void name_free(gpointer p)
{
	struct name *name = p;

	close(name->dir_fd);
	g_free(name->name);
	g_free(name);
}

static bool is_name(int dir_fd, const char *name, const struct migrate_binding *key)
{
	struct migrate_binding found;

	return migrate_binding_get(dir_fd, name, &found) == 0 && migrate_binding_equal(&found, key);
}

static bool is_name_known(const GPtrArray *names, int dir_fd, const char *name)
{
	struct stat a, b;

	for (guint i = 0; i < names->len; i++) {
		const struct name *known = names->pdata[i];

		if (!strcmp(known->name, name) && fstat(known->dir_fd, &a) == 0 &&
		    fstat(dir_fd, &b) == 0 && a.st_ino == b.st_ino)
			return true;
	}
	return false;
}

static int add_name(GPtrArray *names, int dir_fd, const char *text)
{
	struct name *name;
	int fd;

	if (is_name_known(names, dir_fd, text))
		return 0;
	fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	name = g_new(struct name, 1);
	*name = (struct name){fd, g_strdup(text)};
	g_ptr_array_add(names, name);
	return 0;
}

/* ---- its names ---- */

/* Adds the name by which the kernel knows the file. */
static int find_by_path(struct object *object, GPtrArray *names)
{
	g_autofree char *path = retriever_fd_path(object->fd);
	g_autofree char *dir = g_path_get_dirname(path), *base = g_path_get_basename(path);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC), ret = 0;

	if (fd >= 0 && is_name(fd, base, &object->key))
		ret = add_name(names, fd, base);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Nothing unfinished is below a directory without a record (I5). */
static void go_below(GArray *pending, int dir_fd, const char *name)
{
	struct migrate_binding binding;
	int fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && migrate_has_record(fd) && migrate_binding_get(fd, "", &binding) == 0)
		g_array_append_val(pending, binding);
	if (fd >= 0)
		close(fd);
}

static int look_in(const struct object *object, int dir_fd, ino_t inode, GArray *pending,
		   GPtrArray *names)
{
	const bool top = names->len == 0 && pending->len == 0;
	DIR *dir = retriever_list(dir_fd, ".");
	const struct dirent *e;
	int ret = dir ? 0 : -errno;

	while (!ret && (errno = 0, e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (top && !strcmp(e->d_name, MIGRATE_PRIVATE_DIR))
			continue;
		if (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN)
			go_below(pending, dir_fd, e->d_name);
		if (e->d_ino == inode && is_name(dir_fd, e->d_name, &object->key))
			ret = add_name(names, dir_fd, e->d_name);
	}
	if (!ret)
		ret = -errno;
	if (dir)
		closedir(dir);
	return ret;
}

static int find_by_walk(struct object *object, ino_t inode, nlink_t wanted, GPtrArray *names)
{
	struct retriever *retriever = object->retriever;
	g_autoptr(GArray) pending = g_array_new(FALSE, FALSE, sizeof(struct migrate_binding));
	int ret = look_in(object, retriever->root_fd, inode, pending, names);

	while (!ret && pending->len && names->len < wanted) {
		struct migrate_binding next =
			g_array_index(pending, struct migrate_binding, pending->len - 1);
		int fd = retriever_open_binding(retriever, &next, O_RDONLY | O_DIRECTORY);

		g_array_set_size(pending, pending->len - 1);
		if (g_atomic_int_get(&retriever->closing))
			ret = -ECANCELED;
		else if (fd >= 0)
			ret = look_in(object, fd, inode, pending, names);
		if (fd >= 0)
			close(fd);
	}
	return ret;
}

/* All of them, but the provisional one. */
static int find_names(struct object *object, GPtrArray *names)
{
	struct stat st;
	char id[LINK_NAME_LEN];
	nlink_t wanted;
	int ret;

	if (fstat(object->fd, &st) < 0)
		return -errno;
	wanted = st.st_nlink - links_find(object->retriever, &object->key, st.st_ino, id);
	ret = wanted ? find_by_path(object, names) : 0;
	if (!ret && names->len < wanted) {
		g_ptr_array_set_size(names, 0);
		ret = find_by_walk(object, st.st_ino, wanted, names);
	}
	return ret;
}

/* ---- what forbids it ---- */

/* Lock held.  0, or -errno with *text. */
static int forbidden(struct object *object, char **text)
{
	const struct migrate_record *rec = &object->record;

	if ((rec->flags & (MIGRATE_REC_CLIENT | MIGRATE_REC_LOST)) || rec->dirty.n) {
		*text = g_strdup("clients have changed it: it is not skipped; have it removed, or "
				 "written anew as a whole, by a client");
		return -EPERM;
	}
	if (object->turns.brackets || object->turns.writing) {
		*text = g_strdup("it is being changed just now: try again");
		return -EBUSY;
	}
	return 0;
}

static int fill_and_wait(int dir_fd, struct retriever *retriever)
{
	struct latch latch;
	struct object *directory;
	int ret = object_get(retriever, dir_fd, &directory);

	if (ret)
		return ret;
	latch_init(&latch, 1);
	directory_fill(directory, BACKEND_DEMAND, false, latch_count_down, &latch);
	ret = latch_wait(&latch);
	object_unref(directory);
	return ret;
}

/* Fills the directories of all names: an unfilled one would get the file again. */
static int fill_all(struct retriever *retriever, const GPtrArray *names, char **text)
{
	for (guint i = 0; i < names->len; i++) {
		const struct name *name = names->pdata[i];
		int ret = fill_and_wait(name->dir_fd, retriever);

		if (ret) {
			g_autofree char *path = retriever_fd_path(name->dir_fd);

			*text = g_strdup_printf("its directory %s cannot be filled (%s): skip "
						"first what fails there: migratectl errors %s",
						path, g_strerror(-ret), retriever->config->name);
			return -EBUSY;
		}
	}
	return 0;
}

static int write_down(struct retriever *retriever, const GPtrArray *names, enum error_code error,
		      const char *because)
{
	int ret = 0;

	for (guint i = 0; i < names->len && !ret; i++) {
		const struct name *name = names->pdata[i];
		g_autofree char *dir = retriever_fd_path(name->dir_fd);
		g_autofree char *path = g_build_filename(dir, name->name, NULL);

		ret = skip_names_record_path(retriever, path, error_kind(error)->cause, error,
					     because);
	}
	return ret ? ret : losses_sync(retriever->losses);
}

/* ---- taking it away ---- */

static int open_aside(struct retriever *retriever)
{
	int fd;

	if (mkdirat(retriever->private_fd, ASIDE_DIR, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(retriever->private_fd, ASIDE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Takes the name in aside_fd if it is the file: removes it, but keeps bytes that another tool had
 * copied. */
static int take_moved(struct object *object, int aside_fd, const char *as, const char *path,
		      const char *name)
{
	int ret = aside_put(object->retriever, aside_fd, as, path, name);

	if (!ret && (object->record.flags & MIGRATE_REC_ADOPTED))
		object->normal = true; /* its record is gone */
	return ret;
}

/* The name that it has in aside/ meanwhile.  g_free. */
static char *name_aside(uint64_t fileid)
{
	return g_strdup_printf(LEFT "%016" G_GINT64_MODIFIER "x", fileid);
}

/* Moves back an object that a client has put in the file's place; if the place is taken again,
 * beside it under another name. */
static int give_back(int aside_fd, const char *as, const struct name *name)
{
	g_autofree char *beside = g_strdup_printf("%.200s.%s", name->name, as);
	g_autofree char *dir = retriever_fd_path(name->dir_fd);
	int ret;

	if (project_rename(aside_fd, as, name->dir_fd, name->name, RENAME_NOREPLACE) == 0)
		return 0;
	ret = project_rename(aside_fd, as, name->dir_fd, beside, RENAME_NOREPLACE);
	if (ret)
		return ret;
	g_message("%s: what a client had put at %s is called %s now, because another file was made "
		  "there while one was skipped: rename it",
		  dir, name->name, beside);
	return 0;
}

/* Lock held. */
static int take_name_aside(struct object *object, int aside_fd, const struct name *name)
{
	g_autofree char *as = name_aside(object->record.fileid);
	g_autofree char *dir = retriever_fd_path(name->dir_fd);
	g_autofree char *root = retriever_fd_path(object->retriever->root_fd);
	const char *below = g_str_has_prefix(dir, root) ? dir + strlen(root) : "";

	if (renameat2(name->dir_fd, name->name, aside_fd, as, RENAME_NOREPLACE) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (is_name(aside_fd, as, &object->key))
		return take_moved(object, aside_fd, as, below, name->name);
	return give_back(aside_fd, as, name);
}

/* Lock held. */
static int take_all(struct object *object, const GPtrArray *names)
{
	struct retriever *retriever = object->retriever;
	char id[LINK_NAME_LEN];
	struct stat st;
	int aside_fd = open_aside(retriever), ret = MIN(aside_fd, 0);

	for (guint i = 0; i < names->len && !ret; i++)
		ret = take_name_aside(object, aside_fd, names->pdata[i]);
	if (aside_fd >= 0) {
		close(aside_fd);
		unlinkat(retriever->private_fd, ASIDE_DIR, AT_REMOVEDIR); /* if it is empty */
	}
	if (ret || fstat(object->fd, &st) < 0)
		return ret;
	if (links_find(retriever, &object->key, st.st_ino, id))
		unlinkat(retriever->links_fd, id, 0);
	COUNT_ADD(retriever, files_found, -1);
	COUNT_ADD(retriever, bytes_found, -(gint64)st.st_size);
	return 0;
}

static int leave_names(struct object *object, const GPtrArray *names, enum error_code error,
		       const char *because, char **text)
{
	struct retriever *retriever = object->retriever;
	int ret = fill_all(retriever, names, text);

	if (!ret)
		ret = write_down(retriever, names, error, because);
	if (ret)
		return ret;
	g_mutex_lock(&object->lock);
	ret = forbidden(object, text);
	if (!ret)
		ret = take_all(object, names);
	g_mutex_unlock(&object->lock);
	return ret;
}

/* Asks once more, and the answer decides.  0: it is whole, or will be; 1: the old server refuses.
 */
static int fetch_again(struct object *object, char **text)
{
	struct latch latch;
	bool gone;
	int ret;

	latch_init(&latch, 1);
	fetch_range(object, 0, INT64_MAX, false, latch_count_down, &latch);
	ret = latch_wait(&latch);
	g_mutex_lock(&object->lock);
	gone = ret == -ESTALE && object->search.lost == QM_GONE;
	g_mutex_unlock(&object->lock);
	if (!ret || gone || skip_names_is_refusal(ret))
		return ret ? 1 : 0;
	*text = g_strdup_printf("it is not the old server that refuses it (%s): see migratectl "
				"errors %s, and retry",
				g_strerror(-ret), object->retriever->config->name);
	return ret;
}

int skip_file(struct object *object, enum error_code error, const char *because, unsigned *count,
	      char **text)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(name_free);
	int ret;

	*count = 0;
	if (object->normal)
		return 0;
	g_mutex_lock(&object->lock);
	ret = forbidden(object, text);
	g_mutex_unlock(&object->lock);
	if (!ret) {
		ret = fetch_again(object, text);
		if (!ret)
			return 0;
		ret = MIN(ret, 0);
	}
	if (!ret)
		ret = find_names(object, names);
	if (!ret)
		ret = leave_names(object, names, error, because, text);
	if (ret && !*text)
		*text = g_strdup(g_strerror(-ret));
	if (ret)
		return ret;
	errors_forget(object->retriever->errors, &object->key);
	*count = names->len;
	return 0;
}

/* Whether the stub was left by a killed command: another stub of such a name was put there by
 * clients. */
static bool is_left(int aside_fd, const char *name)
{
	int fd = openat(aside_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct migrate_record rec;
	bool is = false;

	if (fd >= 0 && migrate_record_load(fd, &rec) > 0) {
		g_autofree char *as = name_aside(rec.fileid);

		is = !strcmp(as, name);
		migrate_record_clear(&rec);
	}
	if (fd >= 0)
		close(fd);
	return is;
}

int skip_file_recover(struct retriever *retriever)
{
	DIR *dir = retriever_list(retriever->private_fd, ASIDE_DIR);
	const struct dirent *e;
	int ret = 0;

	while (dir && !ret && (e = readdir(dir)))
		if (g_str_has_prefix(e->d_name, LEFT) && is_left(dirfd(dir), e->d_name))
			ret = aside_put(retriever, dirfd(dir), e->d_name, "", e->d_name);
	if (dir)
		closedir(dir);
	unlinkat(retriever->private_fd, ASIDE_DIR, AT_REMOVEDIR); /* if it is empty */
	return ret;
}
