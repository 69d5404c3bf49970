/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/visit.h"
#include "tests/retriever/core_copied.h"

static struct core core;
static struct visits visits;

static void count(void *arg, const struct compared *compared)
{
	g_atomic_int_inc((gint *)arg);
}

/* The lines of the directory's block without what depends on the machine. */
static char *visit(const char *path, enum proof_side side, enum proof_status status, gint *n)
{
	const struct proof_task task = {.path = (char *)path, .side = side, .status = status};
	struct proof_block block;
	GString *text = g_string_new(NULL);
	g_auto(GStrv) lines = NULL;

	proof_block_init(&block, visits.dir_fd);
	visits.arg = n;
	ck_assert_int_eq(visit_directory(&visits, &task, &block), 0);
	lines = g_strsplit(block.text->str, "\n", -1);
	for (char **line = lines; *line; line++) {
		const char *tags = strstr(*line, " tags=");

		if (tags)
			g_string_append_printf(text, "%.*s=%s\n", (int)strcspn(*line, " "), *line,
					       tags + strlen(" tags="));
		else if (**line)
			g_string_append_printf(text, "%s\n", *line);
	}
	proof_block_clear(&block);
	return g_string_free(text, FALSE);
}

static void begin(const char *more)
{
	struct compare *compare = &visits.compare;

	core_copied(&core, more);
	compare->retriever = core.retriever;
	asker_init(&compare->asker, core.retriever);
	compare->disk = disk_new(1);
	compare->scratches = scratches_new(core.retriever);
	compare->clients = clients_new(core.retriever);
	compare->linked = link_pairs_new();
	visits.skipped = g_hash_table_new(g_str_hash, g_str_equal);
	visits.files = g_thread_pool_new(visit_run_file, &visits, 2, TRUE, NULL);
	visits.sample = VISIT_ALL;
	visits.counted = count;
	visits.dir_fd = core.retriever->root_fd;
}

static void end(void)
{
	g_thread_pool_free(visits.files, FALSE, TRUE);
	g_hash_table_destroy(visits.skipped);
	link_pairs_free(visits.compare.linked);
	clients_free(visits.compare.clients);
	scratches_free(visits.compare.scratches);
	disk_free(visits.compare.disk);
	core_free(&core);
}

static void has(const char *text, const char *line)
{
	g_autofree char *lines = g_strconcat("\n", text, NULL);
	g_autofree char *wanted = g_strconcat("\n", line, "\n", NULL);

	ck_assert_msg(strstr(lines, wanted), "no %s in %s", line, text);
}

START_TEST(both)
{
	g_autofree char *root = NULL, *d = NULL;
	gint n = 0;

	begin("touch $old/Name $old/gone; mkdir $old/lost");
	core_shell(&core, "touch -r $new $old/stamp; mv $new/Name $new/NAME; rm $new/gone; rmdir "
			  "$new/lost; mkdir $new/only $new/lost+found; touch -r $old/stamp $new; "
			  "rm $old/stamp; "
			  "touch -d 2001-01-01 $old");
	g_hash_table_add(visits.skipped, "gone");
	root = visit("", PROOF_BOTH, PROOF_SAME, &n);
	has(root, ".=same");
	has(root, "./a=same");
	has(root, "#dir ./d both same");
	has(root, "./gone=given-up");
	has(root, "./Name=different");
	has(root, "./NAME=different");
	ck_assert_ptr_nonnull(strstr(root, "#finding ./Name kind=spelling"));
	ck_assert_ptr_nonnull(strstr(root, "#finding ./lost kind=missing"));
	has(root, "#dir ./lost there different");
	ck_assert_ptr_nonnull(strstr(root, "#finding ./only kind=extra"));
	has(root, "#dir ./only here different");
	ck_assert_ptr_null(strstr(root, "lost+found"));
	ck_assert_int_eq(n, 9);
	d = visit("d", PROOF_BOTH, PROOF_SAME, &n);
	has(d, "./d/c=same");
	ck_assert_int_eq(n, 11);
	end();
}
END_TEST

/* With something in it it is not what e2fsck makes. */
START_TEST(i13_lost_found)
{
	g_autofree char *root = NULL;
	gint n = 0;

	begin(":");
	core_shell(&core,
		   "touch -r $new $old/stamp; mkdir $new/lost+found; touch $new/lost+found/x; "
		   "touch -r $old/stamp $new; rm $old/stamp; touch -d 2001-01-01 $old");
	root = visit("", PROOF_BOTH, PROOF_SAME, &n);
	ck_assert_ptr_nonnull(strstr(root, "#finding ./lost+found kind=extra"));
	end();
}
END_TEST

/* What clients did to names: the directory's mtime tells. */
START_TEST(clients_names)
{
	g_autofree char *root = NULL, *there = NULL, *here = NULL;
	gint n = 0;

	begin("mkdir -p $old/away/in");
	core_shell(&core, "mv $new/away $new/moved; rm $new/b; mkdir $new/b");
	root = visit("", PROOF_BOTH, PROOF_SAME, &n);
	has(root, ".=changed-by-clients");
	has(root, "./away=removed-by-clients");
	has(root, "#dir ./away there removed-by-clients");
	has(root, "./moved=made-by-clients");
	has(root, "#dir ./moved here made-by-clients");
	has(root, "./b=changed-by-clients");
	has(root, "#dir ./b here made-by-clients");
	ck_assert_ptr_null(strstr(root, "#finding"));
	there = visit("away", PROOF_THERE, PROOF_REMOVED, &n);
	has(there, "./away/in=removed-by-clients");
	here = visit("moved", PROOF_HERE, PROOF_MADE, &n);
	has(here, "./moved/in=made-by-clients");
	has(here, "#dir ./moved/in here made-by-clients");
	end();
}
END_TEST

START_TEST(gone_there)
{
	g_autofree char *text = NULL;
	gint n = 0;

	begin(NULL);
	core_shell(&core, "rm -r $old/d");
	text = visit("d", PROOF_BOTH, PROOF_SAME, &n);
	ck_assert_ptr_nonnull(strstr(text, "#finding ./d kind=unread"));
	end();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("visit", 60);

	tcase_add_test(tcase, both);
	tcase_add_test(tcase, i13_lost_found);
	tcase_add_test(tcase, clients_names);
	tcase_add_test(tcase, gone_there);
	return run_tcase(tcase);
}
