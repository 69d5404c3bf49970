/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "skip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "directory.h"
#include "volume/errors.h"
#include "source/refused.h"
#include "volume/report.h"

#define LEFT_OUT_MAX 100000 /* of one directory; about 30 MB */

struct skip {
	atomic_uint refs;
	bool all;
	GHashTable *names; /* not changed once it is in use */
	GMutex lock;
	GHashTable *left_out; /* path -> reason */
	uint64_t untold;
	char *directory; /* of those */
};

struct skip *skip_new(bool all)
{
	struct skip *skip = g_new0(struct skip, 1);

	atomic_init(&skip->refs, 1);
	skip->all = all;
	skip->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_mutex_init(&skip->lock);
	skip->left_out = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return skip;
}

struct skip *skip_ref(struct skip *skip)
{
	if (skip)
		atomic_fetch_add(&skip->refs, 1);
	return skip;
}

void skip_unref(struct skip *skip)
{
	if (!skip || atomic_fetch_sub(&skip->refs, 1) > 1)
		return;
	g_hash_table_destroy(skip->names);
	g_hash_table_destroy(skip->left_out);
	g_mutex_clear(&skip->lock);
	g_free(skip->directory);
	g_free(skip);
}

void skip_add(struct skip *skip, const char *name)
{
	g_hash_table_add(skip->names, g_strdup(name));
}

bool skip_takes(struct skip *skip, int dir_fd, const char *name, const char *shown,
		const char *reason)
{
	g_autofree char *dir = NULL;
	bool taken;

	if (!skip || !(g_hash_table_contains(skip->names, name) || (skip->all && *name == '/')))
		return false;
	dir = retriever_fd_path(dir_fd);
	g_mutex_lock(&skip->lock);
	taken = g_hash_table_size(skip->left_out) < LEFT_OUT_MAX;
	if (taken)
		g_hash_table_replace(skip->left_out, g_strconcat(dir, "/", shown, NULL),
				     g_strdup(reason));
	g_mutex_unlock(&skip->lock);
	return taken;
}

bool skip_takes_untold(struct skip *skip, int dir_fd, uint64_t n)
{
	if (!skip || !skip->all)
		return false;
	g_mutex_lock(&skip->lock);
	skip->untold += n;
	if (!skip->directory)
		skip->directory = retriever_fd_path(dir_fd);
	g_mutex_unlock(&skip->lock);
	return true;
}

void skip_reset(struct skip *skip)
{
	if (!skip)
		return;
	g_mutex_lock(&skip->lock);
	g_hash_table_remove_all(skip->left_out);
	skip->untold = 0;
	g_mutex_unlock(&skip->lock);
}

uint64_t skip_count(struct skip *skip)
{
	uint64_t n;

	if (!skip)
		return 0;
	g_mutex_lock(&skip->lock);
	n = g_hash_table_size(skip->left_out) + skip->untold;
	g_mutex_unlock(&skip->lock);
	return n;
}

/* Without what could be done about it. */
static char *why(const char *reason)
{
	const char *end = strstr(reason, ": rename");

	if (!end)
		end = strstr(reason, ": make it");
	return end ? g_strndup(reason, (gsize)(end - reason)) : g_strdup(reason);
}

static int record(struct retriever *retriever, const char *path, const char *reason)
{
	g_autofree char *text = why(reason);
	g_autofree char *valid =
		g_utf8_validate(path, -1, NULL) ? g_strdup(path) : g_strescape(path, NULL);
	g_autofree char *line = refused_line(valid);

	g_message("%s: given up by the administrator: %s", line, text);
	return report_add(retriever->report, REPORT_NAME, path, text);
}

int skip_record(struct skip *skip, struct retriever *retriever)
{
	GHashTableIter iter;
	gpointer path, reason;
	int ret = 0;

	g_mutex_lock(&skip->lock);
	g_hash_table_iter_init(&iter, skip->left_out);
	while (!ret && g_hash_table_iter_next(&iter, &path, &reason))
		ret = record(retriever, path, reason);
	if (!ret && skip->untold) {
		g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT
							" more names that no file here can have",
							skip->untold);

		ret = record(retriever, skip->directory, text);
	}
	g_mutex_unlock(&skip->lock);
	return ret ? ret : report_sync(retriever->report);
}

/* ---- the command ---- */

struct target {
	struct migrate_binding key;
	char *path; /* one of those that were given */
	struct skip *skip;
};

static void target_free(gpointer p)
{
	struct target *target = p;

	g_free(target->path);
	skip_unref(target->skip);
	g_free(target);
}

static void add_target(GPtrArray *targets, bool all, const struct error_entry *entry,
		       const char *path)
{
	struct target *target = NULL;

	for (guint i = 0; i < targets->len && !target; i++) {
		struct target *other = targets->pdata[i];

		if (migrate_binding_equal(&other->key, &entry->key))
			target = other;
	}
	if (!target) {
		target = g_new0(struct target, 1);
		target->key = entry->key;
		target->path = g_strdup(path);
		target->skip = skip_new(all);
		g_ptr_array_add(targets, target);
	}
	if (!all)
		skip_add(target->skip, entry->name);
}

/* What else is listed of the directory. */
static void add_all_names(struct retriever *retriever, const struct target *target)
{
	struct error_entry entry;

	for (guint i = 0; errors_get(retriever->errors, i, &entry); i++) {
		if (entry.name && migrate_binding_equal(&entry.key, &target->key))
			skip_add(target->skip, entry.name);
		error_entry_clear(&entry);
	}
}

/* Whether the entry is what can be meant by a path: a name, or with all a directory. */
static bool is_meant(const struct error_entry *entry, bool all, const char *path)
{
	g_autofree char *line = NULL;

	if (!entry->key.len || (entry->name == NULL) != all ||
	    (entry->name && !strcmp(entry->name, ERRORS_MORE)))
		return false;
	line = refused_line(entry->path);
	return !strcmp(line, path);
}

static int resolve(struct retriever *retriever, bool all, const char *path, GPtrArray *targets,
		   char **text)
{
	struct error_entry entry;
	unsigned found = 0;

	for (guint i = 0; errors_get(retriever->errors, i, &entry); i++) {
		if (is_meant(&entry, all, path) && ++found == 1)
			add_target(targets, all, &entry, path);
		error_entry_clear(&entry);
	}
	if (found == 1 && all)
		add_all_names(retriever, targets->pdata[targets->len - 1]);
	if (found == 1)
		return 0;
	if (found)
		*text = g_strdup_printf("%s: stands for several names: rename them on the old "
					"server, or give up all of the directory (--all)",
					path);
	else
		*text = g_strdup_printf(
			"%s: is no %s that failed; see migratectl errors %s, and run "
			"migrate-crawler where that lacks it",
			path, all ? "directory" : "name of a directory", retriever->config->name);
	return found ? -ENOTUNIQ : -ENOENT;
}

struct wait {
	GMutex lock;
	GCond cond;
	bool done;
	int status;
};

static void told(void *arg, int status)
{
	struct wait *wait = arg;

	g_mutex_lock(&wait->lock);
	wait->done = true;
	wait->status = status;
	g_cond_signal(&wait->cond);
	g_mutex_unlock(&wait->lock);
}

static int fill(struct object *object, struct skip *skip)
{
	struct wait wait = {0};

	g_mutex_init(&wait.lock);
	g_cond_init(&wait.cond);
	directory_fill_without(object, skip, told, &wait);
	g_mutex_lock(&wait.lock);
	while (!wait.done)
		g_cond_wait(&wait.cond, &wait.lock);
	g_mutex_unlock(&wait.lock);
	g_cond_clear(&wait.cond);
	g_mutex_clear(&wait.lock);
	return wait.status;
}

static int fill_target(struct retriever *retriever, struct target *target)
{
	int fd = retriever_open_binding(retriever, &target->key, O_RDONLY | O_NONBLOCK);
	struct object *object;
	int ret;

	if (fd < 0)
		return -errno;
	ret = object_get_taking(retriever, fd, &object);
	if (ret)
		return ret;
	ret = fill(object, target->skip);
	object_unref(object);
	return ret;
}

static char *failure(struct retriever *retriever, const struct target *target, int status,
		     uint64_t names)
{
	const char *volume = retriever->config->name;
	g_autofree char *before =
		names ? g_strdup_printf("; in other directories %" G_GUINT64_FORMAT
					" names are given up",
					names)
		      : g_strdup("");

	if (status == -EREMOTEIO)
		return g_strdup_printf(
			"%s: nothing is given up in this directory, where something else fails "
			"too: see migratectl errors %s, and give up in one command (or with "
			"--all) whatever cannot be there%s",
			target->path, volume, before);
	return g_strdup_printf("%s: nothing is given up in this directory: %s%s", target->path,
			       g_strerror(-status), before);
}

static int fill_targets(struct retriever *retriever, GPtrArray *targets, char **text)
{
	uint64_t names = 0;
	int ret = 0;

	for (guint i = 0; i < targets->len && !ret; i++) {
		struct target *target = targets->pdata[i];

		ret = fill_target(retriever, target);
		if (ret)
			*text = failure(retriever, target, ret, names);
		else
			names += skip_count(target->skip);
	}
	if (!ret)
		*text = g_strdup_printf("[skip]\nnames=%" G_GUINT64_FORMAT "\ndirectories=%u\n",
					names, targets->len);
	return ret;
}

int skip_command(struct retriever *retriever, const char *argument, char **text)
{
	g_autoptr(GPtrArray) targets = g_ptr_array_new_with_free_func(target_free);
	bool all = argument && g_str_has_prefix(argument, "all ");
	g_auto(GStrv) paths = NULL;
	int ret = 0;

	if (all || (argument && g_str_has_prefix(argument, "names ")))
		paths = g_strsplit(strchr(argument, ' ') + 1, "\n", -1);
	if (!paths || !*paths) {
		*text = g_strdup("skip takes `names` or `all`, and paths");
		return -EINVAL;
	}
	for (char **path = paths; *path && !ret; path++)
		ret = resolve(retriever, all, *path, targets, text);
	return ret ? ret : fill_targets(retriever, targets, text);
}
