/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/leftovers.h"

#include "tests/ctl/rollback/trees.h"

#define STAGE OLD_TREE "/" TARGET_STAGE

static void begin(void)
{
	trees_make(FILL);
	move("a/1", "e/1");
	trees_commit();
	journal_store_close(journal);
}

static void says_so(GError **error)
{
	ck_assert_ptr_nonnull(*error);
	ck_assert_msg(strstr((*error)->message, TARGET_STAGE), "%s", (*error)->message);
	g_clear_error(error);
}

/* What was put aside would count as what is not there any more, or the way would end before it. */
START_TEST(cannot_be_listed)
{
	GError *error = NULL;
	struct way way;

	begin();
	for (unsigned planned = 0; planned < 2; planned++) {
		(planned ? way_open : way_begin)(&way);
		sh("mount -t tmpfs tmpfs " STAGE);
		ck_assert(planned ? !carry_out(way.tree, &stop_now, &way.done, &error)
				  : !plan_make(way.tree, &way.plan, &error));
		says_so(&error);
		ck_assert_uint_eq(way.tree->conflicts->len, 0);
		sh("umount " STAGE " && grep -q old1 " OLD_TREE "/a/1");
		way_close(&way);
	}
}
END_TEST

START_TEST(is_not_there)
{
	GError *error = NULL;
	struct way way;

	begin();
	way_open(&way);
	sh("rmdir " STAGE);
	ck_assert(leftovers_find(way.tree, &error) && leftovers_clean(way.tree, &error));
	sh("mkdir " STAGE);
	way_close(&way);
}
END_TEST

/* What was put aside and begun by hand of a run that was killed, and what somebody else put there.
 */
START_TEST(left)
{
	struct way way;

	begin();
	way_open(&way);
	const struct node node = {.handle = handle_of("e/1")};
	g_autofree char *parked = tree_stage_name(&node, STAGE_PARKED);
	g_autofree char *begun = tree_stage_name(&node, STAGE_NEW);
	struct ledger_entry object = {.touching = true};
	struct stat st;

	ck_assert_int_eq(stat(OLD_TREE "/a/1", &st), 0);
	object.fileid = st.st_ino;
	ck_assert(ledger_put(way.ledger, &node.handle, &object, NULL) &&
		  ledger_commit(way.ledger, NULL));
	sh("cd " OLD_TREE " && mv a/1 " STAGE "/%s && mkdir " STAGE "/%s && echo >" STAGE "/theirs",
	   parked, begun);
	way_close(&way);
	way_open(&way);
	ck_assert(tree_node(way.tree, &node.handle)->there);
	way_go(&way);
	sh("cd " OLD_TREE " && grep -q old1 e/1 && test ! -e a/1 && test \"$(ls " STAGE
	   ")\" = theirs");
	ck_assert_uint_eq(way.tree->conflicts->len, 1);
	ck_assert_str_eq(((struct problem *)way.tree->conflicts->pdata[0])->path,
			 TARGET_STAGE "/theirs");
	way_close(&way);
}
END_TEST

static const char *line_of(const struct way *way, const char *path)
{
	for (guint i = 0; i < way->tree->conflicts->len; i++) {
		const struct problem *problem = way->tree->conflicts->pdata[i];

		if (!strcmp(problem->path, path))
			return problem->text;
	}
	return NULL;
}

/* Each is named, and where it came from; what is known to be ours goes. */
START_TEST(stays)
{
	static const char kinds[] = {STAGE_PARKED, STAGE_FORMER, STAGE_DROPPED};
	struct way way;

	trees_make(FILL);
	change("a/1", JOURNAL_DATA, "echo more >>a/1");
	trees_commit();
	journal_store_close(journal);
	const struct node node = {.handle = handle_of("a/1")};
	way_begin(&way);
	for (unsigned i = 0; i < 2 * G_N_ELEMENTS(kinds); i++) {
		g_autofree char *name = tree_stage_name(&node, kinds[i / 2]);

		/* somebody else's, a file or a directory */
		sh(i % 2 ? "mkdir " STAGE "/%s" : "echo theirs >" STAGE "/%s", name);
		for (unsigned run = 0; run < 2; run++) {
			g_autofree char *path = target_path(TARGET_STAGE, name);

			way_close(&way);
			way_open(&way);
			way_go(&way);
			ck_assert_uint_eq(way.tree->conflicts->len, 1);
			ck_assert_ptr_nonnull(line_of(&way, path));
			ck_assert_ptr_nonnull(strstr(line_of(&way, path), " a/1,"));
		}
		sh("rm -r " STAGE "/%s && cmp " NEW_TREE "/a/1 " OLD_TREE "/a/1", name);
	}
	way_close(&way);
	way_open(&way);
	way_go(&way);
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	way_close(&way);
	sh("test ! -e " STAGE);
	same_trees();
}
END_TEST

/* A name that goes, and whose last step failed, goes in the next run. */
START_TEST(dropped)
{
	struct way way;
	struct ledger_entry object = {0};
	struct stat st;

	trees_make(FILL);
	move("a/1", "e/1");
	trees_commit();
	journal_store_close(journal);
	const struct node node = {.handle = handle_of("e/1")};
	g_autofree char *name = tree_stage_name(&node, STAGE_DROPPED);
	way_open(&way);
	ck_assert_int_eq(stat(OLD_TREE "/a/1", &st), 0);
	object.fileid = st.st_ino;
	ck_assert(ledger_put(way.ledger, &node.handle, &object, NULL) &&
		  ledger_commit(way.ledger, NULL));
	sh("ln " OLD_TREE "/a/1 " STAGE "/%s", name);
	way_go(&way);
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	way_close(&way);
	sh("test ! -e " STAGE);
	same_trees();
}
END_TEST

/* Somebody had replaced it, and a run was killed right after the new version had changed places
 * with what he wrote: that has the name of the new one, and is named. */
START_TEST(i7_killed_between_two_names)
{
	struct way way;
	struct ledger_entry object = {0};
	struct stat st;

	trees_make(FILL);
	change("a/3", JOURNAL_DATA, "echo more >>a/3");
	trees_commit();
	journal_store_close(journal);
	const struct node node = {.handle = handle_of("a/3")};
	g_autofree char *name = tree_stage_name(&node, STAGE_NEW);
	way_open(&way);
	ck_assert_int_eq(stat(OLD_TREE "/a/3", &st), 0);
	object.fileid = st.st_ino;
	sh("cd " OLD_TREE " && cp -p " NEW_TREE "/a/3 " STAGE "/x && echo theirs >a/3.theirs && "
	   "mv a/3.theirs " STAGE "/%s && mv " STAGE "/x a/3",
	   name);
	ck_assert_int_eq(stat(OLD_TREE "/a/3", &st), 0);
	ledger_stage(&object, &st);
	ck_assert(ledger_put(way.ledger, &node.handle, &object, NULL) &&
		  ledger_commit(way.ledger, NULL));
	way_close(&way);
	for (unsigned run = 0; run < 2; run++) {
		way_open(&way);
		way_go(&way);
		sh("grep -rq theirs " STAGE " && cmp " NEW_TREE "/a/3 " OLD_TREE "/a/3");
		ck_assert_uint_eq(way.tree->conflicts->len, 1);
		const struct problem *problem = way.tree->conflicts->pdata[0];
		ck_assert_ptr_nonnull(strstr(problem->text, " a/3,"));
		way_close(&way);
	}
}
END_TEST

/* Or with one that was to go, and was known: it goes. */
START_TEST(killed_between_two_names)
{
	struct way way;
	struct ledger_entry object = {0}, over = {0};
	struct stat st;

	trees_make(FILL);
	const struct node gone = {.handle = handle_of("a/3")};
	take_away("a/3");
	make("a/3", "echo new >a/3");
	trees_commit();
	journal_store_close(journal);
	const struct node node = {.handle = handle_of("a/3")};
	g_autofree char *name = tree_stage_name(&node, STAGE_NEW);
	way_open(&way);
	ck_assert_int_eq(stat(OLD_TREE "/a/3", &st), 0);
	over.fileid = st.st_ino;
	over.size = (uint64_t)st.st_size;
	over.mtime = migrate_ns(st.st_mtim);
	sh("cd " OLD_TREE " && mv a/3 " STAGE "/%s && cp -p " NEW_TREE "/a/3 a/3", name);
	ck_assert_int_eq(stat(OLD_TREE "/a/3", &st), 0);
	ledger_stage(&object, &st);
	ck_assert(ledger_put(way.ledger, &gone.handle, &over, NULL) &&
		  ledger_put(way.ledger, &node.handle, &object, NULL) &&
		  ledger_commit(way.ledger, NULL));
	way_close(&way);
	way_open(&way);
	way_go(&way);
	show(way.tree->conflicts);
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	way_close(&way);
	sh("test ! -e " STAGE);
	same_trees();
}
END_TEST

/* It is noted no more, but was not removed when a run was killed. */
START_TEST(killed_before_it_goes)
{
	struct way way;
	struct ledger_entry object = {.touching = true};
	struct stat st;

	trees_make(FILL);
	change("a/3", JOURNAL_DATA, "echo more >>a/3");
	trees_commit();
	journal_store_close(journal);
	const struct node node = {.handle = handle_of("a/3")};
	g_autofree char *begun = tree_stage_name(&node, STAGE_BEGUN);
	way_open(&way);
	ck_assert_int_eq(stat(OLD_TREE "/a/3", &st), 0);
	object.fileid = st.st_ino;
	ck_assert(ledger_put(way.ledger, &node.handle, &object, NULL) &&
		  ledger_commit(way.ledger, NULL));
	sh("cp -p " NEW_TREE "/a/3 " STAGE "/%s", begun);
	way_close(&way);
	way_open(&way);
	way_go(&way);
	show(way.tree->conflicts);
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	way_close(&way);
	sh("test ! -e " STAGE);
	same_trees();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, cannot_be_listed);
	tcase_add_test(tcase, is_not_there);
	tcase_add_test(tcase, left);
	tcase_add_test(tcase, stays);
	tcase_add_test(tcase, dropped);
	tcase_add_test(tcase, i7_killed_between_two_names);
	tcase_add_test(tcase, killed_between_two_names);
	tcase_add_test(tcase, killed_before_it_goes);
	return run_tcase(tcase);
}
