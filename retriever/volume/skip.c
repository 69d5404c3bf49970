/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/skip.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/latch.h"
#include "lib/base/text.h"
#include "retriever/names/fill.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/object.h"
#include "retriever/volume/skip_file.h"

/* A command, parsed. */
struct order {
	bool all, leave, filtered, dry_run;
	char **lines;
	GPtrArray *paths; /* in lines */
	const char *because;
	struct errors_filter filter;
};

/* A directory in which something is skipped, or a file that is. */
struct target {
	struct migrate_binding key;
	char *path;	       /* one of those that were given */
	enum error_code error; /* of an object itself */
	struct skip_names *skip;
};

struct skipping {
	struct retriever *retriever;
	const struct order *order;
	GPtrArray *targets;
	GHashTable *by_key; /* of the former */
	uint64_t names;
	unsigned directories, failed;
	int status;    /* of the first that failed */
	char *failure; /* its message */
};

static void target_free(gpointer p)
{
	struct target *target = p;

	g_free(target->path);
	skip_names_unref(target->skip);
	g_free(target);
}

/* A path that was given, and the entry that it is. */
struct meant {
	struct error_entry entry;
	unsigned found;
};

static void meant_free(gpointer p)
{
	struct meant *meant = p;

	error_entry_clear(&meant->entry);
	g_free(meant);
}

static struct target *find_target(struct skipping *s, const struct migrate_binding *key,
				  const char *path)
{
	struct target *target = g_hash_table_lookup(s->by_key, key);

	if (target)
		return target;
	target = g_new0(struct target, 1);
	target->key = *key;
	target->path = g_strdup(path);
	target->skip = skip_names_new(s->order->all);
	skip_names_because(target->skip, s->order->because);
	g_ptr_array_add(s->targets, target);
	g_hash_table_insert(s->by_key, &target->key, target);
	return target;
}

static bool stands_for_several(const struct error_entry *entry)
{
	return entry->name && !strcmp(entry->name, ERRORS_MORE);
}

static void add_target(struct skipping *s, const struct error_entry *entry, const char *path)
{
	struct target *target = find_target(s, &entry->key, path);

	g_autoptr(GPtrArray) listed = s->order->all || stands_for_several(entry)
					      ? errors_names(s->retriever->errors, &entry->key)
					      : NULL;

	if (!entry->name && !target->error)
		target->error = entry->code;
	if (s->order->leave)
		skip_names_take_refused(target->skip, !entry->name);
	if (stands_for_several(entry))
		skip_names_take_unlisted(target->skip, listed);
	else if (entry->name)
		skip_names_add(target->skip, entry->name);
	for (guint i = 0; s->order->all && i < listed->len; i++)
		skip_names_add(target->skip, listed->pdata[i]);
}

/* Whether the entry is what can be meant by a path: a name, with all a directory, and with leave
 * any object as well. */
static bool can_be_meant(const struct error_entry *entry, const struct order *order)
{
	if (!entry->key.len || stands_for_several(entry))
		return false;
	return entry->name ? !order->all : order->all || order->leave;
}

/* Looks for all paths in one pass over the list. */
static GHashTable *find_meant(struct skipping *s)
{
	GHashTable *by_path = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, meant_free);
	struct error_entry entry;

	for (guint i = 0; i < s->order->paths->len; i++)
		g_hash_table_replace(by_path, s->order->paths->pdata[i], g_new0(struct meant, 1));
	for (guint i = 0; errors_get(s->retriever->errors, &i, NULL, &entry); i++) {
		g_autofree char *line = text_line(entry.path);
		struct meant *meant = g_hash_table_lookup(by_path, line);

		if (meant && can_be_meant(&entry, s->order) && ++meant->found == 1) {
			meant->entry = entry;
			continue;
		}
		error_entry_clear(&entry);
	}
	return by_path;
}

static int resolve(struct skipping *s, char **text)
{
	const struct order *order = s->order;
	g_autoptr(GHashTable) by_path = find_meant(s);

	for (guint i = 0; i < order->paths->len; i++) {
		const char *path = order->paths->pdata[i];
		const struct meant *meant = g_hash_table_lookup(by_path, path);

		if (meant->found > 1) {
			*text = g_strdup_printf("%s: stands for several names: rename them on the "
						"old server, or skip all of the directory "
						"(--all)",
						path);
			return -ENOTUNIQ;
		}
		if (!meant->found) {
			*text = g_strdup_printf(
				"%s: is no %s that failed%s; see migratectl errors %s, and run "
				"migrate-crawler where that lacks it",
				path,
				order->all     ? "directory"
				: order->leave ? "name or object"
					       : "name of a directory",
				order->leave ? "" : " (what the old server refuses: --leave)",
				s->retriever->config->name);
			return -ENOENT;
		}
		add_target(s, &meant->entry, path);
	}
	return 0;
}

/* All that the filter lets through. */
static int take_filtered(struct skipping *s, char **text)
{
	const struct order *order = s->order;
	struct error_entry entry;

	for (guint i = 0; errors_get(s->retriever->errors, &i, &order->filter, &entry); i++) {
		g_autofree char *line = text_line(entry.path);

		if (entry.key.len && (entry.name || order->leave))
			add_target(s, &entry, line);
		error_entry_clear(&entry);
	}
	if (s->targets->len)
		return 0;
	*text = g_strdup_printf("nothing that failed%s%s%s%s%s%s can be skipped%s; see migratectl "
				"errors %s",
				order->filter.below ? " below " : "",
				order->filter.below ? order->filter.below : "",
				order->filter.reason ? " with just the reason " : "",
				order->filter.reason ? order->filter.reason : "",
				order->filter.code ? " with the code " : "",
				order->filter.code ? error_kind(order->filter.code)->name : "",
				order->leave ? "" : " (what the old server refuses: --leave)",
				s->retriever->config->name);
	return -ENOENT;
}

static int fill(struct object *object, struct skip_names *skip)
{
	struct latch latch;

	latch_init(&latch, 1);
	directory_fill_without(object, skip, latch_count_down, &latch);
	return latch_wait(&latch);
}

/* A directory, or a file that goes.  *text: what failed, where that is told. */
static int skip_target(struct skipping *s, struct target *target, char **text)
{
	struct retriever *retriever = s->retriever;
	int fd = retriever_open_binding(retriever, &target->key, O_RDONLY | O_NONBLOCK);
	struct object *object;
	unsigned names = 0;
	int ret;

	if (fd < 0)
		return fd == -ESTALE ? 0 : fd; /* clients have removed it */
	ret = object_get(retriever, fd, &object);
	close(fd);
	if (ret)
		return ret;
	if (!is_directory(object)) {
		ret = skip_file(object, target->error, s->order->because, &names, text);
		s->names += names;
	} else {
		ret = fill(object, target->skip);
		/* one that is gone there is looked for before */
		if (ret == -ESTALE && s->order->leave)
			ret = fill(object, target->skip);
		if (!ret) {
			s->names += skip_names_count(target->skip);
			s->directories++;
		}
	}
	object_unref(object);
	return ret;
}

static char *failure(struct skipping *s, const struct target *target, int status, const char *text)
{
	if (text)
		return g_strdup_printf("%s: %s", target->path, text);
	if (status == -EREMOTEIO)
		return g_strdup_printf(
			"%s: nothing is skipped in this directory, where something else fails "
			"too: see migratectl errors %s, and skip in one command (or with "
			"--all) whatever cannot be there",
			target->path, s->retriever->config->name);
	return g_strdup_printf("%s: nothing is skipped in this directory: %s%s", target->path,
			       g_strerror(-status),
			       !s->order->leave && skip_names_is_refusal(status)
				       ? ": the old server refuses it; to leave there what it has, "
					 "skip it with --leave"
				       : "");
}

static int skip_targets(struct skipping *s, char **text)
{
	for (guint i = 0; i < s->targets->len; i++) {
		struct target *target = s->targets->pdata[i];
		g_autofree char *said = NULL;
		int ret = skip_target(s, target, &said);

		if (ret && !s->failed++) {
			s->status = ret;
			s->failure = failure(s, target, ret, said);
		}
		if (g_atomic_int_get(&s->retriever->closing))
			break;
	}
	if (!s->status) {
		*text = g_strdup_printf("[skip]\nnames=%" G_GUINT64_FORMAT "\ndirectories=%u\n",
					s->names, s->directories);
		return 0;
	}
	GString *all = g_string_new(s->failure);
	if (s->failed > 1)
		g_string_append_printf(all, "; likewise %u more", s->failed - 1);
	if (s->names)
		g_string_append_printf(all, "; elsewhere %" G_GUINT64_FORMAT " are skipped",
				       s->names);
	*text = g_string_free(all, FALSE);
	return s->status;
}

/* Only what is meant; what the listing will say of it is not known yet. */
static int tell_targets(const struct skipping *s, char **text)
{
	g_autoptr(GKeyFile) all = g_key_file_new();

	g_key_file_set_uint64(all, "skip", "targets", s->targets->len);
	for (guint i = 0; i < s->targets->len; i++) {
		const struct target *target = s->targets->pdata[i];
		g_autofree char *group = g_strdup_printf("target %u", i);

		g_key_file_set_string(all, group, "path", target->path);
	}
	*text = g_key_file_to_data(all, NULL, NULL);
	return 0;
}

/* FALSE: the argument is not a valid command. */
static bool parse_skip(const char *argument, struct order *order)
{
	if (!argument ||
	    !(g_str_has_prefix(argument, "all ") || g_str_has_prefix(argument, "names ")))
		return false;
	order->all = *argument == 'a';
	order->lines = g_strsplit(strchr(argument, ' ') + 1, "\n", -1);
	for (char **line = order->lines; *line; line++) {
		if (errors_filter_take(&order->filter, *line))
			order->filtered = true;
		else if (!strcmp(*line, "leave"))
			order->leave = true;
		else if (!strcmp(*line, "dry-run"))
			order->dry_run = true;
		else if (g_str_has_prefix(*line, "because "))
			order->because = *line + strlen("because ");
		else
			g_ptr_array_add(order->paths, *line);
	}
	return *order->lines && order->filtered == !order->paths->len;
}

int skip_command(struct retriever *retriever, const char *argument, char **text)
{
	g_autoptr(GPtrArray) paths = g_ptr_array_new();
	g_autoptr(GPtrArray) targets = g_ptr_array_new_with_free_func(target_free);
	g_autoptr(GHashTable) by_key = g_hash_table_new(object_key_hash, object_key_equal);
	struct order order = {.paths = paths, .filter.whole = true};
	struct skipping s = {
		.retriever = retriever, .order = &order, .targets = targets, .by_key = by_key};
	int ret = parse_skip(argument, &order) ? 0 : -EINVAL;

	if (ret)
		*text = g_strdup("skip takes `names` or `all`, and either paths, or a reason or a "
				 "directory");
	else
		ret = order.filtered ? take_filtered(&s, text) : resolve(&s, text);
	if (!ret)
		ret = order.dry_run ? tell_targets(&s, text) : skip_targets(&s, text);
	skip_file_recover(retriever);
	g_free(s.failure);
	g_strfreev(order.lines);
	return ret;
}
