/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a server may say, right and wrong. */
#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_nfs.h"

static struct nfs_view view;
static uint8_t bytes[65536];
static struct xdr_out out;
static struct backend_request req;

static void setup(void)
{
	view = (struct nfs_view){.root = {.len = 4, .bytes = "root"}, .root_fs = FAKE_FSID};
	out = (struct xdr_out){.p = bytes, .end = bytes + sizeof(bytes)};
	req = (struct backend_request){.object = by_handle((const uint8_t *)"object", 6)};
}

static void begin(enum backend_op op)
{
	req.op = op;
	backend_prepare(&req);
	out.p = bytes;
	ck_assert_int_eq(nfs_request_begin(&view, &req), 0);
}

static void drop_results(void)
{
	g_clear_pointer(&req.batch, backend_batch_free);
	g_clear_pointer(&req.text, g_free);
	nfs_request_end(&req);
}

static int decode_bytes(const uint8_t *from, size_t len)
{
	/* On the heap, to its very end, for the address sanitizer. */
	uint8_t *copy = g_memdup2(from, len);
	struct xdr_in in = {.p = copy, .end = copy + len};
	int status = nfs_request_decode(&view, &req, nfs_request_procedure(&view, &req), 0, &in);

	req.data = NULL;
	g_free(copy);
	return status;
}

static int decode(void)
{
	return decode_bytes(bytes, (size_t)(out.p - bytes));
}

static void put_listing_start(void)
{
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, 0);
	xdr_put_u64(&out, 77);
}

static void put_entry(bool plus, const char *name, uint32_t len, uint64_t cookie)
{
	xdr_put_u32(&out, 1);
	xdr_put_u64(&out, 100 + cookie);
	xdr_put_bytes(&out, name, len);
	xdr_put_u64(&out, cookie);
	if (!plus)
		return;
	xdr_put_u32(&out, 1);
	fake_attr(&out, 1, 10 * cookie, 100 + cookie);
	xdr_put_u32(&out, 1);
	xdr_put_bytes(&out, "handle", 6);
}

static void put_listing_end(bool eof)
{
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, eof);
}

static struct source_entry *entry(unsigned i)
{
	ck_assert_uint_lt(i, req.batch->entries->len);
	return &g_array_index(req.batch->entries, struct source_entry, i);
}

START_TEST(reads_are_checked)
{
	static const struct {
		uint32_t count, eof, len;
		int status;
	} cases[] = {
		{100, 0, 100, 0},	{100, 1, 100, 0},	{40, 0, 40, 0},
		{0, 1, 0, 0},		{0, 0, 0, -EBADMSG},	{101, 0, 101, -EBADMSG},
		{100, 0, 99, -EBADMSG}, {99, 0, 100, -EBADMSG}, {5000, 0, 5000, -EBADMSG},
	};
	uint8_t data[5000] = {1};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		begin(BACKEND_READ);
		req.count = 100;
		xdr_put_u32(&out, 0);
		xdr_put_u32(&out, 0);
		xdr_put_u32(&out, cases[i].count);
		xdr_put_u32(&out, cases[i].eof);
		xdr_put_bytes(&out, data, cases[i].len);
		ck_assert_int_eq(decode(), cases[i].status);
		if (cases[i].status < 0)
			continue;
		ck_assert_uint_eq(req.data_len, cases[i].len);
		ck_assert_int_eq(req.eof, cases[i].eof);
		ck_assert(!req.has_attr);
	}
	/* A length beyond the reply, and one that wraps. */
	for (unsigned i = 0; i < 2; i++) {
		begin(BACKEND_READ);
		for (unsigned j = 0; j < 4; j++)
			xdr_put_u32(&out, j == 2 ? 100 : 0);
		xdr_put_u32(&out, i ? 100 : 0xfffffff0);
		xdr_put_u32(&out, 0);
		ck_assert_int_eq(decode(), -EBADMSG);
	}
	/* Nothing at the end without eof, as the attributes tell. */
	begin(BACKEND_READ);
	req.offset = 50;
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, 1);
	fake_attr(&out, 1, 50, 5);
	for (unsigned i = 0; i < 3; i++)
		xdr_put_u32(&out, 0);
	ck_assert_int_eq(decode(), 0);
	ck_assert(req.eof);
	ck_assert(req.has_attr);
	ck_assert_uint_eq(req.attr.size, 50);
}
END_TEST

static int decode_link(const char *target, uint32_t len)
{
	int status;

	begin(BACKEND_READLINK);
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, 0);
	xdr_put_bytes(&out, target, len);
	status = decode();
	if (status == 0)
		ck_assert_uint_eq(strlen(req.text), len);
	drop_results();
	return status;
}

START_TEST(links_are_checked)
{
	char target[4097];

	memset(target, 'x', sizeof(target));
	ck_assert_int_eq(decode_link("a/b", 3), 0);
	ck_assert_int_eq(decode_link(target, 4095), 0);
	ck_assert_int_eq(decode_link(target, 4096), -EBADMSG);
	ck_assert_int_eq(decode_link("", 0), -EBADMSG);
	ck_assert_int_eq(decode_link("a\0b", 3), -EBADMSG);
}
END_TEST

START_TEST(handles_are_checked)
{
	static const struct {
		uint32_t len;
		int status;
	} cases[] = {{1, 0}, {64, 0}, {0, -EBADMSG}, {65, -EBADMSG}, {1000, -EBADMSG}};
	char handle[1000] = "x";

	req.name = "name";
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		begin(BACKEND_LOOKUP);
		xdr_put_u32(&out, 0);
		xdr_put_bytes(&out, handle, cases[i].len);
		xdr_put_u32(&out, 1);
		fake_attr(&out, 1, 5, 5);
		xdr_put_u32(&out, 0);
		ck_assert_int_eq(decode(), cases[i].status);
		if (cases[i].status == 0)
			ck_assert_uint_eq(req.handle_len, cases[i].len);
	}
}
END_TEST

START_TEST(lookups_without_attributes_ask_for_them)
{
	struct xdr_in args;
	uint32_t len;

	req.name = "name";
	begin(BACKEND_LOOKUP);
	ck_assert_int_eq(nfs_request_procedure(&view, &req), NFSPROC3_LOOKUP);
	xdr_put_u32(&out, 0);
	xdr_put_bytes(&out, "found", 5);
	xdr_put_u64(&out, 0);
	ck_assert_int_eq(decode(), NFS_CALL_AGAIN);
	ck_assert_int_eq(nfs_request_procedure(&view, &req), NFSPROC3_GETATTR);
	out.p = bytes;
	nfs_request_encode(&req, NFSPROC3_GETATTR, &out);
	args = (struct xdr_in){.p = bytes, .end = out.p};
	ck_assert_mem_eq(xdr_get_bytes(&args, &len), "found", 5);
	out.p = bytes;
	xdr_put_u32(&out, 0);
	fake_attr(&out, 1, 5, 5);
	ck_assert_int_eq(decode(), 0);
	ck_assert_uint_eq(req.handle_len, 5);
	ck_assert_uint_eq(req.attr.size, 5);
	drop_results();
}
END_TEST

START_TEST(listings_are_checked)
{
	char longest[300];

	memset(longest, 'l', sizeof(longest));
	begin(BACKEND_READDIR);
	ck_assert_int_eq(nfs_request_procedure(&view, &req), NFSPROC3_READDIRPLUS);
	put_listing_start();
	put_entry(true, ".", 1, 1);
	put_entry(true, "..", 2, 2);
	put_entry(true, "good", 4, 3);
	put_entry(true, "a/b", 3, 4);
	put_entry(true, "", 0, 5);
	put_entry(true, "n\0l", 3, 6);
	put_entry(true, longest, 256, 7);
	put_entry(true, longest, 255, 8);
	put_entry(true, "../escape", 9, 9);
	put_listing_end(false);
	ck_assert_int_eq(decode(), 0);
	ck_assert_uint_eq(req.batch->rejected, 5);
	ck_assert_uint_eq(req.batch->entries->len, 2);
	ck_assert_str_eq(entry(0)->name, "good");
	ck_assert_uint_eq(entry(0)->attr.size, 30);
	ck_assert_uint_eq(entry(0)->handle_len, 6);
	ck_assert_uint_eq(strlen(entry(1)->name), 255);
	ck_assert_uint_eq(req.cookie, 9);
	ck_assert_uint_eq(req.verf, 77);
	ck_assert(!req.eof);
	drop_results();
}
END_TEST

START_TEST(entries_may_lack_attributes_and_handles)
{
	char handle[100] = "too long";

	begin(BACKEND_READDIR);
	put_listing_start();
	xdr_put_u32(&out, 1);
	xdr_put_u64(&out, 101);
	xdr_put_bytes(&out, "bare", 4);
	xdr_put_u64(&out, 1);
	xdr_put_u64(&out, 0);
	xdr_put_u32(&out, 1);
	xdr_put_u64(&out, 102);
	xdr_put_bytes(&out, "odd", 3);
	xdr_put_u64(&out, 2);
	xdr_put_u32(&out, 1);
	fake_attr(&out, 99, 1, 1);
	xdr_put_u32(&out, 1);
	xdr_put_bytes(&out, handle, sizeof(handle));
	for (unsigned i = 3; i < 5; i++) {
		xdr_put_u32(&out, 1);
		xdr_put_u64(&out, 100 + i);
		xdr_put_bytes(&out, "linked", 6);
		xdr_put_u64(&out, i);
		xdr_put_u32(&out, 1);
		fake_attr(&out, 5 - i, 1, 100 + i); /* a directory, and a file */
		out.p[-84 + 11] = 2;
		xdr_put_u32(&out, 0);
	}
	put_listing_end(true);
	ck_assert_int_eq(decode(), 0);
	ck_assert(req.eof);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(entry(i)->has_attr, i == 2);
		ck_assert(!entry(i)->has_handle);
		ck_assert_uint_eq(entry(i)->attr.fileid, 101 + i);
	}
	drop_results();
}
END_TEST

/* Each would be asked for again for ever. */
START_TEST(listings_must_get_on)
{
	req.cookie = 5;
	begin(BACKEND_READDIR);
	put_listing_start();
	put_listing_end(false);
	ck_assert_int_eq(decode(), -EBADMSG);
	drop_results();
	begin(BACKEND_READDIR);
	put_listing_start();
	put_entry(true, "x", 1, 5);
	put_listing_end(false);
	ck_assert_int_eq(decode(), -EBADMSG);
	drop_results();
	begin(BACKEND_READDIR);
	put_listing_start();
	put_entry(true, "x", 1, 0);
	put_listing_end(false);
	ck_assert_int_eq(decode(), -EBADMSG);
	drop_results();
	begin(BACKEND_READDIR);
	put_listing_start();
	put_listing_end(true);
	ck_assert_int_eq(decode(), 0);
	drop_results();
	ck_assert(!view.no_plus);
}
END_TEST

START_TEST(readdir_stands_in_for_readdirplus)
{
	begin(BACKEND_READDIR);
	if (_i == 0) {
		xdr_put_u32(&out, 10004);
		xdr_put_u32(&out, 0);
	} else if (_i == 1) {
		put_listing_start();
		put_entry(true, "x", 1, 5);
		xdr_put_u32(&out, 1);
	}
	ck_assert_int_eq(decode(), NFS_CALL_AGAIN);
	ck_assert_ptr_null(req.batch);
	ck_assert_int_eq(nfs_request_procedure(&view, &req), NFSPROC3_READDIR);
	out.p = bytes;
	put_listing_start();
	put_entry(false, "x", 1, 5);
	put_listing_end(true);
	ck_assert_int_eq(decode(), 0);
	ck_assert_str_eq(entry(0)->name, "x");
	ck_assert(!entry(0)->has_attr);
	ck_assert_uint_eq(entry(0)->attr.fileid, 105);
	drop_results();
}
END_TEST

START_TEST(bad_cookies_mean_restart)
{
	begin(BACKEND_READDIR);
	xdr_put_u32(&out, 10003);
	xdr_put_u32(&out, 0);
	ck_assert_int_eq(decode(), -EBADMSG);
	ck_assert(!view.no_plus);
	drop_results();
}
END_TEST

/* Truncated anywhere, and with any one byte changed: no matter what comes of it. */
START_TEST(damage_stays_harmless)
{
	static const enum backend_op ops[] = {BACKEND_GETATTR, BACKEND_LOOKUP, BACKEND_READDIR,
					      BACKEND_READ, BACKEND_READLINK};
	size_t len;

	begin(BACKEND_READDIR);
	put_listing_start();
	for (unsigned i = 1; i < 5; i++)
		put_entry(true, "name", 4, i);
	put_listing_end(true);
	len = (size_t)(out.p - bytes);
	req.count = 4096;
	req.name = "name";
	for (size_t i = 0; i < G_N_ELEMENTS(ops); i++) {
		for (size_t at = 0; at < len; at++) {
			uint8_t was = bytes[at];

			begin(ops[i]);
			decode_bytes(bytes, at);
			drop_results();
			for (unsigned bit = 0; bit < 8; bit++) {
				begin(ops[i]);
				bytes[at] = (uint8_t)(was ^ 1u << bit);
				decode_bytes(bytes, len);
				drop_results();
			}
			bytes[at] = was;
			atomic_store(&view.no_plus, false);
		}
	}
}
END_TEST

START_TEST(paths_are_walked)
{
	static const char *const steps[] = {"one", "two", "three"};
	struct xdr_in args;
	uint32_t len;

	req.object = by_path("/one//two/three/");
	begin(BACKEND_READLINK);
	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
		ck_assert_int_eq(nfs_request_procedure(&view, &req), NFSPROC3_LOOKUP);
		out.p = bytes;
		nfs_request_encode(&req, NFSPROC3_LOOKUP, &out);
		args = (struct xdr_in){.p = bytes, .end = out.p};
		ck_assert_mem_eq(xdr_get_bytes(&args, &len), i ? steps[i - 1] : "root", len);
		ck_assert_mem_eq(xdr_get_bytes(&args, &len), steps[i], len);
		out.p = bytes;
		xdr_put_u32(&out, 0);
		xdr_put_bytes(&out, steps[i], (uint32_t)strlen(steps[i]));
		ck_assert_int_eq(decode(), NFS_CALL_AGAIN);
	}
	ck_assert_int_eq(nfs_request_procedure(&view, &req), NFSPROC3_READLINK);
	out.p = bytes;
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, 0);
	xdr_put_bytes(&out, "target", 6);
	ck_assert_int_eq(decode(), 0);
	ck_assert_str_eq(req.text, "target");
	drop_results();
}
END_TEST

START_TEST(what_cannot_be_asked_fails_at_once)
{
	char name[257];

	memset(name, 'n', 256);
	name[256] = '\0';
	req.op = BACKEND_LOOKUP;
	req.name = name;
	ck_assert_int_eq(nfs_request_begin(&view, &req), -ENAMETOOLONG);
	req.name = "..";
	ck_assert_int_eq(nfs_request_begin(&view, &req), -ENOENT);
	req.op = BACKEND_GETATTR;
	req.object.handle_len = 65;
	ck_assert_int_eq(nfs_request_begin(&view, &req), -ESTALE);
	req.object.handle_len = 0;
	ck_assert_int_eq(nfs_request_begin(&view, &req), -ESTALE);
	req.object.path = (char *)"a/../b";
	ck_assert_int_eq(nfs_request_begin(&view, &req), -ENOENT);
	req.object.path = name;
	ck_assert_int_eq(nfs_request_begin(&view, &req), -ENOENT);
	ck_assert_ptr_null(req.backend.data);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, reads_are_checked);
	tcase_add_test(tcase, links_are_checked);
	tcase_add_test(tcase, handles_are_checked);
	tcase_add_test(tcase, lookups_without_attributes_ask_for_them);
	tcase_add_test(tcase, listings_are_checked);
	tcase_add_test(tcase, entries_may_lack_attributes_and_handles);
	tcase_add_test(tcase, listings_must_get_on);
	tcase_add_loop_test(tcase, readdir_stands_in_for_readdirplus, 0, 3);
	tcase_add_test(tcase, bad_cookies_mean_restart);
	tcase_add_test(tcase, damage_stays_harmless);
	tcase_add_test(tcase, paths_are_walked);
	tcase_add_test(tcase, what_cannot_be_asked_fails_at_once);
	return run_tcase(tcase);
}
