/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/wait.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "common/protocol.h"
#include "common/record.h"
#include "tests/guard/guard_place.h"

static struct migrate_volume *volume;
static struct waits *waits;
static unsigned answered;
static int answer;

static void take(void *arg, const struct marks_event *event, int error, const char *why)
{
	answered++;
	answer = error;
	ck_assert(!error == !why);
}

/* Nobody listens on its socket. */
static void set_up(void)
{
	g_autofree char *sock = NULL;

	guard_place_make();
	sock = g_build_filename(place, "sock", NULL);
	ck_assert_int_eq(migrate_volume_new("v", sock, MIGRATE_ROLE_PLAIN_DOOR, &volume), 0);
	waits = waits_new(volume, 1, take, NULL);
	answered = 0;
}

static void tear_down(void)
{
	waits_fail(waits);
	if (volume)
		migrate_volume_free(volume);
	ck_assert_uint_eq(waits_count(waits), 0);
	waits_free(waits);
	guard_place_remove();
}

static struct marks_event event_of(enum migrate_state state)
{
	g_autofree char *path = guard_put("f");
	struct marks_event event = {.fd = open(path, O_RDWR)};
	struct migrate_record rec = {.state = state, .size = 4};

	if (state == MIGRATE_NORMAL)
		return event;
	ck_assert_int_eq(migrate_binding_get(event.fd, NULL, &rec.binding), 0);
	if (state == MIGRATE_PARTIAL)
		ck_assert_int_eq(migrate_extents_add(&rec.missing, 0, 4), 0);
	ck_assert_int_eq(migrate_record_store(event.fd, &rec), 0);
	migrate_record_clear(&rec);
	return event;
}

START_TEST(whole)
{
	struct marks_event event = event_of(MIGRATE_NORMAL);

	waits_add(waits, &event, 0, false);
	ck_assert_uint_eq(answered, 1);
	ck_assert_int_eq(answer, 0);
	ck_assert_int_eq(fcntl(event.fd, F_GETFD), -1);
}
END_TEST

START_TEST(damaged)
{
	struct marks_event event = event_of(MIGRATE_NORMAL);

	ck_assert_int_eq(fsetxattr(event.fd, "security.migrate", "x", 1, 0), 0);
	waits_add(waits, &event, 0, false);
	ck_assert_uint_eq(answered, 1);
	ck_assert_int_eq(answer, EIO);
}
END_TEST

/* The old server does not answer: the limit. */
START_TEST(late)
{
	struct marks_event event = event_of(MIGRATE_PARTIAL);
	const gint64 begun = g_get_monotonic_time() / 1000; /* ms, as the limit is counted */

	waits_add(waits, &event, 0, false);
	ck_assert_uint_eq(waits_count(waits), 1);
	while (!answered) {
		migrate_volume_dispatch(volume, 10);
		waits_turn(waits);
	}
	ck_assert_int_eq(answer, EIO);
	ck_assert_int_ge(g_get_monotonic_time() / 1000 - begun, 1000);
	while (waits_count(waits))
		migrate_volume_dispatch(volume, 10);
	ck_assert_uint_eq(answered, 1);
}
END_TEST

static void turn_until_answered(unsigned times)
{
	while (answered < times) {
		migrate_volume_dispatch(volume, 10);
		waits_turn(waits);
	}
}

/* He gets no other error, and finds it going on. */
START_TEST(comes_again)
{
	struct marks_event event = event_of(MIGRATE_PARTIAL), again = event;

	again.fd = dup(event.fd);
	waits_free(waits);
	waits = waits_new(volume, 2, take, NULL);
	waits_add(waits, &event, 0, true);
	turn_until_answered(1);
	ck_assert_int_eq(answer, EAGAIN);
	ck_assert_uint_eq(waits_waiting(waits), 0);
	ck_assert_uint_eq(waits_count(waits), 1);
	waits_add(waits, &again, 0, true);
	ck_assert_uint_eq(waits_waiting(waits), 1);
	ck_assert_uint_eq(waits_count(waits), 1);
	turn_until_answered(2);
	ck_assert_int_eq(answer, EAGAIN);
	while (waits_count(waits)) { /* the limit */
		migrate_volume_dispatch(volume, 10);
		waits_turn(waits);
	}
	ck_assert_uint_eq(answered, 2);
}
END_TEST

/* Of many most are sent away at once. */
START_TEST(many_come_again)
{
	struct marks_event event = event_of(MIGRATE_PARTIAL);

	for (int n = 0; n < 6; n++) {
		struct marks_event other = {.fd = dup(event.fd)};

		waits_add(waits, &other, 0, true);
	}
	waits_turn(waits);
	ck_assert_uint_eq(answered, 2);
	ck_assert_int_eq(answer, EAGAIN);
	ck_assert_uint_eq(waits_waiting(waits), 4);
	close(event.fd);
}
END_TEST

static unsigned add_until_full(int fd, uid_t uid)
{
	unsigned n = 0;

	for (; !waits_are_full(waits, uid); n++) {
		const struct marks_event event = {.fd = dup(fd)};

		waits_add(waits, &event, uid, false);
	}
	return n;
}

/* Whatever one opens, there is room for the next, and for root, who takes none of theirs. */
START_TEST(shares)
{
	const struct rlimit files = {4096, 4096};
	struct marks_event event = event_of(MIGRATE_PARTIAL);
	unsigned others = 0;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert_uint_eq(add_until_full(event.fd, 1000), 448);
	ck_assert_uint_eq(add_until_full(event.fd, 1001), 224);
	ck_assert(!waits_are_full(waits, UINT32_MAX));
	for (uid_t uid = 1002; uid < 2000; uid++)
		others += add_until_full(event.fd, uid);
	ck_assert_uint_eq(others, 224);
	ck_assert_uint_eq(add_until_full(event.fd, 0), 128);
	ck_assert_uint_eq(waits_count(waits), 1024);
	ck_assert_uint_eq(answered, 0);
	waits_fail(waits);
	migrate_volume_free(volume);
	volume = NULL;
	close(event.fd);
}
END_TEST

/* Nobody waits for what is in a directory that was listed. */
START_TEST(ahead)
{
	g_autofree char *path = g_build_filename(place, "d", NULL);
	struct migrate_record rec = {.state = MIGRATE_UNFILLED};
	struct marks_event event = event_of(MIGRATE_PARTIAL);
	int fd = open(place, O_RDONLY), below;

	ck_assert_int_eq(mkdir(path, 0755), 0);
	waits_look_ahead(waits, fd);
	ck_assert_uint_eq(waits_count(waits), 0);
	below = open(path, O_RDONLY);
	ck_assert_int_eq(migrate_binding_get(below, NULL, &rec.binding), 0);
	ck_assert_int_eq(migrate_record_store(below, &rec), 0);
	lseek(fd, 0, SEEK_SET);
	waits_look_ahead(waits, fd);
	ck_assert_uint_eq(waits_count(waits), 1);
	ck_assert_uint_eq(waits_waiting(waits), 0);
	migrate_volume_free(volume);
	volume = NULL;
	ck_assert_uint_eq(answered, 0);
	close(below);
	close(fd);
	close(event.fd);
}
END_TEST

static int listen_there(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	g_strlcpy(address.sun_path, migrate_volume_socket(volume), sizeof(address.sun_path));
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	return listener;
}

/* Answers the next request; what it is. */
static uint16_t answer_next(int peer, int status)
{
	uint8_t data[MIGRATE_FRAME_MAX];
	int fds[MIGRATE_FRAME_MAX_FDS];
	struct migrate_frame frame;
	size_t n = 0;
	ssize_t len;

	while ((len = migrate_frame_recv(peer, data, sizeof(data), fds, &n)) == -EAGAIN)
		migrate_volume_dispatch(volume, 10);
	ck_assert_int_gt(len, 0);
	ck_assert_int_eq(migrate_frame_decode(data, len, &frame), 0);
	while (n)
		close(fds[--n]);
	frame = (struct migrate_frame){
		.op = frame.op | MIGRATE_OP_REPLY, .id = frame.id, .status = status};
	ck_assert_int_eq(migrate_frame_send(peer, &frame, NULL, 0), 0);
	migrate_volume_dispatch(volume, 10);
	return frame.op & ~MIGRATE_OP_REPLY;
}

/* What the old server refuses to tell of an empty file is an error at once. */
START_TEST(nobodys)
{
	g_autofree char *path = guard_put("nothing");
	struct marks_event event = {.fd = open(path, O_RDWR | O_TRUNC)};
	struct migrate_record rec = {.state = MIGRATE_PARTIAL, .flags = MIGRATE_REC_CLOSED_FILE};
	const int listener = listen_there();
	int peer;

	ck_assert_int_eq(migrate_binding_get(event.fd, NULL, &rec.binding), 0);
	ck_assert_int_eq(migrate_record_store(event.fd, &rec), 0);
	while ((peer = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) < 0)
		migrate_volume_dispatch(volume, 10);
	ck_assert_uint_eq(answer_next(peer, 0), MIGRATE_OP_HELLO);
	waits_add(waits, &event, 0, false);
	ck_assert_uint_eq(answer_next(peer, -EREMOTEIO), MIGRATE_OP_RANGE);
	turn_until_answered(1);
	ck_assert_int_eq(answer, EIO);
	close(peer);
	close(listener);
}
END_TEST

START_TEST(ended)
{
	struct marks_event event = event_of(MIGRATE_PARTIAL);

	waits_add(waits, &event, 0, false);
	waits_fail(waits);
	ck_assert_uint_eq(answered, 1);
	ck_assert_int_eq(answer, EIO);
	ck_assert_uint_eq(waits_waiting(waits), 0);
	ck_assert_uint_eq(waits_count(waits), 1); /* its request is under way */
	migrate_volume_free(volume);
	volume = NULL;
	ck_assert_uint_eq(answered, 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("wait");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, whole);
	tcase_add_test(tcase, damaged);
	tcase_add_test(tcase, late);
	tcase_add_test(tcase, comes_again);
	tcase_add_test(tcase, many_come_again);
	tcase_add_test(tcase, shares);
	tcase_add_test(tcase, ahead);
	tcase_add_test(tcase, nobodys);
	tcase_add_test(tcase, ended);
	return run_tcase(tcase);
}
