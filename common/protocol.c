/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "common/protocol.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC "QMG1"

/* The frame's bytes on the wire; every member is naturally aligned. */
struct wire {
	char magic[4];
	uint16_t version;
	uint16_t op;
	uint64_t id;
	int32_t status;
	uint32_t flags;
	uint64_t offset;
	uint64_t length;
	uint64_t ref;
	uint32_t change;
	uint32_t text_len;
	uint64_t reserved;
};
_Static_assert(sizeof(struct wire) == MIGRATE_FRAME_HEADER, "the frame's header has no padding");

static int encode_header(const struct migrate_frame *frame, struct wire *wire)
{
	if (frame->text_len > MIGRATE_FRAME_MAX - sizeof(*wire))
		return -EMSGSIZE;
	*wire = (struct wire){
		.version = htole16(MIGRATE_PROTOCOL_VERSION),
		.op = htole16(frame->op),
		.id = htole64(frame->id),
		.status = (int32_t)htole32((uint32_t)frame->status),
		.flags = htole32(frame->flags),
		.offset = htole64(frame->offset),
		.length = htole64(frame->length),
		.ref = htole64(frame->ref),
		.change = htole32(frame->change),
		.text_len = htole32(frame->text_len),
	};
	memcpy(wire->magic, MAGIC, sizeof(wire->magic));
	return 0;
}

ssize_t migrate_frame_encode(const struct migrate_frame *frame, uint8_t *buf, size_t size)
{
	struct wire wire;
	int ret = encode_header(frame, &wire);

	if (ret < 0)
		return ret;
	if (size < sizeof(wire) + frame->text_len)
		return -EMSGSIZE;
	memcpy(buf, &wire, sizeof(wire));
	if (frame->text_len)
		memcpy(buf + sizeof(wire), frame->text, frame->text_len);
	return sizeof(wire) + frame->text_len;
}

int migrate_frame_decode(const uint8_t *buf, size_t len, struct migrate_frame *frame)
{
	struct wire wire = {0};

	memset(frame, 0, sizeof(*frame));
	/* Whatever another version looks like, it begins with these. */
	if (len < offsetof(struct wire, status))
		return -EBADMSG;
	memcpy(&wire, buf, len < sizeof(wire) ? len : sizeof(wire));
	if (memcmp(wire.magic, MAGIC, sizeof(wire.magic)) != 0)
		return -EBADMSG;
	frame->id = le64toh(wire.id);
	if (le16toh(wire.version) != MIGRATE_PROTOCOL_VERSION)
		return -EPROTO;
	if (len < sizeof(wire) || len > MIGRATE_FRAME_MAX || wire.reserved ||
	    len - sizeof(wire) != le32toh(wire.text_len))
		return -EBADMSG;
	frame->op = le16toh(wire.op);
	frame->status = (int32_t)le32toh((uint32_t)wire.status);
	frame->flags = le32toh(wire.flags);
	frame->offset = le64toh(wire.offset);
	frame->length = le64toh(wire.length);
	frame->ref = le64toh(wire.ref);
	frame->change = le32toh(wire.change);
	frame->text = (const char *)buf + sizeof(wire);
	frame->text_len = le32toh(wire.text_len);
	return 0;
}

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(sizeof(int) * MIGRATE_FRAME_MAX_FDS)];
};

int migrate_frame_send(int sock, const struct migrate_frame *frame, const int *fds, size_t nfds)
{
	struct wire wire;
	union control control;
	struct iovec iov[2] = {
		{.iov_base = &wire, .iov_len = sizeof(wire)},
		{.iov_base = (char *)frame->text, .iov_len = frame->text_len},
	};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = frame->text_len ? 2 : 1};
	ssize_t sent;
	int ret = encode_header(frame, &wire);

	if (ret < 0)
		return ret;
	if (nfds > MIGRATE_FRAME_MAX_FDS)
		return -EINVAL;
	if (nfds) {
		memset(&control, 0, sizeof(control));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, nfds * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
	}
	do
		sent = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* Takes the descriptors out of a message: at most MIGRATE_FRAME_MAX_FDS fit its control buffer. */
static size_t take_fds(struct msghdr *msg, int *fds)
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count && n < MIGRATE_FRAME_MAX_FDS; i++)
			memcpy(&fds[n++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
	}
	return n;
}

ssize_t migrate_frame_recv(int sock, uint8_t *buf, size_t size, int *fds, size_t *nfds)
{
	union control control;
	struct iovec iov = {.iov_base = buf, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = fds ? &control : NULL,
			     .msg_controllen = fds ? sizeof(control) : 0};
	ssize_t len;

	if (fds)
		*nfds = 0;
	do
		len = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return -errno;
	if (!fds)
		return msg.msg_flags & MSG_TRUNC ? -EMSGSIZE : len;
	*nfds = take_fds(&msg, fds);
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		while (*nfds)
			close(fds[--*nfds]);
		if (msg.msg_flags & MSG_TRUNC)
			return -EMSGSIZE;
		*nfds = MIGRATE_FDS_LOST;
	}
	return len;
}
