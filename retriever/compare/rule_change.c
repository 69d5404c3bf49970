/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/rule_change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/latch.h"
#include "lib/base/lease.h"
#include "lib/base/filetree.h"
#include "lib/base/text.h"
#include "lib/config/rules.h"
#include "lib/report/losses.h"
#include "lib/source/gate.h"
#include "retriever/compare/clients.h"
#include "retriever/compare/compare.h"
#include "retriever/compare/proof.h"
#include "retriever/copies/aside.h"
#include "retriever/copies/leftover.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/data/place.h"
#include "retriever/names/fill.h"
#include "retriever/names/fill_page.h"
#include "retriever/names/one_name.h"
#include "retriever/objects/damage.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/object.h"

#define LOT	   256	 /* objects that wait for the journal and the disk together */
#define CAME	   16384 /* lines that are taken back together: the whole report is read */
#define TOLD	   200	 /* of those that stay */
#define TOLD_BYTES 16384 /* a reply holds 64 KiB, and bytes may be escaped */

#define CHANGED                                                                                    \
	(MIGRATE_REC_CLIENT | MIGRATE_REC_SHOWN_MTIME | MIGRATE_REC_SHOWN_CTIME | MIGRATE_REC_LOST)

#define CHANGED_MEANWHILE "it was changed meanwhile: try again"

/* Of one rule. */
struct sum {
	uint64_t objects, bytes; /* here */
	uint64_t aside;		 /* of these: can go, or went */
	uint64_t left, brought;
};

struct change {
	struct retriever *retriever;
	const struct rules *rules;
	struct clients *clients;
	bool apply;
	char *root;	   /* the kernel's path of it, with which lines begin */
	GHashTable *sums;  /* the text of a rule -> struct sum */
	GHashTable *lines; /* those of rules that the report had */
	GHashTable *came;  /* of these, those that are to be taken back */
	GPtrArray *lot;	   /* of struct leaving */
	GKeyFile *told;
	size_t told_bytes;
	uint64_t aside, brought, stays, failed;
	char *unsettled;   /* why the journal tells nothing; it is not waited for again */
	char *top;	   /* the name in the root that is walked */
	char *covered_dir; /* the last directory that was asked for */
	bool covered;	   /* whether a rule names it, or one above it */
};

static struct sum *sum_of(struct change *c, const char *rule)
{
	struct sum *sum = g_hash_table_lookup(c->sums, rule);

	if (!sum) {
		sum = g_new0(struct sum, 1);
		g_hash_table_insert(c->sums, g_strdup(rule), sum);
	}
	return sum;
}

static void tell(struct change *c, const char *path, const char *why)
{
	g_autofree char *group = g_strdup_printf("stays %" G_GUINT64_FORMAT, c->stays++);
	g_autofree char *shown = text_line(path);

	c->told_bytes += strlen(shown) + strlen(why);
	if (c->stays > TOLD || c->told_bytes > TOLD_BYTES)
		return;
	g_key_file_set_string(c->told, group, "path", shown);
	g_key_file_set_string(c->told, group, "why", why);
}

static void split(const char *path, char **dir, char **name)
{
	const char *slash = strrchr(path, '/');

	*dir = slash ? g_strndup(path, (gsize)(slash - path)) : g_strdup("");
	*name = g_strdup(slash ? slash + 1 : path);
}

/* ---- whose it is ----------------------------------------------------------------------------- */

static const char *why_by_answer(enum journal_answer answer)
{
	switch (answer) {
	case JOURNAL_UNCHANGED:
		return NULL;
	case JOURNAL_CHANGED:
		return "a client has made or changed it, or may have: it is the client's";
	default:
		return "the journal does not know whether a client has changed it";
	}
}

/* NULL: all that clients did until now counts. */
static const char *settle_change(struct change *c)
{
	if (!c->unsettled)
		clients_settle(c->clients, &c->unsettled);
	return c->unsettled;
}

/* Why nothing may be done in the directory: clients made, or moved, it or one above it.  NULL: it
 * is the old server's of that path. */
static const char *why_directory(const struct change *c, int dir_fd)
{
	int fd = retriever_open_name(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_NOATIME);
	const char *why = NULL;

	while (fd >= 0 && !why) {
		enum journal_answer answer;
		struct migrate_binding key;
		struct journal_row row;
		int up;

		if (migrate_binding_get(fd, "", &key))
			break;
		if (migrate_binding_equal(&key, &c->retriever->root_key)) {
			close(fd);
			return NULL;
		}
		answer = clients_find(c->clients, &key, &row);
		if (answer == JOURNAL_CHANGED &&
		    row.flags & (JOURNAL_MADE | JOURNAL_NAMES | JOURNAL_SCANNED))
			why = "a client has made or moved its directory, or may have";
		else if (answer != JOURNAL_CHANGED)
			why = why_by_answer(answer);
		up = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
		close(fd);
		fd = up;
	}
	if (fd >= 0)
		close(fd);
	return why ? why : "its directory cannot be looked at";
}

/* One look at an object and all that is in it. */
struct look {
	const struct change *c;
	bool leases;	 /* files that are open stay */
	const char *why; /* it stays; NULL: it may go */
	uint64_t objects, bytes, sum;
	uint64_t kept; /* a sum that does not change when it gets another name */
};

static const char *why_record(int fd)
{
	struct migrate_record rec;
	int ret = migrate_record_load(fd, &rec);
	bool changed;

	if (ret <= 0)
		return ret ? "its record cannot be read" : NULL;
	changed = rec.flags & CHANGED || rec.dirty.n;
	migrate_record_clear(&rec);
	return changed ? why_by_answer(JOURNAL_CHANGED) : NULL;
}

/* A descriptor of the retriever's counts, too: the file is being filled. */
static const char *why_open(int fd)
{
	struct lease lease;
	const int ret = lease_take(&lease, fd);

	return !ret	       ? NULL
	       : ret == -EBUSY ? "it is open, or being filled: try again when it is closed"
			       : "the kernel does not tell whether it is open";
}

static const char *why_busy(struct retriever *retriever, int fd)
{
	struct object *object;
	bool busy;

	if (object_get(retriever, fd, &object))
		return "its record cannot be read";
	g_mutex_lock(&object->lock);
	busy = !object->normal && (directory_of(object)->fills || directory_of(object)->names ||
				   object->turns.writing || object->turns.brackets);
	g_mutex_unlock(&object->lock);
	object_unref(object);
	return busy ? "it is being filled: try again" : NULL;
}

static const char *why_object(const struct look *look, const struct own_entry *entry)
{
	const mode_t type = entry->st->st_mode & S_IFMT;
	struct migrate_binding key;
	struct journal_row row;
	const char *why = NULL;
	int fd;

	if (entry->outside || entry->error)
		return "not all of it can be looked at";
	if (type != S_IFDIR && entry->st->st_nlink > 1)
		return "it has other names, too";
	if (migrate_binding_get(entry->dir_fd, entry->name, &key))
		return "it cannot be looked at";
	why = why_by_answer(clients_find(look->c->clients, &key, &row));
	if (why || (type != S_IFDIR && type != S_IFREG))
		return why;
	fd = retriever_open_name(entry->dir_fd, entry->name, O_RDONLY | O_NONBLOCK | O_NOATIME);
	if (fd < 0)
		return "it cannot be opened";
	why = why_record(fd);
	if (!why && look->leases)
		why = type == S_IFREG ? why_open(fd) : why_busy(look->c->retriever, fd);
	close(fd);
	return why;
}

static uint64_t sum_all(const struct stat *st)
{
	return listing_sum_mix(st->st_ino + listing_sum_mix((uint64_t)migrate_ns(st->st_ctim)));
}

/* Without its ctime, which moves with it. */
static uint64_t sum_content(const struct stat *st)
{
	uint64_t sum = listing_sum_mix((uint64_t)migrate_ns(st->st_mtim));

	sum = listing_sum_mix(sum + (uint64_t)st->st_size);
	sum = listing_sum_mix(sum + st->st_mode);
	sum = listing_sum_mix(sum + ((uint64_t)st->st_uid << 32 | st->st_gid));
	return listing_sum_mix(sum + st->st_ino);
}

static int judge_entry(void *arg, const struct own_entry *entry)
{
	struct look *look = arg;
	const struct stat *st = entry->st;

	look->objects++;
	look->bytes += S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
	look->sum += sum_all(st);
	look->kept += *entry->path ? sum_all(st) : sum_content(st);
	if (!look->why)
		look->why = why_object(look, entry);
	return 0;
}

static void judge_tree(struct look *look, const struct change *c, int dir_fd, const char *name,
		       bool leases)
{
	*look = (struct look){.c = c, .leases = leases};
	look->why = why_directory(c, dir_fd);
	if (own_walk(dir_fd, name, judge_entry, look) && !look->why)
		look->why = "not all of it can be looked at";
}

/* ---- what leaves ----------------------------------------------------------------------------- */

struct leaving {
	char *path;
	const char *rule;
	uint64_t sum, kept;
	char *line;
	const char *why; /* it stays */
};

static void leaving_free(gpointer p)
{
	struct leaving *leaving = p;

	g_free(leaving->path);
	g_free(leaving->line);
	g_free(leaving);
}

/* Looks at it again.  The directory that it is in; negative: it stays. */
static int judge_leaving(struct change *c, struct leaving *leaving, char **dir, char **name)
{
	struct look look;
	int fd;

	split(leaving->path, dir, name);
	fd = compare_open_here(c->retriever, *dir);
	if (fd < 0) {
		leaving->why = "it was moved meanwhile: try again";
		return fd;
	}
	judge_tree(&look, c, fd, *name, true);
	leaving->why = look.why ? look.why : look.sum != leaving->sum ? CHANGED_MEANWHILE : NULL;
	leaving->kept = look.kept;
	if (!leaving->why)
		return fd;
	close(fd);
	return -EBUSY;
}

/* Why it may be here alone, and so stays; NULL: the old server has it, too. */
static const char *why_not_there(struct change *c, const char *dir, int dir_fd, const char *name)
{
	struct backend_request req = {
		.op = BACKEND_LOOKUP, .priority = BACKEND_READAHEAD, .name = name};
	struct stat st;
	int ret;

	req.object.path = (char *)dir;
	ret = gate_call(c->retriever->gate, &req);
	if (!ret && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (st.st_mode & S_IFMT) == (req.attr.mode & S_IFMT))
		return NULL;
	return !ret || ret == -ENOENT ? "the old server does not have it: it is here alone"
				      : "the old server does not tell whether it has it: try again";
}

/* Its line, before it leaves. */
static void write_down(struct change *c, struct leaving *leaving)
{
	g_autofree char *dir = NULL, *name = NULL;
	g_autofree char *at = g_build_filename(c->root, leaving->path, NULL);
	int fd = judge_leaving(c, leaving, &dir, &name);

	if (fd < 0)
		return;
	leaving->why = why_not_there(c, dir, fd, name);
	close(fd);
	if (leaving->why)
		return;
	leaving->line = losses_line(LOSS_RULE, at, leaving->rule);
	if (losses_add(c->retriever->losses, LOSS_RULE, at, leaving->rule))
		leaving->why = "the report cannot be written";
}

static int forget_errors(void *arg, const struct own_entry *entry)
{
	struct retriever *retriever = arg;
	struct migrate_binding key;

	if (migrate_binding_get(entry->dir_fd, entry->name, &key))
		return 0;
	errors_forget(retriever->errors, &key);
	if (S_ISDIR(entry->st->st_mode))
		errors_forget_names(retriever->errors, &key);
	return 0;
}

/* Looks at it once more in aside/, where no client finds it by its name.  What was changed, or
 * opened, since it was judged gets its name again: -EAGAIN.  1: it cannot.  0: it stays. */
static int look_aside(struct change *c, struct leaving *leaving, int top_fd, int dir_fd,
		      const char *name)
{
	g_autofree char *at = retriever_fd_path(top_fd);
	g_autofree char *dir = g_path_get_dirname(at), *as = g_path_get_basename(at);
	struct look look = {.c = c, .leases = true};
	int from = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;

	if (from < 0 || own_walk(from, as, judge_entry, &look))
		look.why = "not all of it can be looked at";
	if (look.why || look.kept != leaving->kept) {
		ret = renameat2(from, as, dir_fd, name, RENAME_NOREPLACE) < 0 ? 1 : -EAGAIN;
		COUNT_SET(c->retriever, exact, 0);
		aside_count(c->retriever);
	} else if (errors_count(c->retriever->errors)) {
		own_walk(from, as, forget_errors, c->retriever);
	}
	if (from >= 0)
		close(from);
	return ret;
}

static int set_aside(struct change *c, struct leaving *leaving, int dir_fd, const char *dir,
		     const char *name)
{
	int top = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int ret = top < 0 ? -errno : leftover_set_aside(c->retriever, dir_fd, name, dir);
	struct stat st;

	if (!ret && fstat(top, &st) == 0 && st.st_nlink) /* else it was a stub */
		ret = look_aside(c, leaving, top, dir_fd, name);
	if (top >= 0)
		close(top);
	return ret;
}

static void take_away(struct change *c, struct leaving *leaving)
{
	g_autofree char *dir = NULL, *name = NULL;
	int fd = judge_leaving(c, leaving, &dir, &name), ret;

	if (fd < 0)
		return;
	ret = set_aside(c, leaving, fd, dir, name);
	close(fd);
	if (!ret) {
		c->aside++;
		sum_of(c, leaving->rule)->aside++;
		return;
	}
	leaving->why = ret == -EBUSY	? "it is in use: try again"
		       : ret == -EAGAIN ? CHANGED_MEANWHILE
		       : ret == 1	? "it was changed while it was set aside, and its name is "
					  "taken: see migratectl aside"
					: "it cannot be set aside: see migratectl errors";
	c->failed += ret != -EBUSY && ret != -EAGAIN;
	if (ret == 1) /* it is not here */
		g_clear_pointer(&leaving->line, g_free);
}

static void refuse_all(struct change *c, const char *why)
{
	for (guint i = 0; i < c->lot->len; i++)
		((struct leaving *)c->lot->pdata[i])->why = why;
}

static void set_lot_aside(struct change *c)
{
	g_autoptr(GHashTable) back = g_hash_table_new(g_str_hash, g_str_equal);
	const char *why;

	if (!c->lot->len)
		return;
	why = settle_change(c);
	if (why)
		refuse_all(c, why);
	for (guint i = 0; !why && i < c->lot->len; i++)
		write_down(c, c->lot->pdata[i]);
	if (losses_sync(c->retriever->losses))
		refuse_all(c, "the report cannot be written");
	for (guint i = 0; i < c->lot->len; i++) {
		struct leaving *leaving = c->lot->pdata[i];

		if (!leaving->why)
			take_away(c, leaving);
		if (!leaving->why)
			continue;
		tell(c, leaving->path, leaving->why);
		if (leaving->line && !g_hash_table_contains(c->lines, leaving->line))
			g_hash_table_add(back, leaving->line);
	}
	/* what got its name again has it after a crash, too */
	if (g_hash_table_size(back) && syncfs(c->retriever->root_fd) == 0)
		losses_retract(c->retriever->losses, back);
	g_ptr_array_set_size(c->lot, 0);
}

static const char *rule_of(const struct change *c, const char *path, bool directory)
{
	g_autofree char *dir = NULL, *name = NULL;

	split(path, &dir, &name);
	return rules_find(c->rules, dir, name, directory ? RULE_DIRECTORY : RULE_FILE);
}

/* Whether a rule names the directory or one above it: then it goes, or stays, with that. */
static bool is_covered(struct change *c, const char *dir)
{
	g_autofree char *at = NULL;

	if (c->covered_dir && !strcmp(c->covered_dir, dir))
		return c->covered;
	g_free(c->covered_dir);
	c->covered_dir = g_strdup(dir);
	c->covered = false;
	at = g_strdup(dir);
	while (*at && !c->covered) {
		char *slash = strrchr(at, '/');

		c->covered = rule_of(c, at, true) != NULL;
		*(slash ? slash : at) = '\0';
	}
	return c->covered;
}

static int find_here(void *arg, const struct own_entry *entry)
{
	struct change *c = arg;
	g_autofree char *path =
		*entry->path ? g_strconcat(c->top, "/", entry->path, NULL) : g_strdup(c->top);
	const char *rule = rule_of(c, path, S_ISDIR(entry->st->st_mode));
	g_autofree char *dir = NULL, *name = NULL;
	struct leaving *leaving;
	struct look look;
	struct sum *sum;

	if (g_atomic_int_get(&c->retriever->closing))
		return -ECANCELED;
	split(path, &dir, &name);
	if (!rule || is_covered(c, dir))
		return 0;
	judge_tree(&look, c, entry->dir_fd, entry->name, false);
	sum = sum_of(c, rule);
	sum->objects += look.objects;
	sum->bytes += look.bytes;
	if (look.why) {
		tell(c, path, look.why);
		return 0;
	}
	if (!c->apply) {
		sum->aside++;
		return 0;
	}
	leaving = g_new0(struct leaving, 1);
	*leaving = (struct leaving){.path = g_steal_pointer(&path), .rule = rule, .sum = look.sum};
	g_ptr_array_add(c->lot, leaving);
	if (c->lot->len == LOT)
		set_lot_aside(c);
	return 0;
}

static int find_all_here(struct change *c)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	DIR *dir = retriever_list(c->retriever->root_fd, ".");
	const struct dirent *e;
	int ret = dir ? 0 : -errno;

	while (dir && (errno = 0, e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    strcmp(e->d_name, "lost+found") && !directory_reserves("", e->d_name))
			g_ptr_array_add(names, g_strdup(e->d_name));
	if (dir && errno)
		ret = -errno;
	if (dir)
		closedir(dir);
	for (guint i = 0; !ret && i < names->len; i++) {
		int walked;

		c->top = names->pdata[i];
		walked = own_walk(c->retriever->root_fd, c->top, find_here, c);
		if (walked == -ECANCELED)
			ret = walked;
		else if (walked) /* the rest goes on */
			tell(c, c->top, "not all that is in it can be looked at");
	}
	set_lot_aside(c);
	return ret;
}

/* ---- what comes ------------------------------------------------------------------------------ */

/* A line whose rule is none any more. */
struct coming {
	struct change *c;
	const char *line;
	char *path, *rule;
	char *dir, *name;
	int fd; /* of the directory, or negative */
	struct object *object;
	struct migrate_binding here; /* len 0: it is not here */
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
		coming->why = why_directory(c, coming->fd);
	if (coming->why)
		return;
	ret = object_get(c->retriever, coming->fd, &coming->object);
	unfilled = !ret && lacks_names(coming->object);
	if (unfilled)
		ret = fill_and_wait(coming->object);
	if (ret)
		coming->why = "its directory cannot be filled: see migratectl errors";
	else if (migrate_binding_get(coming->fd, coming->name, &coming->here))
		coming->here.len = 0;
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

/* A name that is here already: what a run that was killed, or the fill, has made is no client's. */
static void judge_here(struct coming *coming, const char *unsettled)
{
	struct journal_row row;

	if (coming->why || !coming->here.len)
		return;
	coming->why = unsettled;
	if (!unsettled &&
	    clients_find(coming->c->clients, &coming->here, &row) != JOURNAL_UNCHANGED)
		coming->why = "a client has made something of that name: it is the client's";
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
			tell(c, coming->path, coming->why);
			continue;
		}
		g_hash_table_add(c->came, (gpointer)coming->line);
		c->brought++;
		sum_of(c, coming->rule)->brought++;
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
	why = settle_change(c);
	if (why) {
		for (guint i = 0; i < lot->len; i++)
			tell(c, ((struct coming *)lot->pdata[i])->path, why);
		g_ptr_array_set_size(lot, 0);
		return;
	}
	for (guint i = 0; i < lot->len; i++) {
		prepare(lot->pdata[i]);
		here |= ((struct coming *)lot->pdata[i])->here.len > 0;
	}
	ask_for_all(lot);
	for (guint i = 0; i < lot->len; i++)
		if (((struct coming *)lot->pdata[i])->latch)
			judge_answer(lot->pdata[i]);
	if (here)
		why = settle_change(c);
	for (guint i = 0; i < lot->len; i++)
		judge_here(lot->pdata[i], why);
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
		split(coming->path, &coming->dir, &coming->name);
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
		sum_of(c, coming->rule)->left++;
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

static int bring_all(struct change *c)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new();
	g_autoptr(GPtrArray) lot = g_ptr_array_new_with_free_func(coming_free);
	int ret = read_lines(c, all), back;

	for (guint i = 0; i < all->len && c->apply && !ret; i++) {
		struct coming *coming = parse_coming(c, all->pdata[i]);

		if (g_atomic_int_get(&c->retriever->closing))
			ret = -ECANCELED;
		if (lot->len == LOT || waits_for(lot, coming))
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

/* ---- the command ----------------------------------------------------------------------------- */

static char *change_text(const struct change *c)
{
	GHashTableIter iter;
	gpointer key, value;
	unsigned i = 0;

	g_key_file_set_uint64(c->told, "rules", "aside", c->aside);
	g_key_file_set_uint64(c->told, "rules", "brought", c->brought);
	g_key_file_set_uint64(c->told, "rules", "stays", c->stays);
	g_key_file_set_uint64(c->told, "rules", "failed", c->failed);
	g_hash_table_iter_init(&iter, c->sums);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		g_autofree char *group = g_strdup_printf("rule %u", i++);
		const struct sum *sum = value;

		g_key_file_set_string(c->told, group, "text", key);
		g_key_file_set_uint64(c->told, group, "objects", sum->objects);
		g_key_file_set_uint64(c->told, group, "bytes", sum->bytes);
		g_key_file_set_uint64(c->told, group, "aside", sum->aside);
		g_key_file_set_uint64(c->told, group, "left", sum->left);
		g_key_file_set_uint64(c->told, group, "brought", sum->brought);
	}
	return g_key_file_to_data(c->told, NULL, NULL);
}

static int run_change(struct change *c, char **text)
{
	const char *why = settle_change(c);
	int ret;

	if (why) {
		*text = g_strdup_printf("nothing is set aside or brought: %s", why);
		return -EAGAIN;
	}
	ret = bring_all(c);
	if (!ret)
		ret = find_all_here(c);
	*text = ret ? g_strdup(g_strerror(-ret)) : change_text(c);
	return ret;
}

/* 0, or -errno with *text. */
static int check_change(struct retriever *retriever, const char *argument, char **text)
{
	g_autofree char *sum = rules_sum(retriever->config->rules);
	const char *space = argument ? strchr(argument, ' ') : NULL;

	if (retriever->copying || retriever->private_fd < 0) {
		*text = g_strdup_printf(
			"%s is not attached, or finished: a copy's next run goes by "
			"the rules of then",
			retriever->config->root);
		return -EINVAL;
	}
	if (space && g_str_has_prefix(argument, "apply ") && proof_is_under_way(retriever->proof)) {
		*text = g_strdup_printf("both sides are being compared: wait for the end, or stop "
					"it: migratectl verify %s --content --stop",
					retriever->config->name);
		return -EBUSY;
	}
	if (damage_found(retriever)) {
		*text = g_strdup_printf("the file system of %s has errors: check it first",
					retriever->config->root);
		return -EIO;
	}
	if (space && !strcmp(space + 1, sum))
		return 0;
	*text = g_strdup_printf("the retriever runs with other rules than the configuration has "
				"now: systemctl restart migrate-retriever@%s",
				retriever->config->name);
	return -EINVAL;
}

int rule_change(struct retriever *retriever, const char *argument, char **text)
{
	struct change c = {.retriever = retriever, .rules = retriever->config->rules};
	int ret = check_change(retriever, argument, text);

	if (ret)
		return ret;
	c.apply = g_str_has_prefix(argument, "apply ");
	c.root = retriever_fd_path(retriever->root_fd);
	c.clients = clients_new(retriever);
	c.sums = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	c.lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	c.came = g_hash_table_new(g_str_hash, g_str_equal);
	c.lot = g_ptr_array_new_with_free_func(leaving_free);
	c.told = g_key_file_new();
	ret = run_change(&c, text);
	g_key_file_free(c.told);
	g_ptr_array_unref(c.lot);
	g_hash_table_unref(c.came);
	g_hash_table_unref(c.lines);
	g_hash_table_unref(c.sums);
	clients_free(c.clients);
	g_free(c.covered_dir);
	g_free(c.unsettled);
	g_free(c.root);
	return ret;
}
