/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

#include <dirent.h>

#include "retriever/making/nameless.h"
#include "retriever/objects/private.h"

static struct nameless file;

static unsigned staged(void)
{
	DIR *dir = retriever_list(core.retriever->staging_fd, ".");
	unsigned n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2; /* . and .. */
}

/* 0: with O_TMPFILE; 1: without. */
static void begin_nameless(bool without)
{
	core_make(&core);
	core_start(&core);
	core.retriever->capabilities.lacking = without ? 1u << CAPABILITY_NAMELESS : 0;
}

/* It is seen only when it has its name, which it takes from nobody. */
START_TEST(its_name_comes_last)
{
	begin_nameless(_i);

	int root = core_root(&core), fd = nameless_make(&file, core.retriever, root, 0640);
	struct stat made, st;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &made), 0);
	ck_assert_uint_eq(made.st_mode, S_IFREG | 0640);
	ck_assert_uint_eq(staged(), _i ? 1 : 0);
	ck_assert(!is_there(core.root, "f"));
	ck_assert_int_eq(mkdirat(root, "d", 0700), 0);
	ck_assert_int_eq(nameless_name(&file, fd, root, "d"), -EEXIST);
	ck_assert_int_eq(nameless_name(&file, fd, root, "f"), 0);
	ck_assert_int_eq(fstatat(root, "f", &st, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_uint_eq(st.st_ino, made.st_ino);
	ck_assert_uint_eq(st.st_nlink, 1);
	close(fd);
	nameless_end(&file);
	ck_assert_uint_eq(staged(), 0);
	ck_assert(is_there(core.root, "f"));
	close(root);
	core_free(&core);
}
END_TEST

START_TEST(one_that_got_no_name_is_gone)
{
	begin_nameless(_i);

	int root = core_root(&core), fd = nameless_make(&file, core.retriever, root, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
	nameless_end(&file);
	ck_assert_uint_eq(staged(), 0);
	close(root);
	core_free(&core);
}
END_TEST

/* As after a kill: the next start finds nothing of it. */
START_TEST(one_that_a_kill_left_goes)
{
	begin_nameless(true);

	int root = core_root(&core), fd = nameless_make(&file, core.retriever, root, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
	close(root);
	ck_assert_uint_eq(staged(), 1);
	core_restart(&core);
	ck_assert_uint_eq(staged(), 0);
	core_free(&core);
}
END_TEST

/* What a start could not remove is no object that is there already. */
START_TEST(another_has_its_staged_name)
{
	g_autofree char *name = NULL;
	int root, fd;

	begin_nameless(true);
	name = g_strdup_printf("%d", core.retriever->staging_serial);
	ck_assert_int_eq(mkdirat(core.retriever->staging_fd, name, 0700), 0);
	root = core_root(&core);
	fd = nameless_make(&file, core.retriever, root, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(nameless_name(&file, fd, root, "f"), 0);
	close(fd);
	nameless_end(&file);
	ck_assert(is_there(core.root, "f"));
	ck_assert_uint_eq(staged(), 1);
	close(root);
	core_free(&core);
}
END_TEST

/* Who has left .migrate/ closes its descriptors, once. */
START_TEST(the_volume_is_finished_meanwhile)
{
	int root, fd, staging;

	begin_nameless(true);
	root = core_root(&core);
	staging = core.retriever->staging_fd;
	fd = nameless_make(&file, core.retriever, root, 0600);
	ck_assert_int_ge(fd, 0);
	private_leave(core.retriever);
	close(fd);
	nameless_end(&file);
	ck_assert_int_ge(fcntl(staging, F_GETFD), 0);
	close(root);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("nameless", 60);

	tcase_add_loop_test(tcase, its_name_comes_last, 0, 2);
	tcase_add_loop_test(tcase, one_that_got_no_name_is_gone, 0, 2);
	tcase_add_test(tcase, one_that_a_kill_left_goes);
	tcase_add_test(tcase, another_has_its_staged_name);
	tcase_add_test(tcase, the_volume_is_finished_meanwhile);
	return run_tcase(tcase);
}
