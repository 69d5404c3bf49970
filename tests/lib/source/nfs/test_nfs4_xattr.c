/* SPDX-License-Identifier: GPL-3.0-or-later */
/* User extended attributes over version 4.2: results right and wrong, and sessions that go. */
#include "lib/source/nfs/nfs4_xattr.h"

#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_nfs4.h"

static const char *const names[] = {"one", "two", "three", "four", "five", NULL};
static const char *const none[] = {NULL};

static struct fake4 fake4;
static struct fake *fake;
static struct backend *backend;
static struct source_object root;
static struct backend_request req;

static enum fake_action hook(struct fake_call *call)
{
	return call->version == 4 ? fake4_answer(call, &fake4) : FAKE_DEFAULT;
}

static void start_with(const char *more)
{
	GError *error = NULL;

	fake = fake_start(hook, NULL);
	backend = fake_open(fake, "/x", more, 1, &root, &error);
	if (!backend)
		ck_abort_msg("%s", error->message);
}

static void setup(void)
{
	fake4_init(&fake4, names);
}

static void end(void)
{
	if (backend)
		backend->ops->close(backend);
	if (fake)
		fake_stop(fake);
	source_object_clear(&root);
	g_clear_pointer(&req.xattrs, source_xattrs_free);
	ck_assert_uint_eq(fake4.misordered, 0);
}

static int get_xattrs(struct source_object object)
{
	g_clear_pointer(&req.xattrs, source_xattrs_free);
	req = (struct backend_request){.op = BACKEND_XATTRS, .object = object};
	return run(backend, &req);
}

static void check_names(const struct source_xattrs *xattrs)
{
	ck_assert_uint_eq(xattrs->lost->len, 0);
	ck_assert_uint_eq(xattrs->list->len, 5);
	for (guint i = 0; i < 5; i++) {
		const struct source_xattr *xattr =
			&g_array_index(xattrs->list, struct source_xattr, i);
		g_autofree char *name = g_strconcat("user.", names[i], NULL);
		g_autofree char *value = g_strconcat("value of ", names[i], NULL);

		ck_assert_str_eq(xattr->name, name);
		ck_assert_uint_eq(xattr->len, strlen(value));
		ck_assert_mem_eq(xattr->value, value, xattr->len);
	}
}

static void check_lost(const char *line, guint n)
{
	ck_assert_uint_eq(req.xattrs->list->len, 0);
	ck_assert_uint_eq(req.xattrs->lost->len, n);
	ck_assert_msg(strstr(req.xattrs->lost->pdata[0], line), "%s",
		      (char *)req.xattrs->lost->pdata[0]);
}

START_TEST(attributes_come_with_their_values)
{
	start_with("");
	ck_assert_uint_eq(backend->ops->carries(backend), BACKEND_CARRIES_XATTR);
	ck_assert_int_eq(get_xattrs(root), 0);
	check_names(req.xattrs);
	ck_assert_int_eq(get_xattrs(by_path("file")), 0);
	check_names(req.xattrs);
	ck_assert_uint_eq(fake4.lists, 2 * 3);
	ck_assert_uint_eq(fake4.gets, 2 * 5);
	/* One at open, one on the connection. */
	ck_assert_uint_eq(fake4.sessions, 2);
	fake4.names = none;
	ck_assert_int_eq(get_xattrs(root), 0);
	ck_assert_uint_eq(req.xattrs->list->len, 0);
}
END_TEST

static void count(struct backend_request *one)
{
	ck_assert_int_eq(one->status, 0);
	check_names(one->xattrs);
	source_xattrs_free(one->xattrs);
	gate_pass(one->user);
}

/* More than the session has slots for; on the way sessions are lost. */
START_TEST(many_share_the_slots)
{
	static struct backend_request many[50];
	struct gate gate;

	gate_init(&gate);
	start_with("");
	for (unsigned i = 0; i < G_N_ELEMENTS(many); i++) {
		if (_i && i % 20 == 0)
			atomic_fetch_add(&fake4.lose, 1);
		many[i] = (struct backend_request){
			.op = BACKEND_XATTRS, .object = root, .done = count, .user = &gate};
		backend->ops->submit(backend, &many[i]);
	}
	gate_wait(&gate, G_N_ELEMENTS(many));
	ck_assert_uint_eq(fake4.lose, 0);
	if (_i)
		ck_assert_uint_gt(fake4.sessions, 2);
	else
		ck_assert_uint_eq(fake4.sessions, 2);
}
END_TEST

START_TEST(a_lost_session_is_made_anew)
{
	start_with("");
	ck_assert_int_eq(get_xattrs(root), 0);
	atomic_store(&fake4.lose, 1);
	ck_assert_int_eq(get_xattrs(root), 0);
	check_names(req.xattrs);
	ck_assert_uint_eq(fake4.sessions, 3);
}
END_TEST

START_TEST(a_busy_server_may_be_asked_again)
{
	start_with("");
	atomic_store(&fake4.delay, 1);
	ck_assert_int_eq(get_xattrs(root), -EAGAIN);
	ck_assert_int_eq(get_xattrs(root), 0);
	check_names(req.xattrs);
	ck_assert_uint_eq(fake4.sessions, 2);
}
END_TEST

START_TEST(a_version_may_be_taken_away)
{
	start_with("");
	ck_assert_int_eq(get_xattrs(root), 0);
	atomic_store(&fake4.minor_refused, 2); /* the call, and the attempt at a session */
	ck_assert_int_eq(get_xattrs(root), -EREMOTEIO);
}
END_TEST

START_TEST(servers_that_do_not_have_them_say_so)
{
	g_autofree char *text = NULL;
	const char *more = "";

	switch (_i) {
	case 0:
		fake4.putfh_status = 10001; /* NFS4ERR_BADHANDLE */
		break;
	case 1:
		fake4.fileid = 2;
		break;
	case 2:
		fake4.xattr_support = 0;
		break;
	case 3:
		atomic_store(&fake4.minor_refused, 1);
		break;
	case 4:
		more = "&version=3";
		break;
	}
	start_with(more);
	text = backend->ops->not_carried(backend);
	ck_assert_uint_eq(backend->ops->carries(backend), 0);
	ck_assert_msg(strstr(text, "\nuser extended attributes: "), "%s", text);
	ck_assert_uint_eq(fake4.sessions, _i < 3);
}
END_TEST

START_TEST(statuses_count)
{
	static const struct {
		uint32_t nfs;
		int status;
	} map[] = {{70, -ESTALE}, {10008, -EAGAIN}, {13, -EACCES}, {10006, -EREMOTEIO}};

	start_with("");
	for (size_t i = 0; i < G_N_ELEMENTS(map); i++) {
		fake4.list_status = map[i].nfs;
		ck_assert_int_eq(get_xattrs(root), map[i].status);
		ck_assert_ptr_null(req.xattrs);
	}
	/* A file system that has none. */
	fake4.list_status = 10004;
	ck_assert_int_eq(get_xattrs(root), 0);
	ck_assert_uint_eq(req.xattrs->list->len + req.xattrs->lost->len, 0);
	fake4.list_status = 0;
	fake4.get_status = 70;
	ck_assert_int_eq(get_xattrs(root), -ESTALE);
	fake4.get_status = 13;
	ck_assert_int_eq(get_xattrs(root), 0);
	check_lost("user.one: cannot be read: Permission denied", 5);
	fake4.get_status = 10096;
	ck_assert_int_eq(get_xattrs(root), 0);
	check_lost("user.one: too large", 5);
	/* Removed meanwhile. */
	fake4.get_status = 10095;
	ck_assert_int_eq(get_xattrs(root), 0);
	ck_assert_uint_eq(req.xattrs->list->len + req.xattrs->lost->len, 0);
}
END_TEST

/* ---- what no server says ---- */

static struct nfs4_session session;
static uint8_t bytes[200000];
static struct xdr_out out;

static void put_head(uint32_t op, uint32_t status)
{
	static const uint8_t zeros[36];

	out = (struct xdr_out){.p = bytes, .end = bytes + sizeof(bytes)};
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, 3);
	xdr_put_u64(&out, UINT64_C(53) << 32);
	memcpy(out.p, zeros, sizeof(zeros));
	out.p += sizeof(zeros);
	xdr_put_u64(&out, UINT64_C(22) << 32);
	xdr_put_u32(&out, op);
	xdr_put_u32(&out, status);
}

static void begin(void)
{
	session = (struct nfs4_session){.state = NFS4_READY, .minor = 2, .slots = 1};
	req = (struct backend_request){.op = BACKEND_XATTRS,
				       .object = by_handle((const uint8_t *)"object", 6)};
	backend_prepare(&req);
	ck_assert_int_eq(nfs4_xattr_begin(&session, &req), 0);
}

static void drop_results(void)
{
	nfs4_xattr_end(&req);
	g_clear_pointer(&req.xattrs, source_xattrs_free);
}

static int decode_bytes(size_t len)
{
	/* On the heap, to its very end, for the address sanitizer. */
	g_autofree uint8_t *copy = g_memdup2(bytes, len);
	struct xdr_in in = {.p = copy, .end = copy + len};

	return nfs4_xattr_decode(&session, 0, &req, 0, &in);
}

static void put_names(uint64_t cookie, uint32_t n, const char *name, uint32_t len, bool eof)
{
	put_head(74, 0);
	xdr_put_u64(&out, cookie);
	xdr_put_u32(&out, n);
	for (uint32_t i = 0; i < n; i++)
		xdr_put_bytes(&out, name, len);
	xdr_put_u32(&out, eof);
}

static int decode(void)
{
	return decode_bytes((size_t)(out.p - bytes));
}

START_TEST(listings_must_get_on)
{
	begin();
	put_names(0, 1, "x", 1, false);
	ck_assert_int_eq(decode(), -EBADMSG);
	drop_results();
	begin();
	put_names(5, 0, "x", 1, false);
	ck_assert_int_eq(decode(), -EBADMSG);
	drop_results();
	begin();
	put_names(5, 1, "x", 1, false);
	ck_assert_int_eq(decode(), NFS_CALL_AGAIN);
	ck_assert_int_eq(decode(), -EBADMSG);
	drop_results();
}
END_TEST

START_TEST(listings_end)
{
	uint64_t cookie = 0;
	int ret;

	/* of names that cannot be here */
	begin();
	do {
		put_names(++cookie, 1000, "", 0, false);
		ret = decode();
	} while (ret == NFS_CALL_AGAIN && cookie < 100);
	ck_assert_int_eq(ret, 0);
	ck_assert_uint_lt(cookie, 100);
	ck_assert_uint_le(req.xattrs->lost->len, 65536);
	drop_results();
}
END_TEST

START_TEST(names_are_checked)
{
	char name[256];

	memset(name, 'n', sizeof(name));
	begin();
	put_names(5, 1, name, 251, true);
	ck_assert_int_eq(decode(), 0);
	check_lost("its name", 1);
	drop_results();
	begin();
	put_names(5, 1, name, 250, true);
	ck_assert_int_eq(decode(), NFS_CALL_AGAIN);
	drop_results();
	begin();
	put_names(5, 1, "a\0b", 3, true);
	ck_assert_int_eq(decode(), 0);
	check_lost("its name", 1);
	drop_results();
	begin();
	put_names(5, 1, "", 0, true);
	ck_assert_int_eq(decode(), 0);
	check_lost("its name", 1);
	drop_results();
	/* More than the kernel lists: those before come all the same. */
	begin();
	put_names(5, 400, name, 200, true);
	ck_assert_int_eq(decode(), NFS_CALL_AGAIN);
	check_lost("more than can be listed", 1);
	drop_results();
}
END_TEST

START_TEST(values_have_a_limit)
{
	for (unsigned over = 0; over < 2; over++) {
		static const uint8_t value[65540];

		begin();
		put_names(5, 1, "x", 1, true);
		ck_assert_int_eq(decode(), NFS_CALL_AGAIN);
		put_head(72, 0);
		xdr_put_bytes(&out, value, 65536 + over);
		ck_assert_int_eq(decode(), 0);
		ck_assert_uint_eq(req.xattrs->list->len, 1 - over);
		ck_assert_uint_eq(req.xattrs->lost->len, over);
		drop_results();
	}
}
END_TEST

START_TEST(values_have_a_limit_together)
{
	static const uint8_t value[65536];

	begin();
	put_names(5, 40, "x", 1, true);
	ck_assert_int_eq(decode(), NFS_CALL_AGAIN);
	for (unsigned i = 1; i <= 40; i++) {
		put_head(72, 0);
		xdr_put_bytes(&out, value, sizeof(value));
		ck_assert_int_eq(decode(), i < 40 ? NFS_CALL_AGAIN : 0);
	}
	ck_assert_uint_eq(req.xattrs->list->len, 16);
	ck_assert_uint_eq(req.xattrs->lost->len, 24);
	drop_results();
}
END_TEST

START_TEST(damage_stays_harmless)
{
	size_t len;

	put_names(5, 2, "name", 4, true);
	len = (size_t)(out.p - bytes);
	for (size_t n = 0; n < len; n++) {
		begin();
		ck_assert_int_eq(decode_bytes(n), -EBADMSG);
		drop_results();
	}
	for (size_t at = 0; at < len * 8; at++) {
		begin();
		bytes[at / 8] ^= (uint8_t)(1u << at % 8);
		decode_bytes(len);
		bytes[at / 8] ^= (uint8_t)(1u << at % 8);
		drop_results();
	}
}
END_TEST

/* Of another version, or of none: it is found by its path. */
START_TEST(handles_are_checked)
{
	session = (struct nfs4_session){.state = NFS4_READY, .minor = 2, .slots = 1};
	req = (struct backend_request){.op = BACKEND_XATTRS};
	ck_assert_int_eq(nfs4_xattr_begin(&session, &req), -ESTALE);
	ck_assert_ptr_null(req.backend.data);
	req.object.handle_len = NFS4_FHSIZE + 1;
	ck_assert_int_eq(nfs4_xattr_begin(&session, &req), -ESTALE);
	ck_assert_ptr_null(req.backend.data);
}
END_TEST

START_TEST(sessions_are_checked)
{
	uint8_t reply[256] = {0};
	struct xdr_in in = {.p = reply, .end = reply + sizeof(reply)};

	/* No slots. */
	session = (struct nfs4_session){.state = NFS4_NO_SESSION, .minor = 2};
	reply[4 + 4 + 4 + 3] = 43;
	ck_assert_int_eq(nfs4_decode_setup(&session, 0, &in), -EBADMSG);
	ck_assert_int_eq(session.state, NFS4_NO_SESSION);
	/* More than we have. */
	memset(reply + 12 + 8 + 24 + 20, 0x7f, 4);
	in.p = reply;
	in.bad = false;
	ck_assert_int_eq(nfs4_decode_setup(&session, 0, &in), 0);
	ck_assert_uint_eq(session.slots, NFS4_SLOTS_MAX);
	/* Version 4 is not there. */
	nfs4_reset(&session);
	ck_assert_int_eq(nfs4_decode_setup(&session, -EAGAIN, NULL), -ENOTSUP);
	ck_assert_int_eq(session.state, NFS4_REFUSED);
	ck_assert_int_eq(nfs4_xattr_begin(&session, &req), -EREMOTEIO);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, end);
	tcase_add_test(tcase, attributes_come_with_their_values);
	tcase_add_loop_test(tcase, many_share_the_slots, 0, 2);
	tcase_add_test(tcase, a_lost_session_is_made_anew);
	tcase_add_test(tcase, a_busy_server_may_be_asked_again);
	tcase_add_test(tcase, a_version_may_be_taken_away);
	tcase_add_loop_test(tcase, servers_that_do_not_have_them_say_so, 0, 5);
	tcase_add_test(tcase, statuses_count);
	tcase_add_test(tcase, listings_must_get_on);
	tcase_add_test(tcase, listings_end);
	tcase_add_test(tcase, names_are_checked);
	tcase_add_test(tcase, values_have_a_limit);
	tcase_add_test(tcase, values_have_a_limit_together);
	tcase_add_test(tcase, damage_stays_harmless);
	tcase_add_test(tcase, handles_are_checked);
	tcase_add_test(tcase, sessions_are_checked);
	return run_tcase(tcase);
}
