/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stands in for migrate-smb-worker.  The share says how it begins, the path of a request what is
 * done with it; "once-" before it: the first time only, of which a file in the directory that is
 * the URL's path tells.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/source/smb/wire.h"

#define MEMORY ((size_t)WIRE_SLOTS * WIRE_SLOT_BYTES)

static uint8_t *memory;
static struct wire_start start;
static struct wire_request held[WIRE_SLOTS];
static unsigned n_held;
static uint64_t written; /* of "short" */
static long log_ons;
static bool poisoned;

static void say(const void *bytes, size_t len)
{
	if (send(WIRE_SOCKET_FD, bytes, len, MSG_NOSIGNAL) < 0)
		_exit(1);
}

static struct wire_reply reply_to(const struct wire_request *request)
{
	return (struct wire_reply){
		.version = WIRE_VERSION,
		.type = WIRE_REPLY,
		.slot = request->slot,
		.serial = request->serial,
		.flags = WIRE_HAS_ATTR | WIRE_EOF,
		.attr = {.fileid = 5, .nlink = 1, .size = request->offset},
	};
}

/* A WRITE is answered with all of its bytes; to "short" with three at most, which have to be the
 * next ones (byte n of the file is n), to "none" and "more" with a count that is wrong. */
static uint64_t take_write(const struct wire_request *request, const uint8_t *slot)
{
	struct wire_change change;
	const uint8_t *data = slot + request->path_len + request->name_len + sizeof(change);

	memcpy(&change, data - sizeof(change), sizeof(change));
	if (change.kind != WIRE_WRITE)
		return 0;
	if (!memcmp(slot, "none", 4))
		return 0;
	if (!memcmp(slot, "more", 4))
		return change.len + 1;
	if (memcmp(slot, "short", 5))
		return change.len;
	const uint64_t count = change.len < 3 ? change.len : 3;
	if (change.offset != written || *data != (uint8_t)written)
		abort();
	written += count;
	return count;
}

static void answer(const struct wire_request *request)
{
	struct wire_reply reply = reply_to(request);
	uint8_t *slot = memory + (size_t)request->slot * WIRE_SLOT_BYTES;

	if (request->op == WIRE_CHANGE)
		reply.cookie = take_write(request, slot);
	if (written)
		reply.attr.size = written;

	if (request->op == WIRE_READ) {
		reply.len = request->count;
		memset(slot, (int)request->offset, request->count);
	}
	if (request->op == WIRE_READDIR) {
		reply.flags &= ~(uint32_t)WIRE_EOF;
		reply.cookie = request->cookie + 1;
	}
	say(&reply, sizeof(reply));
}

static void wrong(const struct wire_request *request, const char *how)
{
	struct wire_reply reply = reply_to(request);
	size_t len = sizeof(reply);

	reply.attr.fileid = 666; /* not to be believed */
	if (!strcmp(how, "wrong-slot"))
		reply.slot = 1000;
	else if (!strcmp(how, "wrong-serial"))
		reply.serial++;
	else if (!strcmp(how, "wrong-version"))
		reply.version++;
	else if (!strcmp(how, "wrong-type"))
		reply.type = 77;
	else if (!strcmp(how, "wrong-hello"))
		reply.type = WIRE_HELLO;
	else
		len--;
	say(&reply, len);
}

static bool was_there(const char *what)
{
	char path[512];

	snprintf(path, sizeof(path), "/%s/%s", start.path, what);
	return access(path, F_OK) == 0;
}

static bool is_first(const char *what)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "/%s/%s", start.path, what);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The number of this log-on, from 1 on; the file has the times of all. */
static long log_on(void)
{
	struct timespec now;
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "/%s/log-ons", start.path);
	fd = open(path, O_CREAT | O_APPEND | O_WRONLY, 0600);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (fd < 0 || write(fd, &now, sizeof(now)) < 0)
		_exit(7);
	return lseek(fd, 0, SEEK_CUR) / (long)sizeof(now);
}

/* The third is let in, and says so only when the fourth tries; that takes half a second. */
static void take_turn(long number)
{
	struct stat st = {0};
	char path[512];

	snprintf(path, sizeof(path), "/%s/log-ons", start.path);
	while (number == 3 && stat(path, &st) == 0 &&
	       st.st_size < 4 * (off_t)sizeof(struct timespec))
		sched_yield();
	if (number == 4)
		nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
}

/* "poison" kills each worker, the first one when three that are innocent are there too; from then
 * on those are answered. */
static void take_poisonous(const struct wire_request *request, bool poison)
{
	if (was_there("poison") && poison)
		abort();
	else if (was_there("poison"))
		answer(request);
	else if (poison)
		poisoned = true;
	else
		held[n_held++] = *request;
	if (poisoned && n_held == 3 && is_first("poison"))
		abort();
}

static void take(const struct wire_request *request)
{
	char name[256] = "";
	const char *how = name;
	uint32_t len = request->path_len + request->name_len;

	memcpy(name, memory + (size_t)request->slot * WIRE_SLOT_BYTES, len < 255 ? len : 255);
	if (was_there("outage"))
		_exit(0);
	if (!strncmp(how, "once-", 5)) {
		if (!is_first(how)) {
			answer(request);
			return;
		}
		how += 5;
	}
	if (!strcmp(how, "crash") || (!strcmp(how, "crash-later") && request->cookie))
		abort();
	else if (!strcmp(how, "end") || (!strcmp(how, "end-early") && log_ons <= 3))
		_exit(0);
	else if (!strcmp(how, "hang"))
		raise(SIGSTOP);
	else if (!strcmp(how, "hold"))
		held[n_held++] = *request;
	else if (!strcmp(how, "poison") || !strcmp(how, "innocent"))
		take_poisonous(request, how[0] == 'p');
	else if (!strncmp(how, "wrong-", 6))
		wrong(request, how);
	else
		answer(request);
	if (!strcmp(how, "release"))
		while (n_held)
			answer(&held[--n_held]);
}

int main(void)
{
	static uint8_t copy[WIRE_SLOT_BYTES];
	struct wire_unpack in = {copy, copy + sizeof(copy)};
	struct wire_reply hello = {.version = WIRE_VERSION,
				   .type = WIRE_HELLO,
				   .len = 65536,
				   .flags = WIRE_HAS_ATTR,
				   .attr = {.attributes = 0x10, .fileid = 4, .nlink = 1}};
	const struct rlimit none = {0, 0};
	unsigned failure, code;

	setrlimit(RLIMIT_CORE, &none);
	signal(SIGABRT, SIG_DFL);
	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, WIRE_MEMORY_FD, 0);
	memcpy(copy, memory, sizeof(copy));
	if (!wire_start_get(&in, &start) || strcmp(start.password, "secret"))
		return 9;
	/* it must not be possible to take the memory away */
	if (ftruncate(WIRE_MEMORY_FD, 0) == 0 || ftruncate(WIRE_MEMORY_FD, MEMORY * 2) == 0)
		return 8;
	if (sscanf(start.share, "fails-%u-%x", &failure, &code) == 2) {
		hello.type = WIRE_FAILED;
		hello.status = (int32_t)failure;
		hello.code = code;
	}
	if (!strcmp(start.share, "changes")) { /* the password, for a while */
		log_ons = log_on();
		if (log_ons > 3 && log_ons < 7) {
			hello.type = WIRE_FAILED;
			hello.status = WIRE_F_LOGON;
			hello.code = 0xc000006d;
		}
	}
	if (!strcmp(start.share, "counted"))
		log_on();
	if (!strcmp(start.share, "turns"))
		take_turn(log_on());
	if (!strcmp(start.share, "file"))
		hello.attr.attributes = 0;
	say(&hello, sizeof(hello));
	for (;;) {
		struct wire_request requests[WIRE_SLOTS];
		ssize_t n = recv(WIRE_SOCKET_FD, requests, sizeof(requests), 0);

		if (n <= 0)
			return 0;
		for (size_t i = 0; i < (size_t)n / sizeof(requests[0]); i++)
			take(&requests[i]);
	}
}
