/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "common/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NAME_MAX_BYTES 255
#define HOLD_MS	       500

static int set_address(struct sockaddr_un *addr, const char *name, const char *path)
{
	int len;

	addr->sun_family = AF_UNIX;
	if (path && *path)
		len = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s", path);
	else
		len = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/%s.sock",
			       MIGRATE_SOCKET_DIR, name);
	return len > 0 && (size_t)len < sizeof(addr->sun_path) ? 0 : -EINVAL;
}

static int watch_fd(int epoll, int fd, unsigned kind)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = kind};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static int open_descriptors(struct migrate_volume *volume)
{
	/* The first connection is due at once. */
	struct itimerspec now = {.it_value = {.tv_nsec = 1}};

	volume->epoll = epoll_create1(EPOLL_CLOEXEC);
	volume->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	volume->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (volume->epoll < 0 || volume->timer < 0 || volume->wake < 0 ||
	    watch_fd(volume->epoll, volume->timer, EVENT_TIMER) < 0 ||
	    watch_fd(volume->epoll, volume->wake, EVENT_WAKE) < 0 ||
	    timerfd_settime(volume->timer, 0, &now, NULL) < 0)
		return -errno;
	return 0;
}

static void destroy(struct migrate_volume *volume)
{
	for (size_t i = 0; i < volume->n_buckets; i++) {
		while (volume->buckets[i])
			request_retire(volume, volume->buckets[i]);
	}
	if (volume->epoll >= 0)
		close(volume->epoll);
	if (volume->timer >= 0)
		close(volume->timer);
	if (volume->wake >= 0)
		close(volume->wake);
	layer_unregister(volume);
	pthread_mutex_destroy(&volume->lock);
	free(volume->buckets);
	free(volume->name);
	free(volume->buf);
	free(volume);
}

int migrate_volume_new(const char *name, const char *socket_path, enum migrate_role role,
		       struct migrate_volume **out)
{
	struct migrate_volume *volume;
	int ret;

	if (!*name || strlen(name) > NAME_MAX_BYTES || strchr(name, '/'))
		return -EINVAL;
	volume = calloc(1, sizeof(*volume));
	if (!volume)
		return -ENOMEM;
	pthread_mutex_init(&volume->lock, NULL);
	volume->epoll = volume->timer = volume->wake = volume->sock = -1;
	volume->role = role;
	volume->backoff_ms = CLIENT_BACKOFF_MIN_MS;
	volume->next_id = 1;
	TAILQ_INIT(&volume->queue[0]);
	TAILQ_INIT(&volume->queue[1]);
	TAILQ_INIT(&volume->sent);
	TAILQ_INIT(&volume->open);
	STAILQ_INIT(&volume->completed);
	atomic_init(&volume->hold_ms, HOLD_MS);
	volume->name = strdup(name);
	volume->buf = malloc(MIGRATE_FRAME_MAX);
	ret = volume->name && volume->buf ? set_address(&volume->addr, name, socket_path) : -ENOMEM;
	if (ret == 0)
		ret = open_descriptors(volume);
	if (ret < 0) {
		destroy(volume);
		return ret;
	}
	*out = volume;
	return 0;
}

void migrate_volume_free(struct migrate_volume *volume)
{
	if (!volume)
		return;
	pthread_mutex_lock(&volume->lock);
	volume->closing = true;
	connection_shut(volume);
	pthread_mutex_unlock(&volume->lock);
	request_deliver(volume);
	destroy(volume);
}

const char *migrate_volume_socket(const struct migrate_volume *volume)
{
	return volume->addr.sun_path;
}

int migrate_volume_fd(const struct migrate_volume *volume)
{
	return volume->epoll;
}

void migrate_volume_wake(struct migrate_volume *volume)
{
	connection_wake(volume);
}

bool migrate_volume_connected(const struct migrate_volume *volume)
{
	return atomic_load(&volume->connected);
}

bool migrate_volume_reached(struct migrate_volume *volume)
{
	bool reached;

	pthread_mutex_lock(&volume->lock);
	reached = volume->sock >= 0;
	pthread_mutex_unlock(&volume->lock);
	return reached;
}

unsigned migrate_volume_hold_ms(const struct migrate_volume *volume)
{
	return atomic_load(&volume->hold_ms);
}

bool migrate_volume_finished(const struct migrate_volume *volume)
{
	return atomic_load(&volume->finished);
}

bool migrate_volume_descriptors(const struct migrate_volume *volume)
{
	return atomic_load(&volume->descriptors);
}

/* Resets an eventfd or timerfd. */
static void reset_counter(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0)
		return;
}

static void flush_queues(struct migrate_volume *volume)
{
	pthread_mutex_lock(&volume->lock);
	connection_flush(volume);
	pthread_mutex_unlock(&volume->lock);
}

static void handle_event(struct migrate_volume *volume, const struct epoll_event *event)
{
	switch (event->data.u32) {
	case EVENT_WAKE:
		reset_counter(volume->wake);
		break;
	case EVENT_TIMER:
		reset_counter(volume->timer);
		if (volume->sock < 0)
			connection_open(volume);
		else
			flush_queues(volume);
		break;
	case EVENT_SOCK:
		if (event->events & ~EPOLLOUT)
			connection_receive(volume);
		if (event->events & EPOLLOUT)
			flush_queues(volume);
		break;
	}
}

int migrate_volume_dispatch(struct migrate_volume *volume, int timeout_ms)
{
	struct epoll_event events[4];
	int n = epoll_wait(volume->epoll, events, 4, timeout_ms);
	bool dead, refused;

	for (int i = 0; i < n; i++)
		handle_event(volume, &events[i]);
	pthread_mutex_lock(&volume->lock);
	dead = volume->dead;
	pthread_mutex_unlock(&volume->lock);
	if (dead)
		connection_lost(volume);
	request_deliver(volume);
	pthread_mutex_lock(&volume->lock);
	refused = volume->refused;
	pthread_mutex_unlock(&volume->lock);
	return refused ? -EPROTO : 0;
}

void migrate_volume_limit(struct migrate_volume *volume, unsigned requests)
{
	pthread_mutex_lock(&volume->lock);
	volume->limit = requests;
	pthread_mutex_unlock(&volume->lock);
}

bool migrate_volume_crowded(struct migrate_volume *volume)
{
	bool crowded;

	pthread_mutex_lock(&volume->lock);
	crowded = volume->limit && volume->n_requests >= volume->limit / 4;
	pthread_mutex_unlock(&volume->lock);
	return crowded;
}
