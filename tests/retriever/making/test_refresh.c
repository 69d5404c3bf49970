/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

/* While it is set, all that happens happens in that second, whose parts nobody keeps. */
static time_t second;

int fstat(int fd, struct stat *st)
{
	int ret = syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);

	if (!ret && second)
		st->st_ctim = (struct timespec){.tv_sec = second};
	return ret;
}

static void make_source(void)
{
	core_make(&core);
	core_source_file(&core, "d/file", 5000, 1);
	core_source_file(&core, "d/empty", 0, 2);
	core_source_file(&core, "d/sub/file", 100, 3);
	core_source_file(&core, "d/hard", 3000, 4);
	source_link("d/hard", "d/sub/hard2");
	make_files("e", 20);
	shell("cd %s/d && ln -s target link && mkfifo fifo", core.source);
}

/* A run, and what was asked for in it beside listings. */
static unsigned run_and_count(void)
{
	unsigned before, asked;

	copy_open();
	ck_assert_int_eq(copy_try_begin(false), 0);
	before = backend_fault_submitted(core.fault, DATA_OPS);
	make_all();
	asked = backend_fault_submitted(core.fault, DATA_OPS) - before;
	copy_finish("made");
	copy_close();
	return asked;
}

START_TEST(nothing_changed)
{
	make_source();
	ck_assert_int_gt(copy_run("made"), 20);
	expect_same_tree();
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(run_and_count(), 0);
		expect_same_tree();
	}
	ck_assert_int_eq(copy_run("made"), 0);
	ck_assert_int_eq(copy_run("same"), 30);
	copy_free();
}
END_TEST

START_TEST(what_has_changed)
{
	make_source();
	copy_run("made");
	/* the same size and mtime: ctime tells */
	shell("cd %s/d && printf x | dd of=file conv=notrunc status=none && "
	      "touch -r %s/d/file file && chmod 600 empty && ln -sf other link && rm fifo && "
	      "mkfifo fifo && chown 5:6 sub",
	      core.source, core.root);
	/* the text of link, and what file (with its bytes), empty, link, fifo, d and sub have
	 * beside their attributes; d is listed once to see that it has changed, and then again */
	ck_assert_uint_eq(run_and_count(), 7);
	expect_same_tree();
	ck_assert(!is_aside(""));
	copy_free();
}
END_TEST

START_TEST(types_and_names)
{
	make_source();
	copy_run("made");
	shell("cd %s && mv d/file d/renamed && mv d/sub d/moved && mkdir d/sub d/file && "
	      "touch d/sub/new d/file/new && rm -r e && touch e && rm d/empty && ln -s x d/empty",
	      core.source);
	ck_assert_int_ge(copy_run("made"), 4);
	expect_same_tree();
	ck_assert(is_aside("d/sub/file"));
	ck_assert(is_aside("e/f19"));
	shell("cd %s && rm e && mkdir e && touch e/inside", core.source);
	copy_run("made");
	expect_same_tree();
	copy_free();
}
END_TEST

/* Written to here, by whomever: the newer goes aside, the older goes. */
START_TEST(what_is_newer)
{
	make_source();
	copy_run("made");
	shell("cd %s && echo newer >e/f1 && echo older >e/f2 && touch -d @1 e/f2 && : >e/f3",
	      core.root);
	shell("chmod 640 %s/e/f[123]", core.source); /* or nobody looks */
	copy_run("made");
	expect_same_tree();
	ck_assert(is_aside("e/f1"));
	ck_assert(!is_aside("e/f2"));
	ck_assert(!is_aside("e/f3"));
	copy_free();
}
END_TEST

/* Names of one file that come in different runs, and go; one that is outside of the tree. */
START_TEST(links)
{
	make_source();
	shell("ln %s/e/f0 %s/outside", core.source, core.dir);
	copy_run("made");
	ck_assert_uint_eq(run_and_count(), 0); /* though a name is never seen */
	source_link("d/hard", "hard3");
	source_link("d/file", "e/file2");
	copy_run("made");
	expect_same_tree();
	shell("cd %s && rm d/hard && ln -f e/f5 e/f6", core.source);
	copy_run("made");
	expect_same_tree();
	ck_assert_uint_eq(run_and_count(), 0);
	copy_free();
}
END_TEST

/* Two inodes with the same mark, as a name that failed in the run before leaves them. */
START_TEST(links_that_were_made_apart)
{
	make_source();
	copy_run("made");
	shell("cd %s/d && cp -p hard x && mv x sub/hard2", core.root);
	{
		g_autofree char *sub = core_path(&core, "d/sub"), *d = core_path(&core, "d");
		int a = open(d, O_RDONLY | O_CLOEXEC), b = open(sub, O_RDONLY | O_CLOEXEC);
		int fd = open_below(a, "hard", O_RDONLY);
		struct source_attr attr = {0};

		ck_assert(copy_mark_get(fd, &attr.fileid, &attr.ctime));
		ck_assert_int_eq(copy_mark_set_name(b, "hard2", &attr), 0);
		close(fd);
		close(a);
		close(b);
	}
	ck_assert_uint_eq(run_and_count(), 1); /* its ACL, no data */
	expect_same_tree();
	copy_free();
}
END_TEST

/* Changed between two names of one run that was cut short: what the first one has got is not taken
 * for the second. */
START_TEST(links_of_another_version)
{
	int d, root;

	make_source();
	copy_open();
	ck_assert_int_eq(copy_try_begin(false), 0);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	d = open_below(root, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, d, MIGRATE_DATA)), 0);
	close(d);
	close(root);
	copy_close();
	shell("printf other | dd of=%s/d/hard conv=notrunc status=none", core.source);
	copy_open();
	ck_assert_int_eq(copy_try_begin(false), 0);
	copy_close();
	copy_open();
	make_all();
	copy_finish("made");
	copy_close();
	copy_run("made");
	expect_same_tree();
	copy_free();
}
END_TEST

/* Sizes and times stay as they are. */
static void rewrite_all(const char *text, bool links)
{
	shell("cd %s && for f in d/file e/f3%s; do cp -p $f was && printf %s | "
	      "dd of=$f conv=notrunc status=none && touch -r was $f; done && "
	      "touch -hr d/link was && ln -sf %s d/link && touch -hr was d/link && rm was && "
	      "touch -d @1000 . d e",
	      core.source, links ? " d/hard" : "", text, text);
}

/* I13 */
START_TEST(written_once_more_in_the_second_of_its_reading)
{
	make_source();
	shell("touch -d @1000 %s/d/file %s/e/f3; touch -hd @1000 %s/d/link", core.source,
	      core.source, core.source);
	second = time(NULL) - 100;
	copy_run("made");
	expect_same_tree();
	rewrite_all("other1", false);
	copy_run("made");
	expect_same_tree();
	rewrite_all("other2", true);
	copy_attach();
	make_all();
	expect_same_tree();
	ck_assert(!is_aside(""));
	copy_free();
	second = 0;
}
END_TEST

/* Of a prior copy of ours nothing is read again, after the switch. */
START_TEST(the_switch)
{
	make_source();
	copy_run("made");
	shell("cd %s && rm -r d/sub/file && echo changed >e/f1 && ln e/f2 e/f2b", core.source);
	copy_attach();
	make_all();
	ck_assert_int_eq(COUNT_GET(core.retriever, bytes_fetched),
			 source_size("e/f1") + source_size("e/f2"));
	expect_same_tree();
	ck_assert(is_aside("d/sub/file"));
	shell("! getfattr -hR -d -m security.migrate %s/d %s/e | grep -q .", core.root, core.root);
	copy_free();
}
END_TEST

/* A stub that was not fetched goes on where it was. */
START_TEST(the_switch_before_the_end)
{
	int root, d;

	make_source();
	copy_open();
	ck_assert_int_eq(copy_try_begin(false), 0);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	d = open_below(root, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(d), 0);
	close(d);
	close(root);
	copy_close();
	copy_attach();
	make_all();
	expect_same_tree();
	ck_assert(!is_aside(""));
	copy_free();
}
END_TEST

/* Killed before every step of an increment, which is then repeated. */
START_TEST(killed_at_every_step)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		char *copy;
		int dir;
		struct migrate_waiter *w;

		make_source();
		copy_run("made");
		shell("cd %s && echo changed >d/file && rm d/empty && mkdir d/empty && "
		      "touch d/empty/f && rm -r d/sub && echo sub >d/sub && ln d/hard d/hard3 && "
		      "mv d/link d/link2",
		      core.source);
		shell("echo newer >%s/d/hard", core.root);
		copy_open();
		ck_assert_int_eq(copy_try_begin(false), 0);
		copy_close();
		copy = core.root;
		core.root = copy_volume;
		core_supervise(&core, 0);
		core.root = copy;
		core_connect(&core);
		dir = core_root(&core);
		ck_assert_int_eq(fill(dir), 0);
		close(dir);
		dir = open(core.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		{
			int d = open_below(dir, "d", O_RDONLY | O_DIRECTORY);

			atomic_store(&core_shared->left, nth);
			w = core_ask_fill(&core, d, MIGRATE_DATA | MIGRATE_BACKGROUND);
			ck_assert_int_eq(core_wait(w), 0);
			close(d);
		}
		close(dir);
		killed = core_killed();
		core_disconnect(&core);
		core_end_supervision(&core);
		copy_run("made");
		expect_same_tree();
		ck_assert(is_aside("d/sub/file"));
		shell("grep -rq newer %s/.migrate/aside/d", core.root);
		copy_free();
		ck_assert_int_lt(nth, 300);
	}
}
END_TEST

/* Of a directory that is listed twice, as it has changed, and again, as a name failed. */
START_TEST(the_same_counts_once)
{
	unsigned rule, before;
	int root, d;

	core_make(&core);
	core_carry(&core);
	make_files("d", 3);
	make_files("d/s", 2);
	copy_run("run");
	shell("touch %s/d/new && chmod 700 %s/d/s", core.source, core.source);
	copy_open();
	ck_assert_int_eq(copy_try_begin(false), 0);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	d = open_below(root, "d", O_RDONLY | O_DIRECTORY);
	rule = backend_fault_add(core.fault, &(struct fault_rule){.ops = XATTRS,
								  .name = "new",
								  .action = FAULT_ERROR,
								  .status = -EACCES});
	before = backend_fault_submitted(core.fault, XATTRS);
	ck_assert_int_lt(fill(d), 0);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, XATTRS) - before, 2); /* and d/s */
	ck_assert_int_lt(fill(d), 0);
	backend_fault_remove(core.fault, rule);
	make_all();
	ck_assert_int_eq(copy_finish("same"), 7);
	expect_same_tree();
	close(d);
	close(root);
	copy_close();
	copy_free();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("refresh", 150);

	tcase_add_test(tcase, the_same_counts_once);
	tcase_add_test(tcase, nothing_changed);
	tcase_add_test(tcase, what_has_changed);
	tcase_add_test(tcase, types_and_names);
	tcase_add_test(tcase, what_is_newer);
	tcase_add_test(tcase, links);
	tcase_add_test(tcase, links_that_were_made_apart);
	tcase_add_test(tcase, links_of_another_version);
	tcase_add_test(tcase, written_once_more_in_the_second_of_its_reading);
	tcase_add_test(tcase, the_switch);
	tcase_add_test(tcase, the_switch_before_the_end);
	tcase_add_test(tcase, killed_at_every_step);
	return run_tcase(tcase);
}
