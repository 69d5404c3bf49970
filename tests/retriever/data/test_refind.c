/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

#include "lib/source/backend.h"
#include "retriever/data/listing_search.h"
#include "retriever/data/refind.h"
#include "retriever/objects/errors.h"

static struct core core;

static unsigned stale_reads_of(unsigned priorities, unsigned times)
{
	return backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ,
								  .priorities = priorities,
								  .action = FAULT_ERROR,
								  .status = -ESTALE,
								  .times = times});
}

static unsigned stale_reads(unsigned times)
{
	return stale_reads_of(0, times);
}

static int start(void)
{
	core_make(&core);
	core_source_file(&core, "d/f", 10000, 1);
	core_start(&core);
	return core_find(&core, "d/f", O_RDWR);
}

START_TEST(found_in_its_place)
{
	int fd = start();

	stale_reads(1);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10000, 1);
	core_free_with(&core, fd);
}
END_TEST

/* Renamed on the old server within its directory: found by its fileid. */
START_TEST(found_by_its_fileid)
{
	int fd = start();

	core_source_rename(&core, "d/f", "d/g");
	stale_reads(1);
	/* a rename changes the ctime, which is the price of looking at it on every READ: taken over
	 * when the object is found again */
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10000, 1);
	core_free_with(&core, fd);
}
END_TEST

/* Renamed here, by a client: the record has the path it has there. */
START_TEST(found_after_a_rename_here)
{
	uint64_t id;
	int dir, root, fd = start();

	root = core_root(&core);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, dir, 0)), 0);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	ck_assert_int_eq(core_begin(&core, fd, root, MIGRATE_PLACE, 0, 0, &id), 0);
	ck_assert_int_eq(renameat(dir, "f", root, "other"), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	core_restart(&core);
	stale_reads(1);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10000, 1);
	close(dir);
	close(root);
	core_free_with(&core, fd);
}
END_TEST

/* Another file of that name is not it. */
START_TEST(i4_another_file_of_that_name)
{
	int fd = start();

	core_source_rename(&core, "d/f", "elsewhere");
	core_source_file(&core, "d/f", 10000, 7);
	stale_reads(1);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), -ESTALE);
	ck_assert(!core_present(fd, 0, 1));
	core_expect_zeros(fd, 0, 10000);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_free_with(&core, fd);
}
END_TEST

/* A handle that is always stale ends in an error, not in a loop. */
START_TEST(stale_for_ever)
{
	int fd = start();

	stale_reads(0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), -ESTALE);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_free_with(&core, fd);
}
END_TEST

/* A name in a directory whose handle is stale: later, then found. */
START_TEST(a_name_below_a_stale_directory)
{
	int ret, dir, fd = start();

	core_source_file(&core, "d/g", 100, 2);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_LOOKUP,
							   .name = "g",
							   .action = FAULT_ERROR,
							   .status = -ESTALE,
							   .times = 1});
	do
		ret = core_name_in(&core, dir, "g");
	while (ret == -EAGAIN);
	ck_assert_int_eq(ret, 0);
	close(dir);
	core_free_with(&core, fd);
}
END_TEST

/* The old server is away while it is looked for: no error, and a close does not wait. */
START_TEST(looked_for_without_an_answer)
{
	struct migrate_waiter *w;
	unsigned lookups;
	int fd = start();

	stale_reads(1);
	lookups = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_LOOKUP,
								     .action = FAULT_STALL});
	w = core_ask_range(&core, fd, 0, UINT64_MAX, 0);
	ck_assert(backend_fault_wait(core.fault, lookups, 1));
	core_restart(&core);
	ck_assert_int_eq(core_wait(w), 0);
	core_expect(fd, 0, 10000, 1);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* ---- many at a time ---- */

#define MANY 40

static int many_fds[MANY];

/* Files of one directory that have other names on the old server by now. */
static void start_renamed(unsigned n)
{
	core_make(&core);
	for (unsigned i = 0; i < n; i++) {
		g_autofree char *name = g_strdup_printf("d/f%u", i);

		core_source_file(&core, name, 1000 + i, i);
	}
	core_start(&core);
	for (unsigned i = 0; i < n; i++) {
		g_autofree char *name = g_strdup_printf("d/f%u", i);
		g_autofree char *new = g_strdup_printf("d/g%u", i);

		many_fds[i] = core_find(&core, name, O_RDWR);
		core_source_rename(&core, name, new);
	}
}

static unsigned stall(unsigned ops, unsigned priorities, const char *name)
{
	return backend_fault_add(core.fault, &(struct fault_rule){.ops = ops,
								  .priorities = priorities,
								  .name = name,
								  .action = FAULT_STALL});
}

/* One listing of a directory serves all that are looked for in it: those who came before it began,
 * and those who came later have one more. */
START_TEST(listed_once_for_all)
{
	struct migrate_waiter *waiters[MANY];
	unsigned stale, lists, lookups;

	start_renamed(MANY);
	stale = stale_reads(MANY);
	lists = stall(1u << BACKEND_READDIR, 0, NULL);
	lookups = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_LOOKUP,
								     .action = FAULT_COUNT});
	for (unsigned i = 0; i < MANY; i++)
		waiters[i] = core_ask_range(&core, many_fds[i], 0, UINT64_MAX, 0);
	ck_assert(backend_fault_wait(core.fault, stale, MANY));
	/* each is looked for by its path, and then its directory */
	backend_fault_wait(core.fault, lookups, 3 * MANY);
	backend_fault_release(core.fault, lists);
	for (unsigned i = 0; i < MANY; i++) {
		ck_assert_int_eq(core_wait(waiters[i]), 0);
		core_expect(many_fds[i], 0, 1000 + i, i);
		close(many_fds[i]);
	}
	ck_assert_uint_le(backend_fault_submitted(core.fault, 1u << BACKEND_READDIR), 3);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free(&core);
}
END_TEST

/* Searches of the crawler's that get no answer do not delay those for clients. */
START_TEST(i11_clients_first)
{
	struct migrate_waiter *waiters[MANY];
	unsigned stale, stalled;
	int fd;

	core_make(&core);
	core_source_file(&core, "d/f", 10000, 1);
	for (unsigned i = 0; i < 10; i++) {
		g_autofree char *name = g_strdup_printf("b/f%u", i);

		core_source_file(&core, name, 1000 + i, i);
	}
	core_start(&core);
	fd = core_find(&core, "d/f", O_RDWR);
	for (unsigned i = 0; i < 10; i++) {
		g_autofree char *name = g_strdup_printf("b/f%u", i);

		many_fds[i] = core_find(&core, name, O_RDWR);
	}
	stalled = stall(1u << BACKEND_LOOKUP, 0, "b");
	stale = stale_reads(10);
	for (unsigned i = 0; i < 10; i++)
		waiters[i] = core_ask_range(&core, many_fds[i], 0, UINT64_MAX, MIGRATE_BACKGROUND);
	ck_assert(backend_fault_wait(core.fault, stale, 10));
	ck_assert(backend_fault_wait(core.fault, stalled, 4));
	stale_reads(1);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10000, 1);
	backend_fault_release(core.fault, stalled);
	for (unsigned i = 0; i < 10; i++) {
		ck_assert_int_eq(core_wait(waiters[i]), 0);
		close(many_fds[i]);
	}
	core_free_with(&core, fd);
}
END_TEST

/* Likewise where it is the same file, or another one of a directory that is being listed. */
START_TEST(i11_clients_have_their_own_listing)
{
	struct migrate_waiter *background;
	unsigned lists;

	start_renamed(2);
	lists = stall(1u << BACKEND_READDIR, 1u << BACKEND_READAHEAD, NULL);
	stale_reads(1);
	background = core_ask_range(&core, many_fds[0], 0, UINT64_MAX, MIGRATE_BACKGROUND);
	ck_assert(backend_fault_wait(core.fault, lists, 1));
	for (unsigned i = 0; i < 2; i++) {
		/* not that which the background asks for once more */
		stale_reads_of(1u << BACKEND_DEMAND, 1);
		ck_assert_int_eq(core_range(&core, many_fds[i], 0, UINT64_MAX), 0);
		core_expect(many_fds[i], 0, 1000 + i, i);
	}
	backend_fault_release(core.fault, lists);
	ck_assert_int_eq(core_wait(background), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	close(many_fds[0]);
	close(many_fds[1]);
	core_free(&core);
}
END_TEST

/* ---- a listing without an end ---- */

#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN true
#else
#define HAS_TSAN false
#endif

#define PAGE 512 /* entries; of much larger ones each page's memory is new to the process */

static unsigned period; /* of its cookies; 0: none comes twice */

struct endless {
	struct backend_layer layer;
	atomic_uint pages;
};

static void endless_close(struct backend *backend)
{
	struct endless *endless = (struct endless *)backend;

	endless->layer.inner->ops->close(endless->layer.inner);
	g_free(endless);
}

static void endless_submit(struct backend *backend, struct backend_request *req)
{
	struct endless *endless = (struct endless *)backend;
	unsigned n = period ? 1 : PAGE;

	if (req->op != BACKEND_READDIR) {
		endless->layer.inner->ops->submit(endless->layer.inner, req);
		return;
	}
	backend_prepare(req);
	req->batch = backend_batch_new();
	for (unsigned i = 0; i < n; i++) {
		struct source_entry entry = {.attr.fileid = UINT64_MAX};

		backend_batch_add(req->batch, "x", 1, &entry);
	}
	req->cookie = period ? req->cookie % period + 1 : req->cookie + 1;
	atomic_fetch_add(&endless->pages, 1);
	backend_complete(req, 0);
}

static const struct backend_ops endless_ops = {
	.scheme = "endless",
	.close = endless_close,
	.submit = endless_submit,
	.max_read = backend_layer_max_read,
	.away = backend_layer_away,
	.carries = backend_layer_carries,
	.not_carried = backend_layer_not_carried,
};

static struct endless *endless;

static struct backend *make_endless(struct core *self, struct backend *inner)
{
	endless = g_new0(struct endless, 1);
	endless->layer.base.ops = &endless_ops;
	endless->layer.inner = inner;
	return &endless->layer.base;
}

START_TEST(a_listing_without_an_end)
{
	static const unsigned periods[] = {1, 2, 7, 1000, 0};
	struct error_entry e;
	int fd;

	period = periods[_i];
	core_make(&core);
	core.wrap = make_endless;
	core_source_file(&core, "d/f", 10000, 1);
	core_start(&core);
	fd = core_find(&core, "d/f", O_RDWR);
	core_source_rename(&core, "d/f", "d/g");
	stale_reads(1);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), -EREMOTEIO);
	ck_assert_uint_le(atomic_load(&endless->pages),
			  period ? 4 * period + 4 : LISTING_MAX / PAGE + 100);
	ck_assert(errors_get(core.retriever->errors, &(guint){0}, NULL, &e));
	ck_assert_ptr_nonnull(strstr(e.reason, "does not end"));
	error_entry_clear(&e);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("refind", 60);

	tcase_add_test(tcase, found_in_its_place);
	tcase_add_test(tcase, found_by_its_fileid);
	tcase_add_test(tcase, found_after_a_rename_here);
	tcase_add_test(tcase, i4_another_file_of_that_name);
	tcase_add_test(tcase, stale_for_ever);
	tcase_add_test(tcase, a_name_below_a_stale_directory);
	tcase_add_test(tcase, looked_for_without_an_answer);
	tcase_add_test(tcase, listed_once_for_all);
	tcase_add_test(tcase, i11_clients_first);
	tcase_add_test(tcase, i11_clients_have_their_own_listing);
	/* The last has ten million entries, which takes ThreadSanitizer 20 s of a processor. */
	tcase_add_loop_test(tcase, a_listing_without_an_end, 0, HAS_TSAN ? 4 : 5);
	return run_tcase(tcase);
}
