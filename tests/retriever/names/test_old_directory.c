/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_old.h"

#include "retriever/names/old_directory.h"

#define LOOKUPS (1u << BACKEND_LOOKUP)

static void make_source(void)
{
	old_begin();
	core_source_file(&core, "a/b/c/d/file", 10, 1);
	core_source_file(&core, "a/b/beside/file", 10, 2);
}

/* As clients know what is there: source_object_clear() has nothing to do. */
static struct source_object old_object(const char *path)
{
	struct source_object object = {0};
	struct migrate_alias alias;
	int32_t type;

	ck_assert_int_eq(migrate_alias_bind(AT_FDCWD, path, &alias), 0);
	type = alias.type;
	memcpy(object.handle, &type, sizeof(type));
	memcpy(object.handle + sizeof(type), alias.handle, alias.len);
	object.handle_len = (uint8_t)(sizeof(type) + alias.len);
	return object;
}

static int find(const char *path)
{
	g_autofree char *there = g_build_filename(core.source, path, NULL);
	struct source_object object = old_object(there);

	return old_directory_find(core.retriever, &object);
}

START_TEST(by_what_it_is_in)
{
	static const char *const paths[] = {"", "a", "a/b", "a/b/beside", "a/b/c", "a/b/c/d"};
	struct migrate_old_index *index;

	make_source();
	core_start(&core);
	ck_assert_int_eq(find("a/b/c/d"), 0);
	index = old_index();
	for (unsigned i = 0; i < G_N_ELEMENTS(paths); i++)
		old_expect_known(index, paths[i]);
	migrate_old_index_close(index);
	core_free(&core);
}
END_TEST

/* Of what is known nobody is asked, nor above it. */
START_TEST(from_where_it_is_known)
{
	unsigned before;

	make_source();
	core_start(&core);
	close(core_find(&core, "a/b", O_RDONLY | O_DIRECTORY));
	before = backend_fault_submitted(core.fault, ~0u);
	ck_assert_int_eq(find("a/b"), 0);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, ~0u), before);
	before = backend_fault_submitted(core.fault, LOOKUPS);
	ck_assert_int_eq(find("a/b/c/d"), 0);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, LOOKUPS), before + 2);
	core_free(&core);
}
END_TEST

/* By whatever name: it is where a client has moved what it is in. */
START_TEST(where_clients_have_moved_it)
{
	int from, to;

	make_source();
	core_start(&core);
	to = core_root(&core);
	from = core_find(&core, "a", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, from, 0)), 0);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, to, 0)), 0);
	ck_assert_int_eq(renameat(from, "b", to, "moved"), 0);
	close(from);
	close(to);
	ck_assert_int_eq(find("a/b/c/d"), 0);
	close(core_find(&core, "moved/c/d", O_RDONLY | O_DIRECTORY));
	core_free(&core);
}
END_TEST

START_TEST(files_do_not_lead_there)
{
	make_source();
	core_start(&core);
	ck_assert_int_eq(find("a/b/c/d/file"), -ENOTDIR);
	core_free(&core);
}
END_TEST

START_TEST(what_the_old_server_does_not_have)
{
	struct source_object object;
	g_autofree char *gone = NULL;

	make_source();
	gone = g_build_filename(core.source, "gone", NULL);
	shell("mkdir %s", gone);
	core_start(&core);
	object = old_object(gone);
	shell("rmdir %s", gone);
	ck_assert_int_eq(old_directory_find(core.retriever, &object), -ESTALE);
	core_free(&core);
}
END_TEST

/* Nothing is said for good by one that knows nothing of its own root. */
START_TEST(while_all_are_stale)
{
	unsigned stale;

	make_source();
	core_start(&core);
	stale = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_GETATTR,
								   .action = FAULT_ERROR,
								   .status = -ESTALE});
	ck_assert_int_eq(find("a/b"), -EAGAIN);
	backend_fault_remove(core.fault, stale);
	ck_assert_int_eq(find("a/b"), 0);
	core_free(&core);
}
END_TEST

START_TEST(before_it_is_attached)
{
	make_source();
	core_open(&core);
	ck_assert_int_eq(find("a/b"), -EAGAIN);
	core_attach(&core);
	core_run(&core);
	core_connect(&core);
	ck_assert_int_eq(find("a/b"), 0);
	core_free(&core);
}
END_TEST

START_TEST(what_is_not_below_the_source)
{
	g_autofree char *outside = NULL;
	struct source_object object;

	make_source();
	outside = g_build_filename(core.dir, "outside", NULL);
	shell("mkdir %s", outside);
	core_start(&core);
	object = old_object(outside);
	ck_assert_int_eq(old_directory_find(core.retriever, &object), -ESTALE);
	core_free(&core);
}
END_TEST

/* An old server that says that each is in another one. */
START_TEST(it_ends)
{
	g_autofree char *top = NULL;
	struct source_object object;

	make_source();
	top = g_build_filename(core.dir, "deep", NULL);
	ck_assert_int_eq(mkdir(top, 0755), 0);
	ck_assert_int_eq(chdir(top), 0);
	for (unsigned i = 0; i <= OLD_DIRECTORY_DEPTH; i++) {
		ck_assert_int_eq(mkdir("d", 0755), 0);
		ck_assert_int_eq(chdir("d"), 0);
	}
	core_start(&core);
	object = old_object(".");
	ck_assert_int_eq(old_directory_find(core.retriever, &object), -ELOOP);
	ck_assert_int_eq(chdir("/"), 0);
	shell("rm -rf %s", top);
	core_free(&core);
}
END_TEST

/* It may come yet. */
START_TEST(what_cannot_be_listed_now)
{
	make_source();
	core_start(&core);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READDIR,
							   .action = FAULT_ERROR,
							   .status = -EACCES,
							   .times = 1});
	ck_assert_int_eq(find("a/b"), -EACCES);
	ck_assert_int_eq(find("a/b"), 0);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("old_directory", 60);

	tcase_add_test(tcase, by_what_it_is_in);
	tcase_add_test(tcase, from_where_it_is_known);
	tcase_add_test(tcase, where_clients_have_moved_it);
	tcase_add_test(tcase, files_do_not_lead_there);
	tcase_add_test(tcase, what_the_old_server_does_not_have);
	tcase_add_test(tcase, while_all_are_stale);
	tcase_add_test(tcase, before_it_is_attached);
	tcase_add_test(tcase, what_is_not_below_the_source);
	tcase_add_test(tcase, it_ends);
	tcase_add_test(tcase, what_cannot_be_listed_now);
	return run_tcase(tcase);
}
