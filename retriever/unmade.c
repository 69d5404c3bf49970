/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unmade.h"

#include <errno.h>

#include "errors.h"
#include "refused.h"

#define GONE_MAX 10000

void unmade_init(struct unmade *unmade, struct errors *errors, int dir_fd)
{
	unmade->errors = errors;
	unmade->dir_fd = dir_fd;
	unmade->gone = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_mutex_init(&unmade->lock);
}

void unmade_clear(struct unmade *unmade)
{
	g_hash_table_destroy(unmade->gone);
	g_mutex_clear(&unmade->lock);
}

void unmade_reset(struct unmade *unmade)
{
	g_mutex_lock(&unmade->lock);
	unmade->refused = 0;
	unmade->more = 0;
	g_mutex_unlock(&unmade->lock);
}

static void fail(struct unmade *unmade, int status)
{
	g_mutex_lock(&unmade->lock);
	if (!unmade->status)
		unmade->status = status;
	g_mutex_unlock(&unmade->lock);
}

/* Whether it was not found in the first listing either. */
static bool is_gone_again(struct unmade *unmade, const char *name)
{
	bool known;

	g_mutex_lock(&unmade->lock);
	known = unmade->again && g_hash_table_contains(unmade->gone, name);
	if (!unmade->again && g_hash_table_size(unmade->gone) < GONE_MAX)
		g_hash_table_add(unmade->gone, g_strdup(name));
	else if (!unmade->again && !unmade->status) /* nobody's directory is like that */
		unmade->status = -EREMOTEIO;
	g_mutex_unlock(&unmade->lock);
	return known;
}

void unmade_add(struct unmade *unmade, const char *name, int status, const char *reason)
{
	if (status == -ENOENT) {
		if (!is_gone_again(unmade, name))
			return;
		status = -EREMOTEIO;
	} else if (status == -ENOTUNIQ) {
		reason = UNMADE_OTHER;
		status = -EREMOTEIO;
	} else if (status == -ECANCELED) {
		reason = NULL;
	}
	if (reason)
		errors_add_name(unmade->errors, unmade->dir_fd, name, status, reason);
	fail(unmade, status);
}

static void say_how_many(struct unmade *unmade)
{
	g_autofree char *reason =
		g_strdup_printf("%" G_GUINT64_FORMAT " more names that no file here can have: "
				"rename them on the old server, then retry",
				unmade->more);

	errors_add_refused(unmade->errors, unmade->dir_fd, "", -EREMOTEIO, reason);
}

void unmade_add_refused(struct unmade *unmade, const struct backend_batch *batch)
{
	guint listed = 0;

	if (!batch->rejected)
		return;
	for (guint i = 0; i < batch->refused->len && unmade->refused < UNMADE_LISTED; i++) {
		const struct source_refusal *r =
			&g_array_index(batch->refused, struct source_refusal, i);

		errors_add_refused(unmade->errors, unmade->dir_fd, r->name, -EREMOTEIO, r->why);
		unmade->refused++;
		listed++;
	}
	unmade->more += batch->rejected - listed;
	fail(unmade, -EREMOTEIO);
}

bool unmade_listed(struct unmade *unmade)
{
	bool again;

	if (unmade->more)
		say_how_many(unmade);
	g_mutex_lock(&unmade->lock);
	again = !unmade->again && g_hash_table_size(unmade->gone) > 0 &&
		unmade->status != -ECANCELED;
	unmade->again = unmade->again || again;
	g_mutex_unlock(&unmade->lock);
	if (again)
		unmade_reset(unmade);
	return again;
}
