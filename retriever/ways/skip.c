/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "skip.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "directory.h"
#include "volume/answers.h"
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

/* A path that was given, and the entry that it is. */
struct meant {
	struct migrate_binding key;
	char *name;
	unsigned found;
};

static void meant_free(gpointer p)
{
	struct meant *meant = p;

	g_free(meant->name);
	g_free(meant);
}

static void add_target(struct retriever *retriever, GPtrArray *targets, bool all,
		       const struct meant *meant, const char *path)
{
	struct target *target = NULL;

	for (guint i = 0; i < targets->len && !target; i++) {
		struct target *other = targets->pdata[i];

		if (migrate_binding_equal(&other->key, &meant->key))
			target = other;
	}
	if (!target) {
		target = g_new0(struct target, 1);
		target->key = meant->key;
		target->path = g_strdup(path);
		target->given_up = given_up_new(all);
		g_ptr_array_add(targets, target);
	}
	if (all) {
		g_autoptr(GPtrArray) names = errors_names(retriever->errors, &meant->key);

		for (guint i = 0; i < names->len; i++)
			given_up_add(target->given_up, names->pdata[i]);
	} else {
		given_up_add(target->given_up, meant->name);
	}
}

/* Whether the entry is what can be meant by a path: a name, or with all a directory. */
static bool can_be_meant(const struct error_entry *entry, bool all)
{
	return entry->key.len && (entry->name == NULL) == all &&
	       !(entry->name && !strcmp(entry->name, ERRORS_MORE));
}

/* Looks for all paths in one pass over the list. */
static GHashTable *find_meant(struct retriever *retriever, bool all, char **paths)
{
	GHashTable *by_path = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, meant_free);
	struct error_entry entry;

	for (char **path = paths; *path; path++)
		g_hash_table_replace(by_path, *path, g_new0(struct meant, 1));
	for (guint i = 0; errors_get(retriever->errors, &i, NULL, &entry); i++) {
		g_autofree char *line = refused_line(entry.path);
		struct meant *meant = g_hash_table_lookup(by_path, line);

		if (meant && can_be_meant(&entry, all) && ++meant->found == 1) {
			meant->key = entry.key;
			meant->name = g_steal_pointer(&entry.name);
		}
		error_entry_clear(&entry);
	}
	return by_path;
}

static int resolve(struct retriever *retriever, bool all, char **paths, GPtrArray *targets,
		   char **text)
{
	g_autoptr(GHashTable) by_path = find_meant(retriever, all, paths);

	for (char **path = paths; *path; path++) {
		const struct meant *meant = g_hash_table_lookup(by_path, *path);

		if (meant->found > 1) {
			*text = g_strdup_printf("%s: stands for several names: rename them on the "
						"old server, or give up all of the directory "
						"(--all)",
						*path);
			return -ENOTUNIQ;
		}
		if (!meant->found) {
			*text = g_strdup_printf(
				"%s: is no %s that failed; see migratectl errors %s, and run "
				"migrate-crawler where that lacks it",
				*path, all ? "directory" : "name of a directory",
				retriever->config->name);
			return -ENOENT;
		}
		add_target(retriever, targets, all, meant, *path);
	}
	return 0;
}

static int fill(struct object *object, struct given_up *given_up)
{
	struct answers answers;

	answers_init(&answers, 1);
	directory_fill_without(object, given_up, answers_take, &answers);
	return answers_wait(&answers);
}

static int fill_target(struct retriever *retriever, struct target *target)
{
	int fd = retriever_open_binding(retriever, &target->key, O_RDONLY | O_NONBLOCK);
	struct object *object;
	int ret;

	if (fd < 0)
		return fd;
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
	int ret;

	if (all || (argument && g_str_has_prefix(argument, "names ")))
		paths = g_strsplit(strchr(argument, ' ') + 1, "\n", -1);
	if (!paths || !*paths) {
		*text = g_strdup("skip takes `names` or `all`, and paths");
		return -EINVAL;
	}
	ret = resolve(retriever, all, paths, targets, text);
	return ret ? ret : fill_targets(retriever, targets, text);
}
