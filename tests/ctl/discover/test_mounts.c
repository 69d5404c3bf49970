/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "ctl/discover/mounts.h"
#include "tests/suite.h"

static GPtrArray *clients, *exports, *handles;
static GError *error;

static void setup(void)
{
	clients = g_ptr_array_new_with_free_func(mounts_client_free);
	exports = g_ptr_array_new_with_free_func(g_free);
	handles = g_ptr_array_new_with_free_func(mounts_handle_free);
}

static void teardown(void)
{
	g_clear_error(&error);
	g_ptr_array_unref(clients);
	g_ptr_array_unref(exports);
	g_ptr_array_unref(handles);
}

static struct mounts_server at(const char *host)
{
	return (struct mounts_server){.how = {.program = FAKE_ASKER, .host = host, .wait = 60}};
}

static gboolean list(const char *host)
{
	const struct mounts_server server = at(host);

	g_clear_error(&error);
	return mounts_inquire(&server, clients, exports, &error);
}

static gboolean ask_for(const char *host, unsigned n, const char *last)
{
	const struct mounts_server server = at(host);
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

	for (unsigned i = 0; i < n; i++)
		g_ptr_array_add(paths, g_strdup_printf("/vol/%u", i));
	if (last)
		g_ptr_array_add(paths, g_strdup(last));
	g_clear_error(&error);
	g_ptr_array_set_size(handles, 0);
	return mounts_ask_handles(&server, paths, handles, &error);
}

START_TEST(who_has_mounted_what)
{
	ck_assert(list("127.0.0.1"));
	ck_assert_uint_eq(clients->len, 2);
	const struct mounts_client *first = clients->pdata[0];
	ck_assert_str_eq(first->host, "client.example");
	ck_assert_str_eq(first->path, "/vol/a");
	ck_assert_uint_eq(exports->len, 2);
	ck_assert_str_eq(exports->pdata[1], "/vol/b");
}
END_TEST

START_TEST(lists_may_break)
{
	ck_assert(!list("127.0.0.2")); /* the exports' */
	ck_assert_uint_eq(exports->len, 1);
	ck_assert_ptr_nonnull(strstr(error->message, "127.0.0.2: exports: "));
	ck_assert(!list("127.0.0.5")); /* no MOUNT by TCP */
	ck_assert_ptr_nonnull(strstr(error->message, "MOUNT 3 by TCP: it is not there"));
	ck_assert(!list("127.0.0.9")); /* no portmapper */
	ck_assert_ptr_nonnull(strstr(error->message, "nobody"));
}
END_TEST

START_TEST(handles_come_in_their_order)
{
	ck_assert(ask_for("127.0.0.1", 150, "/vol/refused"));
	ck_assert_uint_eq(handles->len, 151);
	for (unsigned i = 0; i < 150; i++) {
		const struct mounts_handle *handle = handles->pdata[i];
		g_autofree char *path = g_strdup_printf("/vol/%u", i);

		ck_assert_str_eq(handle->path, path);
		ck_assert_uint_eq(handle->len, 3);
		ck_assert_mem_eq(handle->handle, "\0\xff\x10", 3);
		ck_assert_uint_eq(handle->fileid, G_MAXUINT64);
		ck_assert_uint_eq(handle->fsid, 7);
	}
	const struct mounts_handle *refused = handles->pdata[150];
	ck_assert_uint_eq(refused->len, 0);
	ck_assert_str_eq(refused->why, "MNT3ERR_ACCES\\033");
}
END_TEST

/* Handles of no length, of half a byte, that are none, that are too long; of a path that was not
 * asked about; and too few. */
START_TEST(nonsense_is_refused)
{
	for (unsigned i = 3; i <= 8; i++) {
		g_autofree char *host = g_strdup_printf("127.0.0.%u", i);

		ck_assert_msg(!ask_for(host, 2, NULL), "%s", host);
		ck_assert(strstr(error->message, "makes no sense") ||
			  strstr(error->message, "not all handles") ||
			  strstr(error->message, "MOUNT 3"));
	}
}
END_TEST

START_TEST(only_version_3_has_them)
{
	static const char *const wrong[] = {"smb://h/s", "file:///x", "nfs://h/x?version=4.1",
					    "nfs://h"};
	g_autofree char *host = NULL, *path = NULL;
	struct mounts_server server;

	for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_clear_error(&error);
		ck_assert(!mounts_server_of(wrong[i], &server, &host, &path, &error));
		ck_assert_ptr_null(host);
	}
	ck_assert(mounts_server_of("nfs://h/a/b//?mountport=5&nfsport=6", &server, &host, &path,
				   NULL));
	ck_assert_str_eq(server.how.host, "h");
	ck_assert_str_eq(path, "/a/b");
	ck_assert_uint_eq(server.mount_port, 5);
	ck_assert_uint_eq(server.nfs_port, 6);
	g_free(g_steal_pointer(&path));
	g_free(g_steal_pointer(&host));
	ck_assert(mounts_server_of("nfs://h/", &server, &host, &path, NULL));
	ck_assert_str_eq(path, "/");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mounts");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, who_has_mounted_what);
	tcase_add_test(tcase, lists_may_break);
	tcase_add_test(tcase, handles_come_in_their_order);
	tcase_add_test(tcase, nonsense_is_refused);
	tcase_add_test(tcase, only_version_3_has_them);
	return run_tcase(tcase);
}
