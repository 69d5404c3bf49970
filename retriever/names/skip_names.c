/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/skip_names.h"

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

struct skip_names {
	atomic_uint refs;
	bool all, refused, refused_rest;
	GHashTable *names;  /* not changed once it is in use */
	GHashTable *listed; /* what `all` does not mean; as the former */
	char *because;
	GMutex lock;
	GHashTable *left_out; /* path -> enum error_code */
	uint64_t untold;
	enum error_code rest; /* why the listing was not told to its end, or QM_NONE */
	char *directory;      /* of those */
};

struct skip_names *skip_names_new(bool all)
{
	struct skip_names *skip = g_new0(struct skip_names, 1);

	atomic_init(&skip->refs, 1);
	skip->all = all;
	skip->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_mutex_init(&skip->lock);
	skip->listed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	skip->left_out = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return skip;
}

struct skip_names *skip_names_ref(struct skip_names *skip)
{
	if (skip)
		atomic_fetch_add(&skip->refs, 1);
	return skip;
}

void skip_names_unref(struct skip_names *skip)
{
	if (!skip || atomic_fetch_sub(&skip->refs, 1) > 1)
		return;
	g_hash_table_destroy(skip->names);
	g_hash_table_destroy(skip->listed);
	g_hash_table_destroy(skip->left_out);
	g_mutex_clear(&skip->lock);
	g_free(skip->directory);
	g_free(skip->because);
	g_free(skip);
}

void skip_names_add(struct skip_names *skip, const char *name)
{
	g_hash_table_add(skip->names, g_strdup(name));
}

void skip_names_take_unlisted(struct skip_names *skip, const GPtrArray *listed)
{
	skip->all = true;
	for (guint i = 0; i < listed->len; i++)
		g_hash_table_add(skip->listed, g_strdup(listed->pdata[i]));
}

void skip_names_take_refused(struct skip_names *skip, bool rest)
{
	skip->refused = true;
	skip->refused_rest = skip->refused_rest || rest;
}

void skip_names_because(struct skip_names *skip, const char *text)
{
	skip->because = g_strdup(text);
}

bool skip_names_is_refusal(int status)
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

bool skip_names_takes_refusal(struct skip_names *skip, int status)
{
	return skip && skip->refused && skip_names_is_refusal(status);
}

/* Lock held. */
static void note_directory(struct skip_names *skip, int dir_fd)
{
	if (!skip->directory)
		skip->directory = retriever_fd_path(dir_fd);
}

bool skip_names_takes_rest(struct skip_names *skip, int dir_fd, int status, enum error_code error)
{
	if (!skip || !skip->refused_rest || !(skip_names_is_refusal(status) || status == -ESTALE))
		return false;
	g_mutex_lock(&skip->lock);
	skip->rest = error;
	note_directory(skip, dir_fd);
	g_mutex_unlock(&skip->lock);
	return true;
}

/* Whether it is one of those that are not listed, and are skipped. */
static bool is_unlisted(const struct skip_names *skip, const char *name)
{
	return skip->all && *name == '/' && !g_hash_table_contains(skip->listed, name);
}

bool skip_names_takes(struct skip_names *skip, int dir_fd, const char *name, const char *shown,
		      enum error_code error)
{
	g_autofree char *dir = NULL;
	bool taken;

	if (!skip || !(g_hash_table_contains(skip->names, name) || is_unlisted(skip, name)))
		return false;
	dir = retriever_fd_path(dir_fd);
	g_mutex_lock(&skip->lock);
	taken = g_hash_table_size(skip->left_out) < LEFT_OUT_MAX;
	if (taken)
		g_hash_table_replace(skip->left_out, g_strconcat(dir, "/", shown, NULL),
				     GUINT_TO_POINTER(error));
	g_mutex_unlock(&skip->lock);
	return taken;
}

bool skip_names_takes_untold(struct skip_names *skip, int dir_fd, uint64_t n)
{
	if (!skip || !skip->all)
		return false;
	g_mutex_lock(&skip->lock);
	skip->untold += n;
	note_directory(skip, dir_fd);
	g_mutex_unlock(&skip->lock);
	return true;
}

void skip_names_reset(struct skip_names *skip)
{
	if (!skip)
		return;
	g_mutex_lock(&skip->lock);
	g_hash_table_remove_all(skip->left_out);
	skip->untold = 0;
	skip->rest = QM_NONE;
	g_mutex_unlock(&skip->lock);
}

uint64_t skip_names_count(struct skip_names *skip)
{
	uint64_t n;

	if (!skip)
		return 0;
	g_mutex_lock(&skip->lock);
	n = g_hash_table_size(skip->left_out) + skip->untold + (skip->rest != QM_NONE);
	g_mutex_unlock(&skip->lock);
	return n;
}

int skip_names_record_path(struct retriever *retriever, const char *path, const char *cause,
			   enum error_code error, const char *because)
{
	g_autofree char *text =
		g_strdup_printf("%s%s%s [%s]", cause, because ? "; skipped because: " : "",
				because ? because : "", error_kind(error)->name);

	log_event(EVENT_NAME_SKIPPED, G_LOG_LEVEL_MESSAGE, path, text, error, 0,
		  "%s: skipped by the administrator: %s", path, text);
	return losses_add(retriever->losses, LOSS_NAME, path, text);
}

/* Records skipped entries of the directory that have no name here.  They are recorded also under
 * the directory's path on the old server: clients may rename the directory here, and the way back
 * must not take objects that never came for removed ones. */
static int record_nameless(struct skip_names *skip, struct retriever *retriever, const char *source,
			   const char *text, enum error_code error)
{
	g_autofree char *root = retriever_fd_path(retriever->root_fd);
	g_autofree char *there = source && *source ? g_build_filename(root, source, NULL) : NULL;
	int ret = skip_names_record_path(retriever, skip->directory, text, error, skip->because);

	if (!ret && there && strcmp(there, skip->directory) != 0)
		ret = skip_names_record_path(retriever, there, text, error, skip->because);
	return ret;
}

int skip_names_record(struct skip_names *skip, struct retriever *retriever, const char *source)
{
	GHashTableIter iter;
	gpointer path, error;
	int ret = 0;

	g_mutex_lock(&skip->lock);
	g_hash_table_iter_init(&iter, skip->left_out);
	while (!ret && g_hash_table_iter_next(&iter, &path, &error)) {
		const struct error_kind *kind = error_kind(GPOINTER_TO_UINT(error));

		ret = skip_names_record_path(retriever, path, kind->cause, kind->code,
					     skip->because);
	}
	if (!ret && skip->untold) {
		g_autofree char *text =
			g_strdup_printf("%" G_GUINT64_FORMAT " more %s that no file here can have",
					skip->untold, text_plural(skip->untold, "names"));

		ret = record_nameless(skip, retriever, source, text, QM_NAMES_MORE);
	}
	if (!ret && skip->rest) {
		g_autofree char *text = g_strconcat(
			"whatever of it is not here: ", error_kind(skip->rest)->cause, NULL);

		ret = record_nameless(skip, retriever, source, text, skip->rest);
	}
	g_mutex_unlock(&skip->lock);
	return ret ? ret : losses_sync(retriever->losses);
}

static bool is_left_out(struct skip_names *skip, const char *dir, const char *shown)
{
	g_autofree char *path = g_strconcat(dir, "/", shown, NULL);
	bool is;

	g_mutex_lock(&skip->lock);
	is = g_hash_table_contains(skip->left_out, path);
	g_mutex_unlock(&skip->lock);
	return is;
}

/* Whether a name of the prior copy may be one of the skipped names that the listing does not tell:
 * any name may be that the tree does not have. */
static bool may_be_untold(const struct skip_names *skip, int dir_fd, const char *name)
{
	return skip->untold && faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

int skip_names_put_aside(struct skip_names *skip, struct retriever *retriever, int dir_fd,
			 int prior_fd, const char *path)
{
	g_autofree char *at = retriever_fd_path(dir_fd);
	DIR *dir = retriever_list(prior_fd, ".");
	const struct dirent *e;
	int ret = dir ? 0 : -errno;

	while (!ret && (errno = 0, e = readdir(dir))) {
		g_autofree char *refused = text_name(e->d_name, strlen(e->d_name));

		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    (is_left_out(skip, at, e->d_name) || is_left_out(skip, at, refused) ||
		     may_be_untold(skip, dir_fd, e->d_name)))
			ret = aside_put(retriever, prior_fd, e->d_name, path, e->d_name);
	}
	if (!ret)
		ret = -errno;
	if (dir)
		closedir(dir);
	return ret;
}
