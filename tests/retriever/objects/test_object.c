/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

#include "retriever/data/fetch.h"
#include "retriever/objects/errors.h"

static struct core core;
static gint closed_twice; /* atomic */

int close(int fd)
{
	int ret = syscall(SYS_close, fd);

	if (ret < 0)
		g_atomic_int_inc(&closed_twice);
	return ret;
}

static int start(void)
{
	core_make(&core);
	core_source_file(&core, "f", 10000, 1);
	core_start(&core);
	return core_find(&core, "f", O_RDWR);
}

START_TEST(one_object_per_inode)
{
	struct object *a, *b, *c;
	int path, fd = start();

	path = core_find(&core, "f", O_PATH);
	ck_assert_int_eq(object_get(core.retriever, fd, &a), 0);
	ck_assert_int_eq(object_get(core.retriever, path, &b), 0);
	ck_assert_ptr_eq(a, b);
	ck_assert_int_eq(object_get_taking(core.retriever, dup(fd), &c), 0);
	ck_assert_ptr_eq(a, c);
	ck_assert(!a->normal && a->kind == OBJECT_FILE);
	object_unref(b);
	object_unref(c);
	object_unref(a);
	close(path);
	core_free_with(&core, fd);
}
END_TEST

/* What memory takes over is what is stored, for a file of which nobody knew, or somebody did. */
START_TEST(made_just_now)
{
	struct migrate_record stored, rec;
	struct object *a, *b;
	int path, fd = start();

	path = core_find(&core, "f", O_PATH);
	ck_assert_int_eq(migrate_record_load(fd, &rec), 1);
	ck_assert_int_eq(migrate_record_load(fd, &stored), 1);
	ck_assert_int_eq(object_get_made(core.retriever, fd, &rec, &a), 0);
	ck_assert(!rec.missing.n && !a->normal && a->kind == OBJECT_FILE && a->fd == fd);
	ck_assert(migrate_binding_equal(&a->key, &stored.binding));
	ck_assert(a->record.missing.n == 1 && a->record.missing.v[0].end == stored.size);
	ck_assert_int_eq(object_get(core.retriever, path, &b), 0);
	ck_assert_ptr_eq(a, b);
	object_unref(b);
	ck_assert_int_eq(migrate_record_load(fd, &rec), 1);
	ck_assert_int_eq(object_get_made(core.retriever, dup(path), &rec, &b), 0);
	ck_assert_ptr_eq(a, b);
	ck_assert_int_eq(rec.missing.n, 1);
	object_unref(b);
	object_unref(a);
	migrate_record_clear(&rec);
	migrate_record_clear(&stored);
	core_free_with(&core, path);
}
END_TEST

/* Got and given back from many threads at once, while the record goes. */
static void *get_and_put(void *arg)
{
	for (unsigned i = 0; i < 500; i++) {
		struct object *object;

		if (object_get(core.retriever, GPOINTER_TO_INT(arg), &object) < 0)
			abort();
		if (is_directory(object))
			abort();
		object_unref(object);
	}
	return NULL;
}

START_TEST(many_threads)
{
	pthread_t threads[4];
	int fd = start();

	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		pthread_create(&threads[i], NULL, get_and_put, GINT_TO_POINTER(fd));
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	core_free_with(&core, fd);
}
END_TEST

/* I1, I2: what a stale view asks for is answered, and normal stays normal. */
START_TEST(i1_normal_is_terminal)
{
	uint64_t before = 10000;
	int fd = start();

	for (uint64_t at = 0; at < 10000; at += 1000) {
		ck_assert_int_eq(core_range(&core, fd, at, 1000), 0);
		ck_assert_int_eq(core_sync(&core, fd), 0);
		ck_assert_uint_le(core_missing(fd), before); /* I2 */
		before = core_missing(fd);
	}
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_write(&core, fd, 0, 10, 9, true), 0);
	ck_assert_int_eq(core_truncate(&core, fd, 20), 0);
	core_restart(&core);
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10, 9);
	core_expect(fd, 10, 10, 1);
	core_free_with(&core, fd);
}
END_TEST

/* The second close() would be of what another thread has opened since. */
START_TEST(a_size_that_cannot_be_mended)
{
	struct migrate_record rec;
	struct object *object;
	int fd = start();

	ck_assert_int_eq(migrate_record_load(fd, &rec), 1);
	rec.flags |= MIGRATE_REC_RESIZE;
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	migrate_record_clear(&rec);
	core_fail_xattr = "security.migrate";
	core_fail_errno = EIO;
	ck_assert_int_eq(object_get(core.retriever, fd, &object), -EIO);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(object_get_taking(core.retriever, fd, &object), -EIO);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	ck_assert_int_eq(g_atomic_int_get(&closed_twice), 0);
	core_fail_xattr = NULL;
	core_free(&core);
}
END_TEST

/* An open file that was removed is read to its end. */
START_TEST(removed_while_open)
{
	g_autofree char *path = NULL;
	int fd = start();

	path = core_path(&core, "f");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10000, 1);
	core_sync_normal(&core, fd);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(what_is_no_file)
{
	struct object *object;
	g_autofree char *path = NULL;
	int fifo, fd = start();

	path = core_path(&core, "fifo");
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	fifo = open(path, O_PATH | O_CLOEXEC);
	ck_assert_int_eq(object_get(core.retriever, fifo, &object), 0);
	ck_assert(object->normal);
	object_unref(object);
	ck_assert_int_eq(core_range(&core, fifo, 0, 10), 0);
	close(fifo);
	core_free_with(&core, fd);
}
END_TEST

/* What is in memory only: fetched ranges are had, written ones too; what is beyond the size not
 * missing. */
START_TEST(what_an_object_has)
{
	struct migrate_extents lacks = MIGRATE_EXTENTS_INIT;
	struct object *object;
	int fd = start();

	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	g_mutex_lock(&object->lock);
	migrate_extents_add(&file_of(object)->filled, 0, 1000);
	migrate_extents_add(&object->record.dirty, 2000, 3000);
	ck_assert(object_has(object, 0, 1000));
	ck_assert(!object_has(object, 0, 1001));
	ck_assert(object_has(object, 2500, 3000));
	ck_assert(object_has(object, 10000, INT64_MAX));
	ck_assert(object_has(object, 50, 50));
	ck_assert_int_eq(object_lacks(object, 500, INT64_MAX, &lacks), 0);
	ck_assert_uint_eq(lacks.n, 2);
	ck_assert_uint_eq(lacks.v[0].start, 1000);
	ck_assert_uint_eq(lacks.v[0].end, 2000);
	ck_assert_uint_eq(lacks.v[1].start, 3000);
	ck_assert_uint_eq(lacks.v[1].end, 10000);
	migrate_extents_clear(&lacks);
	migrate_extents_clear(&file_of(object)->filled);
	migrate_extents_clear(&object->record.dirty);
	g_mutex_unlock(&object->lock);
	object_unref(object);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("object", 60);

	tcase_add_test(tcase, one_object_per_inode);
	tcase_add_test(tcase, made_just_now);
	tcase_add_test(tcase, many_threads);
	tcase_add_test(tcase, i1_normal_is_terminal);
	tcase_add_test(tcase, a_size_that_cannot_be_mended);
	tcase_add_test(tcase, removed_while_open);
	tcase_add_test(tcase, what_is_no_file);
	tcase_add_test(tcase, what_an_object_has);
	return run_tcase(tcase);
}
