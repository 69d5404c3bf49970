/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sequences of what clients do, each from a seed, with runs of the way back in between that are
 * killed or asked to end; one that is not brings the old server's tree to be as the new one.
 *
 *     test_sequences                 the seeds of every test run
 *     test_sequences SEED            one, and what it does
 *     test_sequences SEED COUNT      so many, from SEED on
 *     test_sequences SEED COUNT N    with windows of N rows
 *
 * A seed settles the sequence and the steps.  Objects are taken in the order of their handles, in
 * which the kernel draws a number for each: what depends on that order fails now and then.
 */
#include <ftw.h>

#include "tests/ctl/rollback/ended.h"

#define OPERATIONS 40
#define LAST_STEP  30 /* few runs have more */
#define NAMES	   5

struct object {
	char *path;
	struct stat st;
};

/* Those of every run: faults of each kind that sequences found fail with one of them. */
static const int every_run[] = {
	1,  2,	3,  4,	5,  6,	7,  8,	9,  10, 11, 12, 13, 14, 15, 16, 17,
	18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34,
	35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 84, 52152,
};
#define IN_WINDOWS 18	      /* the first of them once more, in windows of one to three rows */
static int first_seed, seeds; /* 0: of every run */
static const char *program;
static GRand *chance;
static GPtrArray *objects; /* those in the new tree, sorted: of struct object */

static void say(const char *format, ...) G_GNUC_PRINTF(1, 2);
static void say(const char *format, ...)
{
	va_list args;

	if (seeds != 1)
		return;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static int below(size_t end)
{
	return g_rand_int_range(chance, 0, (int)end);
}

/* ---- what is there ----------------------------------------------------------------------------
 */

static void object_free(gpointer data)
{
	struct object *object = data;

	g_free(object->path);
	g_free(object);
}

static int add_object(const char *path, const struct stat *st, int type, struct FTW *at)
{
	struct object *object = g_new(struct object, 1);

	(void)type;
	if (!at->level) {
		g_free(object);
		return 0;
	}
	*object = (struct object){g_strdup(path + strlen(NEW_TREE "/")), *st};
	g_ptr_array_add(objects, object);
	return 0;
}

static gint by_path(gconstpointer a, gconstpointer b)
{
	return strcmp((*(struct object *const *)a)->path, (*(struct object *const *)b)->path);
}

static void look(void)
{
	g_clear_pointer(&objects, g_ptr_array_unref);
	objects = g_ptr_array_new_with_free_func(object_free);
	ck_assert_int_eq(nftw(NEW_TREE, add_object, 16, FTW_PHYS), 0);
	g_ptr_array_sort(objects, by_path);
}

static bool is_within(const char *path, const struct object *object)
{
	size_t length = strlen(object->path);

	return !strncmp(path, object->path, length) && (!path[length] || path[length] == '/');
}

static bool is_any(const struct object *object)
{
	return object;
}

static bool is_directory(const struct object *object)
{
	return S_ISDIR(object->st.st_mode);
}

static bool is_empty(const struct object *object)
{
	unsigned within = 0;

	for (guint i = 0; i < objects->len; i++)
		within += is_within(((struct object *)objects->pdata[i])->path, object);
	return is_directory(object) && within == 1;
}

static bool is_other(const struct object *object)
{
	return !is_directory(object);
}

static bool is_of_one_name(const struct object *object)
{
	return is_other(object) && object->st.st_nlink == 1;
}

static bool is_file(const struct object *object)
{
	return S_ISREG(object->st.st_mode);
}

static bool has_mode(const struct object *object)
{
	return !S_ISLNK(object->st.st_mode);
}

/* One of those that are, or NULL. */
static const struct object *pick(bool (*is)(const struct object *object))
{
	g_autoptr(GPtrArray) all = g_ptr_array_new();

	for (guint i = 0; i < objects->len; i++)
		if (is(objects->pdata[i]))
			g_ptr_array_add(all, objects->pdata[i]);
	return all->len ? all->pdata[below(all->len)] : NULL;
}

/* That nothing has. */
static char *pick_name(void)
{
	for (unsigned tries = 0;; tries++) {
		const struct object *dir = below(4) ? pick(is_directory) : NULL;
		g_autofree char *name = g_strdup_printf("%s%sn%d", dir ? dir->path : "",
							dir ? "/" : "", below(NAMES + tries / 20));
		g_autofree char *full = in_new(name);
		struct stat st;

		if (lstat(full, &st))
			return g_steal_pointer(&name);
	}
}

/* ---- what clients do --------------------------------------------------------------------------
 */

static void make_with(const char *command)
{
	g_autofree char *name = pick_name(), *full = g_strdup_printf("%s%s", command, name);

	say("%s", full);
	make(name, full);
}

static void make_file(void)
{
	make_with("echo new >");
}

static void make_directory(void)
{
	make_with("mkdir ");
}

static void make_symlink(void)
{
	make_with("ln -s x ");
}

static void link_to(void)
{
	const struct object *from = pick(is_other);

	if (!from)
		return;
	g_autofree char *command = g_strdup_printf("ln %s ", from->path);
	make_with(command);
}

static void move_to(const struct object *from, const char *to)
{
	if (!from || is_within(to, from))
		return;
	say("mv -T %s %s", from->path, to);
	move(from->path, to);
}

static void move_one(void)
{
	g_autofree char *to = pick_name();

	move_to(pick(is_any), to);
}

static void replace(void)
{
	const struct object *from = pick(is_other), *to = pick(is_of_one_name);

	if (to)
		move_to(from, to->path);
}

static void remove_one(const struct object *object)
{
	if (!object)
		return;
	say("rm -d %s", object->path);
	take_away(object->path);
}

static void remove_other(void)
{
	remove_one(pick(is_other));
}

static void remove_directory(void)
{
	remove_one(pick(is_empty));
}

static void change_one(const struct object *object, unsigned flags, const char *command)
{
	if (!object)
		return;
	g_autofree char *full = g_strdup_printf("%s%s", command, object->path);
	say("%s", full);
	change(object->path, flags, full);
}

static void append(void)
{
	change_one(pick(is_file), JOURNAL_DATA, "echo more >>");
}

static void change_mode(void)
{
	g_autofree char *command = g_strdup_printf("chmod %o ", 0700U + (unsigned)below(64));

	change_one(pick(has_mode), JOURNAL_META, command);
}

static void (*const operations[])(void) = {
	make_file, make_directory, make_symlink, link_to,	   link_to, move_one,
	move_one,  replace,	   remove_other, remove_directory, append,  change_mode,
};

/* ---- the runs ---------------------------------------------------------------------------------
 */

static void run_and_end(void)
{
	unsigned number = 1 + (unsigned)below(LAST_STEP);

	asked = below(2);
	int status = go_to_step(number);
	say("# a run, %s after step %u: %u steps", asked ? "asked to end" : "killed", number,
	    shared->steps);
	ck_assert_msg(status == 0 || (status == SIGKILL && !asked), "status %x", status);
}

/* In a process of its own, for its mounts. */
static void run_seed(unsigned seed)
{
	chance = g_rand_new_with_seed(seed);
	tree_mount = ON_EXT4;
	trees_make("mkdir -p n0/n1/n2 n3/n0 n3/n1 && "
		   "for n in n2 n0/n0 n0/n2 n0/n1/n0 n3/n3; do echo old$n >$n; done && "
		   "ln -s x n1 && ln -s y n3/n2 && ln n2 n0/n3 && ln n1 n0/n1/n3 && "
		   "find . -exec touch -hd 2001-02-03T04:05:06.789 {} +");
	for (unsigned i = 0; i < OPERATIONS; i++) {
		look();
		operations[below(G_N_ELEMENTS(operations))]();
		if (!below(5))
			run_and_end();
	}
	for (int i = below(3); i > 0; i--)
		run_and_end();
	say("# a run that is not ended");
	go_back_whole();
	sh("test ! -e " OLD_TREE "/" TARGET_STAGE);
}

START_TEST(i12_sequences)
{
	const int all = G_N_ELEMENTS(every_run),
		  seed = seeds ? first_seed + _i : every_run[_i % all];
	pid_t pid;

	if (!seeds && _i >= all)
		rows_at_once = 1 + (guint)_i % 3;
	share_steps();
	start(&pid);
	if (!pid) {
		run_seed((unsigned)seed);
		exit(0);
	}
	int status = end_of(pid);
	if (status)
		fprintf(stderr, "seed %d failed; alone: %s %d 1 %u\n", seed, program, seed,
			rows_at_once);
	ck_assert_int_eq(status, 0);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tcase = tcase_create("all");

	program = argv[0];
	if (argc > 1) {
		first_seed = atoi(argv[1]);
		seeds = argc > 2 ? atoi(argv[2]) : 1;
		rows_at_once = argc > 3 ? (guint)atoi(argv[3]) : rows_at_once;
	}
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, i12_sequences, 0,
			    seeds ? seeds : (int)G_N_ELEMENTS(every_run) + IN_WINDOWS);
	return run_tcase(tcase);
}
