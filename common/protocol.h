/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Frames between libmigrate and the retriever: one frame is one message of a SOCK_SEQPACKET unix
 * socket, little-endian, at most MIGRATE_FRAME_MAX bytes, objects as descriptors (SCM_RIGHTS).
 *
 *   u32 magic "QMG1"  u16 version  u16 op  u64 id  i32 status  u32 flags
 *   u64 offset  u64 length  u64 ref  u32 change  u32 text length  u64 zero   text
 *
 * Requests: status 0.  A reply has op | MIGRATE_OP_REPLY, the request's id, and its status (0 or
 * -errno of migrate.h).  Replies come in any order.  Unused fields are zero.
 *
 * The first frame on a connection is HELLO (text: the volume's name, length: enum migrate_role);
 * the reply carries length = hold time in ms, offset = 1 when the volume is finished, flags =
 * MIGRATE_HELLO_DESCRIPTORS where security descriptors decide alone.  A different
 * version is answered -EPROTO and the connection closed.
 */
#ifndef COMMON_PROTOCOL_H
#define COMMON_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MIGRATE_PROTOCOL_VERSION 2
#define MIGRATE_FRAME_MAX	 65536
#define MIGRATE_FRAME_HEADER	 64
#define MIGRATE_FRAME_MAX_FDS	 2

enum migrate_op {
	MIGRATE_OP_HELLO = 1,
	MIGRATE_OP_RANGE = 2,  /* fd; offset, length, flags */
	MIGRATE_OP_NAME = 3,   /* fd; text: name */
	MIGRATE_OP_FILL = 4,   /* fd; flags; offset: migrate_fill_since() */
	MIGRATE_OP_FINISH = 5, /* fd */
	MIGRATE_OP_BEGIN = 6,  /* fd, and for PLACE the directory; change, offset, length */
	MIGRATE_OP_END = 7,    /* ref: the id of BEGIN; flags CHANGED, DURABLE; offset, length */
	MIGRATE_OP_SYNC = 8,   /* fd */
	/* ref: the request, which nobody waits for any more: what it held is to be given back. What
	 * is on its way from the old server may be filled in all the same.  Has no reply of its
	 * own; the request is answered with -ECANCELED or as it would have been, and a BEGIN must
	 * be. */
	MIGRATE_OP_CANCEL = 9,
	MIGRATE_OP_CONTROL = 10, /* text: command; reply text */
	MIGRATE_OP_REPLY = 0x8000,
};

enum { MIGRATE_HELLO_DESCRIPTORS = 1 << 0 };
enum { MIGRATE_END_CHANGED = 1 << 0, MIGRATE_END_DURABLE = 1 << 1 };

struct migrate_frame {
	uint16_t op;
	uint64_t id;
	int32_t status;
	uint32_t flags;
	uint64_t offset;
	uint64_t length;
	uint64_t ref;
	uint32_t change;
	const char *text; /* not NUL-terminated; points into the buffer decoded from */
	uint32_t text_len;
};

/* Returns the frame's length in buf, or -EMSGSIZE. */
ssize_t migrate_frame_encode(const struct migrate_frame *frame, uint8_t *buf, size_t size);
/* 0; -EBADMSG: not a frame; -EPROTO: of another version (id is filled in then). */
int migrate_frame_decode(const uint8_t *buf, size_t len, struct migrate_frame *frame);

/*
 * One message.  send: 0, -EAGAIN (non-blocking and full), else -errno; never raises SIGPIPE; the
 * descriptors stay the caller's.  recv: the length, 0 at the end of the connection, -EAGAIN, else
 * -errno; received descriptors are close-on-exec and the caller's; a truncated message is -EMSGSIZE
 * and its descriptors are closed.  Where some of a message's descriptors could not be taken over,
 * as this process may have no more, there are none and *nfds is MIGRATE_FDS_LOST.  fds and nfds may
 * be NULL: what comes is left to the kernel then, which closes it.
 */
#define MIGRATE_FDS_LOST ((size_t)-1)
int migrate_frame_send(int sock, const struct migrate_frame *frame, const int *fds, size_t nfds);
ssize_t migrate_frame_recv(int sock, uint8_t *buf, size_t size, int *fds, size_t *nfds);

#endif
