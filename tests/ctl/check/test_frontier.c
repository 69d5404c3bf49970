/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/frontier.h"
#include "tests/ctl/report/made.h"
#include "tests/durable.h"

static int dir_fd;

static struct frontier *begin(void)
{
	dir_fd = open(made_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return frontier_new(dir_fd);
}

static void put(struct frontier *frontier, unsigned i)
{
	g_autofree char *path = g_strdup_printf("directory/%u\n", i);
	const uint8_t handle[] = {1, 2, (uint8_t)i};
	struct directory *above = directory_new("directory", handle, 1, NULL, 7);

	ck_assert(frontier_put(frontier, directory_new(path, handle, sizeof(handle), above, i),
			       NULL));
	directory_free(above);
}

static void take(struct frontier *frontier, unsigned i)
{
	g_autofree char *path = g_strdup_printf("directory/%u\n", i);
	GError *error = NULL;
	struct directory *directory = frontier_take(frontier, &error);

	ck_assert_ptr_null(error);
	ck_assert_ptr_nonnull(directory);
	ck_assert_str_eq(directory->object.path, path);
	ck_assert_uint_eq(directory->object.handle_len, 3);
	ck_assert_uint_eq(directory->object.handle[2], (uint8_t)i);
	ck_assert_uint_eq(directory->above->len, 2);
	ck_assert_uint_eq(g_array_index(directory->above, uint64_t, 0), 7);
	ck_assert_uint_eq(g_array_index(directory->above, uint64_t, 1), i);
	directory_free(directory);
}

static unsigned files(void)
{
	g_autoptr(GDir) dir = g_dir_open(made_dir, 0, NULL);
	unsigned n = 0;

	while (g_dir_read_name(dir))
		n++;
	return n;
}

static void expect_durable_files(void)
{
	g_autoptr(GDir) dir = g_dir_open(made_dir, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(dir)))
		ck_assert_durable_in(dir_fd, name);
}

#define MANY 20000

/* The last one first, also from files, of which only those are kept that are needed. */
START_TEST(many)
{
	struct frontier *frontier = begin();

	for (unsigned i = 0; i < MANY; i++)
		put(frontier, i);
	ck_assert_uint_ge(files(), 2);
	ck_assert_uint_eq(frontier_count(frontier), MANY);
	for (unsigned i = MANY; i > 0; i--)
		take(frontier, i - 1);
	ck_assert_uint_eq(frontier_count(frontier), 0);
	ck_assert_ptr_null(frontier_take(frontier, NULL));
	frontier_free(frontier);
	close(dir_fd);
}
END_TEST

/* What was kept is there after a kill, whatever was taken and put since. */
START_TEST(kept)
{
	struct frontier *frontier = begin();
	g_autoptr(GKeyFile) state = g_key_file_new();

	for (unsigned i = 0; i < MANY; i++)
		put(frontier, i);
	ck_assert(frontier_keep(frontier, state, NULL));
	frontier_kept(frontier);
	expect_durable_files();
	for (unsigned i = MANY; i > MANY / 2; i--)
		take(frontier, i - 1);
	for (unsigned i = 0; i < MANY; i++)
		put(frontier, i);
	frontier_free(frontier);

	frontier = frontier_new(dir_fd);
	ck_assert(frontier_load(frontier, state, NULL));
	ck_assert_uint_eq(frontier_count(frontier), MANY);
	for (unsigned i = MANY; i > MANY / 2; i--)
		take(frontier, i - 1);
	ck_assert(frontier_keep(frontier, state, NULL));
	frontier_kept(frontier);
	ck_assert_uint_le(files(), 5);
	for (unsigned i = MANY / 2; i > 0; i--)
		take(frontier, i - 1);
	ck_assert(frontier_keep(frontier, state, NULL));
	frontier_kept(frontier);
	ck_assert_uint_eq(files(), 0);
	frontier_free(frontier);
	close(dir_fd);
}
END_TEST

/* A list or a file that is damaged is an error that says which. */
START_TEST(damaged)
{
	static const char *const lists[] = {"x;", "1;", "0:1;", "1:0;", "1:99999;", "1:-1;"};
	struct frontier *frontier = begin();
	g_autoptr(GKeyFile) state = g_key_file_new();
	g_autofree char *path = g_build_filename(made_dir, "pending.1", NULL);
	GError *error = NULL;

	put(frontier, 0);
	put(frontier, 1);
	ck_assert(frontier_keep(frontier, state, NULL));
	frontier_free(frontier);
	for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++) {
		g_autoptr(GKeyFile) other = g_key_file_new();

		g_key_file_set_value(other, "pending", "files", lists[i]);
		frontier = frontier_new(dir_fd);
		ck_assert_msg(!frontier_load(frontier, other, NULL), "%s", lists[i]);
		frontier_free(frontier);
	}
	for (off_t len = 0; len < 40; len++) {
		frontier = frontier_new(dir_fd);
		ck_assert(frontier_load(frontier, state, NULL));
		ck_assert_int_eq(truncate(path, len), 0);
		ck_assert_ptr_null(frontier_take(frontier, &error));
		ck_assert_ptr_nonnull(strstr(error->message, "pending.1"));
		g_clear_error(&error);
		frontier_free(frontier);
	}
	close(dir_fd);
}
END_TEST

/* No room on the disk is an error. */
START_TEST(full)
{
	struct frontier *frontier = begin();
	GError *error = NULL;
	bool good = true;

	close(dir_fd); /* of nothing */
	for (unsigned i = 0; i < MANY && good; i++)
		good = frontier_put(frontier, directory_new("x", (const uint8_t *)"", 0, NULL, i),
				    &error);
	ck_assert(!good);
	ck_assert_ptr_nonnull(error);
	g_error_free(error);
	frontier_free(frontier);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {many, kept, damaged, full, NULL};

	return run_made("frontier", tests);
}
