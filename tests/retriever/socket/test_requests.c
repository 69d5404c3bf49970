/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits end: by a cancel, with their peer, or at a budget; and what they held is given back. */
#include "common/protocol.h"
#include "retriever/socket/requests.h"
#include "tests/retriever/core.h"

#include "lib/source/gate.h"
#include "retriever/objects/errors.h"

#include <sys/resource.h>

#define FILES 700 /* more than the old server is asked for at a time */

static struct core core;

static void start(void)
{
	core_make(&core);
	core_source_file(&core, "d/late", 100, 7);
	for (unsigned i = 0; i < FILES; i++) {
		g_autofree char *name = g_strdup_printf("f%u", i);

		core_source_file(&core, name, 100, i);
	}
	core_start(&core);
	close(core_find(&core, "f0", O_RDONLY));
	ck_assert_int_eq(core_wait(core_ask_fill(&core, core_root(&core), 0)), 0);
}

struct asked {
	int fd;
	uint64_t id;
	struct migrate_waiter *waiter;
};

static void ask_all(struct asked *asked)
{
	for (unsigned i = 0; i < FILES; i++) {
		g_autofree char *name = g_strdup_printf("f%u", i);

		asked[i].fd = core_lookup(&core, name, O_RDWR);
		ck_assert_int_ge(asked[i].fd, 0);
		asked[i].waiter = CORE_WAIT(
			w, asked[i].id = migrate_fetch_range(core.volume, asked[i].fd, 0, 100, 0,
							     migrate_waiter_done, w));
	}
}

static unsigned stall(void)
{
	return backend_fault_add(
		core.fault, &(struct fault_rule){.ops = 1 << BACKEND_READ, .action = FAULT_STALL});
}

static void wait_for_objects(guint n)
{
	while (object_table_size(core.retriever->objects) > n)
		g_thread_yield();
}

/* The old server does not answer, and nobody waits any more: what was not asked of it yet is taken
 * back, and what was is bounded. */
START_TEST(i11_cancelled_waits_hold_nothing)
{
	static struct asked asked[FILES];
	unsigned rule;

	start();
	rule = stall();
	ask_all(asked);
	ck_assert(backend_fault_wait(core.fault, rule, GATE_FOREGROUND));
	for (unsigned i = 0; i < FILES; i++)
		migrate_cancel(core.volume, asked[i].id);
	for (unsigned i = 0; i < FILES; i++)
		ck_assert_int_eq(core_wait(asked[i].waiter), -ECANCELED);
	wait_for_objects(GATE_FOREGROUND);
	ck_assert_int_eq(COUNT_GET(core.retriever, demand_waiting), 0);
	ck_assert_uint_eq(backend_fault_in_flight(core.fault), GATE_FOREGROUND);
	backend_fault_remove(core.fault, rule);
	for (unsigned i = 0; i < FILES; i++) {
		ck_assert_int_eq(core_range(&core, asked[i].fd, 0, 100), 0);
		core_expect(asked[i].fd, 0, 100, i);
		close(asked[i].fd);
	}
	core_free(&core);
}
END_TEST

static void wait_for_errors(guint n)
{
	while (errors_count(core.retriever->errors) != n)
		g_usleep(1000);
}

/* It says "later": more wait than there are places, others come at once, and who gives up holds
 * nothing.  It is listed until it comes. */
START_TEST(i12_what_is_put_off_is_listed)
{
	static struct asked asked[FILES];
	unsigned rule;
	int dir;

	start();
	rule = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1 << BACKEND_READ,
								  .action = FAULT_ERROR,
								  .status = -EAGAIN});
	ask_all(asked);
	while (gate_pausing(core.retriever->gate) < FILES)
		g_usleep(1000);
	ck_assert(!retriever_clients_wait(core.retriever));
	dir = core_lookup(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_name_in(&core, dir, "late"), 0);
	close(dir);
	for (unsigned i = 0; i < FILES; i++)
		migrate_cancel(core.volume, asked[i].id);
	for (unsigned i = 0; i < FILES; i++)
		ck_assert_int_eq(core_wait(asked[i].waiter), -ECANCELED);
	wait_for_objects(0);
	ck_assert_uint_eq(gate_pausing(core.retriever->gate), 0);
	wait_for_errors(FILES);
	backend_fault_remove(core.fault, rule);
	for (unsigned i = 0; i < FILES; i++) {
		ck_assert_int_eq(core_range(&core, asked[i].fd, 0, 100), 0);
		core_expect(asked[i].fd, 0, 100, i);
		close(asked[i].fd);
	}
	wait_for_errors(0);
	core_free(&core);
}
END_TEST

START_TEST(i11_a_peer_that_is_gone_holds_nothing)
{
	static struct asked asked[FILES];
	unsigned rule;

	start();
	rule = stall();
	ask_all(asked);
	ck_assert(backend_fault_wait(core.fault, rule, GATE_FOREGROUND));
	core_disconnect(&core);
	wait_for_objects(GATE_FOREGROUND);
	ck_assert_int_eq(COUNT_GET(core.retriever, demand_waiting), 0);
	for (unsigned i = 0; i < FILES; i++)
		close(asked[i].fd);
	backend_fault_remove(core.fault, rule);
	core_free(&core);
}
END_TEST

/* Names that wait for the old server. */
START_TEST(i11_a_cancelled_name)
{
	struct asked names[FILES];
	int root;
	unsigned rule;

	core_make(&core);
	core_source_file(&core, "f", 100, 1);
	core_start(&core);
	rule = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1 << BACKEND_LOOKUP,
								  .action = FAULT_STALL});
	root = core_root(&core);
	for (unsigned i = 0; i < FILES; i++)
		names[i].waiter =
			CORE_WAIT(w, names[i].id = migrate_fetch_name(core.volume, root, "f", 0,
								      migrate_waiter_done, w));
	ck_assert(backend_fault_wait(core.fault, rule, GATE_FOREGROUND));
	for (unsigned i = 0; i < FILES; i++)
		migrate_cancel(core.volume, names[i].id);
	for (unsigned i = 0; i < FILES; i++)
		ck_assert_int_eq(core_wait(names[i].waiter), -ECANCELED);
	ck_assert_uint_eq(backend_fault_in_flight(core.fault), GATE_FOREGROUND);
	backend_fault_remove(core.fault, rule);
	ck_assert_int_eq(core_name_in(&core, root, "f"), 0);
	core_free_with(&core, root);
}
END_TEST

/* Where the process may have no more descriptors, a request is put off and its peer keeps its
 * brackets. */
START_TEST(no_descriptors)
{
	struct rlimit limit, low;
	int fds[4096], n = 0, fd, null;
	uint64_t id;

	core_make(&core);
	core_source_file(&core, "f", 100, 1);
	core_start(&core);
	fd = core_find(&core, "f", O_RDWR);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_WRITE, 0, 10, &id), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = 512;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	while ((null = dup(fd)) >= 0)
		fds[n++] = null;
	ck_assert_int_eq(core_range(&core, fd, 0, 100), -EAGAIN);
	while (n)
		close(fds[--n]);
	setrlimit(RLIMIT_NOFILE, &limit);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 10), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, 100), 0);
	core_free_with(&core, fd);
}
END_TEST

/* The message is received, and nothing more can be opened: clients are told to come again. */
START_TEST(few_descriptors)
{
	struct rlimit limit, low;
	int fds[4096], n = 0, fd, null, ret = -EAGAIN;

	core_make(&core);
	core_source_file(&core, "f", 100, 1);
	core_start(&core);
	fd = core_find(&core, "f", O_RDWR);
	wait_for_objects(0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = 512;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	while ((null = dup(fd)) >= 0)
		fds[n++] = null;
	for (unsigned left = 1; left < 8 && ret == -EAGAIN; left++) {
		close(fds[--n]);
		ret = core_range(&core, fd, 0, 100);
	}
	ck_assert_msg(ret == 0 || ret == -EAGAIN, "%s", g_strerror(-ret));
	while (n)
		close(fds[--n]);
	setrlimit(RLIMIT_NOFILE, &limit);
	ck_assert_int_eq(core_range(&core, fd, 0, 100), 0);
	close(fd);
	core_free(&core);
}
END_TEST

static GKeyFile *ask_control(const char *command)
{
	g_autofree char *text = core_control(&core, command);
	GKeyFile *answer = g_key_file_new();

	ck_assert(g_str_has_prefix(text, "0 "));
	ck_assert(g_key_file_load_from_data(answer, text + 2, -1, G_KEY_FILE_NONE, NULL));
	return answer;
}

static void expect_key(GKeyFile *answer, const char *group, const char *key, const char *value)
{
	g_autofree char *text = g_key_file_get_string(answer, group, key, NULL);

	ck_assert_str_eq(text, value);
}

/* What is open is shown, the oldest first, with what it waits for. */
START_TEST(open_requests_are_described)
{
	static struct asked asked[FILES];
	g_autoptr(GKeyFile) status = NULL;
	unsigned rule;

	start();
	g_autofree char *old = core_path(&core, "f1"), *new = core_path(&core, "\3741");
	rule = stall();
	ask_all(asked);
	ck_assert(backend_fault_wait(core.fault, rule, GATE_FOREGROUND));
	ck_assert_int_eq(rename(old, new), 0);
	status = ask_control("status verbose");
	ck_assert(g_key_file_has_group(status, "request 199"));
	ck_assert(!g_key_file_has_group(status, "request 200"));
	for (unsigned i = 0; i < 200; i++) {
		g_autofree char *group = g_strdup_printf("request %u", i);
		g_autofree char *name = g_strdup_printf(i == 1 ? "/\\374%u" : "/f%u", i);
		g_autofree char *path = g_key_file_get_string(status, group, "path", NULL);

		ck_assert_str_eq(strrchr(path, '/'), name);
		expect_key(status, group, "operation", "range"); /* not this command */
		expect_key(status, group, "waits-for", "the old server");
	}
	backend_fault_remove(core.fault, rule);
	for (unsigned i = 0; i < FILES; i++) {
		ck_assert_int_eq(core_wait(asked[i].waiter), 0);
		close(asked[i].fd);
	}
	core_free(&core);
}
END_TEST

/* *id: whose, or NULL for anybody's, which is then set. */
static bool is_step(const char *event, const char *step, char **id)
{
	g_auto(GStrv) words = g_strsplit(event, " ", 3); /* time, id, step ... */

	if (!g_str_has_prefix(words[2], step) || (*id && strcmp(*id, words[1]) != 0))
		return false;
	if (!*id)
		*id = g_strdup(words[1]);
	return true;
}

static uint64_t next_event(void)
{
	uint64_t next = 0;
	bool more = true;

	while (more) {
		g_autofree char *command = g_strdup_printf("trace %" G_GUINT64_FORMAT, next);
		g_autoptr(GKeyFile) page = ask_control(command);

		next = g_key_file_get_uint64(page, "trace", "next", NULL);
		more = g_key_file_get_boolean(page, "trace", "more", NULL);
	}
	return next;
}

/* Of one request, in order, among others; and the ids of those that share a fetch. */
START_TEST(a_request_is_followed)
{
	static const char *const steps[] = {"received range 0 100 ", "submitted read 0 100 ",
					    "answered read 0 100", "written range 0 100",
					    "replied range 0 100"};
	g_autoptr(GKeyFile) events = NULL;
	g_auto(GStrv) keys = NULL;
	g_autofree char *command = NULL, *id = NULL, *other = NULL;
	struct migrate_waiter *waiters[2];
	unsigned rule, n = 0, shared = 0;
	uint64_t next;
	int fd;

	start();
	fd = core_lookup(&core, "f5", O_RDWR);
	next = next_event();
	rule = stall();
	waiters[0] = core_ask_range(&core, fd, 0, 100, 0);
	waiters[1] = core_ask_range(&core, fd, 0, 50, 0);
	ck_assert(backend_fault_wait(core.fault, rule, 1));
	while (COUNT_GET(core.retriever, demand_waiting) < 2)
		g_thread_yield();
	backend_fault_remove(core.fault, rule);
	ck_assert_int_eq(core_wait(waiters[0]), 0);
	ck_assert_int_eq(core_wait(waiters[1]), 0);
	command = g_strdup_printf("trace %" G_GUINT64_FORMAT, next);
	events = ask_control(command);
	expect_key(events, "trace", "overwritten", "0");
	keys = g_key_file_get_keys(events, "events", NULL, NULL);
	for (char **key = keys; key && *key; key++) {
		g_autofree char *event = g_key_file_get_string(events, "events", *key, NULL);

		n += n < G_N_ELEMENTS(steps) && is_step(event, steps[n], &id);
		shared += is_step(event, "shared range 0 50 ", &other);
	}
	ck_assert_msg(n == G_N_ELEMENTS(steps), "no %s", steps[n % G_N_ELEMENTS(steps)]);
	ck_assert_uint_eq(shared, 1);
	ck_assert_str_ne(id, other);
	core_free_with(&core, fd);
}
END_TEST

static void count_reply(void *peer, const struct migrate_frame *frame)
{
	++*(unsigned *)peer;
}

/* A command that was told to come again at the new start, and comes before that, is left to it. */
START_TEST(too_early_for_a_new_start)
{
	struct migrate_frame frame = {
		.op = MIGRATE_OP_CONTROL, .id = 1, .text = "dance", .text_len = 5};
	unsigned replies = 0;
	struct requests *requests;

	start();
	requests = requests_new(core.retriever, &(struct trace_id){0}, count_reply, &replies);
	g_atomic_int_set(&core.retriever->reopen, 1);
	ck_assert(requests_handle(requests, &frame, NULL, 0));
	ck_assert_uint_eq(replies, 0);
	g_atomic_int_set(&core.retriever->reopen, 0);
	ck_assert(requests_handle(requests, &frame, NULL, 0));
	ck_assert_uint_eq(replies, 1);
	requests_end(requests);
	core_free(&core);
}
END_TEST

/* What was fetched is durable then, so that nothing of the file is missing. */
START_TEST(a_sync_ends)
{
	int fd;

	core_make(&core);
	core_source_file(&core, "f", 100, 1);
	core_start(&core);
	fd = core_find(&core, "f", O_RDONLY);
	ck_assert_int_eq(core_range(&core, fd, 0, 100), 0);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("requests", 60);

	tcase_add_test(tcase, i11_cancelled_waits_hold_nothing);
	tcase_add_test(tcase, i12_what_is_put_off_is_listed);
	tcase_add_test(tcase, i11_a_peer_that_is_gone_holds_nothing);
	tcase_add_test(tcase, i11_a_cancelled_name);
	tcase_add_test(tcase, no_descriptors);
	tcase_add_test(tcase, few_descriptors);
	tcase_add_test(tcase, open_requests_are_described);
	tcase_add_test(tcase, a_request_is_followed);
	tcase_add_test(tcase, too_early_for_a_new_start);
	tcase_add_test(tcase, a_sync_ends);
	return run_tcase(tcase);
}
