/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/client.h"

void request_list_append(struct request_list *list, struct request *req)
{
	req->list = list;
	TAILQ_INSERT_TAIL(list, req, link);
}

void request_list_prepend(struct request_list *list, struct request *req)
{
	req->list = list;
	TAILQ_INSERT_HEAD(list, req, link);
}

void request_unlink(struct request *req)
{
	if (req->list)
		TAILQ_REMOVE(req->list, req, link);
	req->list = NULL;
}

static struct request **bucket(const struct migrate_volume *volume, uint64_t id)
{
	/* Ids are handed out in sequence: the low bits spread them evenly. */
	return &volume->buckets[id & (volume->n_buckets - 1)];
}

static int table_grow(struct migrate_volume *volume)
{
	size_t n_old = volume->n_buckets, n = n_old ? n_old * 2 : 64;
	struct request **old = volume->buckets;
	struct request **buckets = calloc(n, sizeof(struct request *));

	if (!buckets)
		return -ENOMEM;
	volume->buckets = buckets;
	volume->n_buckets = n;
	for (size_t i = 0; i < n_old; i++) {
		while (old[i]) {
			struct request *req = old[i];
			struct request **to = bucket(volume, req->frame.id);

			old[i] = req->hash_next;
			req->hash_next = *to;
			*to = req;
		}
	}
	free(old);
	return 0;
}

static void request_number(struct migrate_volume *volume, struct request *req)
{
	struct request **to;

	req->frame.id = volume->next_id++;
	to = bucket(volume, req->frame.id);
	req->hash_next = *to;
	*to = req;
	req->registered = true;
	volume->n_requests++;
}

int request_register(struct migrate_volume *volume, struct request *req)
{
	if (volume->n_requests >= volume->n_buckets) {
		int ret = table_grow(volume);

		if (ret < 0 && !volume->n_buckets) /* else the lists get longer */
			return ret;
	}
	request_number(volume, req);
	return 0;
}

static void unregister(struct migrate_volume *volume, struct request *req)
{
	struct request **at;

	if (!req->registered)
		return;
	at = bucket(volume, req->frame.id);
	while (*at != req)
		at = &(*at)->hash_next;
	*at = req->hash_next;
	req->registered = false;
	volume->n_requests--;
}

void request_renumber(struct migrate_volume *volume, struct request *req)
{
	unregister(volume, req);
	request_number(volume, req);
}

struct request *request_find(const struct migrate_volume *volume, uint64_t id)
{
	struct request *req = volume->n_buckets ? *bucket(volume, id) : NULL;

	while (req && req->frame.id != id)
		req = req->hash_next;
	return req;
}

void request_free(struct request *req)
{
	free(req->end);
	free(req->text);
	free(req->reply);
	free(req);
}

void request_complete(struct migrate_volume *volume, struct request *req, int status)
{
	if (req->answered)
		return;
	req->answered = true;
	req->completing = true;
	req->status = status;
	STAILQ_INSERT_TAIL(&volume->completed, req, completed);
}

void request_retire(struct migrate_volume *volume, struct request *req)
{
	request_unlink(req);
	unregister(volume, req);
	if (!req->completing)
		request_free(req);
}

void request_finish(struct migrate_volume *volume, struct request *req, int status)
{
	request_complete(volume, req, status);
	request_retire(volume, req);
}

void request_deliver(struct migrate_volume *volume)
{
	struct completed_list batch = STAILQ_HEAD_INITIALIZER(batch);
	struct request *req;

	pthread_mutex_lock(&volume->lock);
	STAILQ_CONCAT(&batch, &volume->completed);
	pthread_mutex_unlock(&volume->lock);
	while ((req = STAILQ_FIRST(&batch))) {
		const char *reply = req->reply ? req->reply : "";
		bool unused;

		STAILQ_REMOVE_HEAD(&batch, completed);
		if (req->text_done)
			req->text_done(req->arg, req->status, reply);
		else
			req->done(req->arg, req->status);
		pthread_mutex_lock(&volume->lock);
		req->completing = false;
		unused = !req->registered && !req->list;
		pthread_mutex_unlock(&volume->lock);
		if (unused)
			request_free(req);
	}
}
