/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A retriever that a check program plays itself, in one thread: client and retriever take turns, so
 * that the order of everything is the test's.  Waiting is bounded; running out of time fails.
 */
#ifndef TESTS_COMMON_FAKE_H
#define TESTS_COMMON_FAKE_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "common/client.h"
#include "tests/common/support.h"

#define PATIENCE_MS 20000

static struct migrate_volume *volume;
static int listener = -1, peer = -1;

/* The frame read last, and what came with it. */
static struct migrate_frame got;
static uint8_t got_buf[MIGRATE_FRAME_MAX];
static int got_fds[MIGRATE_FRAME_MAX_FDS];
static size_t got_nfds;

/* The callbacks' record: one per request of a test. */
struct outcome {
	int calls;
	int status;
	char text[256];
	int order;
};
static int n_done;

static inline void done(void *arg, int status)
{
	struct outcome *outcome = arg;

	outcome->calls++;
	outcome->status = status;
	outcome->order = n_done++;
}

static inline void text_done(void *arg, int status, const char *text)
{
	struct outcome *outcome = arg;

	snprintf(outcome->text, sizeof(outcome->text), "%s", text);
	done(arg, status);
}

static inline void fake_listen(int backlog)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", scratch);
	unlink(addr.sun_path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(listener, backlog), 0);
}

static inline int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static inline bool is_readable(int fd, int timeout_ms)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, timeout_ms) == 1;
}

/* Runs the client until it has connected (again). */
static inline void fake_accept(void)
{
	int64_t until = now_ms() + PATIENCE_MS;

	while (!is_readable(listener, 0)) {
		ck_assert_int_lt(now_ms(), until);
		migrate_volume_dispatch(volume, 100);
	}
	peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	ck_assert_int_ge(peer, 0);
}

static inline void fake_close(void)
{
	close(peer);
	peer = -1;
}

/* The next frame of the client into `got`. */
static inline void fake_read(void)
{
	ssize_t len;

	ck_assert(is_readable(peer, PATIENCE_MS));
	while (got_nfds)
		close(got_fds[--got_nfds]);
	len = migrate_frame_recv(peer, got_buf, sizeof(got_buf), got_fds, &got_nfds);
	ck_assert_int_gt(len, 0);
	ck_assert_int_eq(migrate_frame_decode(got_buf, len, &got), 0);
}

static inline void fake_expect(uint16_t op, uint64_t id)
{
	fake_read();
	ck_assert_uint_eq(got.op, op);
	ck_assert_uint_eq(got.id, id);
}

static inline void fake_send(const struct migrate_frame *frame)
{
	ck_assert_int_eq(migrate_frame_send(peer, frame, NULL, 0), 0);
}

static inline void fake_reply(uint16_t op, uint64_t id, int status)
{
	struct migrate_frame reply = {.op = op | MIGRATE_OP_REPLY, .id = id, .status = status};

	fake_send(&reply);
}

/* One round of the client, which must have something to do. */
static inline void dispatch(void)
{
	ck_assert_int_eq(migrate_volume_dispatch(volume, PATIENCE_MS), 0);
}

/* Answers the HELLO of a fresh connection. */
static inline void fake_hello(void)
{
	struct migrate_frame reply = {.op = MIGRATE_OP_HELLO | MIGRATE_OP_REPLY, .length = 250};

	fake_expect(MIGRATE_OP_HELLO, 0);
	fake_send(&reply);
	dispatch();
	ck_assert(migrate_volume_connected(volume));
}

static inline void fake_connect(void)
{
	fake_accept();
	fake_hello();
}

/* Runs the client until it has seen that the connection is gone. */
static inline void until_away(void)
{
	int64_t until = now_ms() + PATIENCE_MS;

	while (migrate_volume_connected(volume)) {
		ck_assert_int_lt(now_ms(), until);
		migrate_volume_dispatch(volume, 100);
	}
}

/* Dispatches until the request is done. */
static inline void finish(const struct outcome *outcome)
{
	int64_t until = now_ms() + PATIENCE_MS;

	while (!outcome->calls) {
		ck_assert_int_lt(now_ms(), until);
		migrate_volume_dispatch(volume, 100);
	}
	ck_assert_int_eq(outcome->calls, 1);
}

static inline void fake_setup(void)
{
	scratch_make();
	ck_assert_int_eq(
		migrate_volume_new("projects", scratch_path("sock"), MIGRATE_ROLE_DOOR, &volume),
		0);
}

static inline void fake_setup_connected(void)
{
	fake_setup();
	fake_listen(8);
	fake_connect();
}

/* For a test with requests under way at its end: their outcomes are on its stack. */
static inline void free_volume(void)
{
	migrate_volume_free(volume);
	volume = NULL;
}

static inline void fake_teardown(void)
{
	free_volume();
	while (got_nfds)
		close(got_fds[--got_nfds]);
	if (peer >= 0)
		close(peer);
	if (listener >= 0)
		close(listener);
	scratch_remove();
}

#endif
