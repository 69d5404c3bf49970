/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/volume.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The host's pool of threads has 200 (RPC_Ioq_ThrdMax). */
struct mg_limits mg_limits = {.max_waiters = 50, .workers = 4, .max_requests = 1024};

struct mg_volume *mg_volume_new(const char *name, const char *socket, int mount_fd, dev_t device)
{
	struct mg_volume *volume = calloc(1, sizeof(*volume));
	pthread_condattr_t attr;

	if (!volume) {
		close(mount_fd);
		return NULL;
	}
	atomic_store(&volume->refs, 1);
	volume->mount_fd = mount_fd;
	volume->device = device;
	pthread_mutex_init(&volume->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&volume->idle, &attr);
	pthread_condattr_destroy(&attr);
	glist_init(&volume->export_list);
	volume->name = strdup(name);
	volume->socket = strdup(socket);
	if (volume->name && volume->socket)
		return volume;
	mg_volume_unref(volume);
	return NULL;
}

struct mg_volume *mg_volume_ref(struct mg_volume *volume)
{
	atomic_fetch_add(&volume->refs, 1);
	return volume;
}

void mg_volume_unref(struct mg_volume *volume)
{
	if (atomic_fetch_sub(&volume->refs, 1) > 1)
		return;
	if (volume->mount_fd >= 0)
		close(volume->mount_fd);
	pthread_cond_destroy(&volume->idle);
	pthread_mutex_destroy(&volume->lock);
	free(volume->root_key);
	free(volume->name);
	free(volume->socket);
	free(volume);
}

void mg_volume_remember_root(struct mg_volume *volume, const void *key, size_t len)
{
	pthread_mutex_lock(&volume->lock);
	if (!volume->root_key && atomic_load(&volume->unattached)) {
		volume->root_key = malloc(len);
		volume->root_key_len = len;
		if (volume->root_key)
			memcpy(volume->root_key, key, len);
	}
	pthread_mutex_unlock(&volume->lock);
}

bool mg_pending_begin(struct mg_export *export)
{
	struct mg_volume *volume = export->volume;
	bool open;

	pthread_mutex_lock(&volume->lock);
	open = !export->closing;
	if (open)
		export->pending++;
	pthread_mutex_unlock(&volume->lock);
	return open;
}

void mg_pending_end(struct mg_export *export)
{
	/* The export may be gone as soon as it is idle. */
	struct mg_volume *volume = mg_volume_ref(export->volume);

	pthread_mutex_lock(&volume->lock);
	if (--export->pending == 0)
		pthread_cond_broadcast(&volume->idle);
	pthread_mutex_unlock(&volume->lock);
	mg_volume_unref(volume);
}
