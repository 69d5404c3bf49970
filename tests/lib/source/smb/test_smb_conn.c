/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The retriever's side of an SMB source, before workers that do what they like. */
#include <sched.h>

#include "lib/source/smb/smb_conn.h"
#include "tests/retriever/smb_share.h"

#define CONNECTIONS 3 /* of open_share() */
#define WINDOW	    4 /* likewise */
#define SPARES	    6

/* Whatever a worker does first, its request is answered by the next. */
static const char *const troubles[] = {"once-end",	  "once-crash",	       "once-hang",
				       "once-wrong-slot", "once-wrong-serial", "once-wrong-version",
				       "once-wrong-type", "once-wrong-hello",  "once-wrong-length"};

START_TEST(workers_are_started_again)
{
	struct source_attr attr;

	/* only here: one that gets no processor for so long is taken for one that hangs */
	smb_set_time(SMB_STALL, 200);
	backend->ops->close(backend);
	backend = open_share("good", NULL);
	ck_assert_int_eq(get_attr(backend, by_path(troubles[_i]), &attr), 0);
	ck_assert_uint_eq(attr.fileid, 5);
	ck_assert_int_eq(get_attr(backend, by_path("file"), &attr), 0);
}
END_TEST

/* The worker crashes, the server ends the connection, the answer makes no sense, none comes. */
static const char *const endings[] = {"crash", "end", "wrong-slot", "hang"};

START_TEST(what_ends_connections_is_given_up)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .object = by_path(endings[_i])};
	struct source_attr attr;

	smb_set_time(SMB_STALL, 200);
	backend->ops->close(backend);
	backend = open_share("good", NULL);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(run(backend, &req), -EREMOTEIO);
		ck_assert_int_eq(req.why, QM_CONNECTION_ENDS);
		ck_assert_int_eq(get_attr(backend, by_path("file"), &attr), 0);
	}
}
END_TEST

/* Though each time the listing begins anew, and its beginning is fine. */
START_TEST(what_makes_them_crash_later_is_given_up)
{
	struct backend_request req = {.op = BACKEND_READDIR, .object = by_path("crash-later")};
	struct source_attr attr;
	unsigned restarts = 0;
	int ret = 0;

	smb_set_time(SMB_HOLD, 0);
	smb_set_time(SMB_LOSS, 1);
	for (unsigned i = 0; i < 2; i++) {
		do {
			req.cookie = req.verf = 0;
			ck_assert_int_eq(run(backend, &req), 0);
			backend_batch_free(req.batch);
			ret = run(backend, &req);
		} while (ret == -EBADMSG && ++restarts < 10);
		ck_assert_int_eq(ret, -EREMOTEIO);
	}
	ck_assert_uint_eq(restarts, 2); /* the second time it is tried alone, once */
	ck_assert_int_eq(get_attr(backend, by_path("file"), &attr), 0);
}
END_TEST

START_TEST(listings_begin_again_with_a_new_worker)
{
	struct backend_request req = {.op = BACKEND_READDIR, .object = by_path("dir")};
	struct source_attr attr;

	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(run(backend, &req), 0);
		ck_assert(!req.eof);
		ck_assert_uint_eq(req.cookie, i + 1);
		backend_batch_free(req.batch);
	}
	ck_assert_int_eq(get_attr(backend, by_path("once-end"), &attr), 0);
	ck_assert_int_eq(run(backend, &req), -EBADMSG);
	req.cookie = req.verf = 0;
	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert_uint_eq(req.cookie, 1);
	backend_batch_free(req.batch);
	/* of a connection that there is not */
	req.verf = UINT64_C(9) << 32 | 1;
	ck_assert_int_eq(run(backend, &req), -EBADMSG);
}
END_TEST

/* Also on a spare that was ended meanwhile, and is not needed for anything else. */
START_TEST(the_rest_of_a_listing_is_answered)
{
	for (unsigned i = 0; i < 1 + SPARES; i++) {
		struct backend_request req = {.op = BACKEND_READDIR,
					      .object = by_path("dir"),
					      .cookie = 1,
					      .verf = (uint64_t)(i + 1) << 32 | 77};

		ck_assert_int_eq(run(backend, &req), -EBADMSG);
	}
}
END_TEST

START_TEST(all_come_through_though_workers_end)
{
	struct many *many = submit_many("file", BACKEND_BACKGROUND);
	struct source_attr attr;

	ck_assert_int_eq(get_attr(backend, by_path("once-crash"), &attr), 0);
	gate_wait(&many->gate, MANY);
	ck_assert_uint_eq(many->good, MANY);
	g_free(many);
}
END_TEST

/* Only what kills workers is given up, not what was under way with it. */
START_TEST(innocents_outlive_a_poisonous_one)
{
	struct waited waited[4] = {0};
	struct backend_request reqs[4];

	for (unsigned i = 0; i < G_N_ELEMENTS(reqs); i++) {
		gate_init(&waited[i].gate);
		reqs[i] = (struct backend_request){.op = BACKEND_GETATTR,
						   .object = by_path(i ? "innocent" : "poison"),
						   .done = waited_done,
						   .user = &waited[i]};
		backend->ops->submit(backend, &reqs[i]);
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(reqs); i++) {
		gate_wait(&waited[i].gate, 1);
		ck_assert_int_eq(reqs[i].status, i ? 0 : -EREMOTEIO);
	}
}
END_TEST

/* How many there were. */
static long count_log_ons(void)
{
	g_autofree char *path = g_build_filename(dir, "log-ons", NULL);
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size / (long)sizeof(struct timespec);
}

/* Whatever is asked for ends the connection, though the server lets us in: nothing is given up. */
START_TEST(an_outage_is_nobodys_fault)
{
	g_autofree char *path = g_build_filename(dir, "outage", NULL);
	struct source_attr attr;
	struct many *many;

	smb_set_time(SMB_LOSS, 1);
	backend->ops->close(backend);
	backend = open_share("counted", NULL);
	ck_assert_int_eq(get_attr(backend, by_path("other"), &attr), 0);
	ck_assert(g_file_set_contents(path, "", 0, NULL));
	many = submit_many("file", BACKEND_BACKGROUND);
	while (count_log_ons() < 30)
		sched_yield();
	ck_assert_uint_eq(gate_count(&many->gate), 0);
	ck_assert_int_eq(g_unlink(path), 0);
	gate_wait(&many->gate, MANY);
	ck_assert_uint_eq(many->good, MANY);
	g_free(many);
}
END_TEST

/* The server is not made to log us on again and again, the others are answered, and what cannot be
 * tried now keeps no place. */
START_TEST(log_ons_are_few)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .object = by_path("end")};
	struct source_attr attr;
	struct many *many;
	unsigned given_up = 0, at_leisure = 0;

	smb_set_time(SMB_LOSS, 60000);
	smb_set_time(SMB_HOLD, 0);
	backend->ops->close(backend);
	backend = open_share("counted", NULL);
	ck_assert_int_eq(run(backend, &req), -EREMOTEIO);
	ck_assert_int_le(count_log_ons(), CONNECTIONS + SPARES + 12);
	many = submit_many("end", BACKEND_DEMAND);
	for (unsigned i = 0; i < 20; i++)
		ck_assert_int_eq(get_attr(backend, by_path("file"), &attr), 0);
	gate_wait(&many->gate, MANY);
	for (unsigned i = 0; i < MANY; i++) {
		given_up += many->reqs[i].status == -EREMOTEIO;
		at_leisure += many->reqs[i].at_leisure;
		ck_assert(many->reqs[i].status == -EAGAIN || many->reqs[i].status == -EREMOTEIO);
	}
	ck_assert_uint_le(given_up, 1); /* by the trial that was let in last */
	ck_assert_uint_ge(at_leisure, MANY / 2);
	ck_assert_int_le(count_log_ons(), CONNECTIONS + SPARES + 12);
	g_free(many);
}
END_TEST

/* What was given up ends no connection for a while, but when an administrator retries. */
START_TEST(what_was_given_up_is_left_alone)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .object = by_path("end")};
	const long all = CONNECTIONS + SPARES + 4; /* one is there again; of the trials the third */

	backend->ops->close(backend);
	backend = open_share("counted", NULL);
	ck_assert_int_eq(run(backend, &req), -EREMOTEIO);
	while (count_log_ons() < all)
		sched_yield();
	for (unsigned i = 0; i < MANY; i++) {
		req.why = QM_NONE;
		ck_assert_int_eq(run(backend, &req), -EREMOTEIO);
		ck_assert_int_eq(req.why, QM_CONNECTION_ENDS);
	}
	ck_assert_int_eq(count_log_ons(), all);
	backend_retry(backend);
	ck_assert_int_eq(run(backend, &req), -EREMOTEIO);
	while (count_log_ons() < all + 1)
		sched_yield();
}
END_TEST

/* Others do not wait with what their connection waits for: long before that is ended, they are
 * asked on other ones. */
START_TEST(nobody_joins_what_hangs)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .object = by_path("hang")};
	struct waited waited = {0};
	struct many *many;

	smb_set_time(SMB_STALL, 3600000);
	backend->ops->close(backend);
	backend = open_share("good", NULL);
	gate_init(&waited.gate);
	req.done = waited_done;
	req.user = &waited;
	backend->ops->submit(backend, &req);
	many = submit_many("file", BACKEND_DEMAND);
	gate_wait(&many->gate, MANY - WINDOW + 1);
	backend->ops->close(backend);
	backend = NULL;
	ck_assert_uint_ge(many->good, MANY - WINDOW + 1);
	ck_assert_int_eq(req.status, -ECANCELED);
	g_free(many);
}
END_TEST

/* A call that has to be made again is seen twice. */
START_TEST(steps_of_a_request)
{
	static const enum trace_step steps[] = {TRACE_SENT, TRACE_SENT, TRACE_REPLY,
						TRACE_ANSWERED};
	struct backend_request req = {.op = BACKEND_GETATTR,
				      .object = by_path("once-end"),
				      .trace = {.peer = "door", .request = 57}};
	struct trace_event events[10];
	unsigned n;

	ck_assert_int_eq(run(backend, &req), 0);
	trace_read(0, events, G_N_ELEMENTS(events), &n);
	ck_assert_uint_eq(n, G_N_ELEMENTS(steps));
	for (unsigned i = 0; i < n; i++) {
		ck_assert_int_eq(events[i].step, steps[i]);
		ck_assert_uint_eq(events[i].id.request, 57);
		ck_assert_int_eq(events[i].result, 0);
	}
	ck_assert_uint_eq(events[1].number, events[2].number);
}
END_TEST

/* ---- whose turn it is ---- */

/* Waits for so many log-ons; their times. */
static void log_ons(struct timespec *at, size_t n)
{
	g_autofree char *path = g_build_filename(dir, "log-ons", NULL);
	int fd = -1;

	while (fd < 0 || pread(fd, at, n * sizeof(*at), 0) < (ssize_t)(n * sizeof(*at))) {
		if (fd < 0)
			fd = open(path, O_RDONLY);
		sched_yield();
	}
	close(fd);
}

static int64_t ms_between(const struct timespec *a, const struct timespec *b)
{
	return (b->tv_sec - a->tv_sec) * 1000 + (b->tv_nsec - a->tv_nsec) / 1000000;
}

static void open_with_log_ons(const char *share)
{
	struct timespec at[CONNECTIONS];

	smb_set_time(SMB_TRUST, 0);
	smb_set_time(SMB_TURN, 60000); /* however long a worker takes to start */
	backend->ops->close(backend);
	backend = open_share(share, NULL);
	ck_assert_ptr_nonnull(backend);
	log_ons(at, CONNECTIONS); /* those that are under way when the first is lost do not wait */
}

/* One is lost while another, which was lost before, tries: it waits for that, though a third is
 * heard of only now that was let in before. */
START_TEST(one_at_a_time_tries)
{
	static const char *const paths[] = {"once-end", "once-crash"};
	struct backend_request reqs[G_N_ELEMENTS(paths)];
	struct timespec at[CONNECTIONS + 2];
	struct waited waited[2] = {0};

	open_with_log_ons("turns");
	for (unsigned i = 0; i < 2; i++) {
		gate_init(&waited[i].gate);
		reqs[i] = (struct backend_request){.op = BACKEND_GETATTR,
						   .priority = BACKEND_BACKGROUND,
						   .object = by_path(paths[i]),
						   .done = waited_done,
						   .user = &waited[i]};
		backend->ops->submit(backend, &reqs[i]);
		log_ons(at, CONNECTIONS + 1 + i);
	}
	for (unsigned i = 0; i < 2; i++)
		gate_wait(&waited[i].gate, 1);
	ck_assert_int_ge(ms_between(&at[CONNECTIONS], &at[CONNECTIONS + 1]), 490);
}
END_TEST

/* Each log-on that is refused counts there: all connections together take their time. */
START_TEST(a_password_that_is_changed)
{
	struct timespec at[6];
	struct source_attr attr;
	struct many *many;
	int ret;

	smb_set_time(SMB_REFUSED, 400);
	open_with_log_ons("changes");
	many = submit_many("end-early", BACKEND_BACKGROUND);
	while ((ret = get_attr(backend, by_path("end-early"), &attr)) == -EAGAIN)
		sched_yield(); /* its trial is put off while others are connected */
	ck_assert_int_eq(ret, 0);
	gate_wait(&many->gate, MANY);
	g_free(many);
	log_ons(at, G_N_ELEMENTS(at));
	for (unsigned i = CONNECTIONS + 1; i < G_N_ELEMENTS(at); i++)
		ck_assert_int_ge(ms_between(&at[i - 1], &at[i]), 390);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tcase = worker_tcase(argv[0]);

	tcase_add_checked_fixture(tcase, open_it, close_it);
	tcase_add_loop_test(tcase, workers_are_started_again, 0, G_N_ELEMENTS(troubles));
	tcase_add_loop_test(tcase, what_ends_connections_is_given_up, 0, G_N_ELEMENTS(endings));
	tcase_add_test(tcase, what_makes_them_crash_later_is_given_up);
	tcase_add_test(tcase, listings_begin_again_with_a_new_worker);
	tcase_add_test(tcase, the_rest_of_a_listing_is_answered);
	tcase_add_test(tcase, all_come_through_though_workers_end);
	tcase_add_test(tcase, innocents_outlive_a_poisonous_one);
	tcase_add_test(tcase, an_outage_is_nobodys_fault);
	tcase_add_test(tcase, log_ons_are_few);
	tcase_add_test(tcase, what_was_given_up_is_left_alone);
	tcase_add_test(tcase, nobody_joins_what_hangs);
	tcase_add_test(tcase, steps_of_a_request);
	tcase_add_test(tcase, one_at_a_time_tries);
	tcase_add_test(tcase, a_password_that_is_changed);
	return run_tcase(tcase);
}
