/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * alternate LOAD DEPTH SLICE_US ROUNDS PAUSE_US
 *
 * Sends ready-made requests to several servers in turn and says how many each answered.  A round
 * gives every server a slice of the time, and each round begins with another server; so what
 * disturbs the machine meanwhile disturbs all of them.  In its slice a server has
 * DEPTH requests under way, or with PAUSE_US one request so often; at the slice's end its last
 * replies are waited for.  The first round is not counted.
 *
 * It knows of the protocols only what it takes to send a request again: RPC's transaction (RFC
 * 5531) with the slot and sequence of NFSv4.1's SEQUENCE (RFC 8881), and SMB 2's message ids. Every
 * reply must say success and be long enough, or the run fails.
 *
 * LOAD, native byte order: the number of servers; for each: socket (inherited), process to take the
 * CPU time of (0: none), whether it speaks SMB, offset of the SEQUENCE's slot in a request (0:
 * none), first id, number of requests; for each of these: its length, the least length of its
 * reply, the request with its four bytes of length before it.
 *
 * Output: for each server and round `slice SERVER REPLIES NS CPU_NS`, then for each server and
 * class of latencies `latency SERVER NS REPLIES`; the classes are 1.6 % wide.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_SERVERS 16
#define MAX_DEPTH   64
#define ROOM	    (2u << 20)
#define FINE	    6 /* bits of a class of latencies below the first */
#define CLASSES	    (64 << FINE)
#define NS_PER_S    UINT64_C(1000000000)

#define LAST_FRAGMENT 0x80000000u
/* Offsets behind the length: RPC's transaction, the status of NFS; SMB's fields (MS-SMB2 2.2.1). */
enum { RPC_XID = 0, RPC_STATUS = 24, RPC_MIN = 28 };
enum { SMB_STATUS = 8, SMB_NEXT = 20, SMB_MID = 24, SMB_MIN = 64 };
#define SMB_PENDING 0x103u

struct request {
	uint32_t len, reply_min;
	uint8_t *bytes;
};

struct pending {
	bool used;
	uint64_t id, begun;
	uint32_t reply_min;
};

struct server {
	int sock;
	clockid_t clock;
	bool counts_cpu, smb;
	uint32_t slot_at, n_requests, next;
	uint64_t id;
	struct request *requests;
	struct pending pending[MAX_DEPTH];
	uint32_t sequences[MAX_DEPTH];
	uint8_t *in;
	size_t in_len;
	bool fragment; /* the next frame goes on with a reply that was looked at */
	uint64_t replies, histogram[CLASSES];
};

static struct server servers[MAX_SERVERS];
static uint32_t n_servers, depth;

static _Noreturn __attribute__((format(printf, 1, 2))) void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("alternate: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		die("a clock: %s", strerror(errno));
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static uint64_t now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static uint64_t cpu_of(const struct server *server)
{
	return server->counts_cpu ? clock_ns(server->clock) : 0;
}

/* ---- frames ---- */

static uint32_t get_be32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof value);
	return be32toh(value);
}

static uint32_t get_le32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof value);
	return le32toh(value);
}

static void set_be32(uint8_t *p, uint32_t value)
{
	value = htobe32(value);
	memcpy(p, &value, sizeof value);
}

/* A compound has an id for each of its messages; the last one's counts. */
static uint64_t set_mids(struct server *server, uint8_t *p)
{
	uint32_t next;
	uint64_t id;

	do {
		id = htole64(server->id++);
		memcpy(p + SMB_MID, &id, sizeof id);
		next = get_le32(p + SMB_NEXT);
		p += next;
	} while (next);
	return server->id - 1;
}

static void send_one(struct server *server, unsigned slot)
{
	const struct request *request = &server->requests[server->next++ % server->n_requests];
	struct pending *pending = &server->pending[slot];
	size_t sent = 0;

	if (server->smb) {
		pending->id = set_mids(server, request->bytes + 4);
	} else {
		pending->id = (uint32_t)server->id++;
		set_be32(request->bytes + 4 + RPC_XID, pending->id);
	}
	if (server->slot_at) { /* slot 0 is the caller's */
		set_be32(request->bytes + server->slot_at - 4, ++server->sequences[slot]);
		set_be32(request->bytes + server->slot_at, slot + 1);
	}
	pending->used = true;
	pending->reply_min = request->reply_min;
	pending->begun = now();
	while (sent < request->len) {
		ssize_t n = send(server->sock, request->bytes + sent, request->len - sent,
				 MSG_NOSIGNAL);

		if (n < 0)
			die("server %zu: send: %s", server - servers, strerror(errno));
		sent += n;
	}
}

static unsigned class_of(uint64_t ns)
{
	unsigned bits = 63 - __builtin_clzll(ns | 1);

	if (bits < FINE)
		return ns;
	return ((bits - FINE + 1) << FINE) + ((ns >> (bits - FINE)) & ((1u << FINE) - 1));
}

static uint64_t class_ns(unsigned class)
{
	unsigned bits = class >> FINE;

	if (bits == 0)
		return class;
	return (uint64_t)((1u << FINE) + (class & ((1u << FINE) - 1))) << (bits - 1);
}

/* The slot that is free now. */
static int answered(struct server *server, uint64_t id, uint32_t len)
{
	for (unsigned slot = 0; slot < depth; slot++) {
		struct pending *pending = &server->pending[slot];

		if (!pending->used || pending->id != id)
			continue;
		if (len < pending->reply_min)
			die("server %zu: a reply of %u bytes, not %u", server - servers, len,
			    pending->reply_min);
		pending->used = false;
		server->replies++;
		server->histogram[class_of(now() - pending->begun)]++;
		return slot;
	}
	die("server %zu: a reply to nothing", server - servers);
}

/* The slot that is free now; -1: there is more to come. */
static int take_smb(struct server *server, const uint8_t *p, uint32_t len)
{
	uint32_t at = 0, status;
	uint64_t id;

	for (;;) {
		if (len < at || len - at < SMB_MIN)
			die("server %zu: a reply is short", server - servers);
		status = get_le32(p + at + SMB_STATUS);
		if (status == SMB_PENDING)
			return -1;
		if (status)
			die("server %zu: SMB status %#x", server - servers, status);
		if (!get_le32(p + at + SMB_NEXT))
			break;
		at += get_le32(p + at + SMB_NEXT);
	}
	memcpy(&id, p + at + SMB_MID, sizeof id);
	return answered(server, le64toh(id), len);
}

/* Likewise.  mark: of the record. */
static int take_rpc(struct server *server, const uint8_t *p, uint32_t len, uint32_t mark)
{
	bool goes_on = server->fragment;

	server->fragment = !(mark & LAST_FRAGMENT);
	if (goes_on)
		return -1;
	if (len < RPC_MIN || get_be32(p + RPC_STATUS))
		die("server %zu: NFS status %u", server - servers,
		    len < RPC_MIN ? 0 : get_be32(p + RPC_STATUS));
	/* of a reply in fragments only the first one's length is known */
	return answered(server, get_be32(p + RPC_XID), server->fragment ? UINT32_MAX : len);
}

/* Waits for replies; sends another request for each of them until `end`. */
static void receive(struct server *server, uint64_t end)
{
	ssize_t got = recv(server->sock, server->in + server->in_len, ROOM - server->in_len, 0);
	size_t at = 0;

	if (got <= 0)
		die("server %zu: the connection broke: %s", server - servers,
		    got ? strerror(errno) : "closed");
	server->in_len += got;
	while (server->in_len - at >= 4) {
		uint32_t mark = get_be32(server->in + at), len = mark & ~LAST_FRAGMENT;
		int slot;

		if (len > ROOM - 4)
			die("server %zu: a reply is too long", server - servers);
		if (server->in_len - at < 4 + len)
			break;
		slot = server->smb ? take_smb(server, server->in + at + 4, len)
				   : take_rpc(server, server->in + at + 4, len, mark);
		if (slot >= 0 && now() < end)
			send_one(server, slot);
		at += 4 + len;
	}
	server->in_len -= at;
	memmove(server->in, server->in + at, server->in_len);
}

static bool waits(const struct server *server)
{
	for (unsigned slot = 0; slot < depth; slot++)
		if (server->pending[slot].used)
			return true;
	return false;
}

/* ---- slices ---- */

/* Without a pause: as much as the server can do. */
static void saturate(struct server *server, uint64_t end)
{
	for (unsigned slot = 0; slot < depth; slot++)
		send_one(server, slot);
	while (waits(server))
		receive(server, end);
}

static void one_by_one(struct server *server, uint64_t end, uint64_t pause)
{
	uint64_t next = now();

	while (next < end) {
		struct timespec t = {next / NS_PER_S, next % NS_PER_S};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		send_one(server, 0);
		while (waits(server))
			receive(server, 0);
		next += pause;
		if (next < now())
			next = now();
	}
}

static void slice(struct server *server, uint64_t length, uint64_t pause, bool counted)
{
	uint64_t replies = server->replies, cpu = cpu_of(server), begun = now();

	if (pause)
		one_by_one(server, begun + length, pause);
	else
		saturate(server, begun + length);
	if (counted)
		printf("slice %zu %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", server - servers,
		       server->replies - replies, now() - begun, cpu_of(server) - cpu);
}

static void forget(void)
{
	for (uint32_t i = 0; i < n_servers; i++)
		memset(servers[i].histogram, 0, sizeof servers[i].histogram);
}

static void latencies(void)
{
	for (uint32_t i = 0; i < n_servers; i++)
		for (unsigned class = 0; class < CLASSES; class ++)
			if (servers[i].histogram[class])
				printf("latency %u %" PRIu64 " %" PRIu64 "\n", i, class_ns(class),
				       servers[i].histogram[class]);
}

/* ---- the load ---- */

static void get(FILE *file, void *data, size_t len)
{
	if (fread(data, 1, len, file) != len)
		die("the load is short");
}

static uint32_t get_number(FILE *file, uint32_t max)
{
	uint32_t value;

	get(file, &value, sizeof value);
	if (value > max)
		die("the load is damaged");
	return value;
}

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		die("out of memory");
	return p;
}

static void load_server(FILE *file, struct server *server)
{
	pid_t pid;

	server->sock = get_number(file, INT32_MAX);
	pid = get_number(file, INT32_MAX);
	server->counts_cpu = pid > 0;
	if (pid && clock_getcpuclockid(pid, &server->clock))
		die("no process %d", pid);
	server->smb = get_number(file, 1);
	server->slot_at = get_number(file, ROOM - 4);
	server->id = get_number(file, UINT32_MAX);
	server->n_requests = get_number(file, 1 << 20);
	if (server->n_requests == 0)
		die("the load is empty");
	server->requests = allocate(server->n_requests, sizeof *server->requests);
	server->in = allocate(1, ROOM);
	for (uint32_t i = 0; i < server->n_requests; i++) {
		struct request *request = &server->requests[i];

		request->len = get_number(file, ROOM);
		request->reply_min = get_number(file, ROOM);
		request->bytes = allocate(1, request->len + SMB_MIN);
		get(file, request->bytes, request->len);
	}
}

int main(int argc, char **argv)
{
	uint64_t length, pause;
	unsigned rounds;
	FILE *file;

	if (argc != 6)
		die("usage: alternate LOAD DEPTH SLICE_US ROUNDS PAUSE_US");
	file = fopen(argv[1], "rb");
	if (!file)
		die("%s: %s", argv[1], strerror(errno));
	depth = strtoul(argv[2], NULL, 10);
	length = strtoull(argv[3], NULL, 10) * 1000;
	rounds = strtoul(argv[4], NULL, 10);
	pause = strtoull(argv[5], NULL, 10) * 1000;
	if (depth < 1 || depth > MAX_DEPTH)
		die("a depth of 1 to %d", MAX_DEPTH);
	n_servers = get_number(file, MAX_SERVERS);
	for (uint32_t i = 0; i < n_servers; i++)
		load_server(file, &servers[i]);
	fclose(file);
	for (unsigned round = 0; round <= rounds; round++) {
		for (uint32_t i = 0; i < n_servers; i++)
			slice(&servers[(round + i) % n_servers], length, pause, round);
		if (round == 0)
			forget();
	}
	latencies();
	return 0;
}
