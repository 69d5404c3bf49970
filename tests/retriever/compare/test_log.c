/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/log.h"
#include "tests/retriever/core_hook.h"

#define NAME "next-entries"

static char dir[128];
static int dir_fd;
static unsigned links;

static void begin(void)
{
	g_snprintf(dir, sizeof dir, "%s/log-%d", core_base, (int)getpid());
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void note_link(void *arg, guint64 fileid, guint64 inode)
{
	ck_assert_uint_eq(fileid, 7);
	ck_assert_uint_eq(inode, 70);
	links++;
}

static struct proof_log *open_log(bool anew, struct proof_counts *counts)
{
	int status;
	struct proof_log *log;

	memset(counts, 0, sizeof *counts);
	links = 0;
	log = proof_log_open(dir_fd, NAME, anew, counts, note_link, NULL, &status);
	ck_assert_ptr_nonnull(log);
	return log;
}

/* Takes the directory of that path, and finds one file and these directories in it. */
static void do_one(struct proof_log *log, const char *path, const char *const *below)
{
	struct proof_block block;
	struct proof_task task;
	struct proof_entry entry = {.path = "some file", .mode = S_IFREG, .nlink = 1};
	struct proof_finding finding = {.path = "some file", .text = "x"};

	ck_assert_int_eq(proof_log_take(log, &task), 1);
	ck_assert_str_eq(task.path, path);
	proof_block_init(&block, dir_fd);
	proof_block_entry(&block, &entry);
	proof_block_finding(&block, &finding);
	proof_block_link(&block, 7, 70);
	for (; below && *below; below++)
		proof_block_directory(&block, *below, PROOF_THERE, PROOF_REMOVED);
	block.counts.bytes = 1000;
	ck_assert_int_eq(proof_log_append(log, &task, &block), 0);
	proof_block_clear(&block);
	g_free(task.path);
}

static void is_over(struct proof_log *log)
{
	struct proof_task task;

	ck_assert_int_eq(proof_log_take(log, &task), 0);
	ck_assert_int_eq(proof_log_sync(log), 0);
	proof_log_close(log);
}

START_TEST(a_queue)
{
	const char *const first[] = {"a b", "c", NULL}, *const second[] = {"a b/d", NULL};
	struct proof_counts counts;
	struct proof_task task;
	struct proof_log *log;

	begin();
	log = open_log(true, &counts);
	do_one(log, "", first);
	ck_assert_int_eq(proof_log_take(log, &task), 1);
	ck_assert_str_eq(task.path, "a b");
	ck_assert_int_eq(task.side, PROOF_THERE);
	ck_assert_int_eq(task.status, PROOF_REMOVED);
	g_free(task.path);
	do_one(log, "c", NULL);
	proof_log_drop(log); /* "a b" was not done */
	proof_log_close(log);

	log = open_log(false, &counts);
	ck_assert_uint_eq(links, 2);
	ck_assert_uint_eq(counts.objects, 2);
	ck_assert_uint_eq(counts.findings, 2);
	ck_assert_uint_eq(counts.bytes, 2000);
	ck_assert_uint_eq(counts.status[PROOF_SAME], 2);
	do_one(log, "a b", second);
	do_one(log, "a b/d", NULL);
	is_over(log);
	log = open_log(false, &counts);
	ck_assert_uint_eq(counts.objects, 4);
	is_over(log);
	log = open_log(true, &counts);
	ck_assert_uint_eq(counts.objects, 0);
	do_one(log, "", NULL);
	is_over(log);
}
END_TEST

/* Killed anywhere: what is cut off counts not at all, what is whole counts. */
START_TEST(cut_anywhere)
{
	const char *const first[] = {"c", NULL};
	g_autofree char *path = NULL, *text = NULL;
	struct proof_counts counts;
	struct proof_log *log;
	gsize len, one;

	begin();
	path = g_strconcat(dir, "/" NAME, NULL);
	log = open_log(true, &counts);
	do_one(log, "", first);
	ck_assert(g_file_get_contents(path, &text, &one, NULL));
	g_free(text);
	do_one(log, "c", NULL);
	is_over(log);
	ck_assert(g_file_get_contents(path, &text, &len, NULL));
	for (gsize cut = 0; cut < len; cut++) {
		ck_assert(g_file_set_contents(path, text, cut, NULL));
		log = open_log(false, &counts);
		ck_assert_uint_eq(counts.objects, cut >= one);
		if (cut < one)
			do_one(log, "", first);
		do_one(log, "c", NULL);
		is_over(log);
		log = open_log(false, &counts);
		ck_assert_uint_eq(counts.objects, 2);
		is_over(log);
	}
}
END_TEST

/* More than is kept in memory; zeros at the end, as a power cut leaves them. */
START_TEST(spilled)
{
	g_autofree char *path = NULL;
	struct proof_counts counts;
	struct proof_entry entry = {.path = "x", .mode = S_IFREG, .nlink = 1};
	struct proof_block block;
	struct proof_task task;
	struct proof_log *log;
	int fd;

	begin();
	path = g_strconcat(dir, "/" NAME, NULL);
	log = open_log(true, &counts);
	ck_assert_int_eq(proof_log_take(log, &task), 1);
	proof_block_init(&block, dir_fd);
	for (unsigned i = 0; i < 100000; i++)
		proof_block_entry(&block, &entry);
	ck_assert_int_ge(block.spilled, 0);
	ck_assert_int_eq(proof_log_append(log, &task, &block), 0);
	proof_block_clear(&block);
	g_free(task.path);
	is_over(log);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	ck_assert_int_eq(write(fd, "\0\0\0\n#done 0 1\n", 14), 14);
	close(fd);
	log = open_log(false, &counts);
	ck_assert_uint_eq(counts.objects, 100000);
	is_over(log);
}
END_TEST

START_TEST(stopped)
{
	struct proof_counts counts;
	struct proof_task task;
	struct proof_log *log;

	begin();
	log = open_log(true, &counts);
	proof_log_stop(log);
	ck_assert_int_eq(proof_log_take(log, &task), -ECANCELED);
	proof_log_close(log);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("log", 60);

	tcase_add_test(tcase, a_queue);
	tcase_add_test(tcase, cut_anywhere);
	tcase_add_test(tcase, spilled);
	tcase_add_test(tcase, stopped);
	return run_tcase(tcase);
}
