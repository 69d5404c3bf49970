/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abstract_mem.h"
#include "fsal_migrate/takeover/takeover.h"
#include "fsal_migrate/up.h"

#define DISPATCH_MS 1000
#define HELLO_MS    500 /* how long exports wait for the retriever, together */
#define TURN_MS	    10

static struct {
	pthread_mutex_t lock;
	struct glist_head list; /* of struct mg_volume */
} volumes = {PTHREAD_MUTEX_INITIALIZER, GLIST_HEAD_INIT(volumes.list)};

/*
 * A volume is not finished before it is finalized: a program of this machine may have moved a stub
 * into a directory that was whole, so that only a look at every object proves that no stub is left.
 * The volume's root tells whether it is finalized, if the root is the exported directory or above
 * it, as a record or MIGRATE_PRIVATE_DIR there showed.  If there was neither, the export may also
 * be above the root, and only the retriever knows.
 */
static void check_finished(struct mg_volume *volume)
{
	struct migrate_inspection found;

	if (!atomic_load(&volume->inspected) || atomic_load(&volume->finished) ||
	    atomic_load(&volume->unattached) ||
	    (atomic_load(&volume->unproven) && !migrate_volume_finished(volume->client)) ||
	    migrate_inspect(volume->mount_fd, &found) < 0 || found.unfinished ||
	    found.to_be_finalized)
		return;
	LogEvent(COMPONENT_FSAL, "Volume %s: everything is here", volume->name);
	atomic_store(&volume->finished, true);
}

static void register_volume(struct mg_volume *volume)
{
	const int result = migrate_volume_register(volume->client);

	pthread_mutex_lock(&volume->lock);
	volume->presumed = false;
	pthread_mutex_unlock(&volume->lock);
	atomic_store(&volume->registered, true);
	/* Without the directory there is no guard either; the connection tries again. */
	if (result >= 0 || result == -ENOENT || atomic_exchange(&volume->unregistered, true))
		return;
	LogCrit(COMPONENT_FSAL,
		"Volume %s: cannot register in %s.doors (%s): migrate-guard makes this server wait "
		"as a local program; see that root can write and lock this file",
		volume->name, migrate_volume_socket(volume->client), strerror(-result));
}

void mg_volume_register(struct mg_volume *volume)
{
	bool presumed;

	pthread_mutex_lock(&volume->lock);
	presumed = volume->presumed;
	pthread_mutex_unlock(&volume->lock);
	if (!presumed)
		register_volume(volume);
}

bool mg_volume_is_finished(struct mg_volume *volume)
{
	const struct timespec turn = {.tv_nsec = TURN_MS * 1000000L};

	if (atomic_load(&volume->unproven))
		while (!migrate_volume_connected(volume->client) &&
		       !migrate_passed(&volume->hello_by))
			nanosleep(&turn, NULL);
	check_finished(volume);
	if (atomic_load(&volume->finished))
		return true;
	pthread_mutex_lock(&volume->lock);
	volume->presumed = atomic_load(&volume->unproven) && !atomic_load(&volume->unattached) &&
			   !atomic_load(&volume->registered) &&
			   !migrate_volume_connected(volume->client);
	pthread_mutex_unlock(&volume->lock);
	return false;
}

/* What was presumed while the retriever was away. */
static void check_presumed(struct mg_volume *volume)
{
	bool presumed, waived;

	if (!migrate_volume_connected(volume->client))
		return;
	check_finished(volume);
	pthread_mutex_lock(&volume->lock);
	presumed = volume->presumed;
	waived = volume->waived;
	volume->presumed = false;
	pthread_mutex_unlock(&volume->lock);
	if (!presumed || atomic_load(&volume->finished))
		return;
	if (waived)
		LogCrit(COMPONENT_FSAL,
			"Volume %s: it is not finalized, and another export shows it without FSAL "
			"MIGRATE: migrate-guard makes this server wait as a local program; write "
			"FSAL { Name = MIGRATE; ... } in that export, and restart",
			volume->name);
	else
		register_volume(volume);
}

/* When the volume has been attached, MDCACHE has to forget the root's older attributes. */
static void check_attached(struct mg_volume *volume)
{
	bool waiting;

	pthread_mutex_lock(&volume->lock);
	waiting = volume->root_key;
	pthread_mutex_unlock(&volume->lock);
	if (!waiting || migrate_has_record(volume->mount_fd) <= 0)
		return;
	atomic_store(&volume->unattached, false);
	/* No other thread takes the key. */
	mg_up_invalidate(volume, volume->root_key, volume->root_key_len, true, NULL, NULL);
	pthread_mutex_lock(&volume->lock);
	free(volume->root_key);
	volume->root_key = NULL;
	pthread_mutex_unlock(&volume->lock);
	LogEvent(COMPONENT_FSAL, "Volume %s: is attached now", volume->name);
}

static void check_damaged(struct mg_volume *volume)
{
	if (atomic_load(&volume->damaged) || !migrate_damaged(volume->mount_fd))
		return;
	atomic_store(&volume->damaged, true);
	LogCrit(COMPONENT_FSAL,
		"Volume %s: its file system has found errors in itself: what is not known to be "
		"whole fails",
		volume->name);
}

static void *dispatch(void *arg)
{
	struct mg_volume *volume = arg;
	struct timespec next = migrate_in_ms(0);
	bool connected = false, refused = false;
	int result;

	SetNameFunction("migrate_client");
	while (!atomic_load(&volume->stop)) {
		result = migrate_volume_dispatch(volume->client, DISPATCH_MS);
		if (result == -EPROTO && !refused)
			LogMajor(COMPONENT_FSAL,
				 "Volume %s: migrate-retriever is of another version: install the "
				 "same release of both and restart them",
				 volume->name);
		refused = result == -EPROTO;
		if (migrate_passed(&next)) {
			check_damaged(volume);
			check_attached(volume);
			check_finished(volume);
			check_presumed(volume);
			mg_takeover_tick(volume);
			next = migrate_in_ms(DISPATCH_MS);
		}
		if (connected == migrate_volume_connected(volume->client))
			continue;
		connected = !connected;
		if (connected && atomic_load(&volume->registered))
			register_volume(volume);
		if (connected)
			LogEvent(COMPONENT_FSAL, "Volume %s: connected to its retriever",
				 volume->name);
		else
			LogWarn(COMPONENT_FSAL,
				"Volume %s: the retriever is away; unfinished files are delayed",
				volume->name);
	}
	return NULL;
}

static int start_dispatcher(struct mg_volume *volume)
{
	sigset_t all, old;
	int result;

	/* The host handles signals in a thread of its own. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	result = -pthread_create(&volume->dispatcher, NULL, dispatch, volume);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return result;
}

static void stop_dispatcher(struct mg_volume *volume)
{
	atomic_store(&volume->stop, true);
	migrate_volume_wake(volume->client);
	pthread_join(volume->dispatcher, NULL);
}

static void volume_disconnect(struct mg_volume *volume)
{
	stop_dispatcher(volume);
	migrate_volume_free(volume->client);
	volume->client = NULL;
}

static int open_directory(const char *path, dev_t *device)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		int error = errno;

		if (fd >= 0)
			close(fd);
		return -error;
	}
	*device = st.st_dev;
	return fd;
}

/* volumes.lock */
static struct mg_volume *volume_find(const char *name, const char *socket)
{
	struct glist_head *link;

	glist_for_each(link, &volumes.list)
	{
		struct mg_volume *volume = glist_entry(link, struct mg_volume, link);

		if (!strcmp(volume->name, name) && !strcmp(volume->socket, socket))
			return volume;
	}
	return NULL;
}

/* The guard is told before anything is opened. */
static int volume_connect(struct mg_volume *volume, const char *path, bool registers)
{
	int result = migrate_volume_new(volume->name, volume->socket, MIGRATE_ROLE_DOOR,
					&volume->client);

	if (result < 0)
		return result;
	migrate_volume_limit(volume->client, mg_limits.max_requests);
	volume->hello_by = migrate_in_ms(HELLO_MS);
	if (registers)
		register_volume(volume);
	result = volume->mount_fd = open_directory(path, &volume->device);
	if (result >= 0)
		result = migrate_watch(volume->mount_fd);
	if (result == 0)
		result = start_dispatcher(volume);
	if (result < 0) {
		migrate_volume_free(volume->client);
		volume->client = NULL;
	}
	return result;
}

/* volumes.lock */
static int volume_add(const char *name, const char *socket, const char *path, bool registers,
		      struct mg_volume **out)
{
	struct mg_volume *volume = mg_volume_new(name, socket, -1, 0);
	int result;

	if (!volume)
		return -ENOMEM;
	result = volume_connect(volume, path, registers);
	if (result < 0) {
		mg_volume_unref(volume);
		return result;
	}
	volume->exports = 1;
	glist_add_tail(&volumes.list, &volume->link);
	*out = volume;
	return 0;
}

int mg_volume_get(const char *name, const char *socket, const char *path, bool registers,
		  struct mg_volume **out)
{
	struct mg_volume *volume;
	struct stat st;
	int result = 0;

	pthread_mutex_lock(&volumes.lock);
	volume = volume_find(name, socket);
	if (!volume) {
		result = volume_add(name, socket, path, registers, out);
	} else if (stat(path, &st) < 0) {
		result = -errno;
	} else if (volume->device == st.st_dev) {
		volume->exports++;
		if (registers)
			register_volume(volume);
		*out = mg_volume_ref(volume);
	} else {
		result = -EXDEV;
	}
	pthread_mutex_unlock(&volumes.lock);
	return result;
}

void mg_volume_put(struct mg_volume *volume)
{
	bool last;

	pthread_mutex_lock(&volumes.lock);
	last = --volume->exports == 0;
	if (last)
		glist_del(&volume->link);
	pthread_mutex_unlock(&volumes.lock);
	if (last)
		volume_disconnect(volume);
	mg_volume_unref(volume);
}

void mg_volumes_end(void)
{
	struct glist_head *link;

	pthread_mutex_lock(&volumes.lock);
	glist_for_each(link, &volumes.list)
	{
		stop_dispatcher(glist_entry(link, struct mg_volume, link));
	}
	pthread_mutex_unlock(&volumes.lock);
}

bool mg_volumes_overlap(int fd)
{
	struct glist_head *link;
	bool overlap = false;

	pthread_mutex_lock(&volumes.lock);
	glist_for_each(link, &volumes.list)
	{
		struct mg_volume *volume = glist_entry(link, struct mg_volume, link);

		if (atomic_load(&volume->finished) || !migrate_overlap(fd, volume->mount_fd))
			continue;
		pthread_mutex_lock(&volume->lock);
		if (volume->presumed)
			volume->waived = true;
		else
			overlap = true;
		pthread_mutex_unlock(&volume->lock);
	}
	pthread_mutex_unlock(&volumes.lock);
	return overlap;
}

int mg_volume_inspect(struct mg_volume *volume, const char *path, bool *is_root)
{
	struct migrate_inspection found;
	dev_t device;
	int fd = open_directory(path, &device), result;

	if (fd < 0)
		return fd;
	result = migrate_inspect(fd, &found);
	close(fd);
	if (result < 0)
		return result;
	*is_root = found.root || found.vacant;
	if (found.vacant)
		atomic_store(&volume->unattached, true);
	else if (!found.unfinished && !found.to_be_finalized)
		atomic_store(&volume->unproven, true);
	atomic_store(&volume->inspected, true);
	return 0;
}
