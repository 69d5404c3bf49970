/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Holes that are believed, and those that are not, over a fake server's tree. */
#include "lib/source/nfs/nfs4_holes.h"

#include "tests/retriever/nfs4_served.h"

#define ASKED (256u << 10)

static struct source_object file;
static struct source_attr attr;

static void start(uint32_t minor, uint64_t used)
{
	served_start();
	fake4.minor = minor;
	tree.size = 1 << 20;
	tree.used = used;
	tree.seek_eof = true;
	served_open(minor == 2 ? "4.2" : "4.1");
	ck_assert_int_eq(look_up(backend, root, "file", &file, NULL), 0);
}

static void end(void)
{
	served_end();
	source_object_clear(&file);
}

/* What comes is zeros, so many of them (then 1: to the end of the file); 0: it is read. */
static int zeros_at(uint64_t offset, uint32_t len, bool holes)
{
	struct backend_request req = {.op = BACKEND_READ, .object = file, .holes = holes};
	bool zero;

	req.offset = offset;
	req.count = ASKED;
	ck_assert_int_eq(run(backend, &req), 0);
	zero = req.data_len != 4;
	ck_assert_uint_eq(req.data_len, zero ? len : 4);
	for (uint32_t i = 0; zero && i < req.data_len; i++)
		ck_assert_uint_eq(req.data[i], 0);
	ck_assert(req.has_attr);
	if (zero)
		ck_assert_int_eq(req.eof, offset + len == tree.size);
	g_free((void *)req.data);
	return zero;
}

START_TEST(holes_are_not_read)
{
	start(2, 4096);
	ck_assert(zeros_at(0, ASKED, true));
	ck_assert(zeros_at((1 << 20) - 100000, 100000, true));
	tree.seek_eof = false;
	tree.seek_data = 512 << 10;
	ck_assert(zeros_at(0, ASKED, true));
	ck_assert(zeros_at(300 << 10, 212 << 10, true));
	tree.seek = 6; /* as Linux says that nothing else follows */
	ck_assert(zeros_at(0, ASKED, true));
	ck_assert_uint_eq(tree.seeks, 5);
	ck_assert_uint_eq(tree.reads, 0);
}
END_TEST

/* As NFS-Ganesha 4.3 wants it. */
START_TEST(files_are_opened_where_that_is_wanted)
{
	struct backend_request req = {.op = BACKEND_READ, .holes = true, .count = ASKED};

	start(2, 4096);
	req.object = file;
	tree.seek_opened = true;
	ck_assert(!zeros_at(0, 0, true));
	ck_assert_uint_eq(tree.opens, 0);
	ck_assert(zeros_at(ASKED, ASKED, true));
	ck_assert_uint_eq(tree.seeks, 3);
	ck_assert(zeros_at(0, ASKED, true)); /* at once by that way */
	ck_assert_uint_eq(tree.seeks, 4);
	tree.seek = 6;
	ck_assert(zeros_at(0, ASKED, true));
	ck_assert_uint_eq(tree.opens, 3);
	ck_assert_uint_eq(tree.closes, 3);
	tree.seek = 10008; /* DELAY */
	ck_assert_int_eq(run(backend, &req), -EAGAIN);
	ck_assert_uint_eq(tree.opens, tree.closes);
	tree.seek = 0;
	tree.seek_eof = false;
	tree.seek_data = 512 << 10;
	ck_assert(!zeros_at(512 << 10, 0, true));
	tree.open = 13;
	ck_assert(!zeros_at(0, 0, true));
	tree.open = 0;
	tree.seek = 10004;
	ck_assert(!zeros_at(0, 0, true));
	ck_assert_uint_eq(tree.seeks, 8);
	ck_assert(!zeros_at(0, 0, true));
	ck_assert_uint_eq(tree.seeks, 8);
	ck_assert_uint_eq(tree.opens, 7);
	ck_assert_uint_eq(tree.closes, 6); /* one was refused */
}
END_TEST

START_TEST(data_are_read)
{
	start(2, 4096);
	tree.seek_eof = false;
	tree.seek_data = 512 << 10;
	ck_assert(!zeros_at(512 << 10, 0, true));
	ck_assert(!zeros_at((512 << 10) - NFS4_HOLE_MIN + 1, 0, true));
	ck_assert(!zeros_at(2 << 20, 0, true)); /* behind the end */
	ck_assert(!zeros_at(0, 0, false));	/* not wanted */
	tree.seek_data = 0;
	ck_assert(!zeros_at(4096, 0, true)); /* before what was asked for */
}
END_TEST

START_TEST(no_hole_is_asked_for_in_vain)
{
	/* of the last three it could be that the file has to be opened */
	static const uint32_t statuses[] = {10004, 10044, 10094, 10025, 5};
	unsigned more = _i > 1;

	start(2, 4096);
	ck_assert(zeros_at(0, ASKED, true));
	tree.seek = statuses[_i];
	ck_assert(!zeros_at(0, 0, true));
	ck_assert_uint_eq(tree.seeks, 2 + more);
	ck_assert(!zeros_at(0, 0, true));
	ck_assert_uint_eq(tree.seeks, 2 + more);
}
END_TEST

START_TEST(only_sparse_files_are_asked)
{
	start(_i == 0 ? 1 : 2, _i == 0 ? 4096 : (1 << 20) - NFS4_HOLE_MIN);
	ck_assert(!zeros_at(0, 0, true));
	ck_assert_uint_eq(tree.seeks, 0);
}
END_TEST

START_TEST(compressed_files_are_asked_once)
{
	start(2, 512 << 10);
	tree.seek_eof = false;
	for (unsigned i = 0; i < 3; i++)
		ck_assert(!zeros_at(0, 0, true));
	ck_assert_uint_eq(tree.seeks, 1);
	ck_assert_int_eq(get_attr(backend, file, &attr), 0);
	ck_assert(!zeros_at(0, 0, true));
	ck_assert_uint_eq(tree.seeks, 2);
}
END_TEST

/* Attributes are of the moment after, or there is no hole. */
START_TEST(a_hole_without_attributes_is_none)
{
	struct backend_request req = {.count = 100};

	ck_assert(!nfs4_give_hole(&req, NFS4_NO_DATA, 100));
	ck_assert_ptr_null(req.data);
	req.has_attr = true;
	req.attr.size = 50;
	ck_assert(nfs4_give_hole(&req, NFS4_NO_DATA, 100));
	ck_assert_uint_eq(req.data_len, 50);
	ck_assert(req.eof);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nfs4_holes");
	TCase *tcase = tcase_create("all"), *plain = tcase_create("plain");

	g_log_set_default_handler(plain_log, NULL);
	tcase_add_checked_fixture(tcase, NULL, end);
	tcase_add_test(tcase, holes_are_not_read);
	tcase_add_test(tcase, files_are_opened_where_that_is_wanted);
	tcase_add_test(tcase, data_are_read);
	tcase_add_loop_test(tcase, no_hole_is_asked_for_in_vain, 0, 5);
	tcase_add_loop_test(tcase, only_sparse_files_are_asked, 0, 2);
	tcase_add_test(tcase, compressed_files_are_asked_once);
	suite_add_tcase(suite, tcase);
	tcase_add_test(plain, a_hole_without_attributes_is_none);
	suite_add_tcase(suite, plain);
	return run_suite(suite);
}
