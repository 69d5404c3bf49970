/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/worker/rpc.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "ctl/discover/worker/answer.h"

void rpc_done(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct rpc_call *call = private_data;

	call->done = true;
	call->status = status;
	if (status == RPC_STATUS_SUCCESS && call->take)
		call->take(call->arg, data);
	else if (status == RPC_STATUS_ERROR && data)
		g_strlcpy(call->why, data, sizeof(call->why));
	else if (status != RPC_STATUS_SUCCESS)
		g_strlcpy(call->why, "the connection broke", sizeof(call->why));
}

bool rpc_finish(struct rpc_context *rpc, struct rpc_call *call, int started)
{
	while (!started && !call->done) {
		struct pollfd ready = {.fd = rpc_get_fd(rpc),
				       .events = (short)rpc_which_events(rpc)};

		if (poll(&ready, 1, -1) < 0 && errno != EINTR)
			break;
		if (rpc_service(rpc, ready.revents) < 0)
			break;
	}
	if (!call->done) {
		const char *text = rpc_get_error(rpc);

		g_strlcpy(call->why, text ? text : "the connection broke", sizeof(call->why));
	}
	return call->done && call->status == RPC_STATUS_SUCCESS;
}

/* A port number of the question; ends the process if it is none. */
static int parse_port(const char *text)
{
	char *end;
	const long port = strtol(text, &end, 10);

	if (port <= 0 || port > 65535 || *end)
		_exit(5);
	return (int)port;
}

struct rpc_context *rpc_connected(const char *address, const char *port)
{
	struct rpc_context *rpc = rpc_init_context();
	struct rpc_call call = {.take = NULL};

	if (!rpc)
		_exit(4);
	if (!rpc_finish(rpc, &call,
			rpc_connect_async(rpc, address, parse_port(port), rpc_done, &call)))
		answer_failed("port %s lets nobody connect (%s)", port, call.why);
	return rpc;
}
