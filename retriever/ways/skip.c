/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "skip.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "directory.h"
#include "volume/errors.h"
#include "source/refused.h"
#include "volume/object.h"

struct target {
	struct migrate_binding key;
	char *path; /* one of those that were given */
	struct given_up *given_up;
};

static void target_free(gpointer p)
{
	struct target *target = p;

	g_free(target->path);
	given_up_unref(target->given_up);
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
		target->given_up = given_up_new(all);
		g_ptr_array_add(targets, target);
	}
	if (!all)
		given_up_add(target->given_up, entry->name);
}

/* What else is listed of the directory. */
static void add_all_names(struct retriever *retriever, const struct target *target)
{
	struct error_entry entry;

	for (guint i = 0; errors_get(retriever->errors, i, &entry); i++) {
		if (entry.name && migrate_binding_equal(&entry.key, &target->key))
			given_up_add(target->given_up, entry.name);
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

static int fill(struct object *object, struct given_up *given_up)
{
	struct wait wait = {0};

	g_mutex_init(&wait.lock);
	g_cond_init(&wait.cond);
	directory_fill_without(object, given_up, told, &wait);
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
	ret = fill(object, target->given_up);
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
			names += given_up_count(target->given_up);
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
