/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must have blocks after a sync, and what need not. */
#include "tests/retriever/core_hook.h"

#include "retriever/data/snapshot.h"

#define SIZE (64 * KIB)

static struct core core;
static struct object *object;
static struct snapshot snapshot;

/* The blocks [16384, 20480) are zeros.  Rounds are held back from here on. */
static int start(void)
{
	g_autofree uint8_t *zeros = g_malloc0(4096);
	g_autofree char *path = NULL;
	int source, fd;

	core_make(&core);
	core_source_file(&core, "f", SIZE, 1);
	path = g_strconcat(core.source, "/f", NULL);
	source = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(source, zeros, 4096, 16384), 4096);
	close(source);
	core_start(&core);
	fd = core_find(&core, "f", O_RDWR);
	core_hold("fdatasync syncfs");
	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	return fd;
}

static void end(int fd)
{
	snapshot_clear(&snapshot);
	object_unref(object);
	core_release();
	core_free_with(&core, fd);
}

static void lose(int fd, uint64_t start, uint64_t length)
{
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start, length),
			 0);
}

static uint64_t missing(void)
{
	uint64_t bytes;

	g_mutex_lock(&object->lock);
	snapshot_apply(&snapshot);
	bytes = migrate_extents_bytes(&object->record.missing);
	g_mutex_unlock(&object->lock);
	return bytes;
}

static void fill_and_take(int fd)
{
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	snapshot_take(&snapshot, object);
}

START_TEST(i3_zeros_need_no_blocks)
{
	int fd = start();

	fill_and_take(fd);
	lose(fd, 16384, 4096);
	ck_assert_int_eq(snapshot_check(&snapshot), 0);
	ck_assert_uint_eq(missing(), 0);
	end(fd);
}
END_TEST

START_TEST(i3_everything_else_does)
{
	static const uint64_t at[] = {0, 12288, 20480, SIZE - 4096};
	int fd = start();

	fill_and_take(fd);
	lose(fd, at[_i], 4096);
	ck_assert_int_eq(snapshot_check(&snapshot), -EIO);
	end(fd);
}
END_TEST

/* Once it was synced nothing of it is remembered. */
START_TEST(zeros_are_forgotten)
{
	int fd = start();

	fill_and_take(fd);
	ck_assert(!migrate_extents_empty(&file_of(object)->zeros));
	ck_assert_uint_eq(missing(), 0);
	ck_assert(migrate_extents_empty(&file_of(object)->zeros));
	end(fd);
}
END_TEST

/* A client wrote to where zeros were, too. */
START_TEST(i7_what_a_client_wrote)
{
	int fd = start();

	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_write(&core, fd, 16384, 4096, 9, false), 0);
	snapshot_take(&snapshot, object);
	ck_assert_int_eq(snapshot_check(&snapshot), 0);
	lose(fd, 16384, 4096);
	ck_assert_int_eq(snapshot_check(&snapshot), -EIO);
	end(fd);
}
END_TEST

/* I7: a hole of theirs is none that was lost, be it told already or not. */
START_TEST(i7_a_hole_of_a_client)
{
	uint64_t id;
	int fd = start();

	fill_and_take(fd);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_PUNCH, 0, 8192, &id), 0);
	lose(fd, 0, 8192);
	ck_assert_int_eq(snapshot_check(&snapshot), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 8192), 0);
	ck_assert_int_eq(snapshot_check(&snapshot), 0);
	lose(fd, 8192, 4096);
	ck_assert_int_eq(snapshot_check(&snapshot), -EIO);
	end(fd);
}
END_TEST

/* Cut by a client since; and made longer again. */
START_TEST(i7_a_file_that_was_cut)
{
	uint64_t id;
	int fd = start();

	fill_and_take(fd);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_TRUNCATE, 6000, 0, &id), 0);
	ck_assert_int_eq(ftruncate(fd, 6000), 0);
	ck_assert_int_eq(snapshot_check(&snapshot), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 6000, 0), 0);
	ck_assert_int_eq(core_truncate(&core, fd, SIZE), 0);
	ck_assert_int_eq(snapshot_check(&snapshot), 0);
	lose(fd, 0, 4096);
	ck_assert_int_eq(snapshot_check(&snapshot), -EIO);
	end(fd);
}
END_TEST

/* The linker leads calls of these two here; of a new one the compiler makes malloc(). */
static __thread int memory_for = -1; /* so many more; -1: any number */
void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *p, size_t size);

static bool has_memory(void)
{
	if (memory_for > 0)
		memory_for--;
	else if (memory_for == 0)
		return false;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return has_memory() ? __real_malloc(size) : NULL;
}

void *__wrap_realloc(void *p, size_t size)
{
	return has_memory() ? __real_realloc(p, size) : NULL;
}

/* What is not dirty any more must not stay missing: it would be fetched over a client's bytes. */
START_TEST(i7_without_memory)
{
	int fd = start(), n = -1, ret;

	ck_assert_int_eq(core_write(&core, fd, 20000, 5000, 9, false), 0);
	ck_assert_int_eq(core_write(&core, fd, 40000, 5000, 9, false), 0);
	memory_for = 0;
	ret = snapshot_take(&snapshot, object);
	memory_for = -1;
	ck_assert_int_eq(ret, -ENOMEM);
	ck_assert_int_eq(snapshot_take(&snapshot, object), 0);
	g_mutex_lock(&object->lock);
	do {
		memory_for = ++n;
		ret = snapshot_apply(&snapshot);
		memory_for = -1;
		ck_assert(!migrate_extents_overlap(&object->record.missing, 20000, 25000) == !ret);
		ck_assert(!migrate_extents_overlap(&object->record.missing, 40000, 45000) == !ret);
		ck_assert_uint_eq(migrate_extents_bytes(&object->record.dirty), ret ? 10000 : 0);
	} while (ret == -ENOMEM);
	g_mutex_unlock(&object->lock);
	ck_assert_int_eq(ret, 0);
	ck_assert_int_gt(n, 1);
	end(fd);
}
END_TEST

/* Of a version, or of an attempt, that does not count any more: there is nothing to lose. */
START_TEST(what_does_not_hold_is_not_looked_for)
{
	int fd = start();

	fill_and_take(fd);
	lose(fd, 0, SIZE);
	g_mutex_lock(&object->lock);
	*(_i ? &file_of(object)->version : &file_of(object)->lost_writes) += 1;
	g_mutex_unlock(&object->lock);
	ck_assert_int_eq(snapshot_check(&snapshot), 0);
	ck_assert_uint_eq(missing(), SIZE);
	end(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("snapshot", 60);

	tcase_add_test(tcase, i3_zeros_need_no_blocks);
	tcase_add_loop_test(tcase, i3_everything_else_does, 0, 4);
	tcase_add_test(tcase, zeros_are_forgotten);
	tcase_add_test(tcase, i7_what_a_client_wrote);
	tcase_add_test(tcase, i7_a_hole_of_a_client);
	tcase_add_test(tcase, i7_a_file_that_was_cut);
	tcase_add_test(tcase, i7_without_memory);
	tcase_add_loop_test(tcase, what_does_not_hold_is_not_looked_for, 0, 2);
	return run_tcase(tcase);
}
