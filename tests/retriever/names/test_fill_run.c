/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"

#include "retriever/copies/listing_sum.h"
#include "retriever/names/fill_run.h"

#define NAMES 20 /* of which a listing is kept */

static struct run *run_of(struct object *object, enum backend_priority priority)
{
	struct run *run;
	int ret = -1;

	g_mutex_lock(&object->lock);
	run = directory_run_new(object, priority, true, &ret);
	ck_assert_ptr_eq(directory_of(object)->runs->data, run);
	g_mutex_unlock(&object->lock);
	ck_assert_int_eq(ret, 0);
	return run;
}

static void end_of(struct object *object, struct run *run)
{
	g_mutex_lock(&object->lock);
	directory_of(object)->runs = g_slist_remove(directory_of(object)->runs, run);
	g_mutex_unlock(&object->lock);
	directory_run_free(run);
}

/* Data comes with the names for nobody who waits for these. */
START_TEST(a_run_for_each_priority)
{
	struct object *object;
	struct run *back, *front;
	int fd = begin(1);

	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	back = run_of(object, BACKEND_BACKGROUND);
	front = run_of(object, BACKEND_DEMAND);
	ck_assert(back->small_data && !front->small_data);
	ck_assert_str_eq(front->path, "d");
	ck_assert_uint_eq(front->pending, 1);
	ck_assert_int_lt(front->prior_fd, 0);
	end_of(object, back);
	ck_assert_ptr_eq(directory_of(object)->runs->data, front);
	end_of(object, front);
	ck_assert_ptr_null(directory_of(object)->runs);
	object_unref(object);
	close(fd);
	core_free(&core);
}
END_TEST

/* That many files without data, the first of which is of that time. */
static struct backend_batch *names_of(int64_t ctime)
{
	struct backend_batch *batch = backend_batch_new();
	struct source_entry entry = {.has_attr = true,
				     .attr = {.mode = S_IFREG, .nlink = 1, .ctime = ctime}};

	for (int i = 0; i < NAMES; i++) {
		g_autofree char *name = g_strdup_printf("f%d", i);

		backend_batch_add(batch, name, strlen(name), &entry);
		entry.attr.ctime = 0;
	}
	return batch;
}

static void list_names(struct listing_sum *seen, int fd, int64_t ctime)
{
	struct backend_batch *batch = names_of(ctime);
	g_autoptr(GPtrArray) unlisted = g_ptr_array_new();

	listing_sum_pass(seen, fd, batch, true);
	listing_sum_add(seen, batch);
	listing_sum_unchanged(seen, fd);
	ck_assert_int_eq(listing_sum_sweep(core.retriever, seen, unlisted, fd, "d"), 0);
	backend_batch_free(batch);
}

/* Neither says of what it has passed over that it is whole: the other one may make it anew. */
START_TEST(i12_two_runs_of_a_copy)
{
	struct migrate_record rec = {.state = MIGRATE_UNFILLED, .path = (char *)"d"};
	struct object *object;
	struct run *back, *front;
	struct listing_sum *first;
	int fd;

	core_make(&core);
	core_open(&core);
	core_attach(&core);
	core.retriever->copying = true;
	core_run(&core);
	ck_assert_int_eq(mkdirat(core.retriever->root_fd, "d", 0700), 0);
	fd = open_below(core.retriever->root_fd, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(migrate_binding_get(fd, "", &rec.binding), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	first = listing_sum_new(core.retriever, fd);
	list_names(first, fd, 0);
	listing_sum_free(first);
	listing_sum_set_whole(fd);
	back = run_of(object, BACKEND_BACKGROUND);
	front = run_of(object, BACKEND_DEMAND);
	ck_assert(!listing_sum_sums_up(back->seen) && !listing_sum_sums_up(front->seen));
	list_names(back->seen, fd, 1);
	ck_assert_ptr_null(listing_sum_not_whole(core.retriever, fd));
	list_names(front->seen, fd, 2);
	ck_assert_ptr_null(listing_sum_not_whole(core.retriever, fd));
	end_of(object, back);
	end_of(object, front);
	object_unref(object);
	close(fd);
	core_free(&core);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("directory run");
	TCase *tcase = CORE_TCASE(suite, "directory run", 60);

	tcase_add_test(tcase, a_run_for_each_priority);
	tcase_add_test(tcase, i12_two_runs_of_a_copy);
	return run_suite(suite);
}
