/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/lib/report/manifest/manifest_support.h"

#include <zstd.h>

static size_t bytes_of(int fd, char **bytes)
{
	off_t len = lseek(fd, 0, SEEK_END);

	*bytes = g_malloc(len + 1);
	ck_assert_int_eq(pread(fd, *bytes, len, 0), len);
	close(fd);
	return len;
}

static gint64 read_text(const char *text, char **message)
{
	size_t room = ZSTD_compressBound(strlen(text)), len;
	g_autofree char *out = g_malloc(room);

	len = ZSTD_compress(out, room, text, strlen(text), 1);
	return read_manifest(file_of(out, len), message);
}

START_TEST(in_order)
{
	static const char *const wanted[] = {"", "a", "a.b", "a/x y", "a\x01", "b"};
	struct manifest *manifest = manifest_open(small_manifest(), NULL);
	g_autoptr(GError) error = NULL;

	for (unsigned i = 0; i < G_N_ELEMENTS(wanted); i++) {
		const struct proof_entry *entry = manifest_next(manifest, &error);

		ck_assert_ptr_nonnull(entry);
		ck_assert_str_eq(entry->path, wanted[i]);
	}
	ck_assert(g_str_has_prefix(manifest_line(manifest), "./b type=file"));
	ck_assert_ptr_null(manifest_next(manifest, &error));
	ck_assert_ptr_null(error);
	const struct manifest_count *count = manifest_counted(manifest);
	ck_assert_uint_eq(count->entries, 6);
	ck_assert_uint_eq(count->directories, 2);
	ck_assert_uint_eq(count->files, 2);
	ck_assert_uint_eq(count->links, 1);
	ck_assert_uint_eq(count->others, 1);
	ck_assert_uint_eq(count->bytes, 12);
	ck_assert_uint_eq(count->status[PROOF_CHANGED], 1);
	manifest_close(manifest);
}
END_TEST

/* All its lines, or NULL where it is refused. */
static char *lines_of(int fd)
{
	g_autoptr(GError) error = NULL;
	struct manifest *manifest = manifest_open(fd, &error);
	GString *lines = g_string_new(NULL);

	while (manifest && manifest_next(manifest, &error))
		g_string_append_printf(lines, "%s\n", manifest_line(manifest));
	manifest_close(manifest);
	return g_string_free(lines, error != NULL);
}

/* Whatever is cut off or turned over is noticed, or says nothing else: the head of a frame has bits
 * that do not matter (RFC 8878, 3.1.1.1). */
START_TEST(damaged)
{
	g_autofree char *bytes = NULL, *right = NULL;
	size_t len = bytes_of(small_manifest(), &bytes);
	unsigned unnoticed = 0;

	for (size_t cut = 0; cut < len; cut++) {
		g_autofree char *message = NULL;

		ck_assert_int_eq(read_manifest(file_of(bytes, cut), &message), -1);
		ck_assert_ptr_nonnull(message);
	}
	right = lines_of(file_of(bytes, len));
	ck_assert_ptr_nonnull(right);
	for (size_t bit = 0; bit < 8 * len; bit++) {
		g_autofree char *lines = NULL;

		bytes[bit / 8] ^= 1 << bit % 8;
		lines = lines_of(file_of(bytes, len));
		bytes[bit / 8] ^= 1 << bit % 8;
		ck_assert(!lines || !strcmp(lines, right));
		unnoticed += lines != NULL;
	}
	ck_assert_uint_lt(unnoticed, 30);
	bytes[len] = 'x';
	ck_assert_int_eq(read_manifest(file_of(bytes, len + 1), NULL), -1);
}
END_TEST

#define DIR(path) path " type=dir mode=0755 uid=0 gid=0 time=1.000000000 nlink=2 tags=same\n"
#define HEAD	  MANIFEST_MAGIC "\n"

/* What zstd takes and no manifest is. */
START_TEST(hostile)
{
	static const struct {
		const char *text, *said;
		gint64 entries;
	} cases[] = {
		{HEAD DIR(".") "# end, entries: 1\n", NULL, 1},
		{HEAD "# end, entries: 0\n", NULL, 0},
		{HEAD DIR(".") "# end, entries: 2\n", "number", -1},
		{HEAD DIR("."), "end is missing", -1},
		{HEAD "# end, entries: 0\n" DIR("."), "behind the end", -1},
		{HEAD "# end, entries: 0\n# end, entries: 0\n", "number", -1},
		{HEAD DIR("./b") DIR("./a") "# end, entries: 2\n", "order", -1},
		{HEAD DIR("./a") DIR("./a") "# end, entries: 2\n", "order", -1},
		{HEAD DIR("./../a") "# end, entries: 1\n", "not an entry", -1},
		{HEAD "\n# end, entries: 0\n", "not an entry", -1},
		{HEAD DIR(".") "# end, entries: 1", "no end", -1},
		{"#mtree v3.0\n# end, entries: 0\n", "not a manifest", -1},
		{"", "not a manifest", -1},
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *message = NULL;

		ck_assert_int_eq(read_text(cases[i].text, &message), cases[i].entries);
		if (cases[i].said)
			ck_assert_ptr_nonnull(strstr(message, cases[i].said));
	}
}
END_TEST

/* A small file that would be very long: it ends before memory does. */
START_TEST(bomb)
{
	GString *text = g_string_new(HEAD "./");
	g_autofree char *message = NULL;

	for (unsigned i = 0; i < 16 * 1024; i++)
		g_string_append_printf(text, "%01024d", 0);
	ck_assert_int_eq(read_text(text->str, &message), -1);
	ck_assert_ptr_nonnull(strstr(message, "too long"));
	g_string_free(text, TRUE);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("manifest");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, in_order);
	tcase_add_test(tcase, damaged);
	tcase_add_test(tcase, hostile);
	tcase_add_test(tcase, bomb);
	return run_tcase(tcase);
}
