/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_systems.h"

#include "tests/retriever/backend_support.h"
#include "tests/pairs.h"

static struct nfs_systems *systems;
static gint64 now = NFS_BELIEVED_US;

/* Whether the answer that shows it is in doubt. */
static bool in_doubt(uint64_t fs)
{
	unsigned before = nfs_systems_doubts(systems);

	nfs_systems_see(systems, fs, now);
	return nfs_systems_doubts(systems) != before;
}

static void ask_root(bool is_told)
{
	GHashTable *asked = nfs_systems_ask(systems);

	if (is_told)
		nfs_systems_believe(systems, asked);
	g_hash_table_unref(asked);
}

START_TEST(what_the_root_was_asked_for)
{
	GHashTable *asked;

	systems = nfs_systems_new();
	ck_assert(in_doubt(8));
	ck_assert(in_doubt(8));
	ask_root(false); /* it was not told */
	ck_assert(in_doubt(8));
	asked = nfs_systems_ask(systems);
	ck_assert(in_doubt(9)); /* came after the question */
	nfs_systems_believe(systems, asked);
	g_hash_table_unref(asked);
	ck_assert(!in_doubt(8));
	ck_assert(in_doubt(9));
	ask_root(true);
	ck_assert(!in_doubt(9));
	now += NFS_BELIEVED_US - 1;
	ck_assert(!in_doubt(8));
	now++;
	ck_assert(in_doubt(8));
	nfs_systems_free(systems);
}
END_TEST

START_TEST(a_server_that_shows_ever_new_ones)
{
	unsigned doubts = 0;

	systems = nfs_systems_new();
	for (uint64_t fs = 0; fs < 2 * NFS_DOUBTS_MAX; fs++) {
		doubts += in_doubt(fs);
		ask_root(true);
	}
	ck_assert_uint_eq(doubts, NFS_DOUBTS_MAX);
	now += NFS_BELIEVED_US;
	ck_assert(in_doubt(1));
	nfs_systems_free(systems);
}
END_TEST

static void show_one(void *arg)
{
	nfs_systems_see(arg, 8, now);
}

static void count_doubts(void *arg)
{
	nfs_systems_doubts(arg);
}

static void ask_and_believe(void *arg)
{
	GHashTable *asked = nfs_systems_ask(arg);

	nfs_systems_believe(arg, asked);
	g_hash_table_unref(asked);
}

START_TEST(several_threads)
{
	systems = nfs_systems_new();
	struct paired_call calls[] = {
		{show_one, systems}, {count_doubts, systems}, {ask_and_believe, systems}};

	call_in_pairs(calls, G_N_ELEMENTS(calls));
	nfs_systems_free(systems);
}
END_TEST

START_TEST(without)
{
	nfs_systems_see(NULL, 5, 0);
	ck_assert_uint_eq(nfs_systems_doubts(NULL), 0);
	ck_assert_ptr_null(nfs_systems_ask(NULL));
	nfs_systems_free(NULL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fsids");

	tcase_add_test(tcase, what_the_root_was_asked_for);
	tcase_add_test(tcase, a_server_that_shows_ever_new_ones);
	tcase_add_test(tcase, several_threads);
	tcase_add_test(tcase, without);
	return run_tcase(tcase);
}
