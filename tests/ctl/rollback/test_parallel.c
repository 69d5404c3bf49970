/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/parallel.h"

#include "ctl/rollback/target_ops.h"
#include "tests/ctl/rollback/trees.h"

#define MANY 500

/* What is made at the same time does not get into what the others are. */
START_TEST(many)
{
	trees_make("mkdir -p a d && for i in $(seq 500); do echo old$i >a/$i; done && "
		   "find . -exec touch -hd 2001-02-03T04:05:06.789 {} +");
	sh("cd " NEW_TREE " && for i in $(seq 500); do echo new$i >>a/$i && "
	   "chmod $(printf %%03o $((i %% 512))) a/$i && touch -d @$((i * 1000)).5 a/$i; done && "
	   "truncate -s 9M a/7 && echo end >>a/7 && setfattr -n user.x -v y a/8");
	for (unsigned i = 1; i <= MANY; i++) {
		g_autofree char *path = g_strdup_printf("a/%u", i);

		note(path, JOURNAL_DATA | JOURNAL_META);
	}
	make("d/symlink", "ln -s to d/symlink");
	make("d/pipe", "mkfifo d/pipe");
	carry_batch_files = 70;
	go_back_whole();
	go_back_whole();
}
END_TEST

/* It ends with one line, nothing of the old versions is lost, and the next run does it. */
START_TEST(without_room)
{
	struct way way;
	GError *error = NULL;

	trees_make("mkdir a && for i in $(seq 40); do echo old$i >a/$i; done && "
		   "find . -exec touch -hd 2001-02-03T04:05:06.789 {} +");
	for (unsigned i = 1; i <= 40; i++) {
		g_autofree char *path = g_strdup_printf("a/%u", i);
		g_autofree char *command =
			g_strdup_printf("head -c 100000 /dev/zero | tr '\\0' x >>%s", path);

		change(path, JOURNAL_DATA, command);
	}
	sh("mount -o remount,size=1M " OLD_TREE);
	way_begin_run(&way);
	ck_assert(!carry_out(way.tree, &stop_now, &way.done, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "it cannot be made on the old server"));
	g_clear_error(&error);
	way_close(&way);
	sh("cd " OLD_TREE " && for i in $(seq 40); do grep -qx old$i a/$i || exit 1; done");
	sh("mount -o remount,size=50%% " OLD_TREE);
	open_store();
	go_back_whole();
}
END_TEST

static unsigned syncs = UINT_MAX; /* that come to their end, here */

int __real_tree_sync(const struct tree *tree);
int __wrap_tree_sync(const struct tree *tree);
int __wrap_tree_sync(const struct tree *tree)
{
	return syncs-- ? __real_tree_sync(tree) : -EIO;
}

/* What cannot be made durable here is not carried, or is not noted: so the version before, which is
 * here when the power is back, is carried again. */
START_TEST(a_power_cut_here)
{
	struct way way;
	GError *error = NULL;

	trees_make("echo old >file && touch -d 2001-02-03 file");
	change("file", JOURNAL_DATA, "echo new >file");
	way_begin_run(&way);
	syncs = (unsigned)_i;
	ck_assert(!carry_out(way.tree, &stop_now, &way.done, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "is not durable"));
	g_clear_error(&error);
	way_close(&way);
	if (!_i)
		sh("grep -q old " OLD_TREE "/file && test ! -e " OLD_TREE "/" TARGET_STAGE "/n*");
	sh("cd " NEW_TREE " && echo old >file && touch -d 2001-02-03 file");
	syncs = UINT_MAX;
	open_store();
	go_back_whole();
}
END_TEST

static unsigned syncs_there;

static int fail_sync(struct target *target)
{
	return syncs_there-- ? 0 : -EIO;
}

/* Nor is what cannot be made durable there, beside other work or alone. */
START_TEST(a_power_cut_there)
{
	struct target_ops ops;
	struct ledger_entry object;
	struct way way;
	GError *error = NULL;

	trees_make("echo old >file && touch -d 2001-02-03 file");
	change("file", JOURNAL_DATA, "echo new >file");
	const struct migrate_binding handle = handle_of("file");
	way_begin_run(&way);
	const struct target_ops *real = way.target->ops;
	ops = *real;
	ops.sync = fail_sync;
	ops.several = _i < 2;
	way.target->ops = &ops;
	syncs_there = (unsigned)_i % 2;
	ck_assert(!carry_out(way.tree, &stop_now, &way.done, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "is not durable"));
	g_clear_error(&error);
	way.target->ops = real;
	way_close(&way);
	struct ledger *ledger = ledger_open("/mnt/carried", switched, true, NULL);
	if (ledger_get(ledger, &handle, &object)) {
		ck_assert_uint_eq(object.generation, 0);
		ledger_clear(&object);
	}
	ledger_close(ledger);
	open_store();
	go_back_whole();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, many);
	tcase_add_test(tcase, without_room);
	tcase_add_loop_test(tcase, a_power_cut_here, 0, 3);
	tcase_add_loop_test(tcase, a_power_cut_there, 0, 4);
	return run_tcase(tcase);
}
