/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/given_up.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/report/losses.h"
#include "retriever/copies/aside.h"

#define LEFT_OUT_MAX 100000 /* of one directory; about 30 MB */

struct given_up {
	atomic_uint refs;
	bool all, refused;
	GHashTable *names; /* not changed once it is in use */
	char *because;
	GMutex lock;
	GHashTable *left_out; /* path -> reason */
	uint64_t untold;
	char *rest;	 /* why the listing was not told to its end, or NULL */
	char *directory; /* of those */
};

struct given_up *given_up_new(bool all)
{
	struct given_up *given_up = g_new0(struct given_up, 1);

	atomic_init(&given_up->refs, 1);
	given_up->all = all;
	given_up->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_mutex_init(&given_up->lock);
	given_up->left_out = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return given_up;
}

struct given_up *given_up_ref(struct given_up *given_up)
{
	if (given_up)
		atomic_fetch_add(&given_up->refs, 1);
	return given_up;
}

void given_up_unref(struct given_up *given_up)
{
	if (!given_up || atomic_fetch_sub(&given_up->refs, 1) > 1)
		return;
	g_hash_table_destroy(given_up->names);
	g_hash_table_destroy(given_up->left_out);
	g_mutex_clear(&given_up->lock);
	g_free(given_up->directory);
	g_free(given_up->because);
	g_free(given_up->rest);
	g_free(given_up);
}

void given_up_add(struct given_up *given_up, const char *name)
{
	g_hash_table_add(given_up->names, g_strdup(name));
}

void given_up_take_all(struct given_up *given_up)
{
	given_up->all = true;
}

void given_up_take_refused(struct given_up *given_up)
{
	given_up->refused = true;
}

void given_up_because(struct given_up *given_up, const char *text)
{
	given_up->because = g_strdup(text);
}

bool given_up_is_refusal(int status)
{
	switch (status) {
	case -EACCES:
	case -EPERM:
	case -EREMOTEIO:
	case -EBADMSG:
	case -ENOTSUP: /* a DFS link */
	case -ELOOP:   /* a listing without an end */
	case -ENAMETOOLONG:
	case -EINVAL:
		return true;
	default:
		return false;
	}
}

bool given_up_takes_refusal(struct given_up *given_up, int status)
{
	return given_up && given_up->refused && given_up_is_refusal(status);
}

/* Lock held. */
static void note_directory(struct given_up *given_up, int dir_fd)
{
	if (!given_up->directory)
		given_up->directory = retriever_fd_path(dir_fd);
}

bool given_up_takes_rest(struct given_up *given_up, int dir_fd, int status, const char *reason)
{
	if (!given_up_takes_refusal(given_up, status) &&
	    !(status == -ESTALE && given_up && given_up->refused))
		return false;
	g_mutex_lock(&given_up->lock);
	g_free(given_up->rest);
	given_up->rest = g_strdup(reason);
	note_directory(given_up, dir_fd);
	g_mutex_unlock(&given_up->lock);
	return true;
}

bool given_up_takes(struct given_up *given_up, int dir_fd, const char *name, const char *shown,
		    const char *reason)
{
	g_autofree char *dir = NULL;
	bool taken;

	if (!given_up ||
	    !(g_hash_table_contains(given_up->names, name) || (given_up->all && *name == '/')))
		return false;
	dir = retriever_fd_path(dir_fd);
	g_mutex_lock(&given_up->lock);
	taken = g_hash_table_size(given_up->left_out) < LEFT_OUT_MAX;
	if (taken)
		g_hash_table_replace(given_up->left_out, g_strconcat(dir, "/", shown, NULL),
				     g_strdup(reason));
	g_mutex_unlock(&given_up->lock);
	return taken;
}

bool given_up_takes_untold(struct given_up *given_up, int dir_fd, uint64_t n)
{
	if (!given_up || !given_up->all)
		return false;
	g_mutex_lock(&given_up->lock);
	given_up->untold += n;
	note_directory(given_up, dir_fd);
	g_mutex_unlock(&given_up->lock);
	return true;
}

void given_up_reset(struct given_up *given_up)
{
	if (!given_up)
		return;
	g_mutex_lock(&given_up->lock);
	g_hash_table_remove_all(given_up->left_out);
	given_up->untold = 0;
	g_clear_pointer(&given_up->rest, g_free);
	g_mutex_unlock(&given_up->lock);
}

uint64_t given_up_count(struct given_up *given_up)
{
	uint64_t n;

	if (!given_up)
		return 0;
	g_mutex_lock(&given_up->lock);
	n = g_hash_table_size(given_up->left_out) + given_up->untold + (given_up->rest != NULL);
	g_mutex_unlock(&given_up->lock);
	return n;
}

/* Without what could be done about it. */
static char *why(const char *reason)
{
	static const char *const cures[] = {": rename",	 ": make it", ": repair", ": give it",
					    ": have it", ": restore", ": put an", ": migratectl"};
	const char *end = NULL;

	for (size_t i = 0; !end && i < G_N_ELEMENTS(cures); i++)
		end = strstr(reason, cures[i]);
	return end ? g_strndup(reason, (gsize)(end - reason)) : g_strdup(reason);
}

int given_up_record_path(struct retriever *retriever, const char *path, const char *reason,
			 const char *because)
{
	g_autofree char *cause = why(reason);
	g_autofree char *text = because ? g_strdup_printf("%s; skipped because: %s", cause, because)
					: g_steal_pointer(&cause);

	log_event(EVENT_NAME_SKIPPED, G_LOG_LEVEL_MESSAGE, path, text, 0,
		  "%s: skipped by the administrator: %s", path, text);
	return report_add(retriever->report, REPORT_NAME, path, text);
}

/* What of the directory has no name here.  Under the path that it had there, too: clients may
 * rename it here, and the way back must not take for removed what never came. */
static int record_nameless(struct given_up *given_up, struct retriever *retriever,
			   const char *source, const char *text)
{
	g_autofree char *root = retriever_fd_path(retriever->root_fd);
	g_autofree char *there = source && *source ? g_build_filename(root, source, NULL) : NULL;
	int ret = given_up_record_path(retriever, given_up->directory, text, given_up->because);

	if (!ret && there && strcmp(there, given_up->directory) != 0)
		ret = given_up_record_path(retriever, there, text, given_up->because);
	return ret;
}

int given_up_record(struct given_up *given_up, struct retriever *retriever, const char *source)
{
	GHashTableIter iter;
	gpointer path, reason;
	int ret = 0;

	g_mutex_lock(&given_up->lock);
	g_hash_table_iter_init(&iter, given_up->left_out);
	while (!ret && g_hash_table_iter_next(&iter, &path, &reason))
		ret = given_up_record_path(retriever, path, reason, given_up->because);
	if (!ret && given_up->untold) {
		g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT
							" more names that no file here can have",
							given_up->untold);

		ret = record_nameless(given_up, retriever, source, text);
	}
	if (!ret && given_up->rest) {
		g_autofree char *cause = why(given_up->rest);
		g_autofree char *text = g_strconcat("whatever of it is not here: ", cause, NULL);

		ret = record_nameless(given_up, retriever, source, text);
	}
	g_mutex_unlock(&given_up->lock);
	return ret ? ret : report_sync(retriever->report);
}

static bool is_left_out(struct given_up *given_up, const char *dir, const char *shown)
{
	g_autofree char *path = g_strconcat(dir, "/", shown, NULL);
	bool is;

	g_mutex_lock(&given_up->lock);
	is = g_hash_table_contains(given_up->left_out, path);
	g_mutex_unlock(&given_up->lock);
	return is;
}

/* Of names that are too many to be told, what the copy has may be any that the tree does not. */
static bool may_be_untold(const struct given_up *given_up, int dir_fd, const char *name)
{
	return given_up->untold && faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

int given_up_put_aside(struct given_up *given_up, struct retriever *retriever, int dir_fd,
		       int prior_fd, const char *path)
{
	g_autofree char *at = retriever_fd_path(dir_fd);
	DIR *dir = retriever_list(prior_fd, ".");
	const struct dirent *e;
	int ret = dir ? 0 : -errno;

	while (!ret && (errno = 0, e = readdir(dir))) {
		g_autofree char *refused = text_name(e->d_name, strlen(e->d_name));

		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    (is_left_out(given_up, at, e->d_name) || is_left_out(given_up, at, refused) ||
		     may_be_untold(given_up, dir_fd, e->d_name)))
			ret = aside_put(retriever, prior_fd, e->d_name, path, e->d_name);
	}
	if (!ret)
		ret = -errno;
	if (dir)
		closedir(dir);
	return ret;
}
