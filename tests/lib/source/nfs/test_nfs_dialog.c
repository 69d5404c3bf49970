/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which call comes when. */
#include "lib/source/nfs/nfs_dialog.h"

#include "tests/retriever/backend_support.h"

static struct nfs_view view = {.root = {.len = 4, .bytes = "root"}};
static struct rpc_auth auth;
static struct nfs_dialog dialog;
static struct backend_request probe, req;
static uint8_t bytes[RPC_CALL_MAX];

static void start(bool version4, enum backend_op op)
{
	rpc_auth_init(&auth, 0, 0);
	nfs_dialog_init(&dialog, &view, &auth, op, version4);
	nfs_dialog_start(&dialog, &probe);
}

static void teardown(void)
{
	nfs_dialog_clear(&dialog);
}

/* The call's program, version and procedure. */
static void check_call(const struct backend_request *one, uint32_t program, uint32_t version,
		       uint32_t number)
{
	struct xdr_out out = {.p = bytes, .end = bytes + sizeof(bytes)};
	struct xdr_in in = {.p = bytes};

	nfs_dialog_encode(&dialog, one, 0, 9, &out);
	in.end = out.p;
	ck_assert_uint_eq(xdr_get_u32(&in), (uint32_t)(out.p - bytes - 4) | 0x80000000u);
	ck_assert_uint_eq(xdr_get_u32(&in), 9);
	xdr_skip(&in, 8);
	ck_assert_uint_eq(xdr_get_u32(&in), program);
	ck_assert_uint_eq(xdr_get_u32(&in), version);
	ck_assert_uint_eq(xdr_get_u32(&in), number);
}

static void begin(enum backend_op op)
{
	req = (struct backend_request){.op = op, .object = by_handle((const uint8_t *)"x", 1)};
	backend_prepare(&req);
}

START_TEST(version_3_begins_at_once)
{
	start(false, BACKEND_GETATTR);
	ck_assert_uint_eq(probe.object.handle_len, 4);
	check_call(&probe, NFS_PROGRAM, 3, NFSPROC3_GETATTR);
	ck_assert(nfs_dialog_started(&dialog, &probe));
	ck_assert_uint_eq(nfs_dialog_window(&dialog, 64), 64);
	begin(BACKEND_XATTRS);
	ck_assert_int_eq(nfs_dialog_begin(&dialog, &req), 0);
	check_call(&req, NFSACL_PROGRAM, 3, 1);
	nfs_dialog_end(&dialog, &req);
	ck_assert_int_eq(nfs_dialog_status(&dialog), 0);
}
END_TEST

START_TEST(an_acl_service_is_tried_with_acls)
{
	start(false, BACKEND_XATTRS);
	check_call(&probe, NFSACL_PROGRAM, 3, 1);
	probe.xattrs = source_xattrs_new();
	ck_assert(nfs_dialog_started(&dialog, &probe));
	ck_assert_ptr_null(probe.xattrs);
}
END_TEST

START_TEST(version_4_makes_a_session_first)
{
	uint8_t reply[256] = {0};
	struct xdr_in in = {.p = reply, .end = reply + sizeof(reply)};

	start(true, BACKEND_XATTRS);
	check_call(&probe, NFS_PROGRAM, 4, 1);
	reply[15] = 42;
	ck_assert_int_eq(nfs_dialog_decode(&dialog, &probe, 0, NFSPROC4_COMPOUND, 0, &in),
			 NFS_CALL_AGAIN);
	check_call(&probe, NFS_PROGRAM, 4, 1);
	in.p = reply;
	reply[15] = 43;
	reply[12 + 8 + 24 + 20 + 3] = 7;
	ck_assert_int_eq(nfs_dialog_decode(&dialog, &probe, 0, NFSPROC4_COMPOUND, 0, &in), 0);
	ck_assert(nfs_dialog_started(&dialog, &probe));
	ck_assert_uint_eq(nfs_dialog_window(&dialog, 64), 7);
	ck_assert_uint_eq(nfs_dialog_window(&dialog, 3), 3);
	begin(BACKEND_XATTRS);
	ck_assert_int_eq(nfs_dialog_begin(&dialog, &req), 0);
	check_call(&req, NFS_PROGRAM, 4, 1);
	nfs_dialog_end(&dialog, &req);
	source_xattrs_free(req.xattrs);
}
END_TEST

/* Where it is all, the root is asked for once there is a session, and again and again. */
START_TEST(version_4_alone_asks_for_the_root)
{
	view.v4 = true;
	view.minor = 1;
	view.lease = 60;
	view.path = "/x";
	start(true, BACKEND_GETATTR);
	ck_assert_uint_eq(probe.object.handle_len, 0);
	ck_assert_int_eq(nfs_dialog_lease(&dialog), 30 * G_USEC_PER_SEC);
	ck_assert(!nfs_dialog_started(&dialog, &probe));
	nfs_dialog_start(&dialog, &probe);
	dialog.session->state = NFS4_READY;
	dialog.session->slots = 7;
	check_call(&probe, NFS_PROGRAM, 4, 1);
	ck_assert(nfs_dialog_started(&dialog, &probe));
	ck_assert_ptr_null(probe.backend.data);
	ck_assert_uint_eq(nfs_dialog_window(&dialog, 64), 7);
	nfs_dialog_renew(&dialog, &probe);
	check_call(&probe, NFS_PROGRAM, 4, 1);
	nfs_dialog_end(&dialog, &probe);
	begin(BACKEND_XATTRS);
	ck_assert_int_eq(nfs_dialog_begin(&dialog, &req), 0);
	nfs_dialog_end(&dialog, &req);
	source_xattrs_free(req.xattrs);
	dialog.session->state = NFS4_REFUSED; /* it may come back */
	ck_assert_int_eq(nfs_dialog_status(&dialog), 0);
	view.minor = 0; /* has no lease */
	ck_assert_int_eq(nfs_dialog_lease(&dialog), 0);
	view.v4 = false;
}
END_TEST

START_TEST(a_refusal_is_an_answer_and_a_failure_is_none)
{
	start(true, BACKEND_XATTRS);
	ck_assert_int_eq(nfs_dialog_decode(&dialog, &probe, 0, NFSPROC4_COMPOUND, -EREMOTEIO, NULL),
			 -EREMOTEIO);
	ck_assert(!nfs_dialog_started(&dialog, &probe));
	nfs_dialog_start(&dialog, &probe);
	ck_assert_int_eq(nfs_dialog_decode(&dialog, &probe, 0, NFSPROC4_COMPOUND, -EAGAIN, NULL),
			 -ENOTSUP);
	ck_assert(nfs_dialog_started(&dialog, &probe));
	ck_assert_uint_eq(nfs_dialog_window(&dialog, 64), 1);
	ck_assert_int_eq(nfs_dialog_status(&dialog), -EREMOTEIO);
	begin(BACKEND_XATTRS);
	ck_assert_int_eq(nfs_dialog_begin(&dialog, &req), -EREMOTEIO);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, NULL, teardown);
	tcase_add_test(tcase, version_3_begins_at_once);
	tcase_add_test(tcase, an_acl_service_is_tried_with_acls);
	tcase_add_test(tcase, version_4_makes_a_session_first);
	tcase_add_test(tcase, version_4_alone_asks_for_the_root);
	tcase_add_test(tcase, a_refusal_is_an_answer_and_a_failure_is_none);
	return run_tcase(tcase);
}
