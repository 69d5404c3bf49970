/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"

#include "retriever/copies/listing_sum.h"
#include "retriever/names/fill_stage.h"

#define NAMES 20 /* of which a listing is kept */

static struct fill *fill_of(struct object *object, enum backend_priority priority)
{
	struct fill *fill;
	int ret = -1;

	g_mutex_lock(&object->lock);
	fill = fill_new(object, priority, FILL_OBJECTS_AND_DATA, &ret);
	ck_assert_ptr_eq(directory_of(object)->fills->data, fill);
	g_mutex_unlock(&object->lock);
	ck_assert_int_eq(ret, 0);
	return fill;
}

static void end_of(struct object *object, struct fill *fill)
{
	g_mutex_lock(&object->lock);
	directory_of(object)->fills = g_slist_remove(directory_of(object)->fills, fill);
	g_mutex_unlock(&object->lock);
	fill_free(fill);
}

/* Data comes with the names for nobody who waits for these. */
START_TEST(a_fill_for_each_priority)
{
	struct object *object;
	struct fill *back, *front;
	int fd = begin(1);

	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	back = fill_of(object, BACKEND_BACKGROUND);
	front = fill_of(object, BACKEND_DEMAND);
	ck_assert(back->content == FILL_OBJECTS_AND_DATA && front->content == FILL_OBJECTS);
	ck_assert_str_eq(front->path, "d");
	ck_assert_uint_eq(front->pending, 1);
	ck_assert_int_lt(front->prior_fd, 0);
	end_of(object, back);
	ck_assert_ptr_eq(directory_of(object)->fills->data, front);
	end_of(object, front);
	ck_assert_ptr_null(directory_of(object)->fills);
	object_unref(object);
	core_free_with(&core, fd);
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
	struct fill *back, *front;
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
	back = fill_of(object, BACKEND_BACKGROUND);
	front = fill_of(object, BACKEND_DEMAND);
	ck_assert(!listing_sum_sums_up(back->sum) && !listing_sum_sums_up(front->sum));
	list_names(back->sum, fd, 1);
	ck_assert_ptr_null(listing_sum_not_whole(core.retriever, fd));
	list_names(front->sum, fd, 2);
	ck_assert_ptr_null(listing_sum_not_whole(core.retriever, fd));
	end_of(object, back);
	end_of(object, front);
	object_unref(object);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("directory fill", 60);

	tcase_add_test(tcase, a_fill_for_each_priority);
	tcase_add_test(tcase, i12_two_runs_of_a_copy);
	return run_tcase(tcase);
}
