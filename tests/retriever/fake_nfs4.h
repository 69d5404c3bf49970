/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Version 4 of the fake server (fake_nfs.h): sessions, and user attributes of whatever there is; or
 * a tree, too (fake_nfs4_tree.h).  A hook passes it its calls.
 */
#ifndef TESTS_RETRIEVER_FAKE_NFS4_H
#define TESTS_RETRIEVER_FAKE_NFS4_H

#include "lib/source/nfs/nfs4_xattr.h"
#include "tests/retriever/fake_nfs.h"

#define FAKE_SLOTS 3

struct fake4 {
	const char *const *names; /* without prefix, NULL at the end; values are "value of NAME" */
	unsigned page;		  /* names in a reply */
	uint32_t sequence_status, putfh_status, list_status, get_status;
	uint64_t fileid;
	unsigned xattr_support;
	atomic_uint sessions, lists, gets, misordered;
	atomic_uint lose; /* so many SEQUENCEs find no session */
	atomic_uint delay;
	atomic_uint minor_refused;
	uint32_t minor; /* the one that is spoken */
	uint32_t ops;	/* that are allowed in a call */
	atomic_uint reclaimed;
	/* Of further operations: FALSE, it is none of those. */
	bool (*tree)(struct fake_call *call, struct fake4 *fake4, uint32_t op, uint32_t *status);
	void *tree_data;
	pthread_mutex_t lock;
	uint32_t sequence[64][FAKE_SLOTS]; /* by session */
};

static inline void fake4_init(struct fake4 *fake4, const char *const *names)
{
	*fake4 = (struct fake4){
		.names = names, .page = 2, .fileid = 1, .xattr_support = 1, .minor = 2, .ops = 8};
	pthread_mutex_init(&fake4->lock, NULL);
}

static inline uint32_t fake4_op(struct fake_call *call, uint32_t op, uint32_t status)
{
	xdr_put_u32(&call->out, op);
	xdr_put_u32(&call->out, status);
	return status;
}

static inline uint32_t fake4_exchange(struct fake_call *call)
{
	uint32_t len;

	xdr_skip(&call->args, 8);
	xdr_get_bytes(&call->args, &len);
	xdr_skip(&call->args, 12);
	fake4_op(call, 42, 0);
	xdr_put_u64(&call->out, 77);
	xdr_put_u32(&call->out, 5);
	for (unsigned i = 0; i < 7; i++)
		xdr_put_u32(&call->out, 0);
	return 0;
}

static inline uint32_t fake4_create(struct fake_call *call, struct fake4 *fake4)
{
	uint32_t session = atomic_fetch_add(&fake4->sessions, 1);

	ck_assert_uint_lt(session, 64);
	ck_assert_uint_eq(xdr_get_u64(&call->args), 77);
	ck_assert_uint_eq(xdr_get_u32(&call->args), 5);
	fake4_op(call, 43, 0);
	for (unsigned i = 0; i < 4; i++)
		xdr_put_u32(&call->out, session);
	xdr_put_u64(&call->out, 0);
	for (unsigned i = 0; i < 14; i++)
		xdr_put_u32(&call->out, i == 5	 ? FAKE_SLOTS
					: i == 4 ? fake4->ops
					: i == 2 ? 1 << 20
						 : 0);
	return 0;
}

static inline bool fake4_take(atomic_uint *count)
{
	return atomic_load(count) > 0 && atomic_fetch_sub(count, 1) > 0;
}

static inline uint32_t fake4_sequence(struct fake_call *call, struct fake4 *fake4)
{
	uint32_t session = xdr_get_u32(&call->args), sequence, slot;

	xdr_skip(&call->args, 12);
	sequence = xdr_get_u32(&call->args);
	slot = xdr_get_u32(&call->args);
	xdr_skip(&call->args, 8);
	if (fake4_take(&fake4->lose))
		return fake4_op(call, 53, 10052); /* NFS4ERR_BADSESSION */
	if (fake4_take(&fake4->delay))
		return fake4_op(call, 53, 10008);
	pthread_mutex_lock(&fake4->lock);
	if (slot >= FAKE_SLOTS || session >= 64 || sequence != fake4->sequence[session][slot] + 1)
		atomic_fetch_add(&fake4->misordered, 1);
	else
		fake4->sequence[session][slot]++;
	pthread_mutex_unlock(&fake4->lock);
	fake4_op(call, 53, 0);
	for (unsigned i = 0; i < 9; i++)
		xdr_put_u32(&call->out, 0);
	return 0;
}

static inline uint32_t fake4_getattr(struct fake_call *call, struct fake4 *fake4)
{
	xdr_skip(&call->args, 16);
	fake4_op(call, 9, 0);
	xdr_put_u32(&call->out, 3);
	xdr_put_u32(&call->out, 1u << 20);
	xdr_put_u32(&call->out, 0);
	xdr_put_u32(&call->out, 1u << 18);
	xdr_put_u32(&call->out, 12);
	xdr_put_u64(&call->out, fake4->fileid);
	xdr_put_u32(&call->out, fake4->xattr_support);
	return 0;
}

static inline uint32_t fake4_list(struct fake_call *call, struct fake4 *fake4)
{
	uint64_t cookie = xdr_get_u64(&call->args);
	unsigned n = 0, total = 0;

	xdr_skip(&call->args, 4);
	atomic_fetch_add(&fake4->lists, 1);
	if (fake4_op(call, 74, fake4->list_status))
		return fake4->list_status;
	while (fake4->names[total])
		total++;
	ck_assert_uint_le(cookie, total);
	n = MIN(fake4->page, total - (unsigned)cookie);
	xdr_put_u64(&call->out, cookie + n);
	xdr_put_u32(&call->out, n);
	for (unsigned i = 0; i < n; i++)
		xdr_put_bytes(&call->out, fake4->names[cookie + i],
			      (uint32_t)strlen(fake4->names[cookie + i]));
	xdr_put_u32(&call->out, cookie + n == total);
	return 0;
}

static inline uint32_t fake4_get(struct fake_call *call, struct fake4 *fake4)
{
	uint32_t len;
	const uint8_t *name = xdr_get_bytes(&call->args, &len);
	g_autofree char *value = g_strdup_printf("value of %.*s", (int)len, name);

	atomic_fetch_add(&fake4->gets, 1);
	if (fake4_op(call, 72, fake4->get_status))
		return fake4->get_status;
	xdr_put_bytes(&call->out, value, (uint32_t)strlen(value));
	return 0;
}

static inline uint32_t fake4_one(struct fake_call *call, struct fake4 *fake4)
{
	uint32_t len, status, op = xdr_get_u32(&call->args);

	if (fake4->tree && fake4->tree(call, fake4, op, &status))
		return status;
	switch (op) {
	case 42:
		return fake4_exchange(call);
	case 43:
		return fake4_create(call, fake4);
	case 53:
		return fake4_sequence(call, fake4);
	case 58:
		xdr_skip(&call->args, 4);
		atomic_fetch_add(&fake4->reclaimed, 1);
		return fake4_op(call, 58, 0);
	case 22:
		xdr_get_bytes(&call->args, &len);
		return fake4_op(call, 22, fake4->putfh_status);
	case 9:
		return fake4_getattr(call, fake4);
	case 74:
		return fake4_list(call, fake4);
	case 72:
		return fake4_get(call, fake4);
	default:
		ck_abort_msg("an operation that nobody should send");
	}
}

static inline enum fake_action fake4_answer(struct fake_call *call, struct fake4 *fake4)
{
	struct xdr_out head = call->out;
	uint32_t len, n, minor, done = 0, status = 0;

	xdr_get_bytes(&call->args, &len);
	minor = xdr_get_u32(&call->args);
	n = xdr_get_u32(&call->args);
	ck_assert_uint_le(n, fake4->ops); /* as was agreed upon */
	xdr_put_u32(&call->out, 0);
	xdr_put_u64(&call->out, 0);
	if (minor != fake4->minor || fake4_take(&fake4->minor_refused)) {
		status = 10021;
		n = 0;
	}
	while (done < n && status == 0) {
		status = fake4_one(call, fake4);
		done++;
	}
	xdr_put_u32(&head, status);
	xdr_put_u32(&head, 0);
	xdr_put_u32(&head, done);
	return FAKE_REPLY;
}

#endif
