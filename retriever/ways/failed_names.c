/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "failed_names.h"

#include <errno.h>

#include "volume/errors.h"
#include "source/refused.h"

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
	given_up_unref(unmade->given_up);
	g_mutex_clear(&unmade->lock);
}

void unmade_reset(struct unmade *unmade)
{
	g_mutex_lock(&unmade->lock);
	unmade->refused = 0;
	unmade->more = 0;
	g_mutex_unlock(&unmade->lock);
	given_up_reset(unmade->given_up);
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

/* Of errors that are not the old server's of today, nor of a full or broken disk: those that the
 * same name will meet again. */
static bool is_lasting(int status)
{
	switch (status) {
	case -ENOENT:	    /* listed twice, and not found twice */
	case -ENOTUNIQ:	    /* another name leads to another object */
	case -EEXIST:	    /* reserved */
	case -ENAMETOOLONG: /* from here on the new file system's */
	case -EINVAL:
	case -EILSEQ:
	case -EMLINK:
		return true;
	default:
		return false;
	}
}

void unmade_add(struct unmade *unmade, const char *name, int status, const char *reason)
{
	bool lasting = is_lasting(status);

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
	if (lasting && given_up_takes(unmade->given_up, unmade->dir_fd, name, name, reason))
		return;
	if (reason)
		errors_add_name(unmade->errors, unmade->dir_fd, name, status, reason);
	fail(unmade, status);
}

static void say_how_many(struct unmade *unmade)
{
	g_autofree char *reason =
		g_strdup_printf("%" G_GUINT64_FORMAT " more names that no file here can have: "
				"rename them on the old server, then retry; or give up all that "
				"the directory has: migratectl skip --all",
				unmade->more);

	errors_add_refused(unmade->errors, unmade->dir_fd, "", -EREMOTEIO, reason);
}

static bool is_given_up(struct unmade *unmade, const struct source_refusal *r)
{
	g_autofree char *name = errors_refused_name(r->name);

	return given_up_takes(unmade->given_up, unmade->dir_fd, name, r->name, r->why);
}

/* Whether it is no error. */
static bool add_refused(struct unmade *unmade, const struct source_refusal *r)
{
	if (is_given_up(unmade, r))
		return true;
	if (unmade->refused < UNMADE_LISTED) {
		errors_add_refused(unmade->errors, unmade->dir_fd, r->name, -EREMOTEIO, r->why);
		unmade->refused++;
	} else {
		unmade->more++;
	}
	return false;
}

void unmade_add_refused(struct unmade *unmade, const struct backend_batch *batch)
{
	guint untold = batch->rejected - batch->refused->len;
	bool fine = true;

	for (guint i = 0; i < batch->refused->len; i++)
		fine &= add_refused(unmade,
				    &g_array_index(batch->refused, struct source_refusal, i));
	if (untold && !given_up_takes_untold(unmade->given_up, unmade->dir_fd, untold)) {
		unmade->more += untold;
		fine = false;
	}
	if (!fine)
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
