/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/walk.h"

static bool may_begin(const struct walk *walk)
{
	return !walk->hold && frontier_count(walk->frontier);
}

/* NULL: there is nothing more to be done. */
static struct directory *take_walk(struct walk *walk)
{
	struct directory *directory = NULL;

	g_mutex_lock(&walk->lock);
	while (!walk->stop && !walk->error && !may_begin(walk) &&
	       (walk->active || walk->hold || frontier_count(walk->frontier)))
		g_cond_wait(&walk->changed, &walk->lock);
	if (!walk->stop && !walk->error && may_begin(walk))
		directory = frontier_take(walk->frontier, &walk->error);
	walk->active += directory != NULL;
	g_mutex_unlock(&walk->lock);
	return directory;
}

static gpointer run_walk(gpointer arg)
{
	struct walk *walk = arg;
	struct directory *directory;

	while ((directory = take_walk(walk))) {
		walk->list(walk, directory);
		directory_free(directory);
		g_mutex_lock(&walk->lock);
		walk->active--;
		g_cond_broadcast(&walk->changed);
		g_mutex_unlock(&walk->lock);
	}
	g_mutex_lock(&walk->lock);
	g_cond_broadcast(&walk->changed);
	g_mutex_unlock(&walk->lock);
	return NULL;
}

void walk_add_root(struct walk *walk, const struct source_object *root,
		   const struct source_attr *attr)
{
	struct directory *directory =
		directory_new("", root->handle, root->handle_len, NULL,
			      directory_number(root->handle, root->handle_len, attr));

	tally_add(walk->tally, "", attr);
	judge_object(walk->judge, "", attr, NULL);
	frontier_put(walk->frontier, directory, &walk->error);
}

void walk_start(struct walk *walk)
{
	g_mutex_init(&walk->lock);
	g_cond_init(&walk->changed);
	walk->threads = g_new0(GThread *, walk->workers);
	for (unsigned i = 0; i < walk->workers; i++)
		walk->threads[i] = g_thread_new("list", run_walk, walk);
}

bool walk_hold(struct walk *walk, gint64 until)
{
	bool still;

	g_mutex_lock(&walk->lock);
	walk->hold = true;
	while (walk->active && !walk->error &&
	       g_cond_wait_until(&walk->changed, &walk->lock, until))
		;
	still = !walk->active && !walk->spoiled;
	g_mutex_unlock(&walk->lock);
	return still;
}

void walk_go_on(struct walk *walk)
{
	g_mutex_lock(&walk->lock);
	walk->hold = false;
	g_cond_broadcast(&walk->changed);
	g_mutex_unlock(&walk->lock);
}

bool walk_wait(struct walk *walk, gint64 until)
{
	bool over;

	g_mutex_lock(&walk->lock);
	do
		over = walk->error || (!walk->active && !frontier_count(walk->frontier));
	while (!over && g_cond_wait_until(&walk->changed, &walk->lock, until));
	g_mutex_unlock(&walk->lock);
	return over;
}

void walk_stop(struct walk *walk)
{
	g_mutex_lock(&walk->lock);
	walk->stop = true;
	g_cond_broadcast(&walk->changed);
	g_mutex_unlock(&walk->lock);
}

void walk_end(struct walk *walk)
{
	for (unsigned i = 0; i < walk->workers; i++)
		g_thread_join(walk->threads[i]);
	g_free(walk->threads);
	g_mutex_clear(&walk->lock);
	g_cond_clear(&walk->changed);
}

void walk_now(struct walk *walk, uint64_t *objects, uint64_t *bytes, uint64_t *pending)
{
	g_mutex_lock(&walk->lock);
	*objects = tally_objects(walk->tally);
	*bytes = walk->tally->bytes;
	*pending = frontier_count(walk->frontier) + walk->active;
	g_mutex_unlock(&walk->lock);
}
