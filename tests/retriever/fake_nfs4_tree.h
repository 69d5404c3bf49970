/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A tree of the fake server in version 4 (fake_nfs4.h): "x", a directory in the server's root, with
 * "file", "link" and "away", which another server has; names of digits are "x" itself, and
 * "locked" is told by another flavour alone.  For what no
 * real server does.
 */
#ifndef TESTS_RETRIEVER_FAKE_NFS4_TREE_H
#define TESTS_RETRIEVER_FAKE_NFS4_TREE_H

#include "tests/retriever/fake_nfs4.h"

enum { TREE_TOP, TREE_X, TREE_FILE, TREE_LINK, TREE_AWAY, TREE_OBJECTS };
#define TREE_SUPPORTED0                                                                            \
	(1u << 0 | 1u << 1 | 1u << 4 | 1u << 8 | 1u << 10 | 1u << 11 | 1u << 19 | 1u << 20 |       \
	 1u << 30)
#define TREE_SUPPORTED1                                                                            \
	(1u << 1 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 9 | 1u << 13 | 1u << 15 | 1u << 20 |        \
	 1u << 21)

struct fake4_tree {
	uint32_t supported[3];
	const char *_Atomic owner;
	uint32_t lease;
	unsigned epoch;	       /* in handles: others are expired */
	uint32_t anonymous;    /* READ's status without an OPEN */
	uint32_t open, opened; /* OPEN's, and READ's after it */
	uint32_t first_handle; /* the root's PUTROOTFH's status */
	int service;	       /* of GSS, that SECINFO tells; 0: AUTH_SYS, -1: it fails */
	atomic_uint asked;     /* SECINFO, or SECINFO_NO_NAME */
	uint64_t size, used;   /* of "file" */
	uint32_t seek;	       /* SEEK's status */
	bool seek_opened;      /* without an OPEN it says that there are data at 0, wherever */
	bool seek_eof;	       /* there are no data ... */
	uint64_t seek_data;    /* ... but there */
	uint32_t access;       /* that it allows */
	atomic_uint opens, closes, roots, seeks, reads;
};

/* The current file handle of a call in the making: calls of one connection come one by one, and
 * each connection has a thread. */
static __thread unsigned tree_current;
static __thread bool tree_opened;

static inline void tree_handle(struct fake_call *call, const struct fake4_tree *tree)
{
	char handle[16];

	snprintf(handle, sizeof(handle), "handle %u.%u", tree_current, tree->epoch);
	xdr_put_bytes(&call->out, handle, (uint32_t)strlen(handle));
}

static inline uint32_t tree_putfh(struct fake_call *call, const struct fake4_tree *tree)
{
	uint32_t len;
	const char *bytes = (const char *)xdr_get_bytes(&call->args, &len);
	g_autofree char *handle = g_strndup(bytes, len);
	unsigned epoch;

	if (sscanf(handle, "handle %u.%u", &tree_current, &epoch) != 2)
		return fake4_op(call, 22, 10001);
	return fake4_op(call, 22, epoch == tree->epoch ? 0 : 10014);
}

static inline uint32_t tree_lookup(struct fake_call *call)
{
	static const char *const names[] = {"", "x", "file", "link", "away"};
	uint32_t len;
	const char *name = (const char *)xdr_get_bytes(&call->args, &len);

	if (tree_current == TREE_X && len == 6 && memcmp(name, "locked", len) == 0)
		return fake4_op(call, 15, 10016);
	if (tree_current == TREE_X && len > 0 && g_ascii_isdigit(*name))
		return fake4_op(call, 15, 0);
	for (unsigned i = 1; i < TREE_OBJECTS; i++)
		if (strlen(names[i]) == len && memcmp(name, names[i], len) == 0 &&
		    tree_current == (i == TREE_X ? TREE_TOP : TREE_X)) {
			tree_current = i;
			return fake4_op(call, 15, 0);
		}
	return fake4_op(call, 15, 2);
}

static inline void tree_value(struct xdr_out *out, const struct fake4_tree *tree, unsigned n,
			      unsigned object)
{
	bool dir = object <= TREE_X;

	switch (n) {
	case 0:
		xdr_put_u32(out, 3);
		for (unsigned i = 0; i < 3; i++)
			xdr_put_u32(out, tree->supported[i]);
		break;
	case 1:
		xdr_put_u32(out, dir ? 2 : object == TREE_LINK ? 5 : 1);
		break;
	case 4:
		xdr_put_u64(out, dir ? 4096 : tree->size);
		break;
	case 45:
		xdr_put_u64(out, dir ? 4096 : tree->used);
		break;
	case 8:
		xdr_put_u64(out, 3);
		xdr_put_u64(out, 4);
		break;
	case 10:
		xdr_put_u32(out, tree->lease);
		break;
	case 11:
		xdr_put_u32(out, 0);
		break;
	case 12: /* one entry of the ACL */
		xdr_put_u32(out, 1);
		xdr_put_u32(out, 0);
		xdr_put_u32(out, 0);
		xdr_put_u32(out, 1);
		xdr_put_bytes(out, "1000", 4);
		break;
	case 19:
		xdr_put_bytes(out, "whatever", 8);
		break;
	case 20:
		xdr_put_u64(out, 100 + object);
		break;
	case 30:
		xdr_put_u64(out, 1 << 20);
		break;
	case 33:
		xdr_put_u32(out, 0100644);
		break;
	case 35:
	case 82:
		xdr_put_u32(out, 1);
		break;
	case 36:
	case 37:
		xdr_put_bytes(out, tree->owner, (uint32_t)strlen(tree->owner));
		break;
	case 41:
		xdr_put_u64(out, 0);
		break;
	case 47:
	case 52:
	case 53:
		xdr_put_u64(out, 1000 + n);
		xdr_put_u32(out, 5);
		break;
	default:
		ck_abort_msg("attribute %u, which nobody should ask for", n);
	}
}

static inline void tree_attrs(struct xdr_out *out, const struct fake4_tree *tree,
			      const uint32_t *asked, unsigned object)
{
	uint8_t room[1024];
	struct xdr_out values = {.p = room, .end = room + sizeof(room)};

	xdr_put_u32(out, 3);
	for (unsigned i = 0; i < 3; i++)
		xdr_put_u32(out, asked[i] & tree->supported[i]);
	for (unsigned n = 0; n < 96; n++)
		if (asked[n / 32] & tree->supported[n / 32] & 1u << n % 32)
			tree_value(&values, tree, n, object);
	xdr_put_bytes(out, room, (uint32_t)(values.p - room));
}

static inline void tree_asked(struct fake_call *call, uint32_t *asked)
{
	uint32_t words = xdr_get_u32(&call->args);

	ck_assert_uint_le(words, 3);
	memset(asked, 0, 3 * sizeof(asked[0]));
	for (uint32_t i = 0; i < words; i++)
		asked[i] = xdr_get_u32(&call->args);
}

static inline uint32_t tree_getattr(struct fake_call *call, const struct fake4_tree *tree)
{
	uint32_t asked[3];

	tree_asked(call, asked);
	if (tree_current == TREE_AWAY)
		return fake4_op(call, 9, 10019);
	fake4_op(call, 9, 0);
	tree_attrs(&call->out, tree, asked, tree_current);
	return 0;
}

static inline uint32_t tree_open(struct fake_call *call, struct fake4_tree *tree)
{
	uint32_t len;

	xdr_skip(&call->args, 4 + 4 + 4 + 8);
	xdr_get_bytes(&call->args, &len);
	ck_assert_uint_eq(len, 4);
	ck_assert_uint_eq(xdr_get_u32(&call->args), 0);
	ck_assert_uint_eq(xdr_get_u32(&call->args), 4);
	atomic_fetch_add(&tree->opens, 1);
	if (fake4_op(call, 18, tree->open))
		return tree->open;
	tree_opened = true;
	xdr_put_u32(&call->out, 1);
	for (unsigned i = 0; i < 3; i++)
		xdr_put_u32(&call->out, 7); /* the stateid */
	for (unsigned i = 0; i < 6; i++)
		xdr_put_u32(&call->out, 0);
	xdr_put_u32(&call->out, 0); /* no attributes */
	xdr_put_u32(&call->out, 3); /* no delegation ... */
	xdr_put_u32(&call->out, 2); /* ... for the lack of ... */
	xdr_put_u32(&call->out, 0);
	return 0;
}

static inline uint32_t tree_seek(struct fake_call *call, struct fake4_tree *tree)
{
	bool lies = tree->seek_opened && !tree_opened;
	uint32_t status = lies ? 0 : tree->seek;

	ck_assert_uint_eq(xdr_get_u32(&call->args), tree_opened);
	xdr_skip(&call->args, 12 + 8);
	ck_assert_uint_eq(xdr_get_u32(&call->args), 0); /* data */
	atomic_fetch_add(&tree->seeks, 1);
	if (fake4_op(call, 69, status))
		return status;
	xdr_put_u32(&call->out, !lies && tree->seek_eof);
	xdr_put_u64(&call->out, lies ? 0 : tree->seek_data);
	return 0;
}

static inline uint32_t tree_read(struct fake_call *call, struct fake4_tree *tree)
{
	bool current = xdr_get_u32(&call->args) == 1;
	uint32_t status = current && tree_opened ? tree->opened : tree->anonymous;

	ck_assert(current == tree_opened);
	atomic_fetch_add(&tree->reads, 1);
	xdr_skip(&call->args, 12 + 12);
	if (fake4_op(call, 25, status))
		return status;
	xdr_put_u32(&call->out, 1);
	xdr_put_bytes(&call->out, "data", 4);
	return 0;
}

static inline uint32_t tree_close(struct fake_call *call, struct fake4_tree *tree)
{
	uint32_t other;

	xdr_skip(&call->args, 8);
	other = xdr_get_u32(&call->args);
	xdr_skip(&call->args, 8);
	ck_assert_uint_eq(other, tree_opened ? 0 : 7);
	tree_opened = false;
	atomic_fetch_add(&tree->closes, 1);
	fake4_op(call, 4, 0);
	for (unsigned i = 0; i < 4; i++)
		xdr_put_u32(&call->out, 0);
	return 0;
}

static inline uint32_t tree_readdir(struct fake_call *call, const struct fake4_tree *tree)
{
	static const char *const names[] = {
		[TREE_X] = "x", [TREE_FILE] = "file", [TREE_LINK] = "link", [TREE_AWAY] = "away"};
	uint64_t cookie = xdr_get_u64(&call->args);
	uint32_t asked[3];

	xdr_skip(&call->args, 16);
	tree_asked(call, asked);
	const bool top = tree_current == TREE_TOP;
	unsigned i = top ? TREE_X : cookie ? TREE_LINK : TREE_FILE;
	const unsigned end = top ? TREE_FILE : cookie ? TREE_OBJECTS : TREE_LINK;

	if (tree_current > TREE_X)
		return fake4_op(call, 26, 20);
	fake4_op(call, 26, 0);
	xdr_put_u64(&call->out, 9);
	for (; i < end; i++) {
		xdr_put_u32(&call->out, 1);
		xdr_put_u64(&call->out, i + 10);
		xdr_put_bytes(&call->out, names[i], (uint32_t)strlen(names[i]));
		if (i == TREE_AWAY) {
			xdr_put_u32(&call->out, 1);
			xdr_put_u32(&call->out, 1u << 11);
			xdr_put_u32(&call->out, 4);
			xdr_put_u32(&call->out, 10019);
		} else {
			tree_attrs(&call->out, tree, asked, i);
		}
	}
	xdr_put_u32(&call->out, 0);
	xdr_put_u32(&call->out, top || cookie != 0);
	return 0;
}

static inline uint32_t tree_secinfo(struct fake_call *call, struct fake4_tree *tree, uint32_t op)
{
	static const uint8_t krb5[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02};
	uint32_t len;

	atomic_fetch_add(&tree->asked, 1);
	if (op == 52)
		xdr_skip(&call->args, 4);
	else if (memcmp(xdr_get_bytes(&call->args, &len), "locked", 6) != 0)
		return fake4_op(call, op, 2);
	if (fake4_op(call, op, tree->service < 0 ? 10006 : 0))
		return 10006;
	xdr_put_u32(&call->out, 2);
	xdr_put_u32(&call->out, 0); /* AUTH_NONE */
	xdr_put_u32(&call->out, tree->service ? 6 : 1);
	if (tree->service) {
		xdr_put_bytes(&call->out, krb5, sizeof(krb5));
		xdr_put_u32(&call->out, 0);
		xdr_put_u32(&call->out, (uint32_t)tree->service);
	}
	return 0;
}

static inline bool tree_op(struct fake_call *call, struct fake4 *fake4, uint32_t op,
			   uint32_t *status)
{
	struct fake4_tree *tree = fake4->tree_data;

	switch (op) {
	case 3:
		*status = fake4_op(call, 3, 0);
		xdr_put_u32(&call->out, xdr_get_u32(&call->args));
		xdr_put_u32(&call->out, tree->access);
		return true;
	case 4:
		*status = tree_close(call, tree);
		return true;
	case 9:
		*status = tree_getattr(call, tree);
		return true;
	case 10:
		*status = fake4_op(call, 10, 0);
		tree_handle(call, tree);
		return true;
	case 15:
		*status = tree_lookup(call);
		return true;
	case 18:
		*status = tree_open(call, tree);
		return true;
	case 22:
		*status = tree_putfh(call, tree);
		return true;
	case 24:
		atomic_fetch_add(&tree->roots, 1);
		tree_current = TREE_TOP;
		*status = fake4_op(call, 24, tree->first_handle);
		return true;
	case 25:
		*status = tree_read(call, tree);
		return true;
	case 26:
		*status = tree_readdir(call, tree);
		return true;
	case 27:
		*status = fake4_op(call, 27, tree_current == TREE_LINK ? 0 : 22);
		if (*status == 0)
			xdr_put_bytes(&call->out, "target", 6);
		return true;
	case 33:
	case 52:
		*status = tree_secinfo(call, tree, op);
		return true;
	case 69:
		*status = tree_seek(call, tree);
		return true;
	case 53: /* a new compound */
		tree_opened = false;
		return false;
	default:
		return false;
	}
}

static inline void tree_init(struct fake4_tree *tree, struct fake4 *fake4)
{
	*tree = (struct fake4_tree){.supported = {TREE_SUPPORTED0, TREE_SUPPORTED1, 1u << 18},
				    .owner = "1000",
				    .size = 100,
				    .used = 100,
				    .lease = 60};
	fake4->tree = tree_op;
	fake4->tree_data = tree;
}

/* A backend on it, that is told its version. */
static inline struct backend *tree_backend(struct fake *fake, const char *version,
					   struct source_object *root, struct source_attr *attr,
					   GError **error)
{
	g_autofree char *url =
		g_strdup_printf("nfs://127.0.0.1:%u/x?version=%s", fake->port, version);
	const struct backend_config config = {
		.url = url, .connections = 1, .demand_connections = 1};

	return backend_nfs_ops.open(&config, root, attr, error);
}

#endif
