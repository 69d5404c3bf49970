/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/fill_notes.h"

#include <fcntl.h>
#include <glib.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/migrate.h"
#include "common/record.h"
#include "tests/suite.h"

static char *top;
static int root, private, file;
static struct stat st;

static void look(void)
{
	ck_assert_int_eq(fstat(file, &st), 0);
}

/* Its ctime moves, which takes a tick of the clock. */
static void touch(void)
{
	const int64_t before = migrate_ns(st.st_ctim);

	do {
		ck_assert_int_eq(fchmod(file, 0600), 0);
		look();
	} while (migrate_ns(st.st_ctim) == before);
}

static void setup(void)
{
	top = g_strdup("/var/tmp/fill-notes-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	root = open(top, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(mkdirat(root, MIGRATE_PRIVATE_DIR, 0700), 0);
	private = openat(root, MIGRATE_PRIVATE_DIR, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(migrate_private_mark(private), 0);
	file = openat(root, "file", O_RDWR | O_CREAT, 0600);
	look();
}

static void teardown(void)
{
	unlinkat(private, FILL_NOTES_FILE, 0);
	unlinkat(root, MIGRATE_PRIVATE_DIR, AT_REMOVEDIR);
	unlinkat(root, "file", 0);
	rmdir(top);
	g_free(top);
	close(file);
	close(private);
	close(root);
}

START_TEST(as_long_as_it_was_not_touched)
{
	ck_assert(!fill_notes_has(root, &st, 77));
	fill_notes_add(private, file, 77, migrate_ns(st.st_mtim));
	ck_assert(fill_notes_has(root, &st, 77));
	ck_assert(!fill_notes_has(root, &st, 78));
	ck_assert(!fill_notes_has(root, &st, 0));
	touch();
	ck_assert(!fill_notes_has(root, &st, 77));
	/* that of another file, when it becomes whole */
	fill_notes_add(private, file, 78, migrate_ns(st.st_mtim));
	ck_assert(fill_notes_has(root, &st, 78));
	ck_assert(!fill_notes_has(root, &st, 77));
}
END_TEST

/* Between the end of its record and the note. */
START_TEST(touched_before_it_is_noted)
{
	fill_notes_add(private, file, 77, migrate_ns(st.st_mtim) + 1);
	ck_assert(!fill_notes_has(root, &st, 77));
}
END_TEST

/* A client's directory of that name says nothing. */
START_TEST(of_a_directory_without_mark)
{
	fill_notes_add(private, file, 77, migrate_ns(st.st_mtim));
	ck_assert(fill_notes_has(root, &st, 77));
	ck_assert_int_eq(renameat(root, MIGRATE_PRIVATE_DIR, root, "old"), 0);
	ck_assert_int_eq(mkdirat(root, MIGRATE_PRIVATE_DIR, 0700), 0);
	ck_assert(!fill_notes_has(root, &st, 77));
	ck_assert_int_eq(renameat(root, "old/" FILL_NOTES_FILE, root,
				  MIGRATE_PRIVATE_DIR "/" FILL_NOTES_FILE),
			 0);
	ck_assert(!fill_notes_has(root, &st, 77));
	ck_assert_int_eq(unlinkat(root, MIGRATE_PRIVATE_DIR "/" FILL_NOTES_FILE, 0), 0);
	ck_assert_int_eq(unlinkat(root, "old", AT_REMOVEDIR), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, as_long_as_it_was_not_touched);
	tcase_add_test(tcase, touched_before_it_is_noted);
	tcase_add_test(tcase, of_a_directory_without_mark);
	return run_tcase(tcase);
}
