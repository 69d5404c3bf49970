/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "given_up.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "source/refused.h"
#include "volume/aside.h"
#include "volume/report.h"

#define LEFT_OUT_MAX 100000 /* of one directory; about 30 MB */

struct given_up {
	atomic_uint refs;
	bool all;
	GHashTable *names; /* not changed once it is in use */
	GMutex lock;
	GHashTable *left_out; /* path -> reason */
	uint64_t untold;
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
	g_free(given_up);
}

void given_up_add(struct given_up *given_up, const char *name)
{
	g_hash_table_add(given_up->names, g_strdup(name));
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
	if (!given_up->directory)
		given_up->directory = retriever_fd_path(dir_fd);
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
	g_mutex_unlock(&given_up->lock);
}

uint64_t given_up_count(struct given_up *given_up)
{
	uint64_t n;

	if (!given_up)
		return 0;
	g_mutex_lock(&given_up->lock);
	n = g_hash_table_size(given_up->left_out) + given_up->untold;
	g_mutex_unlock(&given_up->lock);
	return n;
}

/* Without what could be done about it. */
static char *why(const char *reason)
{
	static const char *const cures[] = {": rename", ": make it", ": repair"};
	const char *end = NULL;

	for (size_t i = 0; !end && i < G_N_ELEMENTS(cures); i++)
		end = strstr(reason, cures[i]);
	return end ? g_strndup(reason, (gsize)(end - reason)) : g_strdup(reason);
}

static int record(struct retriever *retriever, const char *path, const char *reason)
{
	g_autofree char *text = why(reason);

	g_message("%s: given up by the administrator: %s", path, text);
	return report_add(retriever->report, REPORT_NAME, path, text);
}

int given_up_record(struct given_up *given_up, struct retriever *retriever)
{
	GHashTableIter iter;
	gpointer path, reason;
	int ret = 0;

	g_mutex_lock(&given_up->lock);
	g_hash_table_iter_init(&iter, given_up->left_out);
	while (!ret && g_hash_table_iter_next(&iter, &path, &reason))
		ret = record(retriever, path, reason);
	if (!ret && given_up->untold) {
		g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT
							" more names that no file here can have",
							given_up->untold);

		ret = record(retriever, given_up->directory, text);
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
		g_autofree char *refused = refused_text(e->d_name, strlen(e->d_name));

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
