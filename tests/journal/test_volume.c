/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/volume.h"

#include "tests/journal/tree.h"

static enum volume_part part(const char *name)
{
	const struct migrate_binding dir = binding_of(name);

	return volume_part(volume, &dir);
}

START_TEST(parts)
{
	g_autofree char *private = path_of("volume/.migrate");
	int fd;

	make_dir("volume/a");
	make_dir("volume/a/b");
	make_dir("other/c");
	make_dir("volume/.migrate");
	make_dir("volume/.migrate/links");
	make_dir("volume/.migrate/staging");
	ck_assert_int_eq(part("volume"), VOLUME_WITHIN);
	ck_assert_int_eq(part("volume/a/b"), VOLUME_WITHIN);
	ck_assert_int_eq(part("other/c"), VOLUME_OUTSIDE);
	ck_assert_int_eq(part("other"), VOLUME_OUTSIDE);
	/* A client's directory of that name. */
	ck_assert_int_eq(part("volume/.migrate/links"), VOLUME_WITHIN);
	fd = open(private, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(migrate_private_mark(fd), 0);
	volume_forget(volume);
	ck_assert_int_eq(part("volume/.migrate/links"), VOLUME_LINKS);
	ck_assert_int_eq(part("volume/.migrate/staging"), VOLUME_PRIVATE);
	ck_assert_int_eq(part("volume/.migrate"), VOLUME_PRIVATE);
	ck_assert_int_eq(part("volume/a"), VOLUME_WITHIN);
	close(fd);
}
END_TEST

START_TEST(moved_and_removed)
{
	struct migrate_binding gone;

	make_dir("other/c");
	make_dir("other/c/d");
	ck_assert_int_eq(part("other/c/d"), VOLUME_OUTSIDE);
	rename_file("other/c", "volume/c");
	volume_forget(volume);
	ck_assert_int_eq(part("volume/c/d"), VOLUME_WITHIN);
	gone = binding_of("volume/c/d");
	remove_file("volume/c/d");
	volume_forget(volume);
	ck_assert_int_eq(volume_part(volume, &gone), VOLUME_WITHIN);
	volume_note(volume, &gone, VOLUME_OUTSIDE);
	ck_assert_int_eq(volume_part(volume, &gone), VOLUME_OUTSIDE);
}
END_TEST

/* More levels than a process may have descriptors. */
START_TEST(deep)
{
	g_autoptr(GString) name = g_string_new("volume");

	for (int i = 0; i < 1500; i++) {
		g_string_append(name, "/d");
		make_dir(name->str);
	}
	ck_assert_int_eq(part(name->str), VOLUME_WITHIN);
}
END_TEST

START_TEST(what_is_there)
{
	struct migrate_binding root, file, outside;
	struct stat st;

	put_file("volume/f", "12345");
	put_file("other/g", "");
	root = binding_of("volume");
	file = binding_of("volume/f");
	outside = binding_of("other/g");
	ck_assert(volume_holds(volume, &file, &root, "f"));
	ck_assert(!volume_holds(volume, &file, &root, "g"));
	ck_assert(!volume_holds(volume, &root, &root, "f"));
	ck_assert(volume_exists(volume, &file, &st));
	ck_assert_int_eq(st.st_size, 5);
	ck_assert(volume_has(volume, &file));
	ck_assert(!volume_has(volume, &outside));
	remove_file("volume/f");
	ck_assert(!volume_exists(volume, &file, NULL));
	ck_assert(!volume_holds(volume, &file, &root, "f"));
}
END_TEST

START_TEST(no_root)
{
	GError *error = NULL;

	ck_assert_ptr_null(volume_open("/nowhere/at/all", &error));
	ck_assert_ptr_nonnull(strstr(error->message, "/nowhere/at/all"));
	g_clear_error(&error);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("volume");

	tcase_add_checked_fixture(tcase, tree_make, tree_remove);
	tcase_add_test(tcase, parts);
	tcase_add_test(tcase, moved_and_removed);
	tcase_add_test(tcase, deep);
	tcase_add_test(tcase, what_is_there);
	tcase_add_test(tcase, no_root);
	return run_tcase(tcase);
}
