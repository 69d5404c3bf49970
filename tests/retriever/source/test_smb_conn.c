/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The retriever's side of an SMB source, before workers that do what they like. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <stdio.h>

#include "source/smb/smb.h"
#include "source/smb/smb_conn.h"
#include "backend_support.h"

#define MANY 200

static char *dir, *secret;
static struct backend *backend;

static struct backend *open_share(const char *share, char **message)
{
	g_autofree char *url = g_strdup_printf("smb://user@host/%s%s", share, dir);
	const struct smb_config smb = {.password_file = secret};
	const struct backend_config config = {
		.url = url, .smb = &smb, .connections = 2, .demand_connections = 1, .window = 4};
	struct source_object root = {0};
	struct source_attr attr;
	GError *error = NULL;
	struct backend *opened = backend_smb_ops.open(&config, &root, &attr, &error);

	source_object_clear(&root);
	if (message)
		*message = error ? g_strdup(error->message) : NULL;
	g_clear_error(&error);
	return opened;
}

static void open_it(void)
{
	int fd;

	dir = g_dir_make_tmp("smb-conn-XXXXXX", NULL);
	fd = g_file_open_tmp("smb-secret-XXXXXX", &secret, NULL);
	ck_assert_int_eq(write(fd, "secret\nmore\n", 12), 12);
	close(fd);
	backend = open_share("good", NULL);
	ck_assert_ptr_nonnull(backend);
}

static void close_it(void)
{
	const char *name;
	GDir *list = g_dir_open(dir, 0, NULL);

	if (backend)
		backend->ops->close(backend);
	while ((name = g_dir_read_name(list))) {
		g_autofree char *path = g_build_filename(dir, name, NULL);

		g_unlink(path);
	}
	g_dir_close(list);
	g_rmdir(dir);
	g_unlink(secret);
	g_free(dir);
	g_free(secret);
}

START_TEST(requests_are_answered)
{
	struct backend_request req;
	struct source_attr attr;

	ck_assert_uint_eq(backend->ops->max_read(backend), 65536);
	ck_assert_int_eq(get_attr(backend, by_path("file"), &attr), 0);
	ck_assert_uint_eq(attr.fileid, 5);
	ck_assert_int_eq(read_at(backend, by_path("file"), 7, 1000, &req), 0);
	ck_assert_uint_eq(req.data_len, 1000);
	ck_assert_uint_eq(req.data[0], 7);
	ck_assert_uint_eq(req.data[999], 7);
	g_free((void *)req.data);
	ck_assert_uint_eq(backend->ops->away(backend), 0);
}
END_TEST

START_TEST(some_need_no_answer)
{
	struct source_object nothing = {0}, found;
	struct source_attr attr;
	char name[257];

	memset(name, 'n', 256);
	name[256] = '\0';
	ck_assert_int_eq(get_attr(backend, nothing, &attr), -ESTALE);
	ck_assert_int_eq(get_attr(backend, by_path("a/../b"), &attr), -ENOENT);
	ck_assert_int_eq(look_up(backend, by_path(""), "..", &found, NULL), -ENOENT);
	ck_assert_int_eq(look_up(backend, by_path(""), name, &found, NULL), -ENAMETOOLONG);
}
END_TEST

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

START_TEST(what_makes_workers_crash_is_given_up)
{
	struct source_attr attr;

	ck_assert_int_eq(get_attr(backend, by_path("crash"), &attr), -EBADMSG);
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

/* ---- many ---- */

struct many {
	struct gate gate;
	struct backend_request reqs[MANY];
	atomic_uint good, cancelled;
};

static void many_done(struct backend_request *req)
{
	struct many *many = req->user;

	if (req->status == 0)
		atomic_fetch_add(&many->good, 1);
	if (req->status == -ECANCELED)
		atomic_fetch_add(&many->cancelled, 1);
	gate_pass(&many->gate);
}

static struct many *submit_many(const char *path, enum backend_priority priority)
{
	struct many *many = g_new0(struct many, 1);

	gate_init(&many->gate);
	for (unsigned i = 0; i < MANY; i++) {
		many->reqs[i] = (struct backend_request){.op = BACKEND_GETATTR,
							 .priority = priority,
							 .object = by_path(path),
							 .done = many_done,
							 .user = many};
		backend->ops->submit(backend, &many->reqs[i]);
	}
	return many;
}

START_TEST(demand_does_not_wait_for_others)
{
	struct many *held = submit_many("hold", BACKEND_BACKGROUND);
	struct source_attr attr;

	for (unsigned i = 0; i < 20; i++)
		ck_assert_int_eq(get_attr(backend, by_path("file"), &attr), 0);
	ck_assert_uint_eq(gate_count(&held->gate), 0);
	backend->ops->close(g_steal_pointer(&backend));
	ck_assert_uint_eq(gate_count(&held->gate), MANY);
	ck_assert_uint_eq(held->cancelled, MANY);
	g_free(held);
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
		ck_assert_int_eq(reqs[i].status, i ? 0 : -EBADMSG);
	}
}
END_TEST

/* ---- whose turn it is ---- */

#define CONNECTIONS 3 /* of open_share() */

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

	smb_set_time(SMB_TURN, 60000); /* however long a worker takes to start */
	backend->ops->close(backend);
	backend = open_share(share, NULL);
	ck_assert_ptr_nonnull(backend);
	log_ons(at, CONNECTIONS); /* those that are under way when the first is lost do not wait */
}

/* One is lost while another, which was lost before, tries: it waits for that. */
START_TEST(one_at_a_time_tries)
{
	struct backend_request demand = {.object = by_path("once-end")};
	struct backend_request background = {.object = by_path("once-crash"),
					     .priority = BACKEND_BACKGROUND};
	struct timespec at[CONNECTIONS + 2];
	struct waited waited[2] = {0};

	open_with_log_ons("turns");
	for (unsigned i = 0; i < 2; i++) {
		struct backend_request *req = i ? &background : &demand;

		gate_init(&waited[i].gate);
		req->op = BACKEND_GETATTR;
		req->done = waited_done;
		req->user = &waited[i];
		backend->ops->submit(backend, req);
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

	smb_set_time(SMB_REFUSED, 400);
	open_with_log_ons("changes");
	many = submit_many("end-early", BACKEND_BACKGROUND);
	ck_assert_int_eq(get_attr(backend, by_path("end-early"), &attr), 0);
	gate_wait(&many->gate, MANY);
	g_free(many);
	log_ons(at, G_N_ELEMENTS(at));
	for (unsigned i = CONNECTIONS + 1; i < G_N_ELEMENTS(at); i++)
		ck_assert_int_ge(ms_between(&at[i - 1], &at[i]), 390);
}
END_TEST

/* ---- what is said ---- */

static const struct {
	const char *share, *words;
} refusals[] = {
	{"fails-4-c000006d", "wrong user name or password"},
	{"fails-5-0", "guest"},
	{"fails-6-c00000bb", "cannot encrypt"},
	{"fails-7-c00000cc", "no share"},
	{"fails-8-c0000034", "no directory"},
	{"fails-9-c0000103", "not a directory"},
	{"fails-3-c000020d", "does not speak SMB 2"},
	{"fails-12-c000006d", "did not accept the ticket of user"},
	{"fails-13-96c73a07",
	 "no ticket for cifs/host with that of user: the realm knows no server"},
	{"fails-13-96c73a20", "it has expired"},
	{"fails-13-96c73a3c", "(Kerberos error -1765328324): try kvno cifs/host"},
	{"file", "make no sense"},
};

START_TEST(what_is_wrong_is_said)
{
	g_autofree char *message = NULL;

	ck_assert_ptr_null(open_share(refusals[_i].share, &message));
	ck_assert_msg(strstr(message, refusals[_i].words), "%s", message);
	ck_assert_msg(g_str_has_prefix(message, "smb://user@host/"), "%s", message);
	ck_assert_ptr_null(strchr(message, '\n'));
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("backend: smb connections");
	TCase *tcase = tcase_create("connections");
	g_autofree char *here = g_path_get_dirname(argv[0]);
	g_autofree char *worker = g_build_filename(here, "fake_worker", NULL);

	g_setenv("MIGRATE_SMB_WORKER", worker, TRUE);
	g_log_set_default_handler(plain_log, NULL);
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, open_it, close_it);
	tcase_add_test(tcase, requests_are_answered);
	tcase_add_test(tcase, some_need_no_answer);
	tcase_add_loop_test(tcase, workers_are_started_again, 0, G_N_ELEMENTS(troubles));
	tcase_add_test(tcase, what_makes_workers_crash_is_given_up);
	tcase_add_test(tcase, listings_begin_again_with_a_new_worker);
	tcase_add_test(tcase, demand_does_not_wait_for_others);
	tcase_add_test(tcase, all_come_through_though_workers_end);
	tcase_add_test(tcase, innocents_outlive_a_poisonous_one);
	tcase_add_test(tcase, one_at_a_time_tries);
	tcase_add_test(tcase, a_password_that_is_changed);
	tcase_add_loop_test(tcase, what_is_wrong_is_said, 0, G_N_ELEMENTS(refusals));
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
