/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

#include "retriever/objects/templates.h"
#include "tests/durable.h"

static int dir;

static void setup(void)
{
	core_fixture_setup();
	dir = open(core_base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
}

static struct templates *load(bool attached)
{
	GError *error = NULL;
	struct templates *t = templates_new(dir, attached, &error);

	g_clear_error(&error);
	return t;
}

static void make_handle(uint8_t *handle, uint8_t len, unsigned n)
{
	for (unsigned i = 0; i < len; i++)
		handle[i] = i * 7;
	memcpy(handle + len / 2, &n, sizeof(n));
}

/* What was shrunk is expanded to the same bytes, by this process and by the next. */
START_TEST(round_trip)
{
	struct templates *t = load(false);
	struct migrate_record recs[500];
	uint8_t handle[64];
	unsigned diffs = 0;

	ck_assert_ptr_nonnull(t);
	for (unsigned i = 0; i < G_N_ELEMENTS(recs); i++) {
		memset(&recs[i], 0, sizeof(recs[i]));
		make_handle(handle, 20 + i % 40, i * 2654435761u);
		templates_shrink(t, handle, 20 + i % 40, &recs[i]);
		diffs += (recs[i].flags & MIGRATE_REC_HANDLE_DIFF) != 0;
	}
	ck_assert_uint_gt(diffs, 100);
	ck_assert_durable_in(dir, TEMPLATES_FILE);
	ck_assert_durable_in(dir, "");
	templates_free(t);
	t = load(true);
	for (unsigned i = 0; i < G_N_ELEMENTS(recs); i++) {
		struct source_object source = {0};

		make_handle(handle, 20 + i % 40, i * 2654435761u);
		if (recs[i].flags & MIGRATE_REC_HANDLE_DIFF) {
			if (templates_expand(t, &recs[i], &source) != 0)
				ck_abort();
		} else {
			source.handle_len = recs[i].handle_len;
			memcpy(source.handle, recs[i].handle, recs[i].handle_len);
		}
		if (source.handle_len != 20 + i % 40 ||
		    memcmp(source.handle, handle, source.handle_len) != 0)
			ck_abort_msg("handle %u", i);
	}
	templates_free(t);
}
END_TEST

/* Those that a copy has brought are kept when the volume is attached. */
START_TEST(what_is_there_already)
{
	struct templates *t = load(false), *other = templates_new(-1, false, NULL);
	struct source_object source = {0};
	struct migrate_record first = {0}, rec = {0};
	uint8_t handle[64];

	make_handle(handle, 40, 1);
	templates_shrink(t, handle, 40, &first);
	make_handle(handle, 40, 2);
	templates_shrink(t, handle, 40, &rec);
	ck_assert(rec.flags & MIGRATE_REC_HANDLE_DIFF);
	templates_free(t);
	ck_assert_int_eq(templates_set_directory(other, dir), 0);
	ck_assert_int_eq(templates_expand(other, &rec, &source), 0);
	ck_assert_uint_eq(source.handle_len, 40);
	ck_assert(!memcmp(source.handle, handle, 40));
	ck_assert(templates_has(other, &rec, handle, 40));
	ck_assert(!templates_has(other, &rec, handle, 39));
	ck_assert(!templates_has(other, &first, handle, 40));
	ck_assert(!templates_has(other, &(struct migrate_record){0}, handle, 0));
	ck_assert_int_eq(templates_set_directory(other, -1), 0);
	templates_free(other);
}
END_TEST

START_TEST(a_difference_to_nothing)
{
	struct templates *t = load(false);
	struct migrate_record rec = {.flags = MIGRATE_REC_HANDLE_DIFF};
	struct source_object source = {0};

	for (unsigned i = 0; i < 256; i++) {
		rec.diff_template = i;
		rec.diff_offset = 255;
		rec.diff_len = 100;
		ck_assert_int_eq(templates_expand(t, &rec, &source), -ESTALE);
	}
	templates_free(t);
}
END_TEST

START_TEST(damaged_files)
{
	const uint8_t long_entry[] = {200, 1, 2, 3}, cut[] = {8, 1, 2, 3}, zero[] = {0, 0};
	const struct {
		const uint8_t *bytes;
		size_t len;
	} files[] = {{long_entry, sizeof(long_entry)}, {cut, sizeof(cut)}, {zero, sizeof(zero)}};

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		int fd = openat(dir, "handles", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		ck_assert_int_eq(write(fd, files[i].bytes, files[i].len), files[i].len);
		close(fd);
		ck_assert_ptr_null(load(true));
	}
	ck_assert_int_eq(unlinkat(dir, "handles", 0), 0);
	ck_assert_ptr_null(load(true)); /* stubs would not find their handles */
}
END_TEST

/* From many threads: the same handle makes one template. */
static struct templates *shared;

static void *shrink(void *arg)
{
	for (unsigned i = 0; i < 300; i++) {
		struct migrate_record rec = {0};
		struct source_object source = {0};
		uint8_t handle[32];

		make_handle(handle, sizeof(handle), i);
		templates_shrink(shared, handle, sizeof(handle), &rec);
		if ((rec.flags & MIGRATE_REC_HANDLE_DIFF) &&
		    (templates_expand(shared, &rec, &source) != 0 ||
		     memcmp(source.handle, handle, sizeof(handle)) != 0))
			abort();
	}
	return NULL;
}

START_TEST(many_threads)
{
	pthread_t threads[4];
	struct stat st;

	shared = load(false);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		pthread_create(&threads[i], NULL, shrink, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(fstatat(dir, "handles", &st, 0), 0);
	ck_assert_int_eq(st.st_size, 33);
	templates_free(shared);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("templates");

	tcase_add_checked_fixture(tcase, setup, core_fixture_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, round_trip);
	tcase_add_test(tcase, what_is_there_already);
	tcase_add_test(tcase, a_difference_to_nothing);
	tcase_add_test(tcase, damaged_files);
	tcase_add_test(tcase, many_threads);
	return run_tcase(tcase);
}
