/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_gather.h"

#include "tests/retriever/backend_support.h"

static unsigned found, asked[2], done, reads;
static struct backend_request *held[2]; /* when they are to be answered later */
static bool hold;
static int find_status, statuses[2], read_status;
static struct backend_request req;
static const struct source_attr listed = {.fileid = 7, .size = 5, .mtime = 1, .ctime = 2};
static struct source_attr read_attr, acl_attr;

static void find(struct backend_request *part)
{
	found++;
	backend_prepare(part);
	ck_assert_int_eq(part->op, BACKEND_GETATTR);
	ck_assert_str_eq(part->object.path, "some/path");
	part->handle_len = 6;
	memcpy(part->handle, "handle", 6);
	backend_complete(part, find_status);
}

static void plain(void *user, struct backend_request *part)
{
	if (part->op != BACKEND_READ) {
		find(part);
		return;
	}
	reads++;
	backend_prepare(part);
	ck_assert_int_eq(part->priority, BACKEND_READAHEAD);
	ck_assert_mem_eq(part->object.handle, "handle", 6);
	ck_assert_uint_eq(part->offset, 0);
	ck_assert_uint_eq(part->count, 5);
	part->data = (const uint8_t *)"bytes";
	part->data_len = 5;
	part->has_attr = true;
	part->attr = read_attr;
	backend_complete(part, read_status);
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
	part->attr = acl_attr;
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

static bool with_bytes;

static void gather(bool by_handle_too, bool with_acls, bool with_attrs)
{
	const struct nfs_gather_ways ways = {.plain = plain,
					     .acls = with_acls ? acls : NULL,
					     .attrs = with_attrs ? attrs : NULL};

	req = (struct backend_request){.op = BACKEND_XATTRS,
				       .priority = BACKEND_READAHEAD,
				       .object = by_path("some/path"),
				       .done = count};
	if (by_handle_too)
		req.object = by_handle((const uint8_t *)"handle", 6);
	if (with_bytes) {
		req.count = 5;
		req.listed = &listed;
	}
	nfs_gather(&ways, NULL, &req);
}

static void setup(void)
{
	read_attr = acl_attr = listed;
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

START_TEST(bytes_come_with_the_rest)
{
	with_bytes = true;
	gather(_i & 1, _i & 2, _i & 4);
	ck_assert_int_eq(req.status, 0);
	ck_assert_uint_eq(done, 1);
	ck_assert_uint_eq(reads, 1);
	ck_assert(req.has_attr);
	ck_assert_uint_eq(req.attr.fileid, 7);
	ck_assert_uint_eq(req.xattrs->data_len, 5);
	ck_assert_mem_eq(req.xattrs->data, "bytes", 5);
	ck_assert_uint_eq(req.xattrs->list->len, !!(_i & 2) + !!(_i & 4));
}
END_TEST

static void *const moments[] = {&read_attr.ctime, &read_attr.mtime, &read_attr.size,
				&read_attr.fileid, &acl_attr.ctime};

/* Of another moment than the listing, or than the ACL: none. */
START_TEST(bytes_of_another_moment)
{
	++*(uint64_t *)moments[_i];
	with_bytes = true;
	gather(true, true, false);
	ck_assert_int_eq(req.status, 0);
	ck_assert_ptr_null(req.xattrs->data);
	ck_assert_uint_eq(req.xattrs->list->len, 1);
}
END_TEST

/* The ACL came with the owner; the bytes may have come before that was known. */
START_TEST(an_owner_that_one_part_knows)
{
	with_bytes = true;
	acl_attr.uid = 5;
	read_attr.uid = UINT32_MAX;
	read_attr.no_owner = -EAGAIN;
	gather(true, true, false);
	ck_assert_int_eq(req.status, 0);
	ck_assert_uint_eq(req.attr.uid, 5);
	ck_assert_int_eq(req.attr.no_owner, 0);
	g_clear_pointer(&req.xattrs, source_xattrs_free);
	gather(true, false, true);
	ck_assert_int_eq(req.status, -EAGAIN);
}
END_TEST

/* A file can be made without its bytes; one that is gone cannot. */
START_TEST(bytes_that_cannot_be_read)
{
	static const int fine[] = {-EACCES, -EAGAIN, -EREMOTEIO, -EBADMSG};
	static const int fatal[] = {-ESTALE, -ECANCELED};

	with_bytes = true;
	read_status = _i < 4 ? fine[_i] : fatal[_i - 4];
	gather(true, _i & 1, false);
	ck_assert_uint_eq(done, 1);
	ck_assert_int_eq(req.status, _i < 4 ? 0 : read_status);
	if (_i < 4)
		ck_assert_ptr_null(req.xattrs->data);
}
END_TEST

START_TEST(bytes_are_asked_for_where_they_are_wanted)
{
	gather(true, true, true);
	ck_assert_uint_eq(reads, 0);
	check_both();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, parts_are_put_together, 0, 2);
	tcase_add_loop_test(tcase, parts_are_asked_for_at_the_same_time, 0, 2);
	tcase_add_loop_test(tcase, one_way_is_enough, 0, 2);
	tcase_add_loop_test(tcase, a_failed_part_fails_all, 0, 2);
	tcase_add_test(tcase, what_is_not_found_is_not_asked_about);
	tcase_add_loop_test(tcase, without_ways_nothing_is_supported, 0, 2);
	tcase_add_loop_test(tcase, bytes_come_with_the_rest, 0, 8);
	tcase_add_loop_test(tcase, bytes_of_another_moment, 0, G_N_ELEMENTS(moments));
	tcase_add_test(tcase, an_owner_that_one_part_knows);
	tcase_add_loop_test(tcase, bytes_that_cannot_be_read, 0, 6);
	tcase_add_test(tcase, bytes_are_asked_for_where_they_are_wanted);
	return run_tcase(tcase);
}
