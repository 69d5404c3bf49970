/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

#include "retriever/copies/prior.h"
#include "tests/durable.h"

START_TEST(settings)
{
	const struct prior saved = {.adopted = true, .keep_extra = true, .names = 1234567890123};
	struct prior *prior;
	int fd;

	core_make(&core);
	fd = core_root(&core);
	ck_assert_int_eq(prior_open(fd, &prior), 0);
	ck_assert_ptr_null(prior);
	ck_assert_int_eq(prior_save(fd, &saved), 0);
	ck_assert_durable_in(fd, "prior.conf");
	ck_assert_durable_in(fd, "");
	ck_assert_int_eq(prior_open(fd, &prior), 0);
	ck_assert_ptr_null(prior);
	shell("mkdir %s/prior", core.root);
	ck_assert_int_eq(prior_open(fd, &prior), 0);
	ck_assert(prior->adopted && prior->keep_extra && !prior->content);
	ck_assert_int_eq(prior->names, 1234567890123);
	prior_free(prior);
	/* nothing is trusted, then */
	write_file(core.root, "prior.conf", "\x01[pri");
	ck_assert_int_eq(prior_open(fd, &prior), 0);
	ck_assert(!prior->adopted && !prior->keep_extra && !prior->names);
	prior_free(prior);
	shell("rmdir %s/prior && ln -s /etc %s/prior", core.root, core.root);
	ck_assert_int_lt(prior_open(fd, &prior), 0);
	prior_free(NULL);
	core_free_with(&core, fd);
}
END_TEST

static void expect_directory(const struct prior *prior, const char *path, bool is)
{
	int fd = prior_directory(prior, path);

	ck_assert_msg((fd >= 0) == is, "%s", path);
	if (fd >= 0)
		close(fd);
}

/* Nothing leads out of it: symbolic links in directories' places, mounts. */
START_TEST(directories)
{
	struct prior prior = {0};

	core_make(&core);
	mounts_of_our_own();
	prior.fd = core_root(&core);
	shell("cd %s && mkdir -p a/b m/d && ln -s a l && ln -s /etc a/etc && ln -s ../a a/up && "
	      "touch f && mount -t tmpfs none m && mkdir m/d",
	      core.root);
	expect_directory(&prior, "", true);
	expect_directory(&prior, "a/b", true);
	expect_directory(&prior, "l", false);
	expect_directory(&prior, "l/b", false);
	expect_directory(&prior, "a/etc", false);
	expect_directory(&prior, "a/up/b", false);
	expect_directory(&prior, "f", false);
	expect_directory(&prior, "m", false);
	expect_directory(&prior, "m/d", false);
	expect_directory(&prior, "..", false);
	expect_directory(&prior, "a/../..", false);
	expect_directory(&prior, "/etc", false);
	expect_directory(&prior, "none", false);
	expect_directory(&prior, NULL, false);
	shell("umount %s/m", core.root);
	close(prior.fd);
	core_free(&core);
}
END_TEST

static void make_source(void)
{
	core_make(&core);
	make_files("d", 10);
	core_source_file(&core, "e/f", 1000, 1);
}

/* What is left over goes aside, and nothing of it is served; what waits, waits. */
START_TEST(what_is_left_over)
{
	make_source();
	copy_by_cp();
	shell("cd %s && touch d/extra d/.hidden && mkdir -p x/y/z && ln -s /etc d/link", core.root);
	adopt((struct attach){0});
	make_all();
	ck_assert_uint_eq(backend_fault_submitted(core.fault, 1u << BACKEND_READ), 0);
	ck_assert(is_aside("d/extra"));
	ck_assert(is_aside("d/.hidden"));
	ck_assert(is_aside("d/link"));
	ck_assert(is_aside("x/y/z"));
	ck_assert_int_eq(COUNT_GET(core.retriever, left_over), 6);
	ck_assert_int_eq(COUNT_GET(core.retriever, same), 11);
	expect_same_tree();
	core_free(&core);
}
END_TEST

START_TEST(links_that_lead_elsewhere)
{
	core_make(&core);
	shell("cd %s && ln -s here l && ln -s there m && ln -s same n", core.source);
	copy_by_cp();
	shell("cd %s && ln -sfn gone l && ln -sfn elsewhere m && touch -hr %s/l l && "
	      "touch -hr %s/m m",
	      core.root, core.source, core.source);
	adopt((struct attach){0});
	make_all();
	expect_same_tree();
	core_free(&core);
}
END_TEST

START_TEST(keep_extra)
{
	make_source();
	copy_by_cp();
	shell("cd %s && touch d/extra && mkdir -p x/y/z", core.root);
	adopt((struct attach){.keep_extra = true});
	make_all();
	ck_assert(is_there(core.root, "d/extra"));
	ck_assert(is_there(core.root, "x/y/z"));
	ck_assert(!is_aside(""));
	core_free(&core);
}
END_TEST

/* A name that was listed and that a client has removed is no extra one: another version does not
 * come back. */
START_TEST(i7_what_a_client_removed_stays_so)
{
	int d;

	make_source();
	copy_by_cp();
	shell("cd %s && echo older >d/f1 && touch -d @1 d/f1", core.root);
	adopt((struct attach){.keep_extra = true});
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	close(core_find(&core, "d/f1", O_RDONLY));
	ck_assert_int_eq(unlinkat(d, "f1", 0), 0);
	ck_assert_int_eq(core_name_in(&core, d, "f2"), 0);
	ck_assert(core_state(d) == MIGRATE_UNFILLED);
	close(d);
	core_restart(&core);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(d), 0);
	ck_assert(!is_there(core.root, "d/f1") || core_missing(open_below(d, "f1", O_RDONLY)) > 0);
	core_free_with(&core, d);
}
END_TEST

/* Newer here: aside before the name is shown, whatever clients then do with it. */
START_TEST(what_is_newer)
{
	struct stat st;
	int fd, d;

	make_source();
	copy_by_cp();
	shell("cd %s && echo newer here >d/f1", core.root);
	adopt((struct attach){0});
	fd = core_find(&core, "d/f1", O_RDWR);
	ck_assert(is_aside("d/f1"));
	ck_assert_int_eq(core_write(&core, fd, 0, 5, 9, false), 0);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(d), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 5, 9);
	core_expect(fd, 5, 96, 1);
	shell("grep -q 'newer here' %s/.migrate/aside/d/f1", core.root);
	ck_assert_int_eq(fstatat(d, "f2", &st, 0), 0);
	close(d);
	core_free_with(&core, fd);
}
END_TEST

/* What a client has made of an extra name does not destroy it. */
START_TEST(what_a_client_has_made)
{
	int d;
	uint64_t id;

	make_source();
	copy_by_cp();
	shell("cd %s && echo extra >d/extra && touch -d @1 d/extra", core.root);
	adopt((struct attach){0});
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_name_in(&core, d, "extra"), -ENOENT);
	(void)id;
	shell("echo client >%s/d/extra", core.root);
	ck_assert_int_eq(fill(d), 0);
	shell("grep -q client %s/d/extra && grep -q extra %s/.migrate/aside/d/extra", core.root,
	      core.root);
	core_free_with(&core, d);
}
END_TEST

/* Also where they are all below one directory, whose mount is lost on the old server. */
START_TEST(a_tenth_of_the_names)
{
	for (int below = 0; below < 2; below++) {
		int root, d, ret;

		core_make(&core);
		make_files("d/sub", 150);
		make_files("e", 20);
		copy_by_cp();
		if (below)
			shell("rm -r %s/d/sub", core.source);
		else
			shell("rm -r %s/d/sub/*", core.source);
		adopt((struct attach){0});
		core.retriever->prior->names = 200;
		root = core_root(&core);
		ck_assert_int_eq(fill(root), 0);
		d = core_find(&core, below ? "d" : "d/sub", O_RDONLY | O_DIRECTORY);
		ret = fill(d);
		ck_assert_int_lt(ret, 0);
		ck_assert(core_state(d) == MIGRATE_UNFILLED);
		ck_assert(!is_aside(""));
		ck_assert(is_there(core.root, ".migrate/prior/d/sub/f149"));
		core_expect_answer(&core, "errors 0", "a tenth of the names");
		core_expect_answer(&core, "accept", "0 ");
		ck_assert_int_eq(fill(d), 0);
		ck_assert(is_aside("d/sub/f149"));
		ck_assert_int_ge(COUNT_GET(core.retriever, left_over), 150);
		close(d);
		close(root);
		make_all();
		expect_same_tree();
		core_free(&core);
	}
}
END_TEST

/* What the old server has, and refuses to tell of, is not what it lacks. */
START_TEST(names_that_are_refused)
{
	int d;

	core_make(&core);
	core_carry(&core);
	make_files("d", 150);
	copy_by_cp();
	adopt((struct attach){0});
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	backend_fault_add(
		core.fault,
		&(struct fault_rule){.ops = XATTRS, .action = FAULT_ERROR, .status = -EACCES});
	ck_assert_int_eq(fill(d), 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, left_over), 0);
	ck_assert_int_eq(errors_count(core.retriever->errors), 150);
	ck_assert(is_aside("d/f149"));
	core_free_with(&core, d);
}
END_TEST

/* A mount in it is left alone; its files come from the old server. */
START_TEST(a_mount_in_it)
{
	mounts_of_our_own();
	make_source();
	copy_by_cp();
	shell("cd %s && mkdir d/m && mkdir %s/d/m && echo old >%s/d/m/f && "
	      "mount -t tmpfs none d/m && echo mine >d/m/mine && cp -a %s/d/m/f d/m/f && "
	      "touch -r %s/d d",
	      core.root, core.source, core.source, core.source, core.source);
	adopt((struct attach){0});
	make_all();
	expect_same_tree();
	shell("test \"$(cat %s/.migrate/prior/d/m/mine)\" = mine", core.root);
	shell("umount %s/.migrate/prior/d/m", core.root);
	core_free(&core);
}
END_TEST

/* Which is left over: the directory waits for it, and the list says for what. */
START_TEST(a_mount_that_is_left_over)
{
	int d;

	mounts_of_our_own();
	make_source();
	copy_by_cp();
	shell("mkdir %s/d/m && mount -t tmpfs none %s/d/m", core.root, core.root);
	adopt((struct attach){0});
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	/* counted once, however often it is tried */
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(fill(d), -EREMOTEIO);
		ck_assert_int_eq(COUNT_GET(core.retriever, left_over), 0);
		core_expect_answer(&core, "retry", "0 ");
	}
	ck_assert_int_eq(fill(d), -EREMOTEIO);
	core_expect_answer(&core, "errors 0", "/.migrate/prior/d/m: something is mounted there");
	core_expect_answer(&core, "errors 0", "see the names listed below it");
	shell("umount %s/.migrate/prior/d/m", core.root);
	core_expect_answer(&core, "retry", "0 ");
	make_all();
	core_expect_answer(&core, "errors 0", "total=0");
	expect_same_tree();
	ck_assert(is_aside("d/m"));
	ck_assert_int_eq(COUNT_GET(core.retriever, left_over), 1);
	core_free_with(&core, d);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("prior", 60);

	tcase_add_test(tcase, settings);
	tcase_add_test(tcase, directories);
	tcase_add_test(tcase, what_is_left_over);
	tcase_add_test(tcase, links_that_lead_elsewhere);
	tcase_add_test(tcase, keep_extra);
	tcase_add_test(tcase, i7_what_a_client_removed_stays_so);
	tcase_add_test(tcase, what_is_newer);
	tcase_add_test(tcase, what_a_client_has_made);
	tcase_add_test(tcase, a_tenth_of_the_names);
	tcase_add_test(tcase, names_that_are_refused);
	tcase_add_test(tcase, a_mount_in_it);
	tcase_add_test(tcase, a_mount_that_is_left_over);
	return run_tcase(tcase);
}
