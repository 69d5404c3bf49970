/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "crawler/lists.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crawler/paths.h"
#include "crawler/walk.h"
#include "lib/base/fetch_list.h"
#include "lib/base/text.h"

#define LOOK_MS	  1000
#define LISTS_MAX 4 /* at a time: each may have MAX_FETCHING descriptors, of 1024 */

struct list {
	char *name;
	int fd;
	struct fetch_list head, saved;
	GMappedFile *text;
	GPtrArray *paths;  /* in text */
	struct walk *walk; /* NULL: another crawler works on it */
};

static void list_free(gpointer p)
{
	struct list *list = p;

	if (list->walk)
		walk_free(list->walk);
	g_clear_pointer(&list->paths, g_ptr_array_unref);
	g_clear_pointer(&list->text, g_mapped_file_unref);
	close(list->fd);
	g_free(list->name);
	g_free(list);
}

/* What stands at *at, with a NUL; *at goes behind it.  NULL: nothing. */
static const char *take_text(GMappedFile *file, size_t *at)
{
	const size_t len = g_mapped_file_get_length(file);
	const char *text = g_mapped_file_get_contents(file) + *at;
	const char *end = *at < len ? memchr(text, 0, len - *at) : NULL;

	*at += end ? (size_t)(end + 1 - text) : 0;
	return end ? text : NULL;
}

static const char *reason_of(int status)
{
	switch (status) {
	case -ENOENT:
		return "no such name";
	case -ELOOP:
		return "a symbolic link leads on from there: name what it leads to";
	case -EXDEV:
		return "something else is mounted there";
	case -EREMOTEIO:
		return "not all of it could be brought: see migratectl errors";
	default:
		return g_strerror(-status);
	}
}

static void path_done(void *arg, const char *const *paths, guint n, int status)
{
	struct list *list = arg;

	if (status == -ECANCELED) /* the crawler ends */
		return;
	list->head.done += n;
	list->head.failed += status ? n : 0;
	for (guint i = 0; status && i < n; i++)
		dprintf(list->fd, "%s%c%s%c", paths[i], 0, reason_of(status), 0);
}

/* Splits the text; what failed before is tried again.  FALSE: it is damaged. */
static bool read_paths(struct list *list, struct lists *lists)
{
	size_t at = FETCH_LIST_HEAD;
	const char *path;

	list->text = g_mapped_file_new_from_fd(list->fd, FALSE, NULL);
	list->paths = g_ptr_array_new();
	while (list->text && list->paths->len < list->head.paths &&
	       (path = take_text(list->text, &at)))
		g_ptr_array_add(list->paths, (char *)path);
	if (list->paths->len < list->head.paths || ftruncate(list->fd, (off_t)at) ||
	    lseek(list->fd, 0, SEEK_END) < 0)
		return false;
	paths_sort(list->paths);
	list->head.done = list->head.failed = 0;
	return !walk_new(lists->root_fd, &walk_retriever, lists->volume, &list->walk);
}

static void tell_failures(struct lists *lists, const struct list *list)
{
	g_autoptr(GMappedFile) file = g_mapped_file_new_from_fd(list->fd, FALSE, NULL);
	size_t at = FETCH_LIST_HEAD;
	const char *text;

	for (uint64_t n = 0; file && (text = take_text(file, &at)); n++) {
		g_autofree char *line = text_line(*text ? text : ".");

		if (n >= list->head.paths)
			fprintf(stderr, "%s%s", line, (n - list->head.paths) % 2 ? "\n" : ": ");
	}
	lists->failed += list->head.failed;
}

/* It is through.  there: nobody has told it and removed it. */
static void end_list(struct lists *lists, const struct list *list, bool there)
{
	g_autofree char *file = g_build_filename(lists->directory, list->name, NULL);

	if (lists->tell)
		tell_failures(lists, list);
	if (there && (lists->tell || !list->head.failed))
		unlink(file);
}

/* Once.  FALSE. */
static bool tell_damage(struct lists *lists, const struct list *list)
{
	if (lists->tell && !lists->next_look) {
		fprintf(stderr,
			"%s/%s is damaged, and nothing of it is brought: remove it, and list the "
			"paths again\n",
			lists->directory, list->name);
		lists->failed++;
	}
	return false;
}

/* Whether there is something to be done for it, or to be waited for. */
static bool take_up(struct lists *lists, struct list *list)
{
	unsigned flags = MIGRATE_FIRST;
	struct stat st;

	if (flock(list->fd, LOCK_EX | LOCK_NB))
		return lists->tell && errno == EWOULDBLOCK;
	if (!fetch_list_load(list->fd, &list->head) || fstat(list->fd, &st))
		return tell_damage(lists, list);
	if (!st.st_nlink || list->head.done >= list->head.paths) {
		if (lists->tell)
			end_list(lists, list, st.st_nlink);
		return false;
	}
	if (!read_paths(list, lists))
		return tell_damage(lists, list);
	flags |= list->head.names_only ? 0 : MIGRATE_DATA;
	walk_begin_paths(list->walk, flags, list->head.since, list->paths, path_done, list);
	return true;
}

static bool has_begun(const struct lists *lists, const char *name)
{
	for (guint i = 0; i < lists->all->len; i++)
		if (!strcmp(((const struct list *)lists->all->pdata[i])->name, name))
			return true;
	return false;
}

static void look_for_lists(struct lists *lists)
{
	GDir *dir = g_dir_open(lists->directory, 0, NULL);
	const char *name;

	for (guint i = lists->all->len; i-- > 0;) {
		struct list *list = lists->all->pdata[i];

		if (!list->walk && !take_up(lists, list))
			g_ptr_array_remove_index(lists->all, i);
	}
	lists->more = false;
	while (dir && !lists->more && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(lists->directory, name, NULL);

		if (!g_ascii_isdigit(*name) || has_begun(lists, name))
			continue;
		lists->more = lists->all->len == LISTS_MAX;
		int fd = lists->more ? -1 : open(file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		struct list *list = g_new0(struct list, 1);
		*list = (struct list){.name = g_strdup(name), .fd = fd};
		if (take_up(lists, list))
			g_ptr_array_add(lists->all, list);
		else
			list_free(list);
	}
	g_clear_pointer(&dir, g_dir_close);
}

void lists_begin(struct lists *lists, const char *root, int root_fd, struct migrate_volume *volume,
		 bool tell)
{
	*lists = (struct lists){.root_fd = root_fd, .volume = volume, .tell = tell};
	lists->directory = g_build_filename(root, FETCH_LIST_DIR, NULL);
	lists->all = g_ptr_array_new_with_free_func(list_free);
	look_for_lists(lists);
}

void lists_end(struct lists *lists)
{
	g_clear_pointer(&lists->all, g_ptr_array_unref);
	g_clear_pointer(&lists->directory, g_free);
}

bool lists_any(const struct lists *lists)
{
	return lists->all->len || lists->more;
}

int lists_step(struct lists *lists, unsigned window, int64_t now_ms)
{
	const unsigned share = window ? MAX(window / MAX(lists->all->len, 1), 1) : 0;
	int soonest = -1;

	if (now_ms >= lists->next_look) {
		lists->next_look = now_ms + LOOK_MS;
		look_for_lists(lists);
	}
	for (guint i = lists->all->len; i-- > 0;) {
		struct list *list = lists->all->pdata[i];
		if (!list->walk)
			continue;
		const int wait = walk_step(list->walk, share, now_ms);

		if (memcmp(&list->head, &list->saved, sizeof(list->head)))
			fetch_list_save(list->fd, &list->head);
		list->saved = list->head;
		if (walk_over(list->walk)) {
			if (list->head.done >= list->head.paths)
				end_list(lists, list, true);
			else
				lists->failed += list->head.paths - list->head.done;
			g_ptr_array_remove_index(lists->all, i);
		} else if (wait >= 0) {
			soonest = soonest < 0 ? wait : MIN(soonest, wait);
		}
	}
	return soonest;
}
