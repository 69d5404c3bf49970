/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/takeover/takeover_server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abstract_mem.h"

#define AT_ONCE	    32 /* one more is told to try again: each keeps a thread waiting */
#define COMMAND_MAX 400

struct mg_takeover_server {
	pthread_mutex_t lock;
	struct mg_export *export; /* lock; NULL: it is gone */
	unsigned asking;	  /* lock */
};

struct mg_takeover_server *mg_takeover_server_new(struct mg_export *export)
{
	struct mg_takeover_server *server = gsh_calloc(1, sizeof(*server));

	pthread_mutex_init(&server->lock, NULL);
	server->export = export;
	return server;
}

void mg_takeover_server_close(struct mg_takeover_server *server)
{
	pthread_mutex_lock(&server->lock);
	server->export = NULL;
	pthread_mutex_unlock(&server->lock);
}

/* NULL: the export goes, or too many threads ask; else end_asking() has to follow. */
static struct mg_export *begin_asking(struct mg_takeover_server *server)
{
	struct mg_export *export;

	pthread_mutex_lock(&server->lock);
	export = server->asking < AT_ONCE ? server->export : NULL;
	if (export && !mg_pending_begin(export))
		export = NULL;
	if (export)
		server->asking++;
	pthread_mutex_unlock(&server->lock);
	return export;
}

static void end_asking(struct mg_takeover_server *server, struct mg_export *export)
{
	pthread_mutex_lock(&server->lock);
	server->asking--;
	pthread_mutex_unlock(&server->lock);
	mg_pending_end(export);
}

/* ---- an answer that is waited for ------------------------------------------------------------ */

struct asking {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned refs;
	bool done;
	int status;
	char *text;
};

static void asking_unref(struct asking *asking)
{
	bool last;

	pthread_mutex_lock(&asking->lock);
	last = --asking->refs == 0;
	pthread_mutex_unlock(&asking->lock);
	if (!last)
		return;
	pthread_cond_destroy(&asking->changed);
	pthread_mutex_destroy(&asking->lock);
	gsh_free(asking->text);
	gsh_free(asking);
}

static void note_answer(void *arg, int status, const char *text)
{
	struct asking *asking = arg;

	pthread_mutex_lock(&asking->lock);
	asking->done = true;
	asking->status = status;
	asking->text = gsh_strdup(text);
	pthread_cond_signal(&asking->changed);
	pthread_mutex_unlock(&asking->lock);
	asking_unref(asking);
}

static struct asking *asking_begin(void)
{
	struct asking *asking = gsh_calloc(1, sizeof(*asking));
	pthread_condattr_t attr;

	pthread_mutex_init(&asking->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&asking->changed, &attr);
	pthread_condattr_destroy(&attr);
	asking->refs = 2;
	return asking;
}

static bool wait_for_answer(struct asking *asking, const struct timespec *deadline)
{
	bool done;

	pthread_mutex_lock(&asking->lock);
	while (!asking->done &&
	       pthread_cond_timedwait(&asking->changed, &asking->lock, deadline) != ETIMEDOUT)
		;
	done = asking->done;
	pthread_mutex_unlock(&asking->lock);
	return done;
}

static int ask_control(struct mg_volume *volume, const char *command, char **text)
{
	const struct timespec deadline = mg_deadline(volume);
	struct asking *asking = asking_begin();
	uint64_t request = migrate_control(volume->client, command, note_answer, asking);
	int status = -EAGAIN;

	if (!request)
		note_answer(asking, -EAGAIN, "");
	if (wait_for_answer(asking, &deadline)) {
		status = asking->status;
		*text = asking->text;
		asking->text = NULL;
	} else {
		migrate_cancel(volume->client, request);
	}
	asking_unref(asking);
	return status;
}

static int send_question(struct mg_volume *volume, const char *verb, const void *handle, size_t len,
			 const char *rest, char **text)
{
	char command[COMMAND_MAX];
	int at = snprintf(command, sizeof(command), "%s ", verb);

	for (size_t i = 0; i < len; i++)
		at += snprintf(command + at, sizeof(command) - (size_t)at, "%02x",
			       ((const uint8_t *)handle)[i]);
	snprintf(command + at, sizeof(command) - (size_t)at, "%s", rest);
	return ask_control(volume, command, text);
}

/* ---- all ------------------------------------------------------------------------------------- */

int mg_takeover_server_ask(struct mg_takeover_server *server, const char *verb, const void *handle,
			   size_t len, const char *rest, char **text)
{
	struct mg_export *export = begin_asking(server);
	int status;

	*text = NULL;
	if (!export)
		return -EAGAIN;
	status = send_question(export->volume, verb, handle, len, rest, text);
	end_asking(server, export);
	return status;
}

static bool many_ask(struct mg_takeover_server *server)
{
	bool many;

	pthread_mutex_lock(&server->lock);
	many = server->asking > AT_ONCE / 2;
	pthread_mutex_unlock(&server->lock);
	return many;
}

/* Waits for a file's handle: the old server cannot tell where a file is, but its directory may be
 * being filled now. */
static int wait_for_file(const struct migrate_old_index *index, const void *handle, size_t len,
			 const struct timespec *deadline)
{
	struct migrate_alias alias;
	bool in_time = true, found;

	do {
		uint32_t seen = migrate_old_index_named(index);

		found = migrate_old_index_find(index, handle, len, &alias);
		in_time = !found && in_time && migrate_old_index_wait(index, seen, deadline);
	} while (in_time);
	return found ? 0 : -ENOTDIR;
}

int mg_takeover_server_find(struct mg_takeover_server *server,
			    const struct migrate_old_index *index, const void *handle, size_t len)
{
	struct mg_export *export;
	struct timespec deadline;
	char *text = NULL;
	int status;

	if (!len || len > MIGRATE_OLD_HANDLE_MAX)
		return -ESTALE;
	export = begin_asking(server);
	if (!export)
		return -EAGAIN;
	deadline = mg_deadline(export->volume);
	status = send_question(export->volume, "directory", handle, len, "", &text);
	gsh_free(text);
	if (status == -ENOTDIR && !many_ask(server))
		status = wait_for_file(index, handle, len, &deadline);
	end_asking(server, export);
	return status;
}
