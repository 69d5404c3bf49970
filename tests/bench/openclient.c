/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * openclient 3|4 HOST EXPORT PATH [SIZE]
 *
 * Mounts, opens PATH below the export and reads its first bytes, with the calls that the kernel's
 * client makes, one after the other: MNT and FSINFO, or a session; for every directory ACCESS and
 * LOOKUP; GETATTR or OPEN; READ.  Says in one line what that took, in microseconds, and how often
 * it was told to ask again later:
 *
 *   mount=US open=US read=US waits=N
 *
 * A wait is as long as the kernel's: 5 s after NFS3ERR_JUKEBOX; 0.1 s, twice as long each time and
 * at most 15 s, after NFS4ERR_DELAY.  With SIZE it reads on, up to so many bytes, not timed.
 * Versions: NFS 3 (RFC 1813), 4.1 (RFC 8881).  EXPORT is a path, with version 4 in the pseudo file
 * system.  Ports: 2049 and, for MOUNT, 20048.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/rpc.h"

#define NFS_PORT   2049
#define MOUNT_PORT 20048
#define HANDLE_MAX 128
/* What the kernel's client reads when one byte is asked for: its first read-ahead. */
#define FIRST_READ (16u << 10)
#define NEXT_READ  (1u << 20)

enum { PROG_NFS = 100003, PROG_MOUNT = 100005 };
enum { V3_NULL, V3_GETATTR, V3_LOOKUP = 3, V3_ACCESS, V3_READ = 6, V3_FSINFO = 19 };
enum {
	V4_ACCESS = 3,
	V4_GETATTR = 9,
	V4_GETFH = 10,
	V4_LOOKUP = 15,
	V4_OPEN = 18,
	V4_PUTFH = 22,
	V4_PUTROOTFH = 24,
	V4_READ = 25,
	V4_EXCHANGE_ID = 42,
	V4_CREATE_SESSION = 43,
	V4_SEQUENCE = 53,
	V4_RECLAIM_COMPLETE = 58,
};
enum { LATER = 10008, GRACE = 10013 }; /* NFS3ERR_JUKEBOX, NFS4ERR_DELAY */

struct handle {
	uint32_t len;
	uint8_t bytes[HANDLE_MAX];
};

struct client {
	struct rpc *rpc;
	struct handle root;
	unsigned waits;
	unsigned wait_ms, wait_max; /* of the protocol: the first wait, the longest */
	uint8_t session[16], clientid[8], stateid[16]; /* version 4 */
	uint32_t sequence;
};

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000) + t.tv_nsec / 1000;
}

static void put_handle(struct xdr *x, const struct handle *fh)
{
	put_opaque(x, fh->bytes, fh->len);
}

static void get_handle(struct xdr *x, struct handle *fh)
{
	const uint8_t *bytes = get_opaque(x, &fh->len);

	if (fh->len > HANDLE_MAX)
		die("a handle is too long");
	memcpy(fh->bytes, bytes, fh->len);
}

/* Whether the call has to be made for the tries+1st time; waits before it says so. */
static bool again(struct client *c, uint32_t status, unsigned tries, const char *what)
{
	uint64_t ms = (uint64_t)c->wait_ms << (tries < 16 ? tries : 16);
	struct timespec t;

	if (status == 0)
		return false;
	if (status != LATER && status != GRACE)
		die("%s: NFS status %" PRIu32, what, status);
	if (ms > c->wait_max)
		ms = c->wait_max;
	t.tv_sec = ms / 1000;
	t.tv_nsec = ms % 1000 * 1000000;
	c->waits++;
	nanosleep(&t, NULL);
	return true;
}

/* ---- version 3 ---- */

/* A call of one handle and up to two more arguments; the reply behind its status. */
static struct xdr *v3_call(struct client *c, uint32_t proc, const struct handle *fh,
			   const char *name, uint64_t offset, uint32_t number)
{
	unsigned tries = 0;
	struct xdr *x;

	do {
		x = rpc_begin(c->rpc, PROG_NFS, 3, proc);
		put_handle(x, fh);
		if (proc == V3_LOOKUP)
			put_opaque(x, name, strlen(name));
		if (proc == V3_READ)
			put64(x, offset);
		if (proc == V3_READ || proc == V3_ACCESS)
			put32(x, number);
		x = rpc_call(c->rpc);
	} while (again(c, get32(x), tries++, name ? name : "a call"));
	return x;
}

static void v3_mount(struct client *c, const char *host, const char *export)
{
	struct rpc *mount = rpc_connect(host, MOUNT_PORT);
	uint32_t status;
	struct xdr *x;

	put_opaque(rpc_begin(mount, PROG_MOUNT, 3, 1), export, strlen(export));
	x = rpc_call(mount);
	status = get32(x);
	if (status)
		die("mount %s: status %" PRIu32, export, status);
	get_handle(x, &c->root);
	c->rpc = rpc_connect(host, NFS_PORT);
	rpc_begin(c->rpc, PROG_NFS, 3, V3_NULL);
	rpc_call(c->rpc);
	v3_call(c, V3_FSINFO, &c->root, NULL, 0, 0);
	v3_call(c, V3_GETATTR, &c->root, NULL, 0, 0);
}

static void v3_step(struct client *c, struct handle *fh, const char *name, bool last)
{
	v3_call(c, V3_ACCESS, fh, NULL, 0, 0x3f);
	get_handle(v3_call(c, V3_LOOKUP, fh, name, 0, 0), fh);
	if (!last)
		return;
	v3_call(c, V3_GETATTR, fh, NULL, 0, 0);
	v3_call(c, V3_ACCESS, fh, NULL, 0, 0x3f);
}

static uint32_t v3_read(struct client *c, const struct handle *fh, uint64_t offset, uint32_t count)
{
	struct xdr *x = v3_call(c, V3_READ, fh, NULL, offset, count);

	if (get32(x))
		get_fixed(x, 84); /* the attributes */
	return get32(x);
}

/* ---- version 4.1 ---- */

static struct xdr *v4_begin(struct client *c, uint32_t ops)
{
	struct xdr *x = rpc_begin(c->rpc, PROG_NFS, 4, 1);

	put32(x, 0); /* tag */
	put32(x, 1); /* minor version */
	put32(x, ops + (c->sequence > 0));
	if (c->sequence) {
		put32(x, V4_SEQUENCE);
		put_fixed(x, c->session, sizeof c->session);
		put32(x, c->sequence++);
		put32(x, 0); /* slot, highest slot, don't cache */
		put32(x, 0);
		put32(x, 0);
	}
	return x;
}

/* The compound's status; the reply stands behind the SEQUENCE. */
static uint32_t v4_call(struct client *c)
{
	bool session = c->sequence > 0;
	struct xdr *x = rpc_call(c->rpc);
	uint32_t status = get32(x), len;

	get_opaque(x, &len);
	get32(x);
	if (!session)
		return status;
	get32(x);
	if (get32(x))
		die("SEQUENCE: NFS status %" PRIu32, status);
	get_fixed(x, 16 + 5 * 4);
	return status;
}

/* Goes behind an operation's number and status. */
static void v4_expect(struct xdr *x, uint32_t op)
{
	if (get32(x) != op || get32(x) != 0)
		die("operation %" PRIu32 " is not answered", op);
}

static void v4_put_wanted(struct xdr *x)
{
	put32(x, V4_GETATTR);
	put32(x, 2);
	put32(x, 1 << 1 | 1 << 3 | 1 << 4 | 1 << 20); /* type change size id */
	put32(x, 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 15 | 1 << 20 | 1 << 21); /* mode ... */
}

static void v4_put_channel(struct xdr *x)
{
	put32(x, 0);
	put32(x, XDR_MAX - 4096);
	put32(x, XDR_MAX - 4096);
	put32(x, 4096);
	put32(x, 16);
	put32(x, 4);
	put32(x, 0);
}

static void v4_session(struct client *c)
{
	uint64_t owner = now_us() << 16 ^ (uint64_t)getpid();
	uint32_t sequence;
	struct xdr *x = v4_begin(c, 1);

	put32(x, V4_EXCHANGE_ID);
	put64(x, owner);
	put_opaque(x, &owner, sizeof owner);
	put32(x, 0);
	put32(x, 0);
	put32(x, 0);
	if (v4_call(c))
		die("EXCHANGE_ID is refused");
	v4_expect(&c->rpc->in, V4_EXCHANGE_ID);
	memcpy(c->clientid, get_fixed(&c->rpc->in, 8), 8);
	sequence = get32(&c->rpc->in);

	x = v4_begin(c, 1);
	put32(x, V4_CREATE_SESSION);
	put_fixed(x, c->clientid, 8);
	put32(x, sequence);
	put32(x, 0);
	v4_put_channel(x);
	v4_put_channel(x);
	put32(x, 0x40000000);
	put32(x, 1);
	put32(x, 0);
	if (v4_call(c))
		die("CREATE_SESSION is refused");
	v4_expect(&c->rpc->in, V4_CREATE_SESSION);
	memcpy(c->session, get_fixed(&c->rpc->in, 16), 16);
	c->sequence = 1;

	x = v4_begin(c, 1);
	put32(x, V4_RECLAIM_COMPLETE);
	put32(x, 0);
	if (v4_call(c))
		die("RECLAIM_COMPLETE is refused");
}

/* fh NULL: the root of the pseudo file system. */
static void v4_lookup(struct client *c, const struct handle *fh, const char *name,
		      struct handle *found)
{
	unsigned tries = 0;
	struct xdr *x;

	do {
		x = v4_begin(c, 4);
		put32(x, fh ? V4_PUTFH : V4_PUTROOTFH);
		if (fh)
			put_handle(x, fh);
		put32(x, V4_LOOKUP);
		put_opaque(x, name, strlen(name));
		put32(x, V4_GETFH);
		v4_put_wanted(x);
	} while (again(c, v4_call(c), tries++, name));
	x = &c->rpc->in;
	v4_expect(x, fh ? V4_PUTFH : V4_PUTROOTFH);
	v4_expect(x, V4_LOOKUP);
	v4_expect(x, V4_GETFH);
	get_handle(x, found);
}

static void v4_access(struct client *c, const struct handle *fh)
{
	unsigned tries = 0;
	struct xdr *x;

	do {
		x = v4_begin(c, 3);
		put32(x, V4_PUTFH);
		put_handle(x, fh);
		put32(x, V4_ACCESS);
		put32(x, 0x3f);
		v4_put_wanted(x);
	} while (again(c, v4_call(c), tries++, "ACCESS"));
}

static void v4_put_open(struct client *c, struct xdr *x, const char *name)
{
	put32(x, V4_OPEN);
	put32(x, 0);	     /* seqid */
	put32(x, 1 | 0x400); /* for reading, no delegation wanted */
	put32(x, 0);
	put_fixed(x, c->clientid, 8);
	put_opaque(x, "owner", 5);
	put32(x, 0); /* don't create; by name */
	put32(x, 0);
	put_opaque(x, name, strlen(name));
}

/* None is wanted; the server may say why there is none, in two cases with a boolean. */
static void v4_skip_delegation(struct xdr *x)
{
	uint32_t kind = get32(x), why;

	if (kind == 3) {
		why = get32(x);
		if (why == 1 || why == 2)
			get32(x);
	} else if (kind != 0) {
		die("a delegation that was not asked for");
	}
}

static void v4_open(struct client *c, struct handle *fh, const char *name)
{
	unsigned tries = 0;
	struct xdr *x;

	do {
		x = v4_begin(c, 4);
		put32(x, V4_PUTFH);
		put_handle(x, fh);
		v4_put_open(c, x, name);
		put32(x, V4_GETFH);
		v4_put_wanted(x);
	} while (again(c, v4_call(c), tries++, name));
	x = &c->rpc->in;
	v4_expect(x, V4_PUTFH);
	v4_expect(x, V4_OPEN);
	memcpy(c->stateid, get_fixed(x, 16), 16);
	get_fixed(x, 4 + 16 + 4); /* change info, flags */
	get_fixed(x, get32(x) * 4);
	v4_skip_delegation(x);
	v4_expect(x, V4_GETFH);
	get_handle(x, fh);
}

static void v4_mount(struct client *c, const char *host, const char *export)
{
	char *names = strdup(export), *save = NULL;
	const struct handle *at = NULL;

	c->rpc = rpc_connect(host, NFS_PORT);
	v4_session(c);
	for (char *name = strtok_r(names, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
		v4_lookup(c, at, name, &c->root);
		at = &c->root;
	}
	free(names);
	v4_access(c, &c->root);
}

static void v4_step(struct client *c, struct handle *fh, const char *name, bool last)
{
	struct handle found;

	v4_access(c, fh);
	if (last) {
		v4_open(c, fh, name);
		return;
	}
	v4_lookup(c, fh, name, &found);
	*fh = found;
}

static uint32_t v4_read(struct client *c, const struct handle *fh, uint64_t offset, uint32_t count)
{
	unsigned tries = 0;
	struct xdr *x;

	do {
		x = v4_begin(c, 2);
		put32(x, V4_PUTFH);
		put_handle(x, fh);
		put32(x, V4_READ);
		put_fixed(x, c->stateid, sizeof c->stateid);
		put64(x, offset);
		put32(x, count);
	} while (again(c, v4_call(c), tries++, "READ"));
	x = &c->rpc->in;
	v4_expect(x, V4_PUTFH);
	v4_expect(x, V4_READ);
	get32(x);
	return get32(x);
}

/* ---- what is measured ---- */

static const struct version {
	unsigned wait_ms, wait_max;
	void (*mount)(struct client *c, const char *host, const char *export);
	/* fh: from a directory to what it holds; the last one is opened */
	void (*step)(struct client *c, struct handle *fh, const char *name, bool last);
	uint32_t (*read)(struct client *c, const struct handle *fh, uint64_t offset,
			 uint32_t count);
} versions[] = {
	{5000, 5000, v3_mount, v3_step, v3_read},
	{100, 15000, v4_mount, v4_step, v4_read},
};

static void open_path(const struct version *v, struct client *c, char *path, struct handle *fh)
{
	char *save = NULL, *name = strtok_r(path, "/", &save);

	*fh = c->root;
	while (name) {
		char *next = strtok_r(NULL, "/", &save);

		v->step(c, fh, name, !next);
		name = next;
	}
}

int main(int argc, char **argv)
{
	const struct version *v;
	struct client c = {0};
	uint64_t begun, mounted, opened, was_read, size, at;
	struct handle fh;

	if (argc < 5 || argc > 6 || (strcmp(argv[1], "3") != 0 && strcmp(argv[1], "4") != 0))
		die("usage: openclient 3|4 HOST EXPORT PATH [SIZE]");
	v = &versions[*argv[1] == '4'];
	size = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
	c.wait_ms = v->wait_ms;
	c.wait_max = v->wait_max;
	begun = now_us();
	v->mount(&c, argv[2], argv[3]);
	mounted = now_us();
	open_path(v, &c, argv[4], &fh);
	opened = now_us();
	at = v->read(&c, &fh, 0, FIRST_READ);
	was_read = now_us();
	if (at == 0)
		die("the file is empty");
	printf("mount=%" PRIu64 " open=%" PRIu64 " read=%" PRIu64 " waits=%u\n", mounted - begun,
	       opened - mounted, was_read - opened, c.waits);
	while (at < size) {
		uint32_t got = v->read(&c, &fh, at, NEXT_READ);

		if (got == 0)
			die("the file is short");
		at += got;
	}
	return 0;
}
