/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "journal/mutes.h"
#include "journal/retriever_process.h"
#include "journal/store/live.h"

#define READ_SIZE (256 << 10)
#define GATHER_US 10000 /* so that one wake-up is for many events; the kernel's queue has room */

struct half {
	char *bytes;
	size_t used;
	GHashTable *known; /* events in it that need not be kept again, and how often they came */
	int64_t lost;
};

struct watch {
	int fan, wake, poke;
	pid_t self;
	char *buffer; /* of read(2) */
	struct retriever_process *own;
	GThread *thread;

	GMutex lock; /* a leaf: what follows */
	GCond room, drained;
	struct half halves[2];
	unsigned filling; /* the half that events come into */
	struct mutes mutes;
	int64_t seen, settled;
	int error; /* of the thread, which has ended; or 0 */
	atomic_bool stopping;
};

/* ---- what is known already ------------------------------------------------------------------- */

static const struct fanotify_event_metadata *meta(gconstpointer p)
{
	return p;
}

/* All but whose it is. */
static guint hash_event(gconstpointer p)
{
	const uint8_t *bytes = p;
	guint hash = (guint)meta(p)->mask;

	for (size_t i = meta(p)->metadata_len; i < meta(p)->event_len; i++)
		hash = hash * 33 + bytes[i];
	return hash;
}

static gboolean equal_events(gconstpointer a, gconstpointer b)
{
	return meta(a)->mask == meta(b)->mask && meta(a)->event_len == meta(b)->event_len &&
	       memcmp((const char *)a + meta(a)->metadata_len,
		      (const char *)b + meta(b)->metadata_len,
		      meta(a)->event_len - meta(a)->metadata_len) == 0;
}

/* Names come and go: each time counts. */
static bool changes_names(uint64_t mask)
{
	return mask & (FAN_CREATE | FAN_DELETE | FAN_RENAME);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Lock held. */
static void note_lost_events(struct watch *watch)
{
	struct half *half = &watch->halves[watch->filling];

	half->lost = MIN(half->lost, MIN(watch->seen, journal_realtime()));
}

/* Lock held. */
static bool came_again(struct watch *watch, struct half *half, char *event)
{
	const guint times = GPOINTER_TO_UINT(g_hash_table_lookup(half->known, event));

	/* the one that is there stays the key */
	g_hash_table_insert(half->known, event, GUINT_TO_POINTER(times + 1));
	if (times == MUTES_AFTER)
		mutes_add(&watch->mutes, meta(event));
	return times > 0;
}

/* Lock held.  Waits for room.  bytes: as the kernel puts them, aligned to 4. */
static void keep_event(struct watch *watch, const char *bytes, size_t event_len, bool names)
{
	struct half *half = &watch->halves[watch->filling];
	const size_t len = WATCH_ALIGNED(event_len);
	char *at;

	while (half->used + len > WATCH_ROOM && !watch->stopping) {
		g_cond_wait(&watch->room, &watch->lock);
		half = &watch->halves[watch->filling];
	}
	if (watch->stopping)
		return;
	at = memcpy(half->bytes + half->used, bytes, event_len);
	if (!names && came_again(watch, half, at))
		return;
	half->used += len;
	if (half->used == len || half->used > WATCH_ROOM / 2)
		eventfd_write(watch->wake, 1);
}

static void keep_all(struct watch *watch, size_t len)
{
	struct fanotify_event_metadata event;

	retriever_process_look(watch->own);
	g_mutex_lock(&watch->lock);
	for (size_t at = 0; at + sizeof(event) <= len; at += event.event_len) {
		memcpy(&event, watch->buffer + at, sizeof(event));
		if (event.event_len < sizeof(event) || event.event_len > len - at)
			break;
		if (event.mask & FAN_Q_OVERFLOW)
			note_lost_events(watch);
		else if (event.pid != watch->self && !retriever_process_is(watch->own, event.pid))
			keep_event(watch, watch->buffer + at, event.event_len,
				   changes_names(event.mask));
	}
	g_mutex_unlock(&watch->lock);
}

/* All that the kernel has.  0 or the errno that ends it. */
static int drain(struct watch *watch)
{
	for (;;) {
		const int64_t real = journal_realtime(), boot = journal_boottime();
		ssize_t len = read(watch->fan, watch->buffer, READ_SIZE);

		if (len > 0) {
			keep_all(watch, (size_t)len);
			continue;
		}
		if (len < 0 && errno == EINTR)
			continue;
		if (len == 0 || errno != EAGAIN)
			return len ? errno : EIO;
		retriever_process_read_all(watch->own);
		g_mutex_lock(&watch->lock);
		watch->seen = real;
		watch->settled = boot;
		g_cond_signal(&watch->drained);
		g_mutex_unlock(&watch->lock);
		return 0;
	}
}

static gpointer run_watch(gpointer arg)
{
	struct watch *watch = arg;
	struct pollfd fds[] = {{.fd = watch->fan, .events = POLLIN},
			       {.fd = watch->poke, .events = POLLIN}};
	int error = 0;
	eventfd_t count;

	while (!error) {
		/* Also when nothing happens: then everything until now is seen. */
		if (poll(fds, 2, 200) < 0 && errno != EINTR)
			error = errno;
		/* While it listens: when it begins a copy it closes its socket and opens anew. */
		retriever_process_look(watch->own);
		if (fds[1].revents)
			eventfd_read(watch->poke, &count);
		else if (fds[0].revents)
			g_usleep(GATHER_US);
		if (watch->stopping)
			return NULL;
		if (!error)
			error = drain(watch);
	}
	g_mutex_lock(&watch->lock);
	watch->error = error;
	g_mutex_unlock(&watch->lock);
	eventfd_write(watch->wake, 1);
	return NULL;
}

/* ---- the caller's thread --------------------------------------------------------------------- */

static void cannot(int number, const char *what, GError **error)
{
	const char *hint = number == EXDEV || number == ENODEV
				   ? ": this kernel cannot watch that file system as a whole (a "
				     "subvolume of btrfs needs Linux 6.8)"
			   : number == EINVAL ? ": Linux 5.17 or later is needed"
			   : number == EPERM  ? ": it must be run as root"
			   : number == EMFILE
				   ? ": no group is left, raise fs.fanotify.max_user_groups"
				   : "";

	g_set_error(error, JOURNAL_ERROR, number, "%s: %s%s", what, g_strerror(number), hint);
}

static bool begin_watch(struct watch *watch, int root_fd, GError **error)
{
	watch->fan = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK |
					   FAN_REPORT_DFID_NAME_TARGET,
				   O_RDONLY | O_CLOEXEC);
	if (watch->fan < 0) {
		cannot(errno, "fanotify_init", error);
		return false;
	}
	watch->mutes = (struct mutes){.fan = watch->fan, .root = root_fd};
	if (fanotify_mark(watch->fan, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, EVENTS_MASK, root_fd,
			  NULL) == 0)
		return true;
	cannot(errno, "fanotify_mark", error);
	return false;
}

struct watch *watch_new(int root_fd, const char *socket, pid_t self, GError **error)
{
	struct watch *watch = g_new0(struct watch, 1);

	g_mutex_init(&watch->lock);
	g_cond_init(&watch->room);
	g_cond_init(&watch->drained);
	watch->fan = -1;
	watch->self = self;
	watch->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch->poke = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch->buffer = g_malloc(READ_SIZE);
	watch->own = retriever_process_new(socket);
	for (unsigned i = 0; i < 2; i++) {
		watch->halves[i] = (struct half){.bytes = g_malloc(WATCH_ROOM), .lost = INT64_MAX};
		watch->halves[i].known = g_hash_table_new(hash_event, equal_events);
	}
	if (!begin_watch(watch, root_fd, error)) {
		watch_free(watch);
		return NULL;
	}
	watch->seen = journal_realtime();
	watch->settled = journal_boottime();
	watch->thread = g_thread_new("watch", run_watch, watch);
	return watch;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	g_mutex_lock(&watch->lock);
	watch->stopping = true;
	g_cond_signal(&watch->room);
	g_mutex_unlock(&watch->lock);
	eventfd_write(watch->poke, 1);
	if (watch->thread)
		g_thread_join(watch->thread);
	if (watch->fan >= 0)
		close(watch->fan);
	close(watch->wake);
	close(watch->poke);
	retriever_process_free(watch->own);
	for (unsigned i = 0; i < 2; i++) {
		g_hash_table_destroy(watch->halves[i].known);
		g_free(watch->halves[i].bytes);
	}
	g_free(watch->buffer);
	g_mutex_clear(&watch->lock);
	g_cond_clear(&watch->room);
	g_cond_clear(&watch->drained);
	g_free(watch);
}

int watch_fd(const struct watch *watch)
{
	return watch->wake;
}

enum watch_fill watch_fill(struct watch *watch)
{
	eventfd_t count;
	size_t used;
	int failed;

	eventfd_read(watch->wake, &count);
	g_mutex_lock(&watch->lock);
	used = watch->halves[watch->filling].used;
	failed = watch->error;
	g_mutex_unlock(&watch->lock);
	if (failed || used > WATCH_ROOM / 2)
		return WATCH_MUCH;
	return used ? WATCH_SOME : WATCH_EMPTY;
}

/* Lock held. */
static void wait_drained(struct watch *watch)
{
	const int64_t from = journal_boottime();
	const gint64 end = g_get_monotonic_time() + G_USEC_PER_SEC;

	eventfd_write(watch->poke, 1);
	while (watch->settled < from && !watch->error &&
	       g_cond_wait_until(&watch->drained, &watch->lock, end))
		;
}

bool watch_take(struct watch *watch, bool now, struct watched *out, GError **error)
{
	struct half *half;
	int failed;

	g_mutex_lock(&watch->lock);
	mutes_close(&watch->mutes);
	if (now)
		wait_drained(watch);
	failed = watch->error;
	half = &watch->halves[watch->filling];
	*out = (struct watched){half->bytes, half->used, watch->seen, watch->settled, half->lost};
	half->lost = INT64_MAX;
	watch->filling ^= 1;
	half = &watch->halves[watch->filling];
	half->used = 0;
	g_hash_table_remove_all(half->known);
	mutes_open(&watch->mutes);
	g_cond_signal(&watch->room);
	g_mutex_unlock(&watch->lock);
	if (!failed)
		return true;
	cannot(failed, "fanotify", error);
	return false;
}
