/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"

#include <fcntl.h>

#include "retriever/volume/source_bound.h"

static char *other_tree(void)
{
	char *path = g_strconcat(core.dir, "/another", NULL);

	ck_assert_int_eq(g_mkdir_with_parents(path, 0755), 0);
	return path;
}

/* A volume of one file, and no door. */
static void begin_unconnected(void)
{
	core_make(&core);
	core_source_file(&core, "f", 100, 1);
	core_start(&core);
	core_disconnect(&core);
}

/* The line names both; the file is what binds it. */
START_TEST(another_tree_is_refused)
{
	g_autofree char *other = NULL, *file = NULL, *error = NULL, *bound = NULL;
	char *was;

	begin_unconnected();
	core_close(&core);
	other = other_tree();
	was = core.source;
	core.source = other;
	error = core_try_open(&core);
	ck_assert_ptr_nonnull(error);
	ck_assert_msg(strstr(error, was) && strstr(error, "another") && strstr(error, "rm "), "%s",
		      error);
	file = core_path(&core, MIGRATE_PRIVATE_DIR "/" SOURCE_FILE);
	ck_assert_int_eq(unlink(file), 0);
	g_free(error);
	error = core_try_open(&core);
	ck_assert_msg(!error, "%s", error);
	core_close(&core);
	ck_assert(g_file_get_contents(file, &bound, NULL, NULL));
	ck_assert_ptr_nonnull(strstr(bound, "another")); /* it is bound anew */
	core.source = was;
	core_free(&core);
}
END_TEST

/* Where its root is the same object it is the same tree. */
START_TEST(a_new_address_is_the_same_tree)
{
	g_autofree char *file = NULL;

	begin_unconnected();
	core_close(&core);
	file = core_path(&core, MIGRATE_PRIVATE_DIR "/" SOURCE_FILE);
	ck_assert(g_file_set_contents(file, "file:///elsewhere", -1, NULL));
	core_open(&core);
	core_close(&core);
	ck_assert(g_file_set_contents(file, "file:///elsewhere?acl=no", -1, NULL));
	core_open(&core);
	core_close(&core);
	core_free(&core);
}
END_TEST

START_TEST(what_is_bound_to_another_address)
{
	g_autofree char *file = NULL, *directory = NULL;
	int private;

	begin_unconnected();
	core_close(&core);
	file = core_path(&core, MIGRATE_PRIVATE_DIR "/" SOURCE_FILE);
	ck_assert(g_file_set_contents(file, "nfs://old/projects?aclport=0\n", -1, NULL));
	directory = core_path(&core, MIGRATE_PRIVATE_DIR);
	private = open(directory, O_RDONLY | O_DIRECTORY);
	ck_assert(!source_bound_differs(private, "nfs://old/projects"));
	ck_assert(source_bound_differs(private, "nfs://old/archive"));
	ck_assert_int_eq(unlink(file), 0);
	ck_assert(!source_bound_differs(private, "nfs://old/archive"));
	core_free_with(&core, private);
}
END_TEST

/* What names the same server and the same path on it, and what the root has to prove. */
START_TEST(what_is_the_same_address)
{
	enum { NO, NUMBER, YES };
	static const struct {
		const char *bound, *now;
		int same;
	} cases[] = {
		{"nfs://h/a", "nfs://H:2049//a/", YES},
		{"nfs://h/a%20b", "nfs://h/a b", YES},
		{"nfs://h/a", "nfs://h/a?sec=krb5&aclport=0", YES},
		{"nfs://h/a?nfsport=1", "nfs://h/a?nfsport=2", NO},
		{"nfs://h/a?mountport=1", "nfs://h/a?mountport=2", NO},
		{"nfs://h/a?mountport=1", "nfs://h/a", NUMBER},
		{"nfs://h/a", "nfs://h/A", NO},
		{"nfs://h/a?version=3", "nfs://h/a?version=4", NUMBER},
		{"smb://u@h/Share/d", "smb://u@H:445/share/d/", YES},
		{"smb://u@h/share", "smb://v@h/share", NUMBER},
		{"smb://u@h/share", "smb://u@h/other", NO},
		{"file:///a/b", "file:///a//b/", YES},
		{"file:///a/b", "nfs://h/a/b", NO},
	};
	g_autofree char *file = NULL;
	struct source_attr *attr;
	struct volume_config *config;
	char *was;

	begin_unconnected();
	core_stop(&core);
	file = core_path(&core, MIGRATE_PRIVATE_DIR "/" SOURCE_FILE);
	attr = &core.retriever->source_root_attr;
	config = core.retriever->config;
	was = config->source;
	attr->ctime++;
	for (unsigned other = 0; other < 2; other++) {
		attr->fileid += other;
		for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
			g_autoptr(GError) error = NULL;
			bool same;

			config->source = (char *)cases[i].now;
			ck_assert(g_file_set_contents(file, cases[i].bound, -1, NULL));
			same = source_bound_check(core.retriever, &error);
			ck_assert_msg(same == (cases[i].same > (other ? NUMBER : NO)), "%s, %s: %d",
				      cases[i].bound, cases[i].now, same);
			ck_assert(same == !error);
		}
	}
	config->source = was;
	core_free(&core);
}
END_TEST

/* A root that was finished has no number of the old server's. */
START_TEST(a_root_that_proves_nothing)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *file = NULL;
	struct migrate_record rec;
	int root;

	begin_unconnected();
	core_stop(&core);
	root = core_root(&core);
	ck_assert_int_eq(migrate_record_load(root, &rec), 1);
	rec.state = MIGRATE_FILLED;
	rec.flags |= MIGRATE_REC_RETURNED;
	ck_assert_int_eq(migrate_record_store(root, &rec), 0);
	migrate_record_clear(&rec);
	file = core_path(&core, MIGRATE_PRIVATE_DIR "/" SOURCE_FILE);
	ck_assert(g_file_set_contents(file, "file:///elsewhere", -1, NULL));
	ck_assert(!source_bound_check(core.retriever, &error));
	ck_assert_msg(strstr(error->message, "no longer"), "%s", error->message);
	core_free_with(&core, root);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("source_bound", 60);

	tcase_add_test(tcase, another_tree_is_refused);
	tcase_add_test(tcase, a_new_address_is_the_same_tree);
	tcase_add_test(tcase, what_is_bound_to_another_address);
	tcase_add_test(tcase, what_is_the_same_address);
	tcase_add_test(tcase, a_root_that_proves_nothing);
	return run_tcase(tcase);
}
