/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/smb_set.h"

#include <errno.h>

#include "ctl/rollback/smb_attrs.h"
#include "tests/ctl/rollback/fake_writer.h"

START_TEST(fields)
{
	g_autoptr(GByteArray) data = g_byte_array_new();

	smb_put(data, 0x0102, 2);
	smb_put(data, 3, 4);
	ck_assert_uint_eq(data->len, 6);
	ck_assert_mem_eq(data->data, "\2\1\3\0\0\0", 6);
	ck_assert_uint_eq(smb_settable(0x10), SMB_NORMAL);
	ck_assert_uint_eq(smb_settable(0x437), 0x27);
	ck_assert_uint_eq(smb_settable(0x3537), 0x3127); /* none of these is ours to take away */
}
END_TEST

/* What cannot be said is not sent: such a path ends the fake one. */
START_TEST(not_sent)
{
	struct smb_call *call = call_share("good", NULL);
	const struct wire_change what = {0};
	struct backend_request req = {0};
	struct source_windows *windows;
	uint32_t had;

	ck_assert_int_eq(smb_do(call, "a:b", "", &what, ""), -EINVAL);
	ck_assert_int_eq(smb_ask(call, &req, BACKEND_GETATTR, "a:b"), -ENOENT);
	ck_assert_int_eq(smb_ask(call, &req, BACKEND_GETATTR, "file"), 0);
	ck_assert_uint_eq(req.attr.fileid, 5);
	ck_assert_int_eq(smb_set_basic(call, "file", 1, 2, 3, 4), 0);
	/* an answer that makes no sense */
	ck_assert_int_eq(smb_look(call, "file", &windows), -EBADMSG);
	ck_assert_ptr_null(windows);
	ck_assert_int_eq(smb_make_writable(call, "file", &had), -EBADMSG);
	ck_assert_int_eq(smb_write_at(call, "end", "", "x", 1, 0), -ENOTCONN);
	smb_call_close(call);
}
END_TEST

/* A server may take less than it was given (MS-SMB2 2.2.22), but for nothing at all. */
START_TEST(written_in_parts)
{
	struct smb_call *call = call_share("good", NULL);
	struct backend_request req = {0};
	uint8_t data[1000];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	ck_assert_int_eq(smb_write_at(call, "file", "", data, sizeof(data), 0), 0);
	ck_assert_uint_eq(smb_call_written(call), sizeof(data));
	ck_assert_int_eq(smb_write_at(call, "short", "", data, sizeof(data), 0), 0);
	ck_assert_int_eq(smb_ask(call, &req, BACKEND_GETATTR, "file"), 0);
	ck_assert_uint_eq(req.attr.size, sizeof(data));
	ck_assert_int_eq(smb_write_at(call, "none", "", data, sizeof(data), 0), -EIO);
	ck_assert_int_eq(smb_write_at(call, "more", "", data, sizeof(data), 0), -EBADMSG);
	smb_call_close(call);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, fields);
	tcase_add_test(tcase, not_sent);
	tcase_add_test(tcase, written_in_parts);
	return run_tcase(tcase);
}
