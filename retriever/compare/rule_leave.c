/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/rule_leave.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/filetree.h"
#include "lib/base/lease.h"
#include "lib/report/losses.h"
#include "lib/source/gate.h"
#include "retriever/compare/compare.h"
#include "retriever/copies/aside.h"
#include "retriever/copies/leftover.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/names/fill_page.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/object.h"

#define CHANGED                                                                                    \
	(MIGRATE_REC_CLIENT | MIGRATE_REC_SHOWN_MTIME | MIGRATE_REC_SHOWN_CTIME | MIGRATE_REC_LOST)

#define CHANGED_MEANWHILE "it was changed meanwhile: try again"

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
	return changed ? rule_change_why(JOURNAL_CHANGED) : NULL;
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
	why = rule_change_why(clients_find(look->c->clients, &key, &row));
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
	look->why = rule_change_why_directory(c, dir_fd);
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

	rule_change_split(leaving->path, dir, name);
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
		rule_change_sum(c, leaving->rule)->aside++;
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
	why = rule_change_settle(c);
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
		rule_change_tell(c, leaving->path, leaving->why);
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

	rule_change_split(path, &dir, &name);
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
	rule_change_split(path, &dir, &name);
	if (!rule || is_covered(c, dir))
		return 0;
	judge_tree(&look, c, entry->dir_fd, entry->name, false);
	sum = rule_change_sum(c, rule);
	sum->objects += look.objects;
	sum->bytes += look.bytes;
	if (look.why) {
		rule_change_tell(c, path, look.why);
		return 0;
	}
	if (!c->apply) {
		sum->aside++;
		return 0;
	}
	leaving = g_new0(struct leaving, 1);
	*leaving = (struct leaving){.path = g_steal_pointer(&path), .rule = rule, .sum = look.sum};
	g_ptr_array_add(c->lot, leaving);
	if (c->lot->len == RULE_CHANGE_LOT)
		set_lot_aside(c);
	return 0;
}

int rule_leave_all(struct change *c)
{
	g_autoptr(GPtrArray) lot = g_ptr_array_new_with_free_func(leaving_free);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	DIR *dir = retriever_list(c->retriever->root_fd, ".");
	const struct dirent *e;
	int ret = dir ? 0 : -errno;

	c->lot = lot;
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
			rule_change_tell(c, c->top, "not all that is in it can be looked at");
	}
	set_lot_aside(c);
	return ret;
}
