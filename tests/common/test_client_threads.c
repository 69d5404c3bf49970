/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Many threads against a retriever that answers in its own order and goes away again and again.
 * What is checked is that everything is answered exactly once; the thread sanitizer does the rest.
 */
#include "tests/common/fake.h"

#define THREADS		4
#define ROUNDS		400
#define DROP_EVERY	157 /* frames of a connection, until there were that many drops: */
#define DROPS		40
#define REPLIES_AT_ONCE 7

static atomic_bool stop;
static atomic_int answered, resets, drops;

struct queue {
	struct migrate_frame frames[REPLIES_AT_ONCE];
	int n;
};

/* In the opposite order; what cannot be sent is lost with the connection soon after. */
static void answer(int sock, struct queue *queue)
{
	while (queue->n)
		migrate_frame_send(sock, &queue->frames[--queue->n], NULL, 0);
}

/* Serves one connection until its end, or until it is time to drop it. */
static void serve(int sock, uint8_t *buf)
{
	struct queue queue = {.n = 0};
	int seen = 0;

	while (!atomic_load(&stop)) {
		struct migrate_frame frame;
		int fds[MIGRATE_FRAME_MAX_FDS];
		size_t nfds;
		ssize_t len;

		if (!is_readable(sock, queue.n ? 0 : 100)) {
			answer(sock, &queue);
			continue;
		}
		len = migrate_frame_recv(sock, buf, MIGRATE_FRAME_MAX, fds, &nfds);
		while (nfds)
			close(fds[--nfds]);
		if (len <= 0 || migrate_frame_decode(buf, len, &frame) < 0)
			return;
		if (++seen == DROP_EVERY && atomic_fetch_add(&drops, 1) < DROPS)
			return;
		if (frame.op == MIGRATE_OP_CANCEL)
			continue;
		queue.frames[queue.n++] =
			(struct migrate_frame){.op = frame.op | MIGRATE_OP_REPLY, .id = frame.id};
		if (queue.n == REPLIES_AT_ONCE)
			answer(sock, &queue);
	}
}

static void *retrieve(void *arg)
{
	uint8_t *buf = malloc(MIGRATE_FRAME_MAX);

	while (!atomic_load(&stop)) {
		int sock;

		if (!is_readable(listener, 100))
			continue;
		sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		serve(sock, buf);
		close(sock);
	}
	free(buf);
	return NULL;
}

static void *dispatcher(void *arg)
{
	while (!atomic_load(&stop))
		migrate_volume_dispatch(volume, -1);
	return NULL;
}

static int wait_for(struct migrate_waiter *waiter)
{
	int status = migrate_waiter_wait(waiter, NULL, -1);

	atomic_fetch_add(&answered, 1);
	return status;
}

static void change(void)
{
	for (;;) {
		struct migrate_waiter *waiter = migrate_waiter_new();
		uint64_t begun = migrate_begin(volume, 0, -1, MIGRATE_WRITE, 0, 1,
					       migrate_waiter_done, waiter);
		int status = wait_for(waiter);

		if (status == 0) {
			waiter = migrate_waiter_new();
			ck_assert_uint_ne(migrate_end(volume, begun, true, false, 0, 1,
						      migrate_waiter_done, waiter),
					  0);
			status = wait_for(waiter);
		}
		if (status == 0)
			return;
		ck_assert_int_eq(status, -ECONNRESET);
		atomic_fetch_add(&resets, 1);
	}
}

static void *client(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct migrate_waiter *waiter = migrate_waiter_new();
		uint64_t id = migrate_fetch_range(volume, 0, 0, 1, i % 3 ? 0 : MIGRATE_BACKGROUND,
						  migrate_waiter_done, waiter);
		bool cancelled = i % 5 == 0;
		int status;

		if (cancelled)
			migrate_cancel(volume, id);
		status = wait_for(waiter);
		ck_assert(status == 0 || (cancelled && status == -ECANCELED));
		if (cancelled) {
			waiter = migrate_waiter_new();
			id = migrate_begin(volume, 0, -1, MIGRATE_WRITE, 0, 1, migrate_waiter_done,
					   waiter);
			migrate_cancel(volume, id);
			status = wait_for(waiter);
			if (status == 0) {
				waiter = migrate_waiter_new();
				migrate_end(volume, id, false, false, 0, 0, migrate_waiter_done,
					    waiter);
				wait_for(waiter);
			}
		}
		change();
	}
	return NULL;
}

START_TEST(everything_is_answered_once)
{
	pthread_t clients[THREADS], server, loop;

	fake_setup();
	fake_listen(8);
	ck_assert_int_eq(pthread_create(&server, NULL, retrieve, NULL), 0);
	ck_assert_int_eq(pthread_create(&loop, NULL, dispatcher, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&clients[i], NULL, client, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(clients[i], NULL);
	atomic_store(&stop, true);
	migrate_volume_wake(volume);
	pthread_join(loop, NULL);
	pthread_join(server, NULL);
	ck_assert_int_ge(answered, THREADS * ROUNDS * 3);
	ck_assert_int_ge(drops, 5);
	ck_assert_int_gt(resets, 0);
	fake_teardown();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("client_threads");

	tcase_add_test(tcase, everything_is_answered_once);
	return run_case(tcase);
}
