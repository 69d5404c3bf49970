/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/lib/report/manifest/manifest_support.h"
#include "tests/durable.h"

static void count_entries(void *arg, const struct proof_entry *entry)
{
	unsigned *n = arg;

	ck_assert_ptr_nonnull(entry->path);
	++*n;
}

/* Of the same path the last one counts, and what was counted is what is read. */
START_TEST(last_one_counts)
{
	struct proof_sorter *sorter = proof_sorter_new("/var/tmp", NULL);
	struct manifest_count count;
	struct manifest *manifest;
	char path[64];

	make_scratch(path, "manifest");
	ck_assert_int_eq(rmdir(path), 0);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	unsigned n = 0;

	put_entry(sorter, "f", S_IFREG | 0600, 1, PROOF_DIFFERENT);
	put_entry(sorter, "", S_IFDIR | 0700, 0, PROOF_SAME);
	put_entry(sorter, "f", S_IFREG | 0600, 2, PROOF_FAILED);
	put_entry(sorter, "e", S_IFREG | 0600, 8, PROOF_SAME);
	put_entry(sorter, "f", S_IFREG | 0600, 3, PROOF_SAME);
	ck_assert(manifest_write(fd, MEANT, sorter, count_entries, &n, &count, NULL));
	proof_sorter_free(sorter);
	ck_assert_durable(path);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(n, 3);
	ck_assert_uint_eq(count.entries, 3);
	ck_assert_uint_eq(count.bytes, 8 + 3);
	ck_assert_uint_eq(count.hashed, 2);
	ck_assert_uint_eq(count.status[PROOF_SAME], 3);
	lseek(fd, 0, SEEK_SET);
	manifest = manifest_open(fd, NULL);
	while (manifest_next(manifest, NULL))
		;
	ck_assert_mem_eq(manifest_counted(manifest), &count, sizeof count);
	manifest_close(manifest);
}
END_TEST

/* What is not an entry is none in a manifest. */
START_TEST(refused)
{
	static const char *const lines[] = {"./a nonsense\n", "\n", "./../a type=dir mode=0755\n"};

	for (unsigned i = 0; i < G_N_ELEMENTS(lines); i++) {
		struct proof_sorter *sorter = proof_sorter_new("/var/tmp", NULL);
		struct manifest_count count;
		g_autoptr(GError) error = NULL;
		int fd = memfd_create("manifest", MFD_CLOEXEC);

		ck_assert(proof_sorter_add(sorter, lines[i], strlen(lines[i]), NULL));
		ck_assert(!manifest_write(fd, "", sorter, NULL, NULL, &count, &error) ||
			  !count.entries);
		proof_sorter_free(sorter);
		close(fd);
	}
}
END_TEST

START_TEST(full_disk)
{
	struct proof_sorter *sorter = proof_sorter_new("/var/tmp", NULL);
	struct manifest_count count;
	g_autoptr(GError) error = NULL;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	put_entry(sorter, "f", S_IFREG | 0600, 1, PROOF_SAME);
	ck_assert(!manifest_write(fd, MEANT, sorter, NULL, NULL, &count, &error));
	ck_assert_ptr_nonnull(strstr(error->message, g_strerror(ENOSPC)));
	proof_sorter_free(sorter);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("manifest writer");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, last_one_counts);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, full_disk);
	return run_tcase(tcase);
}
