/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/listing.h"

#include "tests/ctl/rollback/trees.h"

/* A name that no hint leads to is found by a walk. */
START_TEST(searched)
{
	struct migrate_binding handle;
	struct way way;

	trees_make(FILL);
	handle = handle_of("a/b/c/y");
	sh("echo more >>" NEW_TREE "/a/b/c/y");
	journal_store_touch(journal, &handle, JOURNAL_DATA, NULL);
	way_begin_run(&way);
	g_autofree char *path = tree_path(tree_node(way.tree, &handle));
	ck_assert_str_eq(path, "a/b/c/y");
	way_end_run(&way);
	go_back_whole();
}
END_TEST

/* What is mounted is not walked: its handle here is that of the root, for ever. */
START_TEST(searched_beside_a_mount)
{
	tree_mount = ON_EXT4;
	trees_make(FILL);
	sh("mount --bind " OLD_TREE " " NEW_TREE "/d && echo more >>" NEW_TREE "/a/b/c/y");
	const struct migrate_binding handle = handle_of("a/b/c/y");
	journal_store_touch(journal, &handle, JOURNAL_DATA, NULL);
	go_back(0);
	sh("grep -q more " OLD_TREE "/a/b/c/y");
}
END_TEST

/* One that is known is found again. */
START_TEST(each_name_once)
{
	struct way way;

	trees_make(FILL);
	const struct migrate_binding handle = handle_of("a/1");
	note("a/1", JOURNAL_DATA | JOURNAL_SCANNED);
	way_begin_run(&way);
	ck_assert_uint_eq(tree_node(way.tree, &handle)->at->len, 2);
	way_close(&way);
}
END_TEST

static unsigned loaded(void)
{
	struct way way;

	way_begin_run(&way);
	const unsigned nodes = way.tree->active->len;
	way_end_run(&way);
	return nodes;
}

static void written(const struct migrate_binding *handle)
{
	journal_store_touch(journal, handle, JOURNAL_DATA, NULL);
}

/* Of another tree of the file system: it is looked for once, until a name of it comes here. */
START_TEST(elsewhere)
{
	struct migrate_binding handle, linked;

	trees_make(FILL);
	sh("mkdir " NEW_TREE "/other && cd " NEW_TREE
	   "/other && echo foreign >f && echo foreign >g");
	handle = handle_of("other/f");
	linked = handle_of("other/g");
	sh("ln " NEW_TREE "/other/g " NEW_TREE "/e/g");
	journal_store_linked(journal, &linked);
	note_made("e/g");
	/* out of sight */
	sh("mount -t tmpfs tmpfs " NEW_TREE "/other");
	written(&handle);
	ck_assert_uint_eq(loaded(), 4); /* with the root, and where the link is */
	go_back(0);
	sh("cmp " NEW_TREE "/e/g " OLD_TREE "/e/g");
	ck_assert_uint_eq(loaded(), 1);
	written(&handle);
	ck_assert_uint_eq(loaded(), 1);
	sh("umount " NEW_TREE "/other && ln " NEW_TREE "/other/f " NEW_TREE "/d/f");
	note_made("d/f");
	sh("mount -t tmpfs tmpfs " NEW_TREE "/other");
	ck_assert_uint_eq(loaded(), 3);
	go_back(0);
	sh("cmp " NEW_TREE "/d/f " OLD_TREE "/d/f");
}
END_TEST

/* What was written before its directory came here came with that. */
START_TEST(came_along)
{
	struct migrate_binding handle;

	trees_make(FILL);
	sh("mkdir -p " NEW_TREE "/e/came/deep && echo foreign >" NEW_TREE "/e/came/deep/f");
	handle = handle_of("e/came/deep/f");
	note_made("e/came");
	written(&handle);
	go_back_whole();
}
END_TEST

/* What is mounted below it is another tree: without handles, with others, with the same ones. */
START_TEST(mounted_in_what_came)
{
	static const char *const mounts[] = {"-t proc proc", "-t tmpfs tmpfs",
					     ("--bind " OLD_TREE)};

	tree_mount = _i == 2 ? ON_EXT4 : tree_mount;
	trees_make(FILL);
	make("d/in", "mkdir -p d/in/mounted && echo y >d/in/y");
	sh("cd " NEW_TREE " && rm a/3 && mount %s d/in/mounted", mounts[_i]);
	note("a", JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_SCANNED | JOURNAL_DIRECTORY);
	go_back(0);
	sh("cd " OLD_TREE " && grep -q y d/in/y && test ! -e a/3");
}
END_TEST

/* From there the retriever may bring it, and nobody would tell. */
START_TEST(in_the_private_directory)
{
	struct migrate_binding handle;

	trees_make(FILL);
	sh("mkdir -p " NEW_TREE "/.migrate/prior && echo kept >" NEW_TREE "/.migrate/prior/f");
	handle = handle_of(".migrate/prior/f");
	written(&handle);
	go_back(0);
	ck_assert_uint_eq(loaded(), 2);
	sh("mv " NEW_TREE "/.migrate/prior/f " NEW_TREE "/d/f && cp -a " NEW_TREE "/d/f " OLD_TREE
	   "/d/f");
	sh("echo more >>" NEW_TREE "/d/f");
	go_back(1); /* found, and newer on the old server than the switch */
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, searched);
	tcase_add_test(tcase, searched_beside_a_mount);
	tcase_add_test(tcase, each_name_once);
	tcase_add_test(tcase, elsewhere);
	tcase_add_test(tcase, came_along);
	tcase_add_loop_test(tcase, mounted_in_what_came, 0, 3);
	tcase_add_test(tcase, in_the_private_directory);
	return run_tcase(tcase);
}
