/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What calls carry, and that no reply is taken which is not the server's, whole. */
#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_gss.h"

#define FIRST NFS_SEC_KRB5
#define END   (NFS_SEC_KRB5P + 1)
#define XID   77

static struct rpc_auth auth;
static gint64 now = 1; /* in place of the library's */

gint64 g_get_monotonic_time(void)
{
	return now;
}

static void start(enum nfs_sec sec)
{
	auth = (struct rpc_auth){.gss = nfs_gss_new(NULL, sec, (const uint8_t *)FAKE_HANDLE,
						    (uint32_t)strlen(FAKE_HANDLE), 10, 1000)};
}

static size_t make_call(uint8_t *bytes, uint32_t xid)
{
	struct xdr_out out = {.p = bytes, .end = bytes + RPC_CALL_MAX};

	rpc_call_begin(&out, &auth, xid, 1, 2, 3);
	xdr_put_u32(&out, 0x12345678);
	rpc_call_finish(&out, &auth, bytes);
	ck_assert(!out.bad);
	return (size_t)(out.p - bytes);
}

/* Reads the whole call, as a server does. */
START_TEST(calls_are_signed_and_sealed)
{
	static struct fake_gss gss;
	static struct fake fake = {.user = &gss};
	struct fake_call call = {.fake = &fake};
	uint8_t bytes[RPC_CALL_MAX];
	uint32_t sequence;

	start((enum nfs_sec)_i);
	gss = fake_gss_of((enum nfs_sec)_i);
	for (uint32_t n = 1; n < 4; n++) {
		size_t len = make_call(bytes, XID + n);

		call.args = (struct xdr_in){.p = bytes + 4, .end = bytes + len};
		ck_assert_uint_eq(xdr_get_u32(&call.args), XID + n);
		xdr_skip(&call.args, 5 * 4);
		ck_assert_uint_eq(xdr_get_u32(&call.args), RPCSEC_GSS_FLAVOR);
		call.credential.p = xdr_get_bytes(&call.args, &call.header_len);
		call.credential.end = call.args.p;
		xdr_skip(&call.credential, 8);
		sequence = xdr_get_u32(&call.credential);
		ck_assert_uint_eq(sequence, n);
		xdr_skip(&call.args, 4);
		xdr_get_bytes(&call.args, &call.verifier_len);
		ck_assert_uint_eq(call.verifier_len, FAKE_MIC);
		fake_gss_open(&gss, &call, sequence);
		ck_assert_uint_eq(xdr_get_u32(&call.args), 0x12345678);
		ck_assert_ptr_eq(call.args.p, call.args.end);
	}
	nfs_gss_free(auth.gss);
}
END_TEST

static size_t make_reply(enum nfs_sec sec, uint32_t verified, uint32_t inside, uint8_t *bytes,
			 size_t size)
{
	static const uint8_t result[] = "the result that came";
	struct fake_call reply = {
		.xid = XID, .start = bytes, .out = {.p = bytes, .end = bytes + size}};

	fake_gss_header(&reply, verified, true);
	fake_gss_close(sec, inside, result, sizeof(result), &reply.out);
	return (size_t)(reply.out.p - bytes);
}

static int take_reply(uint8_t *bytes, size_t len, struct xdr_in *in)
{
	struct rpc_reply reply;
	int status;

	*in = (struct xdr_in){.p = bytes + 4, .end = bytes + len};
	status = rpc_reply_begin(in, &reply);
	ck_assert_int_le(status, 0);
	return rpc_reply_open(&auth, &reply, status, in);
}

START_TEST(replies_are_opened)
{
	uint8_t bytes[256], call[RPC_CALL_MAX];
	struct xdr_in in;
	size_t len;

	start((enum nfs_sec)_i);
	make_call(call, XID - 1);
	make_call(call, XID);
	len = make_reply((enum nfs_sec)_i, 2, 2, bytes, sizeof(bytes));
	ck_assert_int_eq(take_reply(bytes, len, &in), 0);
	ck_assert_int_eq(memcmp(in.p, "the result that came", 20), 0);
	ck_assert_int_le(in.end - in.p, 24);
	/* another call's */
	len = make_reply((enum nfs_sec)_i, 1, 1, bytes, sizeof(bytes));
	ck_assert_int_eq(take_reply(bytes, len, &in), -EKEYREJECTED);
	len = make_reply((enum nfs_sec)_i, 2, 1, bytes, sizeof(bytes));
	ck_assert_int_eq(take_reply(bytes, len, &in), _i == NFS_SEC_KRB5 ? 0 : -EKEYREJECTED);
	nfs_gss_free(auth.gss);
}
END_TEST

/* Each bit turned, and each length. */
START_TEST(no_other_reply_is_taken)
{
	enum nfs_sec sec = (enum nfs_sec)_i;
	uint8_t bytes[256], changed[256], call[RPC_CALL_MAX];
	struct xdr_in in;
	size_t len, start_of_body = 4 + 4 * 5 + FAKE_MIC + 4;
	int status;

	start(sec);
	make_call(call, XID);
	len = make_reply(sec, 1, 1, bytes, sizeof(bytes));
	for (size_t bit = 0; bit < len * 8; bit++) {
		size_t at = bit / 8;

		memcpy(changed, bytes, len);
		changed[at] ^= (uint8_t)(1u << bit % 8);
		status = take_reply(changed, len, &in);
		/* not looked at: the mark, the xid by which it was found, the verifier's flavour,
		 * and what krb5 does not protect, nor padding */
		if (at < 8 || (at >= 16 && at < 20) || (sec == NFS_SEC_KRB5 && at >= start_of_body))
			continue;
		if (status == 0)
			ck_assert_int_eq(memcmp(in.p, "the result that came", 21), 0);
	}
	for (size_t n = 4; n < len; n++) {
		memcpy(changed, bytes, len);
		status = take_reply(changed, n, &in);
		if (n < start_of_body)
			ck_assert_int_lt(status, 0);
		else if (sec != NFS_SEC_KRB5 && status == 0) /* without its padding */
			ck_assert_int_eq(memcmp(in.p, "the result that came", 21), 0);
	}
	/* a verifier alone */
	ck_assert_int_eq(take_reply(bytes, start_of_body, &in),
			 sec == NFS_SEC_KRB5 ? 0 : -EKEYREJECTED);
	nfs_gss_free(auth.gss);
}
END_TEST

/* What the server refuses, it signs; what it denies, it cannot. */
START_TEST(failures_need_no_body)
{
	struct fake_call reply = {.xid = XID};
	uint8_t bytes[256], call[RPC_CALL_MAX];
	struct xdr_in in;

	start(NFS_SEC_KRB5P);
	make_call(call, XID);
	reply.start = bytes;
	reply.out = (struct xdr_out){.p = bytes, .end = bytes + sizeof(bytes)};
	fake_gss_header(&reply, 1, true);
	reply.out.p[-1] = 3; /* PROC_UNAVAIL */
	ck_assert_int_eq(take_reply(bytes, (size_t)(reply.out.p - bytes), &in), -ENOTSUP);
	bytes[24] ^= 1;
	ck_assert_int_eq(take_reply(bytes, (size_t)(reply.out.p - bytes), &in), -EKEYREJECTED);
	fake_gss_deny(&reply, 13);
	ck_assert_int_eq(take_reply(bytes, (size_t)(reply.out.p - bytes), &in), -EKEYEXPIRED);
	fake_gss_deny(&reply, 5);
	ck_assert_int_eq(take_reply(bytes, (size_t)(reply.out.p - bytes), &in), -EACCES);
	ck_assert(rpc_is_stranger(-EKEYEXPIRED) && rpc_is_stranger(-EKEYREJECTED));
	ck_assert(!rpc_is_stranger(-EACCES) && !rpc_is_stranger(0));
	nfs_gss_free(auth.gss);
}
END_TEST

/* Calls in the order of their sequence numbers, which begin with 1; xids are the same. */
START_TEST(no_call_leaves_the_window)
{
	uint8_t call[RPC_CALL_MAX];
	const unsigned window = 9; /* a server that has 10 may fail when a call is 10 ahead */
	uint32_t n = 0;

	start(NFS_SEC_KRB5);
	while (n < window) {
		ck_assert(nfs_gss_has_room(auth.gss));
		make_call(call, ++n);
	}
	ck_assert(!nfs_gss_has_room(auth.gss));
	nfs_gss_answered(auth.gss, 2);
	ck_assert(!nfs_gss_has_room(auth.gss));
	nfs_gss_answered(auth.gss, 1);
	for (; n < window + 2; n++) { /* in the places of 1 and 2 */
		ck_assert(nfs_gss_has_room(auth.gss));
		make_call(call, n + 1);
	}
	ck_assert(!nfs_gss_has_room(auth.gss));
	/* that one was looked at long ago, and its answer comes when its place is another's */
	now += NFS_GSS_LOOKED;
	ck_assert(nfs_gss_has_room(auth.gss));
	make_call(call, ++n);
	nfs_gss_answered(auth.gss, 3);
	for (uint32_t i = 4; i < 12; i++)
		nfs_gss_answered(auth.gss, i);
	while (n < 12 + window - 1) {
		ck_assert(nfs_gss_has_room(auth.gss));
		make_call(call, ++n);
	}
	ck_assert(!nfs_gss_has_room(auth.gss));
	nfs_gss_answered(auth.gss, 12);
	ck_assert(nfs_gss_has_room(auth.gss));
	nfs_gss_free(auth.gss);
}
END_TEST

START_TEST(contexts_wear_out)
{
	uint8_t call[RPC_CALL_MAX];

	start(NFS_SEC_KRB5P);
	ck_assert_uint_eq(nfs_gss_window(auth.gss), 9);
	ck_assert(!nfs_gss_is_worn(auth.gss, 999));
	ck_assert(nfs_gss_is_worn(auth.gss, 1000));
	/* nothing can be sealed any more: nothing goes out in the clear */
	fake_gss_fails = true;
	for (size_t i = 0, len = make_call(call, XID); i + 4 <= len; i++)
		ck_assert_int_ne(memcmp(call + i, "\x12\x34\x56\x78", 4), 0);
	ck_assert(nfs_gss_is_worn(auth.gss, 1));
	nfs_gss_free(auth.gss);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_loop_test(tcase, calls_are_signed_and_sealed, FIRST, END);
	tcase_add_loop_test(tcase, replies_are_opened, FIRST, END);
	tcase_add_loop_test(tcase, no_other_reply_is_taken, FIRST, END);
	tcase_add_test(tcase, failures_need_no_body);
	tcase_add_test(tcase, no_call_leaves_the_window);
	tcase_add_test(tcase, contexts_wear_out);
	return run_tcase(tcase);
}
