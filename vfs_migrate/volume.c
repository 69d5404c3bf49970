/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "vfs_migrate/volume.h"

#include <pthread.h>
#include <sched.h>

#define MAX_REQUESTS 8192 /* under way: the credits that a client has by default */
#define HELLO_MS     500  /* how long the first tree connect waits for the retriever */

static struct vm_volume *volumes;

static bool own_mounts;

/* In a child, which may start a program, as for `root preexec`: of what that opens the guard is to
 * be asked.  So it leaves these mounts, or ends. */
static void leave_own_mounts(void)
{
	const uid_t user = geteuid();

	if (own_mounts && (seteuid(0) < 0 || unshare(CLONE_NEWNS) < 0 || seteuid(user) < 0))
		_exit(127);
}

/*
 * The guard is then not asked about opens through these mounts; it still is about opens through the
 * mounts of other processes, which may serve the volume without this module.  If the process may
 * not have mounts of its own, the guard is asked.
 */
static void take_own_mounts(void)
{
	static bool watched;

	if (!watched)
		watched = pthread_atfork(NULL, NULL, leave_own_mounts) == 0;
	if (watched && !own_mounts)
		own_mounts = unshare(CLONE_NEWNS) == 0;
}

void vm_volume_register(struct vm_volume *volume)
{
	int result;

	become_root();
	take_own_mounts();
	result = migrate_volume_register(volume->client);
	unbecome_root();
	volume->registered = true;
	/* Without the directory there is no guard either; the connection tries again. */
	if (result >= 0 || result == -ENOENT || volume->unregistered)
		return;
	volume->unregistered = true;
	DBG_ERR("migrate: volume %s: cannot register in %s.doors (%s): migrate-guard makes this "
		"smbd wait as a local program; see that root can write and lock this file\n",
		volume->name, migrate_volume_socket(volume->client), strerror(-result));
}

static void log_connection(struct vm_volume *volume, int result)
{
	bool connected = migrate_volume_connected(volume->client);

	if (result == -EPROTO && !volume->refused)
		DBG_ERR("migrate: volume %s: migrate-retriever is of another version: install the "
			"same release of both and restart them\n",
			volume->name);
	volume->refused = result == -EPROTO;
	if (connected == volume->connected)
		return;
	volume->connected = connected;
	if (connected && volume->registered)
		vm_volume_register(volume);
	if (connected)
		DEBUG(3, ("migrate: volume %s: connected to its retriever\n", volume->name));
	else
		DEBUG(1, ("migrate: volume %s: the retriever is away; unfinished files time out\n",
			  volume->name));
}

void vm_volume_dispatch(struct vm_volume *volume, int timeout_ms)
{
	const bool connect = !migrate_volume_connected(volume->client);
	int result;

	/* only if needed, as the host then forgets that it has entered the share */
	if (connect)
		become_root();
	result = migrate_volume_dispatch(volume->client, timeout_ms);
	if (connect)
		unbecome_root();
	log_connection(volume, result);
}

static void on_readable(struct tevent_context *ev, struct tevent_fd *fde, uint16_t flags, void *arg)
{
	vm_volume_dispatch(arg, 0);
}

static struct vm_volume *volume_new(struct tevent_context *ev, const char *name, const char *socket)
{
	struct vm_volume *volume = talloc_zero(NULL, struct vm_volume);
	int result = -ENOMEM;

	if (!volume)
		return NULL;
	volume->name = talloc_strdup(volume, name);
	volume->socket = talloc_strdup(volume, socket);
	if (volume->name && volume->socket)
		result = migrate_volume_new(name, socket, MIGRATE_ROLE_PLAIN_DOOR, &volume->client);
	if (result == 0)
		migrate_volume_limit(volume->client, MAX_REQUESTS);
	volume->turn = tevent_create_immediate(volume);
	if (result == 0 && volume->turn)
		volume->readable = tevent_add_fd(ev, volume, migrate_volume_fd(volume->client),
						 TEVENT_FD_READ, on_readable, volume);
	if (!volume->readable) {
		if (volume->client)
			migrate_volume_free(volume->client);
		TALLOC_FREE(volume);
		errno = result < 0 ? -result : ENOMEM;
	}
	return volume;
}

/* Waits for the retriever's first message, after which it is known whether the volume is
 * finished. */
static void await_hello(struct vm_volume *volume)
{
	struct timeval end = timeval_current_ofs_msec(HELLO_MS);

	do {
		vm_volume_dispatch(volume, HELLO_MS / 10);
	} while (!volume->connected && !volume->refused && !timeval_expired(&end));
}

struct vm_volume *vm_volume_get(struct tevent_context *ev, const char *name, const char *socket)
{
	struct vm_volume *volume;

	for (volume = volumes; volume; volume = volume->next)
		if (!strcmp(volume->name, name) && !strcmp(volume->socket, socket))
			break;
	if (!volume) {
		volume = volume_new(ev, name, socket);
		if (!volume)
			return NULL;
		DLIST_ADD(volumes, volume);
		await_hello(volume);
	}
	volume->shares++;
	return volume;
}

void vm_volume_put(struct vm_volume *volume)
{
	if (--volume->shares > 0)
		return;
	DLIST_REMOVE(volumes, volume);
	TALLOC_FREE(volume->readable);
	migrate_volume_free(volume->client);
	if (volume->close_calls)
		volume->close_calls(volume);
	TALLOC_FREE(volume);
}

int vm_volume_inspect(struct vm_volume *volume, const char *path)
{
	struct migrate_inspection found;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result;

	if (fd < 0)
		return -errno;
	become_root();
	result = migrate_watch(fd);
	unbecome_root();
	if (result == 0)
		result = migrate_inspect(fd, &found);
	close(fd);
	if (result < 0)
		return result;
	if (found.vacant)
		return VM_NOT_ATTACHED;
	return !found.unfinished && !found.root && migrate_volume_connected(volume->client) &&
			       migrate_volume_finished(volume->client)
		       ? VM_FINISHED
		       : VM_MIGRATING;
}

bool vm_hidden(int dir_fd, const char *name)
{
	struct migrate_inspection found;
	bool hidden;
	int fd;

	if (name[0] != MIGRATE_PRIVATE_DIR[0] || strcasecmp_m(name, MIGRATE_PRIVATE_DIR))
		return false;
	become_root();
	fd = vm_dup(dir_fd);
	hidden = fd < 0 || migrate_inspect(fd, &found) < 0 || found.root;
	unbecome_root();
	if (fd >= 0)
		close(fd);
	return hidden;
}
