/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "crawler/lists.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "crawler/paths.h"
#include "crawler/walk.h"
#include "lib/base/fetch_list.h"
#include "lib/base/text.h"

#define LOOK_MS 1000

struct list {
	char *name, *text;
	int fd;
	struct fetch_list head, saved;
	GPtrArray *paths; /* in text */
	struct walk *walk;
};

static void list_free(gpointer p)
{
	struct list *list = p;

	if (list->walk)
		walk_free(list->walk);
	if (list->paths)
		g_ptr_array_unref(list->paths);
	close(list->fd);
	g_free(list->text);
	g_free(list->name);
	g_free(list);
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
	g_autofree char *file = g_build_filename(lists->directory, list->name, NULL);
	size_t len, at = FETCH_LIST_HEAD;

	if (!g_file_get_contents(file, &list->text, &len, NULL))
		return false;
	list->paths = g_ptr_array_new();
	for (; list->paths->len < list->head.paths && at < len; at += strlen(list->text + at) + 1)
		g_ptr_array_add(list->paths, list->text + at);
	if (list->paths->len < list->head.paths || at > len || ftruncate(list->fd, (off_t)at) ||
	    lseek(list->fd, 0, SEEK_END) < 0)
		return false;
	paths_sort(list->paths);
	list->head.done = list->head.failed = 0;
	return !walk_new(lists->root_fd, &walk_retriever, lists->volume, &list->walk);
}

static void tell_failures(struct lists *lists, const struct list *list)
{
	g_autofree char *file = g_build_filename(lists->directory, list->name, NULL), *text = NULL;
	size_t len, n = 0;

	if (!g_file_get_contents(file, &text, &len, NULL))
		return;
	for (size_t at = FETCH_LIST_HEAD; at < len; at += strlen(text + at) + 1, n++) {
		g_autofree char *line = text_line(text[at] ? text + at : ".");

		if (n >= list->head.paths)
			fprintf(stderr, "%s%s", line, (n - list->head.paths) % 2 ? "\n" : ": ");
	}
	lists->failed += list->head.failed;
}

/* It is through. */
static void end_list(struct lists *lists, const struct list *list)
{
	g_autofree char *file = g_build_filename(lists->directory, list->name, NULL);

	if (lists->tell)
		tell_failures(lists, list);
	if (lists->tell || !list->head.failed)
		unlink(file);
}

static void begin_list(struct lists *lists, const char *name, int fd)
{
	struct list *list = g_new0(struct list, 1);
	unsigned flags = MIGRATE_FIRST;

	list->name = g_strdup(name);
	list->fd = fd;
	if (fetch_list_load(fd, &list->head) && !flock(fd, LOCK_EX | LOCK_NB)) {
		const bool through = list->head.done == list->head.paths;

		if (through && lists->tell)
			end_list(lists, list);
		if (!through && read_paths(list, lists)) {
			flags |= list->head.names_only ? 0 : MIGRATE_DATA;
			g_ptr_array_add(lists->all, list);
			walk_begin_paths(list->walk, flags, list->head.since, list->paths,
					 path_done, list);
			return;
		}
	} else if (errno == EWOULDBLOCK) {
		lists->others = true;
	}
	list_free(list);
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

	lists->others = false;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(lists->directory, name, NULL);
		int fd = g_ascii_isdigit(*name) && !has_begun(lists, name)
				 ? open(file, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
				 : -1;

		errno = 0;
		if (fd >= 0)
			begin_list(lists, name, fd);
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
		const int wait = walk_step(list->walk, share, now_ms);

		if (memcmp(&list->head, &list->saved, sizeof(list->head)))
			fetch_list_save(list->fd, &list->head);
		list->saved = list->head;
		if (walk_over(list->walk)) {
			end_list(lists, list);
			g_ptr_array_remove_index(lists->all, i);
		} else if (wait >= 0) {
			soonest = soonest < 0 ? wait : MIN(soonest, wait);
		}
	}
	return soonest;
}
