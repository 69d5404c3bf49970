/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Three pages of ten entries each: PAGE * 100 + i. */
#include "tests/retriever/core.h"

#include "lib/source/backend.h"
#include "retriever/data/listing_search.h"

#define LISTS (1u << BACKEND_READDIR)
#define PAGES 3

static struct core core;

static void pages_close(struct backend *backend)
{
	struct backend_layer *layer = (struct backend_layer *)backend;

	layer->inner->ops->close(layer->inner);
	g_free(layer);
}

static void pages_submit(struct backend *backend, struct backend_request *req)
{
	struct backend_layer *layer = (struct backend_layer *)backend;

	if (req->op != BACKEND_READDIR) {
		layer->inner->ops->submit(layer->inner, req);
		return;
	}
	backend_prepare(req);
	req->batch = backend_batch_new();
	req->cookie++;
	req->eof = req->cookie == PAGES;
	for (unsigned i = 0; i < 10; i++) {
		struct source_entry entry = {.attr.fileid = req->cookie * 100 + i};
		char name[16];

		g_snprintf(name, sizeof name, "n%u", (unsigned)entry.attr.fileid);
		backend_batch_add(req->batch, name, strlen(name), &entry);
	}
	backend_complete(req, 0);
}

static const struct backend_ops pages_ops = {
	.scheme = "pages",
	.close = pages_close,
	.submit = pages_submit,
	.max_read = backend_layer_max_read,
	.away = backend_layer_away,
	.carries = backend_layer_carries,
	.not_carried = backend_layer_not_carried,
};

static struct backend *make_pages(struct core *self, struct backend *inner)
{
	struct backend_layer *layer = g_new0(struct backend_layer, 1);

	layer->base.ops = &pages_ops;
	layer->inner = inner;
	return &layer->base;
}

static void setup(void)
{
	core_make(&core);
	core.wrap = make_pages;
	core_start(&core);
}

static void teardown(void)
{
	core_free(&core);
}

/* ---- who looks for something ---- */

struct asked {
	int status;
	char name[16];
	sem_t done;
};

static void told(void *arg, int status, const char *name)
{
	struct asked *asked = arg;

	asked->status = status;
	g_strlcpy(asked->name, name ? name : "", sizeof asked->name);
	sem_post(&asked->done);
}

static struct asked *ask(const char *directory, uint64_t fileid, bool demand)
{
	struct source_object source = {.path = (char *)directory};
	struct asked *asked = g_new0(struct asked, 1);

	sem_init(&asked->done, 0, 0);
	listing_find(core.retriever,
		     &(struct listing_wanted){
			     .directory = &source, .fileid = fileid, .found = told, .arg = asked},
		     1, demand);
	return asked;
}

static void expect(struct asked *asked, int status, const char *name)
{
	while (sem_wait(&asked->done) < 0)
		;
	ck_assert_int_eq(asked->status, status);
	ck_assert_str_eq(asked->name, name);
	g_free(asked);
}

/* But attach's look at the root. */
static unsigned listings(void)
{
	return backend_fault_submitted(core.fault, LISTS) - 1;
}

static unsigned add(enum fault_action action, int status, unsigned skip, unsigned times)
{
	return backend_fault_add(core.fault, &(struct fault_rule){.ops = LISTS,
								  .action = action,
								  .status = status,
								  .skip = skip,
								  .times = times});
}

START_TEST(found_or_not)
{
	expect(ask("", 305, false), 0, "n305");
	ck_assert_uint_eq(listings(), 3);
	expect(ask("", 104, true), 0, "n104"); /* no more is read than needed */
	ck_assert_uint_eq(listings(), 4);
	expect(ask("", 77, false), -ENOENT, "");
	ck_assert_uint_eq(listings(), 7);
}
END_TEST

/* Who comes in the middle sees the rest of the pass, and the next one whole. */
START_TEST(who_comes_late)
{
	unsigned stalled = add(FAULT_STALL, 0, 1, 0);
	struct asked *first = ask("", 77, false), *early, *late, *again, *never;

	ck_assert(backend_fault_wait(core.fault, stalled, 1));
	early = ask("", 101, false); /* on the first page, which has come */
	late = ask("", 301, false);
	again = ask("", 301, false);
	never = ask("", 78, false);
	backend_fault_release(core.fault, stalled);
	expect(first, -ENOENT, "");
	expect(late, 0, "n301");
	expect(again, 0, "n301");
	expect(early, 0, "n101");
	expect(never, -ENOENT, "");
	ck_assert_uint_eq(listings(), 6);
}
END_TEST

/* Clients do not wait for the background's, nor directories for each other. */
START_TEST(i11_apart)
{
	unsigned stalled = backend_fault_add(
		core.fault, &(struct fault_rule){.ops = LISTS,
						 .priorities = 1u << BACKEND_READAHEAD,
						 .times = 1,
						 .action = FAULT_STALL});
	struct asked *background = ask("", 101, false);

	ck_assert(backend_fault_wait(core.fault, stalled, 1));
	expect(ask("", 101, true), 0, "n101");
	expect(ask("other", 101, false), 0, "n101");
	backend_fault_release(core.fault, stalled);
	expect(background, 0, "n101");
}
END_TEST

START_TEST(what_fails)
{
	unsigned stalled = add(FAULT_STALL, 0, 1, 1);
	struct asked *first = ask("", 77, false), *late;

	ck_assert(backend_fault_wait(core.fault, stalled, 1));
	late = ask("", 101, false);
	add(FAULT_ERROR, -EACCES, 0, 1); /* the third page */
	backend_fault_release(core.fault, stalled);
	expect(first, -EACCES, "");
	expect(late, -EACCES, "");
	expect(ask("", 101, false), 0, "n101");
}
END_TEST

/* A directory that is changed under the listing is listed anew, not for ever. */
START_TEST(changed_meanwhile)
{
	unsigned bad = add(FAULT_ERROR, -EBADMSG, 1, 3);

	expect(ask("", 305, false), 0, "n305");
	ck_assert_uint_eq(backend_fault_hits(core.fault, bad), 3);
	add(FAULT_ERROR, -EBADMSG, 1, 0);
	expect(ask("", 305, false), -EBADMSG, "");
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("listing", 60);

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, found_or_not);
	tcase_add_test(tcase, who_comes_late);
	tcase_add_test(tcase, i11_apart);
	tcase_add_test(tcase, what_fails);
	tcase_add_test(tcase, changed_meanwhile);
	return run_tcase(tcase);
}
