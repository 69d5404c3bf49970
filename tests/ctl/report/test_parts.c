/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/parts.h"
#include "tests/ctl/report/made.h"
#include "tests/durable.h"

/* The old file is there until the new one is kept; what was left of a crash is in nobody's way. */
START_TEST(replaced)
{
	int dir = open(made_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	g_autofree char *path = made_path("f"), *text = NULL;

	made_run("echo old >f; ln -s /etc/passwd f.new");
	fd = part_create(dir, "f", NULL);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "new", 3), 3);
	made_run("grep -q old f && test ! -L f.new");
	ck_assert(part_keep(dir, "f", NULL));
	close(fd);
	ck_assert_durable(path);
	ck_assert_durable(made_dir);
	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	ck_assert_str_eq(text, "new");
	ck_assert(!part_keep(dir, "f", NULL));
	close(part_create(dir, "f", NULL));
	part_drop(dir, "f");
	made_run("test ! -e f.new");
	close(dir);
}
END_TEST

START_TEST(hashed)
{
	g_autofree char *path = made_path("f");
	char hex[PROOF_HASH_HEX + 1];
	g_autoptr(GError) error = NULL;
	uint64_t bytes;
	int fd;

	made_run("printf abc >f");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert(part_hash(fd, &bytes, hex, &error));
	ck_assert_uint_eq(bytes, 3);
	ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	close(fd);
	fd = open(made_dir, O_RDONLY | O_CLOEXEC);
	ck_assert(!part_hash(fd, &bytes, hex, &error));
	ck_assert_ptr_nonnull(error);
	close(fd);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {replaced, hashed, NULL};

	return run_made("parts", tests);
}
