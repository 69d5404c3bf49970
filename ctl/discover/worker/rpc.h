/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of libnfs, one after the other, each of which is waited for. */
#ifndef CTL_DISCOVER_WORKER_RPC_H
#define CTL_DISCOVER_WORKER_RPC_H

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <stdbool.h>

/* A call that is under way, or has ended; status is libnfs's.  What data points to belongs to the
 * library, so `take` looks at it before the call ends, if all went well. */
struct rpc_call {
	int status;
	bool done;
	void (*take)(void *arg, void *data);
	void *arg;
	char why[256];
};

/* The callback for rpc_*_async(), with a struct rpc_call * as its private data. */
void rpc_done(struct rpc_context *rpc, int status, void *data, void *private_data);
/* started: what rpc_*_async() returned.  Blocks.  Whether it succeeded; else call->why says why
 * not.
 */
bool rpc_finish(struct rpc_context *rpc, struct rpc_call *call, int started);
/* Connects, as root if it can, for servers that want a low port.  Without a connection it says so
 * and ends the process. */
struct rpc_context *rpc_connected(const char *address, const char *port);

#endif
