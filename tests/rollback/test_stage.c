/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stage.h"

#include "trees.h"

#define STAGE OLD_TREE "/" OLD_STAGE

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
	ck_assert_msg(strstr((*error)->message, OLD_STAGE), "%s", (*error)->message);
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
	ck_assert(stage_find(way.tree, &error) && stage_clean(way.tree, &error));
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
	struct carried_object object = {.touching = true};
	struct stat st;

	ck_assert_int_eq(stat(OLD_TREE "/a/1", &st), 0);
	object.fileid = st.st_ino;
	ck_assert(carried_put(way.carried, &node.handle, &object, NULL) &&
		  carried_commit(way.carried, NULL));
	sh("cd " OLD_TREE " && mv a/1 " STAGE "/%s && mkdir " STAGE "/%s && echo >" STAGE "/theirs",
	   parked, begun);
	way_close(&way);
	way_open(&way);
	ck_assert(tree_node(way.tree, &node.handle)->there);
	way_go(&way);
	sh("cd " OLD_TREE " && grep -q old1 e/1 && test ! -e a/1 && test \"$(ls " STAGE
	   ")\" = theirs");
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	way_close(&way);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stage");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, cannot_be_listed);
	tcase_add_test(tcase, is_not_there);
	tcase_add_test(tcase, left);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
