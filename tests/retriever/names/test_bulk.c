/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"
#include "tests/retriever/core_opens.h"

#include <sys/resource.h>

#include "lib/source/backend.h"
#include "retriever/objects/errors.h"

#define READS (1u << BACKEND_READ)

static struct core core;

static void start(unsigned n)
{
	int root;

	core_make(&core);
	for (unsigned i = 0; i < n; i++) {
		g_autofree char *name = g_strdup_printf("d/f%u", i);

		core_source_file(&core, name, 1 + i * 13, i);
	}
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	close(root);
}

static int data_of(int fd)
{
	return core_wait(core_ask_fill(&core, fd, MIGRATE_BACKGROUND | MIGRATE_DATA));
}

START_TEST(names_and_data)
{
	const unsigned n = 700;
	struct stat before, after;
	int fd;

	start(n);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fstat(fd, &before), 0);
	ck_assert_int_eq(data_of(fd), 0);
	ck_assert_int_eq(fstat(fd, &after), 0);
	ck_assert_int_eq(before.st_atim.tv_sec, after.st_atim.tv_sec); /* I8 */
	ck_assert_int_eq(before.st_atim.tv_nsec, after.st_atim.tv_nsec);
	for (unsigned i = 0; i < n; i++) {
		char name[32];
		int file;

		g_snprintf(name, sizeof(name), "f%u", i);
		file = openat(fd, name, O_RDONLY | O_CLOEXEC);
		core_expect(file, 0, 1 + i * 13, i);
		close(file);
	}
	ck_assert_int_eq(data_of(fd), 0); /* nothing left to do */
	core_free_with(&core, fd);
}
END_TEST

/* All came with the names: who comes for the data need not look at each file.  Once. */
START_TEST(data_that_came_with_names)
{
	const unsigned names = MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA;
	int fd, in;

	start(100);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, names)), 0);
	in = core_watch_opens(&core, "d");
	ck_assert_int_eq(data_of(fd), 0);
	ck_assert_uint_eq(core_opened(in), 0);
	in = core_watch_opens(&core, "d");
	ck_assert_int_eq(data_of(fd), 0);
	ck_assert_uint_ge(core_opened(in), 100);
	while (core_finish(&core, fd) == -EAGAIN)
		;
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	core_free_with(&core, fd);
}
END_TEST

/* One that did not, one that was there before, and one without bytes. */
START_TEST(data_that_did_not_come_with_names)
{
	const unsigned names = MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA;
	int fd, file;

	for (int large = 0; large < 2; large++) {
		core_make(&core);
		core_source_file(&core, "d/small", 1000, 1);
		core_source_file(&core, "d/empty", 0, 1);
		core_source_file(&core, "d/other", large ? 1 << 20 : 2000, 2);
		core_start(&core);
		fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
		if (!large)
			ck_assert_int_eq(core_name_in(&core, fd, "other"), 0);
		ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, names)), 0);
		ck_assert_int_eq(data_of(fd), 0);
		file = openat(fd, "other", O_RDONLY | O_CLOEXEC);
		core_expect(file, 0, 2000, 2);
		close(file);
		core_free_with(&core, fd);
	}
}
END_TEST

static bool has_come(int fd, const char *name)
{
	int file = openat(fd, name, O_RDONLY | O_CLOEXEC);
	bool data = lseek(file, 0, SEEK_DATA) == 0;

	close(file);
	return data;
}

/* What changed in the very nanosecond may be what a copy does not have. */
START_TEST(data_that_changed_since)
{
	const int64_t since = G_GINT64_CONSTANT(1100000002123456789); /* as core_source_file() */
	int fd;

	core_make(&core);
	core_source_file(&core, "d/before", 1000, 1);
	core_source_file(&core, "d/then", 1000, 2);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	ck_assert_int_eq(
		core_wait(CORE_WAIT(w, migrate_fill_since(core.volume, fd,
							  MIGRATE_BACKGROUND | MIGRATE_DATA, since,
							  migrate_waiter_done, w))),
		0);
	ck_assert(has_come(fd, "then"));
	ck_assert(!has_come(fd, "before"));
	core_free_with(&core, fd);
}
END_TEST

/* One file that fails is listed, the others come. */
START_TEST(i12_one_failure)
{
	int fd, failed = 0;

	start(50);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = READS,
							   .action = FAULT_ERROR,
							   .status = -EREMOTEIO,
							   .skip = 20,
							   .times = 1});
	ck_assert_int_eq(data_of(fd), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	for (unsigned i = 0; i < 50; i++) {
		char name[32];
		struct migrate_stub stub;
		int file;

		g_snprintf(name, sizeof(name), "f%u", i);
		file = openat(fd, name, O_RDONLY | O_CLOEXEC);
		ck_assert_int_eq(migrate_stub_load(file, &stub), 0);
		failed += stub.error == EREMOTEIO;
		migrate_stub_clear(&stub);
		close(file);
	}
	ck_assert_int_eq(failed, 1);
	ck_assert_int_eq(core_finish(&core, fd), -EREMOTEIO);
	ck_assert_int_eq(data_of(fd), 0);
	while (core_finish(&core, fd) == -EAGAIN)
		;
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* One name that cannot be made: the data of the others comes, the directory stays as it is. */
START_TEST(i12_one_name)
{
	int fd;

	start(50);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READDIR,
							   .action = FAULT_REFUSE,
							   .count = 1});
	ck_assert_int_eq(data_of(fd), -EREMOTEIO);
	for (unsigned i = 0; i < 50; i++) {
		char name[32];
		int file;

		g_snprintf(name, sizeof(name), "f%u", i);
		file = openat(fd, name, O_RDONLY | O_CLOEXEC);
		core_expect(file, 0, 1 + i * 13, i);
		close(file);
	}
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_int_eq(core_finish(&core, fd), -EAGAIN);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 2); /* it and the directory */
	core_free_with(&core, fd);
}
END_TEST

/* I11: while the background is stuck a client reads another file of the same directory. */
START_TEST(i11_demand_beside_a_stuck_bulk)
{
	struct migrate_waiter *w;
	unsigned rule;
	int fd, file;

	start(300);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	rule = backend_fault_add(core.fault,
				 &(struct fault_rule){.ops = READS,
						      .priorities = 1u << BACKEND_BACKGROUND,
						      .action = FAULT_STALL});
	w = core_ask_fill(&core, fd, MIGRATE_BACKGROUND | MIGRATE_DATA);
	ck_assert(backend_fault_wait(core.fault, rule, 50));
	for (unsigned i = 0; i < 300; i += 50) {
		char name[32];

		g_snprintf(name, sizeof(name), "f%u", i);
		file = openat(fd, name, O_RDWR | O_CLOEXEC);
		ck_assert_int_eq(core_range(&core, file, 0, UINT64_MAX), 0);
		core_expect(file, 0, 1 + i * 13, i);
		ck_assert_int_eq(core_write(&core, file, 0, 1, 9, true), 0);
		close(file);
	}
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(w), 0);
	core_free_with(&core, fd);
}
END_TEST

/* ---- the order of READs ---- */

static GMutex asked_lock;
static GArray *asked; /* of uint64_t, fileids */

static void note_told(struct backend_request *req)
{
	atomic_store((atomic_bool *)req->user, true);
}

static void note_submit(struct backend *backend, struct backend_request *req)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	if (req->op == BACKEND_READ) {
		atomic_bool told = false;
		struct backend_request who = {.op = BACKEND_GETATTR,
					      .object = req->object,
					      .done = note_told,
					      .user = &told};

		inner->ops->submit(inner, &who);
		while (!atomic_load(&told))
			sched_yield();
		g_mutex_lock(&asked_lock);
		g_array_append_val(asked, who.attr.fileid);
		g_mutex_unlock(&asked_lock);
	}
	inner->ops->submit(inner, req);
}

static void note_close(struct backend *backend)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	inner->ops->close(inner);
	g_free(backend);
}

static const struct backend_ops note_ops = {
	.scheme = "note",
	.close = note_close,
	.submit = note_submit,
	.max_read = backend_layer_max_read,
	.away = backend_layer_away,
	.carries = backend_layer_carries,
	.not_carried = backend_layer_not_carried,
};

static struct backend *note_wrap(struct core *self, struct backend *inner)
{
	struct backend_layer *layer = g_new0(struct backend_layer, 1);

	layer->base.ops = &note_ops;
	layer->inner = inner;
	return &layer->base;
}

/* Of what there is no room for on disk no more is under way than of other files: one file, and what
 * was kept goes before the next. */
START_TEST(no_room_to_sort)
{
	const unsigned n = 1100; /* there is room for 992 */
	struct rlimit limit;
	unsigned back = 0;
	int fd;

	core_make(&core);
	core.wrap = note_wrap;
	for (unsigned i = 0; i < n; i++) {
		g_autofree char *name = g_strdup_printf("d/e%u", i);

		core_source_file(&core, name, 10, i);
	}
	for (unsigned i = n; i-- > 0;) { /* listed in another order than that of inodes */
		g_autofree char *from = g_strdup_printf("d/e%u", i);
		g_autofree char *to = g_strdup_printf("d/f%u", i);

		core_source_rename(&core, from, to);
	}
	core_start(&core);
	asked = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){20000, limit.rlim_max}), 0);
	ck_assert_int_eq(data_of(fd), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0); /* check writes files */
	ck_assert_uint_eq(asked->len, n);
	for (guint i = 1; i < n; i++)
		back += g_array_index(asked, uint64_t, i) < g_array_index(asked, uint64_t, i - 1);
	ck_assert_uint_ge(back, 1); /* there was none */
	ck_assert_uint_le(back, 8);
	core_free_with(&core, fd);
	g_array_unref(asked);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("bulk", 120);

	tcase_add_test(tcase, names_and_data);
	tcase_add_test(tcase, data_that_came_with_names);
	tcase_add_test(tcase, data_that_did_not_come_with_names);
	tcase_add_test(tcase, data_that_changed_since);
	tcase_add_test(tcase, i12_one_failure);
	tcase_add_test(tcase, i12_one_name);
	tcase_add_test(tcase, i11_demand_beside_a_stuck_bulk);
	tcase_add_test(tcase, no_room_to_sort);
	return run_tcase(tcase);
}
