/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

#include "retriever/copies/listing_entries.h"

static const char head[] = "the head";
static const uint64_t some[] = {UINT64_MAX, 7, 0, 7};

static struct listing_entries listed;

static void put(GArray *hashes, unsigned n)
{
	g_array_append_vals(hashes, some, n);
	listing_entries_sort(hashes);
}

static void prepare(void)
{
	core_make(&core);
	core_start(&core);
	jobs_wait(core.retriever->jobs); /* an attach removes what is kept of listings */
	listed = (struct listing_entries){listing_entries_array(), listing_entries_array()};
	put(listed.entries, 4);
	put(listed.names, 2);
	ck_assert_int_eq(listing_entries_store(core.retriever, 5, head, sizeof head, &listed), 0);
}

static bool load(ino_t ino, const char *with, uint64_t n)
{
	struct listing_entries out;

	if (!listing_entries_load(core.retriever, ino, with, sizeof head, n, &out))
		return false;
	ck_assert_uint_eq(out.entries->len, n);
	ck_assert_uint_eq(out.names->len, 6 - n);
	ck_assert(memcmp(out.entries->data, listed.entries->data, sizeof some) == 0);
	ck_assert(listing_entries_has(out.names, 7) && !listing_entries_has(out.names, 0));
	g_array_unref(out.entries);
	g_array_unref(out.names);
	return true;
}

static void end(void)
{
	g_array_unref(listed.entries);
	g_array_unref(listed.names);
	core_free(&core);
}

START_TEST(keeps)
{
	prepare();
	ck_assert(load(5, head, 4));
	ck_assert_int_eq(listing_entries_store(core.retriever, 5, head, sizeof head, &listed),
			 -EEXIST);
	ck_assert_int_eq(listing_entries_remove(core.retriever, 5), 0);
	ck_assert(!load(5, head, 4));
	ck_assert_int_eq(listing_entries_remove(core.retriever, 5), 0);
	end();
}
END_TEST

START_TEST(another_head)
{
	prepare();
	ck_assert(!load(5, "The head", 4));
	ck_assert(!load(6, head, 4));
	end();
}
END_TEST

START_TEST(torn)
{
	prepare();
	ck_assert(!load(5, head, 7));
	ck_assert(!load(5, head, UINT64_MAX / 4));
	shell("truncate -s 8 %s/.migrate/" LISTING_ENTRIES_DIR "/*", core.root);
	ck_assert(!load(5, head, 0));
	shell("truncate -s 1T %s/.migrate/" LISTING_ENTRIES_DIR "/*", core.root);
	ck_assert(!load(5, head, 4));
	end();
}
END_TEST

/* Nothing is read from, or written through, what somebody has put in its place. */
START_TEST(no_file)
{
	prepare();
	ck_assert_int_eq(listing_entries_remove(core.retriever, 5), 0);
	shell("cd %s/.migrate/" LISTING_ENTRIES_DIR " && ln -s nowhere 0000000000000005",
	      core.root);
	ck_assert(!load(5, head, 4));
	ck_assert_int_lt(listing_entries_store(core.retriever, 5, head, sizeof head, &listed), 0);
	ck_assert_int_eq(listing_entries_remove(core.retriever, 5), 0);
	shell("cd %s/.migrate/" LISTING_ENTRIES_DIR " && mkdir 0000000000000005", core.root);
	ck_assert(!load(5, head, 4));
	ck_assert_int_lt(listing_entries_remove(core.retriever, 5), 0);
	end();
}
END_TEST

START_TEST(all_of_them)
{
	prepare();
	ck_assert_int_eq(listing_entries_store(core.retriever, 6, head, sizeof head, &listed), 0);
	g_atomic_int_set(&core.retriever->closing, 1);
	listing_entries_remove_all(core.retriever);
	ck_assert(is_there(core.root, ".migrate/" LISTING_ENTRIES_DIR)); /* it gave up */
	g_atomic_int_set(&core.retriever->closing, 0);
	listing_entries_remove_all(core.retriever);
	ck_assert(!is_there(core.root, ".migrate/" LISTING_ENTRIES_DIR));
	listing_entries_remove_all(core.retriever);
	end();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("listed", 60);

	tcase_add_test(tcase, keeps);
	tcase_add_test(tcase, another_head);
	tcase_add_test(tcase, torn);
	tcase_add_test(tcase, no_file);
	tcase_add_test(tcase, all_of_them);
	return run_tcase(tcase);
}
