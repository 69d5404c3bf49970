/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/wait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAITS_MAX  1024	     /* each has a descriptor, and a request of the retriever's */
#define ROOTS	   128	     /* of them nobody else has */
#define PIECE	   (4 << 20) /* bytes */
#define DEMANDS	   4	     /* at a time; what is more comes in the background */
#define AGAIN_MS   50
#define BRIEF_MS   1000
#define BRIEF_MAX  4	/* who come again, of a server that may have 8 threads */
#define AHEAD_MAX  64	/* directories that are filled ahead, at a time */
#define AHEAD_SEEN 4096 /* names that are looked at for them */
#define LATE_TEXT  "the old server did not deliver it within guard-wait"

struct waits {
	struct migrate_volume *volume;
	GList *all; /* struct wait */
	unsigned count, waiting, brief, demands, ahead;
	gint64 limit_ms;
	waits_answer_fn answer;
	void *arg;
};

struct wait {
	struct waits *waits;
	GList link;
	struct marks_event event;
	uid_t uid;		/* who waits */
	bool answered;		/* and is there for its request only */
	bool directory;		/* so far as was seen */
	bool demand;		/* its request is one */
	bool ahead;		/* nobody has waited for it */
	bool comes_again;	/* who waits */
	bool goes_on;		/* he was sent away, and it comes all the same */
	bool asked;		/* though nothing is missing */
	uint64_t request;	/* 0: none is under way */
	uint64_t at, next;	/* bytes: what was brought; what the request brings.  0: all was */
	gint64 deadline, again; /* ms; again: 0, or when it is looked at once more */
	gint64 away;		/* ms: when he is sent away */
	dev_t dev;		/* of what goes on */
	ino_t ino;
};

static gint64 clock_ms(void)
{
	return g_get_monotonic_time() / 1000;
}

bool waits_is_whole(const struct migrate_stub *stub)
{
	return stub->state == MIGRATE_NORMAL || stub->state == MIGRATE_FILLED;
}

/* ---- one that waits -------------------------------------------------------------------------- */

static void drop_wait(struct wait *wait)
{
	struct waits *waits = wait->waits;

	waits->all = g_list_remove_link(waits->all, &wait->link);
	waits->count--;
	waits->ahead -= wait->ahead;
	close(wait->event.fd);
	g_free(wait);
}

static void answer_wait(struct wait *wait, int error, const char *why)
{
	if (!wait->answered) {
		wait->waits->waiting--;
		wait->waits->brief -= wait->comes_again;
		wait->waits->answer(wait->waits->arg, &wait->event, error, why);
	}
	wait->answered = true;
	wait->goes_on = false;
	if (!wait->request)
		drop_wait(wait);
}

/* What a process may be told. */
static int error_of(int status)
{
	return status == -ENOSPC || status == -EDQUOT ? -status : EIO;
}

static void go_on(struct wait *wait);

static void wait_request_done(void *arg, int status)
{
	struct wait *wait = arg;

	wait->request = 0;
	wait->waits->demands -= wait->demand;
	if (wait->answered && !wait->goes_on) {
		drop_wait(wait);
		return;
	}
	if (status && status != -EAGAIN) {
		answer_wait(wait, error_of(status), g_strerror(-status));
		return;
	}
	if (!status && wait->next) {
		wait->at = wait->next;
		wait->deadline = clock_ms() + wait->waits->limit_ms;
		go_on(wait);
		return;
	}
	/* Put off; or synced, and it should be whole now. */
	wait->at = 0;
	wait->again = status ? clock_ms() + AGAIN_MS : 1;
}

/* The request for what is next. */
static uint64_t ask_retriever(struct wait *wait, const struct migrate_stub *stub)
{
	struct migrate_volume *volume = wait->waits->volume;
	const int fd = wait->event.fd;
	const unsigned flags = wait->demand ? 0 : MIGRATE_BACKGROUND;
	uint64_t start, end;

	wait->next = 0;
	if (wait->directory)
		return migrate_fill_directory(volume, fd, flags, wait_request_done, wait);
	if (!migrate_stub_next_missing(stub, wait->at, &start, &end)) {
		if (wait->at || wait->asked)
			return migrate_sync(volume, fd, wait_request_done, wait);
		wait->asked = true;
		start = 0; /* it may be empty, and nobody's until the old server tells its rights */
		end = 1;
	}
	start = MAX(start, wait->at);
	wait->next = MIN(end, start + PIECE);
	return migrate_fetch_range(volume, fd, start, wait->next - start, flags, wait_request_done,
				   wait);
}

static void go_on(struct wait *wait)
{
	struct migrate_stub stub;
	int error = -migrate_stub_load(wait->event.fd, &stub);

	wait->again = 0;
	if (error) {
		answer_wait(wait, EIO, g_strerror(error));
	} else if (waits_is_whole(&stub)) {
		answer_wait(wait, 0, NULL);
	} else if (stub.state == MIGRATE_DUMMY) {
		answer_wait(wait, EIO, "its attributes are not here yet: list its directory first");
	} else {
		wait->directory = stub.state == MIGRATE_UNFILLED;
		wait->demand = wait->waits->demands < DEMANDS;
		wait->request = ask_retriever(wait, &stub);
		if (wait->request)
			wait->waits->demands += wait->demand;
		else
			wait->again = clock_ms() + AGAIN_MS;
	}
	migrate_stub_clear(&stub);
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct waits *waits_new(struct migrate_volume *volume, unsigned limit, waits_answer_fn answer,
			void *arg)
{
	struct waits *waits = g_new0(struct waits, 1);

	*waits = (struct waits){
		.volume = volume, .limit_ms = limit * (gint64)1000, .answer = answer, .arg = arg};
	return waits;
}

static struct wait *add_wait(struct waits *waits, const struct marks_event *event, uid_t uid)
{
	struct wait *wait = g_new0(struct wait, 1);

	wait->waits = waits;
	wait->event = *event;
	wait->uid = uid;
	wait->link.data = wait;
	wait->deadline = clock_ms() + waits->limit_ms;
	waits->all = g_list_concat(&wait->link, waits->all);
	waits->count++;
	return wait;
}

/* What goes on of the same object; NULL: nothing does. */
static struct wait *find_going_on(struct waits *waits, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return NULL;
	for (GList *at = waits->all; at; at = at->next) {
		struct wait *wait = at->data;

		if (wait->goes_on && wait->dev == st.st_dev && wait->ino == st.st_ino)
			return wait;
	}
	return NULL;
}

static void add_brief(struct waits *waits, const struct marks_event *event, uid_t uid)
{
	struct wait *wait = find_going_on(waits, event->fd);
	const bool found = wait != NULL;

	if (found) {
		close(wait->event.fd);
		wait->event = *event;
		wait->deadline = clock_ms() + waits->limit_ms;
		wait->answered = wait->goes_on = false;
	} else {
		wait = add_wait(waits, event, uid);
	}
	wait->comes_again = true;
	wait->away = clock_ms() + (waits->brief++ < BRIEF_MAX ? BRIEF_MS : 0);
	if (!found)
		go_on(wait);
}

void waits_add(struct waits *waits, const struct marks_event *event, uid_t uid, bool comes_again)
{
	waits->waiting++;
	if (comes_again)
		add_brief(waits, event, uid);
	else
		go_on(add_wait(waits, event, uid));
}

bool waits_are_full(const struct waits *waits, uid_t uid)
{
	const unsigned room = WAITS_MAX - (uid ? ROOTS : 0);
	unsigned own = 0;

	for (const GList *at = waits->all; uid && at; at = at->next)
		own += ((const struct wait *)at->data)->uid == uid;
	return waits->count + own >= room;
}

/* It goes on for a while, in which he should come again. */
static void send_away(struct wait *wait)
{
	struct stat st;

	wait->waits->waiting--;
	wait->waits->brief--;
	wait->waits->answer(wait->waits->arg, &wait->event, EAGAIN, "it is not here yet");
	wait->answered = wait->goes_on = true;
	if (fstat(wait->event.fd, &st) < 0)
		return;
	wait->dev = st.st_dev;
	wait->ino = st.st_ino;
}

static void fill_ahead(struct waits *waits, int dir_fd, const char *name)
{
	struct marks_event event = {
		.fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
	struct migrate_stub stub;
	struct wait *wait;

	if (event.fd < 0)
		return;
	if (!migrate_stub_load(event.fd, &stub) && stub.state == MIGRATE_UNFILLED) {
		wait = add_wait(waits, &event, 0);
		wait->answered = wait->directory = wait->ahead = true;
		waits->ahead++;
		wait->request = ask_retriever(wait, &stub);
		if (!wait->request)
			drop_wait(wait);
	} else {
		close(event.fd);
	}
	migrate_stub_clear(&stub);
}

void waits_look_ahead(struct waits *waits, int dir_fd)
{
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	unsigned seen = 0;

	if (!dir && fd >= 0)
		close(fd);
	if (dir)
		rewinddir(dir); /* btrfs lists what was there when it was opened, or rewound */
	while (dir && seen++ < AHEAD_SEEN && waits->ahead < AHEAD_MAX && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") &&
		    strcmp(entry->d_name, "..") && strcmp(entry->d_name, MIGRATE_PRIVATE_DIR))
			fill_ahead(waits, dir_fd, entry->d_name);
	if (dir)
		closedir(dir);
}

static void check_wait(struct wait *wait, gint64 now)
{
	if (wait->answered && !wait->goes_on)
		return;
	if (wait->comes_again && !wait->answered && now >= wait->away)
		send_away(wait);
	if (now >= wait->deadline) {
		if (wait->request && !wait->directory)
			migrate_cancel(wait->waits->volume, wait->request);
		answer_wait(wait, EIO, LATE_TEXT);
	} else if (wait->again && now >= wait->again) {
		go_on(wait);
	}
}

void waits_turn(struct waits *waits)
{
	const gint64 now = clock_ms();
	GList *next;

	for (GList *at = waits->all; at; at = next) {
		next = at->next;
		check_wait(at->data, now);
	}
}

unsigned waits_count(const struct waits *waits)
{
	return waits->count;
}

unsigned waits_waiting(const struct waits *waits)
{
	return waits->waiting;
}

void waits_fail(struct waits *waits)
{
	GList *next;

	for (GList *at = waits->all; at; at = next) {
		next = at->next;
		answer_wait(at->data, EIO, "the guard ends");
	}
}

void waits_free(struct waits *waits)
{
	g_free(waits);
}
