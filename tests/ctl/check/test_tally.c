/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/tally.h"
#include "tests/ctl/report/made.h"

#define SECOND INT64_C(1000000000)
#define DAY    (86400 * SECOND)

static struct tally tally;

static void add(const char *path, mode_t mode, uint64_t size, uint32_t nlink, int64_t mtime)
{
	const struct source_attr attr = {.mode = mode,
					 .size = size,
					 .used = size / 2,
					 .nlink = nlink,
					 .mtime = mtime,
					 .ctime = mtime};

	tally_add(&tally, path, &attr);
}

static void fill(void)
{
	tally = (struct tally){.now = 10000 * DAY};
	add("", S_IFDIR, 4096, 3, 9999 * DAY + 1);
	add("a", S_IFREG, 100, 1, 9990 * DAY);
	add("a/b/c", S_IFREG, 70000, 2, 0);
	add("a/b/d", S_IFREG, 70000, 2, 0);
	add("l", S_IFLNK, 7, 1, 10001 * DAY);
	add("p", S_IFIFO, 0, 1, INT64_MIN);
	add("empty", S_IFREG, 0, 1, INT64_MAX);
	tally_listed(&tally, "a", 2, 140000, 0.5);
	tally_listed(&tally, "", 4, 100, 0.25);
}

static void check(void)
{
	ck_assert_uint_eq(tally_objects(&tally), 7);
	ck_assert_uint_eq(tally.types[TALLY_FILES], 4);
	ck_assert_uint_eq(tally.types[TALLY_LINKS], 1);
	ck_assert_uint_eq(tally.types[TALLY_SPECIAL], 1);
	ck_assert_uint_eq(tally.bytes, 140100);
	ck_assert_uint_eq(tally.linked, 2);
	ck_assert_uint_eq(tally.small, 1);
	ck_assert_double_eq_tol(tally.own_objects, 6, 1e-9);
	ck_assert_double_eq_tol(tally.own_bytes, 70100, 1e-6);
	ck_assert_double_eq_tol(tally.own_blocks, 4096 + 18 * 4096, 1e-6);
	ck_assert_uint_eq(tally.depth, 3);
	ck_assert_uint_eq(tally.sizes[0].objects, 1);
	ck_assert_uint_eq(tally.sizes[1].bytes, 100);
	ck_assert_uint_eq(tally.sizes[3].objects, 2);
	ck_assert_uint_eq(tally.ages[0].objects, 2); /* in the future */
	ck_assert_uint_eq(tally.ages[1].objects, 1);
	ck_assert_uint_eq(tally.ages[3].objects, 1);
	ck_assert_uint_eq(tally.ages[6].objects, 3);
	ck_assert_uint_eq(tally.wide.n, 2);
	ck_assert_str_eq(tally.wide.places[0].path, "");
	ck_assert_double_eq_tol(tally.wide.places[0].seconds, 0.25, 1e-6);
	ck_assert_str_eq(tally.heavy.places[0].path, "a");
	ck_assert_uint_eq(tally.newest, INT64_MAX);
}

START_TEST(counted)
{
	fill();
	check();
	tally_clear(&tally);
}
END_TEST

START_TEST(kept)
{
	g_autoptr(GKeyFile) state = g_key_file_new(), read = g_key_file_new();
	g_autofree char *text = NULL;

	fill();
	tally_save(&tally, state);
	text = g_key_file_to_data(state, NULL, NULL);
	tally_clear(&tally);
	ck_assert(g_key_file_load_from_data(read, text, (gsize)-1, G_KEY_FILE_NONE, NULL));
	ck_assert(tally_load(&tally, read));
	check();
	ck_assert_int_eq(tally.now, 10000 * DAY);
	tally_clear(&tally);
	g_key_file_set_value(read, "tally", "sizes", "1;2;");
	ck_assert(!tally_load(&tally, read));
	tally_clear(&tally);
}
END_TEST

/* Those of many that are the largest, in order. */
START_TEST(largest)
{
	tally = (struct tally){0};
	for (unsigned i = 0; i < 1000; i++) {
		g_autofree char *path = g_strdup_printf("%u", i * 617 % 1000);

		tally_listed(&tally, path, i * 617 % 1000, 0, 1);
	}
	ck_assert_uint_eq(tally.wide.n, TALLY_TOP);
	ck_assert_uint_eq(tally.heavy.n, 0);
	for (unsigned i = 0; i < TALLY_TOP; i++) {
		g_autofree char *path = g_strdup_printf("%u", 999 - i);

		ck_assert_uint_eq(tally.wide.places[i].value, 999 - i);
		ck_assert_str_eq(tally.wide.places[i].path, path);
	}
	tally_clear(&tally);
}
END_TEST

START_TEST(titles)
{
	for (unsigned i = 0; i < TALLY_SIZES; i++)
		ck_assert_ptr_nonnull(tally_size_title(i));
	for (unsigned i = 0; i < TALLY_AGES; i++)
		ck_assert_ptr_nonnull(tally_age_title(i));
	for (unsigned i = 0; i < TALLY_TYPES; i++)
		ck_assert(tally_type_title(i) && tally_type_key(i));
}
END_TEST

/* A hundred long ones in one directory hide no other. */
START_TEST(one_of_each_directory)
{
	g_autofree char *other = g_strnfill(60, 'o');

	tally = (struct tally){.now = DAY};
	for (unsigned i = 0; i < 100; i++) {
		g_autofree char *longer = g_strnfill(100 + i, 'x');
		g_autofree char *path = g_strconcat("deep/below/", longer, NULL);

		add(path, S_IFREG, 1, 1, 0);
	}
	add(other, S_IFREG, 1, 1, 0);
	ck_assert_uint_eq(tally.paths.n, 2);
	ck_assert_uint_eq(tally.paths.places[0].value, strlen("deep/below/") + 199);
	ck_assert_str_eq(tally.paths.places[1].path, other);
	ck_assert_uint_eq(tally.names.n, 2);
	ck_assert_str_eq(tally.names.places[1].path, other);
	tally_clear(&tally);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {counted, kept, largest, one_of_each_directory, titles, NULL};

	return run_made("tally", tests);
}
