/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "client.h"

void request_list_append(struct request_list *list, struct request *req)
{
	req->list = list;
	req->next = NULL;
	req->prev = list->tail;
	if (list->tail)
		list->tail->next = req;
	else
		list->head = req;
	list->tail = req;
}

void request_list_prepend(struct request_list *list, struct request *req)
{
	req->list = list;
	req->prev = NULL;
	req->next = list->head;
	if (list->head)
		list->head->prev = req;
	else
		list->tail = req;
	list->head = req;
}

void request_unlink(struct request *req)
{
	if (!req->list)
		return;
	if (req->prev)
		req->prev->next = req->next;
	else
		req->list->head = req->next;
	if (req->next)
		req->next->prev = req->prev;
	else
		req->list->tail = req->prev;
	req->list = NULL;
	req->prev = req->next = NULL;
}

static struct request **bucket(const struct migrate_volume *volume, uint64_t id)
{
	/* Ids are handed out in sequence: the low bits spread them evenly. */
	return &volume->buckets[id & (volume->n_buckets - 1)];
}

static int grow(struct migrate_volume *volume)
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

static void number(struct migrate_volume *volume, struct request *req)
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
		int ret = grow(volume);

		if (ret < 0)
			return ret;
	}
	number(volume, req);
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
	number(volume, req);
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
	req->completed_next = NULL;
	if (volume->completed_tail)
		volume->completed_tail->completed_next = req;
	else
		volume->completed_head = req;
	volume->completed_tail = req;
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
	struct request *batch, *req;

	pthread_mutex_lock(&volume->lock);
	batch = volume->completed_head;
	volume->completed_head = volume->completed_tail = NULL;
	pthread_mutex_unlock(&volume->lock);
	while ((req = batch)) {
		const char *reply = req->reply ? req->reply : "";
		bool unused;

		batch = req->completed_next;
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
