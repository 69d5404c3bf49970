/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/protocol.h"
#include "tests/common/support.h"

static const struct migrate_frame full = {
	.op = MIGRATE_OP_RANGE | MIGRATE_OP_REPLY,
	.id = 0x0102030405060708,
	.status = -ESTALE,
	.flags = 0x0a0b0c0d,
	.offset = INT64_MAX,
	.length = UINT64_MAX,
	.ref = 42,
	.change = 5,
	.text = "a text",
	.text_len = 6,
};

static void check_equal(const struct migrate_frame *a, const struct migrate_frame *b)
{
	ck_assert_uint_eq(a->op, b->op);
	ck_assert_uint_eq(a->id, b->id);
	ck_assert_int_eq(a->status, b->status);
	ck_assert_uint_eq(a->flags, b->flags);
	ck_assert_uint_eq(a->offset, b->offset);
	ck_assert_uint_eq(a->length, b->length);
	ck_assert_uint_eq(a->ref, b->ref);
	ck_assert_uint_eq(a->change, b->change);
	ck_assert_uint_eq(a->text_len, b->text_len);
	ck_assert_mem_eq(a->text, b->text, a->text_len);
}

START_TEST(round_trip)
{
	uint8_t buf[256];
	struct migrate_frame frame;
	ssize_t len = migrate_frame_encode(&full, buf, sizeof(buf));

	ck_assert_int_eq(len, MIGRATE_FRAME_HEADER + 6);
	ck_assert_mem_eq(buf, "QMG1\2\0\2\x80\10\7\6\5\4\3\2\1", 16);
	ck_assert_int_eq(migrate_frame_decode(buf, len, &frame), 0);
	check_equal(&frame, &full);
	ck_assert_int_eq(migrate_frame_encode(&full, buf, len - 1), -EMSGSIZE);
}
END_TEST

START_TEST(text_limits)
{
	static uint8_t buf[MIGRATE_FRAME_MAX + 1];
	static char text[MIGRATE_FRAME_MAX];
	struct migrate_frame frame = {.op = 1, .text = text, .text_len = sizeof(text) - 64};

	ck_assert_int_eq(migrate_frame_encode(&frame, buf, sizeof(buf)), MIGRATE_FRAME_MAX);
	ck_assert_int_eq(migrate_frame_decode(buf, MIGRATE_FRAME_MAX, &frame), 0);
	ck_assert_uint_eq(frame.text_len, sizeof(text) - 64);
	frame.text_len++;
	ck_assert_int_eq(migrate_frame_encode(&frame, buf, sizeof(buf)), -EMSGSIZE);
}
END_TEST

START_TEST(garbage)
{
	uint8_t buf[128];
	struct migrate_frame frame;
	ssize_t len = migrate_frame_encode(&full, buf, sizeof(buf));

	for (ssize_t cut = 0; cut < len; cut++) {
		uint8_t *exact = malloc(cut + 1);

		memcpy(exact, buf, cut);
		ck_assert_int_eq(migrate_frame_decode(exact, cut, &frame), -EBADMSG);
		free(exact);
	}
	ck_assert_int_eq(migrate_frame_decode(buf, len + 1, &frame), -EBADMSG);
	for (ssize_t bit = 0; bit < len * 8; bit++) {
		uint8_t again[128];
		int ret;

		buf[bit / 8] ^= 1 << bit % 8;
		ret = migrate_frame_decode(buf, len, &frame);
		if (ret == 0) {
			ck_assert_int_eq(migrate_frame_encode(&frame, again, sizeof(again)), len);
			ck_assert_mem_eq(buf, again, len);
		} else if (bit / 8 == 4 || bit / 8 == 5) {
			ck_assert_int_eq(ret, -EPROTO);
		} else {
			ck_assert_int_eq(ret, -EBADMSG);
		}
		buf[bit / 8] ^= 1 << bit % 8;
	}
}
END_TEST

/* Whatever the rest of another version's frame is, its id can be answered. */
START_TEST(other_version)
{
	uint8_t buf[16] = "QMG1\1\0\1\0\7";
	struct migrate_frame frame;

	ck_assert_int_eq(migrate_frame_decode(buf, sizeof(buf), &frame), -EPROTO);
	ck_assert_uint_eq(frame.id, 7);
	ck_assert_int_eq(migrate_frame_decode(buf, sizeof(buf) - 1, &frame), -EBADMSG);
}
END_TEST

static int pair[2];

static void open_pair(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
}

static void close_pair(void)
{
	close(pair[0]);
	close(pair[1]);
}

START_TEST(descriptors_are_passed)
{
	uint8_t buf[MIGRATE_FRAME_MAX];
	struct migrate_frame frame;
	struct stat sent, got;
	int fds[2] = {open("/", O_RDONLY), open("/tmp", O_PATH)}, received[MIGRATE_FRAME_MAX_FDS];
	size_t n;

	ck_assert_int_eq(migrate_frame_send(pair[0], &full, fds, 2), 0);
	ck_assert_int_eq(migrate_frame_recv(pair[1], buf, sizeof(buf), received, &n),
			 MIGRATE_FRAME_HEADER + 6);
	ck_assert_int_eq(migrate_frame_decode(buf, MIGRATE_FRAME_HEADER + 6, &frame), 0);
	check_equal(&frame, &full);
	ck_assert_uint_eq(n, 2);
	for (int i = 0; i < 2; i++) {
		fstat(fds[i], &sent);
		fstat(received[i], &got);
		ck_assert_uint_eq(sent.st_ino, got.st_ino);
		ck_assert_int_eq(fcntl(received[i], F_GETFD), FD_CLOEXEC);
		close(fds[i]);
		close(received[i]);
	}
	ck_assert_int_eq(migrate_frame_send(pair[0], &full, fds, 3), -EINVAL);
	ck_assert_int_eq(migrate_frame_send(pair[0], &full, NULL, 0), 0);
	ck_assert_int_gt(migrate_frame_recv(pair[1], buf, sizeof(buf), received, &n), 0);
	ck_assert_uint_eq(n, 0);
}
END_TEST

/* More descriptors than a frame may have, or more bytes than there is room: nothing leaks. */
START_TEST(truncated)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(20 * sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {.iov_base = "x", .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control};
	unsigned before = open_descriptors();
	uint8_t buf[64];
	int fds[20], received[MIGRATE_FRAME_MAX_FDS];
	size_t n;

	for (int count = 3; count <= 20; count++) {
		for (int i = 0; i < count; i++)
			fds[i] = pair[0];
		memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * count);
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		ck_assert_int_eq(sendmsg(pair[0], &msg, 0), 1);
		ck_assert_int_eq(migrate_frame_recv(pair[1], buf, sizeof(buf), received, &n), 1);
		ck_assert_uint_eq(n, MIGRATE_FDS_LOST);
	}
	ck_assert_int_eq(migrate_frame_send(pair[0], &full, fds, 2), 0);
	ck_assert_int_eq(migrate_frame_recv(pair[1], buf, sizeof(buf), received, &n), -EMSGSIZE);
	ck_assert_uint_eq(open_descriptors(), before);
}
END_TEST

START_TEST(full_empty_and_closed)
{
	uint8_t buf[MIGRATE_FRAME_MAX];
	int ret, received[MIGRATE_FRAME_MAX_FDS];
	size_t n;

	ck_assert_int_eq(migrate_frame_recv(pair[1], buf, sizeof(buf), received, &n), -EAGAIN);
	while ((ret = migrate_frame_send(pair[0], &full, NULL, 0)) == 0)
		;
	ck_assert_int_eq(ret, -EAGAIN);
	close(pair[0]);
	while ((ret = migrate_frame_recv(pair[1], buf, sizeof(buf), received, &n)) > 0)
		;
	ck_assert_int_eq(ret, 0);
	/* Would kill this process if it raised SIGPIPE. */
	signal(SIGPIPE, SIG_DFL);
	ck_assert_int_eq(migrate_frame_send(pair[1], &full, NULL, 0), -EPIPE);
	pair[0] = dup(pair[1]);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("protocol");

	tcase_add_checked_fixture(tcase, open_pair, close_pair);
	tcase_add_test(tcase, round_trip);
	tcase_add_test(tcase, text_limits);
	tcase_add_test(tcase, garbage);
	tcase_add_test(tcase, other_version);
	tcase_add_test(tcase, descriptors_are_passed);
	tcase_add_test(tcase, truncated);
	tcase_add_test(tcase, full_empty_and_closed);
	return run_case(tcase);
}
