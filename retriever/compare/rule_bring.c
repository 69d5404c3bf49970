/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/rule_bring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/latch.h"
#include "lib/report/losses.h"
#include "lib/source/gate.h"
#include "retriever/compare/compare.h"
#include "retriever/data/place.h"
#include "retriever/names/fill.h"
#include "retriever/names/one_name.h"
#include "retriever/objects/object.h"

#define CAME 16384 /* lines that are taken back together: the whole report is read */

/* A line whose rule is none any more. */
struct coming {
	struct change *c;
	const char *line;
	char *path, *rule;
	char *dir, *name;
	int fd; /* of the directory, or negative */
	struct object *object;
	struct migrate_binding here; /* len 0: it is not here */
	bool twin;		     /* what is here has another spelling */
	struct latch *latch;	     /* NULL: not asked for */
	int status;
	bool placed;
	const char *why; /* it does not come */
};

static void coming_free(gpointer p)
{
	struct coming *coming = p;

	if (coming->fd >= 0)
		close(coming->fd);
	if (coming->object)
		object_unref(coming->object);
	g_free(coming->path);
	g_free(coming->rule);
	g_free(coming->dir);
	g_free(coming->name);
	g_free(coming);
}

static void come_done(void *arg, int status)
{
	struct coming *coming = arg;

	coming->status = status;
	latch_count_down(coming->latch, 0);
}

/* An unfilled directory gets all its names by the rules of now. */
static int fill_and_wait(struct object *directory)
{
	struct latch latch;

	latch_init(&latch, 1);
	directory_fill(directory, BACKEND_DEMAND, false, latch_count_down, &latch);
	return latch_wait(&latch);
}

static bool lacks_names(struct object *directory)
{
	bool unfilled;

	g_mutex_lock(&directory->lock);
	unfilled = !directory->normal && directory->record.state == MIGRATE_UNFILLED;
	g_mutex_unlock(&directory->lock);
	return unfilled;
}

/* Old servers have UTF-8; what clients made here may be anything. */
static char *fold(const char *name)
{
	return g_utf8_validate(name, -1, NULL) ? g_utf8_casefold(name, -1) : g_strdup(name);
}

static int read_twins(struct change *c, const struct coming *coming)
{
	DIR *dir = retriever_list(coming->fd, ".");
	const struct dirent *e;
	int ret = dir ? 0 : -errno;

	g_free(c->twins_dir);
	c->twins_dir = g_strdup(coming->dir);
	g_hash_table_remove_all(c->twins);
	while (dir && (errno = 0, e = readdir(dir)))
		g_hash_table_insert(c->twins, fold(e->d_name), g_strdup(e->d_name));
	if (dir && errno)
		ret = -errno;
	if (dir)
		closedir(dir);
	if (ret)
		g_clear_pointer(&c->twins_dir, g_free);
	return ret;
}

/*
 * Finds the object that has the name here.  Where upper and lower case are one on the old server, a
 * client may have made it in another spelling; a second one beside it would hide one of them from
 * clients of SMB.
 */
static int find_by_name(struct coming *coming)
{
	struct change *c = coming->c;
	g_autofree char *folded = NULL;
	const char *twin;
	int ret;

	if (!migrate_binding_get(coming->fd, coming->name, &coming->here))
		return 0;
	coming->here.len = 0;
	if (!rules_folded(c->rules))
		return 0;
	ret = g_strcmp0(c->twins_dir, coming->dir) ? read_twins(c, coming) : 0;
	folded = fold(coming->name);
	twin = ret ? NULL : g_hash_table_lookup(c->twins, folded);
	if (twin && migrate_binding_get(coming->fd, twin, &coming->here))
		coming->here.len = 0;
	coming->twin = coming->here.len > 0;
	return ret;
}

/* Opens its directory, and looks whether the name is here already. */
static void prepare(struct coming *coming)
{
	struct change *c = coming->c;
	bool unfilled;
	int ret;

	coming->fd = compare_open_here(c->retriever, coming->dir);
	if (coming->fd < 0)
		coming->why = "its directory is not here any more, or not yet";
	else
		coming->why = rule_change_why_directory(c, coming->fd);
	if (coming->why)
		return;
	ret = object_get(c->retriever, coming->fd, &coming->object);
	unfilled = !ret && lacks_names(coming->object);
	if (unfilled)
		ret = fill_and_wait(coming->object);
	if (ret)
		coming->why = "its directory cannot be filled: see migratectl errors";
	else if ((ret = find_by_name(coming)))
		coming->why = "its directory cannot be read";
	if (!ret && unfilled && !coming->here.len)
		coming->why = "the old server does not have it any more, or a rule names it";
}

static bool is_asked_for(const struct coming *coming)
{
	return !coming->why && !coming->here.len;
}

static void ask_for(struct coming *coming, struct latch *latch)
{
	struct retriever *retriever = coming->c->retriever;

	coming->latch = latch;
	coming->status = place_new(retriever, coming->fd);
	coming->placed = !coming->status;
	if (coming->placed)
		directory_name_late(coming->object, coming->dir, coming->name, come_done, coming);
	else
		latch_count_down(latch, 0);
}

/* A file's record has no path where its directory's has: that of one that was whole has none. */
static int note_path(const struct coming *coming)
{
	int fd = retriever_open_name(coming->fd, coming->name, O_RDONLY | O_NONBLOCK | O_NOATIME);
	struct object *object;
	int ret = fd < 0 ? 0 : object_get(coming->c->retriever, fd, &object);

	if (fd >= 0)
		close(fd);
	if (fd < 0 || ret)
		return ret == -ENOTSUP ? 0 : ret;
	g_mutex_lock(&object->lock);
	if (!object->normal && !object->record.path &&
	    strlen(coming->path) <= MIGRATE_REC_MAX_PATH) {
		object->record.path = g_strdup(coming->path);
		ret = object_store(object);
	}
	g_mutex_unlock(&object->lock);
	object_unref(object);
	return ret;
}

static void judge_answer(struct coming *coming)
{
	if (coming->placed)
		place_end(coming->c->retriever);
	if (!coming->status && coming->placed)
		coming->status = note_path(coming);
	if (!coming->status)
		return;
	coming->c->failed += coming->status != -ENOENT && coming->status != -EEXIST;
	coming->why = coming->status == -ENOENT
			      ? "the old server does not have it any more, or a rule names it"
		      : coming->status == -EEXIST
			      ? "a client has made something of that name: it is the client's"
			      : "it could not be made: see migratectl errors, and try again";
}

/* A name that is here already: what a run that was killed, or the fill, has made is no client's.
 * A twin that is the old server's is another object: some tell case apart, and none folds as much
 * as is folded here. */
static void judge_here(struct coming *coming, const char *unsettled)
{
	struct journal_row row;

	if (coming->why || !coming->here.len)
		return;
	coming->why = unsettled;
	if (!unsettled &&
	    clients_find(coming->c->clients, &coming->here, &row) != JOURNAL_UNCHANGED)
		coming->why = "a client has made something of that name: it is the client's";
	else if (!unsettled && coming->twin)
		coming->here.len = 0;
}

static void ask_for_all(GPtrArray *lot)
{
	struct latch latch;
	guint n = 0;

	for (guint i = 0; i < lot->len; i++)
		n += is_asked_for(lot->pdata[i]);
	latch_init(&latch, n);
	for (guint i = 0; i < lot->len; i++)
		if (is_asked_for(lot->pdata[i]))
			ask_for(lot->pdata[i], &latch);
	latch_wait(&latch);
}

/* Their lines may go when the objects are durable. */
static void end_lot(struct change *c, GPtrArray *lot)
{
	const char *why = syncfs(c->retriever->root_fd) < 0 ? "the disk has failed" : NULL;

	for (guint i = 0; i < lot->len; i++) {
		struct coming *coming = lot->pdata[i];

		coming->why = coming->why ? coming->why : why;
		if (coming->why) {
			rule_change_tell(c, coming->path, coming->why);
			continue;
		}
		g_hash_table_add(c->came, (gpointer)coming->line);
		c->brought++;
		rule_change_sum(c, coming->rule)->brought++;
	}
}

static int take_lines_back(struct change *c)
{
	int ret = g_hash_table_size(c->came) ? losses_retract(c->retriever->losses, c->came) : 0;

	g_hash_table_remove_all(c->came);
	return ret;
}

static void bring_lot(struct change *c, GPtrArray *lot)
{
	const char *why;
	bool here = false;

	if (!lot->len)
		return;
	why = rule_change_settle(c);
	if (why) {
		for (guint i = 0; i < lot->len; i++)
			rule_change_tell(c, ((struct coming *)lot->pdata[i])->path, why);
		g_ptr_array_set_size(lot, 0);
		return;
	}
	g_clear_pointer(&c->twins_dir, g_free); /* clients have made names since */
	for (guint i = 0; i < lot->len; i++) {
		prepare(lot->pdata[i]);
		here |= ((struct coming *)lot->pdata[i])->here.len > 0;
	}
	if (here)
		why = rule_change_settle(c);
	for (guint i = 0; i < lot->len; i++)
		judge_here(lot->pdata[i], why);
	ask_for_all(lot);
	for (guint i = 0; i < lot->len; i++)
		if (((struct coming *)lot->pdata[i])->latch)
			judge_answer(lot->pdata[i]);
	end_lot(c, lot);
	g_ptr_array_set_size(lot, 0);
}

/* NULL: the line is none of a rule, or a rule names the object still.  A pattern for directories
 * tells what the object was.  text stays the caller's. */
static struct coming *parse_coming(struct change *c, const char *text)
{
	const size_t len = strlen(c->root);
	struct coming *coming = NULL;
	struct loss_line line;

	if (!loss_parse(text, &line))
		return NULL;
	if (line.kind == LOSS_RULE && g_str_has_prefix(line.path, c->root) &&
	    line.path[len] == '/' && source_path_ok(line.path + len + 1)) {
		coming = g_new0(struct coming, 1);
		*coming = (struct coming){.c = c,
					  .line = text,
					  .path = g_strdup(line.path + len + 1),
					  .rule = g_strdup(line.text),
					  .fd = -1};
		rule_change_split(coming->path, &coming->dir, &coming->name);
		if (rules_find(c->rules, coming->dir, coming->name,
			       g_str_has_suffix(line.text, "/") ? RULE_DIRECTORY : RULE_UNKNOWN))
			g_clear_pointer(&coming, coming_free);
	}
	loss_line_clear(&line);
	return coming;
}

/* By their paths: a directory before what is in it. */
static gint by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All lines of rules, and those of the rules that are none any more. */
static int read_lines(struct change *c, GPtrArray *all)
{
	int fd = openat(c->retriever->private_fd, LOSSES_FILE, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char *text = NULL;
	size_t room = 0;
	ssize_t n;

	if (!file)
		return errno == ENOENT ? 0 : -errno;
	while ((n = getline(&text, &room, file)) > 0) {
		struct coming *coming;

		char *line;

		text[n - (text[n - 1] == '\n')] = '\0';
		if (!g_str_has_prefix(text, "rule\t") || g_hash_table_contains(c->lines, text))
			continue;
		line = g_strdup(text);
		g_hash_table_add(c->lines, line);
		coming = parse_coming(c, line);
		if (!coming)
			continue;
		rule_change_sum(c, coming->rule)->left++;
		g_ptr_array_add(all, line);
		coming_free(coming);
	}
	free(text);
	fclose(file);
	g_ptr_array_sort(all, by_text);
	return 0;
}

/* Whether its directory is to come in this lot, or it itself: by the line of another rule. */
static bool waits_for(const GPtrArray *lot, const struct coming *coming)
{
	for (guint i = 0; i < lot->len; i++) {
		const struct coming *above = lot->pdata[i];
		const size_t len = strlen(above->path);

		if (!strncmp(above->path, coming->path, len) &&
		    (coming->path[len] == '/' || !coming->path[len]))
			return true;
	}
	return false;
}

int rule_bring_all(struct change *c)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new();
	g_autoptr(GPtrArray) lot = g_ptr_array_new_with_free_func(coming_free);
	int ret = read_lines(c, all), back;

	for (guint i = 0; i < all->len && c->apply && !ret; i++) {
		struct coming *coming = parse_coming(c, all->pdata[i]);

		if (g_atomic_int_get(&c->retriever->closing))
			ret = -ECANCELED;
		if (lot->len == RULE_CHANGE_LOT || waits_for(lot, coming))
			bring_lot(c, lot);
		g_ptr_array_add(lot, coming);
		if (g_hash_table_size(c->came) >= CAME)
			ret = take_lines_back(c);
	}
	if (!ret)
		bring_lot(c, lot);
	back = take_lines_back(c);
	return ret ? ret : back;
}
