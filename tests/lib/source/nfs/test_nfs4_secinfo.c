/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs4_secinfo.h"

#include "tests/retriever/backend_support.h"

#define KRB5  "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"
#define LIPKE "\x2b\x06\x01\x05\x05\x03"

static uint8_t bytes[200];
static struct xdr_out out;

static void begin(enum nfs4_op op, uint32_t status, uint32_t n)
{
	out = (struct xdr_out){.p = bytes, .end = bytes + sizeof(bytes)};
	xdr_put_u32(&out, op);
	xdr_put_u32(&out, status);
	xdr_put_u32(&out, n);
}

static void gss(const char *mechanism, uint32_t service)
{
	xdr_put_u32(&out, 6);
	xdr_put_bytes(&out, mechanism, (uint32_t)strlen(mechanism));
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, service);
}

static const char *wants(bool named, enum nfs_sec sec, int status)
{
	struct xdr_in in = {.p = bytes, .end = out.p};
	const char *text = NULL;

	ck_assert_int_eq(nfs4_get_secinfo(&in, named, sec, &text), status);
	return text;
}

START_TEST(it_is_asked)
{
	struct xdr_in in = {.p = bytes};
	uint32_t len;

	out = (struct xdr_out){.p = bytes, .end = bytes + sizeof(bytes)};
	nfs4_put_secinfo(&out, "name/more", 4);
	nfs4_put_secinfo(&out, NULL, 0);
	in.end = out.p;
	ck_assert_uint_eq(xdr_get_u32(&in), OP_SECINFO);
	ck_assert_mem_eq(xdr_get_bytes(&in, &len), "name", 4);
	ck_assert_uint_eq(len, 4);
	ck_assert_uint_eq(xdr_get_u32(&in), OP_SECINFO_NO_NAME);
	ck_assert_uint_eq(xdr_get_u32(&in), 0);
	ck_assert(!in.bad && in.p == in.end);
}
END_TEST

START_TEST(the_first_that_is_spoken_is_named)
{
	begin(OP_SECINFO, 0, 5);
	xdr_put_u32(&out, 0);
	gss(LIPKE, 2);
	gss(KRB5, 9);
	gss(KRB5, 3);
	xdr_put_u32(&out, 1);
	ck_assert_str_eq(wants(true, NFS_SEC_KRB5, 0), "krb5p: set sec=krb5p");
	/* ours is in it */
	ck_assert_ptr_nonnull(strstr(wants(true, NFS_SEC_SYS, 0), "xprtsec=tls"));
	begin(OP_SECINFO_NO_NAME, 0, 1);
	xdr_put_u32(&out, 1);
	ck_assert_str_eq(wants(false, NFS_SEC_KRB5, 0), "AUTH_SYS: set sec=sys");
	begin(OP_SECINFO, 0, 2);
	xdr_put_u32(&out, 0);
	gss(LIPKE, 1);
	ck_assert_ptr_nonnull(strstr(wants(true, NFS_SEC_SYS, 0), "not spoken here"));
	begin(OP_SECINFO, 0, 0);
	ck_assert_ptr_nonnull(strstr(wants(true, NFS_SEC_SYS, 0), "not spoken here"));
}
END_TEST

START_TEST(anything_may_come)
{
	begin(OP_SECINFO, 0, UINT32_MAX);
	gss(KRB5, 1);
	ck_assert_ptr_null(wants(true, NFS_SEC_SYS, -EBADMSG));
	ck_assert_ptr_null(wants(false, NFS_SEC_SYS, -EBADMSG));
	out.p -= 2;
	ck_assert_ptr_null(wants(true, NFS_SEC_SYS, -EBADMSG));
	begin(OP_SECINFO, NFS4ERR_WRONGSEC, 0);
	ck_assert_ptr_null(wants(true, NFS_SEC_SYS, -ENOKEY));
	begin(OP_SECINFO, 2, 0);
	ck_assert_ptr_null(wants(true, NFS_SEC_SYS, -ENOENT));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, it_is_asked);
	tcase_add_test(tcase, the_first_that_is_spoken_is_named);
	tcase_add_test(tcase, anything_may_come);
	return run_tcase(tcase);
}
