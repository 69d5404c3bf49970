/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of version 4 over a fake server's tree, call by call and through the backend. */
#include "lib/source/nfs/nfs4_owner.h"
#include "lib/source/nfs/nfs4_owner_host.h"
#include "lib/source/nfs/nfs4_proc.h"

#include "tests/retriever/nfs4_served.h"

static void setup(void)
{
	served_start();
	served_open("4.2");
}

static gint asking_is_held;

/* The host's name service: it knows nobody, and answers when the test lets it. */
int nfs4_owner_ask_host(bool group, char *text, uint32_t *id)
{
	while (g_atomic_int_get(&asking_is_held))
		sched_yield();
	return -ENOENT;
}

static struct source_object file(void)
{
	struct source_object found;

	ck_assert_int_eq(look_up(backend, root, "file", &found, NULL), 0);
	return found;
}

static int read_file(struct source_object object)
{
	struct backend_request req = {.op = BACKEND_READ, .object = object, .count = 100};
	int status = run(backend, &req);

	if (status == 0) {
		ck_assert_uint_eq(req.data_len, 4);
		ck_assert_mem_eq(req.data, "data", 4);
		ck_assert(req.eof && req.has_attr);
		ck_assert_uint_eq(req.attr.size, 100);
	}
	g_free((void *)req.data);
	return status;
}

START_TEST(objects_are_found_and_told)
{
	struct backend_request req;
	struct source_attr attr;
	struct source_object found;

	ck_assert(S_ISDIR(root_attr.mode));
	ck_assert_uint_eq(root_attr.uid, 1000);
	ck_assert_uint_eq(root.handle_len, strlen("handle 1.0"));
	ck_assert_int_eq(look_up(backend, root, "file", &found, &attr), 0);
	ck_assert_uint_eq(attr.mode, S_IFREG | 0644);
	ck_assert_uint_eq(attr.fileid, 102);
	ck_assert_int_eq(look_up(backend, by_path(""), "nothing", &found, &attr), -ENOENT);
	req = (struct backend_request){.op = BACKEND_GETATTR, .object = by_path("file")};
	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert_mem_eq(req.handle, "handle 2.0", req.handle_len);
	req = (struct backend_request){.op = BACKEND_READLINK, .object = by_path("link")};
	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert_str_eq(req.text, "target");
	g_free(req.text);
	req = (struct backend_request){.op = BACKEND_READLINK, .object = by_path("file")};
	ck_assert_int_eq(run(backend, &req), -EREMOTEIO);
}
END_TEST

START_TEST(listings_come_in_pieces)
{
	struct backend_request req = {.op = BACKEND_READDIR, .object = root, .names_only = _i};
	const struct source_entry *entry;

	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert(!req.eof && req.has_attr);
	ck_assert_uint_eq(req.attr.fileid, 101);
	ck_assert_uint_eq(req.batch->entries->len, 1);
	entry = &g_array_index(req.batch->entries, struct source_entry, 0);
	ck_assert_str_eq(entry->name, "file");
	ck_assert_uint_eq(entry->attr.fileid, 102);
	ck_assert_int_eq(entry->has_attr, !_i);
	ck_assert_int_eq(entry->has_handle, !_i);
	backend_batch_free(req.batch);
	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert(req.eof);
	ck_assert_uint_eq(req.batch->entries->len, 1);
	/* what another server has is named, with what to do */
	ck_assert_uint_eq(req.batch->rejected, 1);
	ck_assert_str_eq(g_array_index(req.batch->refused, struct source_refusal, 0).name, "away");
	backend_batch_free(req.batch);
	req = (struct backend_request){.op = BACKEND_READDIR, .object = by_path("file")};
	ck_assert_int_eq(run(backend, &req), -ENOTDIR);
}
END_TEST

START_TEST(referrals_are_no_names)
{
	struct source_object found;

	ck_assert_int_eq(look_up(backend, root, "away", &found, NULL), -EREMOTEIO);
}
END_TEST

START_TEST(nothing_is_opened_without_need)
{
	ck_assert_int_eq(read_file(file()), 0);
	ck_assert_uint_eq(tree.opens, 0);
	tree.anonymous = 10008;
	ck_assert_int_eq(read_file(file()), -EAGAIN);
	tree.anonymous = 21;
	ck_assert_int_eq(read_file(file()), -EISDIR);
	ck_assert_uint_eq(tree.opens, 0);
}
END_TEST

START_TEST(what_must_be_opened_is)
{
	static const uint32_t statuses[] = {10012, 10025, 10038, 13};

	tree.anonymous = statuses[_i];
	for (unsigned i = 1; i <= 3; i++) {
		unsigned before = fake->calls;

		ck_assert_int_eq(read_file(by_path("file")), 0);
		ck_assert_uint_eq(tree.opens, i);
		ck_assert_uint_eq(tree.closes, i);
		/* where nothing else will do it is remembered; walking is a call */
		if (i > 1)
			ck_assert_uint_eq(fake->calls - before, statuses[_i] == 10025 ? 2 : 3);
	}
}
END_TEST

START_TEST(nothing_is_opened_by_version_4_0)
{
	served_close();
	fake4.minor = 0;
	served_open("4.0");
	ck_assert_int_eq(read_file(file()), 0);
	ck_assert_int_eq(read_file(by_path("1/2/3/4/5/6/file")), 0);
	tree.anonymous = 10012;
	ck_assert_int_eq(read_file(file()), -EBUSY);
	tree.anonymous = 13;
	ck_assert_int_eq(read_file(file()), -EACCES);
	tree.anonymous = 10025;
	ck_assert_int_eq(read_file(file()), -EREMOTEIO);
	ck_assert_uint_eq(tree.opens, 0);
}
END_TEST

START_TEST(what_was_opened_is_closed)
{
	tree.anonymous = 10012;
	tree.opened = 10012;
	ck_assert_int_eq(read_file(file()), -EBUSY);
	ck_assert_uint_eq(tree.opens, 1);
	ck_assert_uint_eq(tree.closes, 1);
	tree.opened = 10008;
	ck_assert_int_eq(read_file(file()), -EAGAIN);
	ck_assert_uint_eq(tree.closes, 2);
	tree.open = 10015;
	ck_assert_int_eq(read_file(file()), -EBUSY);
	tree.open = 10013; /* in grace */
	ck_assert_int_eq(read_file(file()), -EAGAIN);
	tree.open = 13;
	ck_assert_int_eq(read_file(file()), -EACCES);
	ck_assert_uint_eq(tree.closes, 2);
}
END_TEST

/* A handle may expire, the root's too: by their paths objects are found again. */
START_TEST(handles_may_expire)
{
	struct source_object known = file();
	struct source_attr attr;

	tree.epoch++;
	ck_assert_int_eq(get_attr(backend, known, &attr), -ESTALE);
	ck_assert_int_eq(get_attr(backend, root, &attr), -ESTALE);
	ck_assert_int_eq(get_attr(backend, by_path(""), &attr), 0);
	ck_assert_int_eq(read_file(by_path("file")), 0);
}
END_TEST

START_TEST(user_attributes_come_on_the_same_connections)
{
	static const char *const names[] = {"one", "two", "three", NULL};
	struct backend_request req = {.op = BACKEND_XATTRS, .object = by_path("file")};
	unsigned connections = fake->connections;

	fake4.names = names;
	ck_assert_uint_eq(backend->ops->carries(backend), BACKEND_CARRIES_XATTR);
	req.priority = BACKEND_DEMAND;
	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert_uint_eq(req.xattrs->list->len, 3);
	source_xattrs_free(req.xattrs);
	ck_assert_uint_le(fake->connections, connections + 1);
}
END_TEST

START_TEST(acls_come_where_the_server_has_them)
{
	struct backend_request req = {.op = BACKEND_XATTRS, .object = by_path("file")};

	served_close();
	tree.supported[0] |= 1u << FATTR4_ACL;
	fake4.minor = 1;
	served_open("4.1");
	ck_assert_uint_eq(backend->ops->carries(backend),
			  BACKEND_CARRIES_ACL | BACKEND_TRANSLATES_ACL);
	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert(req.has_attr);
	ck_assert_str_eq(req.xattrs->nfs4_acl->text->str, "A::1000:r");
	source_xattrs_free(req.xattrs);
}
END_TEST

START_TEST(lost_sessions_lose_nothing)
{
	ck_assert_int_eq(read_file(by_path("file")), 0);
	for (unsigned i = 0; i < 5; i++) {
		atomic_store(&fake4.lose, 1);
		ck_assert_int_eq(read_file(by_path("file")), 0);
	}
	ck_assert_uint_eq(fake4.lose, 0);
	ck_assert_uint_eq(fake4.sessions, 1 + 1 + 5);
	ck_assert_uint_eq(fake4.reclaimed, fake4.sessions - 1); /* not at open */
}
END_TEST

/* Garbled replies end in a status, wherever they end. */
START_TEST(replies_may_end_anywhere)
{
	static const enum backend_op ops[] = {BACKEND_GETATTR, BACKEND_LOOKUP, BACKEND_READDIR,
					      BACKEND_READ, BACKEND_READLINK};
	struct nfs_view view = {.path = "/x",
				.url = "nfs://old/x",
				.minor = 1,
				.max_read = 100,
				.max_entries = 1000};
	uint8_t reply[300], call[RPC_CALL_MAX];

	nfs4_mask_wanted(view.attrs, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(ops); i++)
		for (size_t len = 0; len < sizeof(reply); len += 4) {
			struct nfs4_session session = {.state = NFS4_READY, .minor = 1, .slots = 1};
			struct xdr_out out = {.p = call, .end = call + sizeof(call)};
			struct xdr_in in = {.p = reply, .end = reply + len};
			struct backend_request req = {.op = ops[i],
						      .name = "n",
						      .object = by_handle((uint8_t *)"h", 1),
						      .count = 100};

			memset(reply, 0, sizeof(reply));
			reply[15] = OP_SEQUENCE;
			backend_prepare(&req);
			ck_assert_int_eq(nfs4_request_begin(&view, &req), 0);
			nfs4_request_encode(&view, &session, 0, &req, &out);
			ck_assert(!out.bad);
			ck_assert_int_eq(nfs4_request_decode(&view, &session, 0, &req, 0, &in),
					 -EBADMSG);
			nfs4_request_end(&req);
			g_clear_pointer(&req.batch, backend_batch_free);
		}
}
END_TEST

/* A listing that ends early is none, and no directory's last page. */
START_TEST(listings_may_end_anywhere)
{
	/* a verifier; one name, with its cookie and no attributes; the end */
	static const uint32_t listing[] = {0, 0, 1, 0, 7, 1, 'n' << 24, 0, 0, 0, 1};
	struct nfs_view view = {
		.path = "/x", .url = "nfs://old/x", .minor = 1, .max_entries = 1000};
	uint8_t reply[18 * 4 + sizeof(listing)] = {0}, call[RPC_CALL_MAX];
	struct xdr_out filled = {.p = reply + 18 * 4, .end = reply + sizeof(reply)};

	reply[3 * 4 + 3] = OP_SEQUENCE;
	reply[14 * 4 + 3] = OP_PUTFH;
	reply[16 * 4 + 3] = OP_READDIR;
	for (size_t i = 0; i < G_N_ELEMENTS(listing); i++)
		xdr_put_u32(&filled, listing[i]);
	nfs4_mask_wanted(view.attrs, NULL);
	for (size_t len = 0; len <= sizeof(reply); len += 4) {
		struct nfs4_session session = {.state = NFS4_READY, .minor = 1, .slots = 1};
		struct xdr_out out = {.p = call, .end = call + sizeof(call)};
		struct xdr_in in = {.p = reply, .end = reply + len};
		struct backend_request req = {.op = BACKEND_READDIR,
					      .object = by_handle((uint8_t *)"h", 1)};

		backend_prepare(&req);
		ck_assert_int_eq(nfs4_request_begin(&view, &req), 0);
		nfs4_request_encode(&view, &session, 0, &req, &out);
		ck_assert_int_eq(nfs4_request_decode(&view, &session, 0, &req, 0, &in),
				 len < sizeof(reply) ? -EBADMSG : 0);
		ck_assert_int_eq(req.eof, len == sizeof(reply));
		nfs4_request_end(&req);
		g_clear_pointer(&req.batch, backend_batch_free);
	}
}
END_TEST

/* This host's name service is asked, and meanwhile nothing has a wrong owner, nor waits that needs
 * none. */
START_TEST(owners_that_are_not_known_yet)
{
	struct backend_request req = {.op = BACKEND_READDIR, .object = root};
	const struct source_entry *entry;
	struct source_object found = {0};
	struct source_attr attr;
	int ret;

	g_atomic_int_set(&asking_is_held, 1);
	tree.owner = "anna@nowhere";
	ck_assert_int_eq(run(backend, &req), -EAGAIN);
	tree.owner = "bert@nowhere";
	req.attempts = NFS4_OWNER_TRIES;
	ck_assert_int_eq(run(backend, &req), 0);
	entry = &g_array_index(req.batch->entries, struct source_entry, 0);
	ck_assert(!entry->has_attr && entry->has_handle);
	ck_assert_uint_eq(entry->attr.fileid, 102);
	backend_batch_free(req.batch);
	tree.owner = "carl@nowhere";
	ck_assert_int_eq(read_file(by_handle((const uint8_t *)"handle 2.0", 10)), 0);
	tree.owner = "dora@nowhere";
	req = (struct backend_request){.op = BACKEND_GETATTR, .object = root};
	ck_assert_int_eq(run(backend, &req), -EAGAIN);
	tree.owner = "emil@nowhere";
	ck_assert_int_eq(look_up(backend, root, "file", &found, &attr), -EAGAIN);
	g_atomic_int_set(&asking_is_held, 0);
	while ((ret = look_up(backend, root, "file", &found, &attr)) == -EAGAIN)
		sched_yield();
	ck_assert_int_eq(ret, 0);
	ck_assert_uint_eq(attr.uid, UINT32_MAX);
	ck_assert_int_eq(attr.no_owner, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	g_log_set_default_handler(plain_log, NULL);
	tcase_add_checked_fixture(tcase, setup, served_end);
	tcase_add_test(tcase, objects_are_found_and_told);
	tcase_add_loop_test(tcase, listings_come_in_pieces, 0, 2);
	tcase_add_test(tcase, owners_that_are_not_known_yet);
	tcase_add_test(tcase, referrals_are_no_names);
	tcase_add_test(tcase, nothing_is_opened_without_need);
	tcase_add_loop_test(tcase, what_must_be_opened_is, 0, 4);
	tcase_add_test(tcase, nothing_is_opened_by_version_4_0);
	tcase_add_test(tcase, what_was_opened_is_closed);
	tcase_add_test(tcase, handles_may_expire);
	tcase_add_test(tcase, user_attributes_come_on_the_same_connections);
	tcase_add_test(tcase, acls_come_where_the_server_has_them);
	tcase_add_test(tcase, lost_sessions_lose_nothing);
	tcase_add_test(tcase, replies_may_end_anywhere);
	tcase_add_test(tcase, listings_may_end_anywhere);
	return run_tcase(tcase);
}
