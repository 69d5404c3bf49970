/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/in_flight.h"

#include <sys/wait.h>

#include "tests/ctl/rollback/trees.h"

static pid_t teller;
static int tell[2];

static bool settle_once(struct journal_reader *reader, GError **error)
{
	int status;

	close(tell[1]);
	ck_assert_int_eq(waitpid(teller, &status, 0), teller);
	ck_assert_int_eq(status, 0);
	return journal_refresh(reader, error);
}

/* They have no rows yet. */
struct removed {
	struct migrate_binding dir, object;
	const char *name;
	bool directory;
};

/* The rows of what was moved or removed come when the plan has looked at what is here. */
static void tell_all_meanwhile(const char *const *paths, const struct removed *removed,
			       unsigned count)
{
	ck_assert_int_eq(pipe2(tell, O_CLOEXEC), 0);
	teller = fork();
	ck_assert_int_ge(teller, 0);
	settle = settle_once;
	if (teller)
		return;
	char byte;
	close(tell[1]);
	if (read(tell[0], &byte, 1) < 0)
		_exit(1);
	open_store();
	for (unsigned i = 0; paths[i]; i += 2) {
		g_autofree char *from = g_path_get_basename(paths[i]), *to = NULL;
		g_autofree char *dir = g_path_get_dirname(paths[i]), *full = in_new(paths[i + 1]);
		const struct journal_place before = {handle_of(dir), from},
					   after = place_of(paths[i + 1], &to);
		const struct migrate_binding handle = handle_of(paths[i + 1]);

		journal_store_moved(journal, &handle, g_file_test(full, G_FILE_TEST_IS_DIR),
				    &before, &after);
	}
	for (unsigned i = 0; i < count; i++) {
		const struct journal_place place = {removed[i].dir, (char *)removed[i].name};

		journal_store_removed(journal, &removed[i].object, removed[i].directory, &place);
		journal_store_gone(journal, &removed[i].object);
	}
	trees_commit();
	journal_store_close(journal);
	_exit(0);
}

static void tell_meanwhile(const char *const *paths)
{
	tell_all_meanwhile(paths, NULL, 0);
}

static void move_meanwhile(const char *const *paths)
{
	for (unsigned i = 0; paths[i]; i += 2)
		sh("cd " NEW_TREE " && mv %s %s", paths[i], paths[i + 1]);
	tell_meanwhile(paths);
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	ck_assert_msg(lstat(path, &st) == 0, "%s: %s", path, strerror(errno));
	return st.st_ino;
}

/* What is moved out of sight while the plan is made stays, in its directory and in one below. */
START_TEST(moved_meanwhile)
{
	static const char *const moved[] = {"a/3", "e/3", "a/b", "e/b", NULL};
	struct way way;

	trees_make(FILL);
	const ino_t file = inode_of(OLD_TREE "/a/3"), dir = inode_of(OLD_TREE "/a/b"),
		    below = inode_of(OLD_TREE "/a/b/c/y");
	take_away("a/4");
	change("a/b/x", JOURNAL_DATA, "echo more >>a/b/x");
	change("a/b/c", JOURNAL_META, "chmod 700 a/b/c");
	trees_commit();
	journal_store_close(journal);
	move_meanwhile(moved);
	way_open(&way);
	way_go(&way);
	show(way.tree->conflicts);
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	ck_assert_uint_gt(way.done.left, 0);
	ck_assert_uint_eq(way.done.removed, 1);
	way_close(&way);
	ck_assert_uint_eq(inode_of(OLD_TREE "/a/3"), file);
	ck_assert_uint_eq(inode_of(OLD_TREE "/a/b/c/y"), below);
	settle = NULL;
	open_store();
	go_back_whole();
	ck_assert_uint_eq(inode_of(OLD_TREE "/e/3"), file);
	ck_assert_uint_eq(inode_of(OLD_TREE "/e/b"), dir);
	ck_assert_uint_eq(inode_of(OLD_TREE "/e/b/c/y"), below);
}
END_TEST

/* Where directories are moved, nobody can say that something is nowhere. */
START_TEST(searched_meanwhile)
{
	static const char *const moved[] = {"a/b", "e/b", NULL};
	struct migrate_binding handle;
	struct way way;

	trees_make(FILL);
	sh("mkdir " NEW_TREE "/other && echo foreign >" NEW_TREE "/other/f");
	handle = handle_of("other/f");
	sh("mount -t tmpfs tmpfs " NEW_TREE "/other");
	journal_store_touch(journal, &handle, JOURNAL_DATA, NULL);
	trees_commit();
	journal_store_close(journal);
	move_meanwhile(moved);
	way_open(&way);
	ck_assert(tree_node(way.tree, &handle)->left == LEFT_LATER);
	way_go(&way);
	ck_assert(!ledger_is_elsewhere(way.ledger, &handle));
	way_close(&way);
	settle = NULL;
	open_store();
	go_back(0);
}
END_TEST

/* What comes into a directory that was made is not made for that. */
START_TEST(moved_into_what_was_made)
{
	static const char *const moved[] = {"a/3", "n/3", "d", "n/d", NULL};
	struct way way;

	trees_make(FILL);
	const ino_t file = inode_of(OLD_TREE "/a/3"), dir = inode_of(OLD_TREE "/d");
	make("n", "mkdir n");
	trees_commit();
	journal_store_close(journal);
	move_meanwhile(moved);
	way_open(&way);
	way_go(&way);
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	ck_assert_uint_eq(way.done.made, 1);
	way_close(&way);
	ck_assert_uint_eq(inode_of(OLD_TREE "/a/3"), file);
	ck_assert_uint_eq(inode_of(OLD_TREE "/d"), dir);
	settle = NULL;
	open_store();
	go_back(0);
	ck_assert_uint_eq(inode_of(OLD_TREE "/n/3"), file);
	ck_assert_uint_eq(inode_of(OLD_TREE "/n/d"), dir);
}
END_TEST

/* What waits for that gets its attributes, and its name in the next run. */
START_TEST(into_the_place_of_what_was_moved)
{
	static const char *const moved[] = {"a/3", "e/3", NULL};
	struct way way;

	trees_make(FILL);
	const ino_t file = inode_of(OLD_TREE "/a/5");
	sh("cd " NEW_TREE " && mv a/3 e/3");
	change("a/5", JOURNAL_META, "chmod 600 a/5");
	move("a/5", "a/3");
	trees_commit();
	journal_store_close(journal);
	tell_meanwhile(moved);
	way_open(&way);
	way_go(&way);
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	ck_assert_uint_gt(way.done.left, 0);
	way_close(&way);
	sh("test $(stat -c %%a " OLD_TREE "/a/5) = 600");
	settle = NULL;
	open_store();
	go_back_whole();
	ck_assert_uint_eq(inode_of(OLD_TREE "/a/3"), file);
}
END_TEST

/* Of its directory no row tells yet: it is not told like one that cannot be read. */
START_TEST(removed_meanwhile)
{
	static const char *const none[] = {NULL};
	struct removed removed[] = {{.name = "x"},
				    {.name = "y"},
				    {.name = "c", .directory = true},
				    {.name = "b", .directory = true}};
	struct way way;

	trees_make(FILL);
	change("a/b/x", JOURNAL_DATA, "echo more >>a/b/x");
	removed[0].object = handle_of("a/b/x");
	removed[1].object = handle_of("a/b/c/y");
	removed[1].dir = removed[2].object = handle_of("a/b/c");
	removed[0].dir = removed[2].dir = removed[3].object = handle_of("a/b");
	removed[3].dir = handle_of("a");
	trees_commit();
	journal_store_close(journal);
	sh("rm -r " NEW_TREE "/a/b");
	tell_all_meanwhile(none, removed, G_N_ELEMENTS(removed));
	way_open(&way);
	way_go(&way);
	show(way.tree->conflicts);
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	way_close(&way);
	settle = NULL;
	open_store();
	go_back_whole();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, moved_meanwhile);
	tcase_add_test(tcase, searched_meanwhile);
	tcase_add_test(tcase, moved_into_what_was_made);
	tcase_add_test(tcase, into_the_place_of_what_was_moved);
	tcase_add_test(tcase, removed_meanwhile);
	return run_tcase(tcase);
}
