/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "source/nfs/nfs_gather.h"

#include "backend_support.h"

static unsigned found, asked[2], done;
static struct backend_request *held[2]; /* when they are to be answered later */
static bool hold;
static int find_status, statuses[2];
static struct backend_request req;

static void find(void *user, struct backend_request *part)
{
	found++;
	backend_prepare(part);
	ck_assert_int_eq(part->op, BACKEND_GETATTR);
	ck_assert_str_eq(part->object.path, "some/path");
	part->handle_len = 6;
	memcpy(part->handle, "handle", 6);
	backend_complete(part, find_status);
}

static void answer(struct backend_request *part, unsigned which)
{
	backend_prepare(part);
	ck_assert_int_eq(part->priority, BACKEND_READAHEAD);
	ck_assert_uint_eq(part->object.handle_len, 6);
	ck_assert_mem_eq(part->object.handle, "handle", 6);
	part->xattrs = source_xattrs_new();
	source_xattrs_add(part->xattrs, which ? "user.x" : "system.posix_acl_access", "value", 5);
	source_xattrs_lose(part->xattrs, "lost %u", which);
	part->xattrs->acl_lost = which;
	part->has_attr = !which;
	part->attr.size = 5;
	backend_complete(part, statuses[which]);
}

static void ask(struct backend_request *part, unsigned which)
{
	asked[which]++;
	if (hold)
		held[which] = part;
	else
		answer(part, which);
}

static void acls(void *user, struct backend_request *part)
{
	ask(part, 0);
}

static void attrs(void *user, struct backend_request *part)
{
	ask(part, 1);
}

static void count(struct backend_request *one)
{
	ck_assert_ptr_eq(one, &req);
	done++;
}

static void gather(bool by_handle_too, bool with_acls, bool with_attrs)
{
	const struct nfs_gather_ways ways = {
		.find = find, .acls = with_acls ? acls : NULL, .attrs = with_attrs ? attrs : NULL};

	req = (struct backend_request){.op = BACKEND_XATTRS,
				       .priority = BACKEND_READAHEAD,
				       .object = by_path("some/path"),
				       .done = count};
	if (by_handle_too)
		req.object = by_handle((const uint8_t *)"handle", 6);
	nfs_gather(&ways, NULL, &req);
}

static void teardown(void)
{
	g_clear_pointer(&req.xattrs, source_xattrs_free);
}

static void check_both(void)
{
	ck_assert_uint_eq(done, 1);
	ck_assert_int_eq(req.status, 0);
	ck_assert(req.has_attr);
	ck_assert_uint_eq(req.attr.size, 5);
	ck_assert_uint_eq(req.xattrs->list->len, 2);
	ck_assert_uint_eq(req.xattrs->lost->len, 2);
	ck_assert(req.xattrs->acl_lost);
	for (guint i = 0; i < 2; i++) {
		ck_assert_uint_eq(g_array_index(req.xattrs->list, struct source_xattr, i).len, 5);
		ck_assert(g_str_has_prefix(req.xattrs->lost->pdata[i], "lost "));
	}
}

START_TEST(parts_are_put_together)
{
	gather(_i, true, true);
	check_both();
	ck_assert_uint_eq(found, !_i);
}
END_TEST

START_TEST(parts_are_asked_for_at_the_same_time)
{
	hold = true;
	gather(true, true, true);
	ck_assert_uint_eq(asked[0] + asked[1], 2);
	answer(held[_i], _i);
	ck_assert_uint_eq(done, 0);
	answer(held[1 - _i], 1 - _i);
	check_both();
}
END_TEST

START_TEST(one_way_is_enough)
{
	gather(_i, _i, !_i);
	ck_assert_uint_eq(done, 1);
	ck_assert_int_eq(req.status, 0);
	ck_assert_uint_eq(req.xattrs->list->len, 1);
	ck_assert_int_eq(req.has_attr, _i);
}
END_TEST

START_TEST(a_failed_part_fails_all)
{
	statuses[_i] = -EAGAIN;
	gather(true, true, true);
	ck_assert_uint_eq(done, 1);
	ck_assert_int_eq(req.status, -EAGAIN);
	ck_assert_ptr_null(req.xattrs);
	ck_assert(!req.has_attr);
}
END_TEST

START_TEST(what_is_not_found_is_not_asked_about)
{
	find_status = -ENOENT;
	gather(false, true, true);
	ck_assert_uint_eq(done, 1);
	ck_assert_int_eq(req.status, -ENOENT);
	ck_assert_uint_eq(asked[0] + asked[1], 0);
}
END_TEST

START_TEST(without_ways_nothing_is_supported)
{
	gather(_i, false, false);
	ck_assert_uint_eq(done, 1);
	ck_assert_int_eq(req.status, -ENOTSUP);
	ck_assert_ptr_null(req.xattrs);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("backend_nfs_gather");
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, NULL, teardown);
	tcase_add_loop_test(tcase, parts_are_put_together, 0, 2);
	tcase_add_loop_test(tcase, parts_are_asked_for_at_the_same_time, 0, 2);
	tcase_add_loop_test(tcase, one_way_is_enough, 0, 2);
	tcase_add_loop_test(tcase, a_failed_part_fails_all, 0, 2);
	tcase_add_test(tcase, what_is_not_found_is_not_asked_about);
	tcase_add_loop_test(tcase, without_ways_nothing_is_supported, 0, 2);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
