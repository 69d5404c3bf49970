/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries by fileid, and fills of directories that ask in that order. */
#include "tests/retriever/core_directory.h"
#include "tests/retriever/core_xattrs.h"

#include "retriever/names/fill_order.h"

#define FILES 2500 /* of the wide directory: three pages of what is kept */

static struct source_entry entry_of(unsigned i)
{
	struct source_entry entry = {.has_attr = i % 2, .has_handle = i % 3, .handle_len = i % 129};

	entry.attr = (struct source_attr){.fileid = i, .size = i * 5, .mtime = -1, .fs = i};
	memset(entry.handle, (int)i, entry.handle_len);
	return entry;
}

static struct backend_batch *batch_of(unsigned n, unsigned step)
{
	struct backend_batch *batch = backend_batch_new();

	for (unsigned i = 0; i < n; i++) {
		struct source_entry entry = entry_of(i * step % n);
		char name[256];

		memset(name, 'n', sizeof(name));
		name[g_snprintf(name, 16, "%u", (unsigned)entry.attr.fileid)] = 'n';
		backend_batch_add(batch, name, i % 2 ? 20 : 255, &entry);
	}
	return batch;
}

static void check_batch(const struct backend_batch *batch, unsigned first)
{
	for (guint i = 0; i < batch->entries->len; i++) {
		const struct source_entry *got =
			&g_array_index(batch->entries, struct source_entry, i);
		struct source_entry want = entry_of(first + i);

		ck_assert_uint_eq(strtoul(got->name, NULL, 10), first + i);
		ck_assert_int_eq(got->has_attr, want.has_attr);
		ck_assert_int_eq(got->has_handle, want.has_handle);
		ck_assert_uint_eq(got->handle_len, want.handle_len);
		ck_assert_mem_eq(got->handle, want.handle, want.handle_len);
		ck_assert_mem_eq(&got->attr, &want.attr, sizeof(want.attr));
	}
}

START_TEST(one_page)
{
	struct backend_batch *batch = batch_of(1009, 37);

	directory_order_batch(batch);
	check_batch(batch, 0);
	backend_batch_free(batch);
}
END_TEST

START_TEST(all_of_it_comes_back)
{
	struct retriever retriever = {0};
	struct sorter *sorter;
	struct backend_batch *batch = batch_of(4001, 37);
	unsigned n = 0;
	int status;

	atomic_store(&retriever.staging_fd, open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	sorter = sorter_new(&retriever);
	ck_assert_uint_eq(directory_order_keep(sorter, batch), 4001);
	backend_batch_free(batch);
	while ((batch = directory_order_take(sorter, &status))) {
		check_batch(batch, n);
		n += batch->entries->len;
		backend_batch_free(batch);
	}
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(n, 4001);
	sorter_free(sorter);
	close(retriever.staging_fd);
}
END_TEST

/* Lists a directory of FILES in pages of CORE_PAGE in an order that is not that of fileids, and
 * notes in which it is asked about them. */
static GMutex lock;
static GArray *asked;	/* of unsigned */
static int fails;	/* the listing, on its last page */
static unsigned circle; /* names that come again and again, behind new cookies; 0: none */
static atomic_uint pages, pages_behind; /* those not of a list */

static void scattered_list(struct backend_request *req)
{
	unsigned last = circle ? req->cookie + CORE_PAGE : MIN(req->cookie + CORE_PAGE, FILES);

	backend_prepare(req);
	atomic_fetch_add(&pages, 1);
	atomic_fetch_add(&pages_behind, req->priority == BACKEND_BACKGROUND && !req->trace.first);
	if (fails && last == FILES) {
		backend_complete(req, fails);
		return;
	}
	req->batch = backend_batch_new();
	for (unsigned i = req->cookie; i < last; i++) {
		struct source_entry entry = {.has_attr = true};
		unsigned n = circle ? i % circle : i * 1001 % FILES;
		char name[16];

		entry.attr.mode = S_IFREG | 0644;
		entry.attr.nlink = 1;
		entry.attr.fileid = 1000000 + n;
		g_snprintf(name, sizeof(name), "e%u", n);
		backend_batch_add(req->batch, name, strlen(name), &entry);
	}
	req->cookie = last;
	req->eof = !circle && last == FILES;
	backend_complete(req, 0);
}

static void scattered_submit(struct backend *backend, struct backend_request *req)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;
	unsigned n;

	if (req->op == BACKEND_READDIR) {
		scattered_list(req);
		return;
	}
	if (req->op != BACKEND_XATTRS || sscanf(req->object.path, "d/e%u", &n) != 1) {
		inner->ops->submit(inner, req);
		return;
	}
	g_mutex_lock(&lock);
	g_array_append_val(asked, n);
	g_mutex_unlock(&lock);
	backend_prepare(req);
	req->xattrs = source_xattrs_new();
	backend_complete(req, 0);
}

static struct backend_ops scattered_ops;

static struct backend *scattered_wrap(struct core *c, struct backend *inner)
{
	struct backend *backend = core_carry_wrap(c, inner);

	scattered_ops = *backend->ops;
	scattered_ops.submit = scattered_submit;
	backend->ops = &scattered_ops;
	return backend;
}

static int start(void)
{
	core_make(&core);
	core_carry(&core);
	core.wrap = scattered_wrap;
	asked = g_array_new(FALSE, FALSE, sizeof(unsigned));
	core_source_file(&core, "d/x", 0, 1);
	core_start(&core);
	return core_find(&core, "d", O_RDONLY | O_DIRECTORY);
}

static void end(int dir)
{
	core_free_with(&core, dir);
	g_array_unref(asked);
}

static void expect_all_there(int dir)
{
	for (unsigned i = 0; i < FILES; i++) {
		char name[16];

		g_snprintf(name, sizeof(name), "e%u", i);
		ck_assert_int_eq(faccessat(dir, name, F_OK, 0), 0);
	}
}

/* Up to three pages are asked about at the same time. */
static unsigned largest_step_back(void)
{
	unsigned highest = 0, step = 0;

	for (guint i = 0; i < asked->len; i++) {
		unsigned n = g_array_index(asked, unsigned, i);

		step = MAX(step, highest > n ? highest - n : 0);
		highest = MAX(highest, n);
	}
	return step;
}

START_TEST(the_background_asks_in_order)
{
	int dir = start();

	ck_assert_int_eq(core_wait(core_ask_fill(&core, dir, MIGRATE_BACKGROUND)), 0);
	expect_all_there(dir);
	ck_assert_uint_eq(asked->len, FILES);
	ck_assert_int_eq(core_state(dir), MIGRATE_FILLED);
	ck_assert_uint_lt(largest_step_back(), FILES);
	for (guint i = 0; i < 500; i++) /* of three, the last page cannot be first */
		ck_assert_uint_lt(g_array_index(asked, unsigned, i), 2500 - 500 + i);
	end(dir);
}
END_TEST

/* A client's names come as they are listed. */
START_TEST(a_client_waits_for_no_order)
{
	int dir = start();

	ck_assert_int_eq(core_wait(core_ask_fill(&core, dir, 0)), 0);
	expect_all_there(dir);
	ck_assert_uint_gt(largest_step_back(), 1000);
	end(dir);
}
END_TEST

/* The crawler asked for it before a list did: what it has at the gate, and what it asks then. */
START_TEST(a_list_joins)
{
	int dir = start();
	struct migrate_waiter *fills[2];

	gate_pause(core.retriever->gate, true);
	for (unsigned i = 0; i < 2; i++) {
		fills[i] = core_ask_fill(&core, dir, MIGRATE_BACKGROUND | (i ? MIGRATE_FIRST : 0));
		core_name_in(&core, dir, "none"); /* what was asked before has begun */
	}
	gate_pause(core.retriever->gate, false);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(core_wait(fills[i]), 0);
	ck_assert_uint_gt(pages, 2);
	ck_assert_uint_eq(pages_behind, 0);
	end(dir);
}
END_TEST

/* What was listed before the listing failed is there. */
START_TEST(i12_a_listing_that_fails)
{
	int dir = start();

	fails = -EREMOTEIO;
	ck_assert_int_eq(core_wait(core_ask_fill(&core, dir, MIGRATE_BACKGROUND)), -EREMOTEIO);
	ck_assert_uint_eq(asked->len, FILES - CORE_PAGE);
	ck_assert_int_eq(core_state(dir), MIGRATE_UNFILLED);
	fails = 0;
	ck_assert_int_eq(core_wait(core_ask_fill(&core, dir, MIGRATE_BACKGROUND)), 0);
	expect_all_there(dir);
	end(dir);
}
END_TEST

/* Where memory is another directory's, pages are made as they come. */
START_TEST(without_room)
{
	int dir = start();

	g_atomic_int_set(&core.retriever->sorter_entries, SORTER_MAX);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, dir, MIGRATE_BACKGROUND)), 0);
	expect_all_there(dir);
	ck_assert_int_eq(g_atomic_int_get(&core.retriever->sorter_entries), SORTER_MAX);
	end(dir);
}
END_TEST

/* I11: that a listing goes round in circles is found out as soon as without an order. */
START_TEST(i11_a_listing_of_the_same_names)
{
	static const unsigned circles[] = {1, 2, 7, CORE_PAGE, 3000};
	struct error_entry e;
	int dir = start();

	circle = circles[_i];
	ck_assert_int_eq(core_wait(core_ask_fill(&core, dir, MIGRATE_BACKGROUND)), -EREMOTEIO);
	ck_assert_uint_eq(count_names(dir), circle);
	ck_assert_uint_le(atomic_load(&pages) * CORE_PAGE, 40000 + 8 * circle);
	ck_assert(errors_get(core.retriever->errors, &(guint){0}, NULL, &e));
	ck_assert(g_str_has_suffix(e.path, "/d"));
	ck_assert_ptr_nonnull(strstr(e.reason, "does not end"));
	error_entry_clear(&e);
	end(dir);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("order", 60);

	tcase_add_test(tcase, one_page);
	tcase_add_test(tcase, all_of_it_comes_back);
	tcase_add_test(tcase, the_background_asks_in_order);
	tcase_add_test(tcase, a_client_waits_for_no_order);
	tcase_add_test(tcase, a_list_joins);
	tcase_add_test(tcase, i12_a_listing_that_fails);
	tcase_add_test(tcase, without_room);
	tcase_add_loop_test(tcase, i11_a_listing_of_the_same_names, 0, 5);
	return run_tcase(tcase);
}
