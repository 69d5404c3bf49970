/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ACLs over the side protocol: what a server may say, and where it says it. */
#include "lib/source/nfs/nfs_acl.h"

#include "lib/source/posix_acl.h"
#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_nfs.h"

/* ---- replies ---- */

static void put_entry(struct xdr_out *out, uint32_t type, uint32_t id, uint32_t perm)
{
	xdr_put_u32(out, type);
	xdr_put_u32(out, id);
	xdr_put_u32(out, perm);
}

static void put_count(struct xdr_out *out, uint32_t n)
{
	xdr_put_u32(out, n);
	xdr_put_u32(out, n);
}

/* As Linux has it for mode 0640: a mask is made up. */
static void put_minimal(struct xdr_out *out)
{
	put_count(out, 4);
	put_entry(out, 1, 11, 6);
	put_entry(out, 4, 22, 4);
	put_entry(out, 16, 0, 4);
	put_entry(out, 32, 0, 0);
}

static void put_long(struct xdr_out *out, uint32_t bit)
{
	put_count(out, 5);
	put_entry(out, bit | 1, 11, 7);
	put_entry(out, bit | 2, 1001, 6);
	put_entry(out, bit | 4, 22, 4);
	put_entry(out, bit | 16, 0, 0xfe); /* with Solaris' bits */
	put_entry(out, bit | 32, 0, 0);
}

static void put_start(struct xdr_out *out, uint32_t type, uint32_t mask)
{
	xdr_put_u32(out, 0);
	xdr_put_u32(out, 1);
	fake_attr(out, type, 4096, 1);
	xdr_put_u32(out, mask);
}

static void put_reply(struct xdr_out *out, uint32_t type)
{
	put_start(out, type, 15);
	put_long(out, 0);
	put_long(out, 0x1000);
}

/* ---- decoding ---- */

static struct nfs_view view = {.root = {.len = 4, .bytes = "root"}, .root_fs = FAKE_FSID};
static uint8_t bytes[65536];
static struct xdr_out out;
static struct backend_request req;

static void begin(void)
{
	out = (struct xdr_out){.p = bytes, .end = bytes + sizeof(bytes)};
	g_clear_pointer(&req.xattrs, source_xattrs_free);
	req = (struct backend_request){.op = BACKEND_XATTRS,
				       .object = by_handle((const uint8_t *)"object", 6)};
	backend_prepare(&req);
}

static int decode_bytes(size_t len)
{
	/* On the heap, to its very end, for the address sanitizer. */
	g_autofree uint8_t *copy = g_memdup2(bytes, len);
	struct xdr_in in = {.p = copy, .end = copy + len};

	return nfs_request_decode(&view, &req, NFSACLPROC3_GETACL, 0, &in);
}

static int decode(void)
{
	return decode_bytes((size_t)(out.p - bytes));
}

static int probe(void)
{
	struct xdr_in in = {.p = bytes, .end = out.p};

	return nfsacl_probe(&view, &in);
}

static const struct source_xattr *xattr_of(const struct source_xattrs *xattrs, guint i,
					   const char *name)
{
	const struct source_xattr *xattr;

	ck_assert_uint_lt(i, xattrs->list->len);
	xattr = &g_array_index(xattrs->list, struct source_xattr, i);
	ck_assert_str_eq(xattr->name, name);
	return xattr;
}

/* What put_reply() says. */
static void check_acls(const struct source_xattrs *xattrs, guint n)
{
	static const char *const names[] = {"system.posix_acl_access", "system.posix_acl_default"};
	static const uint8_t value[] = "\2\0\0\0"
				       "\1\0\7\0\377\377\377\377"
				       "\2\0\6\0\351\3\0\0"
				       "\4\0\4\0\377\377\377\377"
				       "\20\0\6\0\377\377\377\377"
				       "\40\0\0\0\377\377\377\377";

	ck_assert_uint_eq(xattrs->list->len, n);
	ck_assert_uint_eq(xattrs->lost->len, 0);
	for (guint i = 0; i < n; i++) {
		ck_assert_uint_eq(xattr_of(xattrs, i, names[i])->len, sizeof(value) - 1);
		ck_assert_mem_eq(xattr_of(xattrs, i, names[i])->value, value, sizeof(value) - 1);
	}
}

START_TEST(both_acls_are_read)
{
	begin();
	put_reply(&out, 2);
	ck_assert_int_eq(decode(), 0);
	check_acls(req.xattrs, 2);
	ck_assert(req.has_attr);
	ck_assert_uint_eq(req.attr.uid, 11);
	/* A file has no default ACL, whatever the server says. */
	begin();
	put_reply(&out, 1);
	ck_assert_int_eq(decode(), 0);
	check_acls(req.xattrs, 1);
}
END_TEST

START_TEST(made_up_masks_are_taken_out)
{
	begin();
	put_start(&out, 2, 15);
	put_minimal(&out);
	put_minimal(&out);
	ck_assert_int_eq(decode(), 0);
	ck_assert_uint_eq(req.xattrs->list->len, 1);
	ck_assert_uint_eq(req.xattrs->lost->len, 0);
	ck_assert_uint_eq(xattr_of(req.xattrs, 0, "system.posix_acl_default")->len, 4 + 3 * 8);
	/* One that says less than the group's entry is none of these. */
	begin();
	put_start(&out, 2, 15);
	put_count(&out, 4);
	put_entry(&out, 16, 0, 4);
	put_entry(&out, 32, 0, 0);
	put_entry(&out, 1, 11, 6);
	put_entry(&out, 4, 22, 6);
	put_count(&out, 0);
	ck_assert_int_eq(decode(), 0);
	ck_assert_uint_eq(xattr_of(req.xattrs, 0, "system.posix_acl_access")->len, 4 + 4 * 8);
}
END_TEST

START_TEST(what_was_not_told_is_not_there)
{
	begin();
	put_start(&out, 2, 4);
	put_long(&out, 0);
	put_count(&out, 0);
	ck_assert_int_eq(decode(), 0);
	check_acls(req.xattrs, 0);
	begin();
	put_start(&out, 2, 1);
	put_long(&out, 0);
	put_long(&out, 0x1000);
	ck_assert_int_eq(decode(), 0);
	check_acls(req.xattrs, 1);
}
END_TEST

/* Numbers that do not fit into the kernel's format must not become others. */
START_TEST(what_is_none_stays_none)
{
	static const uint32_t entries[][3] = {{64, 0, 7},	{0, 0, 7},	 {0x10002, 5, 7},
					      {2, 5, 0x107},	{2, 5, 8},	 {2, UINT32_MAX, 7},
					      {1, 0, 0xffffff}, {32, 0, 0x10000}};

	for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
		begin();
		put_start(&out, 2, 15);
		put_count(&out, 5);
		put_entry(&out, 1, 11, 6);
		put_entry(&out, 4, 22, 4);
		put_entry(&out, 16, 0, 6);
		put_entry(&out, 32, 0, 0);
		put_entry(&out, entries[i][0], entries[i][1], entries[i][2]);
		put_long(&out, 0x1000);
		ck_assert_int_eq(decode(), 0);
		ck_assert_uint_eq(req.xattrs->list->len, 1);
		xattr_of(req.xattrs, 0, "system.posix_acl_default");
		ck_assert_uint_eq(req.xattrs->lost->len, 1);
		ck_assert(req.xattrs->acl_lost);
	}
}
END_TEST

static void check_unknown(void)
{
	ck_assert_uint_eq(req.xattrs->list->len, 0);
	ck_assert_uint_eq(req.xattrs->lost->len, 1);
	ck_assert(req.xattrs->acl_lost);
	ck_assert_ptr_nonnull(strstr(req.xattrs->lost->pdata[0], "ACL: "));
}

START_TEST(an_acl_that_does_not_get_through_is_lost)
{
	begin();
	ck_assert_int_eq(nfs_request_decode(&view, &req, NFSACLPROC3_GETACL, -EREMOTEIO, NULL), 0);
	check_unknown();
	begin();
	put_start(&out, 2, 15);
	put_count(&out, NFSACL_ENTRIES_MAX + 1);
	memset(out.p, 0, 12 * (NFSACL_ENTRIES_MAX + 1));
	out.p += 12 * (NFSACL_ENTRIES_MAX + 1);
	put_long(&out, 0x1000);
	ck_assert_int_eq(decode(), 0);
	check_unknown();
}
END_TEST

START_TEST(statuses_count)
{
	static const struct {
		uint32_t nfs;
		int status;
	} map[] = {{70, -ESTALE}, {10008, -EAGAIN}, {13, -EACCES}, {10006, -EREMOTEIO}};

	for (size_t i = 0; i < G_N_ELEMENTS(map); i++) {
		begin();
		xdr_put_u32(&out, map[i].nfs);
		xdr_put_u32(&out, 0);
		ck_assert_int_eq(decode(), map[i].status);
		ck_assert_ptr_null(req.xattrs);
	}
	begin();
	xdr_put_u32(&out, 10004);
	xdr_put_u32(&out, 0);
	ck_assert_int_eq(decode(), 0);
	ck_assert_uint_eq(req.xattrs->list->len, 0);
	ck_assert_uint_eq(req.xattrs->lost->len, 1);
	/* The program, or its procedure, is not there any more. */
	begin();
	ck_assert_int_eq(nfs_request_decode(&view, &req, NFSACLPROC3_GETACL, -EAGAIN, NULL),
			 -EREMOTEIO);
	ck_assert_int_eq(nfs_request_decode(&view, &req, NFSACLPROC3_GETACL, -ENOTSUP, NULL),
			 -EREMOTEIO);
	ck_assert_int_eq(nfs_request_decode(&view, &req, NFSACLPROC3_GETACL, -EACCES, NULL),
			 -EACCES);
}
END_TEST

START_TEST(damage_stays_harmless)
{
	size_t len;

	begin();
	put_reply(&out, 2);
	len = (size_t)(out.p - bytes);
	for (size_t n = 0; n < len; n++) {
		begin();
		ck_assert_int_eq(decode_bytes(n), 0);
		check_unknown();
	}
	for (size_t at = 0; at < len; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			begin();
			bytes[at] ^= (uint8_t)(1u << bit);
			decode_bytes(len);
			bytes[at] ^= (uint8_t)(1u << bit);
		}
	begin();
	put_start(&out, 2, 15);
	xdr_put_u32(&out, 5);
	xdr_put_u32(&out, 4);
	ck_assert_int_eq(decode(), 0);
	check_unknown();
	begin();
	put_start(&out, 2, 15);
	put_count(&out, 0x15555556); /* times 12 it is 8 */
	xdr_put_u64(&out, 0);
	ck_assert_int_eq(decode(), 0);
	check_unknown();
}
END_TEST

START_TEST(a_server_without_acls_is_told_apart)
{
	begin();
	put_start(&out, 2, 15);
	put_minimal(&out);
	put_count(&out, 0);
	ck_assert_int_eq(probe(), 0);
	begin();
	put_start(&out, 2, 15);
	put_count(&out, 0);
	put_count(&out, 0);
	ck_assert_int_eq(probe(), -ENOTSUP);
	begin();
	put_start(&out, 2, 4);
	put_minimal(&out);
	ck_assert_int_eq(probe(), -ENOTSUP);
	begin();
	xdr_put_u32(&out, 10008);
	ck_assert_int_eq(probe(), -EAGAIN);
	begin();
	ck_assert_int_eq(probe(), -EBADMSG);
}
END_TEST

/* ---- a server ---- */

static struct fake *fake, *acl_fake;
static struct backend *backend;
static struct source_object root;
static GError *error;
static atomic_uint asked, busy;

static bool is_getacl(const struct fake_call *call)
{
	return call->program == NFSACL_PROGRAM && call->procedure == 1;
}

static enum fake_action tell_acls(struct fake_call *call)
{
	uint32_t len;
	const uint8_t *handle;

	if (!is_getacl(call))
		return FAKE_DEFAULT;
	atomic_fetch_add(&asked, 1);
	if (atomic_load(&busy) && atomic_fetch_sub(&busy, 1))
		return fake_status(call, 10008);
	handle = xdr_get_bytes(&call->args, &len);
	put_reply(&call->out, handle && memcmp(handle, FAKE_FILE, len) == 0 ? 1 : 2);
	return FAKE_REPLY;
}

static enum fake_action tell_nothing(struct fake_call *call)
{
	if (!is_getacl(call))
		return FAKE_DEFAULT;
	put_start(&call->out, 2, 15);
	put_count(&call->out, 0);
	put_count(&call->out, 0);
	return FAKE_REPLY;
}

/* Nothing but ACLs, as on a port of their own. */
static enum fake_action acls_only(struct fake_call *call)
{
	if (call->program == NFSACL_PROGRAM)
		return tell_acls(call);
	fake_header(call, 1);
	return FAKE_REPLY;
}

static bool start(enum fake_action (*hook)(struct fake_call *call), const char *more)
{
	fake = fake_start(hook, NULL);
	backend = fake_open(fake, "/x", more, 1, &root, &error);
	return backend;
}

static void start_apart(enum fake_action (*hook)(struct fake_call *call))
{
	g_autofree char *more = NULL;

	acl_fake = fake_start(acls_only, NULL);
	more = g_strdup_printf("&aclport=%u", acl_fake->port);
	ck_assert(start(hook, more));
}

static void end(void)
{
	if (backend)
		backend->ops->close(backend);
	if (fake)
		fake_stop(fake);
	if (acl_fake)
		fake_stop(acl_fake);
	source_object_clear(&root);
	g_clear_error(&error);
	g_clear_pointer(&req.xattrs, source_xattrs_free);
}

static int get_xattrs(struct backend *from, struct source_object object,
		      enum backend_priority priority)
{
	g_clear_pointer(&req.xattrs, source_xattrs_free);
	req = (struct backend_request){
		.op = BACKEND_XATTRS, .object = object, .priority = priority};
	return run(from, &req);
}

static void check_not_carried(const char *line)
{
	g_autofree char *text = backend->ops->not_carried(backend);

	ck_assert_msg(strstr(text, line), "%s", text);
}

START_TEST(acls_come_over_the_connections_of_nfs)
{
	ck_assert(start(tell_acls, ""));
	ck_assert_uint_eq(backend->ops->carries(backend), BACKEND_CARRIES_ACL);
	check_not_carried("extended attributes: ");
	ck_assert_int_eq(get_xattrs(backend, root, BACKEND_DEMAND), 0);
	check_acls(req.xattrs, 2);
	ck_assert_int_eq(get_xattrs(backend, by_path("file"), BACKEND_BACKGROUND), 0);
	check_acls(req.xattrs, 1);
	/* Five calls at open, then one connection each for demand and background. */
	ck_assert_uint_eq(fake->connections, 5 + 2);
}
END_TEST

START_TEST(a_busy_server_may_be_asked_again)
{
	ck_assert(start(tell_acls, ""));
	atomic_store(&busy, 1);
	ck_assert_int_eq(get_xattrs(backend, root, BACKEND_DEMAND), -EAGAIN);
	ck_assert_ptr_null(req.xattrs);
	ck_assert_int_eq(get_xattrs(backend, root, BACKEND_DEMAND), 0);
	check_acls(req.xattrs, 2);
}
END_TEST

START_TEST(a_server_may_be_busy_at_open)
{
	atomic_store(&busy, 2);
	ck_assert(start(tell_acls, ""));
	ck_assert_uint_eq(backend->ops->carries(backend), BACKEND_CARRIES_ACL);
	ck_assert_uint_eq(asked, 3);
}
END_TEST

START_TEST(servers_without_acls_say_so)
{
	ck_assert(start(_i ? tell_nothing : NULL, ""));
	ck_assert_uint_eq(backend->ops->carries(backend), 0);
	check_not_carried("ACLs: the old server does not tell them");
	ck_assert_int_eq(get_xattrs(backend, root, BACKEND_DEMAND), -ENOTSUP);
}
END_TEST

START_TEST(acls_may_be_left_out)
{
	ck_assert(start(tell_acls, "&aclport=0"));
	ck_assert_uint_eq(backend->ops->carries(backend), 0);
	check_not_carried("ACLs: aclport=0");
	ck_assert_uint_eq(asked, 0);
}
END_TEST

START_TEST(a_port_that_is_named_must_have_them)
{
	g_autofree char *more = NULL;

	acl_fake = fake_start(NULL, NULL);
	more = g_strdup_printf("&aclport=%u", acl_fake->port);
	ck_assert(!start(tell_acls, more));
	ck_assert_ptr_nonnull(strstr(error->message, "aclport=0"));
	ck_assert_uint_eq(asked, 0);
}
END_TEST

START_TEST(acls_may_have_a_port_of_their_own)
{
	start_apart(NULL);
	ck_assert_uint_eq(backend->ops->carries(backend), BACKEND_CARRIES_ACL);
	ck_assert_int_eq(get_xattrs(backend, root, BACKEND_DEMAND), 0);
	check_acls(req.xattrs, 2);
	ck_assert_int_eq(get_xattrs(backend, root, BACKEND_BACKGROUND), 0);
	check_acls(req.xattrs, 2);
	/* Paths are walked on the other. */
	ck_assert_int_eq(get_xattrs(backend, by_path("file"), BACKEND_DEMAND), 0);
	check_acls(req.xattrs, 1);
	ck_assert_int_eq(get_xattrs(backend, by_path(".."), BACKEND_DEMAND), -ENOENT);
	/* Open, demand, background; the latter two have asked about the root before. */
	ck_assert_uint_eq(acl_fake->connections, 3);
	ck_assert_uint_eq(asked, 3 + 3);
}
END_TEST

static void never(struct backend_request *cancelled)
{
	ck_assert_int_eq(cancelled->status, -ECANCELED);
	atomic_fetch_add(&asked, 1);
}

static enum fake_action no_answer(struct fake_call *call)
{
	return call->program == NFS_PROGRAM && call->procedure == NFSPROC3_LOOKUP ? FAKE_IGNORE
										  : FAKE_DEFAULT;
}

START_TEST(closing_cancels_on_the_way)
{
	struct backend_request one = {
		.op = BACKEND_XATTRS, .object = by_path("file"), .done = never};

	start_apart(no_answer);
	atomic_store(&asked, 0);
	backend->ops->submit(backend, &one);
	backend->ops->close(g_steal_pointer(&backend));
	ck_assert_uint_eq(asked, 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, NULL, end);
	tcase_add_test(tcase, both_acls_are_read);
	tcase_add_test(tcase, made_up_masks_are_taken_out);
	tcase_add_test(tcase, what_was_not_told_is_not_there);
	tcase_add_test(tcase, what_is_none_stays_none);
	tcase_add_test(tcase, an_acl_that_does_not_get_through_is_lost);
	tcase_add_test(tcase, statuses_count);
	tcase_add_test(tcase, damage_stays_harmless);
	tcase_add_test(tcase, a_server_without_acls_is_told_apart);
	tcase_add_test(tcase, acls_come_over_the_connections_of_nfs);
	tcase_add_test(tcase, a_busy_server_may_be_asked_again);
	tcase_add_test(tcase, a_server_may_be_busy_at_open);
	tcase_add_loop_test(tcase, servers_without_acls_say_so, 0, 2);
	tcase_add_test(tcase, acls_may_be_left_out);
	tcase_add_test(tcase, a_port_that_is_named_must_have_them);
	tcase_add_test(tcase, acls_may_have_a_port_of_their_own);
	tcase_add_test(tcase, closing_cancels_on_the_way);
	return run_tcase(tcase);
}
