/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/visit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "retriever/copies/listing_entries.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/data/listing_search.h"
#include "retriever/data/source_root.h"
#include "retriever/names/fill_page.h"

#define NOWHERE	  PROOF_SIDES
#define UNDER_WAY 256	/* files of a directory, at a time */
#define MISSING	  10000 /* names that are looked for in other spellings */

struct visit {
	struct visits *visits;
	const struct proof_task *task;
	struct source_object object; /* there */
	struct source_attr attr;
	int fd;	       /* here, or -1 */
	GArray *names; /* hashes of what the old server lists */
	unsigned quota;
	GMutex lock; /* a leaf: what follows */
	GCond changed;
	unsigned under_way;
	bool stopped;
	struct proof_block *block;
	GPtrArray *missing; /* of struct compared */
};

struct visit_file {
	struct visit *visit;
	struct source_entry entry;
	char *name;
	bool sampled;
};

static bool is_stopped(struct visit *visit)
{
	return asker_is_stopped(&visit->visits->compare.asker);
}

/* ---- what was found ---- */

/* The status of objects in a directory, from its own status and the side that it is on. */
static enum proof_status status_below(enum proof_status status, enum proof_side side)
{
	if (side == PROOF_BOTH)
		return PROOF_SAME;
	if (status != PROOF_CHANGED)
		return status;
	return side == PROOF_HERE ? PROOF_MADE : PROOF_REMOVED;
}

/* Lock held.  side: where it is a directory, whose turn comes. */
static void record(struct visit *visit, struct compared *c, enum proof_side side)
{
	struct proof_block *block = visit->block;

	if (c->stopped) {
		visit->stopped = true;
		return;
	}
	proof_block_entry(block, &c->entry);
	for (guint i = 0; i < c->findings->len; i++)
		proof_block_finding(block, &g_array_index(c->findings, struct proof_finding, i));
	if (c->linked)
		proof_block_link(block, c->fileid, c->inode);
	block->counts.sampled += c->sampled;
	block->counts.cached += c->cached;
	block->counts.bytes += c->sampled ? c->entry.size : 0;
	if (side != NOWHERE && *c->entry.path)
		proof_block_directory(block, c->entry.path, side,
				      status_below(c->entry.status, side));
	visit->visits->counted(visit->visits->arg, c);
}

static void record_now(struct visit *visit, struct compared *compared, enum proof_side side)
{
	g_mutex_lock(&visit->lock);
	record(visit, compared, side);
	g_mutex_unlock(&visit->lock);
}

static enum proof_side side_of(const struct compared *compared, enum proof_side side)
{
	return S_ISDIR(compared->entry.mode) ? side : NOWHERE;
}

static void free_compared(gpointer compared)
{
	compared_clear(compared);
	g_free(compared);
}

static void find_missing(struct compared *compared)
{
	compared_find(compared, PROOF_MISSING, 0, "the old server has it, and it is not here");
}

/* Or what is above it: of a directory that is, whatever of it is not here. */
static bool is_skipped(const struct visits *visits, const char *path)
{
	g_autofree char *at = g_strdup(path);

	while (!g_hash_table_contains(visits->skipped, at)) {
		char *slash = strrchr(at, '/');

		if (!*at)
			return false;
		*(slash ? slash : at) = '\0';
	}
	return true;
}

/* Why it is not here. */
static void judge_missing(struct visit *visit, struct compared *compared)
{
	struct visits *visits = visit->visits;
	bool clients = proof_is_clients(visits->compare.clients, visit->fd, &visit->attr,
					CLIENTS_NAMES, true);

	if (is_skipped(visits, compared->entry.path) ||
	    directory_reserves(visit->task->path, compared->entry.path))
		compared->entry.status = PROOF_SKIPPED;
	else if (clients)
		compared->entry.status = PROOF_REMOVED;
	else
		find_missing(compared);
}

/* A missing object may be here under another spelling of its name: so a difference is kept until
 * the names here are known, and any other status is recorded at once. */
static void take_missing(struct visit *visit, struct compared *compared)
{
	judge_missing(visit, compared);
	g_mutex_lock(&visit->lock);
	if (compared->entry.status == PROOF_DIFFERENT && visit->missing->len < MISSING) {
		g_ptr_array_add(visit->missing, g_memdup2(compared, sizeof *compared));
		compared_init(compared);
	} else { /* what a rule leaves out is not looked into: it may be large, or never end */
		record(visit, compared,
		       g_hash_table_lookup(visit->visits->skipped, compared->entry.path) ==
				       VISIT_RULE
			       ? NOWHERE
			       : side_of(compared, PROOF_THERE));
	}
	g_mutex_unlock(&visit->lock);
}

/* ---- one name ---- */

/* On which side the visit goes on below the object: it may be a directory on one side only, or not
 * be filled here. */
static enum proof_side side_to_go(const struct compared *compared, const struct source_entry *entry)
{
	if (!S_ISDIR(entry->attr.mode))
		return side_of(compared, PROOF_HERE);
	return S_ISDIR(compared->entry.mode) && !compared->names_to_come ? PROOF_BOTH : PROOF_THERE;
}

/* A name that is reserved here: the object that has it here is the retriever's own, so the old
 * server's is missing. */
static int find_reserved(struct visit *visit, struct source_entry *entry, struct compared *compared)
{
	struct compare *compare = &visit->visits->compare;
	int ret = entry->has_attr ? 0 : compare_look_up(compare, visit->task->path, entry);

	compared->entry.path = compare_path(visit->task->path, entry->name);
	if (!ret)
		compare_fill_there(compare, &compared->entry, &entry->attr);
	compared->missing = true;
	return ret;
}

static void compare_one(struct visit *visit, struct source_entry *entry, bool sampled)
{
	struct compare_place place = {visit->fd, visit->task->path, &visit->attr};
	struct compared compared;

	compared_init(&compared);
	if (is_stopped(visit))
		compared.stopped = true;
	else if (directory_reserves(visit->task->path, entry->name))
		compared.stopped = find_reserved(visit, entry, &compared) == -ECANCELED;
	else
		compare_entry(&visit->visits->compare, &place, entry, sampled, &compared);
	if (compared.missing)
		take_missing(visit, &compared);
	else
		record_now(visit, &compared, side_to_go(&compared, entry));
	compared_clear(&compared);
}

void visit_run_file(gpointer data, gpointer user)
{
	struct visit_file *file = data;
	struct visit *visit = file->visit;

	file->entry.name = file->name;
	compare_one(visit, &file->entry, file->sampled);
	g_free(file->name);
	g_slice_free(struct visit_file, file);
	g_mutex_lock(&visit->lock);
	visit->under_way--;
	g_cond_broadcast(&visit->changed);
	g_mutex_unlock(&visit->lock);
}

static void wait_until(struct visit *visit, unsigned under_way)
{
	g_mutex_lock(&visit->lock);
	while (visit->under_way > under_way)
		g_cond_wait(&visit->changed, &visit->lock);
	g_mutex_unlock(&visit->lock);
}

static bool is_in_sample(struct visit *visit, const struct source_entry *entry)
{
	if (entry->has_attr && !S_ISREG(entry->attr.mode))
		return true;
	visit->quota += visit->visits->sample;
	if (visit->quota < VISIT_ALL)
		return false;
	visit->quota -= VISIT_ALL;
	return true;
}

static void begin_file(struct visit *visit, const struct source_entry *entry)
{
	struct visit_file *file = g_slice_new0(struct visit_file);

	file->visit = visit;
	file->entry = *entry;
	file->name = g_strdup(entry->name);
	file->sampled = is_in_sample(visit, entry);
	g_mutex_lock(&visit->lock);
	visit->under_way++;
	g_mutex_unlock(&visit->lock);
	g_thread_pool_push(visit->visits->files, file, NULL);
	wait_until(visit, UNDER_WAY);
}

/* Records an object that is on the old server only, as far as is known yet. */
static void record_there(struct visit *visit, struct source_entry *entry)
{
	struct compare *compare = &visit->visits->compare;
	struct compared compared;
	int ret = 0;

	compared_init(&compared);
	compared.entry.path = compare_path(visit->task->path, entry->name);
	if (!entry->has_attr)
		ret = compare_look_up(compare, visit->task->path, entry);
	compared.stopped = ret == -ECANCELED;
	if (!ret)
		compare_fill_there(compare, &compared.entry, &entry->attr);
	compared.entry.status = visit->task->status;
	record_now(visit, &compared, side_of(&compared, PROOF_THERE));
	compared_clear(&compared);
}

/* Nothing can have these names here. */
static void record_refused(struct visit *visit, const struct backend_batch *batch)
{
	for (guint i = 0; i < batch->refused->len; i++) {
		struct compared compared;

		compared_init(&compared);
		compared.entry.path =
			compare_path(visit->task->path,
				     g_array_index(batch->refused, struct source_refusal, i).name);
		compared.entry.mode = S_IFREG;
		compared.entry.status = PROOF_SKIPPED;
		record_now(visit, &compared, NOWHERE);
		compared_clear(&compared);
	}
}

/* ---- the old server's listing ---- */

static void visit_page(struct visit *visit, const struct backend_batch *batch)
{
	for (guint i = 0; i < batch->entries->len && !is_stopped(visit); i++) {
		struct source_entry *e = &g_array_index(batch->entries, struct source_entry, i);
		uint64_t hash = listing_sum_hash(e->name);

		g_array_append_val(visit->names, hash);
		if (visit->fd < 0)
			record_there(visit, e);
		else
			begin_file(visit, e);
	}
	record_refused(visit, batch);
}

static int list_there(struct visit *visit)
{
	struct listing_progress progress = {0};
	uint64_t cookie = 0, verf = 0;
	bool eof = false;

	while (!eof) {
		struct asked asked = {.req = {.op = BACKEND_READDIR, .object = visit->object}};
		int ret;

		asked.req.cookie = cookie;
		asked.req.verf = verf;
		ret = asker_call(&visit->visits->compare.asker, &asked);
		if (!ret && !asked.req.eof &&
		    listing_is_endless(&progress, asked.req.cookie, asked.req.batch->entries->len))
			ret = -ELOOP;
		if (!ret)
			visit_page(visit, asked.req.batch);
		backend_batch_free(asked.req.batch);
		if (ret)
			return ret;
		eof = asked.req.eof;
		cookie = asked.req.cookie;
		verf = asked.req.verf;
	}
	return is_stopped(visit) ? -ECANCELED : 0;
}

static int look_there(struct visit *visit, const char *path, struct source_object *object,
		      struct source_attr *attr)
{
	const char *slash = strrchr(path, '/');
	g_autofree char *dir = slash ? g_strndup(path, slash - path) : g_strdup("");
	struct source_entry entry = {.name = (char *)(slash ? slash + 1 : path)};
	struct asked asked = {.req = {.op = BACKEND_GETATTR}};
	int ret;

	if (!*path) {
		source_root_get(visit->visits->compare.retriever, object, attr);
		asked.req.object = *object;
		ret = asker_call(&visit->visits->compare.asker, &asked);
		*attr = asked.req.attr;
		return ret;
	}
	ret = compare_look_up(&visit->visits->compare, dir, &entry);
	if (!ret)
		directory_entry_object(&entry, dir, object);
	*attr = entry.attr;
	return ret;
}

/* Whether the entry is a directory within itself (directory_is_in_itself()): it is not here, and a
 * walk below it would never end. */
static bool is_in_itself(struct visit *visit)
{
	g_autofree char *path = g_strdup(visit->task->path);
	bool is = false;

	while (!visit->object.handle_len && !is && *path) {
		char *slash = strrchr(path, '/');
		struct source_object object = {0};
		struct source_attr attr;

		*(slash ? slash : path) = '\0';
		is = look_there(visit, path, &object, &attr) == 0 &&
		     source_attr_same(&attr, &visit->attr);
		source_object_clear(&object);
	}
	return is;
}

/* ---- this side ---- */

/* A spelling that is the same for all names that differ only in case and in how their characters
 * are composed; or NULL. */
static char *spelling(const char *name)
{
	g_autofree char *normal = g_utf8_normalize(name, -1, G_NORMALIZE_ALL_COMPOSE);

	return normal ? g_utf8_casefold(normal, -1) : NULL;
}

/* Lock held: what is missing under another spelling. */
static struct compared *find_spelling(struct visit *visit, const char *name)
{
	g_autofree char *wanted = spelling(name);

	for (guint i = 0; wanted && i < visit->missing->len; i++) {
		struct compared *missing = visit->missing->pdata[i];
		g_autofree char *base = g_path_get_basename(missing->entry.path);
		g_autofree char *other = spelling(base);

		if (other && !strcmp(other, wanted))
			return missing;
	}
	return NULL;
}

static void judge_extra(struct visit *visit, struct compared *compared, const char *name,
			const struct stat *st)
{
	struct compared *missing;

	compared->entry.status = PROOF_MADE;
	if (visit->task->side == PROOF_HERE) {
		compared->entry.status = visit->task->status;
		return;
	}
	if (proof_is_clients(visit->visits->compare.clients, visit->fd, &visit->attr, CLIENTS_NAMES,
			     true))
		return;
	if (is_skipped(visit->visits, compared->entry.path)) /* nobody can tell whose it is */
		return;
	missing = find_spelling(visit, name);
	if (missing) {
		compared->entry.status = PROOF_DIFFERENT;
		g_array_set_size(missing->findings, 0);
		compared_find(missing, PROOF_SPELLING, st->st_ctim.tv_sec,
			      "its name is spelled in another way here: %s", name);
	} else {
		compared_find(compared, PROOF_EXTRA, st->st_ctim.tv_sec,
			      "the old server has nothing of this name");
	}
}

static void record_extra(struct visit *visit, const char *name)
{
	struct compared compared;
	struct stat st;

	compared_init(&compared);
	compared.entry.path = compare_path(visit->task->path, name);
	if (fstatat(visit->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		compare_fill_here(&compared.entry, &st);
		judge_extra(visit, &compared, name, &st);
		if (S_ISLNK(st.st_mode)) {
			char target[PATH_MAX];
			ssize_t len = readlinkat(visit->fd, name, target, sizeof target);

			compared.entry.link = g_strndup(target, MAX(len, 0));
		}
		record_now(visit, &compared, side_of(&compared, PROOF_HERE));
	}
	compared_clear(&compared);
}

/* Whether the name is the root's lost+found that e2fsck(8) has made and that is empty. */
static bool is_of_file_system(const struct visit *visit, const char *name)
{
	return !*visit->task->path && !strcmp(name, MIGRATE_LOST_FOUND) &&
	       migrate_is_empty(visit->fd, name);
}

/* Records names here that the old server does not list. */
static int list_here(struct visit *visit)
{
	DIR *dir = retriever_list(visit->fd, ".");
	struct dirent *e;

	if (!dir)
		return -errno;
	listing_entries_sort(visit->names);
	while (!is_stopped(visit) && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    !(directory_reserves(visit->task->path, e->d_name) &&
		      visit->visits->compare.retriever->private_fd >= 0) &&
		    !is_of_file_system(visit, e->d_name) &&
		    !listing_entries_has(visit->names, listing_sum_hash(e->d_name)))
			record_extra(visit, e->d_name);
	closedir(dir);
	return 0;
}

/* ---- all of it ---- */

static void find_unread(struct visit *visit, int status, const char *what)
{
	struct proof_finding finding = {.path = visit->task->path, .kind = PROOF_UNREAD};

	if (status == -ECANCELED || is_stopped(visit)) {
		visit->stopped = true;
		return;
	}
	finding.text = g_strdup_printf("%s: %s", what, g_strerror(-status));
	proof_block_finding(visit->block, &finding);
	visit->block->counts.status[PROOF_FAILED]++;
	g_free(finding.text);
}

static void visit_root(struct visit *visit)
{
	struct compare_place place = {visit->fd, "", &visit->attr};
	struct compared compared;

	compared_init(&compared);
	compare_root(&visit->visits->compare, &place, &visit->object, &compared);
	record_now(visit, &compared, PROOF_BOTH);
	compared_clear(&compared);
}

static void visit_both(struct visit *visit)
{
	const enum proof_side side = visit->task->side;
	const bool left = side == PROOF_BOTH && is_skipped(visit->visits, visit->task->path);
	int ret = side == PROOF_HERE
			  ? 0
			  : look_there(visit, visit->task->path, &visit->object, &visit->attr),
	    lacks = left ? ret : 0;

	if (ret && (!left || is_stopped(visit))) {
		find_unread(visit, ret, "the old server does not tell of the directory any more");
		return;
	}
	if (side == PROOF_THERE && is_in_itself(visit))
		return;
	if (side != PROOF_THERE) {
		visit->fd = compare_open_here(visit->visits->compare.retriever, visit->task->path);
		if (visit->fd < 0) {
			find_unread(visit, visit->fd, "the directory cannot be opened here");
			return;
		}
	}
	if (side == PROOF_BOTH && !*visit->task->path)
		visit_root(visit);
	ret = side == PROOF_HERE || lacks ? 0 : list_there(visit);
	wait_until(visit, 0);
	if (ret && (!left || is_stopped(visit)))
		find_unread(visit, ret, "the old server does not list the directory");
	else if (visit->fd >= 0 && (ret = list_here(visit)))
		find_unread(visit, ret, "the directory cannot be listed here");
	for (guint i = 0; i < visit->missing->len; i++)
		record(visit, visit->missing->pdata[i],
		       side_of(visit->missing->pdata[i], PROOF_THERE));
}

static unsigned first_of_sample(const struct visits *visits, const char *path)
{
	return (listing_sum_hash(path) ^ visits->seed * 0x9e3779b97f4a7c15u) % VISIT_ALL;
}

int visit_directory(struct visits *visits, const struct proof_task *task, struct proof_block *block)
{
	struct visit visit = {.visits = visits, .task = task, .block = block, .fd = -1};

	g_mutex_init(&visit.lock);
	g_cond_init(&visit.changed);
	visit.names = listing_entries_array();
	visit.missing = g_ptr_array_new_with_free_func(free_compared);
	visit.quota = first_of_sample(visits, task->path);
	visit_both(&visit);
	if (visit.fd >= 0)
		close(visit.fd);
	source_object_clear(&visit.object);
	g_array_unref(visit.names);
	g_ptr_array_unref(visit.missing);
	g_mutex_clear(&visit.lock);
	g_cond_clear(&visit.changed);
	return visit.stopped || is_stopped(&visit) ? -ECANCELED : 0;
}
