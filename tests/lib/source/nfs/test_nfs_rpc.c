/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_rpc.h"
#include "tests/retriever/backend_support.h"

static struct rpc_stream stream;

static void setup(void)
{
	rpc_stream_init(&stream);
}

static void teardown(void)
{
	rpc_stream_clear(&stream);
}

/* In pieces of at most `piece` bytes, as a socket would. */
static size_t feed(const uint8_t *bytes, size_t len, size_t piece)
{
	size_t room;
	uint8_t *at = rpc_stream_room(&stream, &room);

	ck_assert_uint_gt(room, 0);
	len = MIN(len, MIN(piece, room));
	memcpy(at, bytes, len);
	rpc_stream_received(&stream, len);
	return len;
}

/* A record of n bytes that count up from `first`, in fragments of at most `fragment` bytes. */
static void put_record(GByteArray *out, uint8_t first, size_t n, size_t fragment)
{
	size_t at = 0;

	do {
		size_t len = MIN(n - at, fragment);
		uint32_t mark = htobe32((uint32_t)len | (at + len == n ? 0x80000000u : 0));

		g_byte_array_append(out, (uint8_t *)&mark, 4);
		for (size_t i = 0; i < len; i++, at++) {
			uint8_t byte = (uint8_t)(first + at);

			g_byte_array_append(out, &byte, 1);
		}
	} while (at < n);
}

static void check_record(const struct xdr_in *record, uint8_t first, size_t n)
{
	ck_assert_uint_eq((size_t)(record->end - record->p), n);
	ck_assert(!record->bad);
	for (size_t i = 0; i < n; i++)
		if (record->p[i] != (uint8_t)(first + i))
			ck_abort_msg("byte %zu of %zu is %u", i, n, record->p[i]);
}

/* Sizes and fragments by number, the same whenever asked. */
static size_t size_of(unsigned i)
{
	static const size_t sizes[] = {0, 1, 4, 100, 3000, 65536, 70000, 1 << 20, RPC_RECORD_MAX};

	return sizes[i % G_N_ELEMENTS(sizes)];
}

static size_t fragment_of(unsigned i)
{
	static const size_t fragments[] = {RPC_RECORD_MAX, 65536, 1000, RPC_RECORD_MAX, 37};

	return fragments[i % G_N_ELEMENTS(fragments)];
}

START_TEST(records_are_cut_out_of_the_stream)
{
	static const size_t pieces[] = {1000, 65536, SIZE_MAX, 4099, 7};
	GByteArray *bytes = g_byte_array_new();
	const unsigned n = _i == 4 ? 7 : 45; /* bytewise is slow */
	unsigned got = 0;
	struct xdr_in record;

	for (unsigned i = 0; i < n; i++)
		put_record(bytes, (uint8_t)i, size_of(i), fragment_of(i));
	for (size_t at = 0; at < bytes->len;) {
		at += feed(bytes->data + at, bytes->len - at, pieces[_i]);
		while (rpc_stream_next(&stream, &record) == 1) {
			check_record(&record, (uint8_t)got, size_of(got));
			got++;
		}
	}
	ck_assert_uint_eq(got, n);
	g_byte_array_free(bytes, TRUE);
}
END_TEST

static size_t moved; /* by memmove() */

void *__real_memmove(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size);

void *__wrap_memmove(void *to, const void *from, size_t size)
{
	moved += size;
	return __real_memmove(to, from, size);
}

/* However many there are inside one record. */
START_TEST(i10_empty_fragments_move_nothing)
{
	static const uint8_t empty[RPC_CHUNK], first[] = {0, 0, 0, 3, 9, 10, 11},
					       last[] = {0x80, 0, 0, 2, 12, 13};
	struct xdr_in record;

	feed(first, sizeof(first), SIZE_MAX);
	ck_assert_int_eq(rpc_stream_next(&stream, &record), 0);
	moved = 0;
	for (size_t fed = 0; fed < 16 * RPC_CHUNK;) {
		fed += feed(empty, sizeof(empty), SIZE_MAX);
		ck_assert_int_eq(rpc_stream_next(&stream, &record), 0);
	}
	ck_assert_uint_lt(moved, 16 * RPC_CHUNK);
	feed(last, sizeof(last), SIZE_MAX);
	ck_assert_int_eq(rpc_stream_next(&stream, &record), 1);
	check_record(&record, 9, 5);
}
END_TEST

START_TEST(large_records_are_refused_by_xid)
{
	uint8_t whole[] = {0x80, 0x11, 0x00, 0x01, 1, 2, 3, 4};
	uint8_t parts[] = {0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0x80, 0x10, 0xff, 0xff};
	struct xdr_in record;

	feed(whole, 6, SIZE_MAX);
	ck_assert_int_eq(rpc_stream_next(&stream, &record), 0);
	feed(whole + 6, 2, SIZE_MAX);
	ck_assert_int_eq(rpc_stream_next(&stream, &record), -EMSGSIZE);
	ck_assert_uint_eq(xdr_get_u32(&record), 0x01020304);

	rpc_stream_reset(&stream);
	feed(parts, sizeof(parts), SIZE_MAX);
	ck_assert_int_eq(rpc_stream_next(&stream, &record), -EMSGSIZE);
	ck_assert_uint_eq(xdr_get_u32(&record), 0x01020304);
}
END_TEST

START_TEST(a_reset_stream_starts_anew)
{
	GByteArray *bytes = g_byte_array_new();
	struct xdr_in record;

	put_record(bytes, 3, 100, 10);
	feed(bytes->data, 57, SIZE_MAX);
	ck_assert_int_eq(rpc_stream_next(&stream, &record), 0);
	rpc_stream_reset(&stream);
	feed(bytes->data, bytes->len, SIZE_MAX);
	ck_assert_int_eq(rpc_stream_next(&stream, &record), 1);
	check_record(&record, 3, 100);
	g_byte_array_free(bytes, TRUE);
}
END_TEST

/* ---- headers ---- */

static uint8_t bytes_of_reply[64];

static int reply(const uint32_t *words, unsigned n, struct rpc_reply *header)
{
	uint8_t *bytes = bytes_of_reply;
	struct xdr_out out = {.p = bytes, .end = bytes + sizeof(bytes_of_reply)};
	struct xdr_in in;

	for (unsigned i = 0; i < n; i++)
		xdr_put_u32(&out, words[i]);
	in = (struct xdr_in){.p = bytes, .end = out.p};
	return rpc_reply_begin(&in, header);
}

START_TEST(reply_headers_become_a_status)
{
	static const struct {
		uint32_t words[8];
		unsigned n;
		int status;
	} cases[] = {
		{{9, 1, 0, 0, 0, 0}, 6, 0},
		{{9, 1, 0, 1, 4, 77, 0}, 7, 0}, /* with a verifier of four bytes */
		{{9, 1, 0, 0, 0, 1}, 6, -EAGAIN},
		{{9, 1, 0, 0, 0, 2, 3, 4}, 8, -EAGAIN},
		{{9, 1, 0, 0, 0, 3}, 6, -ENOTSUP},
		{{9, 1, 0, 0, 0, 4}, 6, -EBADMSG},
		{{9, 1, 0, 0, 0, 5}, 6, -EREMOTEIO},
		{{9, 1, 0, 0, 0, 99}, 6, -EREMOTEIO},
		{{9, 1, 1, 0, 2, 2}, 6, -EREMOTEIO},
		{{9, 1, 1, 1, 5}, 5, -EACCES},
		{{9, 1, 1, 1, 13}, 5, -EKEYEXPIRED},
		{{9, 1, 1, 1, 14}, 5, -EKEYEXPIRED},
		{{9, 0, 0, 0, 0, 0}, 6, -EBADMSG}, /* a call */
		{{9, 1, 2, 0, 0, 0}, 6, -EBADMSG},
		{{9, 1, 0, 0, 0xfffffff0, 0}, 6, -EBADMSG},
	};
	struct rpc_reply header;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		ck_assert_int_eq(reply(cases[i].words, cases[i].n, &header), cases[i].status);
		ck_assert_uint_eq(header.xid, 9);
		ck_assert_uint_eq(header.accepted,
				  cases[i].words[1] == 1 && cases[i].words[2] == 0);
	}
	for (unsigned n = 0; n < 6; n++)
		ck_assert_int_eq(reply(cases[0].words, n, &header), -EBADMSG);
	reply(cases[1].words, cases[1].n, &header);
	ck_assert_uint_eq(header.verifier_len, 4);
	ck_assert_uint_eq(header.verifier[3], 77);
}
END_TEST

START_TEST(calls_carry_the_credential)
{
	uint8_t bytes[RPC_CALL_MAX];
	struct xdr_out out = {.p = bytes, .end = bytes + sizeof(bytes)};
	struct rpc_auth auth;
	struct xdr_in in;
	uint32_t len;

	rpc_auth_init(&auth, 1234, 5678);
	rpc_call_begin(&out, &auth, 42, 100003, 3, 6);
	xdr_put_u32(&out, 0xabcdef);
	rpc_call_finish(&out, &auth, bytes);
	ck_assert(!out.bad);
	in = (struct xdr_in){.p = bytes, .end = out.p};
	ck_assert_uint_eq(xdr_get_u32(&in), 0x80000000u | (uint32_t)(out.p - bytes - 4));
	ck_assert_uint_eq(xdr_get_u32(&in), 42);
	ck_assert_uint_eq(xdr_get_u32(&in), 0);
	ck_assert_uint_eq(xdr_get_u32(&in), 2);
	ck_assert_uint_eq(xdr_get_u32(&in), 100003);
	ck_assert_uint_eq(xdr_get_u32(&in), 3);
	ck_assert_uint_eq(xdr_get_u32(&in), 6);
	ck_assert_uint_eq(xdr_get_u32(&in), 1);
	len = xdr_get_u32(&in);
	ck_assert_uint_ge(len, 20);
	xdr_get_u32(&in);
	xdr_get_bytes(&in, &len);
	ck_assert_uint_eq(xdr_get_u32(&in), 1234);
	ck_assert_uint_eq(xdr_get_u32(&in), 5678);
	ck_assert_uint_eq(xdr_get_u32(&in), 0);
	ck_assert_uint_eq(xdr_get_u64(&in), 0);
	ck_assert_uint_eq(xdr_get_u32(&in), 0xabcdef);
	ck_assert(!in.bad);
	ck_assert_ptr_eq(in.p, in.end);
	out = (struct xdr_out){.p = bytes, .end = bytes + 40};
	rpc_call_begin(&out, &auth, 42, 100003, 3, 6);
	ck_assert(out.bad);
}
END_TEST

START_TEST(xdr_stays_inside)
{
	static const uint8_t bytes[] = {0, 0, 0, 3, 'a', 'b', 'c', 0, 0, 0, 0, 5, 'x'};
	struct xdr_in in = {.p = bytes, .end = bytes + sizeof(bytes)};
	uint32_t len;

	ck_assert_mem_eq(xdr_get_bytes(&in, &len), "abc", 3);
	ck_assert_uint_eq(len, 3);
	ck_assert_ptr_null(xdr_get_bytes(&in, &len));
	ck_assert_uint_eq(len, 0);
	ck_assert(in.bad);
	ck_assert_uint_eq(xdr_get_u64(&in), 0);
	/* The padding of what is last may be missing. */
	in = (struct xdr_in){.p = bytes, .end = bytes + 7};
	ck_assert_mem_eq(xdr_get_bytes(&in, &len), "abc", 3);
	ck_assert(!in.bad);
	ck_assert_ptr_eq(in.p, in.end);
	xdr_skip(&in, 1);
	ck_assert(in.bad);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, records_are_cut_out_of_the_stream, 0, 5);
	tcase_add_test(tcase, i10_empty_fragments_move_nothing);
	tcase_add_test(tcase, large_records_are_refused_by_xid);
	tcase_add_test(tcase, a_reset_stream_starts_anew);
	tcase_add_test(tcase, reply_headers_become_a_status);
	tcase_add_test(tcase, calls_carry_the_credential);
	tcase_add_test(tcase, xdr_stays_inside);
	return run_tcase(tcase);
}
