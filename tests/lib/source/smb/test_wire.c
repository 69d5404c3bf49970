/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <string.h>

#include "lib/config/source_config.h"
#include "lib/source/smb/wire.h"
#include "tests/suite.h"

static uint8_t room[65536];

static const struct wire_start start = {
	.port = 4450,
	.encryption = SMB_REQUIRED,
	.signing = SMB_OFF,
	.stall_ms = 77,
	.host = "host",
	.share = "share",
	.path = "a/b",
	.user = "user",
	.domain = NULL,
	.password = "secret",
	.ccache = (const uint8_t *)"\0ticket",
	.ccache_len = 7,
};

START_TEST(what_is_put_is_got)
{
	struct wire_pack pack = {room, room + 32};
	struct wire_unpack in = {room, room + 32};
	size_t len;

	wire_put_u32(&pack, 0x12345678);
	wire_put_u64(&pack, UINT64_MAX - 1);
	wire_put_bytes(&pack, "abc", 3);
	wire_put_bytes(&pack, NULL, 0);
	ck_assert(!pack.full);
	ck_assert_ptr_eq(pack.at, room + 23);
	in.end = pack.at;
	ck_assert_uint_eq(wire_get_u32(&in), 0x12345678);
	ck_assert_uint_eq(wire_get_u64(&in), UINT64_MAX - 1);
	ck_assert_mem_eq(wire_get_bytes(&in, 3, &len), "abc", 3);
	ck_assert_uint_eq(len, 3);
	ck_assert_ptr_nonnull(wire_get_bytes(&in, 3, &len));
	ck_assert_uint_eq(len, 0);
	ck_assert(!in.bad);
	ck_assert_ptr_eq(in.at, in.end);
}
END_TEST

START_TEST(nothing_goes_beyond_the_end)
{
	struct wire_pack pack = {room, room + 8};
	struct wire_unpack in = {room, room + 8};
	size_t len;

	memset(room, 0xff, sizeof(room));
	wire_put_u64(&pack, 0);
	wire_put(&pack, "", 0);
	ck_assert(!pack.full);
	wire_put(&pack, "x", 1);
	ck_assert(pack.full);
	ck_assert_uint_eq(room[8], 0xff);

	room[0] = 4; /* four bytes follow, and there is room for them, but no more are allowed */
	ck_assert_ptr_null(wire_get_bytes(&in, 3, &len));
	ck_assert(in.bad);
	in = (struct wire_unpack){room, room + 7};
	ck_assert_ptr_null(wire_get_bytes(&in, 100, &len));
	ck_assert_uint_eq(len, 0);
	ck_assert(in.bad);
	ck_assert_uint_eq(wire_get_u32(&in), 0); /* and for ever */
	in = (struct wire_unpack){room, room + 7};
	ck_assert_uint_eq(wire_get_u64(&in), 0);
	ck_assert(in.bad);
}
END_TEST

START_TEST(how_to_connect)
{
	struct wire_pack pack = {room, room + sizeof(room)};
	struct wire_unpack in = {room, room + sizeof(room)};
	struct wire_start got;

	ck_assert(wire_start_put(&pack, &start));
	ck_assert(wire_start_get(&in, &got));
	ck_assert_uint_eq(got.port, 4450);
	ck_assert_uint_eq(got.encryption, SMB_REQUIRED);
	ck_assert_uint_eq(got.signing, SMB_OFF);
	ck_assert_uint_eq(got.stall_ms, 77);
	ck_assert_str_eq(got.host, "host");
	ck_assert_str_eq(got.share, "share");
	ck_assert_str_eq(got.path, "a/b");
	ck_assert_str_eq(got.user, "user");
	ck_assert_str_eq(got.domain, "");
	ck_assert_str_eq(got.password, "secret");
	ck_assert_uint_eq(got.ccache_len, 7);
	ck_assert_mem_eq(got.ccache, "\0ticket", 7);
}
END_TEST

START_TEST(how_to_connect_cut_short)
{
	struct wire_pack pack = {room, room + sizeof(room)};
	struct wire_start got;
	size_t whole;

	wire_start_put(&pack, &start);
	whole = (size_t)(pack.at - room);
	for (size_t len = 0; len <= whole; len++) {
		struct wire_unpack in = {room, room + len};

		ck_assert_int_eq(wire_start_get(&in, &got), len == whole);
		pack = (struct wire_pack){room + sizeof(room) - len, room + sizeof(room)};
		ck_assert_int_eq(wire_start_put(&pack, &start), len == whole);
		if (len == whole)
			break;
		pack = (struct wire_pack){room, room + sizeof(room)};
		wire_start_put(&pack, &start);
	}
	room[0]++; /* another version */
	struct wire_unpack in = {room, room + whole};

	ck_assert(!wire_start_get(&in, &got));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("wire");

	tcase_add_test(tcase, what_is_put_is_got);
	tcase_add_test(tcase, nothing_goes_beyond_the_end);
	tcase_add_test(tcase, how_to_connect);
	tcase_add_test(tcase, how_to_connect_cut_short);
	return run_tcase(tcase);
}
