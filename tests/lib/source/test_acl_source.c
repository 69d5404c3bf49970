/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/acl_source.h"

#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_backend.h"

static struct fake_backend nfs, smb;
static struct backend_ops plain_ops; /* of a main backend that carries nothing */
static struct backend *beside;
static int smb_status, look_status;
static bool look_at_leisure;
static uint64_t smb_fileid, looked_up_fileid;
static mode_t nfs_type, smb_type;

static int nfs_answer(struct fake_backend *fake, struct backend_request *req)
{
	ck_assert_uint_eq(req->object.handle_len, 3);
	req->has_attr = true;
	req->attr = (struct source_attr){.mode = nfs_type | 0640, .uid = 7, .fileid = 5};
	if (req->op != BACKEND_XATTRS)
		return req->op == BACKEND_READ ? -EACCES : 0;
	req->xattrs = source_xattrs_new();
	source_xattrs_add(req->xattrs, "user.nfs", "n", 1);
	return 0;
}

static int smb_answer(struct fake_backend *fake, struct backend_request *req)
{
	ck_assert_uint_eq(req->object.handle_len, 0);
	ck_assert_int_eq(req->priority, BACKEND_READAHEAD);
	if (req->op == BACKEND_LOOKUP) {
		ck_assert_str_eq(req->object.path, "d");
		ck_assert_str_eq(req->name, "f");
		req->attr = (struct source_attr){.mode = smb_type, .fileid = looked_up_fileid};
		req->at_leisure = look_at_leisure;
		return look_status;
	}
	ck_assert_int_eq(req->op, BACKEND_XATTRS);
	ck_assert_str_eq(req->object.path, "d/f");
	req->has_attr = true;
	req->attr = (struct source_attr){.mode = smb_type, .uid = 8, .fileid = smb_fileid};
	req->xattrs = source_xattrs_new();
	req->xattrs->windows = source_windows_new();
	req->xattrs->windows->attributes = 0x22;
	source_xattrs_lose(req->xattrs, "%s", "a loss");
	return smb_status;
}

static void setup(void)
{
	memset(&nfs, 0, sizeof(nfs));
	memset(&smb, 0, sizeof(smb));
	nfs.base.ops = smb.base.ops = &fake_backend_ops;
	nfs.answer = nfs_answer;
	smb.answer = smb_answer;
	smb_status = look_status = 0;
	look_at_leisure = false;
	smb_fileid = 5;
	looked_up_fileid = 0;
	nfs_type = smb_type = S_IFREG;
	beside = backend_acl_source_new(&nfs.base, &smb.base);
}

static void teardown(void)
{
	beside->ops->close(beside);
	ck_assert(nfs.closed && smb.closed);
}

static int ask(struct backend_request *req, enum backend_op op)
{
	*req = (struct backend_request){.op = op,
					.priority = BACKEND_READAHEAD,
					.object = {.handle_len = 3, .path = (char *)"d/f"}};
	return run(beside, req);
}

START_TEST(both)
{
	struct backend_request req;

	ck_assert_int_eq(ask(&req, BACKEND_XATTRS), 0);
	ck_assert_uint_eq(req.xattrs->list->len, 1);
	ck_assert_uint_eq(req.xattrs->windows->attributes, 0x22);
	ck_assert_uint_eq(req.xattrs->lost->len, 1);
	ck_assert(req.has_attr);
	ck_assert_uint_eq(req.attr.uid, 7);
	ck_assert_uint_eq(req.attr.fileid, 5);
	source_xattrs_free(req.xattrs);
	ck_assert_uint_eq(nfs.submitted, 1);
	ck_assert_uint_eq(smb.submitted, 1);
}
END_TEST

static unsigned nothing(struct backend *backend)
{
	return 0;
}

/* Then its attributes are asked for: they tell the type. */
START_TEST(nothing_carried)
{
	struct backend_request req;

	plain_ops = fake_backend_ops;
	plain_ops.carries = nothing;
	nfs.base.ops = &plain_ops;
	ck_assert_int_eq(ask(&req, BACKEND_XATTRS), 0);
	ck_assert_uint_eq(req.xattrs->list->len, 0);
	ck_assert_ptr_nonnull(req.xattrs->windows);
	ck_assert_uint_eq(req.attr.uid, 7);
	source_xattrs_free(req.xattrs);
	ck_assert_uint_eq(beside->ops->carries(beside), BACKEND_CARRIES_XATTR);
}
END_TEST

START_TEST(the_rest_is_mains)
{
	struct backend_request req;
	g_autofree char *lost = beside->ops->not_carried(beside);

	ck_assert_int_eq(ask(&req, BACKEND_READ), -EACCES);
	ck_assert_int_eq(ask(&req, BACKEND_GETATTR), 0);
	ck_assert_uint_eq(smb.submitted, 0);
	ck_assert_uint_eq(beside->ops->max_read(beside), 12345);
	ck_assert_uint_eq(beside->ops->away(beside), 7);
	ck_assert_str_eq(lost, "this and that\nthis and that");
}
END_TEST

static void expect_failure(int status)
{
	struct backend_request req;

	ck_assert_int_eq(ask(&req, BACKEND_XATTRS), status);
	ck_assert_ptr_null(req.xattrs);
}

START_TEST(trees_that_differ)
{
	struct backend_request req = {.op = BACKEND_XATTRS, .object = {.handle_len = 3}};

	smb_status = -ENOENT; /* must not look as if it had vanished */
	expect_failure(-EREMOTEIO);
	smb_status = -ESTALE;
	expect_failure(-EREMOTEIO);
	smb_status = -EACCES;
	expect_failure(-EACCES);
	smb_status = -EAGAIN;
	expect_failure(-EAGAIN);
	smb_status = 0;
	smb_type = S_IFDIR;
	expect_failure(-EREMOTEIO);
	nfs_type = S_IFDIR;
	smb_type = S_IFREG;
	expect_failure(-EREMOTEIO);
	ck_assert_int_eq(run(beside, &req), -ENAMETOOLONG);
}
END_TEST

/* By its path the second server may find what is another object to the first. */
START_TEST(another_object_answers)
{
	struct backend_request req;

	smb_fileid = 6;
	expect_failure(-ENOTUNIQ);
	look_status = -ENOENT;
	expect_failure(-ENOTUNIQ);
	look_status = -EAGAIN;
	for (int i = 0; i < 2; i++) {
		look_at_leisure = i;
		ck_assert_int_eq(ask(&req, BACKEND_XATTRS), -EAGAIN);
		ck_assert_int_eq(req.at_leisure, i);
	}
	look_status = 0;
	looked_up_fileid = 6; /* they number differently, and it is called so */
	ck_assert_int_eq(ask(&req, BACKEND_XATTRS), 0);
	ck_assert_uint_eq(req.xattrs->windows->attributes, 0x22);
	ck_assert_uint_eq(req.attr.fileid, 5);
	source_xattrs_free(req.xattrs);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("acl_source");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, both);
	tcase_add_test(tcase, nothing_carried);
	tcase_add_test(tcase, the_rest_is_mains);
	tcase_add_test(tcase, trees_that_differ);
	tcase_add_test(tcase, another_object_answers);
	return run_tcase(tcase);
}
