/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_queue.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/source/backend.h"

bool nfs_queue_init(struct nfs_queue *queue)
{
	*queue = (struct nfs_queue){.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	pthread_mutex_init(&queue->lock, NULL);
	return queue->wake_fd >= 0;
}

void nfs_queue_clear(struct nfs_queue *queue)
{
	if (queue->wake_fd >= 0)
		close(queue->wake_fd);
	pthread_mutex_destroy(&queue->lock);
}

static void wake_thread(struct nfs_queue *queue)
{
	const uint64_t one = 1;
	ssize_t n;

	do
		n = write(queue->wake_fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
}

static GQueue *queue_of(struct nfs_queue *queue, const struct backend_request *req)
{
	return backend_is_waited_for(req) ? &queue->demand : &queue->background;
}

bool nfs_queue_add(struct nfs_queue *queue, struct backend_request *req)
{
	bool stopped, asleep = false;

	pthread_mutex_lock(&queue->lock);
	stopped = queue->stopped;
	if (!stopped) {
		g_queue_push_tail_link(queue_of(queue, req), &req->link);
		asleep = !queue->awake;
		queue->awake = true;
	}
	pthread_mutex_unlock(&queue->lock);
	if (asleep)
		wake_thread(queue);
	return !stopped;
}

void nfs_queue_stop(struct nfs_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->stop = true;
	pthread_mutex_unlock(&queue->lock);
	wake_thread(queue);
}

/* With the lock. */
static struct backend_request *first_of(struct nfs_queue *queue, bool prefer_background)
{
	const bool background =
		!queue->demand.head || (prefer_background && queue->background.head);
	const GList *link = background ? queue->background.head : queue->demand.head;

	return link ? link->data : NULL;
}

struct backend_request *nfs_queue_first(struct nfs_queue *queue, bool prefer_background)
{
	struct backend_request *first;

	pthread_mutex_lock(&queue->lock);
	first = first_of(queue, prefer_background);
	pthread_mutex_unlock(&queue->lock);
	return first;
}

bool nfs_queue_stops(struct nfs_queue *queue, bool prefer_background,
		     struct backend_request **first)
{
	bool stop;

	pthread_mutex_lock(&queue->lock);
	*first = first_of(queue, prefer_background);
	/* With requests in the queue the thread waits for something other than more requests. */
	queue->awake = *first;
	stop = queue->stop;
	pthread_mutex_unlock(&queue->lock);
	return stop;
}

void nfs_queue_take(struct nfs_queue *queue, struct backend_request *req)
{
	pthread_mutex_lock(&queue->lock);
	g_queue_unlink(queue_of(queue, req), &req->link);
	pthread_mutex_unlock(&queue->lock);
}

struct backend_request *nfs_queue_end(struct nfs_queue *queue)
{
	struct backend_request *req;

	pthread_mutex_lock(&queue->lock);
	req = first_of(queue, false);
	if (req)
		g_queue_unlink(queue_of(queue, req), &req->link);
	queue->stopped = !req;
	pthread_mutex_unlock(&queue->lock);
	return req;
}
