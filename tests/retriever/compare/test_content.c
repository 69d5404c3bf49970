/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/content.h"
#include "tests/retriever/core_copied.h"

#define LARGE (3 * MIB + 17)

static struct core core;
static struct asker asker;
static struct disk *disk;
static int dir_fd;

static void begin(void)
{
	g_autofree char *dir = NULL;

	core_copied(&core, NULL);
	dir = core_path(&core, "d");
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	asker_init(&asker, core.retriever);
	disk = disk_new(2);
}

static void end(void)
{
	disk_free(disk);
	core_free_with(&core, dir_fd);
}

static struct content compare(const char *name, uint64_t size, int status)
{
	g_autofree char *path = g_strconcat("d/", name, NULL);
	struct source_object object = {.path = path};
	gint64 bytes = 0;
	struct content content = {.asker = &asker,
				  .disk = disk,
				  .object = &object,
				  .size = size,
				  .dir_fd = dir_fd,
				  .name = name,
				  .bytes = &bytes};

	ck_assert_int_eq(content_compare(&content), status);
	if (!status)
		ck_assert_int_eq(bytes, size);
	content.object = NULL;
	content.bytes = NULL;
	return content;
}

static char *sum(const char *name, uint64_t size)
{
	g_autofree uint8_t *data = core_bytes(3, 0, size);

	return g_compute_checksum_for_data(G_CHECKSUM_SHA256, data, size);
}

START_TEST(the_same)
{
	g_autofree char *large = NULL, *empty = NULL;
	struct content content;

	begin();
	large = sum("c", LARGE);
	empty = sum("e", 0);
	content = compare("c", LARGE, 0);
	ck_assert_uint_eq(content.differ, 0);
	ck_assert_str_eq(content.sha256, large);
	content = compare("e", 0, 0);
	ck_assert_str_eq(content.sha256, empty);
	end();
}
END_TEST

START_TEST(another_byte)
{
	struct content content;

	begin();
	core_shell(&core, "printf x | dd of=$new/d/c bs=1 seek=3145740 conv=notrunc status=none");
	content = compare("c", LARGE, 0);
	ck_assert_uint_eq(content.differ, 1);
	ck_assert_uint_eq(content.first, 3145740);
	ck_assert(!content.zeros);
	end();
}
END_TEST

START_TEST(a_hole)
{
	struct content content;

	begin();
	core_shell(&core, "fallocate -p -o 1048576 -l 8192 $new/d/c");
	content = compare("c", LARGE, 0);
	ck_assert_uint_eq(content.differ, 8192);
	ck_assert_uint_eq(content.first, MIB);
	ck_assert(content.zeros);
	end();
}
END_TEST

/* On either side, between two windows and within one. */
START_TEST(shorter)
{
	begin();
	core_shell(&core, "truncate -s 1048576 $new/d/c");
	ck_assert(compare("c", LARGE, -ENODATA).changed);
	core_shell(&core, "truncate -s 2000001 $new/d/c");
	ck_assert(compare("c", LARGE, -ENODATA).changed);
	core_shell(&core, "truncate -s 3145745 $new/d/c; truncate -s 2000001 $old/d/c");
	ck_assert(compare("c", LARGE, -ENODATA).changed);
	end();
}
END_TEST

START_TEST(one_side)
{
	struct content content;

	begin();
	core_shell(&core, "rm $old/d/c");
	content = compare("c", LARGE, -ENOENT);
	ck_assert_int_eq(content.there, -ENOENT);
	ck_assert_int_eq(content.here, 0);
	core_shell(&core, "rm $new/d/e");
	content = compare("e", 0, -ENOENT);
	ck_assert_int_eq(content.here, -ENOENT);
	asker_stop(&asker);
	compare("c", LARGE, -ECANCELED);
	end();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("content", 60);

	tcase_add_test(tcase, the_same);
	tcase_add_test(tcase, another_byte);
	tcase_add_test(tcase, a_hole);
	tcase_add_test(tcase, shorter);
	tcase_add_test(tcase, one_side);
	return run_tcase(tcase);
}
