/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ONC RPC over TCP (RFC 5531) and XDR (RFC 4506), one call at a time: as little as a client needs
 * whose own time must not show in what it measures.  Every failure ends the process with a line on
 * stderr; nothing is returned that has to be checked but a protocol's status.
 */
#ifndef TESTS_BENCH_RPC_H
#define TESTS_BENCH_RPC_H

#include <stddef.h>
#include <stdint.h>

#define XDR_MAX (2u << 20)

struct xdr {
	uint8_t *data;
	size_t at, len; /* len: of a reply; encoding ends at `at` */
};

struct rpc {
	int sock;
	uint32_t xid;
	struct xdr out, in;
};

_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Connects; the connection lives as long as the process. */
struct rpc *rpc_connect(const char *host, unsigned port);
/* Begins a call as root (AUTH_SYS); the arguments are to be put into the result. */
struct xdr *rpc_begin(struct rpc *rpc, uint32_t prog, uint32_t vers, uint32_t proc);
/* Sends it and waits; the result stands behind the header of an accepted reply. */
struct xdr *rpc_call(struct rpc *rpc);

void put32(struct xdr *x, uint32_t value);
void put64(struct xdr *x, uint64_t value);
void put_fixed(struct xdr *x, const void *data, size_t len);
void put_opaque(struct xdr *x, const void *data, size_t len);
uint32_t get32(struct xdr *x);
uint64_t get64(struct xdr *x);
/* The bytes, padding skipped; valid until the next call. */
const uint8_t *get_fixed(struct xdr *x, size_t len);
const uint8_t *get_opaque(struct xdr *x, uint32_t *len);

#endif
