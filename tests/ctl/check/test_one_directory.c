/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/ctl/check/surveyed.h"

static struct made_walk made;

#define RUN(tree)                                                                                  \
	do {                                                                                       \
		made_walk_begin(&made, tree, G_N_ELEMENTS(tree));                                  \
		made_walk_run(&made);                                                              \
	} while (0)

/* What the listing does not say is looked up. */
START_TEST(looked_up)
{
	static const struct made_object tree[] = {
		{"", S_IFDIR | 0755},
		{"d", S_IFDIR | 0755, .bare = true},
		{"d/f", S_IFREG | 0644, .size = 9, .bare = true},
		{"gone", S_IFREG, .bare = true, .list = -ENOENT},
	};

	RUN(tree);
	ck_assert_uint_eq(made.tally.types[TALLY_FILES], 1);
	ck_assert_uint_eq(made.tally.bytes, 9);
	ck_assert_str_eq(made_only(&made, NOTICE_UNASKED)->path, "gone");
	made_walk_end(&made);
}
END_TEST

START_TEST(refused)
{
	static const struct made_object tree[] = {
		{"", S_IFDIR | 0755},
		{"closed", S_IFDIR | 0700, .list = -EACCES},
		{"closed/f", S_IFREG | 0644},
		{"silent", S_IFREG | 0644, .xattrs = -EACCES, .size = 1},
		{"secret", S_IFREG | 0600, .read = -EACCES, .size = 2},
		{"lossy", S_IFREG | 0644, .lost = "an NFSv4 ACL"},
	};

	RUN(tree);
	ck_assert_str_eq(made_only(&made, NOTICE_UNLISTED)->path, "closed");
	ck_assert_str_eq(made_only(&made, NOTICE_UNASKED)->path, "silent");
	ck_assert_str_eq(made_only(&made, NOTICE_UNREAD)->path, "secret");
	ck_assert_str_eq(made_only(&made, NOTICE_SOURCE)->path, "lossy");
	ck_assert_uint_eq(made.tally.types[TALLY_FILES], 3);
	made_walk_end(&made);
}
END_TEST

/* It says nothing of another file with the same owner and mode. */
START_TEST(a_stub_of_another_migration)
{
	static const struct made_object tree[] = {
		{"", S_IFDIR | 0755},
		{"stub", S_IFREG | 0644, .read = -EREMOTEIO, .why = QM_STUB_THERE, .size = 1},
		{"whole", S_IFREG | 0644, .size = 2},
	};

	RUN(tree);
	ck_assert_str_eq(made_only(&made, NOTICE_UNREAD)->path, "stub");
	ck_assert_ptr_nonnull(
		strstr(made_only(&made, NOTICE_UNREAD)->text, "finalize that migration"));
	made_walk_end(&made);
}
END_TEST

/* A listing that breaks off is begun anew, and nothing counts twice; five times. */
START_TEST(broken_off)
{
	static const struct made_object tree[] = {
		{"", S_IFDIR | 0755},	   {"1", S_IFREG | 0644, .size = 1},
		{"2", S_IFREG, .size = 1}, {"3", S_IFREG, .size = 1},
		{"4", S_IFREG, .size = 1}, {"5", S_IFREG, .size = 1},
	};

	made_breaks = 5;
	RUN(tree);
	ck_assert_uint_eq(made.tally.types[TALLY_FILES], 5);
	ck_assert_uint_eq(notices_sum(made.walk.notices), 0);
	made_walk_end(&made);
	made_breaks = 6;
	RUN(tree);
	ck_assert_uint_eq(made.tally.types[TALLY_FILES], 3);
	ck_assert_ptr_nonnull(strstr(made_only(&made, NOTICE_UNLISTED)->text, "breaks off"));
	made_walk_end(&made);
}
END_TEST

START_TEST(folded)
{
	static const struct made_object tree[] = {
		{"", S_IFDIR | 0755},  {"Name", S_IFREG}, {"name", S_IFREG},   {"n\u00e9", S_IFREG},
		{"ne\u0301", S_IFREG}, {"d", S_IFDIR},	  {"d/NAME", S_IFREG},
	};

	RUN(tree);
	ck_assert_uint_eq(notices_total(made.walk.notices, NOTE_FOLDED), 2);
	made_walk_end(&made);
}
END_TEST

/* A directory that is in itself does not go on for ever. */
START_TEST(in_itself)
{
	struct made_object tree[72] = {{"", S_IFDIR | 0755}};
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

	for (unsigned i = 1; i < G_N_ELEMENTS(tree); i++) {
		g_ptr_array_add(paths, judge_path(tree[i - 1].path, "d"));
		tree[i] = (struct made_object){paths->pdata[i - 1], S_IFDIR | 0755,
					       .fileid = 500 + i % 10};
	}
	RUN(tree);
	ck_assert_ptr_nonnull(strstr(made_only(&made, NOTICE_LOOP)->text, "repair that"));
	ck_assert_uint_eq(made.tally.types[TALLY_DIRECTORIES],
			  12); /* the root, ten, and the first again */
	made_walk_end(&made);
	for (unsigned i = 1; i < G_N_ELEMENTS(tree); i++)
		tree[i].mtime = i; /* numbers come again, as those of subvolumes' roots do */
	RUN(tree);
	ck_assert_uint_eq(notices_sum(made.walk.notices), 0);
	ck_assert_uint_eq(made.tally.types[TALLY_DIRECTORIES], 72);
	made_walk_end(&made);
}
END_TEST

/* A part of the files is asked, the same ones each time; directories are. */
START_TEST(a_share)
{
	static const struct made_object tree[] = {{"", S_IFDIR | 0755}, {"wide", S_IFDIR | 0755}};
	uint64_t asked;

	made_wide = 10000;
	made_walk_begin(&made, tree, G_N_ELEMENTS(tree));
	made.walk.share = WALK_ALL / 10;
	made_walk_run(&made);
	asked = made.tally.asked;
	ck_assert_uint_ge(asked, 700);
	ck_assert_uint_le(asked, 1300);
	ck_assert_uint_eq(made.tally.types[TALLY_FILES], 10000);
	made_walk_end(&made);
	made_walk_begin(&made, tree, G_N_ELEMENTS(tree));
	made.walk.share = WALK_ALL / 10;
	made_walk_run(&made);
	ck_assert_uint_eq(made.tally.asked, asked);
	made_walk_end(&made);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {looked_up,  refused, a_stub_of_another_migration,
				      broken_off, folded,  in_itself,
				      a_share,	  NULL};

	return run_made("one_directory", tests);
}
