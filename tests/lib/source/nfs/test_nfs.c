/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The backend as a whole, over a server with manners of its own. */
#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_nfs.h"

static struct fake *fake;
static struct backend *backend;
static struct source_object root;
static atomic_uint seen;

static void start(enum fake_action (*hook)(struct fake_call *call), unsigned connections)
{
	GError *error = NULL;

	fake = fake_start(hook, NULL);
	backend = fake_open(fake, "/x", "", connections, &root, &error);
	if (!backend)
		ck_abort_msg("%s", error->message);
}

static void end(void)
{
	if (backend)
		backend->ops->close(backend);
	if (fake)
		fake_stop(fake);
	source_object_clear(&root);
}

static bool is_call(const struct fake_call *call, enum nfs_procedure procedure)
{
	return call->program == NFS_PROGRAM && call->procedure == procedure;
}

static enum fake_action busy_once(struct fake_call *call)
{
	if (is_call(call, NFSPROC3_READ) && atomic_fetch_add(&seen, 1) < 1)
		return fake_status(call, 10008);
	return FAKE_DEFAULT;
}

START_TEST(jukebox_is_told)
{
	struct backend_request req;

	start(busy_once, 1);
	ck_assert_int_eq(read_at(backend, root, 0, 100, &req), -EAGAIN);
	ck_assert_int_eq(read_at(backend, root, 0, 100, &req), 0);
	ck_assert_uint_eq(req.data_len, 4);
	ck_assert_uint_eq(seen, 2);
	g_free((void *)req.data);
}
END_TEST

static enum fake_action plain_listing(struct fake_call *call)
{
	if (is_call(call, NFSPROC3_READDIRPLUS)) {
		atomic_fetch_add(&seen, 1);
		return fake_status(call, 10004);
	}
	if (!is_call(call, NFSPROC3_READDIR))
		return FAKE_DEFAULT;
	xdr_put_u64(&call->out, 0);
	xdr_put_u64(&call->out, 1);
	xdr_put_u32(&call->out, 1);
	xdr_put_u64(&call->out, 55);
	xdr_put_bytes(&call->out, "only", 4);
	xdr_put_u64(&call->out, 9);
	xdr_put_u32(&call->out, 0);
	xdr_put_u32(&call->out, 1);
	return FAKE_REPLY;
}

static void check_bare(const struct source_entry *entry, void *user)
{
	ck_assert_str_eq(entry->name, "only");
	ck_assert(!entry->has_attr);
	ck_assert_uint_eq(entry->attr.fileid, 55);
}

START_TEST(readdirplus_is_given_up_once)
{
	start(plain_listing, 1);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(list_all(backend, root, false, check_bare, NULL), 1);
	ck_assert_uint_eq(seen, 1);
}
END_TEST

static enum fake_action too_much(struct fake_call *call)
{
	static const uint8_t data[200];

	if (!is_call(call, NFSPROC3_READ))
		return FAKE_DEFAULT;
	xdr_put_u64(&call->out, 0);
	xdr_put_u32(&call->out, sizeof(data));
	xdr_put_u32(&call->out, 0);
	xdr_put_bytes(&call->out, data, sizeof(data));
	return FAKE_REPLY;
}

START_TEST(more_data_than_asked_is_refused)
{
	struct backend_request req;

	start(too_much, 1);
	ck_assert_int_eq(read_at(backend, root, 0, 100, &req), -EBADMSG);
	ck_assert_ptr_null(req.data);
	ck_assert_int_eq(read_at(backend, root, 0, 200, &req), 0);
	g_free((void *)req.data);
}
END_TEST

static enum fake_action no_attributes(struct fake_call *call)
{
	if (!is_call(call, NFSPROC3_LOOKUP))
		return FAKE_DEFAULT;
	xdr_put_u32(&call->out, 0);
	xdr_put_bytes(&call->out, FAKE_FILE, strlen(FAKE_FILE));
	xdr_put_u64(&call->out, 0);
	return FAKE_REPLY;
}

START_TEST(lookups_always_have_attributes)
{
	struct source_object found;
	struct source_attr attr;

	start(no_attributes, 1);
	ck_assert_int_eq(look_up(backend, root, "name", &found, &attr), 0);
	ck_assert_uint_eq(found.handle_len, strlen(FAKE_FILE));
	ck_assert_uint_eq(attr.size, 4096);
}
END_TEST

static struct gate submitted;

/* Notes which connections carry READs, and answers none before all have been submitted: else the
 * first connection may be free again whenever one is. */
static enum fake_action note_connection(struct fake_call *call)
{
	if (is_call(call, NFSPROC3_READ)) {
		gate_wait(&submitted, 1);
		atomic_fetch_or(&seen, 1u << call->connection);
	}
	return FAKE_DEFAULT;
}

static void pass(struct backend_request *req)
{
	gate_pass(req->user);
}

static unsigned connections_of(enum backend_priority priority)
{
	static struct backend_request reqs[200];
	static struct gate gate;

	gate_init(&gate);
	gate_init(&submitted);
	atomic_store(&seen, 0);
	for (unsigned i = 0; i < G_N_ELEMENTS(reqs); i++) {
		reqs[i] = (struct backend_request){.op = BACKEND_READ,
						   .priority = priority,
						   .object = root,
						   .count = 100,
						   .done = pass,
						   .user = &gate};
		backend->ops->submit(backend, &reqs[i]);
	}
	gate_pass(&submitted);
	gate_wait(&gate, G_N_ELEMENTS(reqs));
	return atomic_load(&seen);
}

START_TEST(demand_has_its_own_connection)
{
	unsigned demand, background, readahead;

	start(note_connection, 3);
	demand = connections_of(BACKEND_DEMAND);
	background = connections_of(BACKEND_BACKGROUND);
	readahead = connections_of(BACKEND_READAHEAD);
	ck_assert_int_eq(__builtin_popcount(demand), 1);
	ck_assert_int_eq(__builtin_popcount(background), 3);
	ck_assert_uint_eq(readahead, background);
	ck_assert_uint_eq(demand & background, 0);
}
END_TEST

static atomic_uint root_fsid, below_fsid, roots; /* times that the root was asked for */
static atomic_bool restarts;

/* Names of the root, one a page, and "below" of another file system. */
static enum fake_action show_fsids(struct fake_call *call)
{
	struct xdr_out *out = &call->out;
	const unsigned fsid = atomic_load(&root_fsid);
	uint32_t len;
	uint64_t cookie;

	if (atomic_exchange(&restarts, false))
		return FAKE_RESET;
	if (is_call(call, NFSPROC3_GETATTR)) {
		atomic_fetch_add(&roots, 1);
		xdr_put_u32(out, 0);
		fake_attr_as(out, 2, 4096, 1, fsid);
	} else if (is_call(call, NFSPROC3_LOOKUP)) {
		xdr_put_u32(out, 0);
		xdr_put_bytes(out, FAKE_FILE, strlen(FAKE_FILE));
		xdr_put_u32(out, 1);
		fake_attr_as(out, 1, 100, 77, atomic_load(&below_fsid));
		xdr_put_u32(out, 0);
	} else if (is_call(call, NFSPROC3_READDIRPLUS)) {
		xdr_get_bytes(&call->args, &len);
		cookie = xdr_get_u64(&call->args);
		xdr_put_u64(out, 0); /* 0, and no attributes */
		xdr_put_u64(out, 1);
		xdr_put_u32(out, 1);
		xdr_put_u64(out, 55 + cookie);
		xdr_put_bytes(out, cookie ? "b" : "a", 1);
		xdr_put_u64(out, cookie + 1);
		xdr_put_u32(out, 1);
		fake_attr_as(out, 1, 100, 55 + cookie, fsid);
		xdr_put_u64(out, 0);
		xdr_put_u32(out, cookie > 0);
	} else {
		return FAKE_DEFAULT;
	}
	return FAKE_REPLY;
}

static void check_number(const struct source_entry *entry, void *user)
{
	ck_assert_uint_eq(entry->attr.fileid, *entry->name == 'a' ? 55 : 56);
	ck_assert_uint_eq(entry->attr.number, entry->attr.fileid);
}

/* The server shows another one after a restart: for the root, and for what is below. */
START_TEST(fsids_that_change)
{
	struct source_object found;
	struct source_attr attr, again;
	unsigned asked;

	root_fsid = FAKE_FSID;
	below_fsid = 99;
	start(show_fsids, 1);
	ck_assert_int_eq(list_all(backend, root, false, check_number, NULL), 2);
	root_fsid = 8;
	ck_assert_int_eq(list_all(backend, root, false, check_number, NULL), 2);
	asked = atomic_load(&roots);
	ck_assert_int_eq(list_all(backend, root, false, check_number, NULL), 2);
	ck_assert_uint_eq(atomic_load(&roots), asked); /* not each time */
	ck_assert_int_eq(look_up(backend, root, "below", &found, &attr), 0);
	ck_assert_uint_ne(attr.fileid, 77);
	ck_assert_uint_eq(attr.number, 77);
	ck_assert_uint_eq(atomic_load(&roots), asked + 1);
	ck_assert_int_eq(look_up(backend, root, "below", &found, &again), 0);
	ck_assert_uint_eq(atomic_load(&roots), asked + 1);
	ck_assert_uint_eq(again.fileid, attr.fileid);
	below_fsid = FAKE_FSID; /* which was the root's once */
	ck_assert_int_eq(look_up(backend, root, "below", &found, &again), 0);
	ck_assert_uint_ne(again.fileid, 77);
	ck_assert_uint_eq(again.object, attr.object);
	root_fsid = FAKE_FSID; /* they change places */
	below_fsid = 8;
	restarts = true;
	ck_assert_int_eq(list_all(backend, root, false, check_number, NULL), 2);
	ck_assert_int_eq(look_up(backend, root, "below", &found, &again), 0);
	ck_assert_uint_ne(again.fileid, 77);
}
END_TEST

/* JUKEBOX for the root, while it is wanted. */
static enum fake_action busy_root(struct fake_call *call)
{
	if (is_call(call, NFSPROC3_GETATTR) && atomic_load(&root_fsid) == 8 &&
	    atomic_fetch_add(&seen, 1) < 2)
		return fake_status(call, 10008);
	return show_fsids(call);
}

START_TEST(an_fsid_of_a_busy_server)
{
	root_fsid = FAKE_FSID;
	start(busy_root, 1);
	ck_assert_int_eq(list_all(backend, root, false, check_number, NULL), 2);
	root_fsid = 8;
	ck_assert_int_eq(list_all(backend, root, false, check_number, NULL), 2);
	ck_assert_uint_ge(seen, 3);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, NULL, end);
	tcase_add_test(tcase, jukebox_is_told);
	tcase_add_test(tcase, readdirplus_is_given_up_once);
	tcase_add_test(tcase, more_data_than_asked_is_refused);
	tcase_add_test(tcase, lookups_always_have_attributes);
	tcase_add_test(tcase, demand_has_its_own_connection);
	tcase_add_test(tcase, fsids_that_change);
	tcase_add_test(tcase, an_fsid_of_a_busy_server);
	return run_tcase(tcase);
}
