/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

#include "retriever/making/new_object.h"

static struct source_entry entry;
static struct make_parent parent;
static struct new_object making;

static void prepare(void)
{
	core_make(&core);
	core_start(&core);
	entry = (struct source_entry){.name = (char *)"n", .has_attr = true};
	entry.attr = (struct source_attr){.mode = S_IFREG | 0640,
					  .nlink = 3,
					  .size = 5000,
					  .fileid = 7,
					  .mtime = 8,
					  .ctime = 9};
	parent = (struct make_parent){.fd = core_root(&core), .prior_fd = -1, .path = "a/b"};
	making = (struct new_object){.retriever = core.retriever,
				     .parent = &parent,
				     .entry = &entry,
				     .dir_fd = parent.fd,
				     .as = "n"};
}

START_TEST(records)
{
	struct migrate_record rec;

	prepare();
	new_object_record(&making, &rec);
	ck_assert_int_eq(rec.state, MIGRATE_PARTIAL);
	ck_assert_uint_eq(rec.fileid, 7);
	ck_assert_int_eq(rec.mtime, 8);
	ck_assert_int_eq(rec.ctime, 9);
	ck_assert_uint_eq(migrate_extents_bytes(&rec.missing), 5000);
	ck_assert_str_eq(rec.path, "a/b/n"); /* there is no handle */
	migrate_record_clear(&rec);
	entry.handle_len = 4;
	memcpy(entry.handle, "hand", 4);
	new_object_record(&making, &rec);
	ck_assert_ptr_null(rec.path);
	migrate_record_clear(&rec);
	entry.attr.mode = S_IFDIR | 0755;
	new_object_record(&making, &rec);
	ck_assert_int_eq(rec.state, MIGRATE_UNFILLED);
	ck_assert_uint_eq(rec.size, 3);
	ck_assert_str_eq(rec.path, "a/b/n");
	ck_assert_uint_eq(rec.handle_len, 4);
	migrate_record_clear(&rec);
	close(parent.fd);
	core_free(&core);
}
END_TEST

START_TEST(names_of_their_own)
{
	char first[NAMELESS_LEN], second[NAMELESS_LEN];

	prepare();
	nameless_stage(core.retriever, first);
	nameless_stage(core.retriever, second);
	ck_assert_str_ne(first, second);
	close(parent.fd);
	core_free(&core);
}
END_TEST

START_TEST(asking_and_counting)
{
	prepare();
	core.retriever->carries = 0;
	ck_assert(!new_object_must_ask(&making));
	core.retriever->carries = BACKEND_CARRIES_ACL;
	ck_assert(new_object_must_ask(&making));
	entry.attr.mode = S_IFLNK | 0777;
	ck_assert(!new_object_must_ask(&making));
	core.retriever->carries = 0;
	new_object_count(&making);
	ck_assert_int_eq(COUNT_GET(core.retriever, files_found), 1);
	ck_assert_int_eq(COUNT_GET(core.retriever, files_whole), 1);
	entry.attr.mode = S_IFREG | 0640;
	new_object_count(&making);
	ck_assert_int_eq(COUNT_GET(core.retriever, files_found), 2);
	ck_assert_int_eq(COUNT_GET(core.retriever, files_whole), 1);
	ck_assert_int_eq(COUNT_GET(core.retriever, bytes_found), 5000);
	ck_assert_int_eq(COUNT_GET(core.retriever, made), 2);
	close(parent.fd);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("making", 60);

	tcase_add_test(tcase, records);
	tcase_add_test(tcase, names_of_their_own);
	tcase_add_test(tcase, asking_and_counting);
	return run_tcase(tcase);
}
