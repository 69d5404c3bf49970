/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A walk over real directories, with a retriever made of a table: states by inode number, answers
 * given when the test says so.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "crawler/policy.h"
#include "crawler/walk.h"
#include "tests/crawler/tree.h"
#include "tests/suite.h"

struct asked {
	int fd;
	ino_t inode;
	bool finish;
	unsigned flags;
	int64_t since;
	migrate_done_fn done;
	void *arg;
};

static int root;
static struct walk *walk;
static GQueue asked = G_QUEUE_INIT;
static GHashTable *states;   /* inode -> enum migrate_state + 1; absent: default_state */
static GHashTable *refusals; /* inode -> how often a request is answered with refusal */
static int refusal = -EAGAIN;
static enum migrate_state default_state = MIGRATE_UNFILLED;
static unsigned fills, finishes, filling, most_filling;
static int64_t now;

static ino_t inode_of(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_ino;
}

static ino_t inode_at(const char *path)
{
	struct stat st;

	ck_assert_int_eq(lstat(path, &st), 0);
	return st.st_ino;
}

static void set_state(ino_t inode, enum migrate_state state)
{
	g_hash_table_insert(states, GSIZE_TO_POINTER(inode), GINT_TO_POINTER(state + 1));
}

static enum migrate_state get_state(ino_t inode)
{
	int state = GPOINTER_TO_INT(g_hash_table_lookup(states, GSIZE_TO_POINTER(inode)));

	return state ? (enum migrate_state)(state - 1) : default_state;
}

static int fake_load(int fd, enum migrate_state *state)
{
	*state = get_state(inode_of(fd));
	return 0;
}

static uint64_t remember(int fd, bool finish, unsigned flags, migrate_done_fn done, void *arg)
{
	struct asked *one = g_new(struct asked, 1);

	*one = (struct asked){fd, inode_of(fd), finish, flags, 0, done, arg};
	g_queue_push_tail(&asked, one);
	filling += !finish;
	most_filling = MAX(most_filling, filling);
	return 1;
}

static uint64_t fake_fill(void *arg, int fd, unsigned flags, int64_t since, migrate_done_fn done,
			  void *done_arg)
{
	fills++;
	ck_assert_uint_eq(flags & MIGRATE_BACKGROUND, MIGRATE_BACKGROUND);
	remember(fd, false, flags, done, done_arg);
	((struct asked *)asked.tail->data)->since = since;
	return 1;
}

static uint64_t fake_finish(void *arg, int fd, migrate_done_fn done, void *done_arg)
{
	finishes++;
	return remember(fd, true, 0, done, done_arg);
}

static const struct walk_ops fake = {fake_load, fake_fill, fake_finish, NULL};

/* Whether every subdirectory is normal, as the retriever would find. */
static bool all_normal_below(int fd)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(dir))) {
		struct stat st;

		ck_assert_int_eq(fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
		if (S_ISDIR(st.st_mode) && get_state(st.st_ino) != MIGRATE_NORMAL)
			return false;
	}
	return true;
}

static void answer(void)
{
	g_autofree struct asked *one = g_queue_pop_head(&asked);
	int refuse = GPOINTER_TO_INT(g_hash_table_lookup(refusals, GSIZE_TO_POINTER(one->inode)));
	int status = 0;

	filling -= !one->finish;
	ck_assert_uint_eq(inode_of(one->fd), one->inode);
	if (refuse) {
		g_hash_table_insert(refusals, GSIZE_TO_POINTER(one->inode),
				    GINT_TO_POINTER(refuse - 1));
		status = refusal;
	} else if (!one->finish) {
		if (get_state(one->inode) != MIGRATE_NORMAL)
			set_state(one->inode, MIGRATE_FILLED);
	} else if (all_normal_below(one->fd)) {
		set_state(one->inode, MIGRATE_NORMAL);
	} else {
		status = -EAGAIN;
	}
	one->done(one->arg, status);
}

static void run(unsigned window)
{
	while (!walk_over(walk)) {
		int wait = walk_step(walk, window, now);

		ck_assert_uint_le(filling, MAX(window, 1));
		if (asked.length) {
			answer();
		} else if (!walk_over(walk) && wait) {
			/* Nothing under way: then it must have said when to come back. */
			ck_assert_int_gt(wait, 0);
			now += wait;
		}
	}
	ck_assert_uint_eq(asked.length, 0);
}

static void pass(unsigned flags, unsigned window)
{
	fills = finishes = 0;
	walk_begin(walk, flags);
	run(window);
}

static void setup(void)
{
	ck_assert_int_eq(mkdir("volume", 0755), 0);
	root = open("volume", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(fchdir(root), 0);
	states = g_hash_table_new(NULL, NULL);
	refusals = g_hash_table_new(NULL, NULL);
	ck_assert_int_eq(walk_new(root, &fake, NULL, &walk), 0);
}

static void teardown(void)
{
	walk_free(walk);
	g_hash_table_destroy(states);
	g_hash_table_destroy(refusals);
	close(root);
}

static const char *const small[] = {"a", "a/b", "a/b/c", "a/d", "e", "f", "f/g", NULL};
#define SMALL 8u /* with the root */

START_TEST(one_pass)
{
	tree_dirs(small);
	pass(MIGRATE_DATA, 3);
	ck_assert_uint_eq(fills, SMALL);
	ck_assert_uint_eq(finishes, SMALL);
	ck_assert_uint_eq(walk_counts(walk)->filled, SMALL);
	ck_assert_uint_eq(walk_counts(walk)->finished, SMALL);
	ck_assert_uint_eq(walk_counts(walk)->left, 0);
	ck_assert_int_eq(get_state(inode_of(root)), MIGRATE_NORMAL);
}
END_TEST

START_TEST(two_passes)
{
	tree_dirs(small);
	pass(0, 2);
	ck_assert_uint_eq(fills, SMALL);
	ck_assert_uint_eq(finishes, 0);
	ck_assert_uint_eq(walk_counts(walk)->left, 0);
	ck_assert_int_eq(get_state(inode_at("a/b/c")), MIGRATE_FILLED);
	/* Names that are here are not asked for again. */
	pass(0, 2);
	ck_assert_uint_eq(fills, 0);
	ck_assert_uint_eq(walk_counts(walk)->visited, SMALL);
	pass(MIGRATE_DATA, 2);
	ck_assert_uint_eq(fills, SMALL);
	ck_assert_uint_eq(finishes, SMALL);
	ck_assert_int_eq(get_state(inode_of(root)), MIGRATE_NORMAL);
}
END_TEST

START_TEST(flags_say_data)
{
	walk_begin(walk, MIGRATE_DATA);
	walk_step(walk, 1, now);
	ck_assert_uint_eq(((struct asked *)asked.head->data)->flags,
			  MIGRATE_BACKGROUND | MIGRATE_DATA);
	run(1);
	set_state(inode_of(root), MIGRATE_UNFILLED);
	walk_begin(walk, 0);
	walk_step(walk, 1, now);
	ck_assert_uint_eq(((struct asked *)asked.head->data)->flags, MIGRATE_BACKGROUND);
	run(1);
}
END_TEST

START_TEST(normal_is_pruned)
{
	tree_dirs(small);
	set_state(inode_at("a"), MIGRATE_NORMAL);
	pass(MIGRATE_DATA, 4);
	ck_assert_uint_eq(walk_counts(walk)->pruned, 1);
	ck_assert_uint_eq(fills, SMALL - 4);
	/* Below it nothing was touched. */
	ck_assert_int_eq(get_state(inode_at("a/b")), MIGRATE_UNFILLED);

	pass(MIGRATE_DATA, 4);
	ck_assert_uint_eq(fills, 0);
	ck_assert_uint_eq(walk_counts(walk)->pruned, 1);
	ck_assert_uint_eq(walk_counts(walk)->visited, 0);
}
END_TEST

static void file_of(const char *path, time_t read, time_t changed)
{
	const struct timespec times[2] = {{read, 0}, {changed, 0}};

	ck_assert_int_eq(mknod(path, S_IFREG | 0600, 0), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

#define SINCE 500
#define UNTIL 1000

/* Runs a pass of what is recent: whether the data of the directory's recent files were asked for,
 * once, and by what. */
static bool brings_recent(const char *path, unsigned *flags)
{
	unsigned times = 0;

	walk_begin_recent(walk, SINCE, UNTIL);
	while (!walk_over(walk)) {
		walk_step(walk, 2, now++);
		for (const GList *at = asked.head; at; at = at->next) {
			const struct asked *one = at->data;

			ck_assert(!one->finish);
			if (one->inode == inode_at(path) && one->flags & MIGRATE_DATA) {
				ck_assert_int_eq(one->since, SINCE * INT64_C(1000000000));
				*flags = one->flags;
				times += one == asked.head->data;
			}
		}
		if (asked.length)
			answer();
	}
	ck_assert_uint_le(times, 1);
	return times;
}

START_TEST(recent_files_come_with_the_names)
{
	unsigned flags = 0;

	tree_dirs(small);
	file_of("a/old", 400, 300);
	file_of("a/b/changed", 100, SINCE);
	file_of("a/b/c/read", SINCE, 100);
	file_of("e/expiry", UNTIL + 1, 100);
	ck_assert(brings_recent("a/b/c", &flags));
	ck_assert_uint_eq(flags, MIGRATE_BACKGROUND | MIGRATE_DATA | MIGRATE_READS);
	ck_assert_uint_eq(fills, SMALL + 2);
	ck_assert_uint_eq(walk_counts(walk)->filled, SMALL);
	ck_assert_int_eq(walk_left_out(walk), 400);
	ck_assert(brings_recent("a/b", &flags));
	ck_assert(!brings_recent("a", &flags));
	ck_assert(!brings_recent("e", &flags));
	/* then all of them */
	pass(MIGRATE_DATA, 2);
	ck_assert_uint_eq(fills, SMALL);
	ck_assert_int_eq(get_state(inode_of(root)), MIGRATE_NORMAL);
}
END_TEST

/* As after a backup that has read all.  Subdirectories come by when they were changed. */
START_TEST(reads_of_all_tell_nothing)
{
	unsigned flags = 0;

	tree_dirs(small);
	for (unsigned i = 0; i < 1000; i++) {
		g_autofree char *path = g_strdup_printf("f/g/%u", i);
		file_of(path, SINCE, 1);
	}
	const struct timespec first[2] = {{9999999999, 0}, {9999999999, 0}};
	ck_assert_int_eq(utimensat(AT_FDCWD, "f", first, 0), 0);
	file_of("a/read", SINCE, 1);
	file_of("e/changed", SINCE, SINCE);
	ck_assert(!brings_recent("a", &flags));
	ck_assert(brings_recent("e", &flags));
	ck_assert_uint_eq(flags, MIGRATE_BACKGROUND | MIGRATE_DATA);
}
END_TEST

/* The directory's own request outlives all below it. */
START_TEST(recent_file_in_a_later_part)
{
	unsigned flags = 0;

	file_of("recent", SINCE, SINCE); /* tmpfs lists what was made last first */
	for (unsigned i = 0; i < 1500; i++) {
		g_autofree char *name = g_strdup_printf("%u", i);
		ck_assert_int_eq(mkdir(name, 0755), 0);
	}
	ck_assert(brings_recent(".", &flags));
	ck_assert_uint_eq(walk_counts(walk)->filled, 1501);
}
END_TEST

/* Whoever calls is not kept waiting by a disk that has to tell the times of all files. */
START_TEST(looks_at_some_files_at_a_time)
{
	default_state = MIGRATE_FILLED;
	tree_dirs((const char *const[]){"a", "b", "c", NULL});
	for (unsigned i = 0; i < 9000; i++) {
		g_autofree char *path = g_strdup_printf("%c/%u", "abc"[i % 3], i);
		file_of(path, 1, 1);
	}
	walk_begin_recent(walk, SINCE, UNTIL);
	ck_assert_int_eq(walk_step(walk, 2, now), 0);
	ck_assert(!walk_over(walk));
	ck_assert_int_eq(walk_step(walk, 2, now), -1);
	ck_assert(walk_over(walk));
}
END_TEST

START_TEST(private_is_left_alone)
{
	tree_dirs((const char *const[]){MIGRATE_PRIVATE_DIR, "a", NULL});
	set_state(inode_at(MIGRATE_PRIVATE_DIR), MIGRATE_UNFILLED);
	walk_begin(walk, 0);
	run(4);
	ck_assert_int_eq(get_state(inode_at(MIGRATE_PRIVATE_DIR)), MIGRATE_UNFILLED);
	ck_assert_int_eq(get_state(inode_at("a")), MIGRATE_FILLED);
}
END_TEST

START_TEST(window_is_kept)
{
	tree_dirs((const char *const[]){"1", "2", "3", "4", "5", "6", "7", "8", NULL});
	walk_begin(walk, MIGRATE_DATA);
	ck_assert_int_eq(walk_step(walk, 0, now), -1);
	answer();
	/* Closed: what is under way comes to its end, nothing new begins. */
	ck_assert_int_eq(walk_step(walk, 0, now), -1);
	ck_assert_uint_eq(asked.length, 0);
	ck_assert_int_eq(walk_step(walk, 5, now), -1);
	ck_assert_uint_eq(asked.length, 5);
	run(5);
	ck_assert_uint_eq(most_filling, 5);
}
END_TEST

/* What was fetched gets time to become durable, unless there is nothing else to do. */
START_TEST(finish_waits_while_others_are_filled)
{
	tree_dirs((const char *const[]){"a", "z", NULL});
	walk_begin(walk, MIGRATE_DATA);
	walk_step(walk, 2, now);
	answer();
	walk_step(walk, 2, now);
	answer();
	int wait = walk_step(walk, 2, now);
	ck_assert_uint_eq(asked.length, 1);
	ck_assert_uint_eq(finishes, 0);
	ck_assert_int_gt(wait, 0);
	walk_step(walk, 2, now + wait - 1);
	ck_assert_uint_eq(finishes, 0);
	walk_step(walk, 2, now + wait);
	ck_assert_uint_eq(finishes, 1);
	now += wait;
	answer(); /* the fill */
	ck_assert_int_eq(walk_step(walk, 2, now), -1);
	ck_assert_uint_eq(finishes, 2);
	run(2);
	ck_assert_int_eq(get_state(inode_of(root)), MIGRATE_NORMAL);
}
END_TEST

START_TEST(not_yet_is_asked_again)
{
	tree_dirs(small);
	refusal = -EAGAIN;
	g_hash_table_insert(refusals, GSIZE_TO_POINTER(inode_at("a/b")), GINT_TO_POINTER(2));
	int64_t begun = now;
	pass(MIGRATE_DATA, 2);
	ck_assert_int_ge(now - begun, policy_attempt_pause(1) + policy_attempt_pause(2));
	ck_assert_uint_eq(fills + finishes, 2 * SMALL + 2);
	ck_assert_uint_eq(walk_counts(walk)->left, 0);
	ck_assert_int_eq(get_state(inode_of(root)), MIGRATE_NORMAL);
}
END_TEST

START_TEST(what_stays_is_left_with_those_above)
{
	tree_dirs(small);
	refusal = -EAGAIN;
	g_hash_table_insert(refusals, GSIZE_TO_POINTER(inode_at("a/b/c")), GINT_TO_POINTER(1000));
	pass(MIGRATE_DATA, 2);
	ck_assert_uint_eq(walk_counts(walk)->left, 4);
	ck_assert_uint_eq(walk_counts(walk)->failed, 0);
	ck_assert_uint_eq(walk_counts(walk)->busy, 1);
	ck_assert_int_eq(get_state(inode_at("a/d")), MIGRATE_NORMAL);
	ck_assert_int_eq(get_state(inode_at("f")), MIGRATE_NORMAL);
	ck_assert_int_eq(get_state(inode_at("a")), MIGRATE_FILLED);
	/* Those above it cannot be finished: they are not asked about. */
	ck_assert_uint_eq(finishes, 4);

	/* The next pass goes to it and nowhere else. */
	g_hash_table_remove_all(refusals);
	pass(MIGRATE_DATA, 2);
	ck_assert_uint_eq(fills, 4);
	ck_assert_uint_eq(walk_counts(walk)->pruned, 3);
	ck_assert_int_eq(get_state(inode_of(root)), MIGRATE_NORMAL);
}
END_TEST

static void refuse_always(const char *path)
{
	refusal = -EREMOTEIO;
	g_hash_table_insert(refusals, GSIZE_TO_POINTER(inode_at(path)), GINT_TO_POINTER(1000));
}

START_TEST(errors_are_counted)
{
	tree_dirs(small);
	refuse_always("a/b");
	pass(MIGRATE_DATA, 2);
	ck_assert_uint_eq(walk_counts(walk)->failed, 1);
	ck_assert_uint_eq(walk_counts(walk)->busy, 0);
	ck_assert_int_eq(walk_counts(walk)->error, -EREMOTEIO);
	ck_assert_uint_eq(walk_counts(walk)->left, 3);
	ck_assert_int_eq(get_state(inode_at("a/b")), MIGRATE_UNFILLED);
}
END_TEST

/* Neither a name that is missing nor a file that fails keeps those below it waiting. */
START_TEST(i12_what_is_below_one_that_fails)
{
	const enum migrate_state before[] = {MIGRATE_UNFILLED, MIGRATE_FILLED};

	tree_dirs(small);
	refuse_always("a/b");
	for (unsigned i = 0; i < G_N_ELEMENTS(before); i++) {
		g_hash_table_remove_all(states);
		set_state(inode_at("a/b"), before[i]);
		pass(0, 2);
		ck_assert_int_eq(get_state(inode_at("a/b/c")), MIGRATE_FILLED);
		pass(MIGRATE_DATA, 2);
		ck_assert_int_eq(get_state(inode_at("a/b/c")), MIGRATE_NORMAL);
		ck_assert_int_eq(get_state(inode_at("a/b")), before[i]);
		ck_assert_int_eq(get_state(inode_at("a")), MIGRATE_FILLED);
		/* the next comes to its end too, without what is normal */
		pass(MIGRATE_DATA, 2);
		ck_assert_uint_eq(fills, 3);
		ck_assert_uint_eq(finishes, 0);
		ck_assert_uint_eq(walk_counts(walk)->left, 3);
		ck_assert_uint_eq(walk_counts(walk)->filled, 0);
	}
	g_hash_table_remove_all(refusals);
	pass(MIGRATE_DATA, 2);
	ck_assert_int_eq(get_state(inode_of(root)), MIGRATE_NORMAL);
}
END_TEST

/* Moved, with the walk half through, into what is normal already (and so unfinished again). */
START_TEST(renames_neither_leak_nor_repeat)
{
	tree_dirs((const char *const[]){"done", "a", "a/b", "a/b/c", "z", NULL});
	set_state(inode_at("done"), MIGRATE_NORMAL);
	struct timespec late[2] = {{2000000000, 0}, {2000000000, 0}};
	ck_assert_int_eq(utimensat(AT_FDCWD, "a", late, 0), 0);
	walk_begin(walk, MIGRATE_DATA);
	walk_step(walk, 1, now);
	answer(); /* the root */
	walk_step(walk, 1, now);
	answer(); /* a */
	walk_step(walk, 1, now);
	ck_assert_uint_eq(((struct asked *)asked.head->data)->inode, inode_at("a/b"));
	ck_assert_int_eq(rename("a/b", "done/b"), 0);
	set_state(inode_at("done"), MIGRATE_FILLED);
	run(1);
	ck_assert_uint_eq(fills, 6);
	ck_assert_int_eq(get_state(inode_at("done/b/c")), MIGRATE_NORMAL);
	ck_assert_int_eq(get_state(inode_of(root)), MIGRATE_NORMAL);
}
END_TEST

/* Moved, while it is under way, to where the walk comes by later. */
START_TEST(one_at_two_places)
{
	tree_dirs((const char *const[]){"a", "z", NULL});
	struct timespec late[2] = {{2000000000, 0}, {2000000000, 0}};
	ck_assert_int_eq(utimensat(AT_FDCWD, "a", late, 0), 0);
	walk_begin(walk, MIGRATE_DATA);
	walk_step(walk, 1, now);
	answer();
	walk_step(walk, 2, now);
	ck_assert_uint_eq(asked.length, 2);
	ck_assert_int_eq(rename("a", "z/a"), 0);
	/* z is answered and read while a is still under way. */
	struct asked *first = g_queue_pop_head(&asked);
	g_queue_push_tail(&asked, first);
	answer();
	walk_step(walk, 2, now);
	run(2);
	ck_assert_uint_eq(fills, 3);
	ck_assert_uint_eq(walk_counts(walk)->left, 0);
	ck_assert_int_eq(get_state(inode_of(root)), MIGRATE_NORMAL);
}
END_TEST

START_TEST(removed_meanwhile)
{
	tree_dirs((const char *const[]){"a", "a/b", "c", NULL});
	walk_begin(walk, MIGRATE_DATA);
	walk_step(walk, 1, now);
	answer();
	walk_step(walk, 1, now);
	ck_assert_int_eq(rmdir("a/b"), 0);
	ck_assert_int_eq(rmdir("a"), 0);
	ck_assert_int_eq(rmdir("c"), 0);
	run(1);
	ck_assert_uint_eq(walk_counts(walk)->failed, 0);
	ck_assert_int_eq(get_state(inode_of(root)), MIGRATE_NORMAL);
}
END_TEST

/* Stopped at any point, a new walk does what is left and no more. */
START_TEST(resumes)
{
	for (unsigned stop = 0; stop < 2 * SMALL; stop++) {
		if (!stop)
			tree_dirs(small);
		g_hash_table_remove_all(states);
		fills = finishes = 0;
		walk_begin(walk, MIGRATE_DATA);
		walk_step(walk, 2, now);
		for (unsigned i = 0; i < stop; i++) {
			answer();
			walk_step(walk, 2, now);
		}
		unsigned before = finishes - asked.length;
		while (asked.length) {
			g_autofree struct asked *one = g_queue_pop_head(&asked);

			before += !one->finish;
			filling -= !one->finish;
			one->done(one->arg, -ECANCELED);
		}
		walk_free(walk);
		ck_assert_int_eq(walk_new(root, &fake, NULL, &walk), 0);
		pass(MIGRATE_DATA, 2);
		/* A normal directory needs no second finish; unvisited ones are unfilled. */
		ck_assert_uint_eq(finishes, SMALL - before);
		ck_assert_uint_le(fills, SMALL);
		ck_assert_int_eq(get_state(inode_of(root)), MIGRATE_NORMAL);
	}
}
END_TEST

static void limit_descriptors(void)
{
	struct rlimit limit = {100, 100};

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

START_TEST(deep)
{
	const unsigned depth = 4000;

	limit_descriptors();
	for (unsigned i = 0; i < depth; i++) {
		ck_assert_int_eq(mkdir("d", 0755), 0);
		ck_assert_int_eq(chdir("d"), 0);
	}
	unsigned fds = tree_open_fds();
	pass(0, 8);
	pass(MIGRATE_DATA, 8);
	ck_assert_uint_eq(fills, depth + 1);
	ck_assert_uint_eq(walk_counts(walk)->finished, depth + 1);
	ck_assert_uint_eq(tree_open_fds(), fds);
}
END_TEST

START_TEST(wide)
{
	const unsigned width = 100000;

	limit_descriptors();
	for (unsigned i = 0; i < width; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		ck_assert_int_eq(mkdir(name, 0755), 0);
	}
	unsigned fds = tree_open_fds();
	pass(MIGRATE_DATA, 16);
	ck_assert_uint_eq(fills, width + 1);
	ck_assert_uint_eq(walk_counts(walk)->finished, width + 1);
	ck_assert_uint_eq(tree_open_fds(), fds);
}
END_TEST

static GString *told;

static void path_done(void *arg, const char *const *paths, unsigned n, int status)
{
	g_string_append_printf(told, "%s*%u:%d ", paths[0], n, status);
}

/* The directories that lead to a path are filled without data, and what is beside it not at all. */
START_TEST(paths_alone)
{
	const char *const dirs[] = {"a", "a/b", "a/b/c", "a/x", "d", "d/e", "y", "y/z", NULL};
	g_autoptr(GPtrArray) paths = g_ptr_array_new();

	tree_dirs(dirs);
	told = g_string_new(NULL);
	for (const char *const *path =
		     (const char *[]){"a/b", "a/b/c", "d/e/f", "g/h", "g/i", NULL};
	     *path; path++)
		g_ptr_array_add(paths, (char *)*path);
	walk_begin_paths(walk, MIGRATE_DATA | MIGRATE_FIRST, 0, paths, path_done, NULL);
	run(4);
	ck_assert_uint_eq(fills, 6); /* the root, a, a/b, a/b/c, d, d/e */
	ck_assert_uint_eq(finishes, 0);
	ck_assert_ptr_nonnull(strstr(told->str, "a/b*2:0 "));
	ck_assert_ptr_nonnull(strstr(told->str, "d/e/f*1:-2 "));
	ck_assert_ptr_nonnull(strstr(told->str, "g/h*2:-2 "));
	ck_assert_uint_eq(get_state(inode_at("a/x")), MIGRATE_UNFILLED);
	ck_assert_uint_eq(get_state(inode_at("y")), MIGRATE_UNFILLED);
	g_string_free(told, TRUE);
}
END_TEST

/* What fails below is the path's failure, and not that of another one. */
START_TEST(a_path_fails)
{
	const char *const dirs[] = {"a", "a/b", "a/b/c", "d", NULL};
	g_autoptr(GPtrArray) paths = g_ptr_array_new();

	tree_dirs(dirs);
	told = g_string_new(NULL);
	g_ptr_array_add(paths, (char *)"a");
	g_ptr_array_add(paths, (char *)"d");
	refusal = -EIO;
	g_hash_table_insert(refusals, GSIZE_TO_POINTER(inode_at("a/b/c")), GINT_TO_POINTER(1));
	walk_begin_paths(walk, MIGRATE_DATA | MIGRATE_FIRST, 0, paths, path_done, NULL);
	run(1);
	ck_assert_ptr_nonnull(strstr(told->str, "a*1:-121 "));
	ck_assert_ptr_nonnull(strstr(told->str, "d*1:0 "));
	g_string_free(told, TRUE);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("walk");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, tree_mount, NULL);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, one_pass);
	tcase_add_test(tcase, two_passes);
	tcase_add_test(tcase, flags_say_data);
	tcase_add_test(tcase, normal_is_pruned);
	tcase_add_test(tcase, recent_files_come_with_the_names);
	tcase_add_test(tcase, reads_of_all_tell_nothing);
	tcase_add_test(tcase, recent_file_in_a_later_part);
	tcase_add_test(tcase, looks_at_some_files_at_a_time);
	tcase_add_test(tcase, private_is_left_alone);
	tcase_add_test(tcase, window_is_kept);
	tcase_add_test(tcase, finish_waits_while_others_are_filled);
	tcase_add_test(tcase, not_yet_is_asked_again);
	tcase_add_test(tcase, what_stays_is_left_with_those_above);
	tcase_add_test(tcase, errors_are_counted);
	tcase_add_test(tcase, i12_what_is_below_one_that_fails);
	tcase_add_test(tcase, renames_neither_leak_nor_repeat);
	tcase_add_test(tcase, one_at_two_places);
	tcase_add_test(tcase, removed_meanwhile);
	tcase_add_test(tcase, resumes);
	tcase_add_test(tcase, paths_alone);
	tcase_add_test(tcase, a_path_fails);
	tcase_add_test(tcase, deep);
	tcase_add_test(tcase, wide);
	return run_tcase(tcase);
}
