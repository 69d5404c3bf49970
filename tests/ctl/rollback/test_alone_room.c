/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What has no room on the old server, or none of its own name, is that object's line. */
#include "tests/ctl/rollback/alone.h"

/* The linker wraps attrs_give(): of an object of 7 bytes it fails. */
static int given_failure;
static bool given_before; /* what fails has given all the same */

int __real_attrs_give(int fd, const struct attrs *attrs, const struct volume_config *config,
		      attrs_lost_fn lost, void *arg);
int __wrap_attrs_give(int fd, const struct attrs *attrs, const struct volume_config *config,
		      attrs_lost_fn lost, void *arg);
int __wrap_attrs_give(int fd, const struct attrs *attrs, const struct volume_config *config,
		      attrs_lost_fn lost, void *arg)
{
	const bool fails = given_failure && attrs->st.st_size == 7;
	int ret = fails && !given_before ? 0 : __real_attrs_give(fd, attrs, config, lost, arg);

	return fails ? given_failure : ret;
}

/* Whose it becomes has no room for it. */
START_TEST(quota_of_one)
{
	trees_make(FILL);
	change("a/2", JOURNAL_DATA, "echo quotas >a/2");
	change("a/3", JOURNAL_DATA, "echo new >a/3");
	make("d/new", "echo new >d/new");
	given_failure = -EDQUOT;
	for (unsigned i = 0; i < 2; i++) {
		go_back_but("a/2", "Disk quota exceeded");
		sh("cd " OLD_TREE " && grep -q old a/2 && grep -q new a/3 && grep -q new d/new");
	}
	given_failure = 0;
	go_back_whole();
}
END_TEST

/* What its new version was given, which came to nothing, is not what it has. */
START_TEST(given_in_vain)
{
	struct ledger_entry object;
	struct way way;

	trees_make(FILL);
	sh("setfattr -n " XATTR_TOLD " -v 0x80 " NEW_TREE);
	change("a/2", JOURNAL_DATA | JOURNAL_META, "echo quotas >a/2 && setfacl -m u:9:r a/2");
	const struct migrate_binding handle = handle_of("a/2");
	trees_commit();
	journal_store_close(journal);
	given_failure = -EDQUOT;
	given_before = true;
	way_open(&way);
	way_go(&way);
	ck_assert_uint_eq(way.tree->conflicts->len, 1);
	ck_assert_ptr_null(tree_node(way.tree, &handle)->carried.given);
	way_close(&way);
	given_failure = 0;
	way_open(&way);
	way_go(&way);
	ck_assert(ledger_get(way.ledger, &handle, &object));
	ck_assert(g_hash_table_contains(object.given, "system.posix_acl_access"));
	ledger_clear(&object);
	way_close(&way);
	same_trees();
}
END_TEST

START_TEST(larger_than_the_room)
{
	tree_mount = "mount -t tmpfs -o size=$([ $n = old ] && echo 2M || echo 64M) tmpfs /mnt/$n";
	trees_make(FILL);
	change("a/2", JOURNAL_DATA, "head -c 4M /dev/urandom >a/2");
	change("a/3", JOURNAL_DATA, "echo new >a/3");
	make("d/new", "echo new >d/new");
	for (unsigned i = 0; i < 2; i++) {
		go_back_but("a/2", "No space left");
		sh("cd " OLD_TREE " && grep -q old a/2 && grep -q new a/3 && grep -q new d/new");
	}
	sh("mount -o remount,size=64M " OLD_TREE);
	go_back_whole();
}
END_TEST

START_TEST(no_room_at_all)
{
	GError *error = NULL;
	struct way way;

	tree_mount = "mount -t tmpfs -o size=$([ $n = old ] && echo 2M || echo 64M) tmpfs /mnt/$n";
	trees_make(FILL);
	for (unsigned i = 1; i <= 4; i++) {
		g_autofree char *path = g_strdup_printf("a/%u", i);

		change(path, JOURNAL_DATA,
		       "echo new >>a/1; echo new >>a/2; echo new >>a/3; echo new >>a/4");
	}
	way_begin_run(&way);
	sh("cd " OLD_TREE " && { head -c 4M /dev/zero >full 2>/dev/null || :; }");
	ck_assert(!carry_out(way.tree, &stop_now, &way.done, &error));
	ck_assert_msg(strstr(error->message, "No space left") != NULL, "%s", error->message);
	g_error_free(error);
	way_end_run(&way);
	sh("rm " OLD_TREE "/full");
	go_back_whole();
}
END_TEST

START_TEST(name_of_the_stage)
{
	trees_make(FILL);
	change("a/2", JOURNAL_DATA, "echo new >a/2");
	make(TARGET_STAGE, "mkdir " TARGET_STAGE);
	make(TARGET_STAGE "/in", "echo in >" TARGET_STAGE "/in");
	move("a/3", TARGET_STAGE "/3");
	for (unsigned i = 0; i < 2; i++) {
		go_back_but(TARGET_STAGE, "rename it here");
		sh("cd " OLD_TREE
		   " && grep -q new a/2 && grep -q old a/3 && test ! -e " TARGET_STAGE);
	}
	move(TARGET_STAGE, "renamed");
	go_back_whole();
}
END_TEST

/* And somebody has one there, which is none of the way back's. */
START_TEST(somebodys_stage)
{
	trees_make(FILL);
	sh("mkdir " OLD_TREE "/" TARGET_STAGE " && echo theirs >" OLD_TREE "/" TARGET_STAGE
	   "/notes");
	change("a/2", JOURNAL_DATA, "echo new >a/2");
	go_back_but(TARGET_STAGE "/notes", "move it elsewhere");
	sh("grep -q theirs " OLD_TREE "/" TARGET_STAGE "/notes && grep -q new " OLD_TREE "/a/2");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, quota_of_one);
	tcase_add_test(tcase, given_in_vain);
	tcase_add_test(tcase, larger_than_the_room);
	tcase_add_test(tcase, no_room_at_all);
	tcase_add_test(tcase, name_of_the_stage);
	tcase_add_test(tcase, somebodys_stage);
	return run_tcase(tcase);
}
