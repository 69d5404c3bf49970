/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core_directory.h"

#include "ways/directory_run.h"

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

int main(void)
{
	Suite *suite = suite_create("directory run");
	TCase *tcase = CORE_TCASE(suite, "directory run", 60);

	tcase_add_test(tcase, a_run_for_each_priority);
	return run_suite(suite);
}
