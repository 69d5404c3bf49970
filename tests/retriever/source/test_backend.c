/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "source/backend.h"
#include "backend_support.h"

static const struct backend_ops *find(const char *url, GError **error)
{
	return backend_find(url, error);
}

START_TEST(schemes_are_found)
{
	GError *error = NULL;

	ck_assert_ptr_eq(find("nfs://host/path", NULL), &backend_nfs_ops);
	ck_assert_ptr_eq(find("NFS://host/path", NULL), &backend_nfs_ops);
	ck_assert_ptr_eq(find("smb://user@host/share", NULL), &backend_smb_ops);
	ck_assert_ptr_eq(find("file:///path", NULL), &backend_file_ops);
	ck_assert_ptr_null(find("ftp://host/path", &error));
	ck_assert(g_error_matches(error, BACKEND_ERROR, EPROTONOSUPPORT));
	ck_assert_ptr_nonnull(strstr(error->message, "ftp://host/path"));
	ck_assert_ptr_nonnull(strstr(error->message, "nfs://, smb://, file://"));
	g_clear_error(&error);
	ck_assert_ptr_null(find("/just/a/path", NULL));
	ck_assert_ptr_null(find("nf://x", NULL));
	ck_assert_ptr_null(find("nfss://x", NULL));
	ck_assert_ptr_null(find("://", NULL));
	ck_assert_ptr_null(find("", NULL));
}
END_TEST

START_TEST(names_are_checked)
{
	static const struct {
		const char *name;
		size_t len;
		bool ok;
	} names[] = {
		{"a", 1, true},	    {".a", 2, true}, {"..a", 3, true},	 {"...", 3, true},
		{"\xff", 1, true},  {"", 0, false},  {".", 1, false},	 {"..", 2, false},
		{"a/b", 3, false},  {"/", 1, false}, {"a\0b", 3, false}, {"\0", 1, false},
		{"a b\n", 4, true},
	};
	struct backend_batch *batch = backend_batch_new();
	struct source_entry entry = {.attr.fileid = 5};
	char name[256];
	unsigned n = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		ck_assert_int_eq(backend_batch_add(batch, names[i].name, names[i].len, &entry),
				 names[i].ok);
		n += names[i].ok;
	}
	memset(name, 'x', sizeof(name));
	ck_assert(backend_batch_add(batch, name, 255, &entry));
	ck_assert(!backend_batch_add(batch, name, 256, &entry));
	ck_assert_uint_eq(batch->entries->len, n + 1);
	ck_assert_uint_eq(batch->rejected, G_N_ELEMENTS(names) - n + 1);
	ck_assert_uint_eq(batch->refused->len, batch->rejected);
	ck_assert_str_eq(g_array_index(batch->refused, struct source_refusal, 3).name, "a/b");
	for (unsigned i = 0; i < 2 * BATCH_REFUSED_MAX; i++)
		ck_assert(!backend_batch_add(batch, "/", 1, &entry));
	ck_assert_uint_eq(batch->refused->len, BATCH_REFUSED_MAX);
	ck_assert_uint_eq(batch->rejected, G_N_ELEMENTS(names) - n + 1 + 2 * BATCH_REFUSED_MAX);
	/* A copy, terminated. */
	memset(name, 'y', sizeof(name));
	ck_assert_uint_eq(strspn(g_array_index(batch->entries, struct source_entry, n).name, "x"),
			  255);
	ck_assert_str_eq(g_array_index(batch->entries, struct source_entry, 0).name, "a");
	ck_assert_uint_eq(g_array_index(batch->entries, struct source_entry, 0).attr.fileid, 5);
	backend_batch_free(batch);
	backend_batch_free(NULL);
}
END_TEST

START_TEST(paths_are_checked)
{
	ck_assert(backend_path_ok(""));
	ck_assert(backend_path_ok("a"));
	ck_assert(backend_path_ok("/a//b/c/"));
	ck_assert(!backend_path_ok("a/../b"));
	ck_assert(!backend_path_ok("."));
	ck_assert(!backend_path_ok("a/.."));
}
END_TEST

static void check_url_path(const char *text, const char *expected)
{
	GError *error = NULL;
	char *path = backend_url_path("url", text, strlen(text), &error);

	if (expected) {
		ck_assert_str_eq(path, expected);
		ck_assert_ptr_null(error);
	} else {
		ck_assert_ptr_null(path);
		ck_assert_ptr_nonnull(error);
		g_error_free(error);
	}
	g_free(path);
}

START_TEST(url_paths_are_decoded)
{
	check_url_path("/a/b", "/a/b");
	check_url_path("//a///b/", "/a/b");
	check_url_path("/", "/");
	check_url_path("/with%20space%3f%25", "/with space?%");
	check_url_path("/50%", NULL);
	check_url_path("/a%00b", NULL);
	check_url_path("/a/../b", NULL);
	check_url_path("/a/%2e%2e/b", NULL);
	check_url_path("/./a", NULL);
}
END_TEST

START_TEST(url_hosts_are_taken_apart)
{
	static const struct {
		const char *text, *host;
		unsigned port;
	} good[] = {
		{"host", "host", 7},	     {"10.1.2.3", "10.1.2.3", 7},
		{"host:1", "host", 1},	     {"host:65535", "host", 65535},
		{"[fe80::1]", "fe80::1", 7}, {"[fe80::1%eth0]:99", "fe80::1%eth0", 99},
		{"[host]:0080", "host", 80},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
		g_autofree char *longer = g_strdup_printf("%s:5/x", good[i].text);
		g_autofree char *host = NULL;
		uint16_t port = 7;

		ck_assert_ptr_null(backend_url_host(longer, strlen(good[i].text), &host, &port));
		ck_assert_str_eq(host, good[i].host);
		ck_assert_uint_eq(port, good[i].port);
	}
}
END_TEST

START_TEST(url_hosts_are_checked)
{
	static const char *const bad[][2] = {
		{"", "no host"},	  {":1", "no host"},
		{"[]", "no host"},	  {"[]:1", "no host"},
		{"user@h", "no host"},	  {"[a]b", "no host"},
		{"[[::1]", "no host"},	  {"a]", "no host"},
		{"[a;b]", "no host"},	  {"[::1", "closing bracket"},
		{"[", "closing bracket"}, {"h:", "no port"},
		{"h:0", "no port"},	  {"h:65536", "no port"},
		{"h:x", "no port"},	  {"h: 1", "no port"},
		{"fe80::1", "no port"},	  {"[::1]:", "no port"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		char *host = (char *)"";
		uint16_t port = 7;
		const char *mistake = backend_url_host(bad[i][0], strlen(bad[i][0]), &host, &port);

		ck_assert_msg(mistake && strstr(mistake, bad[i][1]), "%s: %s", bad[i][0],
			      mistake ? mistake : "(taken)");
		ck_assert_ptr_null(host);
		ck_assert_uint_eq(port, 7);
	}
}
END_TEST

START_TEST(objects_are_copied)
{
	struct source_object from = {.handle_len = 3, .handle = "abc", .path = (char *)"p/q"}, to;

	source_object_copy(&to, &from);
	ck_assert_uint_eq(to.handle_len, 3);
	ck_assert_mem_eq(to.handle, "abc", 3);
	ck_assert_str_eq(to.path, "p/q");
	ck_assert_ptr_ne(to.path, from.path);
	source_object_clear(&to);
	ck_assert_ptr_null(to.path);
	ck_assert_uint_eq(to.handle_len, 0);
}
END_TEST

START_TEST(fileids_differ_across_file_systems)
{
	ck_assert_uint_eq(backend_fileid(42, 7, 7), 42);
	ck_assert_uint_ne(backend_fileid(42, 8, 7), 42);
	ck_assert_uint_ne(backend_fileid(42, 8, 7), backend_fileid(42, 9, 7));
	ck_assert_uint_eq(backend_fileid(42, 8, 7), backend_fileid(42, 8, 7));
}
END_TEST

static unsigned seconds_since(gint64 then)
{
	return (unsigned)((g_get_monotonic_time() - then) / G_USEC_PER_SEC);
}

START_TEST(away_counts_from_the_last_answer)
{
	struct backend_watch watch = {0};
	gint64 now = g_get_monotonic_time();
	unsigned away;

	ck_assert_uint_eq(backend_watch_away(&watch), 0);
	backend_watch_begin(&watch);
	ck_assert_uint_eq(backend_watch_away(&watch), 0);
	atomic_store(&watch.since, now - 9 * G_USEC_PER_SEC);
	away = backend_watch_away(&watch);
	ck_assert_uint_ge(away, 9);
	ck_assert_uint_le(away, 9 + seconds_since(now));
	backend_watch_answer(&watch, now - 3 * G_USEC_PER_SEC);
	away = backend_watch_away(&watch);
	ck_assert_uint_ge(away, 3);
	ck_assert_uint_le(away, 3 + seconds_since(now));
	backend_watch_end(&watch);
	ck_assert_uint_eq(backend_watch_away(&watch), 0);
}
END_TEST

static void count(struct backend_request *req)
{
	gate_pass(req->user);
}

START_TEST(failures_carry_no_results)
{
	struct gate gate;
	struct backend_request req = {.done = count, .user = &gate};

	gate_init(&gate);
	backend_prepare(&req);
	req.batch = backend_batch_new();
	req.text = g_strdup("text");
	req.has_attr = req.eof = true;
	req.data_len = 5;
	backend_complete(&req, -EBADMSG);
	ck_assert_uint_eq(gate_count(&gate), 1);
	ck_assert_ptr_null(req.batch);
	ck_assert_ptr_null(req.text);
	ck_assert(!req.has_attr);
	ck_assert(!req.eof);
	ck_assert_uint_eq(req.data_len, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("backend");
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, schemes_are_found);
	tcase_add_test(tcase, names_are_checked);
	tcase_add_test(tcase, paths_are_checked);
	tcase_add_test(tcase, url_paths_are_decoded);
	tcase_add_test(tcase, url_hosts_are_taken_apart);
	tcase_add_test(tcase, url_hosts_are_checked);
	tcase_add_test(tcase, objects_are_copied);
	tcase_add_test(tcase, fileids_differ_across_file_systems);
	tcase_add_test(tcase, away_counts_from_the_last_answer);
	tcase_add_test(tcase, failures_carry_no_results);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
