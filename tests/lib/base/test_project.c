/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include "lib/base/project.h"
#include "lib/report/losses.h"

/* An XFS in the new tree's place: its kernel code keeps projects with and without quotas. */
static void prepare(void)
{
	mounts_of_our_own();
	core_make(&core);
	shell("cd %s && truncate -s 320M image && mkfs.xfs -q image && mount -o loop image %s",
	      core.dir, core.root);
	core_source_file(&core, "a/f", 5000, 1);
	core_source_file(&core, "a/sub/g", 70000, 2);
	core_source_file(&core, "b/h", 3000, 3);
	shell("cd %s && ln -s f a/link && mkfifo a/fifo && ln a/f a/sub/f && ln a/f b/f && "
	      "ln a/f b/f-too",
	      core.source);
}

static void put(const char *path, unsigned id)
{
	shell("chattr -p %u %s/%s && chattr +P %s/%s", id, core.root, path, core.root, path);
}

/* Of what can be opened. */
static void expect(const char *path, unsigned id)
{
	g_autofree char *full = core_path(&core, path);
	int fd = open(full, O_RDONLY | O_CLOEXEC);
	struct fsxattr attr = {0};

	ck_assert_int_eq(ioctl(fd, FS_IOC_FSGETXATTR, &attr), 0);
	ck_assert_msg(attr.fsx_projid == id, "%s: %u", path, attr.fsx_projid);
	close(fd);
}

static bool is_one_file(const char *a, const char *b)
{
	g_autofree char *x = core_path(&core, a), *y = core_path(&core, b);
	struct stat p, q;

	ck_assert_int_eq(lstat(x, &p), 0);
	ck_assert_int_eq(lstat(y, &q), 0);
	return p.st_ino == q.st_ino;
}

static void list_root(void)
{
	int root = core_root(&core);

	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	close(root);
}

/* Each name has its bytes; those of one file are one in a project. */
static void expect_departments(unsigned other)
{
	make_all();
	shell("diff -r --no-dereference -x .migrate -x lost+found -x fifo %s %s", core.source,
	      core.root);
	expect("a/f", 7);
	expect("a/sub", 7);
	expect("a/sub/g", 7);
	expect("b/f", other);
	expect("b/h", other);
	ck_assert(is_there(core.root, "a/fifo"));
	ck_assert(is_one_file("a/f", "a/sub/f"));
	ck_assert(is_one_file("b/f", "b/f-too"));
	ck_assert(!is_one_file("a/f", "b/f"));
	core_expect_report(&core, "link\t");
	ck_assert_int_eq(volume_state(core.retriever), VOLUME_WHOLE);
}

START_TEST(departments_in_projects)
{
	prepare();
	core_start(&core);
	list_root();
	put("a", 7);
	put("b", 8);
	expect_departments(8);
	core_free(&core);
}
END_TEST

START_TEST(a_root_in_a_project)
{
	prepare();
	put("", 42);
	core_start(&core);
	list_root();
	put("a", 7);
	expect_departments(42);
	expect(".migrate/links", 0);
	core_free(&core);
}
END_TEST

/* What a copy has is given the project of the directory to which it comes. */
START_TEST(copied_first)
{
	prepare();
	put("", 42);
	copy_run("made");
	shell("echo newer >%s/a/extra", core.root);
	copy_attach();
	list_root();
	put("a", 7);
	expect_departments(42);
	ck_assert(is_aside("a/extra"));
	core_expect_answer(&core, "aside restore a/extra", "");
	expect("a/extra", 7);
	copy_free();
}
END_TEST

/* Directories of a copy that another tool made are made anew, of the same projects. */
START_TEST(copied_by_another_tool)
{
	prepare();
	copy_by_cp();
	shell("cd %s && rm b/f b/f-too && touch a/extra", core.root);
	put("a", 7);
	put("a/sub", 7);
	put("b", 8);
	shell("cd %s && chattr -p 7 a/f a/sub/g a/extra && chattr -p 8 b/h", core.root);
	adopt((struct attach){.keep_extra = true});
	make_all();
	expect("a", 7);
	expect("a/f", 7);
	expect("a/sub", 7);
	expect("a/extra", 7);
	expect("b", 8);
	expect("b/h", 8);
	/* of a/f and b/f, what is made first may be what the copy has */
	ck_assert_uint_le(backend_fault_submitted(core.fault, 1u << BACKEND_READ), 2);
	core_free(&core);
}
END_TEST

/* Where nobody hands a project on, nothing is given one. */
START_TEST(none)
{
	struct stat before, after;
	int fd;

	core_make(&core);
	fd = open(core.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	write_file(core.root, "f", "text");
	ck_assert_int_eq(fstatat(fd, "f", &before, 0), 0);
	ck_assert(!project_of(fd).inherited);
	ck_assert(project_admits(fd, fd));
	ck_assert_int_eq(project_stop(fd), 0);
	ck_assert_int_eq(project_stage(fd, fd), fd);
	ck_assert_int_eq(project_rename(fd, "f", fd, "g", RENAME_NOREPLACE), 0);
	ck_assert_int_eq(project_rename(fd, "f", fd, "g", RENAME_NOREPLACE), -ENOENT);
	ck_assert_int_eq(fstatat(fd, "g", &after, 0), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("project", 60);

	tcase_add_test(tcase, departments_in_projects);
	tcase_add_test(tcase, a_root_in_a_project);
	tcase_add_test(tcase, copied_first);
	tcase_add_test(tcase, copied_by_another_tool);
	tcase_add_test(tcase, none);
	return run_tcase(tcase);
}
