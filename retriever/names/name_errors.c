/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/name_errors.h"

#include <errno.h>

#include "lib/base/text.h"
#include "retriever/copies/listing_entries.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/copies/prior.h"
#include "retriever/objects/errors.h"

#define GONE_MAX 10000

void name_errors_init(struct name_errors *failed, struct errors *errors, int dir_fd)
{
	failed->errors = errors;
	failed->dir_fd = dir_fd;
	failed->gone = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	failed->left_out = listing_entries_array();
	g_mutex_init(&failed->lock);
}

void name_errors_clear(struct name_errors *failed)
{
	g_hash_table_destroy(failed->gone);
	g_clear_pointer(&failed->left_out, g_array_unref);
	skip_names_unref(failed->skip);
	g_mutex_clear(&failed->lock);
}

void name_errors_reset(struct name_errors *failed)
{
	g_mutex_lock(&failed->lock);
	failed->refused = 0;
	failed->more = 0;
	g_array_set_size(failed->left_out, 0);
	g_mutex_unlock(&failed->lock);
	skip_names_reset(failed->skip);
}

/* What the error means for the directory: an error of one name does not count for the directory. */
static int directory_status(int status)
{
	switch (status) {
	case -EAGAIN: /* passes, */
	case -EHOSTDOWN:
	case -ECANCELED:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -ENOSPC: /* or is of the whole file system */
	case -EDQUOT:
	case -EROFS:
	case -EIO:
		return status;
	default:
		return -EREMOTEIO;
	}
}

static void set_status(struct name_errors *failed, int status)
{
	g_mutex_lock(&failed->lock);
	if (!failed->status)
		failed->status = directory_status(status);
	g_mutex_unlock(&failed->lock);
}

/* Whether it was not found in the first listing either. */
static bool is_gone_again(struct name_errors *failed, const char *name)
{
	bool known;

	g_mutex_lock(&failed->lock);
	known = failed->again && g_hash_table_contains(failed->gone, name);
	if (!failed->again && g_hash_table_size(failed->gone) < GONE_MAX)
		g_hash_table_add(failed->gone, g_strdup(name));
	else if (!failed->again && !failed->status) /* nobody's directory is like that */
		failed->status = -EREMOTEIO;
	g_mutex_unlock(&failed->lock);
	return known;
}

/* Whether the same name will meet this error again: not an error that the old server gives for now,
 * nor one of a full or broken disk. */
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
	case -EFBIG: /* too large for it */
	case -ELOOP: /* a directory in itself */
		return true;
	default:
		return false;
	}
}

enum error_code name_not_made(int status)
{
	switch (status) {
	case -ENOSPC:
	case -EDQUOT:
		return QM_NO_SPACE;
	case -ENOTEMPTY:
		return QM_LEFT_TOO_MANY;
	case -EBUSY:
		return QM_MOUNTED;
	case -EEXIST:
		return QM_NAME_TAKEN;
	case -EPERM:
		return QM_FORBIDDEN;
	case -EXDEV:
		return QM_OTHER_PROJECT;
	case -EFBIG:
		return QM_TOO_LARGE;
	case -ELOOP:
		return QM_DIRECTORY_LOOP;
	default:
		return is_lasting(status) ? QM_NAME_UNHELD : QM_NAME_UNMADE;
	}
}

void name_errors_leave_out(struct name_errors *failed, const char *name)
{
	uint64_t hash = listing_sum_hash(name);

	g_mutex_lock(&failed->lock);
	g_array_append_val(failed->left_out, hash);
	g_mutex_unlock(&failed->lock);
}

static void add_name_error(struct name_errors *failed, const char *name, int status,
			   enum error_code error, bool theirs)
{
	bool lasting =
		is_lasting(status) || (theirs && skip_names_takes_refusal(failed->skip, status));

	if (status == -ENOENT) {
		if (!is_gone_again(failed, name)) {
			name_errors_leave_out(failed, name);
			return;
		}
		status = -EREMOTEIO;
	} else if (status == -ENOTUNIQ) {
		error = QM_NAME_OF_ANOTHER;
		status = -EREMOTEIO;
	} else if (status == -ECANCELED) {
		error = QM_NONE;
	}
	if (lasting && skip_names_takes(failed->skip, failed->dir_fd, name, name, error)) {
		name_errors_leave_out(failed, name);
		return;
	}
	if (error)
		errors_add_name(failed->errors, failed->dir_fd, name, status, error, NULL);
	set_status(failed, status);
}

void name_errors_add(struct name_errors *failed, const char *name, int status,
		     enum error_code error)
{
	add_name_error(failed, name, status, error, false);
}

void name_errors_add_refusal(struct name_errors *failed, const char *name, int status,
			     enum error_code error)
{
	add_name_error(failed, name, status, error, true);
}

static void say_how_many(struct name_errors *failed)
{
	g_autofree char *more = g_strdup_printf("%" G_GUINT64_FORMAT " more %s", failed->more,
						text_plural(failed->more, "names"));

	errors_add_refused(failed->errors, failed->dir_fd, "", -EREMOTEIO, QM_NAMES_MORE, more);
}

static bool is_skipped(struct name_errors *failed, const struct source_refusal *r)
{
	g_autofree char *name = errors_refused_name(r->name);

	return skip_names_takes(failed->skip, failed->dir_fd, name, r->name, r->why);
}

/* Whether it is no error. */
static bool add_refused(struct name_errors *failed, const struct source_refusal *r)
{
	if (is_skipped(failed, r))
		return true;
	if (failed->refused < NAME_ERRORS_LISTED) {
		errors_add_refused(failed->errors, failed->dir_fd, r->name, -EREMOTEIO, r->why,
				   NULL);
		failed->refused++;
	} else {
		failed->more++;
	}
	return false;
}

void name_errors_add_refused(struct name_errors *failed, const struct backend_batch *batch)
{
	guint untold = batch->rejected - batch->refused->len;
	bool fine = true;

	for (guint i = 0; i < batch->refused->len; i++)
		fine &= add_refused(failed,
				    &g_array_index(batch->refused, struct source_refusal, i));
	if (untold && !skip_names_takes_untold(failed->skip, failed->dir_fd, untold)) {
		failed->more += untold;
		fine = false;
	}
	if (!fine)
		set_status(failed, -EREMOTEIO);
}

bool name_errors_listed(struct name_errors *failed)
{
	bool again;

	if (failed->more)
		say_how_many(failed);
	g_mutex_lock(&failed->lock);
	again = !failed->again && g_hash_table_size(failed->gone) > 0 &&
		failed->status != -ECANCELED;
	failed->again = failed->again || again;
	g_mutex_unlock(&failed->lock);
	if (again)
		name_errors_reset(failed);
	return again;
}
