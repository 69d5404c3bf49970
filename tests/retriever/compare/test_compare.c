/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/compare.h"
#include "tests/retriever/core_copied.h"

static struct core core;
static struct compare all;

static void begin(const char *more)
{
	core_copied(&core, more);
	asker_init(&all.asker, core.retriever);
	all.retriever = core.retriever;
	all.disk = disk_new(1);
	all.scratches = scratches_new(core.retriever);
	all.clients = clients_new(core.retriever);
	all.linked = link_pairs_new();
}

static void end(void)
{
	link_pairs_free(all.linked);
	clients_free(all.clients);
	scratches_free(all.scratches);
	disk_free(all.disk);
	core_free(&core);
}

/* What name in the root is, and its findings' kinds. */
static char *compare_one(const char *name, bool sampled)
{
	const struct source_attr root = {0};
	const struct compare_place place = {core.retriever->root_fd, "", &root};
	struct source_entry entry = {.name = (char *)name};
	struct compared compared;
	GString *text;

	compared_init(&compared);
	compare_entry(&all, &place, &entry, sampled, &compared);
	text = g_string_new(compared.missing ? "gone" : proof_status_name(compared.entry.status));
	for (guint i = 0; i < compared.findings->len; i++)
		g_string_append_printf(
			text, " %s",
			proof_kind_name(
				g_array_index(compared.findings, struct proof_finding, i).kind));
	compared_clear(&compared);
	return g_string_free(text, FALSE);
}

static void is(const char *name, bool sampled, const char *what)
{
	g_autofree char *found = compare_one(name, sampled);

	ck_assert_str_eq(found, what);
}

START_TEST(kinds)
{
	begin("ln -s a $old/l; mknod $old/n c 1 3; mkfifo $old/p; ln $old/a $old/h; cp -a $old/b "
	      "$old/t");
	for (const char *const *name = (const char *const[]){"a", "d", "l", "n", "p", NULL}; *name;
	     name++)
		is(*name, true, "same");
	is("b", false, "not-sampled");
	core_shell(&core, "rm $new/h; cp -a $new/a $new/h; ln -snf b $new/l; touch -hr $old/l "
			  "$new/l; rm $new/n; mknod $new/n c 1 5; touch -r $old/n $new/n; chmod "
			  "600 $new/p; rm $new/t; mkdir $new/t; touch -r $old/t $new/t");
	is("h", true, "different links");
	is("l", true, "different content");
	is("n", true, "different content");
	is("p", true, "different attributes");
	is("t", true, "different type");
	core_shell(&core, "touch -d @5 $new/b; rm $new/p");
	is("b", false, "different attributes");
	is("p", true, "gone");
	is("z", true, "failed unread");
	end();
}
END_TEST

/* What clients have written is no difference; a stub is none, either. */
START_TEST(no_differences)
{
	g_autofree char *path = NULL;
	struct migrate_record rec = {.state = MIGRATE_PARTIAL, .size = 5000};
	int fd;

	begin(NULL);
	core_shell(&core, "echo more >> $new/a");
	is("a", true, "changed-by-clients");
	path = core_path(&core, "b");
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(migrate_binding_get(fd, "", &rec.binding), 0);
	ck_assert_int_eq(migrate_extents_add(&rec.missing, 0, 5000), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	migrate_record_clear(&rec);
	close(fd);
	is("b", true, "unfinished");
	/* and what is wrong stays so, whoever changed something else */
	core_shell(&core,
		   "printf x | dd of=$new/d/c bs=1 seek=9 conv=notrunc status=none; touch -r "
		   "$old/d/c $new/d/c; mv $new/d/c $new/c; mv $old/d/c $old/c");
	is("c", true, "different content");
	end();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("compare", 60);

	tcase_add_test(tcase, kinds);
	tcase_add_test(tcase, no_differences);
	return run_tcase(tcase);
}
