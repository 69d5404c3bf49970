/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Somebody else changes an object on the old server right before each of the steps of a run: what
 * he wrote is there afterwards, and after the next run, too. */
#include "tests/ctl/rollback/each_step.h"
#include "tests/retriever/core_step.h"

/* Once somebody came: what is in TARGET_STAGE cannot be seen by the name of a new version, or has
 * another number each time. */
static bool unseen, unstable;
static unsigned times; /* that he came, and replaced them */

int __real_target_stat(struct target *target, const char *path, struct stat *st);
int __wrap_target_stat(struct target *target, const char *path, struct stat *st);
int __wrap_target_stat(struct target *target, const char *path, struct stat *st)
{
	const bool staged = shared->end_at && times && g_str_has_prefix(path, TARGET_STAGE "/");
	static unsigned number;

	before_step();
	int ret = staged && unseen && g_str_has_prefix(path, TARGET_STAGE "/n") ? -EACCES
		  : fails_now()							? failure
				: __real_target_stat(target, path, st);
	if (!ret && staged && unstable)
		st->st_ino += ++number;
	step();
	return ret;
}

WRAP(target_file_stat, (struct target_file * file, struct stat *st), (file, st))
WRAP(target_file_write, (struct target_file * file, const void *data, size_t len, off_t at),
     (file, data, len, at))

static bool plain; /* names can only be linked and renamed, as over NFS */

int __real_renameat2(int from, const char *name, int to, const char *as, unsigned flags);
int __wrap_renameat2(int from, const char *name, int to, const char *as, unsigned flags);
int __wrap_renameat2(int from, const char *name, int to, const char *as, unsigned flags)
{
	if (!plain || !flags)
		return __real_renameat2(from, name, to, as, flags);
	errno = EINVAL;
	return -1;
}

#define AT_ONCE 4

/* Each has another thing done to it. */
static const char *const paths[] = {"a/1", "a/2", "a/3", "a/4", "a/l"};
static unsigned wrote; /* a bit for each that he changed */

static void change_all(void)
{
	trees_make("mkdir a && for i in 1 2 3 4; do echo old$i >a/$i; done && mkdir d && "
		   "echo linked >a/l && ln a/l d/l && "
		   "find . -exec touch -hd 2001-02-03T04:05:06.789 {} +");
	change("a/1", JOURNAL_DATA, "echo changed >>a/1");
	take_away("a/2");
	change("a/3", JOURNAL_META, "chmod 640 a/3");
	move("a/4", "d/4");
	change("d/4", JOURNAL_DATA, "echo changed >>d/4");
	change("a/l", JOURNAL_DATA, "echo more >>a/l");
}

/* Into the same inode, which is a bit longer after it; unless he may not open it just now. */
static void write_theirs(void)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(paths); i++) {
		g_autofree char *path = g_build_filename(OLD_TREE, paths[i], NULL);
		g_autofree char *text = g_strdup_printf("theirs%u, a bit longer\n", i);
		int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

		ck_assert(fd >= 0 || errno == EAGAIN || errno == ENOENT);
		if (fd < 0)
			continue;
		ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
		close(fd);
		wrote |= 1U << i;
	}
}

/* Another inode, as editors do. */
static void replace_by_theirs(void)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(paths); i++) {
		g_autofree char *path = g_build_filename(OLD_TREE, paths[i], NULL);
		g_autofree char *text = g_strdup_printf("theirs%u at last%u\n", i, times);

		ck_assert(g_file_set_contents(OLD_TREE "/theirs", text, -1, NULL));
		ck_assert_int_eq(rename(OLD_TREE "/theirs", path), 0);
		wrote |= 1U << i;
	}
	times++;
}

/* number: of the step after the plan that he comes before, or 0. */
static void run(unsigned number)
{
	struct way way;

	way_begin_run(&way);
	shared->steps = 0;
	shared->end_at = number;
	way_go(&way);
	shared->end_at = 0;
	way_end_run(&way);
}

/* In a process of its own, for its mounts.  Whether the step was reached. */
static bool intruded_at(unsigned number)
{
	share_steps();
	alarm(600);
	change_all();
	run(number);
	if (shared->steps < number)
		return false;
	run(0);
	g_autofree char *last = times ? g_strdup_printf(" at last%u", times - 1) : g_strdup("");
	for (unsigned i = 0; i < G_N_ELEMENTS(paths); i++)
		if (wrote & 1U << i)
			sh("grep -rq 'theirs%u%s' /mnt/old || { echo %s >&2; false; }", i, last,
			   paths[i]);
	return true;
}

static void intruded(void (*how)(void))
{
	bool reached = true;
	unsigned steps = 0;

	intrude = how;
	while (reached) {
		pid_t pids[AT_ONCE];

		for (unsigned i = 0; i < AT_ONCE; i++) {
			start(&pids[i]);
			if (!pids[i])
				exit(intruded_at(steps + i + 1) ? 0 : 3);
		}
		for (unsigned i = 0; i < AT_ONCE; i++) {
			const int status = end_of(pids[i]);

			ck_assert_msg(!status || (WIFEXITED(status) && WEXITSTATUS(status) == 3),
				      "before step %u", steps + 1);
			reached &= !status;
			steps += reached;
		}
	}
	ck_assert_uint_ge(steps, 30);
}

START_TEST(i7_written)
{
	intruded(write_theirs);
}
END_TEST

START_TEST(i7_written_where_nothing_is_exchanged)
{
	plain = true;
	intruded(write_theirs);
}
END_TEST

START_TEST(i7_replaced)
{
	intruded(replace_by_theirs);
}
END_TEST

/* What he put there while his former one was looked at. */
START_TEST(i7_replaced_again)
{
	again = 3;
	intruded(replace_by_theirs);
}
END_TEST

START_TEST(i7_replaced_and_not_seen)
{
	unseen = true;
	again = 3;
	intruded(replace_by_theirs);
}
END_TEST

/* It comes to its end all the same. */
START_TEST(i7_replaced_where_numbers_change)
{
	unstable = true;
	intruded(replace_by_theirs);
}
END_TEST

/* Each is a line while he has it open, and nothing is done to it; then it is carried. */
START_TEST(open_there)
{
	int fds[G_N_ELEMENTS(paths)];
	struct way way;

	share_steps();
	change_all();
	for (unsigned i = 0; i < G_N_ELEMENTS(paths); i++) {
		g_autofree char *path = g_build_filename(OLD_TREE, paths[i], NULL);

		fds[i] = open(path, O_RDWR | O_CLOEXEC);
		ck_assert_int_ge(fds[i], 0);
	}
	way_begin_run(&way);
	way_go(&way);
	show(way.tree->conflicts);
	ck_assert_uint_eq(way.tree->conflicts->len, 4); /* attributes are given all the same */
	for (guint i = 0; i < way.tree->conflicts->len; i++) {
		const struct problem *problem = way.tree->conflicts->pdata[i];

		ck_assert_ptr_nonnull(strstr(problem->text, "somebody has it open there"));
		ck_assert_ptr_nonnull(strchr("124l", problem->path[2]));
	}
	way_end_run(&way);
	sh("cd /mnt/old && grep -q old1 a/1 && grep -q old2 a/2 && grep -q old4 [ad]/4 && "
	   "! grep -q changed a/1 [ad]/4 && ! grep -q more a/l");
	for (unsigned i = 0; i < G_N_ELEMENTS(paths); i++)
		close(fds[i]);
	go_back_whole();
}
END_TEST

/* What takes the place of another object, and of one of another type; and names that go. */
static void replace_all(void)
{
	trees_make("mkdir -p a/d d && for i in 1 2 3 4 5 6 7; do echo old$i >a/$i; done && "
		   "ln a/1 d/1 && ln a/2 d/2 && ln a/7 d/7 && echo in >a/d/in && "
		   "find . -exec touch -hd 2001-02-03T04:05:06.789 {} +");
	take_away("d/1");
	move("d/2", "d/other");
	take_away("a/3");
	make("a/3", "echo new >a/3");
	move("a/4", "a/5");
	take_away("a/6");
	make("a/6", "mkdir a/6");
	take_away("a/7");
	make("a/7", "mkdir a/7");
	take_away("a/d/in");
	take_away("a/d");
	make("a/d", "echo file >a/d");
}

START_TEST(i12_each_step_fails)
{
	rows_at_once = _i < 2 ? rows_at_once : 1; /* or in windows */
	fail_at_steps(CORE_STEP, _i == 1 ? replace_all : change_all);
}
END_TEST

/* A former version can still not be removed: its file waits for it. */
START_TEST(i12_steps_fail_in_two_runs)
{
	fails_next = 2;
	fail_at_steps(CORE_STEP, change_all);
}
END_TEST

/* Nor may it be, while somebody has it open. */
START_TEST(i7_left_and_open)
{
	opens = true;
	fail_at_steps(CORE_STEP, _i ? replace_all : change_all);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, i7_written);
	tcase_add_test(tcase, i7_replaced);
	tcase_add_test(tcase, i7_replaced_again);
	tcase_add_test(tcase, i7_replaced_and_not_seen);
	tcase_add_test(tcase, i7_replaced_where_numbers_change);
	tcase_add_test(tcase, open_there);
	tcase_add_loop_test(tcase, i12_each_step_fails, 0, 3);
	tcase_add_test(tcase, i12_steps_fail_in_two_runs);
	tcase_add_loop_test(tcase, i7_left_and_open, 0, 2);
	tcase_add_test(tcase, i7_written_where_nothing_is_exchanged);
	return run_tcase(tcase);
}
