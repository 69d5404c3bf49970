/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/report/manifest/entry.h"
#include "tests/suite.h"

#define HASH "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void is_line(const struct proof_entry *entry, const char *line)
{
	GString *out = g_string_new(NULL);
	struct proof_entry again;

	proof_entry_format(out, entry);
	ck_assert_str_eq(out->str, line);
	ck_assert(proof_entry_parse(out->str, out->len - 1, &again));
	ck_assert_str_eq(again.path, entry->path);
	ck_assert_uint_eq(again.mode, entry->mode);
	ck_assert_uint_eq(again.size, entry->size);
	ck_assert_int_eq(again.mtime, entry->mtime);
	ck_assert_uint_eq(again.rdev, entry->rdev);
	ck_assert_int_eq(again.status, entry->status);
	ck_assert_str_eq(again.sha256, entry->sha256);
	ck_assert_pstr_eq(again.link, entry->link);
	proof_entry_clear(&again);
	g_string_free(out, TRUE);
}

START_TEST(lines)
{
	struct proof_entry file = {.path = "a/b c",
				   .mode = S_IFREG | 0644,
				   .uid = 1,
				   .gid = 4294967294,
				   .size = 12,
				   .mtime = 1700000000000000001,
				   .nlink = 1,
				   .sha256 = HASH};
	struct proof_entry root = {
		.path = "", .mode = S_IFDIR | 01777, .mtime = -500000000, .nlink = 2};
	struct proof_entry link = {.path = "\303\244\n#=\\[*?\"x",
				   .mode = S_IFLNK | 0777,
				   .link = "../a b",
				   .nlink = 1,
				   .status = PROOF_LOST};
	struct proof_entry device = {.path = "d",
				     .mode = S_IFBLK | 0600,
				     .rdev = makedev(8, 300),
				     .nlink = 1,
				     .status = PROOF_REMOVED};

	is_line(&file, "./a/b\\040c type=file mode=0644 uid=1 gid=4294967294 size=12 "
		       "time=1700000000.000000001 nlink=1 sha256digest=" HASH " tags=same\n");
	is_line(&root, ". type=dir mode=1777 uid=0 gid=0 time=-1.500000000 nlink=2 tags=same\n");
	is_line(&link, "./\\303\\244\\012\\043\\075\\134\\133\\052\\077\\042x type=link mode=0777 "
		       "uid=0 gid=0 time=0.000000000 link=../a\\040b nlink=1 "
		       "tags=lost-attributes\n");
	is_line(&device, "./d type=block mode=0600 uid=0 gid=0 time=0.000000000 "
			 "device=linux,8,300 nlink=1 tags=removed-by-clients\n");
}
END_TEST

#define REST  " mode=0600 uid=0 gid=0 time=0.000000000 nlink=1 tags=same"
#define SIZED " type=file mode=0600 uid=0 gid=0 size=1 time=0.000000000 nlink=1 tags=same"

START_TEST(refused)
{
	static const char *const bad[] = {
		"",
		".",
		"x type=fifo" REST,
		"./x",
		"./ type=fifo" REST,
		"/x type=fifo" REST,
		"./../x type=fifo" REST,
		"./a/.. type=fifo" REST,
		"./a//b type=fifo" REST,
		"./a/ type=fifo" REST,
		"./a\\0 type=fifo" REST,
		"./a\\000b type=fifo" REST,
		"./\\101 type=fifo" REST,
		"./\\777 type=fifo" REST,
		"./\303 type=fifo" REST,
		"./x type=door" REST,
		"./x type=file" REST,
		"./x type=fifo size=1" REST,
		"./x type=link" REST,
		"./x type=fifo" REST " ",
		"./x type=fifo" REST " tags=same",
		"./x type=fifo" REST " flags=none",
		"./x  type=fifo" REST,
		"./x type=fifo mode=0600 uid=-1 gid=0 time=0.000000000 nlink=1 tags=same",
		"./x type=fifo mode=0600 uid=4294967296 gid=0 time=0.000000000 nlink=1 tags=same",
		"./x type=fifo mode=10000 uid=0 gid=0 time=0.000000000 nlink=1 tags=same",
		"./x type=fifo mode=600 uid=0 gid=0 time=0.000000000 nlink=1 tags=same",
		"./x type=fifo mode=0600 uid=00 gid=0 time=0.000000000 nlink=1 tags=same",
		"./x type=fifo mode=0600 uid=0 gid=0 time=0.0 nlink=1 tags=same",
		"./x type=fifo mode=0600 uid=0 gid=0 time=9223372036854775807.0 nlink=1 tags=same",
		"./x type=fifo mode=0600 uid=0 gid=0 time=0.000000000 nlink=1 tags=good",
		"./x type=fifo mode=0600 uid=0 gid=0 time=0.000000000 nlink=1",
		"./x type=char mode=0600 uid=0 gid=0 time=0.000000000 device=linux,1 nlink=1 "
		"tags=same",
		"./x type=file mode=0600 uid=0 gid=0 size=1 time=0.000000000 nlink=1 "
		"sha256digest=ab tags=same",
	};
	struct proof_entry entry;

	ck_assert(proof_entry_parse("./x" SIZED, strlen("./x" SIZED), &entry));
	proof_entry_clear(&entry);
	ck_assert(!proof_entry_parse("./x\0" SIZED, strlen(SIZED) + 4, &entry));
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		ck_assert_msg(!proof_entry_parse(bad[i], strlen(bad[i]), &entry), "%s", bad[i]);
		ck_assert_ptr_null(entry.path);
	}
}
END_TEST

START_TEST(names)
{
	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++)
		ck_assert_ptr_nonnull(proof_status_name(i));
	ck_assert_str_eq(proof_status_name(PROOF_SKIPPED), "given-up");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("entry");

	tcase_add_test(tcase, lines);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, names);
	return run_tcase(tcase);
}
