/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/manifest/finding.h"
#include "retriever/compare/findings.h"
#include "tests/retriever/core_hook.h"

#define MANY 1000

static int dir_fd;

static void put(const char *name, unsigned n)
{
	g_autofree char *path = g_strdup_printf("%s/%s", core_base, name);
	GString *text = g_string_new("#mtree v2.0\n");

	for (unsigned i = 0; i < n; i++) {
		struct proof_finding finding = {.path = "a\nb", .since = i, .text = "what"};

		g_string_append(text, "./x type=fifo mode=0600 ...\n" PROOF_MARK);
		proof_finding_format(text, &finding);
	}
	g_string_append(text, "#done");
	ck_assert(g_file_set_contents(path, text->str, text->len, NULL));
	g_string_free(text, TRUE);
}

/* All pages: how many findings, which stand in order. */
static unsigned list(void)
{
	gint64 start = 0;
	unsigned n = 0;

	while (start >= 0) {
		g_autoptr(GKeyFile) f = g_key_file_new();

		findings_list(dir_fd, start, f);
		for (unsigned i = 0;; i++, n++) {
			g_autofree char *group = g_strdup_printf("finding %u", i);
			g_autofree char *path = g_key_file_get_string(f, group, "path", NULL);

			if (!path)
				break;
			ck_assert_str_eq(path, "a\\012b");
			ck_assert_uint_eq(g_key_file_get_uint64(f, group, "since", NULL), n);
		}
		start = g_key_file_get_int64(f, "list", "next", NULL);
	}
	return n;
}

START_TEST(pages)
{
	dir_fd = open(core_base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_uint_eq(list(), 0);
	put(PROOF_ENTRIES, 3);
	ck_assert_uint_eq(list(), 3);
	put(PROOF_NEXT PROOF_ENTRIES, MANY); /* one that is under way */
	ck_assert_uint_eq(list(), MANY);
	close(dir_fd);
	dir_fd = -ENOENT;
	ck_assert_uint_eq(list(), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("findings", 60);

	tcase_add_test(tcase, pages);
	return run_tcase(tcase);
}
