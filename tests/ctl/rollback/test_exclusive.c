/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/exclusive.h"

#include "ctl/rollback/target_ops.h"
#include "tests/ctl/rollback/trees.h"

#define FILES 4u

static GHashTable *held, *to_sync; /* paths of directories */

static struct ledger *ledger;
static unsigned looked_early;

/* While there is more to come, nothing that came there counts as carried: the run may be killed. */
static void look_early(void)
{
	struct ledger_entry object;
	unsigned there = 0;

	if (access(NEW_TREE "/a/new0", F_OK))
		return;
	for (unsigned i = 0; i < FILES; i++) {
		g_autofree char *path = g_strdup_printf(OLD_TREE "/a/new%u", i);

		there += access(path, F_OK) == 0;
	}
	for (unsigned i = 0; i < FILES && there < FILES; i++) {
		g_autofree char *path = g_strdup_printf("a/new%u", i);
		const struct migrate_binding handle = handle_of(path);

		if (!ledger_get(ledger, &handle, &object))
			continue;
		ck_assert_uint_eq(object.generation, 0);
		ledger_clear(&object);
		looked_early++;
	}
}

static GHashTable *unsynced(struct target *target)
{
	if (held)
		look_early();
	return held;
}

static void sync_names(struct target *target, const char *dir)
{
	g_hash_table_add(to_sync, g_strdup(dir));
}

static void go_back_held(unsigned left, const char *directory)
{
	struct target_ops ops;
	struct way way;

	way_begin_run(&way);
	ops = *way.target->ops;
	ops.unsynced = unsynced;
	ops.sync_names = sync_names;
	way.target->ops = &ops;
	ledger = way.ledger;
	g_hash_table_remove_all(to_sync);
	way_go(&way);
	if (left != UINT_MAX)
		ck_assert_uint_eq(way.done.left, left);
	ck_assert_uint_eq(way.tree->conflicts->len, !!directory);
	if (directory)
		ck_assert_str_eq(((struct problem *)way.tree->conflicts->pdata[0])->path,
				 directory);
	way_end_run(&way);
}

/* Somebody has it to himself on the old server: what comes and goes there is looked at again, and
 * its names are made durable, before it counts as done.  The rest goes on. */
START_TEST(looked_at_again)
{
	held = g_hash_table_new(g_str_hash, g_str_equal);
	to_sync = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_hash_table_add(held, (gpointer) "a");
	trees_make(FILL);
	carry_batch_files = 1;
	for (unsigned i = 0; i < FILES; i++) {
		g_autofree char *path = g_strdup_printf("a/new%u", i);
		g_autofree char *command = g_strdup_printf("echo new >%s", path);

		make(path, command);
	}
	make("n", "echo new >n");
	take_away("a/5");
	take_away("d/fifo");
	for (unsigned i = 0; i < 2; i++) {
		rows_at_once = i ? 1 : rows_at_once; /* where it is one line, too */
		go_back_held(FILES + 1, "a");
		same_trees();
	}
	ck_assert_uint_gt(looked_early, 0);
	g_clear_pointer(&held, g_hash_table_unref);
	go_back_held(0, NULL);
	same_trees();
	ck_assert(g_hash_table_contains(to_sync, "a"));
	ck_assert(!g_hash_table_contains(to_sync, "d"));
	go_back_held(0, NULL);
	ck_assert_uint_eq(g_hash_table_size(to_sync), 0);
	g_hash_table_unref(to_sync);
}
END_TEST

/* A directory that was made in such a one, and whose files wait for windows, is compared again. */
START_TEST(made_in_it)
{
	struct ledger_entry object;

	to_sync = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	trees_make(FILL);
	make("a/b/n", "mkdir a/b/n");
	const struct migrate_binding handle = handle_of("a/b/n");
	make("a/b/n/x", "echo new >a/b/n/x");
	make("a/b/n/y", "echo new >a/b/n/y");
	rows_at_once = 1;
	held = g_hash_table_new(g_str_hash, g_str_equal);
	g_hash_table_add(held, (gpointer) "a/b");
	for (unsigned i = 0; i < 2; i++) {
		go_back_held(UINT_MAX, i ? NULL : "a/b");
		same_trees();
		struct ledger *noted = ledger_open("/mnt/carried", switched, false, NULL);
		ck_assert(ledger_get(noted, &handle, &object));
		ck_assert_int_eq(!!object.generation, i);
		ledger_clear(&object);
		ledger_close(noted);
		g_clear_pointer(&held, g_hash_table_unref);
	}
	g_hash_table_unref(to_sync);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, looked_at_again);
	tcase_add_test(tcase, made_in_it);
	return run_tcase(tcase);
}
