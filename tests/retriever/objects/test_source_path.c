/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"

#include "retriever/objects/source_path.h"

static void expect(int fd, const char *path, const char *parent)
{
	g_autofree char *is = NULL, *above = NULL, *name = NULL;
	struct object *object;

	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	is = source_path_of(object);
	above = source_path_of_parent(object, &name);
	ck_assert_pstr_eq(is, path);
	ck_assert_pstr_eq(above, parent);
	if (parent) {
		g_autofree char *last = g_path_get_basename(path);

		ck_assert_str_eq(name, last);
	}
	object_unref(object);
}

/* A directory's record has it; a file is below one, under its own name. */
START_TEST(by_the_directories_above)
{
	int root, d, e, f, g;

	core_make(&core);
	core_source_file(&core, "d/e/f", 1000, 1);
	core_source_file(&core, "g", 1000, 2);
	core_start(&core);
	root = core_root(&core);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	e = core_find(&core, "d/e", O_RDONLY | O_DIRECTORY);
	f = core_find(&core, "d/e/f", O_RDWR);
	g = core_find(&core, "g", O_RDWR);
	expect(root, "", NULL);
	expect(d, "d", "");
	expect(e, "d/e", "d");
	expect(f, "d/e/f", "d/e");
	expect(g, "g", "");
	ck_assert_int_eq(renameat(root, "d", root, "moved"), 0);
	expect(f, "d/e/f", "d/e");
	ck_assert_int_eq(unlinkat(e, "f", 0), 0);
	ck_assert_int_eq(mkdirat(e, "f (deleted)", 0755), 0); /* as the kernel calls it now */
	expect(f, NULL, NULL);				      /* it is nowhere any more */
	close(g);
	close(f);
	close(e);
	close(d);
	core_free_with(&core, root);
}
END_TEST

/* What was placed elsewhere: the record has it. */
START_TEST(after_a_rename)
{
	uint64_t id;
	int d, f, root;

	core_make(&core);
	core_source_file(&core, "d/f", 1000, 1);
	core_start(&core);
	root = core_root(&core);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	f = core_find(&core, "d/f", O_RDWR);
	ck_assert_int_eq(core_begin(&core, f, root, MIGRATE_PLACE, 0, 0, &id), 0);
	ck_assert_int_eq(renameat(d, "f", root, "elsewhere"), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	{
		g_autofree char *path = NULL;
		struct object *object;

		ck_assert_int_eq(object_get(core.retriever, f, &object), 0);
		path = source_path_of(object);
		ck_assert_pstr_eq(path, "d/f");
		object_unref(object);
	}
	close(f);
	close(d);
	core_free_with(&core, root);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("source path", 60);

	tcase_add_test(tcase, by_the_directories_above);
	tcase_add_test(tcase, after_a_rename);
	return run_tcase(tcase);
}
