/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a URL to a root, with servers that refuse in every way. */
#include <netdb.h>
#include <sched.h>

#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_nfs.h"

static struct source_object root;
static unsigned lookups;

int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		       struct addrinfo **found);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		       struct addrinfo **found);

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		       struct addrinfo **found)
{
	lookups++;
	return __real_getaddrinfo(host, port, hints, found);
}

static void teardown(void)
{
	source_object_clear(&root);
}

/* Opens and closes; the message when it fails, else NULL. */
static char *try_open(enum fake_action (*hook)(struct fake_call *call), const char *path,
		      const char *more)
{
	struct fake *fake = fake_start(hook, NULL);
	GError *error = NULL;
	struct backend *backend = fake_open(fake, path, more, 1, &root, &error);
	char *message = NULL;

	if (backend)
		backend->ops->close(backend);
	fake_stop(fake);
	if (!error)
		return NULL;
	ck_assert_ptr_null(backend);
	ck_assert_ptr_null(root.path);
	ck_assert_ptr_null(strchr(error->message, '\n'));
	ck_assert_int_eq(strncmp(error->message, "nfs://127.0.0.1:", 16), 0);
	message = g_strdup(error->message);
	g_error_free(error);
	return message;
}

static void check_refused(enum fake_action (*hook)(struct fake_call *call), const char *hint)
{
	g_autofree char *message = try_open(hook, "/a/b", "");

	ck_assert_ptr_nonnull(message);
	ck_assert_msg(strstr(message, hint), "%s", message);
}

START_TEST(a_willing_server_is_opened)
{
	ck_assert_ptr_null(try_open(NULL, "/a/b", ""));
	ck_assert_str_eq(root.path, "");
	ck_assert_uint_eq(root.handle_len, strlen(FAKE_ROOT));
	ck_assert_mem_eq(root.handle, FAKE_ROOT, root.handle_len);
}
END_TEST

static uint32_t access_status, access_allowed;

static enum fake_action tells_access(struct fake_call *call)
{
	if (call->program != NFS_PROGRAM || call->version != 3 || call->procedure != 4)
		return FAKE_DEFAULT;
	xdr_put_u32(&call->out, access_status);
	xdr_put_u32(&call->out, access_allowed & 1); /* with the attributes, or without */
	if (access_allowed & 1)
		fake_attr(&call->out, 2, 4096, 1);
	if (!access_status)
		xdr_put_u32(&call->out, access_allowed);
	return FAKE_REPLY;
}

static int is_writable(uint32_t status, uint32_t allowed)
{
	struct fake *fake = fake_start(tells_access, NULL);
	struct backend *backend = fake_open(fake, "/a/b", "", 1, &root, NULL);
	int ret;

	access_status = status;
	access_allowed = allowed;
	ret = backend->ops->writable(backend);
	backend->ops->close(backend);
	fake_stop(fake);
	source_object_clear(&root);
	return ret;
}

START_TEST(whether_it_may_be_written)
{
	ck_assert_int_eq(is_writable(0, 0x1f), 1);
	ck_assert_int_eq(is_writable(0, 0x8), 1);
	ck_assert_int_eq(is_writable(0, 0x3), 0);
	ck_assert_int_eq(is_writable(13, 0), -EACCES);
}
END_TEST

static bool mounts(const struct fake_call *call)
{
	return call->program == FAKE_MOUNT;
}

static enum fake_action no_entry(struct fake_call *call)
{
	return mounts(call) ? fake_status(call, 2) : FAKE_DEFAULT;
}

static enum fake_action no_access(struct fake_call *call)
{
	return mounts(call) ? fake_status(call, 13) : FAKE_DEFAULT;
}

/* It has exports, and the path is in none. */
static enum fake_action exports_others(struct fake_call *call)
{
	if (!mounts(call))
		return FAKE_DEFAULT;
	if (call->procedure != 5)
		return fake_status(call, 13);
	for (unsigned i = 0; i < 10; i++) {
		g_autofree char *path = g_strdup_printf("/a/b%u", i);

		xdr_put_u32(&call->out, 1);
		xdr_put_bytes(&call->out, path, (uint32_t)strlen(path));
		xdr_put_u32(&call->out, 1);
		xdr_put_bytes(&call->out, "*", 1);
		xdr_put_u32(&call->out, 0);
	}
	xdr_put_u32(&call->out, 0);
	return FAKE_REPLY;
}

static enum fake_action no_directory(struct fake_call *call)
{
	return mounts(call) ? fake_status(call, 20) : FAKE_DEFAULT;
}

static enum fake_action kerberos_only(struct fake_call *call)
{
	if (!mounts(call))
		return FAKE_DEFAULT;
	xdr_put_u32(&call->out, 0);
	xdr_put_bytes(&call->out, FAKE_ROOT, 4);
	xdr_put_u32(&call->out, 2);
	xdr_put_u32(&call->out, 390003);
	xdr_put_u32(&call->out, 390004);
	return FAKE_REPLY;
}

/* What overflows libnfs's heap. */
static enum fake_action flavors_without_end(struct fake_call *call)
{
	if (!mounts(call))
		return FAKE_DEFAULT;
	xdr_put_u32(&call->out, 0);
	xdr_put_bytes(&call->out, FAKE_ROOT, 4);
	xdr_put_u32(&call->out, 0x40000001);
	memset(call->out.p, 'A', 200000);
	call->out.p += 200000;
	return FAKE_REPLY;
}

static enum fake_action empty_handle(struct fake_call *call)
{
	if (!mounts(call))
		return FAKE_DEFAULT;
	xdr_put_u64(&call->out, 0);
	return FAKE_REPLY;
}

static enum fake_action root_is_a_file(struct fake_call *call)
{
	if (mounts(call) || call->procedure != NFSPROC3_GETATTR)
		return FAKE_DEFAULT;
	xdr_put_u32(&call->out, 0);
	fake_attr(&call->out, 1, 100, 1);
	return FAKE_REPLY;
}

static enum fake_action credential_refused(struct fake_call *call)
{
	if (mounts(call))
		return FAKE_DEFAULT;
	call->out.p = call->start + 4;
	xdr_put_u32(&call->out, call->xid);
	xdr_put_u32(&call->out, 1);
	xdr_put_u32(&call->out, 1);
	xdr_put_u32(&call->out, 1);
	xdr_put_u32(&call->out, 1);
	return FAKE_REPLY;
}

START_TEST(refusals_are_explained)
{
	check_refused(no_entry, "no export or directory /a/b");
	check_refused(no_access, "export /a/b to it");
	check_refused(exports_others, "does not export /a/b; it exports /a/b0, /a/b1");
	check_refused(exports_others, "/a/b7 and 2 more");
	check_refused(no_directory, "not a directory");
	check_refused(kerberos_only, "sec=sys");
	check_refused(flavors_without_end, "sec=sys");
	check_refused(empty_handle, "Bad message");
	check_refused(root_is_a_file, "not a directory");
	check_refused(credential_refused, "export /a/b to it");
}
END_TEST

/* Only "/a" can be mounted; below it are b and c, whose handles are their names. */
static enum fake_action parent_only(struct fake_call *call)
{
	uint32_t len;
	const char *text = (const char *)xdr_get_bytes(&call->args, &len);

	if (mounts(call)) {
		if (len != 2 || memcmp(text, "/a", 2) != 0)
			return fake_status(call, 13);
		return FAKE_DEFAULT;
	}
	if (call->procedure != NFSPROC3_LOOKUP)
		return FAKE_DEFAULT;
	text = (const char *)xdr_get_bytes(&call->args, &len);
	if (len != 1 || (*text != 'b' && *text != 'c'))
		return fake_status(call, 2);
	xdr_put_u32(&call->out, 0);
	xdr_put_bytes(&call->out, text, len);
	xdr_put_u64(&call->out, 0);
	return FAKE_REPLY;
}

START_TEST(directories_below_an_export_are_walked_to)
{
	g_autofree char *message = NULL;

	ck_assert_ptr_null(try_open(parent_only, "/a/b/c", ""));
	ck_assert_uint_eq(root.handle_len, 1);
	ck_assert_uint_eq(root.handle[0], 'c');
	source_object_clear(&root);
	message = try_open(parent_only, "/a/b/d", "");
	ck_assert_ptr_nonnull(message);
}
END_TEST

/* Away at first: the connection breaks, JUKEBOX, the program is not there yet. */
static enum fake_action slow_start(struct fake_call *call)
{
	switch (call->connection) {
	case 0:
		return FAKE_RESET;
	case 1:
		fake_header(call, 1);
		return FAKE_REPLY;
	case 3:
		return fake_status(call, 10008);
	case 4:
		fake_default(call);
		return FAKE_HALF;
	default:
		return FAKE_DEFAULT;
	}
}

START_TEST(a_server_may_be_starting)
{
	ck_assert_ptr_null(try_open(slow_start, "/a", ""));
}
END_TEST

/* A label that is too long for any name server, asked for where there is none. */
START_TEST(names_that_do_not_resolve_fail_at_once)
{
	g_autofree char *host = g_strnfill(80, 'x');
	g_autofree char *url = g_strdup_printf("nfs://%s/x", host);
	const struct backend_config config = {.url = url};
	struct source_attr attr;
	GError *error = NULL;

	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	ck_assert_ptr_null(backend_nfs_ops.open(&config, &root, &attr, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "cannot be resolved"));
	g_error_free(error);
	ck_assert_uint_eq(lookups, 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, NULL, teardown);
	tcase_add_test(tcase, a_willing_server_is_opened);
	tcase_add_test(tcase, whether_it_may_be_written);
	tcase_add_test(tcase, refusals_are_explained);
	tcase_add_test(tcase, directories_below_an_export_are_walked_to);
	tcase_add_test(tcase, a_server_may_be_starting);
	tcase_add_test(tcase, names_that_do_not_resolve_fail_at_once);
	return run_tcase(tcase);
}
