/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_attr.h"

#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_nfs.h"

START_TEST(statuses_are_mapped)
{
	static const struct {
		uint32_t nfs;
		int status;
	} map[] = {
		{0, 0},
		{1, -EPERM},
		{2, -ENOENT},
		{5, -EREMOTEIO},
		{13, -EACCES},
		{20, -ENOTDIR},
		{21, -EISDIR},
		{63, -ENAMETOOLONG},
		{70, -ESTALE},
		{10001, -ESTALE},
		{10003, -EBADMSG},
		{10004, -ENOTSUP},
		{10006, -EREMOTEIO},
		{10008, -EAGAIN},
		{0xffffffff, -EREMOTEIO},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(map); i++)
		ck_assert_int_eq(nfs_status(map[i].nfs), map[i].status);
}
END_TEST

/* The attributes from bytes on, where from skips what is before them. */
static bool get_attr_at(const uint8_t *from, const uint8_t *end, uint64_t *fs,
			struct source_attr *attr)
{
	struct xdr_in in = {.p = from, .end = end};

	return nfs_get_attr(&in, fs, attr);
}

START_TEST(attributes_are_checked)
{
	static const struct {
		uint32_t type;
		uint64_t size;
		bool good;
	} cases[] = {{1, 5, true},
		     {7, 0, true},
		     {0, 0, false},
		     {8, 0, false},
		     {0x80000001, 0, false},
		     {1, INT64_MAX, true},
		     {1, (uint64_t)INT64_MAX + 1, false},
		     {1, UINT64_MAX, false}};
	uint8_t bytes[84];
	struct source_attr attr;
	struct xdr_out out;
	uint64_t fs;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		out = (struct xdr_out){.p = bytes, .end = bytes + sizeof(bytes)};
		fake_attr(&out, cases[i].type, cases[i].size, 5);
		ck_assert_int_eq(get_attr_at(bytes, out.p, &fs, &attr), cases[i].good);
		ck_assert(!get_attr_at(bytes, out.p - 1, &fs, &attr));
	}
	out = (struct xdr_out){.p = bytes, .end = bytes + sizeof(bytes)};
	fake_attr_as(&out, 4, 0, 5, FAKE_FSID + 1);
	memset(bytes + 4 * 2, 0, 4);			      /* links */
	memcpy(bytes + 4 * 5 + 8 * 2, "\0\0\0\3\0\0\0\5", 8); /* device */
	memset(bytes + 84 - 4, 0xff, 4);		      /* ns of ctime */
	ck_assert(get_attr_at(bytes, out.p, &fs, &attr));
	ck_assert_uint_eq(fs, FAKE_FSID + 1);
	ck_assert_uint_eq(attr.mode, S_IFCHR | 0644);
	ck_assert_uint_eq(attr.nlink, 1);
	ck_assert_uint_eq(attr.rdev, 3 << 8 | 5);
	ck_assert_int_eq(attr.ctime, INT64_C(1002999999999));
	ck_assert_int_eq(attr.mtime, INT64_C(1001000000005));
	ck_assert_uint_eq(attr.fileid, 5);
}
END_TEST

START_TEST(attributes_may_be_absent)
{
	const struct nfs_view view = {.root_fs = FAKE_FSID};
	uint8_t bytes[88];
	struct source_attr attr;
	struct xdr_out out = {.p = bytes, .end = bytes + sizeof(bytes)};
	struct xdr_in in = {.p = bytes, .end = bytes + sizeof(bytes)};

	xdr_put_u32(&out, 0);
	ck_assert(!nfs_get_post_attr(&view, &in, &attr));
	out.p = bytes;
	in.p = bytes;
	xdr_put_u32(&out, 1);
	fake_attr_as(&out, 1, 0, 5, FAKE_FSID + 1);
	ck_assert(nfs_get_post_attr(&view, &in, &attr));
	ck_assert_uint_ne(attr.fileid, 5); /* of another file system */
}
END_TEST

START_TEST(handles_are_checked)
{
	static const struct {
		uint32_t len;
		bool good;
	} cases[] = {{1, true}, {64, true}, {0, false}, {65, false}};
	uint8_t bytes[80], room[NFS3_FHSIZE + 1] = "x";
	struct nfs_handle handle;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct xdr_out out = {.p = bytes, .end = bytes + sizeof(bytes)};
		struct xdr_in in = {.p = bytes};

		xdr_put_bytes(&out, room, cases[i].len);
		in.end = out.p;
		ck_assert_int_eq(nfs_get_handle(&in, &handle), cases[i].good);
		ck_assert_uint_eq(handle.len, cases[i].good ? cases[i].len : 0);
	}
}
END_TEST

/* Of Linux's server, with subtree_check: by which directory it was reached is no part of the file.
 */
START_TEST(handles_with_their_directory)
{
	static const struct {
		uint8_t fsid, fsid_len, type, own, all;
	} forms[] = {{6, 16, 0x02, 8, 16},
		     {1, 4, 0x82, 12, 24},
		     {7, 24, 0x4e, 20, 32},
		     {0, 8, 0x4f, 20, 40}};
	const struct nfs_view view = {0}, vague = {.vague_handles = true};
	uint8_t handle[68] = {0};

	for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
		const uint32_t own = 4u + forms[i].fsid_len + forms[i].own;
		const uint32_t len = 4u + forms[i].fsid_len + forms[i].all;
		uint64_t object;

		memset(handle, 0, sizeof handle);
		handle[0] = 1;
		handle[2] = forms[i].fsid;
		handle[3] = forms[i].type;
		object = nfs_object(&view, handle, len);
		ck_assert_uint_ne(object, 0);
		ck_assert_uint_ne(nfs_object(&view, handle, len + 4), object);
		handle[own] = 1;
		ck_assert_uint_eq(nfs_object(&view, handle, len), object);
		ck_assert_uint_eq(nfs_object(&vague, handle, len), object);
		handle[own - 1] = 1;
		ck_assert_uint_ne(nfs_object(&view, handle, len), object);
		handle[1] = 1; /* of another kind of handles */
		object = nfs_object(&view, handle, len);
		handle[len - 1] ^= 1;
		ck_assert_uint_ne(nfs_object(&view, handle, len), object);
		ck_assert_uint_eq(nfs_object(&vague, handle, len), 0);
	}
	ck_assert_uint_eq(nfs_object(&view, handle, 0), 0);
}
END_TEST

START_TEST(the_roots_fsid)
{
	struct nfs_view view = {.root = {.len = 4, .bytes = "root"}, .root_fs = 7};
	struct backend_request req = {.op = BACKEND_GETATTR,
				      .object = {.handle_len = 4, .handle = "root"}};

	view.systems = nfs_systems_new();
	ck_assert_uint_eq(nfs_fileid(&view, 5, 7), 5);
	ck_assert_uint_eq(nfs_systems_doubts(view.systems), 0);
	ck_assert_uint_ne(nfs_fileid(&view, 5, 8), 5);
	ck_assert_uint_eq(nfs_systems_doubts(view.systems), 1);
	req.op = BACKEND_LOOKUP; /* what is found is not the root */
	nfs_root_seen(&view, &req, 8);
	ck_assert_uint_ne(nfs_fileid(&view, 5, 8), 5);
	req.op = BACKEND_READDIR;
	req.object.handle[0] = 'R';
	nfs_root_seen(&view, &req, 8);
	ck_assert_uint_ne(nfs_fileid(&view, 5, 8), 5);
	req.object.handle[0] = 'r';
	nfs_root_seen(&view, &req, 8);
	ck_assert_uint_eq(nfs_fileid(&view, 5, 8), 5);
	req.object = (struct source_object){.path = (char *)"/"};
	nfs_root_seen(&view, &req, 9);
	ck_assert_uint_eq(nfs_fileid(&view, 5, 9), 5);
	nfs_systems_free(view.systems);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("attributes");

	tcase_add_test(tcase, statuses_are_mapped);
	tcase_add_test(tcase, attributes_are_checked);
	tcase_add_test(tcase, attributes_may_be_absent);
	tcase_add_test(tcase, handles_are_checked);
	tcase_add_test(tcase, handles_with_their_directory);
	tcase_add_test(tcase, the_roots_fsid);
	return run_tcase(tcase);
}
