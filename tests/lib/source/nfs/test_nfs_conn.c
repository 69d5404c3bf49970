/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections that break, stall and get nonsense. */
#include <sched.h>
#include <sys/resource.h>

#include "lib/base/thread.h"
#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_nfs.h"

static struct fake *fake;
static struct backend *backend;
static struct source_object root;
static atomic_uint seen; /* calls of interest */

static void start(enum fake_action (*hook)(struct fake_call *call), unsigned connections)
{
	GError *error = NULL;

	atomic_store(&seen, 0);
	fake = fake_start(hook, NULL);
	backend = fake_open(fake, "/x", "", connections, &root, &error);
	if (!backend)
		ck_abort_msg("%s", error->message);
}

static void end(void)
{
	if (backend)
		backend->ops->close(g_steal_pointer(&backend));
	if (fake)
		fake_stop(g_steal_pointer(&fake));
	source_object_clear(&root);
}

static void check_data(void)
{
	struct backend_request req;

	ck_assert_int_eq(read_at(backend, root, 0, 4096, &req), 0);
	ck_assert_uint_eq(req.data_len, 4);
	ck_assert_mem_eq(req.data, "data", 4);
	ck_assert(req.eof);
	ck_assert(!req.has_attr);
	g_free((void *)req.data);
}

static bool is_read(const struct fake_call *call)
{
	return call->program == NFS_PROGRAM && call->procedure == NFSPROC3_READ;
}

static enum fake_action break_thrice(struct fake_call *call)
{
	if (!is_read(call))
		return FAKE_DEFAULT;
	switch (atomic_fetch_add(&seen, 1)) {
	case 0:
		return FAKE_RESET;
	case 1:
		fake_default(call);
		return FAKE_HALF;
	case 2:
		return FAKE_HALF;
	default:
		return FAKE_DEFAULT;
	}
}

START_TEST(broken_connections_are_made_anew)
{
	start(break_thrice, 1);
	check_data();
	ck_assert_uint_eq(seen, 4);
}
END_TEST

static enum fake_action split(struct fake_call *call)
{
	enum fake_action action = fake_default(call);

	return action == FAKE_REPLY ? FAKE_SPLIT : action;
}

START_TEST(fragments_are_put_together)
{
	start(split, 1);
	check_data();
	check_data();
}
END_TEST

static enum fake_action ignore_once(struct fake_call *call)
{
	if (is_read(call) && atomic_fetch_add(&seen, 1) == 0)
		return FAKE_IGNORE;
	return FAKE_DEFAULT;
}

START_TEST(a_lost_reply_is_asked_for_again)
{
	start(ignore_once, 1);
	backend_nfs_set_stall(backend, 200);
	check_data();
	ck_assert_uint_ge(seen, 2); /* more where 200 ms are not enough for an answer */
}
END_TEST

/* A reply to a call that was never made, one twice, one to a call that was not a call. */
static enum fake_action strangers(struct fake_call *call)
{
	struct fake_conn *conn = &call->fake->conns[call->connection];

	if (!is_read(call))
		return FAKE_DEFAULT;
	fake_default(call);
	rpc_call_finish(&call->out, &(struct rpc_auth){0}, call->start);
	call->start[4] ^= 0x55;
	fake_send(conn->fd, call->start, (size_t)(call->out.p - call->start));
	call->start[4] ^= 0x55;
	call->start[7] ^= 1; /* another slot */
	fake_send(conn->fd, call->start, (size_t)(call->out.p - call->start));
	call->start[7] ^= 1;
	fake_send(conn->fd, call->start, (size_t)(call->out.p - call->start));
	return FAKE_REPLY;
}

START_TEST(replies_nobody_asked_for_are_dropped)
{
	start(strangers, 1);
	for (unsigned i = 0; i < 100; i++)
		check_data();
}
END_TEST

static enum fake_action garble(struct fake_call *call)
{
	if (!is_read(call))
		return FAKE_DEFAULT;
	call->out.p = call->start + 8;
	xdr_put_u32(&call->out, 0xdeadbeef);
	return FAKE_REPLY;
}

START_TEST(a_garbled_reply_fails_its_request)
{
	struct backend_request req;
	struct source_attr attr;

	start(garble, 1);
	ck_assert_int_eq(read_at(backend, root, 0, 100, &req), -EBADMSG);
	ck_assert_int_eq(get_attr(backend, root, &attr), 0);
}
END_TEST

static enum fake_action huge(struct fake_call *call)
{
	if (!is_read(call))
		return FAKE_DEFAULT;
	memset(call->out.p, 0, 2u << 20);
	call->out.p += 2u << 20;
	return FAKE_REPLY;
}

START_TEST(a_record_without_measure_fails_its_request)
{
	struct backend_request req;
	struct source_attr attr;

	start(huge, 1);
	ck_assert_int_eq(read_at(backend, root, 0, 100, &req), -EBADMSG);
	ck_assert_int_eq(get_attr(backend, root, &attr), 0);
}
END_TEST

/* ESTALE for the root at first: a server whose exports are not there yet. */
static enum fake_action late_exports(struct fake_call *call)
{
	if (call->program != NFS_PROGRAM || call->connection < 3)
		return FAKE_DEFAULT;
	if (call->procedure == NFSPROC3_GETATTR && call->args.end - call->args.p > 4 &&
	    memcmp(call->args.p + 4, FAKE_ROOT, 4) == 0 && atomic_fetch_add(&seen, 1) < 3)
		return fake_status(call, 70);
	return FAKE_DEFAULT;
}

START_TEST(exports_may_come_late)
{
	start(late_exports, 1);
	check_data();
	ck_assert_uint_ge(seen, 4);
}
END_TEST

static void pass(struct backend_request *req)
{
	ck_assert_int_eq(req->status, 0);
	gate_pass(req->user);
}

static struct nfs_address address_of(const char *text)
{
	struct nfs_address address = {.len = sizeof(struct sockaddr_in)};
	struct sockaddr_in *in = (struct sockaddr_in *)&address.addr;

	in->sin_family = AF_INET;
	ck_assert_int_eq(inet_pton(AF_INET, text, &in->sin_addr), 1);
	return address;
}

START_TEST(the_address_that_answers_is_asked_first)
{
	/* nobody is at the first */
	struct nfs_address addresses[] = {address_of("127.0.0.2"), address_of("127.0.0.1")};
	static struct nfs_server server;
	struct backend_request req = {.op = BACKEND_GETATTR, .done = pass};
	struct nfs_conn *conn;
	struct gate gate;

	start(NULL, 1);
	server.addresses = addresses;
	server.n_addresses = G_N_ELEMENTS(addresses);
	server.nfs = (struct nfs_service){
		.port = fake->port, .program = NFS_PROGRAM, .version = NFS_VERSION, .fixed = true};
	server.stall_ms = NFS_STALL_MS;
	server.view.root.len = (uint8_t)strlen(FAKE_ROOT);
	memcpy(server.view.root.bytes, FAKE_ROOT, strlen(FAKE_ROOT));
	rpc_auth_init(&server.auth, 0, 0);
	conn = nfs_conn_new(&server, &server.nfs, false, false);
	ck_assert_ptr_nonnull(conn);
	gate_init(&gate);
	req.object = by_handle((const uint8_t *)FAKE_ROOT, (uint8_t)strlen(FAKE_ROOT));
	req.user = &gate;
	nfs_conn_submit(conn, &req);
	gate_wait(&gate, 1);
	ck_assert_uint_eq(server.address, 1);
	nfs_conn_stop(conn);
	nfs_conn_join(conn);
	nfs_conn_free(conn);
}
END_TEST

/* ---- what ends connections ---- */

#define POISON	  "poisonous file"
#define INNOCENTS 16

static enum fake_action ending; /* of whoever reads POISON */
static atomic_bool outage;	/* everybody's READ ends the connection */

static bool is_of_poison(const struct fake_call *call)
{
	struct xdr_in args = call->args;
	uint32_t len;
	const uint8_t *handle = xdr_get_bytes(&args, &len);

	return len == strlen(POISON) && memcmp(handle, POISON, len) == 0;
}

static enum fake_action poison(struct fake_call *call)
{
	if (!is_read(call))
		return FAKE_DEFAULT;
	if (is_of_poison(call) || atomic_load(&outage)) {
		atomic_fetch_add(&seen, 1);
		return atomic_load(&outage) ? FAKE_RESET : ending;
	}
	return FAKE_DEFAULT;
}

static struct source_object poisonous_file(void)
{
	return by_handle((const uint8_t *)POISON, (uint8_t)strlen(POISON));
}

/* Nobody else fails, and the next one who asks is told after one more connection. */
START_TEST(what_ends_connections_is_given_up)
{
	static const enum fake_action endings[] = {FAKE_RESET, FAKE_IGNORE};
	static struct backend_request innocents[INNOCENTS];
	static struct gate gate;
	struct backend_request req;

	gate_init(&gate);
	ending = endings[_i];
	start(poison, 1);
	backend_nfs_set_stall(backend, 300);
	for (unsigned i = 0; i < INNOCENTS; i++) {
		innocents[i] = (struct backend_request){.op = BACKEND_READ,
							.object = root,
							.count = 100,
							.done = pass,
							.user = &gate};
		backend->ops->submit(backend, &innocents[i]);
	}
	ck_assert_int_eq(read_at(backend, poisonous_file(), 0, 100, &req), -EREMOTEIO);
	ck_assert_int_eq(req.why, QM_CONNECTION_ENDS);
	gate_wait(&gate, INNOCENTS);
	ck_assert_uint_le(seen, 4);
	ck_assert_int_eq(read_at(backend, poisonous_file(), 0, 100, &req), -EREMOTEIO);
	ck_assert_uint_le(seen, 5);
	check_data();
}
END_TEST

START_TEST(an_outage_is_nobodys_fault)
{
	struct backend_request req = {
		.op = BACKEND_READ, .object = poisonous_file(), .count = 100, .done = pass};
	static struct gate gate;

	gate_init(&gate);
	req.user = &gate;
	ending = FAKE_DEFAULT;
	start(poison, 1);
	check_data();
	atomic_store(&outage, true);
	backend->ops->submit(backend, &req);
	while (atomic_load(&seen) < 8)
		sched_yield();
	ck_assert_uint_eq(gate_count(&gate), 0);
	atomic_store(&outage, false);
	gate_wait(&gate, 1);
}
END_TEST

/* ---- priorities ---- */

static pthread_mutex_t valve_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t valve_changed = PTHREAD_COND_INITIALIZER;
static bool valve_open;
static unsigned valve_waiting;
static char order[64];

static void open_valve(void)
{
	pthread_mutex_lock(&valve_lock);
	valve_open = true;
	pthread_cond_broadcast(&valve_changed);
	pthread_mutex_unlock(&valve_lock);
}

/* Reads at offset 1 wait for the valve; what others ask for is noted. */
static enum fake_action hold_first(struct fake_call *call)
{
	uint32_t len;
	uint64_t offset;

	if (!is_read(call))
		return FAKE_DEFAULT;
	xdr_get_bytes(&call->args, &len);
	offset = xdr_get_u64(&call->args);
	pthread_mutex_lock(&valve_lock);
	if (offset == 1) {
		valve_waiting++;
		pthread_cond_broadcast(&valve_changed);
		while (!valve_open)
			pthread_cond_wait(&valve_changed, &valve_lock);
	} else {
		order[strlen(order)] = (char)offset;
	}
	pthread_mutex_unlock(&valve_lock);
	return FAKE_DEFAULT;
}

static void submit_read(struct backend_request *req, enum backend_priority priority,
			uint64_t offset, struct gate *gate)
{
	*req = (struct backend_request){.op = BACKEND_READ,
					.priority = priority,
					.object = root,
					.offset = offset,
					.count = 1024 * 1024,
					.done = pass,
					.user = gate};
	backend->ops->submit(backend, req);
}

START_TEST(demand_passes_all_and_readahead_background)
{
	static struct backend_request held[16], late[4];
	static struct gate gate;

	gate_init(&gate);
	start(hold_first, 1);
	/* All the bytes that may be under way on the background connection. */
	for (unsigned i = 0; i < G_N_ELEMENTS(held); i++)
		submit_read(&held[i], BACKEND_BACKGROUND, 1, &gate);
	pthread_mutex_lock(&valve_lock);
	while (valve_waiting == 0)
		pthread_cond_wait(&valve_changed, &valve_lock);
	pthread_mutex_unlock(&valve_lock);
	submit_read(&late[0], BACKEND_BACKGROUND, 'b', &gate);
	submit_read(&late[1], BACKEND_READAHEAD, 'r', &gate);
	submit_read(&late[2], BACKEND_READAHEAD, 's', &gate);
	submit_read(&late[3], BACKEND_DEMAND, 'd', &gate);
	gate_wait(&gate, 1);
	ck_assert_int_eq(late[3].status, 0);
	ck_assert_str_eq(order, "d");
	ck_assert_uint_eq(valve_waiting, 1);
	open_valve();
	gate_wait(&gate, G_N_ELEMENTS(held) + G_N_ELEMENTS(late));
	ck_assert_str_eq(order, "drsb");
}
END_TEST

static void note_nice(struct backend_request *req)
{
	req->offset = getpriority(PRIO_PROCESS, 0);
	gate_pass(req->user);
}

static int nice_of(enum backend_priority priority)
{
	struct backend_request req = {
		.op = BACKEND_GETATTR, .priority = priority, .object = root, .done = note_nice};
	static struct gate gate;

	gate_init(&gate);
	req.user = &gate;
	backend->ops->submit(backend, &req);
	gate_wait(&gate, 1);
	return (int)req.offset;
}

/* Read-ahead, which clients wait for, comes on the same connection. */
START_TEST(background_has_less_weight)
{
	int nice = getpriority(PRIO_PROCESS, 0);

	ck_assert(thread_prepare());
	start(NULL, 1);
	for (unsigned round = 0; round < 3; round++) {
		ck_assert_int_gt(nice_of(BACKEND_BACKGROUND), nice);
		ck_assert_int_eq(nice_of(BACKEND_READAHEAD), nice);
		ck_assert_int_eq(nice_of(BACKEND_DEMAND), nice);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fake server");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, NULL, end);
	tcase_add_test(tcase, broken_connections_are_made_anew);
	tcase_add_test(tcase, fragments_are_put_together);
	tcase_add_test(tcase, a_lost_reply_is_asked_for_again);
	tcase_add_test(tcase, replies_nobody_asked_for_are_dropped);
	tcase_add_test(tcase, a_garbled_reply_fails_its_request);
	tcase_add_test(tcase, a_record_without_measure_fails_its_request);
	tcase_add_test(tcase, exports_may_come_late);
	tcase_add_test(tcase, the_address_that_answers_is_asked_first);
	tcase_add_loop_test(tcase, what_ends_connections_is_given_up, 0, 2);
	tcase_add_test(tcase, an_outage_is_nobodys_fault);
	tcase_add_test(tcase, demand_passes_all_and_readahead_background);
	tcase_add_test(tcase, background_has_less_weight);
	return run_tcase(tcase);
}
