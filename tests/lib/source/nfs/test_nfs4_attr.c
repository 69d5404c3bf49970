/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attributes of version 4, right and wrong. */
#include <errno.h>
#include <sys/sysmacros.h>

#include "lib/source/nfs/nfs4_attr.h"
#include "lib/source/nfs/nfs4_owner.h"

#include "tests/retriever/backend_support.h"

static struct nfs_view view;
static uint8_t room[1024], values[512];
static struct xdr_out out;
static uint32_t mask[NFS4_MASK_WORDS];

static void setup(void)
{
	view = (struct nfs_view){.root_fs = 0};
	out = (struct xdr_out){.p = values, .end = values + sizeof(values)};
	memset(mask, 0, sizeof(mask));
}

static bool get(struct nfs4_attrs *attrs)
{
	struct xdr_out all = {.p = room, .end = room + sizeof(room)};
	struct xdr_in in = {.p = room};
	bool good;

	nfs4_put_mask(&all, mask);
	xdr_put_bytes(&all, values, (uint32_t)(out.p - values));
	in.end = all.p;
	good = nfs4_get_attrs(&view, true, &in, attrs);
	ck_assert(in.p == in.end);
	return good;
}

static void put_object(uint32_t type, uint64_t size)
{
	nfs4_mask_wanted(mask, NULL);
	xdr_put_u32(&out, type);
	xdr_put_u64(&out, size);
	xdr_put_u64(&out, 0); /* fsid */
	xdr_put_u64(&out, 0);
	xdr_put_u64(&out, 5);
	xdr_put_u32(&out, 0107755);
	xdr_put_u32(&out, 2);
	xdr_put_bytes(&out, "11", 2);
	xdr_put_bytes(&out, "anna", 4);
	xdr_put_u32(&out, 259);
	xdr_put_u32(&out, 70000);
	xdr_put_u64(&out, 8192);
	for (uint64_t i = 1; i <= 3; i++) {
		xdr_put_u64(&out, i * 1000);
		xdr_put_u32(&out, 7);
	}
}

START_TEST(all_that_is_wanted_is_understood)
{
	struct nfs4_attrs attrs;
	struct source_attr attr;

	put_object(3, 100);
	ck_assert(get(&attrs));
	ck_assert(nfs4_attrs_object(&view, &attrs, &attr));
	ck_assert_uint_eq(attr.mode, S_IFBLK | 07755);
	ck_assert_uint_eq(attr.size, 100);
	ck_assert_uint_eq(attr.fileid, 5);
	ck_assert_uint_eq(attr.nlink, 2);
	ck_assert_uint_eq(attr.uid, 11);
	ck_assert_uint_eq(attr.gid, UINT32_MAX);
	ck_assert_uint_eq(attr.rdev, makedev(259, 70000));
	ck_assert_uint_eq(attr.used, 8192);
	ck_assert_int_eq(attr.atime, 1000000000007);
	ck_assert_int_eq(attr.ctime, 2000000000007);
	ck_assert_int_eq(attr.mtime, 3000000000007);
	ck_assert(!attr.no_ctime);
	view.root_fs = 1;
	ck_assert(nfs4_attrs_object(&view, &attrs, &attr));
	ck_assert_uint_ne(attr.fileid, 5); /* of another file system */
}
END_TEST

static int no_answer(bool group, char *text, uint32_t *id)
{
	return -EIO;
}

/* Of an object, and of somebody in its ACL. */
START_TEST(who_is_not_told_of_is_not_nobody)
{
	static const struct nfs4_owner_times times[] = {{.patience = G_MAXINT32}, {0}};
	static const int expected[] = {-EAGAIN, -EHOSTDOWN};
	struct xdr_out all = {.p = room, .end = room + sizeof(room)};
	struct xdr_in in = {.p = room};
	struct backend_request req = {0};

	xdr_put_u32(&all, OP_GETATTR);
	xdr_put_u32(&all, 0);
	put_object(1, 100);
	if (_i >= 2) { /* the ACL comes before the fileid */
		struct xdr_out rest = {.p = values, .end = values + sizeof(values)};
		g_autofree uint8_t *were = g_memdup2(values, (gsize)(out.p - values));
		const size_t len = (size_t)(out.p - values), before = 4 + 8 + 16;

		nfs4_mask_add(mask, FATTR4_ACL);
		rest.p += before;
		xdr_put_u32(&rest, 1);
		xdr_put_u32(&rest, 0);
		xdr_put_u32(&rest, 0);
		xdr_put_u32(&rest, 1);
		xdr_put_bytes(&rest, "bert@nowhere", 12);
		memcpy(rest.p, were + before, len - before);
		out.p = rest.p + len - before;
	}
	nfs4_put_mask(&all, mask);
	xdr_put_bytes(&all, values, (uint32_t)(out.p - values));
	in.end = all.p;
	view.owners = nfs4_owners_new("nfs://old/x", no_answer, &times[_i % 2]);
	ck_assert_int_eq(nfs4_get_getattr_acl(&view, &in, &req), 0);
	ck_assert_int_eq(req.attr.no_owner, _i >= 2 ? expected[_i % 2] : 0);
	ck_assert_int_eq(!req.xattrs->nfs4_acl, _i < 2);
	source_xattrs_free(req.xattrs);
	nfs4_owners_free(view.owners);
}
END_TEST

START_TEST(what_a_server_lacks_is_made_up_or_missed)
{
	static const enum nfs4_attr_number needed[] = {FATTR4_TYPE, FATTR4_SIZE, FATTR4_FILEID,
						       FATTR4_MODE, FATTR4_TIME_MODIFY};
	uint32_t supported[NFS4_MASK_WORDS];
	struct nfs4_attrs attrs;
	struct source_attr attr;

	for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
		nfs4_mask_add(mask, needed[i]);
	xdr_put_u32(&out, 1);
	xdr_put_u64(&out, 100);
	xdr_put_u64(&out, 5);
	xdr_put_u32(&out, 0644);
	xdr_put_u64(&out, (uint64_t)-5);
	xdr_put_u32(&out, 0);
	ck_assert(get(&attrs));
	ck_assert(nfs4_attrs_object(&view, &attrs, &attr));
	ck_assert_uint_eq(attr.uid, UINT32_MAX);
	ck_assert_uint_eq(attr.nlink, 1);
	ck_assert_uint_eq(attr.used, 100);
	ck_assert_int_eq(attr.mtime, -5000000000);
	ck_assert_int_eq(attr.atime, attr.mtime);
	ck_assert_int_eq(attr.ctime, attr.mtime);
	ck_assert(attr.no_ctime);
	ck_assert_int_eq(attr.far_mtime, 0);
	attrs.there[0] &= ~(1u << FATTR4_SIZE);
	ck_assert(!nfs4_attrs_object(&view, &attrs, &attr));

	nfs4_mask_wanted(supported, NULL);
	ck_assert_ptr_null(nfs4_mask_lacks(supported));
	supported[1] &= ~(1u << (FATTR4_OWNER - 32));
	ck_assert_str_eq(nfs4_mask_lacks(supported), "owners");
	nfs4_mask_wanted(mask, supported);
	ck_assert(!nfs4_mask_has(mask, FATTR4_OWNER));
	ck_assert(nfs4_mask_has(mask, FATTR4_OWNER_GROUP));
}
END_TEST

/* In 64 bits of ns: the year 2400, and one that no file system has. */
START_TEST(times_that_are_far_away)
{
	const int64_t years[] = {13569465600, INT64_MIN, -62135596800};

	for (size_t i = 0; i < G_N_ELEMENTS(years); i++) {
		struct nfs4_attrs attrs;

		setup();
		nfs4_mask_add(mask, FATTR4_TIME_MODIFY);
		xdr_put_u64(&out, (uint64_t)years[i]);
		xdr_put_u32(&out, 5);
		ck_assert(get(&attrs));
		ck_assert_int_eq(attrs.attr.far_mtime, years[i]);
		ck_assert_int_eq(attrs.attr.mtime, years[i] < 0 ? INT64_MIN : INT64_MAX);
	}
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	struct nfs4_attrs attrs;

	put_object(8, 100); /* no such type */
	ck_assert(!get(&attrs));
	setup();
	put_object(1, (uint64_t)INT64_MAX + 1);
	ck_assert(!get(&attrs));
	setup();
	put_object(1, 1);
	out.p -= 4; /* too short */
	ck_assert(!get(&attrs));
	setup();
	put_object(1, 1);
	mask[0] |= 1 << 3; /* which nobody asked for */
	ck_assert(!get(&attrs));
	setup();
	nfs4_mask_add(mask, FATTR4_FILEHANDLE);
	xdr_put_bytes(&out, room, 129);
	ck_assert(!get(&attrs));
	setup();
	nfs4_mask_add(mask, FATTR4_FILEHANDLE);
	xdr_put_bytes(&out, room, 128);
	ck_assert(get(&attrs));
	ck_assert_uint_eq(attrs.handle.len, 128);
}
END_TEST

START_TEST(long_masks_are_skipped)
{
	const uint32_t words[] = {4, 0, 0, 0, 0, 0};
	uint8_t bytes[24];
	struct xdr_out all = {.p = bytes, .end = bytes + sizeof(bytes)};
	struct xdr_in in = {.p = bytes, .end = bytes + sizeof(bytes)};
	struct nfs4_attrs attrs;

	for (size_t i = 0; i < 6; i++)
		xdr_put_u32(&all, words[i]);
	ck_assert(nfs4_get_attrs(&view, true, &in, &attrs));
	bytes[19] = 1; /* an attribute beyond all that there are */
	in = (struct xdr_in){.p = bytes, .end = bytes + sizeof(bytes)};
	ck_assert(!nfs4_get_attrs(&view, true, &in, &attrs));
	ck_assert(!in.bad);
	bytes[0] = 0xff; /* more words than there is */
	in = (struct xdr_in){.p = bytes, .end = bytes + sizeof(bytes)};
	ck_assert(!nfs4_get_attrs(&view, true, &in, &attrs));
	ck_assert(in.bad);
}
END_TEST

START_TEST(getattr_has_its_status)
{
	uint8_t bytes[8] = {0, 0, 0, OP_GETATTR, 0, 0, 0x27, 0x18};
	struct xdr_in in = {.p = bytes, .end = bytes + 8};
	struct backend_request req = {0};

	ck_assert_int_eq(nfs4_get_getattr(&view, &in, &req), -EAGAIN);
	bytes[6] = bytes[7] = 0;
	in = (struct xdr_in){.p = bytes, .end = bytes + 8};
	ck_assert_int_eq(nfs4_get_getattr(&view, &in, &req), -EBADMSG);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, all_that_is_wanted_is_understood);
	tcase_add_loop_test(tcase, who_is_not_told_of_is_not_nobody, 0, 4);
	tcase_add_test(tcase, what_a_server_lacks_is_made_up_or_missed);
	tcase_add_test(tcase, times_that_are_far_away);
	tcase_add_test(tcase, what_makes_no_sense_is_refused);
	tcase_add_test(tcase, long_masks_are_skipped);
	tcase_add_test(tcase, getattr_has_its_status);
	return run_tcase(tcase);
}
