/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/mend_mark.h"
#include "tests/retriever/core_copied.h"
#include "tests/durable.h"

static struct core core;

static int open_file(const char *name, int flags)
{
	g_autofree char *path = core_path(&core, name);

	return open(path, flags | O_CLOEXEC);
}

START_TEST(a_mark)
{
	struct migrate_binding aside, found;
	int a, b, path;

	core_copied(&core, NULL);
	g_autofree char *marked = core_path(&core, "a");
	a = open_file("a", O_RDWR);
	b = open_file("b", O_RDWR);
	path = open_file("a", O_PATH);
	ck_assert(!mend_is_marked(a, &found));
	ck_assert_int_eq(mend_unmark(a), 0);
	ck_assert_int_eq(migrate_binding_get(b, "", &aside), 0);
	ck_assert_int_eq(mend_mark(a, &aside), 0);
	ck_assert_durable(marked);
	ck_assert(mend_is_marked(a, &found));
	ck_assert(migrate_binding_equal(&found, &aside));
	ck_assert(mend_is_marked(a, NULL));
	ck_assert(!mend_is_marked(path, NULL));
	close(b);
	core_shell(&core, "cp -a $new/a $new/c");
	b = open_file("c", O_RDWR);
	ck_assert(!mend_is_marked(b, NULL)); /* another inode's */
	ck_assert_int_eq(mend_unmark(a), 0);
	ck_assert_durable(marked);
	ck_assert(!mend_is_marked(a, NULL));
	close(a);
	close(b);
	core_free_with(&core, path);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("mend_mark", 60);

	tcase_add_test(tcase, a_mark);
	return run_tcase(tcase);
}
