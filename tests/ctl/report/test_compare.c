/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/compare.h"
#include "ctl/report/tree.h"
#include "lib/report/manifest/manifest_writer.h"
#include "tests/ctl/report/made.h"

static void complain(void *arg, const char *path, const char *what)
{
	g_string_append_printf(arg, "%s: %s\n", path, what);
}

static int root_of(const char *name)
{
	g_autofree char *path = made_path(name);

	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A manifest of t, and some lines more, in "m". */
static void make_manifest(const char *const *more)
{
	struct proof_sorter *sorter = proof_sorter_new(made_dir, NULL);
	g_autofree char *path = made_path("m");
	struct manifest_count count;
	int root = root_of("t"), fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	ck_assert(tree_read(root, true, sorter, complain, NULL, NULL));
	for (; more && *more; more++)
		ck_assert(proof_sorter_add(sorter, *more, strlen(*more), NULL));
	ck_assert(manifest_write(fd, "", sorter, NULL, NULL, &count, NULL));
	proof_sorter_free(sorter);
	close(root);
	close(fd);
}

/* What differs in t. */
static char *differences(struct compare_count *count)
{
	g_autofree char *path = made_path("m");
	struct manifest *manifest = manifest_open(open(path, O_RDONLY | O_CLOEXEC), NULL);
	GString *text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	int root = root_of("t");

	ck_assert(compare_tree(manifest, root, made_dir, complain, text, count, &error));
	ck_assert_ptr_null(error);
	manifest_close(manifest);
	close(root);
	return g_string_free(text, FALSE);
}

static void tree(void)
{
	made_run("mkdir -p t/d t/e; for i in 1 2 3; do echo $i >t/d/f$i; done; ln -s x t/l; "
		 "touch t/a 't/b c'; touch -h -d @1700000000 t/* t/d/* t/d t/e t");
}

START_TEST(same)
{
	struct compare_count count;
	g_autofree char *text = NULL;

	tree();
	make_manifest(NULL);
	text = differences(&count);
	ck_assert_str_eq(text, "");
	ck_assert_uint_eq(count.compared, 9);
	ck_assert_uint_eq(count.hashed, 5);
}
END_TEST

/* Each difference is said once, at its place. */
START_TEST(found)
{
	static const struct {
		const char *change, *said;
	} cases[] = {
		{"printf '9\\n' >t/d/f1; touch -d @1700000000 t/d/f1",
		 "d/f1: its content is another\n"},
		{"printf 'xx\\n' >t/d/f1; touch -d @1700000000 t/d/f1",
		 "d/f1: it has 3 bytes, not 2\n"},
		{"rm t/d/f3; touch -d @1700000000 t/d", "d/f3: it is missing\n"},
		{"rm t/a; mkfifo t/a; touch -d @1700000000 t", "a: it is of another type\n"},
		{": >t/0; touch -d @1700000000 t", "0: the manifest does not have it\n"},
		{": >t/zz; touch -d @1700000000 t", "zz: the manifest does not have it\n"},
		{"mkdir t/lost+found; touch -d @1700000000 t", ""},
		{"touch t/lost+found; touch -d @1700000000 t",
		 "lost+found: the manifest does not have it\n"},
		{"ln -sfn y t/l; touch -h -d @1700000000 t/l; touch -d @1700000000 t",
		 "l: it points elsewhere\n"},
		{"chmod 600 t/d/f2", "d/f2: its mode is 0600, not 0644\n"},
		{"chown 5:6 t/e", "e: its owner is 5:6, not 0:0\n"},
		{"touch -d @5.25 t/e", "e: its time is 5.250000000, not 1700000000.000000000\n"},
		{"touch -d '1960-01-01 00:00:00.25 UTC' t/e",
		 "e: its time is -315619200.250000000, not 1700000000.000000000\n"},
		{"setfattr -n security.migrate -v x t/a", "a: it is not whole in the tree\n"},
		{"rm -r t/d; touch -d @1700000000 t",
		 "d: it is missing\nd/f1: it is missing\nd/f2: it is missing\nd/f3: it is "
		 "missing\n"},
	};

	umask(022);
	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct compare_count count;
		g_autofree char *text = NULL;

		made_run("rm -rf t m");
		tree();
		make_manifest(NULL);
		made_run("%s", cases[i].change);
		text = differences(&count);
		ck_assert_str_eq(text, cases[i].said);
		ck_assert_uint_ge(count.differences, *text ? 1 : 0);
	}
}
END_TEST

#define LINE(path, tag)                                                                            \
	path " type=dir mode=0755 uid=0 gid=0 time=1.000000000 nlink=2 tags=" tag "\n"

/* What entries say that are of no object of the tree. */
START_TEST(not_there)
{
	static const char *const more[] = {LINE("./gone", "removed-by-clients"),
					   LINE("./bad", "given-up"),
					   LINE("./half", "unfinished"),
					   LINE("./a", "different"),
					   LINE("./e", "removed-by-clients"),
					   LINE("./made", "made-by-clients"),
					   NULL};
	struct compare_count count;
	g_autofree char *text = NULL;

	tree();
	make_manifest(more);
	text = differences(&count);
	ck_assert_str_eq(text, "e: it is there, and was not: removed-by-clients\n"
			       "made: it is missing\n");
	ck_assert_uint_eq(count.skipped, 2);
}
END_TEST

START_TEST(damaged)
{
	g_autofree char *path = made_path("m");
	struct compare_count count;
	struct manifest *manifest;
	GString *text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	int root;

	tree();
	make_manifest(NULL);
	made_run("truncate -s -3 m");
	root = root_of("t");
	manifest = manifest_open(open(path, O_RDONLY | O_CLOEXEC), NULL);
	ck_assert(!compare_tree(manifest, root, made_dir, complain, text, &count, &error));
	ck_assert_ptr_nonnull(error);
	manifest_close(manifest);
	g_string_free(text, TRUE);
	close(root);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {same, found, not_there, damaged, NULL};

	return run_made("compare", tests);
}
