/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/cap.h"
#include "lib/source/yield.h"
#include "tests/retriever/core_hook.h"
#include "tests/retriever/fake_backend.h"

static struct core core;

struct call {
	struct backend_request req;
	struct source_object root;
	sem_t done;
};

static void call_done(struct backend_request *req)
{
	struct call *call = req->user;

	sem_post(&call->done);
}

static void ask(struct call *call, enum backend_op op, enum backend_priority priority,
		const char *path, uint32_t count)
{
	memset(call, 0, sizeof(*call));
	sem_init(&call->done, 0, 0);
	call->root.path = (char *)path;
	call->req.op = op;
	call->req.count = count;
	call->req.priority = priority;
	call->req.object = call->root;
	call->req.done = call_done;
	call->req.user = call;
	gate_submit(core.retriever->gate, &call->req);
}

static void submit(struct call *call, enum backend_priority priority)
{
	ask(call, BACKEND_GETATTR, priority, "", 0);
}

static void start(void)
{
	core_make(&core);
	core_source_file(&core, "f", 300000, 1);
	core_start(&core);
}

START_TEST(pause_holds_the_background)
{
	struct call background[3], demand, ahead;

	start();
	gate_pause(core.retriever->gate, true);
	ck_assert(gate_paused(core.retriever->gate));
	for (size_t i = 0; i < G_N_ELEMENTS(background); i++)
		submit(&background[i], BACKEND_BACKGROUND);
	submit(&demand, BACKEND_DEMAND);
	submit(&ahead, BACKEND_READAHEAD);
	sem_wait(&demand.done);
	sem_wait(&ahead.done);
	ck_assert_int_eq(sem_trywait(&background[0].done), -1);
	gate_pause(core.retriever->gate, false);
	for (size_t i = 0; i < G_N_ELEMENTS(background); i++) {
		sem_wait(&background[i].done);
		ck_assert_int_eq(background[i].req.status, 0);
	}
	core_free(&core);
}
END_TEST

START_TEST(a_closed_gate_answers)
{
	struct call held, late;

	start();
	core_disconnect(&core);
	core_stop(&core);
	gate_pause(core.retriever->gate, true);
	submit(&held, BACKEND_BACKGROUND);
	gate_close(core.retriever->gate);
	sem_wait(&held.done);
	ck_assert_int_eq(held.req.status, -ECANCELED);
	submit(&late, BACKEND_DEMAND);
	sem_wait(&late.done);
	ck_assert_int_eq(late.req.status, -ECANCELED);
	_exit(0); /* closed twice would be a mistake of the test's */
}
END_TEST

/* ---- closing while what was held is let pass ---- */

static sem_t entered, leave;

/* Holds its submitter up where the request says so. */
static int hold_up(struct fake_backend *fake, struct backend_request *req)
{
	if (req->offset) {
		sem_post(&entered);
		sem_wait(&leave);
	}
	return 0;
}

static void fill_call(struct call *call, enum backend_priority priority, uint64_t offset)
{
	*call = (struct call){.req = {.priority = priority, .offset = offset}};
	sem_init(&call->done, 0, 0);
	call->req.done = call_done;
	call->req.user = call;
}

static void *unpause(void *gate)
{
	gate_pause(gate, false);
	return NULL;
}

static void *close_gate(void *gate)
{
	gate_close(gate);
	return NULL;
}

/* Nothing reaches the backend once a request was told that the gate is closed. */
START_TEST(closing_stops_what_is_let_pass)
{
	struct fake_backend fake = {.base.ops = &fake_backend_ops, .answer = hold_up};
	struct gate *gate = gate_new(&fake.base, 0);
	pthread_t passing, closing;
	struct call held[20], late;

	sem_init(&entered, 0, 0);
	sem_init(&leave, 0, 0);
	gate_pause(gate, true);
	for (size_t i = 0; i < G_N_ELEMENTS(held); i++) {
		fill_call(&held[i], BACKEND_BACKGROUND, i == 0);
		gate_submit(gate, &held[i].req);
	}
	pthread_create(&passing, NULL, unpause, gate);
	sem_wait(&entered);
	pthread_create(&closing, NULL, close_gate, gate);
	do {
		fill_call(&late, BACKEND_DEMAND, 0);
		gate_submit(gate, &late.req);
		sem_wait(&late.done);
		sched_yield();
	} while (late.req.status != -ECANCELED);
	atomic_store(&fake.submitted, 0);
	sem_post(&leave);
	pthread_join(passing, NULL);
	pthread_join(closing, NULL);
	ck_assert_uint_eq(atomic_load(&fake.submitted), 0);
	for (size_t i = 0; i < G_N_ELEMENTS(held); i++) {
		sem_wait(&held[i].done);
		ck_assert_int_eq(held[i].req.status, i ? -ECANCELED : 0);
	}
	gate_free(gate);
}
END_TEST

static char passed[8];

static int note_passed(struct fake_backend *fake, struct backend_request *req)
{
	passed[strlen(passed)] = (char)req->offset;
	return 0;
}

static bool is_b(const struct backend_request *req, const void *arg)
{
	return req->offset == 'b';
}

/* In front of what the background holds already, and behind what clients wait for. */
START_TEST(lists_come_first)
{
	struct fake_backend fake = {.base.ops = &fake_backend_ops, .answer = note_passed};
	struct gate *gate = gate_new(&fake.base, 0);
	const char *asked = "abcABC";
	struct call calls[7];

	gate_pause(gate, true);
	for (size_t i = 0; asked[i]; i++) {
		fill_call(&calls[i], BACKEND_BACKGROUND, (uint64_t)asked[i]);
		calls[i].req.trace = (struct trace_id){.peer = "", .first = asked[i] < 'a'};
		gate_submit(gate, &calls[i].req);
	}
	fill_call(&calls[6], BACKEND_DEMAND, '1');
	gate_submit(gate, &calls[6].req);
	gate_hurry(gate, is_b, NULL);
	gate_pause(gate, false);
	for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
		sem_wait(&calls[i].done);
	ck_assert_str_eq(passed, "1ABCbac");
	gate_close(gate);
	gate_free(gate);
}
END_TEST

/* 300,000 bytes of background at 1,000,000 a second take their time; demand does not. */
START_TEST(bandwidth)
{
	gint64 began;
	int fd;

	start();
	fd = core_find(&core, "f", O_RDONLY);
	began = g_get_monotonic_time(); /* tokens come from the next line on */
	gate_throttle(core.retriever->gate, 1000000);
	ck_assert_uint_eq(gate_bandwidth(core.retriever->gate), 1000000);
	ck_assert_int_eq(core_wait(core_ask_range(&core, fd, 0, UINT64_MAX, MIGRATE_BACKGROUND)),
			 0);
	core_source_file(&core, "g", 300000, 2);
	close(fd);
	fd = core_find(&core, "g", O_RDONLY);
	ck_assert_int_eq(core_wait(core_ask_range(&core, fd, 0, UINT64_MAX, MIGRATE_BACKGROUND)),
			 0);
	/* the first may have passed on tokens that came meanwhile, the second pays for it */
	ck_assert_int_ge(g_get_monotonic_time() - began, 250000);
	gate_throttle(core.retriever->gate, 1);
	close(fd);
	core_source_file(&core, "h", 300000, 3);
	fd = core_find(&core, "h", O_RDONLY);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_free_with(&core, fd);
}
END_TEST

static int come_short(struct fake_backend *fake, struct backend_request *req)
{
	req->data_len = req->op == BACKEND_READ ? 1 : 0;
	return 0;
}

/* What is asked for and does not come costs nothing of the bandwidth. */
START_TEST(short_reads_cost_what_came)
{
	struct fake_backend fake = {.base.ops = &fake_backend_ops, .answer = come_short};
	struct gate *gate = gate_new(&fake.base, 0);
	struct call reads[2], demand;

	gate_throttle(gate, 1000);
	for (size_t i = 0; i < G_N_ELEMENTS(reads); i++) {
		fill_call(&reads[i], BACKEND_BACKGROUND, 0);
		reads[i].req.op = BACKEND_READ;
		reads[i].req.count = UINT32_MAX;
		gate_submit(gate, &reads[i].req);
		while (sem_trywait(&reads[i].done)) { /* tokens come with the time */
			fill_call(&demand, BACKEND_DEMAND, 0);
			gate_submit(gate, &demand.req);
			sem_wait(&demand.done);
		}
	}
	gate_free(gate);
}
END_TEST

/* One that waits for its turn holds up the background, and no demand (I11). */
START_TEST(requests_a_second)
{
	struct call background[3], demand;
	struct gate *gate;

	start();
	gate = core.retriever->gate;
	gate_limit_requests(gate, 1);
	ck_assert_uint_eq(gate_requests(gate), 1);
	for (size_t i = 0; i < G_N_ELEMENTS(background); i++)
		submit(&background[i], BACKEND_BACKGROUND);
	sem_wait(&background[0].done);
	submit(&demand, BACKEND_DEMAND);
	sem_wait(&demand.done);
	sem_wait(&background[1].done); /* a second later */
	gate_limit_requests(gate, 0);
	sem_wait(&background[2].done);
	core_free(&core);
}
END_TEST

/* Likewise of a cap that others share, who have taken all of it. */
START_TEST(a_shared_cap)
{
	g_autofree char *path = NULL;
	struct cap *here, *other;
	struct call background[2], demand;

	start();
	path = g_build_filename(core.dir, "cap", NULL);
	here = cap_open(path, NULL);
	other = cap_open(path, NULL);
	cap_limit(other, 1, 0);
	ck_assert(cap_take(other, 1 << 20)); /* that takes 12 days */
	gate_share(core.retriever->gate, here, 1, 0);
	submit(&background[0], BACKEND_BACKGROUND);
	sem_wait(&background[0].done); /* no bytes */
	ask(&background[0], BACKEND_READ, BACKEND_BACKGROUND, "f", 1000);
	submit(&background[1], BACKEND_BACKGROUND);
	ask(&demand, BACKEND_READ, BACKEND_DEMAND, "f", 1000);
	sem_wait(&demand.done);
	ck_assert_int_eq(sem_trywait(&background[0].done), -1);
	ck_assert_int_eq(sem_trywait(&background[1].done), -1);
	gate_share(core.retriever->gate, here, 0, 0);
	sem_wait(&background[0].done);
	sem_wait(&background[1].done);
	cap_close(other);
	gate_share(core.retriever->gate, NULL, 0, 0);
	cap_close(here);
	core_free(&core);
}
END_TEST

/* ---- yielding ---- */

static GMutex late_lock;
static GQueue late = G_QUEUE_INIT;

/* Answered by answer_late(). */
static int keep_late(struct fake_backend *fake, struct backend_request *req)
{
	g_mutex_lock(&late_lock);
	g_queue_push_tail(&late, req);
	g_mutex_unlock(&late_lock);
	return FAKE_LATER;
}

static bool answer_late(void)
{
	struct backend_request *req;

	g_mutex_lock(&late_lock);
	req = g_queue_pop_head(&late);
	g_mutex_unlock(&late_lock);
	if (req)
		backend_complete(req, 0);
	return req != NULL;
}

/* The background's requests are held at the window, demand is not (I11), and all of them come. */
START_TEST(a_window)
{
	struct fake_backend fake = {.base.ops = &fake_backend_ops, .answer = keep_late};
	struct gate *gate = gate_new(&fake.base, 0);
	struct call background[3 * YIELD_START], demand[GATE_FOREGROUND / 2];

	gate_yield(gate, 1000);
	for (size_t i = 0; i < G_N_ELEMENTS(background); i++) {
		fill_call(&background[i], BACKEND_BACKGROUND, 0);
		gate_submit(gate, &background[i].req);
	}
	ck_assert_uint_eq(g_queue_get_length(&late), YIELD_START);
	ck_assert_uint_eq(gate_yielding(gate).under_way, YIELD_START);
	for (size_t i = 0; i < G_N_ELEMENTS(demand); i++) {
		fill_call(&demand[i], BACKEND_DEMAND, 0);
		gate_submit(gate, &demand[i].req);
	}
	ck_assert_uint_eq(g_queue_get_length(&late), YIELD_START + G_N_ELEMENTS(demand));
	while (answer_late())
		;
	for (size_t i = 0; i < G_N_ELEMENTS(background); i++)
		sem_wait(&background[i].done);
	for (size_t i = 0; i < G_N_ELEMENTS(demand); i++)
		sem_wait(&demand[i].done);
	ck_assert_uint_eq(gate_yielding(gate).under_way, 0);
	gate_close(gate);
	gate_free(gate);
}
END_TEST

/* Answered at once; what counts is when. */
static void ask_with_data(struct call *call, uint32_t count)
{
	ask(call, BACKEND_XATTRS, BACKEND_BACKGROUND, "f", count);
}

/* What comes with answers takes memory until somebody says that it is gone. */
START_TEST(bytes_that_are_carried_are_bounded)
{
	struct call calls[5], demand;

	start();
	for (size_t i = 0; i < 4; i++)
		ask_with_data(&calls[i], GATE_CARRIED / 3 + 1);
	for (size_t i = 0; i < 3; i++)
		sem_wait(&calls[i].done);
	ask_with_data(&calls[4], 0); /* not before the fourth */
	submit(&demand, BACKEND_DEMAND);
	sem_wait(&demand.done);
	gate_pause(core.retriever->gate, false); /* looks at what is held */
	ck_assert_int_eq(sem_trywait(&calls[3].done), -1);
	gate_carried(core.retriever->gate, &calls[0].req);
	sem_wait(&calls[3].done);
	sem_wait(&calls[4].done);
	for (size_t i = 1; i < 4; i++)
		gate_carried(core.retriever->gate, &calls[i].req);
	for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
		source_xattrs_free(calls[i].req.xattrs);
	core_free(&core);
}
END_TEST

/* ---- what the old server puts off ---- */

#define LATER 1 /* as an offset: it is put off */

static enum { OF_THE_OBJECT, GRACE, HERE, AT_LEISURE } reason;
#define SENSELESS 2

static atomic_int later; /* so many times, each */

static int put_off(struct fake_backend *fake, struct backend_request *req)
{
	if (req->offset == SENSELESS)
		return atomic_fetch_sub(&later, 1) > 0 ? -EBADMSG : 0;
	req->grace = reason == GRACE;
	req->here = reason == HERE;
	req->at_leisure = reason == AT_LEISURE;
	if (req->offset != LATER || (int)req->attempts >= later)
		return req->op != BACKEND_READDIR || (req->cookie == 5 && req->verf == 6)
			       ? 0
			       : -EBADMSG;
	req->cookie = 999; /* what a failed attempt leaves behind */
	return -EAGAIN;
}

/* In place of the library's: it stands while there is a fake server, but for what passes in
 * status_of(). */
static _Atomic gint64 stands;

gint64 g_get_monotonic_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return stands ? stands : ts.tv_sec * G_USEC_PER_SEC + ts.tv_nsec / 1000;
}

static struct fake_backend offline;

static struct gate *open_offline(int times)
{
	offline = (struct fake_backend){.base.ops = &fake_backend_ops, .answer = put_off};
	later = times;
	stands = g_get_monotonic_time();
	return gate_new(&offline.base, 0);
}

static void end_offline(struct gate *gate)
{
	gate_close(gate);
	ck_assert_uint_eq(gate_pausing(gate), 0);
	gate_free(gate);
	stands = 0;
}

static void submit_to(struct gate *gate, struct call *call, enum backend_priority priority,
		      uint64_t offset)
{
	fill_call(call, priority, offset);
	gate_submit(gate, &call->req);
}

/* The gate's timer runs here. */
static int status_of(struct call *call)
{
	for (; sem_trywait(&call->done); stands += 100 * G_TIME_SPAN_MILLISECOND)
		g_main_context_iteration(NULL, TRUE);
	return call->req.status;
}

static bool is_done(struct call *call)
{
	int n;

	sem_getvalue(&call->done, &n);
	return n;
}

/* However many there are, of clients or of the background. */
START_TEST(what_is_put_off_has_no_place)
{
	struct gate *gate = open_offline(INT_MAX);
	struct call *calls = g_new(struct call, GATE_FOREGROUND + YIELD_START), others[3];
	const unsigned n = GATE_FOREGROUND + YIELD_START;

	gate_yield(gate, 1000);
	for (unsigned i = 0; i < n; i++)
		submit_to(gate, &calls[i],
			  i < GATE_FOREGROUND ? BACKEND_DEMAND : BACKEND_BACKGROUND, LATER);
	ck_assert_uint_eq(gate_pausing(gate), n);
	ck_assert_uint_eq(gate_yielding(gate).under_way, 0);
	ck_assert(gate_demand_is_put_off(gate));
	for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
		submit_to(gate, &others[i], i, 0);
		ck_assert(is_done(&others[i]));
	}
	end_offline(gate);
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(status_of(&calls[i]), -ECANCELED);
	g_free(calls);
}
END_TEST

/* As it was asked for at first, and later each time. */
START_TEST(what_is_put_off_is_asked_again)
{
	struct gate *gate = open_offline(3);
	const gint64 began = g_get_monotonic_time();
	struct call call;

	fill_call(&call, BACKEND_DEMAND, LATER);
	call.req.op = BACKEND_READDIR;
	call.req.cookie = 5;
	call.req.verf = 6;
	gate_submit(gate, &call.req);
	ck_assert_int_eq(status_of(&call), 0);
	ck_assert_uint_eq(offline.submitted, 4);
	ck_assert_int_ge(g_get_monotonic_time() - began, (50 + 100 + 200) * 1000);
	ck_assert(!gate_demand_is_put_off(gate));
	end_offline(gate);
}
END_TEST

static bool is_it(const struct backend_request *req, const void *arg)
{
	return req == arg;
}

START_TEST(what_is_put_off_can_be_withdrawn)
{
	struct gate *gate = open_offline(INT_MAX);
	struct call calls[2];

	for (unsigned i = 0; i < G_N_ELEMENTS(calls); i++)
		submit_to(gate, &calls[i], BACKEND_DEMAND, LATER);
	gate_withdraw(gate, is_it, &calls[1].req);
	ck_assert(is_done(&calls[1]) && !is_done(&calls[0]));
	ck_assert_int_eq(calls[1].req.status, GATE_WITHDRAWN);
	ck_assert_uint_eq(gate_pausing(gate), 1);
	end_offline(gate);
}
END_TEST

static unsigned attempts_of(struct gate *gate, enum backend_priority priority, bool hurried)
{
	struct call call, other;

	submit_to(gate, &other, BACKEND_DEMAND, 0);
	fill_call(&call, priority, LATER);
	call.req.hurried = hurried;
	gate_submit(gate, &call.req);
	ck_assert_int_eq(status_of(&call), -EAGAIN);
	return call.req.attempts;
}

/* The background waits less and less, until waiting was of use; not where all is put off. */
START_TEST(patience_ends)
{
	struct gate *gate = open_offline(INT_MAX);
	struct call alone, other;

	ck_assert_uint_eq(attempts_of(gate, BACKEND_BACKGROUND, false), GATE_PATIENCE);
	for (unsigned i = GATE_PATIENCE / 2; i; i /= 2)
		ck_assert_uint_eq(attempts_of(gate, BACKEND_BACKGROUND, false), i);
	ck_assert_uint_eq(attempts_of(gate, BACKEND_BACKGROUND, false), 0);
	ck_assert_uint_eq(attempts_of(gate, BACKEND_DEMAND, true), GATE_PATIENCE / 2);
	stands += G_USEC_PER_SEC; /* without another answer */
	submit_to(gate, &alone, BACKEND_BACKGROUND, LATER);
	ck_assert(!is_done(&alone));
	later = 2;
	submit_to(gate, &other, BACKEND_DEMAND, LATER);
	ck_assert_int_eq(status_of(&other), 0);
	later = INT_MAX;
	ck_assert_uint_eq(attempts_of(gate, BACKEND_BACKGROUND, false), GATE_PATIENCE);
	end_offline(gate);
}
END_TEST

START_TEST(what_takes_long_is_not_asked_again)
{
	struct gate *gate = open_offline(INT_MAX);

	reason = AT_LEISURE;
	ck_assert_uint_eq(attempts_of(gate, BACKEND_DEMAND, false), 0);
	reason = OF_THE_OBJECT;
	ck_assert_uint_eq(attempts_of(gate, BACKEND_BACKGROUND, false), GATE_PATIENCE);
	end_offline(gate);
}
END_TEST

/* Where that is not of the object, it waits whatever was in vain before. */
START_TEST(patience_with_what_passes)
{
	struct gate *gate = open_offline(INT_MAX);
	struct call call, other;

	while (attempts_of(gate, BACKEND_BACKGROUND, false))
		;
	reason = _i ? HERE : GRACE;
	later = 1;
	submit_to(gate, &other, BACKEND_DEMAND, 0);
	submit_to(gate, &call, BACKEND_BACKGROUND, LATER);
	ck_assert_int_eq(status_of(&call), 0);
	end_offline(gate);
}
END_TEST

/* What did not come counts for no limit. */
START_TEST(what_is_put_off_costs_nothing)
{
	g_autofree char *path = g_strdup("/tmp/test-gate-cap-XXXXXX");
	struct gate *gate = open_offline(INT_MAX);
	struct call call, other;
	struct cap *cap;

	close(g_mkstemp(path));
	cap = cap_open(path, NULL);
	gate_share(gate, cap, 1, 0);
	gate_throttle(gate, 1000);
	stands += 2 * G_TIME_SPAN_MILLISECOND; /* a token */
	fill_call(&call, BACKEND_BACKGROUND, LATER);
	call.req.op = BACKEND_XATTRS;
	call.req.count = GATE_CARRIED;
	gate_submit(gate, &call.req);
	ck_assert_uint_eq(gate_pausing(gate), 1);
	fill_call(&other, BACKEND_BACKGROUND, 0);
	other.req.op = BACKEND_XATTRS;
	other.req.count = GATE_CARRIED;
	gate_submit(gate, &other.req);
	ck_assert(is_done(&other));
	gate_share(gate, NULL, 0, 0);
	cap_close(cap);
	unlink(path);
	end_offline(gate);
}
END_TEST

/* So many replies that make no sense; of a listing they may mean that the directory has changed. */
START_TEST(senseless_replies)
{
	const bool listing = _i > 3;
	struct gate *gate = open_offline(listing ? 1 : _i);
	struct call call;

	fill_call(&call, BACKEND_DEMAND, SENSELESS);
	call.req.op = listing ? BACKEND_READDIR : BACKEND_READ;
	gate_submit(gate, &call.req);
	ck_assert_int_eq(status_of(&call), _i > 2 ? -EBADMSG : 0);
	ck_assert_uint_eq(offline.submitted, listing ? 1 : MIN(_i, 2) + 1);
	end_offline(gate);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("gate", 60);

	tcase_add_test(tcase, pause_holds_the_background);
	tcase_add_test(tcase, a_closed_gate_answers);
	tcase_add_test(tcase, closing_stops_what_is_let_pass);
	tcase_add_test(tcase, lists_come_first);
	tcase_add_test(tcase, bandwidth);
	tcase_add_test(tcase, short_reads_cost_what_came);
	tcase_add_test(tcase, requests_a_second);
	tcase_add_test(tcase, a_shared_cap);
	tcase_add_test(tcase, a_window);
	tcase_add_test(tcase, bytes_that_are_carried_are_bounded);
	tcase_add_test(tcase, what_is_put_off_has_no_place);
	tcase_add_test(tcase, what_is_put_off_is_asked_again);
	tcase_add_test(tcase, what_is_put_off_can_be_withdrawn);
	tcase_add_test(tcase, patience_ends);
	tcase_add_test(tcase, what_takes_long_is_not_asked_again);
	tcase_add_loop_test(tcase, patience_with_what_passes, 0, 2);
	tcase_add_test(tcase, what_is_put_off_costs_nothing);
	tcase_add_loop_test(tcase, senseless_replies, 1, 5);
	return run_tcase(tcase);
}
