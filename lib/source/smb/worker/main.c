/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/worker/worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "lib/base/sandbox.h"
#include "lib/source/smb/worker/job.h"
#include "lib/source/smb/worker/session.h"

#ifdef MIGRATE_WRITES
#define PROGRAM	   "migrate-smb-writer"
#define STARTED_BY "migratectl rollback"
#else
#define PROGRAM	   "migrate-smb-worker"
#define STARTED_BY "migrate-retriever"
#endif

#define FIRST_OTHER_FD (WIRE_MEMORY_FD + 1)

static void (*const operations[])(struct job *job) = {
	[WIRE_GETATTR] = do_getattr, [WIRE_LOOKUP] = do_lookup,	    [WIRE_READDIR] = do_readdir,
	[WIRE_READ] = do_read,	     [WIRE_READLINK] = do_readlink, [WIRE_XATTRS] = do_xattrs,
#ifdef MIGRATE_WRITES
	[WIRE_CHANGE] = do_change,
#endif
};

static void take_request(struct worker *worker, const struct wire_request *request)
{
	struct job *job = talloc_zero(worker, struct job);
	uint8_t *slot;

	if (request->slot >= WIRE_SLOTS || request->path_len > WIRE_PATH_MAX ||
	    request->name_len > 255)
		_exit(5);
	slot = worker->memory + (size_t)request->slot * WIRE_SLOT_BYTES;
	job->worker = worker;
	job->request = *request;
	job->path = talloc_strndup(job, (char *)slot, request->path_len);
	job->name = talloc_strndup(job, (char *)slot + request->path_len, request->name_len);
	job->out.at = slot;
	job->out.end = slot + WIRE_SLOT_BYTES;
	if (request->op < ARRAY_SIZE(operations) && operations[request->op])
		operations[request->op](job);
	else
		job_done(job, -ENOTSUP);
}

static void take_requests(struct tevent_context *ev, struct tevent_fd *fde, uint16_t flags,
			  void *data)
{
	struct worker *worker = data;
	struct wire_request requests[WIRE_SLOTS];
	ssize_t n = recv(worker->sock, requests, sizeof(requests), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || n % sizeof(requests[0]))
		_exit(0);
	for (size_t i = 0; i < (size_t)n / sizeof(requests[0]); i++)
		take_request(worker, &requests[i]);
}

static bool start_from(struct worker *worker, struct wire_start *start)
{
	uint8_t *copy = talloc_memdup(worker, worker->memory, WIRE_SLOT_BYTES);
	struct wire_unpack in = {copy, copy + WIRE_SLOT_BYTES};

	explicit_bzero(worker->memory, WIRE_SLOT_BYTES);
	return wire_start_get(&in, start);
}

int main(int argc, char **argv)
{
	struct worker *worker;
	struct wire_start start;
	struct wire_reply hello = {.type = WIRE_HELLO};

	if (argc == 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		puts(PROGRAM " " QUICKMIGRATE_VERSION);
		return 0;
	}
	signal(SIGPIPE, SIG_IGN);
	talloc_stackframe();
	worker = talloc_zero(NULL, struct worker);
	worker->sock = WIRE_SOCKET_FD;
	worker->memory = mmap(NULL, (size_t)WIRE_SLOTS * WIRE_SLOT_BYTES, PROT_READ | PROT_WRITE,
			      MAP_SHARED, WIRE_MEMORY_FD, 0);
	if (argc != 1 || worker->memory == MAP_FAILED || fcntl(worker->sock, F_GETFD) < 0) {
		fprintf(stderr, PROGRAM ": is started by " STARTED_BY " only\n");
		return 2;
	}
	close(WIRE_MEMORY_FD);
	sandbox_drop(FIRST_OTHER_FD);
	if (!start_from(worker, &start))
		return 5;
	worker->stall_ms = start.stall_ms;

	sandbox_close(true);
	sandbox_keep((const int[]){WIRE_SOCKET_FD, session_connect(worker, &start)}, 2);
	sandbox_close(false);
	session_open(worker, &start, &hello.attr);
#ifdef MIGRATE_WRITES
	worker->max_read = MIN(worker->max_read, smb2cli_conn_max_write_size(worker->conn));
	worker->no_repeat = true; /* by now it is known whether the server takes compounds */
	worker->sees_deleted = true;
#endif
	hello.len = worker->max_read;
	hello.flags = WIRE_HAS_ATTR;
	hello.cookie = (uint64_t)worker->clock;
	worker_say(worker, &hello);
	if (!tevent_add_fd(worker->ev, worker, worker->sock, TEVENT_FD_READ, take_requests, worker))
		return 5;
	session_watch(worker);
	return 0;
}
