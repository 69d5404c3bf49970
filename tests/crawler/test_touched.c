/* SPDX-License-Identifier: GPL-3.0-or-later */
/* With a retriever that consists of the two functions by which it is asked. */
#include "crawler/touched.h"

#include <errno.h>

#include "common/migrate.h"
#include "tests/crawler/tree.h"
#include "tests/suite.h"

static struct touched touched;
static const char *told = "";
static int told_status;
static unsigned questions, fills;
static GQueue waiting = G_QUEUE_INIT; /* of struct fill */

struct fill {
	ino_t inode;
	migrate_done_fn done;
	void *arg;
};

uint64_t migrate_control(struct migrate_volume *volume, const char *command, migrate_text_fn done,
			 void *arg)
{
	questions++;
	ck_assert_str_eq(command, "touched");
	done(arg, told_status, told);
	return 0;
}

uint64_t migrate_fill_directory(struct migrate_volume *volume, int fd, unsigned flags,
				migrate_done_fn done, void *arg)
{
	struct fill *fill = g_new(struct fill, 1);
	struct stat st;

	ck_assert_uint_eq(flags, MIGRATE_BACKGROUND | MIGRATE_DATA);
	ck_assert_int_eq(fstat(fd, &st), 0);
	*fill = (struct fill){st.st_ino, done, arg};
	g_queue_push_tail(&waiting, fill);
	return ++fills;
}

static ino_t answer(void)
{
	g_autofree struct fill *fill = g_queue_pop_head(&waiting);

	fill->done(fill->arg, -EIO);
	return fill->inode;
}

static ino_t inode_at(const char *path)
{
	struct stat st;

	ck_assert_int_eq(lstat(path, &st), 0);
	return st.st_ino;
}

static void setup(void)
{
	tree_dirs((const char *const[]){"a", "a/b c", "d", NULL});
	ck_assert_int_eq(symlink("a", "link"), 0);
	touched_begin(&touched, open("/mnt", O_RDONLY | O_DIRECTORY | O_CLOEXEC), NULL);
}

/* Each once, as many at a time as there is room for. */
START_TEST(what_is_told)
{
	told = "[touched]\n0=a/b%20c\n1=\n2=d\n";
	touched_step(&touched, 2, 1000);
	ck_assert_uint_eq(fills, 2);
	ck_assert_uint_eq(answer(), inode_at("a/b c"));
	touched_step(&touched, 2, 1500);
	ck_assert_uint_eq(questions, 1);
	ck_assert_uint_eq(answer(), inode_at("."));
	ck_assert_uint_eq(answer(), inode_at("d"));
	touched_step(&touched, 2, 2000);
	ck_assert_uint_eq(questions, 2);
	ck_assert_uint_eq(fills, 3);
	touched_step(&touched, 0, 3000);
	told = "[touched]\n0=a\n";
	touched_step(&touched, 0, 4000);
	ck_assert_uint_eq(fills, 3);
	touched_step(&touched, 1, 4000);
	ck_assert_uint_eq(answer(), inode_at("a"));
	touched_end(&touched);
}
END_TEST

START_TEST(what_is_no_directory_of_the_volume)
{
	const unsigned fds = tree_open_fds();

	told = "[touched]\n0=../etc\n1=link\n2=gone\n3=%\n4=%00\n5=/etc\nd\n";
	touched_step(&touched, 9, 1000);
	told = "[touched]\n0=../etc\n1=link\n2=gone\n3=%\n4=%00\n5=/etc\n";
	touched_step(&touched, 9, 2000);
	told_status = -EINVAL;
	touched_step(&touched, 9, 3000);
	ck_assert_uint_eq(questions, 3);
	ck_assert_uint_eq(fills, 0);
	ck_assert_uint_eq(tree_open_fds(), fds);
	touched_end(&touched);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("touched");

	tcase_add_checked_fixture(tcase, tree_mount, NULL);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, what_is_told);
	tcase_add_test(tcase, what_is_no_directory_of_the_volume);
	return run_tcase(tcase);
}
