/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/move_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/store/events.h"
#include "journal/store/layout.h"

#define MASK (FAN_CREATE | FAN_MOVED_TO | FAN_DELETE | FAN_ONDIR)

struct move_watch {
	struct retriever *retriever;
	int fd;
	GHashTable *directories; /* struct migrate_binding */
	bool escaped;
};

int move_watch_start(struct retriever *retriever, struct move_watch **out)
{
	struct move_watch *moved = g_new0(struct move_watch, 1);
	int error;

	moved->retriever = retriever;
	moved->directories =
		g_hash_table_new_full(journal_handle_hash, journal_handle_equal, g_free, NULL);
	moved->fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK |
					  FAN_UNLIMITED_QUEUE | FAN_REPORT_DFID_NAME_TARGET,
				  O_RDONLY | O_CLOEXEC);
	if (moved->fd >= 0 && fanotify_mark(moved->fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, MASK,
					    retriever->root_fd, NULL) == 0) {
		*out = moved;
		return 0;
	}
	error = errno;
	move_watch_free(moved);
	return -error;
}

void move_watch_free(struct move_watch *moved)
{
	if (!moved)
		return;
	if (moved->fd >= 0)
		close(moved->fd);
	g_hash_table_destroy(moved->directories);
	g_free(moved);
}

/* Whether a directory is in the volume. */
static bool is_within(struct retriever *retriever, const struct migrate_binding *dir)
{
	struct migrate_binding here = *dir, below = {0};
	int fd = retriever_open_binding(retriever, dir, O_PATH | O_DIRECTORY);

	while (fd >= 0 && !migrate_binding_equal(&here, &retriever->root_key) &&
	       !migrate_binding_equal(&here, &below)) {
		int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		close(fd);
		fd = up;
		below = here;
		if (fd >= 0 && migrate_binding_get(fd, "", &here) < 0)
			break;
	}
	if (fd >= 0)
		close(fd);
	return migrate_binding_equal(&here, &retriever->root_key);
}

/* 1: unfinished, 0: not, or it is gone. */
static int is_unfinished_fd(int fd, const struct stat *st)
{
	struct migrate_record rec;
	int ret;

	if ((!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode)) || !st->st_nlink)
		return 0;
	ret = migrate_record_load(fd, &rec);
	if (ret > 0)
		migrate_record_clear(&rec);
	return ret == -EBADMSG ? 1 : ret;
}

/* Looks at a moved object by its handle, because its name may have changed again. */
static int check_moved(struct move_watch *moved, const struct event *event)
{
	int fd = retriever_open_binding(moved->retriever, &event->object, O_PATH), ret;
	struct stat st;
	bool walk;

	if (fd < 0)
		return fd == -ESTALE ? 0 : fd;
	ret = fstat(fd, &st) < 0 ? -errno : is_unfinished_fd(fd, &st);
	close(fd);
	if (ret < 0)
		return ret;
	walk = S_ISDIR(st.st_mode) && event->mask & FAN_MOVED_TO;
	if ((!ret && !walk) || !is_within(moved->retriever, &event->from.dir))
		return 0;
	moved->escaped |= ret > 0;
	if (walk)
		g_hash_table_add(moved->directories,
				 g_memdup2(&event->object, sizeof(event->object)));
	return 0;
}

/* Handles one event; at is aligned to 4.  Returns its length, 0 if it makes no sense, or -errno. */
static int take_one(struct move_watch *moved, const char *at, size_t room)
{
	union {
		struct fanotify_event_metadata head;
		char bytes[2048];
	} one;
	struct event event;
	int ret;

	if (room < sizeof(one.head))
		return 0;
	memcpy(&one.head, at, sizeof(one.head));
	if (one.head.event_len < sizeof(one.head) || one.head.event_len > MIN(room, sizeof(one)))
		return 0;
	memcpy(one.bytes, at, one.head.event_len);
	if (one.head.mask & FAN_Q_OVERFLOW || !event_decode(&one.head, &event))
		moved->escaped = true;
	else if ((ret = check_moved(moved, &event)) < 0)
		return ret;
	return (int)one.head.event_len;
}

static int take_all(struct move_watch *moved)
{
	char buffer[16384];
	ssize_t len;

	while ((len = read(moved->fd, buffer, sizeof(buffer))) > 0)
		for (ssize_t at = 0, ret; at < len; at += ret) {
			ret = take_one(moved, buffer + at, (size_t)(len - at));
			if (ret <= 0)
				return ret ? (int)ret : -EBADMSG;
		}
	return len == 0 ? -EIO : errno == EAGAIN ? 0 : -errno;
}

int move_watch_take(struct move_watch *moved, GArray *directories, bool *escaped)
{
	GHashTableIter iter;
	gpointer key;
	int ret = take_all(moved);

	*escaped |= moved->escaped;
	moved->escaped = false;
	if (ret || directories->len)
		return ret;
	g_hash_table_iter_init(&iter, moved->directories);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		g_array_append_vals(directories, key, 1);
	g_hash_table_remove_all(moved->directories);
	return 0;
}
