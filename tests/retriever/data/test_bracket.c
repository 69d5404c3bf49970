/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_bracket.h"

/* A fill that arrives while a bracket is open waits for its end, and then brings only what the
 * client did not write. */
START_TEST(i7_a_fill_waits_for_the_bracket)
{
	g_autofree uint8_t *data = core_bytes(9, 0, SIZE);
	struct migrate_waiter *w;
	uint64_t id;
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_WRITE, 100, 200, &id), 0);
	w = core_ask_range(&core, fd, 0, UINT64_MAX, 0);
	ck_assert_int_eq(core_name_in(&core, fd, "x"), -ENOTDIR); /* the request was seen */
	ck_assert(backend_fault_wait_idle(core.fault));
	core_expect_zeros(fd, 0, SIZE); /* fetched, and not written */
	ck_assert_int_eq(pwrite(fd, data + 100, 200, 100), 200);
	ck_assert_int_eq(core_end(&core, id, true, false, 100, 200), 0);
	ck_assert_int_eq(core_wait(w), 0);
	core_expect(fd, 0, 100, 1);
	core_expect(fd, 100, 200, 9);
	core_expect(fd, 300, SIZE - 300, 1);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(a_truncate_is_alone)
{
	struct migrate_waiter *w[3];
	uint64_t write, truncate, another;
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_WRITE, 0, 1, &write), 0);
	w[0] = core_ask_begin(&core, fd, -1, MIGRATE_TRUNCATE, 10, 0, &truncate);
	w[1] = core_ask_begin(&core, fd, -1, MIGRATE_WRITE, 0, 1, &another);
	ck_assert_int_eq(core_end(&core, write, false, false, 0, 0), 0);
	ck_assert_int_eq(core_wait(w[0]), 0);
	w[2] = CORE_WAIT(waiter, migrate_sync(core.volume, fd, migrate_waiter_done, waiter));
	ck_assert_int_eq(core_wait(w[2]), 0);
	ck_assert_int_eq(ftruncate(fd, 10), 0);
	ck_assert_int_eq(core_end(&core, truncate, true, false, 10, 0), 0);
	ck_assert_int_eq(core_wait(w[1]), 0);
	ck_assert_int_eq(core_end(&core, another, false, false, 0, 0), 0);
	core_free_with(&core, fd);
}
END_TEST

/* Down, then up: what was cut off are zeros, not the old bytes. */
START_TEST(i7_truncate_down_and_up)
{
	struct stat st;
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(core_truncate(&core, fd, 1000), 0);
	ck_assert_int_eq(core_truncate(&core, fd, SIZE), 0);
	core_restart(&core);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 1000, 1);
	core_expect_zeros(fd, 1000, SIZE - 1000);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, SIZE);
	core_free_with(&core, fd);
}
END_TEST

/* What is cut off is not fetched any more: the size stays.  Also if the change failed after all,
 * in another part. */
START_TEST(i7_truncate_down_and_fill)
{
	bool changed = _i == 0;
	struct object *object;
	struct stat st;
	uint64_t id;
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0); /* it stays in memory */
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_TRUNCATE, 1000, 0, &id), 0);
	ck_assert_int_eq(ftruncate(fd, 1000), 0);
	ck_assert_int_eq(core_end(&core, id, changed, false, 1000, 0), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 1000, 1);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, 1000);
	object_unref(object);
	core_free_with(&core, fd);
}
END_TEST

/* While its bytes are on their way. */
START_TEST(i7_truncate_during_a_read)
{
	unsigned rule;
	struct migrate_waiter *w;
	int fd;

	start();
	fd = find();
	rule = backend_fault_add(core.fault,
				 &(struct fault_rule){.ops = READS, .action = FAULT_STALL});
	w = core_ask_range(&core, fd, 0, UINT64_MAX, 0);
	ck_assert(backend_fault_wait(core.fault, rule, 1));
	ck_assert_int_eq(core_truncate(&core, fd, 1000), 0);
	ck_assert_int_eq(core_truncate(&core, fd, SIZE), 0);
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(w), 0);
	core_expect(fd, 0, 1000, 1);
	core_expect_zeros(fd, 1000, SIZE - 1000);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(truncate_to_nothing_fetches_nothing)
{
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(core_truncate(&core, fd, 0), 0);
	ck_assert_int_eq(core_write(&core, fd, 0, 500, 9, true), 0);
	core_sync_normal(&core, fd);
	core_expect(fd, 0, 500, 9);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, READS), 0);
	core_free_with(&core, fd);
}
END_TEST

/* A client's mode and times are kept when the data comes and the record goes. */
START_TEST(i7_attributes_survive_the_drop)
{
	const struct timespec times[2] = {{1200000001, 11}, {1200000002, 22}};
	struct stat st;
	uint64_t id;
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_ATTRIBUTES, 0, 0, &id), 0);
	ck_assert_int_eq(fchmod(fd, 0640), 0);
	ck_assert_int_eq(fchown(fd, 12, 34), 0);
	ck_assert_int_eq(futimens(fd, times), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	core_restart(&core);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_sync_normal(&core, fd);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	ck_assert_uint_eq(st.st_uid, 12);
	ck_assert_uint_eq(st.st_gid, 34);
	ck_assert_int_eq(st.st_mtim.tv_sec, 1200000002);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 22);
	ck_assert_int_eq(st.st_atim.tv_sec, 1200000001);
	core_free_with(&core, fd);
}
END_TEST

/* I8: until then the times to show are the old server's, whatever fills do to the inode. */
START_TEST(i8_times_do_not_move)
{
	struct migrate_stub before, during;
	struct stat st;
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(migrate_stub_load(fd, &before), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, 10000), 0);
	ck_assert_int_eq(migrate_stub_load(fd, &during), 0);
	ck_assert(before.show_times && during.show_times);
	ck_assert_int_eq(before.mtime.tv_sec, 1100000001);
	ck_assert_int_eq(during.mtime.tv_sec, 1100000001);
	ck_assert_int_eq(during.mtime.tv_nsec, 123456789);
	ck_assert_int_eq(before.ctime.tv_sec, during.ctime.tv_sec);
	ck_assert_int_eq(before.ctime.tv_nsec, during.ctime.tv_nsec);
	migrate_stub_clear(&before);
	migrate_stub_clear(&during);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_sync_normal(&core, fd);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, 1100000001);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 123456789);
	ck_assert_int_eq(st.st_atim.tv_sec, 1000000001);
	core_free_with(&core, fd);
}
END_TEST

/* A client's write shows the client's time, also after the rest of the file has come. */
START_TEST(i7_a_write_sets_the_time)
{
	struct migrate_stub stub;
	struct stat st, now;
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(core_write(&core, fd, 0, 100, 9, false), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, 20000), 0);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.mtime.tv_sec, st.st_mtim.tv_sec);
	ck_assert_int_eq(stub.mtime.tv_nsec, st.st_mtim.tv_nsec);
	migrate_stub_clear(&stub);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_int_eq(fstat(fd, &now), 0);
	ck_assert_int_eq(now.st_mtim.tv_sec, st.st_mtim.tv_sec);
	ck_assert_int_eq(now.st_mtim.tv_nsec, st.st_mtim.tv_nsec);
	core_free_with(&core, fd);
}
END_TEST

/* A change that was not made, or whose door died, leaves the old bytes to be fetched. */
START_TEST(what_was_not_ended_is_still_missing)
{
	uint64_t id;
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_WRITE, 0, 100, &id), 0);
	ck_assert_int_eq(core_end(&core, id, false, false, 0, 100), 0);
	ck_assert(!core_present(fd, 0, 100));
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_WRITE, 0, 100, &id), 0);
	ck_assert_int_eq(pwrite(fd, "half", 4, 0), 4);
	core_disconnect(&core);
	core_connect(&core);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, SIZE, 1);
	core_free_with(&core, fd);
}
END_TEST

/* I4: a size that a client cut is not raised again, whether or not it had an answer. */
START_TEST(i4_a_truncation_that_was_not_ended)
{
	struct stat st;
	uint64_t id;
	int fd;

	for (int kill = 0; kill < 2; kill++) {
		start();
		fd = find();
		ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_TRUNCATE, 1000, 0, &id), 0);
		ck_assert_int_eq(ftruncate(fd, 1000), 0);
		core_disconnect(&core); /* the door dies */
		core_connect(&core);
		if (kill)
			core_restart(&core);
		ck_assert_int_eq(core_range(&core, fd, 0, 0), 0); /* it is loaded again */
		ck_assert_int_eq(fstat(fd, &st), 0);
		if (core_present(fd, 1000, SIZE - 1000)) /* also: beyond the end */
			core_expect(fd, 1000, st.st_size - 1000, 1);
		ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
		core_expect(fd, 0, st.st_size, 1);
		core_free_with(&core, fd);
	}
}
END_TEST

/* A change that failed has left nothing to be fetched: who waits for bytes beyond the new size is
 * answered, though the old server's answer is an error. */
/* A kill after it was cut, another one after it was raised again: what was cut off does not come
 * back. */
START_TEST(i7_a_cut_and_a_raise_that_were_not_ended)
{
	uint64_t id;
	int fd;

	for (int left = 0; left <= 1000; left += 1000) {
		start();
		fd = find();
		core_close(&core);
		ck_assert_int_eq(ftruncate(fd, left), 0);
		core_open(&core);
		core_run(&core);
		ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_TRUNCATE, SIZE, 0, &id), 0);
		ck_assert_int_eq(ftruncate(fd, SIZE), 0);
		core_disconnect(&core);
		core_connect(&core);
		core_restart(&core);
		ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
		core_expect(fd, 0, left, 1);
		core_expect_zeros(fd, left, SIZE - left);
		core_free_with(&core, fd);
	}
}
END_TEST

START_TEST(a_truncation_that_failed_answers_who_waits)
{
	g_autofree char *path = NULL;
	struct migrate_waiter *range;
	unsigned rule;
	uint64_t id;
	int fd;

	start();
	fd = find();
	rule = backend_fault_add(core.fault,
				 &(struct fault_rule){.ops = READS, .action = FAULT_STALL});
	range = core_ask_range(&core, fd, 0, UINT64_MAX, 0);
	ck_assert(backend_fault_wait(core.fault, rule, 1));
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_TRUNCATE, 0, 0, &id), 0);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(core_end(&core, id, false, false, 0, 0), 0);
	path = g_strconcat(core.source, "/f", NULL);
	ck_assert_int_eq(truncate(path, 1), 0); /* changed there: what comes is of no use */
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(range), 0);
	core_free_with(&core, fd);
}
END_TEST

/* The door dies with a bracket open and others waiting: they go on. */
START_TEST(a_dead_door_lets_the_others_in)
{
	struct core other;
	struct migrate_waiter *begin, *range;
	uint64_t id, mine;
	int fd;

	start();
	fd = find();
	other = core;
	core_connect(&other);
	ck_assert_int_eq(core_begin(&other, fd, -1, MIGRATE_TRUNCATE, 0, 0, &id), 0);
	begin = core_ask_begin(&core, fd, -1, MIGRATE_WRITE, 0, 100, &mine);
	range = core_ask_range(&core, fd, 0, UINT64_MAX, 0);
	ck_assert_int_eq(core_name_in(&core, fd, "x"), -ENOTDIR);
	core_disconnect(&other);
	ck_assert_int_eq(core_wait(begin), 0);
	ck_assert_int_eq(core_end(&core, mine, false, false, 0, 0), 0);
	ck_assert_int_eq(core_wait(range), 0);
	core_expect(fd, 0, SIZE, 1);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(a_begin_that_waits_can_be_cancelled)
{
	struct migrate_waiter *w, *after;
	uint64_t id, waiting, next;
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_WRITE, 0, 1, &id), 0);
	w = core_ask_begin(&core, fd, -1, MIGRATE_TRUNCATE, 0, 0, &waiting);
	after = core_ask_begin(&core, fd, -1, MIGRATE_WRITE, 0, 1, &next);
	migrate_cancel(core.volume, waiting);
	ck_assert_int_eq(core_wait(w), -ECANCELED);
	ck_assert_int_eq(core_wait(after), 0); /* beside the first */
	ck_assert_int_eq(core_end(&core, next, false, false, 0, 0), 0);
	ck_assert_int_eq(core_end(&core, id, false, false, 0, 0), 0);
	core_free_with(&core, fd);
}
END_TEST

/* Brackets on what is normal, and their durable end. */
START_TEST(brackets_of_normal_objects)
{
	uint64_t id;
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_WRITE, 0, 1, &id), 0);
	ck_assert_int_eq(core_end(&core, id, false, false, 0, 0), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_sync_normal(&core, fd);
	ck_assert_int_eq(core_write(&core, fd, 5, 10, 9, true), 0);
	core_expect(fd, 5, 10, 9);
	core_free_with(&core, fd);
}
END_TEST

static bool has_room(int fd)
{
	struct object *object;
	bool room;

	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	g_mutex_lock(&object->lock);
	room = object_has_room(object);
	g_mutex_unlock(&object->lock);
	object_unref(object);
	return room;
}

/* A record that is nearly full keeps a write waiting before it is made, where it can be given up,
 * and not at its end. */
START_TEST(i11_an_end_does_not_wait_for_the_old_server)
{
	const unsigned n = 200, stride = 256 * KIB;
	struct fault_rule stall = {.ops = 1 << BACKEND_READ, .action = FAULT_STALL};
	struct migrate_waiter *waiter;
	uint64_t id;
	unsigned rule, i;
	int fd;

	fd = core_with_file(&core, (uint64_t)n * stride, O_RDWR);
	rule = backend_fault_add(core.fault, &stall);
	for (i = 0; i < n && has_room(fd); i++)
		ck_assert_int_eq(core_write(&core, fd, i * stride, 512, 9, true), 0);
	ck_assert_uint_lt(i, n);
	waiter = core_ask_begin(&core, fd, -1, MIGRATE_WRITE, i * stride, 512, &id);
	ck_assert(backend_fault_wait(core.fault, rule, 1));
	migrate_cancel(core.volume, id);
	ck_assert_int_eq(core_wait(waiter), -ECANCELED);
	waiter = core_ask_begin(&core, fd, -1, MIGRATE_WRITE, i * stride, 512, &id);
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(waiter), 0);
	ck_assert_int_eq(pwrite(fd, "new", 3, i * stride), 3);
	ck_assert_int_eq(core_end(&core, id, true, true, i * stride, 3), 0);
	core_free_with(&core, fd);
}
END_TEST

static void note_begun(void *arg, int status)
{
	ck_assert_int_eq(status, 0);
	g_atomic_int_set((gint *)arg, 1);
}

/* One that was begun and is not ended, or n. */
static unsigned next_begun(const gint *begun, unsigned n)
{
	unsigned i = 0;

	while (i < n && g_atomic_int_get(&begun[i]) != 1)
		i++;
	return i;
}

/* However many begin while they wait for another bracket: so many are open that their ends have
 * room. */
START_TEST(i11_no_end_of_many_waits_for_the_old_server)
{
	const unsigned n = 200, stride = 256 * KIB;
	struct fault_rule stall = {.ops = 1 << BACKEND_READ, .action = FAULT_STALL};
	uint64_t cut, id[200];
	unsigned rule, i;
	gint begun[200] = {0};
	int fd;

	fd = core_with_file(&core, (uint64_t)n * stride, O_RDWR);
	rule = backend_fault_add(core.fault, &stall);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_TRUNCATE, 0, 0, &cut), 0);
	for (i = 0; i < n; i++)
		id[i] = migrate_begin(core.volume, fd, -1, MIGRATE_WRITE, i * stride, 512,
				      note_begun, &begun[i]);
	ck_assert_int_eq(core_name_in(&core, fd, "x"), -ENOTDIR); /* they were seen */
	ck_assert_int_eq(core_end(&core, cut, false, false, 0, 0), 0);
	for (unsigned ended = 0; ended < n; ended++) {
		while ((i = next_begun(begun, n)) == n) {
			/* all that are left wait for room, which the old server has to give */
			if (backend_fault_hits(core.fault, rule))
				backend_fault_release(core.fault, rule);
			sched_yield();
		}
		ck_assert_int_eq(pwrite(fd, "new", 3, i * stride), 3);
		ck_assert_int_eq(core_end(&core, id[i], true, false, i * stride, 3), 0);
		g_atomic_int_set(&begun[i], 2);
	}
	ck_assert(backend_fault_wait_idle(core.fault));
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	for (i = 0; i < n; i++) {
		char data[3];

		ck_assert_int_eq(pread(fd, data, 3, i * stride), 3);
		ck_assert(!memcmp(data, "new", 3));
		core_expect(fd, i * stride + 3, stride - 3, 1);
	}
	core_free_with(&core, fd);
}
END_TEST
int main(void)
{
	TCase *tcase = core_tcase("bracket", 60);

	tcase_add_test(tcase, i7_a_fill_waits_for_the_bracket);
	tcase_add_test(tcase, a_truncate_is_alone);
	tcase_add_test(tcase, i7_truncate_down_and_up);
	tcase_add_loop_test(tcase, i7_truncate_down_and_fill, 0, 2);
	tcase_add_test(tcase, i7_truncate_during_a_read);
	tcase_add_test(tcase, truncate_to_nothing_fetches_nothing);
	tcase_add_test(tcase, i7_attributes_survive_the_drop);
	tcase_add_test(tcase, i8_times_do_not_move);
	tcase_add_test(tcase, i7_a_write_sets_the_time);
	tcase_add_test(tcase, what_was_not_ended_is_still_missing);
	tcase_add_test(tcase, i4_a_truncation_that_was_not_ended);
	tcase_add_test(tcase, i7_a_cut_and_a_raise_that_were_not_ended);
	tcase_add_test(tcase, a_truncation_that_failed_answers_who_waits);
	tcase_add_test(tcase, a_dead_door_lets_the_others_in);
	tcase_add_test(tcase, a_begin_that_waits_can_be_cancelled);
	tcase_add_test(tcase, brackets_of_normal_objects);
	tcase_add_test(tcase, i11_an_end_does_not_wait_for_the_old_server);
	tcase_add_test(tcase, i11_no_end_of_many_waits_for_the_old_server);
	return run_tcase(tcase);
}
