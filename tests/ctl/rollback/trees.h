/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two trees, /mnt/old and /mnt/new, on file systems of their own, and the journal of what was
 * changed in the new one, kept by those who change it here.
 */
#ifndef TESTS_CTL_ROLLBACK_TREES_H
#define TESTS_CTL_ROLLBACK_TREES_H

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/rollback/carry.h"
#include "ctl/rollback/leftovers.h"
#include "ctl/rollback/plan.h"
#include "ctl/rollback/rows.h"
#include "ctl/rollback/run.h"
#include "journal/store/store.h"
#include "tests/clocks.h"
#include "tests/suite.h"

/* For trees_make(). */
#define FILL                                                                                       \
	"mkdir -p a/b/c d e/empty && for i in 1 2 3 4 5 6 7 8; do echo old$i >a/$i; done && "      \
	"echo x >a/b/x && echo y >a/b/c/y && ln a/1 d/link && ln -s 1 a/symlink && "               \
	"mkfifo d/fifo && find . -exec touch -hd 2001-02-03T04:05:06.789 {} +"

#define OLD_TREE "/mnt/old"
#define NEW_TREE "/mnt/new"

/* What mounts /mnt/$n. */
#define ON_TMPFS "mount -t tmpfs tmpfs /mnt/$n"
/* It gives the numbers of what is gone again. */
#define ON_EXT4                                                                                    \
	"truncate -s 32M /mnt/$n.img && "                                                          \
	"mkfs.ext4 -q -O ^has_journal -E hash_seed=" SAME_UUID " -U " SAME_UUID " /mnt/$n.img && " \
	"mount -o loop /mnt/$n.img /mnt/$n && rmdir /mnt/$n/lost+found"
#define SAME_UUID "01234567-89ab-4cde-8f01-23456789abcd"

static const char *tree_mount = ON_TMPFS;
static struct journal_store *journal;
static int64_t switched, root_ctime;
static bool stop_now, serving, killed; /* killed: the last run was */
/* What tells what was done while the plan is made; NULL: nothing is. */
static bool (*settle)(struct journal_reader *, GError **);

/* A command that must succeed. */
static inline void sh(const char *format, ...) G_GNUC_PRINTF(1, 2);
static inline void sh(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_autofree char *command = g_strdup_vprintf(format, args);
	va_end(args);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static inline char *in_new(const char *path)
{
	return g_build_filename(NEW_TREE, path, NULL);
}

static inline struct migrate_binding handle_of(const char *path)
{
	g_autofree char *full = in_new(path);
	struct migrate_binding handle;
	int fd = open(full, O_PATH | O_NOFOLLOW);

	ck_assert_msg(fd >= 0 && !migrate_binding_get(fd, NULL, &handle), "%s: %s", full,
		      strerror(errno));
	close(fd);
	return handle;
}

static inline void open_store(void)
{
	GError *error = NULL;

	journal = journal_store_open("/mnt/journal", &error);
	ck_assert_msg(journal != NULL, "%s", error ? error->message : "");
}

static inline void wait_for_clocks(void)
{
	wait_for_clocks_in("/mnt");
}

/* fill: a shell command, which makes both trees the same in each of them. */
static inline void trees_make(const char *fill)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/mnt", "tmpfs", 0, "mode=755"))
		ck_abort_msg("the test must be root and mount on /mnt");
	sh("for n in old new; do mkdir /mnt/$n && { %s; } || exit 1; done && "
	   "cd /mnt/old && { %s; }; cd / && cp -a /mnt/old/. /mnt/new/",
	   tree_mount, fill);
	sh("setfattr -n " XATTR_TOLD " -v 0x83 " NEW_TREE);
	open_store();
	wait_for_clocks();
	switched = g_get_real_time() * 1000;
	journal_store_state(journal)->since = switched;
	journal_store_state(journal)->salt = 0; /* its id is `switched` */
	wait_for_clocks();
}

/* It says so of an object that something stands here for what it has there. */
static inline void mark(const char *path, struct omissions left)
{
	g_autofree char *full = in_new(path);
	int fd = open(full, O_RDONLY);

	ck_assert_int_eq(omissions_put(fd, NULL, &left), 0);
	close(fd);
}

/* What is in OLD_TREE, as it is noted there: attributes of all. */
#define ATTRIBUTES_THERE                                                                           \
	"cd " OLD_TREE " && find . -printf '%%p %%U:%%G %%m %%T@\\n' | sort && getfacl -nRsp ."

static inline void trees_commit(void)
{
	GError *error = NULL;

	ck_assert_msg(journal_store_commit(journal, &error), "%s", error ? error->message : "");
}

/* ---- changes, and their rows ------------------------------------------------------------------
 */

static inline struct journal_place place_of(const char *path, char **base)
{
	g_autofree char *dir = g_path_get_dirname(path);

	*base = g_path_get_basename(path);
	return (struct journal_place){handle_of(dir), *base};
}

static inline void note_made(const char *path)
{
	g_autofree char *base = NULL, *full = in_new(path);
	struct journal_place place = place_of(path, &base);
	struct migrate_binding handle = handle_of(path);
	struct stat st;

	ck_assert_int_eq(lstat(full, &st), 0);
	if (st.st_nlink > 1 && !S_ISDIR(st.st_mode))
		journal_store_linked(journal, &handle);
	journal_store_made(journal, &handle, S_ISDIR(st.st_mode), &place);
}

static inline void note(const char *path, unsigned flags)
{
	g_autofree char *base = NULL;
	struct journal_place place = place_of(path, &base);
	struct migrate_binding handle = handle_of(path);

	journal_store_touch(journal, &handle, flags, &place);
}

/* As a scan finds it: what it is called now, and that it was changed. */
static inline void note_seen(const char *path)
{
	g_autofree char *base = NULL, *full = in_new(path);
	struct journal_place place = place_of(path, &base);
	struct migrate_binding handle = handle_of(path);
	struct stat st;

	ck_assert_int_eq(lstat(full, &st), 0);
	journal_store_seen(journal, &handle,
			   S_ISDIR(st.st_mode) ? JOURNAL_META | JOURNAL_ENTRIES | JOURNAL_DIRECTORY
			   : S_ISREG(st.st_mode) ? JOURNAL_META | JOURNAL_DATA
						 : JOURNAL_META,
			   &place, S_ISDIR(st.st_mode) || st.st_nlink == 1);
}

static inline void root_seen(void)
{
	note(".", JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_SCANNED | JOURNAL_DIRECTORY);
}

/* What is in it was not changed, and has no row. */
/* All of them: everything has a ctime of the gap. */
static inline void all_seen(void)
{
	FILE *paths = popen("cd " NEW_TREE
			    " && find . -mindepth 1 -not -path './.migrate*' -printf '%P\\n'",
			    "re");
	char path[PATH_MAX];

	ck_assert_ptr_nonnull(paths);
	while (fgets(path, sizeof(path), paths))
		note_seen(g_strchomp(path));
	ck_assert_int_eq(pclose(paths), 0);
	root_seen();
}

/* The shell does it in the new tree; PATH is one that comes to be. */
static inline void make(const char *path, const char *command)
{
	sh("cd " NEW_TREE " && { %s; }", command);
	note_made(path);
}

static inline void change(const char *path, unsigned flags, const char *command)
{
	sh("cd " NEW_TREE " && { %s; }", command);
	note(path, flags);
}

static inline void move(const char *from, const char *to)
{
	g_autofree char *from_base = NULL, *to_base = NULL, *a = in_new(from), *b = in_new(to);
	struct journal_place before = place_of(from, &from_base), after;
	struct migrate_binding handle = handle_of(from), over = {0};
	struct stat st;
	bool replaces = !lstat(b, &st);

	if (replaces)
		over = handle_of(to);
	ck_assert_msg(rename(a, b) == 0, "%s: %s", to, strerror(errno));
	ck_assert_int_eq(lstat(b, &st), 0);
	after = place_of(to, &to_base);
	journal_store_moved(journal, &handle, S_ISDIR(st.st_mode), &before, &after);
	if (replaces) {
		/* the kernel tells of its end alone */
		journal_store_touch(journal, &over, 0, NULL);
		journal_store_gone(journal, &over);
	}
}

static inline void take_away(const char *path)
{
	g_autofree char *base = NULL, *full = in_new(path);
	struct journal_place place = place_of(path, &base);
	struct migrate_binding handle = handle_of(path);
	struct stat st;

	ck_assert_int_eq(lstat(full, &st), 0);
	ck_assert_msg(remove(full) == 0, "%s: %s", full, strerror(errno));
	journal_store_removed(journal, &handle, S_ISDIR(st.st_mode), &place);
	if (st.st_nlink > 1 && !S_ISDIR(st.st_mode))
		journal_store_touch(journal, &handle, JOURNAL_META, NULL);
	else
		journal_store_gone(journal, &handle);
}

/* ---- the way back ------------------------------------------------------------------------------
 */

/* The old tree of FILL, as the way back takes it up. */
static inline struct target *target_begun(void)
{
	GError *error = NULL;
	struct target *target;
	int64_t skew;

	trees_make(FILL);
	target = target_open(OLD_TREE, &error);
	ck_assert_ptr_nonnull(target);
	ck_assert(target_begin(target, &skew, &error));
	ck_assert_int_lt(ABS(skew), 1000000000);
	return target;
}

struct way {
	struct volume_config config;
	struct journal_reader *reader;
	struct ledger *ledger;
	struct target *target;
	struct tree *tree;
	struct plan plan;
	struct carry_result done;
};

/* Without a plan. */
static inline void way_begin(struct way *way)
{
	struct journal_state state = {0};
	GError *error = NULL;
	int64_t skew;

	*way = (struct way){.config = {.name = (char *)"test",
				       .root = (char *)NEW_TREE,
				       .source = (char *)"file:///mnt/old",
				       .report = (char *)"/mnt/none",
				       .socket = (char *)"/mnt/none.sock"}};
	way->reader = journal_open("/mnt/journal", &error);
	if (way->reader && journal_state(way->reader, &state, &error))
		way->ledger = ledger_open("/mnt/carried", state.id, true, &error);
	way->target = way->ledger ? target_open(OLD_TREE, &error) : NULL;
	if (way->target && target_begin(way->target, &skew, &error))
		way->tree = tree_open(&way->config, way->reader, way->ledger, way->target,
				      switched + skew, &error);
	if (way->tree)
		way->tree->settle = settle;
	if (way->tree)
		way->tree->serving = serving;
	if (way->tree)
		way->tree->root_ctime = root_ctime;
	if (way->tree)
		way->tree->killed = killed;
	ck_assert_msg(way->tree, "%s", error ? error->message : "");
}

static inline void way_open(struct way *way)
{
	GError *error = NULL;

	way_begin(way);
	ck_assert_msg(plan_make(way->tree, &way->plan, &error), "%s", error ? error->message : "");
}

static inline void way_go(struct way *way)
{
	GError *error = NULL;

	ck_assert_msg(rollback_windows(way->tree, &way->plan, &stop_now, &way->done, &error) &&
			      (stop_now || leftovers_tell(way->tree, &error)),
		      "%s", error ? error->message : "");
}

static inline void way_close(struct way *way)
{
	const bool changed = way->tree->root_ctime < 0 && !way->tree->root_given;
	struct stat st;

	tree_close(way->tree);
	target_end(way->target);
	ck_assert_int_eq(target_stat(way->target, "", &st), 0);
	root_ctime = changed ? -1 : migrate_ns(st.st_ctim);
	killed = false;
	target_close(way->target);
	ledger_close(way->ledger);
	journal_close(way->reader);
}

/* The store is let go of until way_end_run(): one process opens it once. */
static inline void way_begin_run(struct way *way)
{
	trees_commit();
	journal_store_close(journal);
	way_open(way);
}

static inline void way_end_run(struct way *way)
{
	way_close(way);
	open_store();
}

static inline void show(const GPtrArray *problems)
{
	for (guint i = 0; i < problems->len; i++) {
		const struct problem *problem = problems->pdata[i];

		fprintf(stderr, "%s: %s\n", problem->path, problem->text);
	}
}

/* A run that lists so many conflicts. */
static inline void go_back(unsigned conflicts)
{
	struct way way;

	way_begin_run(&way);
	way_go(&way);
	if (way.tree->conflicts->len != conflicts)
		show(way.tree->conflicts);
	ck_assert_uint_eq(way.tree->conflicts->len, conflicts);
	ck_assert_uint_eq(way.done.left, 0);
	ck_assert_uint_eq(way.tree->losses->len, 0);
	way_end_run(&way);
}

/* Names, types, bytes, links, modes, owners, times (of directories, too), ACLs. */
static inline void same_trees(void)
{
	sh("out=$(rsync -naiHAX --filter='-x trusted.quickmigrate.*' --checksum --delete "
	   "--exclude=/.migrate " NEW_TREE "/ " OLD_TREE
	   "/) && { test -z \"$out\" || { printf '%%s\n' \"$out\" >&2; false; }; }");
}

/* A run without a conflict, and then the trees are the same. */
static inline void go_back_whole(void)
{
	go_back(0);
	same_trees();
}

#endif
