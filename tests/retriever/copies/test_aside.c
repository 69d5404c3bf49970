/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

/* A volume with "d/f"; d is filled. */
static int start(void)
{
	int d;

	core_make(&core);
	core_source_file(&core, "d/f", 1000, 1);
	core_source_file(&core, "unfilled/f", 1000, 2);
	core_start(&core);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(d), 0);
	return d;
}

/* As something of a client's, which is moved there. */
static void put(int dir, const char *name, const char *path)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", dir);

	write_file(link, name, "text");
	ck_assert_int_eq(aside_put(core.retriever, dir, name, path, name), 0);
	ck_assert(!is_there(link, name));
}

static bool collect(void *arg, const char *path, const struct stat *st)
{
	g_ptr_array_add(arg, g_strdup(path));
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All of it, sorted. */
static char *listed(void)
{
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

	ck_assert_int_eq(aside_walk(core.retriever, collect, paths), 0);
	g_ptr_array_sort(paths, by_name);
	ck_assert_int_eq(COUNT_GET(core.retriever, aside), paths->len);
	g_ptr_array_add(paths, NULL);
	return g_strjoinv(" ", (char **)paths->pdata);
}

static void expect_listed(const char *want)
{
	g_autofree char *have = listed();

	ck_assert_str_eq(have, want);
}

START_TEST(what_is_of_one_name)
{
	int d = start();

	ck_assert_int_eq(aside_put(core.retriever, d, "none", "d", "none"), 0);
	expect_listed("");
	put(d, "x", "d");
	put(d, "x", "d");
	put(d, "x", NULL);
	expect_listed("d/x d/x.~1~ x");
	/* a directory, where a file is, and the other way round */
	put(d, "y", "d/x");
	expect_listed("d/x.~1~ d/x.~2~ d/x/y x");
	put(d, "d", "");
	expect_listed("d.~1~ d/x.~1~ d/x.~2~ d/x/y x");
	shell("mkdir -p %s/d/t/empty %s/d/t/full && touch %s/d/t/full/f", core.root, core.root,
	      core.root);
	ck_assert_int_eq(aside_put(core.retriever, d, "t", "d", "t"), 0);
	expect_listed("d.~1~ d/t/empty d/t/full/f d/x.~1~ d/x.~2~ d/x/y x");
	ck_assert_int_eq(aside_count(core.retriever), 0);
	expect_listed("d.~1~ d/t/empty d/t/full/f d/x.~1~ d/x.~2~ d/x/y x");
	ck_assert_int_eq(aside_discard(core.retriever), 0);
	expect_listed("");
	ck_assert_int_eq(COUNT_GET(core.retriever, aside_bytes), 0);
	core_free_with(&core, d);
}
END_TEST

/* Cut, but not in the middle of a character; and where there is none that begins. */
START_TEST(the_longest_names)
{
	static const char *const pieces[] = {"x", "\xc3\xa4", "\xe2\x82\xac", "\x80"};
	int d = start();

	for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++) {
		g_autoptr(GString) name = g_string_new(NULL);
		g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

		while (name->len + strlen(pieces[i]) <= 255)
			g_string_append(name, pieces[i]);
		for (unsigned n = 0; n < 12; n++)
			put(d, name->str, "d");
		ck_assert_int_eq(aside_walk(core.retriever, collect, paths), 0);
		ck_assert_uint_eq(paths->len, 12);
		for (guint n = 0; n < paths->len; n++)
			ck_assert(i == 3 || g_utf8_validate(paths->pdata[n], -1, NULL));
		ck_assert_int_eq(aside_discard(core.retriever), 0);
	}
	core_free_with(&core, d);
}
END_TEST

START_TEST(back_again)
{
	g_autofree char *aside = NULL;
	int d = start(), fd;

	ck_assert_int_eq(fill(open(core.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)), 0);
	put(d, "x", "d");
	put(d, "f2", "d/sub/below");
	put(d, "r", "");
	aside = core_path(&core, ".migrate/aside");
	fd = open(aside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(copy_mark_set_name(fd, "d/x", &(struct source_attr){.fileid = 1}), 0);
	ck_assert_int_eq(aside_restore(core.retriever, "/d//x"), 0);
	ck_assert_int_eq(
		fgetxattr(open_below(d, "x", O_RDONLY), "security.migrate.copied", NULL, 0), -1);
	/* what is there stays, here and there */
	put(d, "x2", "d");
	shell("echo mine >%s/d/x2", core.root);
	ck_assert_int_eq(aside_restore(core.retriever, "d/x2"), -EEXIST);
	shell("test \"$(cat %s/d/x2)\" = mine && test \"$(cat %s/d/x2)\" = text", core.root, aside);
	/* one of the name that things have on their way, and another that is beside it */
	put(d, "restored", "");
	ck_assert_int_eq(aside_restore(core.retriever, "r"), 0);
	ck_assert_int_eq(aside_restore(core.retriever, "restored"), 0);
	put(d, "restored", "");
	put(d, "y", "d");
	ck_assert_int_eq(aside_restore(core.retriever, "d/y"), 0);
	expect_listed("d/sub/below/f2 d/x2 restored.~1~");
	/* a link of what is served becomes a file of its own before it is served, too */
	shell("cd %s && ln d/y .migrate/aside/d/link", core.root);
	ck_assert_int_eq(aside_restore(core.retriever, "d/link"), 0);
	shell("cd %s/d && test ! link -ef y && cmp link y", core.root);
	/* there is no such directory; then there is */
	ck_assert_int_eq(aside_restore(core.retriever, "d/sub/below/f2"), -ENOENT);
	shell("mkdir -p %s/d/sub/below", core.root);
	ck_assert_int_eq(aside_restore(core.retriever, "d/sub/below/f2"), 0);
	ck_assert(!is_aside("d/sub")); /* nor what only led to it */
	ck_assert_int_eq(aside_restore(core.retriever, "d/sub/below/f2"), -ENOENT);
	/* never out of it */
	ck_assert_int_eq(aside_restore(core.retriever, "../state"), -EINVAL);
	ck_assert_int_eq(aside_restore(core.retriever, "d/../../state"), -EINVAL);
	ck_assert_int_eq(aside_restore(core.retriever, "."), -EINVAL);
	ck_assert_int_eq(aside_restore(core.retriever, ""), -EINVAL);
	shell("ln -s /tmp %s/tmp", aside);
	ck_assert_int_lt(aside_restore(core.retriever, "tmp/x"), 0);
	close(fd);
	core_free_with(&core, d);
}
END_TEST

/* As they are, and as they are listed. */
START_TEST(names_that_are_no_text)
{
	int d = start();
	g_autofree char *listed = NULL;

	shell("cd %s/.migrate && mkdir -p aside/d && cd aside/d && touch \"$(printf 'a\\377b')\" "
	      "\"$(printf 'c\\377d')\" \"$(printf 'e\\nf')\" 'g\\134'",
	      core.root);
	listed = core_control(&core, "aside");
	ck_assert_ptr_nonnull(strstr(listed, "path=d/a\\\\377b\n"));
	ck_assert_ptr_nonnull(strstr(listed, "path=d/e\\\\012f\n"));
	ck_assert_int_eq(aside_restore(core.retriever, "d/a\\377b"), 0);
	ck_assert_int_eq(aside_restore(core.retriever, "d/c\377d"), 0);
	ck_assert_int_eq(aside_restore(core.retriever, "d/e\\012f"), 0);
	ck_assert_int_eq(aside_restore(core.retriever, "d/g\\134"), 0);
	ck_assert(is_there(core.root, "d/a\377b"));
	ck_assert(is_there(core.root, "d/c\377d"));
	ck_assert(is_there(core.root, "d/e\nf"));
	ck_assert(is_there(core.root, "d/g\\134"));
	core_free_with(&core, d);
}
END_TEST

/* I6: a name in it would be taken for one of the old server's. */
START_TEST(not_into_what_is_not_compared)
{
	int d = start(), root = core_root(&core), unfilled;

	put(d, "x", "unfilled");
	put(d, "r", "");
	unfilled = core_find(&core, "unfilled", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_state(unfilled), MIGRATE_UNFILLED);
	ck_assert_int_eq(aside_restore(core.retriever, "unfilled/x"), -EBUSY);
	ck_assert_int_eq(aside_restore(core.retriever, "r"), -EBUSY);
	ck_assert_int_eq(fill(unfilled), 0);
	ck_assert_int_eq(aside_restore(core.retriever, "unfilled/x"), 0);
	ck_assert_int_eq(fill(root), 0);
	ck_assert_int_eq(aside_restore(core.retriever, "r"), 0);
	expect_listed("");
	make_all();
	close(unfilled);
	close(root);
	core_free_with(&core, d);
}
END_TEST

/* I4: a stub has nothing that could be restored. */
START_TEST(stubs_are_not_restored)
{
	int d = start(), fd;

	ck_assert_int_eq(aside_put(core.retriever, d, "f", "d", "f"), 0);
	expect_listed("");
	ck_assert(!is_there(core.root, "d/f"));
	shell("mkdir %s/d/t", core.root);
	fd = core_find(&core, "unfilled/f", O_RDONLY);
	shell("mv %s/unfilled/f %s/d/t", core.root, core.root);
	ck_assert_int_eq(aside_put(core.retriever, d, "t", "d", "t"), 0);
	ck_assert_int_eq(aside_restore(core.retriever, "d/t"), -ENODATA);
	ck_assert(is_aside("d/t/f"));
	close(fd);
	core_free_with(&core, d);
}
END_TEST

START_TEST(a_mount_in_it)
{
	int d;

	mounts_of_our_own();
	d = start();
	shell("mkdir -p %s/.migrate/aside/a/mount && touch %s/.migrate/aside/a/f && "
	      "mount -t tmpfs none %s/.migrate/aside/a/mount && touch %s/.migrate/aside/a/mount/f",
	      core.root, core.root, core.root, core.root);
	ck_assert_int_eq(aside_discard(core.retriever), -EBUSY);
	ck_assert(is_aside("a/mount/f"));
	expect_listed("a/mount");
	shell("umount %s/.migrate/aside/a/mount", core.root);
	ck_assert_int_eq(aside_discard(core.retriever), 0);
	ck_assert(!is_aside("a"));
	core_free_with(&core, d);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("aside", 60);

	tcase_add_test(tcase, what_is_of_one_name);
	tcase_add_test(tcase, the_longest_names);
	tcase_add_test(tcase, back_again);
	tcase_add_test(tcase, names_that_are_no_text);
	tcase_add_test(tcase, not_into_what_is_not_compared);
	tcase_add_test(tcase, stubs_are_not_restored);
	tcase_add_test(tcase, a_mount_in_it);
	return run_tcase(tcase);
}
