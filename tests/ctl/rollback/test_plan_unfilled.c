/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stubs and directories of which not everything is here. */
#include "ctl/rollback/plan.h"

#include "tests/ctl/rollback/trees.h"

/* The stub of a file there of which nothing is here. */
static void make_bare(const char *path)
{
	g_autofree char *full = in_new(path), *there = g_build_filename(OLD_TREE, path, NULL);
	struct migrate_record rec = {.state = MIGRATE_PARTIAL, .flags = MIGRATE_REC_SHOWN_MTIME};
	struct stat st;
	int fd = open(full, O_RDWR | O_TRUNC);

	ck_assert(stat(there, &st) == 0 && ftruncate(fd, st.st_size) == 0);
	rec.fileid = st.st_ino;
	rec.size = (uint64_t)st.st_size;
	rec.mtime = rec.shown_mtime = migrate_ns(st.st_mtim);
	rec.ctime = migrate_ns(st.st_ctim);
	ck_assert_int_eq(migrate_extents_add(&rec.missing, 0, rec.size), 0);
	ck_assert_int_eq(migrate_binding_get(fd, "", &rec.binding), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	sh("touch -r %s %s", there, full);
	migrate_record_clear(&rec);
	close(fd);
}

/* The directory is not filled.  fileid: which it is there. */
static void set_unfilled(const char *path, uint64_t fileid)
{
	struct migrate_record rec = {.state = MIGRATE_UNFILLED, .fileid = fileid};
	g_autofree char *full = in_new(path);
	int fd = open(full, O_RDONLY);

	ck_assert_int_eq(migrate_binding_get(fd, "", &rec.binding), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	close(fd);
}

/* A stub d/x, in a directory that is not filled, and a directory e. */
static void make_bare_in_unfilled(void)
{
	trees_make("mkdir d e && echo x >d/x && find . -exec touch -hd 2001-02-03 {} +");
	make_bare("d/x");
	set_unfilled("d", 0);
}

/* Moved there by us, it is what its stub is of, still: nothing is fetched. */
START_TEST(a_stub_that_was_moved)
{
	trees_make(FILL);
	make_bare("a/8");
	move("a/8", "e/8");
	go_back(0);
	note_seen("e/8");
	go_back(0);
	note_seen("e/8");
	go_back(0);
	sh("grep -q old8 " OLD_TREE "/e/8");
}
END_TEST

/* The stub of a file tells its number; one of its names is another file's since a gap. */
START_TEST(new_files_at_names_of_stubs)
{
	trees_make("mkdir a e && echo x >a/x && ln a/x e/l && echo z >e/z && ln e/z a/m && "
		   "find . -exec touch -hd 2001-02-03 {} +");
	sh("cd " NEW_TREE " && rm e/l a/m && echo new >e/l && echo newer >a/m");
	make_bare("a/x");
	make_bare("e/z");
	note_seen("a");
	note_seen("e");
	note_seen("e/l");
	note_seen("a/m");
	note_seen("a/x");
	note_seen("e/z");
	go_back(0);
	sh("cd " OLD_TREE " && grep -qx x a/x && grep -qx z e/z && grep -qx new e/l && "
	   "grep -qx newer a/m && test $(stat -c %%h a/x) = 1");
}
END_TEST

/* Of a whole file the only name that was here is another file's since a gap: of its own number
 * .migrate/links tells, and its other name is in a directory that is not filled. */
START_TEST(a_new_file_at_the_only_name_that_was_here)
{
	uint64_t fileid;
	struct stat st;

	trees_make(
		"mkdir a e && echo x >a/x && ln a/x e/l && find . -exec touch -hd 2001-02-03 {} +");
	ck_assert_int_eq(stat(OLD_TREE "/a", &st), 0);
	fileid = st.st_ino;
	ck_assert_int_eq(stat(OLD_TREE "/a/x", &st), 0);
	g_autofree char *link = g_strdup_printf(".migrate/links/%lx", (unsigned long)st.st_ino);
	sh("cd " NEW_TREE " && rm a/x && mkdir -p .migrate/links && mv e/l %s && echo new >e/l",
	   link);
	set_unfilled("a", fileid);
	note_seen("e");
	note_seen("e/l");
	note_seen(link);
	go_back(0);
	sh("cd " OLD_TREE " && grep -qx x a/x && grep -qx new e/l && test $(stat -c %%h a/x) = 1");
}
END_TEST

/* d is not filled: what is in it is on the old server alone.  known: its record tells which
 * directory it is there. */
static void make_unfilled(bool known)
{
	struct stat st;

	trees_make("mkdir d && echo x >d/x && find . -exec touch -hd 2001-02-03 {} +");
	ck_assert_int_eq(stat(OLD_TREE "/d", &st), 0);
	sh("rm " NEW_TREE "/d/x");
	set_unfilled("d", known ? st.st_ino : st.st_ino + 1000);
}

static void rename_what_is_unfilled(bool known)
{
	make_unfilled(known);
	sh("mv " NEW_TREE "/d " NEW_TREE "/z");
	note_seen("z");
	root_seen();
	go_back(known ? 0 : 3); /* z; d and what is in it */
	sh("grep -q x " OLD_TREE "/%s/x", known ? "z" : "d");
}

/* The retriever was killed, so that the journal did not know whose work it is. */
START_TEST(i12_an_unfilled_directory_that_seems_new)
{
	make_unfilled(true);
	note_made("d");
	root_seen();
	go_back(0);
	sh("grep -q x " OLD_TREE "/d/x");
}
END_TEST

START_TEST(i12_an_unfilled_directory_renamed_in_a_gap)
{
	rename_what_is_unfilled(true);
}
END_TEST

START_TEST(i12_an_unfilled_directory_that_is_not_found)
{
	rename_what_is_unfilled(false);
}
END_TEST

/* Its other name is in a directory that is not filled, and so is not compared. */
static void link_from_what_is_unfilled(bool gap)
{
	struct stat st, link;

	make_bare_in_unfilled();
	sh("ln " NEW_TREE "/d/x " NEW_TREE "/e/n");
	if (gap) {
		note_seen("d");
		note_seen("e");
		note_seen("e/n");
	} else {
		const struct migrate_binding x = handle_of("e/n");
		journal_store_linked(journal, &x);
		journal_store_touch(journal, &x, JOURNAL_META, NULL);
		note_made("e/n");
	}
	go_back(0);
	ck_assert_int_eq(stat(OLD_TREE "/e/n", &link), 0);
	ck_assert_int_eq(stat(OLD_TREE "/d/x", &st), 0);
	ck_assert_uint_eq(st.st_ino, link.st_ino);
}

START_TEST(linked_from_what_is_unfilled)
{
	link_from_what_is_unfilled(false);
}
END_TEST

START_TEST(linked_in_a_gap_from_what_is_unfilled)
{
	link_from_what_is_unfilled(true);
}
END_TEST

/* The journal did not know who made the stub of a file that clients wrote to, in a directory that
 * is not filled. */
static void stub_in_what_is_unfilled(bool known)
{
	struct way way;

	make_bare_in_unfilled();
	if (known)
		note_seen("d/x");
	note_made("d/x");
	const struct migrate_binding x = handle_of("d/x");
	way_begin_run(&way);
	ck_assert(tree_node(way.tree, &x)->there);
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	ck_assert_uint_eq(way.plan.made, 0);
	way_close(&way);
}

START_TEST(a_stub_that_seems_new)
{
	stub_in_what_is_unfilled(false);
}
END_TEST

START_TEST(a_stub_with_a_name_that_seems_new)
{
	stub_in_what_is_unfilled(true);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_stub_that_was_moved);
	tcase_add_test(tcase, new_files_at_names_of_stubs);
	tcase_add_test(tcase, a_new_file_at_the_only_name_that_was_here);
	tcase_add_test(tcase, i12_an_unfilled_directory_that_seems_new);
	tcase_add_test(tcase, i12_an_unfilled_directory_renamed_in_a_gap);
	tcase_add_test(tcase, i12_an_unfilled_directory_that_is_not_found);
	tcase_add_test(tcase, a_stub_that_seems_new);
	tcase_add_test(tcase, a_stub_with_a_name_that_seems_new);
	tcase_add_test(tcase, linked_from_what_is_unfilled);
	tcase_add_test(tcase, linked_in_a_gap_from_what_is_unfilled);
	return run_tcase(tcase);
}
