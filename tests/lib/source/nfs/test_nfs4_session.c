/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statuses, and what becomes of a session. */
#include "lib/source/nfs/nfs4_session.h"

#include "tests/retriever/backend_support.h"

static struct nfs4_session session;
static uint8_t call[RPC_CALL_MAX], reply[512];
static struct xdr_out out;

START_TEST(statuses_are_told_apart)
{
	static const struct {
		uint32_t status;
		int ret;
	} cases[] = {
		{0, 0},
		{2, -ENOENT},
		{13, -EACCES},
		{20, -ENOTDIR},
		{21, -EISDIR},
		{70, -ESTALE},
		{10001, -ESTALE},
		{10003, -EBADMSG},
		{10004, -ENOTSUP},
		{10008, -EAGAIN},
		{10013, -EAGAIN},
		{10014, -ESTALE},
		{10016, -ENOKEY},
		{10018, -EAGAIN},
		{10019, -EREMOTE},
		{10021, -ENOTSUP},
		{10027, -EBADMSG},
		{10029, -ENOTDIR},
		{10040, -ENOENT},
		{10041, -ENOENT},
		{10044, -ENOTSUP},
		{5, -EREMOTEIO},
		{10006, -EREMOTEIO},
		{10052, -EREMOTEIO},
		{123456, -EREMOTEIO},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_int_eq(nfs4_status(cases[i].status), cases[i].ret);
}
END_TEST

/* A compound's head; then what is put behind it is decoded. */
static void begin(uint32_t status, uint32_t ops)
{
	out = (struct xdr_out){.p = reply, .end = reply + sizeof(reply)};
	xdr_put_u32(&out, status);
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, ops);
}

static void put_op(uint32_t op, uint32_t status)
{
	xdr_put_u32(&out, op);
	xdr_put_u32(&out, status);
}

static void put_zeros(unsigned n)
{
	while (n-- > 0)
		xdr_put_u32(&out, 0);
}

static int set_up(void)
{
	struct xdr_in in = {.p = reply, .end = out.p};
	struct xdr_out args = {.p = call, .end = call + sizeof(call)};

	nfs4_encode_setup(&session, &args);
	ck_assert(!args.bad);
	return nfs4_decode_setup(&session, 0, &in);
}

static void exchange(void)
{
	begin(0, 1);
	put_op(OP_EXCHANGE_ID, 0);
	xdr_put_u64(&out, 77);
	xdr_put_u32(&out, 5);
}

static void create(uint32_t slots)
{
	begin(0, 1);
	put_op(OP_CREATE_SESSION, 0);
	for (unsigned i = 0; i < 16; i++)
		*out.p++ = (uint8_t)i;
	put_zeros(4);
	xdr_put_u32(&out, 65536); /* longest reply */
	put_zeros(1);
	xdr_put_u32(&out, 7); /* operations */
	xdr_put_u32(&out, slots);
}

static uint32_t flags; /* of SEQUENCE */

static void put_sequence(uint32_t status)
{
	put_op(OP_SEQUENCE, status);
	if (status != 0)
		return;
	put_zeros(8);
	xdr_put_u32(&out, flags);
}

static void ready(void)
{
	exchange();
	ck_assert_int_eq(set_up(), 0);
	create(3);
	ck_assert_int_eq(set_up(), 0);
	begin(0, 2);
	put_sequence(0);
	put_op(OP_RECLAIM_COMPLETE, 0);
	ck_assert_int_eq(set_up(), 0);
	ck_assert_int_eq(session.state, NFS4_READY);
}

static void setup(void)
{
	session = (struct nfs4_session){.minor = 1, .opens = true};
	nfs4_reset(&session);
}

START_TEST(a_session_takes_three_calls)
{
	uint8_t verifier[8], owner[16];

	exchange();
	ck_assert_int_eq(set_up(), 0);
	ck_assert_int_eq(session.state, NFS4_NO_SESSION);
	ck_assert_uint_eq(session.client, 77);
	create(3);
	ck_assert_int_eq(set_up(), 0);
	ck_assert_int_eq(session.state, NFS4_UNCLAIMED);
	ck_assert_uint_eq(session.slots, 3);
	ck_assert_uint_eq(session.max_reply, 65536);
	ck_assert_uint_eq(session.max_ops, 7);
	ck_assert_uint_eq(session.id[15], 15);
	begin(10054, 2);
	put_sequence(0);
	put_op(OP_RECLAIM_COMPLETE, 10054); /* it was complete */
	ck_assert_int_eq(set_up(), 0);
	ck_assert_int_eq(session.state, NFS4_READY);
	ck_assert_uint_eq(session.sequence[0], 2);
	ck_assert_uint_eq(session.sequence[1], 1);
	/* the same client, started anew */
	memcpy(verifier, session.verifier, sizeof(verifier));
	memcpy(owner, session.owner, sizeof(owner));
	nfs4_reset(&session);
	ck_assert_int_eq(session.state, NFS4_NO_CLIENT);
	ck_assert_mem_eq(owner, session.owner, sizeof(owner));
	ck_assert_mem_ne(verifier, session.verifier, sizeof(verifier));
}
END_TEST

START_TEST(slots_have_their_limits)
{
	exchange();
	ck_assert_int_eq(set_up(), 0);
	create(0);
	ck_assert_int_eq(set_up(), -EBADMSG);
	create(100000);
	ck_assert_int_eq(set_up(), 0);
	ck_assert_uint_eq(session.slots, NFS4_SLOTS_MAX);
}
END_TEST

START_TEST(what_is_not_spoken_is_refused)
{
	begin(NFS4ERR_MINOR_VERS_MISMATCH, 0);
	ck_assert_int_eq(set_up(), -ENOTSUP);
	ck_assert_int_eq(session.state, NFS4_REFUSED);
	nfs4_reset(&session);
	ck_assert_int_eq(nfs4_decode_setup(&session, -EAGAIN, NULL), -ENOTSUP);
	nfs4_reset(&session);
	begin(10008, 1);
	put_op(OP_EXCHANGE_ID, 10008);
	ck_assert_int_eq(set_up(), -EAGAIN);
	ck_assert_int_eq(session.state, NFS4_NO_CLIENT);
	exchange();
	out.p -= 4;
	ck_assert_int_eq(set_up(), -EBADMSG);
}
END_TEST

static int start(uint32_t sequence, uint32_t putfh)
{
	struct xdr_in in = {.p = reply};
	struct xdr_out args = {.p = call, .end = call + sizeof(call)};

	nfs4_put_start(&args, &session, 1, (const uint8_t *)"x", 1, 0);
	ck_assert(!args.bad);
	begin(sequence ? sequence : putfh, 2);
	put_sequence(sequence);
	put_op(OP_PUTFH, putfh);
	in.end = out.p;
	return nfs4_get_start(&session, 1, false, 0, &in);
}

START_TEST(sessions_end_in_many_ways)
{
	static const uint32_t gone[] = {10022, 10047, 10052, 10053, 10055,
					10063, 10068, 10076, 10077, 10078};
	static const uint32_t requests[] = {10065, 10066, 10067, 10070};

	ready();
	ck_assert_int_eq(start(0, 0), 0);
	ck_assert_uint_eq(session.sequence[1], 2);
	for (size_t i = 0; i < G_N_ELEMENTS(gone); i++)
		ck_assert_int_eq(start(gone[i], 0), NFS_CALL_RESET);
	for (size_t i = 0; i < G_N_ELEMENTS(requests); i++)
		ck_assert_int_eq(start(requests[i], 0), -EREMOTEIO);
	ck_assert_int_eq(start(10008, 0), -EAGAIN);
	ck_assert_uint_eq(session.sequence[1], 2); /* nothing was done */
	ck_assert_int_eq(start(0, 70), -ESTALE);
	ck_assert_uint_eq(session.sequence[1], 3);
	ck_assert_int_eq(nfs4_get_start(&session, 1, false, -EAGAIN, NULL), NFS_CALL_RESET);
	ck_assert_int_eq(nfs4_get_start(&session, 1, false, -EREMOTEIO, NULL), -EREMOTEIO);
}
END_TEST

/* What was lost is nothing of ours, but for files that cannot be opened before that is said. */
START_TEST(flags_ask_for_little)
{
	flags = 0x100; /* until RECLAIM_COMPLETE is */
	ready();
	flags = 0xffffffff & ~0x100u;
	ck_assert_int_eq(start(0, 0), 0);
	flags = 0x100;
	ck_assert_int_eq(start(0, 0), NFS_CALL_RESET);
	/* a server that says it always */
	for (unsigned i = 0; i < 2; i++) {
		nfs4_reset(&session);
		flags = i ? 0x100 : 0;
		ready();
		flags = 0x100;
		ck_assert_int_eq(start(0, 0), 0);
		ck_assert_int_eq(start(0, 0), 0);
	}
}
END_TEST

/* One call tells whether it is spoken, and then there is nothing to lose. */
START_TEST(version_4_0_has_no_session)
{
	struct xdr_in in = {.p = reply};
	struct xdr_out args = {.p = call, .end = call + sizeof(call)};

	session = (struct nfs4_session){.minor = 0, .opens = true};
	nfs4_reset(&session);
	begin(10008, 1);
	put_op(OP_PUTROOTFH, 10008);
	ck_assert_int_eq(set_up(), -EAGAIN);
	begin(NFS4ERR_WRONGSEC, 1);
	put_op(OP_PUTROOTFH, NFS4ERR_WRONGSEC);
	ck_assert_int_eq(set_up(), 0);
	ck_assert_int_eq(session.state, NFS4_READY);
	ck_assert_uint_eq(session.slots, NFS4_SLOTS_MAX);
	nfs4_put_start(&args, &session, 1, (const uint8_t *)"x", 1, 0);
	ck_assert_uint_eq(args.p - call, 3 * 4 + 4 + 8);
	begin(0, 1);
	put_op(OP_PUTFH, 70);
	in.end = out.p;
	ck_assert_int_eq(nfs4_get_start(&session, 1, false, 0, &in), -ESTALE);
	nfs4_reset(&session);
	begin(NFS4ERR_MINOR_VERS_MISMATCH, 0);
	ck_assert_int_eq(set_up(), -ENOTSUP);
	ck_assert_int_eq(session.state, NFS4_REFUSED);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, statuses_are_told_apart);
	tcase_add_test(tcase, a_session_takes_three_calls);
	tcase_add_test(tcase, slots_have_their_limits);
	tcase_add_test(tcase, what_is_not_spoken_is_refused);
	tcase_add_test(tcase, sessions_end_in_many_ways);
	tcase_add_test(tcase, flags_ask_for_little);
	tcase_add_test(tcase, version_4_0_has_no_session);
	return run_tcase(tcase);
}
