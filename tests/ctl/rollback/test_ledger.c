/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/ledger.h"

#include "tests/ctl/rollback/trees.h"

static struct ledger *ledger;

static struct migrate_binding number(unsigned n)
{
	struct migrate_binding handle = {.type = 1, .len = 8};

	memcpy(handle.bytes, &n, sizeof(n));
	return handle;
}

static void start(int64_t since, bool write)
{
	GError *error = NULL;

	ledger = ledger_open("/mnt/carried", since, write, &error);
	ck_assert_msg(ledger != NULL, "%s", error ? error->message : "");
}

static void put(unsigned n, uint64_t fileid, bool touching)
{
	struct ledger_entry object = {.generation = n,
				      .fileid = fileid,
				      .size = 5,
				      .mtime = 6,
				      .ctime = 7,
				      .touching = touching};
	struct migrate_binding handle = number(n), parent = number(99);

	ledger_add_name(&object, &parent, "a name");
	ledger_add_name(&object, &parent, "another");
	for (unsigned i = 0; i < n; i++) {
		GHashTable *given = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

		g_hash_table_add(given, g_strdup_printf("user.%u", i));
		ledger_add_given(&object, given);
	}
	ck_assert(ledger_put(ledger, &handle, &object, NULL));
	ledger_clear(&object);
}

static void count(void *arg, const struct migrate_binding *handle)
{
	const struct migrate_binding one = number(1);

	ck_assert(migrate_binding_equal(handle, &one));
	++*(unsigned *)arg;
}

START_TEST(kept)
{
	struct migrate_binding handle = number(1), found;
	struct ledger_entry object;
	unsigned touching = 0;

	trees_make("true");
	start(1, true);
	put(1, 1000, true);
	put(2, 2000, false);
	ck_assert(ledger_commit(ledger, NULL));
	put(3, 3000, false);
	ledger_close(ledger); /* not committed */
	start(1, false);
	ck_assert(ledger_get(ledger, &handle, &object));
	ck_assert_uint_eq(object.fileid, 1000);
	ck_assert_uint_eq(object.names->len, 2);
	ck_assert_str_eq(g_array_index(object.names, struct ledger_name, 1).name, "another");
	ledger_clear(&object);
	ck_assert(ledger_find(ledger, 2000, &found));
	handle = number(2);
	ck_assert(migrate_binding_equal(&handle, &found));
	ck_assert(ledger_get(ledger, &handle, &object));
	ck_assert_uint_eq(g_hash_table_size(object.given), 2);
	ck_assert(g_hash_table_contains(object.given, "user.1"));
	ledger_clear(&object);
	handle = number(3);
	ck_assert(!ledger_get(ledger, &handle, &object));
	ledger_each_touching(ledger, count, &touching);
	ck_assert_uint_eq(touching, 1);
	ledger_close(ledger);
}
END_TEST

static void take(void *arg, const struct migrate_binding *handle)
{
	*(struct migrate_binding *)arg = *handle;
}

/* As long as a file system may have them. */
START_TEST(long_handles)
{
	struct migrate_binding handle = {.type = 1, .len = MIGRATE_BINDING_MAX}, found = {0};
	struct ledger_entry object = {.generation = 1, .fileid = 2, .touching = true};

	trees_make("true");
	memset(handle.bytes, 0xff, sizeof(handle.bytes));
	start(1, true);
	ck_assert(ledger_put(ledger, &handle, &object, NULL));
	ledger_each_touching(ledger, take, &found);
	ck_assert(migrate_binding_equal(&found, &handle));
	ledger_close(ledger);
}
END_TEST

START_TEST(notes)
{
	const struct migrate_binding handle = number(1);
	struct ledger_entry object = {.generation = 1, .elsewhere = true};

	trees_make("true");
	start(1, true);
	ck_assert(!ledger_is_elsewhere(ledger, &handle));
	ck_assert(!ledger_was_scanned(ledger));
	ck_assert(ledger_put(ledger, &handle, &object, NULL));
	ck_assert(ledger_scanned(ledger, true, NULL));
	ledger_close(ledger);
	start(1, false);
	ck_assert(ledger_is_elsewhere(ledger, &handle));
	ck_assert(ledger_was_scanned(ledger));
	ledger_close(ledger);
	start(2, false); /* nothing of it is said of another journal's */
	ck_assert(!ledger_is_elsewhere(ledger, &handle));
	ck_assert(!ledger_was_scanned(ledger));
	ledger_close(ledger);
}
END_TEST

START_TEST(of_another_journal)
{
	struct migrate_binding handle = number(1);
	struct ledger_entry object;

	trees_make("true");
	start(1, true);
	put(1, 1000, false);
	ck_assert(ledger_commit(ledger, NULL));
	ledger_close(ledger);
	start(2, false);
	ck_assert(!ledger_get(ledger, &handle, &object));
	ledger_close(ledger);
	start(1, false);
	ck_assert(ledger_get(ledger, &handle, &object));
	ledger_clear(&object);
	ledger_close(ledger);
	start(2, true);
	ck_assert(!ledger_get(ledger, &handle, &object));
	ledger_close(ledger);
}
END_TEST

START_TEST(one_at_a_time)
{
	GError *error = NULL;

	trees_make("true");
	start(1, true);
	ck_assert_ptr_null(ledger_open("/mnt/carried", 1, true, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "another rollback"));
	g_error_free(error);
	ledger_close(ledger);
}
END_TEST

/* For what has no room in memory: as long as it is open. */
START_TEST(scratch)
{
	GError *error = NULL;
	FILE *file;

	trees_make("true");
	start(1, false);
	file = ledger_scratch(ledger, &error);
	ck_assert_ptr_nonnull(file);
	sh("! ls /mnt/carried | grep scratch");
	ck_assert_int_ge(fputs("some", file), 0);
	rewind(file);
	ck_assert_int_eq(fgetc(file), 's');
	fclose(file);
	sh("mv /mnt/carried /mnt/elsewhere");
	ck_assert_ptr_null(ledger_scratch(ledger, &error));
	ck_assert(strstr(error->message, "/mnt/carried"));
	g_clear_error(&error);
	ledger_close(ledger);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, kept);
	tcase_add_test(tcase, long_handles);
	tcase_add_test(tcase, notes);
	tcase_add_test(tcase, of_another_journal);
	tcase_add_test(tcase, one_at_a_time);
	tcase_add_test(tcase, scratch);
	return run_tcase(tcase);
}
