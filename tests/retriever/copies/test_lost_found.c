/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the old server has at lost+found in its root comes here, whatever mkfs and e2fsck made. */
#include "tests/retriever/core_copy.h"

#include <linux/fs.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "retriever/copies/lost_found.h"

static unsigned generation = 4711;

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request != FS_IOC_GETVERSION)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	*(unsigned *)arg = generation;
	return 0;
}

/* What there can be. */
static const char *const there[] = {
	"mkdir lost+found lost+found/a && echo x >lost+found/#12 && echo y >lost+found/a/#12",
	"mkdir -m 750 lost+found",
	"echo x >lost+found",
	"ln -s f lost+found",
	":",
};

static void make(unsigned i)
{
	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
	shell("cd %s && %s", core.source, there[i]);
}

START_TEST(attached)
{
	make(_i);
	shell("mkdir -m 700 %s/lost+found", core.root);
	core_start(&core);
	make_all();
	expect_same_tree();
	core_free(&core);
}
END_TEST

/* What another tool left at that name is compared, as at any other. */
START_TEST(adopted)
{
	make(_i);
	shell("cp %s/f %s && mkdir %s/lost+found && echo stale >%s/lost+found/#12 && "
	      "echo stale >%s/lost+found/only",
	      core.source, core.root, core.root, core.root, core.root);
	adopt((struct attach){.accept = true});
	make_all();
	expect_same_tree();
	ck_assert(is_aside("lost+found/only"));
	core_free(&core);
}
END_TEST

START_TEST(copied)
{
	make(_i);
	shell("mkdir %s/lost+found", core.root);
	copy_run("run");
	copy_attach();
	make_all();
	expect_same_tree();
	ck_assert(!is_aside("lost+found"));
	copy_free();
}
END_TEST

/* It is not empty, or in use. */
START_TEST(refused)
{
	g_autofree char *used = NULL, *mounted = NULL;

	make(0);
	mounts_of_our_own();
	shell("mkdir %s/lost+found && touch %s/lost+found/x", core.root, core.root);
	core_open(&core);
	ck_assert_int_eq(attach_volume(core.retriever, &(struct attach){0}, &used), -ENOTEMPTY);
	ck_assert_ptr_nonnull(strstr(used, "is not empty (its lost+found has something in it)"));
	shell("rm %s/lost+found/x && mount -t tmpfs none %s/lost+found", core.root, core.root);
	ck_assert_int_eq(attach_volume(core.retriever, &(struct attach){0}, &mounted), -EBUSY);
	ck_assert_ptr_nonnull(strstr(mounted, "unmount what is mounted there"));
	ck_assert_int_eq(migrate_has_record(core.retriever->root_fd), 0);
	shell("umount %s/lost+found", core.root);
	core_attach(&core);
	core_run(&core);
	core_connect(&core);
	make_all();
	expect_same_tree();
	core_free(&core);
}
END_TEST

static void stop(void)
{
	core_disconnect(&core);
	core_close(&core);
}

/* A check of the file system before the root is filled, with and without something found. */
START_TEST(made_by_e2fsck)
{
	const bool found = _i;

	make(0);
	core_start(&core);
	stop();
	shell("mkdir -m 700 %s/lost+found", core.root);
	if (found)
		shell("echo precious >%s/lost+found/#99", core.root);
	generation = 0;
	core_open(&core);
	generation = 4711;
	core_run(&core);
	core_connect(&core);
	make_all();
	expect_same_tree();
	ck_assert_int_eq(is_aside("lost+found/#99"), found);
	ck_assert_int_eq(COUNT_GET(core.retriever, aside), found);
	core_free(&core);
}
END_TEST

/* The old server's, which came before the other names, and what is made in a filled root. */
START_TEST(others_stay)
{
	struct stat before, after;
	g_autofree char *path = NULL;

	make(0);
	path = core_path(&core, "lost+found");
	core_start(&core);
	close(core_find(&core, "lost+found", O_RDONLY));
	ck_assert_int_eq(stat(path, &before), 0);
	stop();
	core_open(&core);
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	core_run(&core);
	core_connect(&core);
	make_all();
	stop();
	generation = 0;
	core_open(&core);
	generation = 4711;
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	core_run(&core);
	core_free(&core);
}
END_TEST

/* Served as it is it would hide the old server's. */
START_TEST(cannot_go)
{
	g_autofree char *error = NULL;

	make(0);
	core_start(&core);
	stop();
	mounts_of_our_own();
	shell("mkdir %s/lost+found && mount -t tmpfs none %s/lost+found", core.root, core.root);
	generation = 0;
	error = core_try_open(&core);
	generation = 4711;
	ck_assert_ptr_nonnull(error);
	ck_assert_ptr_nonnull(strstr(error, "hides the old server's"));
	shell("umount %s/lost+found", core.root);
	core_free(&core);
}
END_TEST

int main(void)
{
	const int all = G_N_ELEMENTS(there);
	TCase *tcase = core_tcase("lost_found", 60);

	tcase_add_loop_test(tcase, attached, 0, all);
	tcase_add_loop_test(tcase, adopted, 0, all);
	tcase_add_loop_test(tcase, copied, 0, all);
	tcase_add_test(tcase, refused);
	tcase_add_loop_test(tcase, made_by_e2fsck, 0, 2);
	tcase_add_test(tcase, others_stay);
	tcase_add_test(tcase, cannot_go);
	return run_tcase(tcase);
}
