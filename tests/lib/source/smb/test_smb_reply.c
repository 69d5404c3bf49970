/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/source/backend.h"
#include "lib/source/smb/smb_listing.h"
#include "lib/source/smb/smb_reply.h"
#include "tests/pairs.h"
#include "tests/suite.h"

#define SECOND UINT64_C(10000000)
#define Y1970  UINT64_C(116444736000000000)

static uint8_t slot[WIRE_SLOT_BYTES];
static struct wire_reply reply;
static struct backend_request req;

static void begin(enum backend_op op)
{
	reply = (struct wire_reply){.type = WIRE_REPLY,
				    .flags = WIRE_HAS_ATTR,
				    .attr = {.fileid = 1, .nlink = 1, .size = 10}};
	req = (struct backend_request){.op = op, .count = 100};
	backend_prepare(&req);
}

static int decode(void)
{
	return smb_reply_decode(&reply, slot, &req);
}

static void end(void)
{
	g_clear_pointer(&req.batch, backend_batch_free);
	g_clear_pointer(&req.text, g_free);
	g_clear_pointer(&req.xattrs, source_xattrs_free);
}

START_TEST(times)
{
	ck_assert_int_eq(smb_time(0), 0);
	ck_assert_int_eq(smb_time(UINT64_MAX), 0);
	ck_assert_int_eq(smb_time(INT64_MAX), 0); /* never */
	ck_assert_int_eq(smb_time(INT64_MAX - 1), INT64_MAX);
	ck_assert_int_eq(smb_time(Y1970), 0);
	ck_assert_int_eq(smb_time(Y1970 + 5 * SECOND + 1), INT64_C(5000000100));
	ck_assert_int_eq(smb_time(Y1970 - SECOND), INT64_C(-1000000000));
	ck_assert_int_eq(smb_time(1), INT64_MIN); /* before 1677 */
	ck_assert_int_eq(smb_time(Y1970 - 1), -100);
}
END_TEST

START_TEST(attributes)
{
	struct wire_attr from = {
		.fileid = 7, .size = 9, .allocated = 4096, .written = Y1970 + SECOND};
	struct source_attr to;

	ck_assert(smb_attr_decode(&from, &to));
	ck_assert_uint_eq(to.mode, S_IFREG | 0600);
	ck_assert_uint_eq(to.nlink, 1);
	ck_assert_uint_eq(to.size, 9);
	ck_assert_uint_eq(to.used, 4096);
	ck_assert_int_eq(to.mtime, 1000000000);
	ck_assert_int_eq(to.far_mtime, 0);
	from.written = Y1970 + 13569465600 * SECOND; /* 2400 */
	ck_assert(smb_attr_decode(&from, &to));
	ck_assert_int_eq(to.mtime, INT64_MAX);
	ck_assert_int_eq(to.far_mtime, 13569465600);
	ck_assert(!to.elsewhere);
	from.attributes = 0x1020; /* on tape */
	ck_assert(smb_attr_decode(&from, &to));
	ck_assert(to.elsewhere && to.mode == (S_IFREG | 0600));
	from.attributes = SMB_ATTR_DIRECTORY;
	ck_assert(smb_attr_decode(&from, &to));
	ck_assert_uint_eq(to.mode, S_IFDIR | 0700);
	ck_assert_uint_eq(to.size, 0);
	from.attributes |= SMB_ATTR_REPARSE;
	from.tag = 0x80000013; /* deduplicated: read like any other */
	ck_assert(smb_attr_decode(&from, &to));
	ck_assert_uint_eq(to.mode, S_IFDIR | 0700);
	from.tag = 0xa0000003;
	ck_assert(smb_attr_decode(&from, &to));
	ck_assert_uint_eq(to.mode, S_IFLNK | 0777);
	from.size = (uint64_t)INT64_MAX + 1;
	ck_assert(!smb_attr_decode(&from, &to));
	from.size = 0;
	from.fileid = 0;
	ck_assert(!smb_attr_decode(&from, &to));
}
END_TEST

START_TEST(statuses)
{
	begin(BACKEND_GETATTR);
	reply.status = -ENOENT;
	ck_assert_int_eq(decode(), -ENOENT);
	reply.status = 5;
	ck_assert_int_eq(decode(), -EREMOTEIO);
	reply.status = -ECANCELED;
	ck_assert_int_eq(decode(), -EREMOTEIO);
	reply.status = -100000;
	ck_assert_int_eq(decode(), -EREMOTEIO);
	reply.status = 0;
	ck_assert_int_eq(decode(), 0);
	reply.flags = 0;
	req.has_attr = false;
	ck_assert_int_eq(decode(), -EBADMSG);
	reply.flags = WIRE_HAS_ATTR | 1 << 20;
	ck_assert_int_eq(decode(), -EBADMSG);
	reply.flags = WIRE_HAS_ATTR;
	reply.len = WIRE_SLOT_BYTES + 1;
	ck_assert_int_eq(decode(), -EBADMSG);
}
END_TEST

START_TEST(reads)
{
	begin(BACKEND_READ);
	reply.len = 100;
	reply.flags |= WIRE_EOF;
	ck_assert_int_eq(decode(), 0);
	ck_assert_ptr_eq(req.data, slot);
	ck_assert_uint_eq(req.data_len, 100);
	ck_assert(req.eof);
	reply.len = 101;
	ck_assert_int_eq(decode(), -EBADMSG);
	begin(BACKEND_READ);
	reply.flags = 0; /* bytes of no known version */
	ck_assert_int_eq(decode(), -EBADMSG);
}
END_TEST

static size_t put_entry(size_t at, const char *name, uint32_t len)
{
	struct wire_pack pack = {slot + at, slot + sizeof(slot)};

	wire_put(&pack, &(struct wire_attr){.fileid = 3}, sizeof(struct wire_attr));
	wire_put_u32(&pack, 0);
	wire_put_bytes(&pack, name, len);
	return (size_t)(pack.at - slot);
}

static size_t put_refused(size_t at, const void *utf16, uint32_t len)
{
	struct wire_pack pack = {slot + at, slot + sizeof(slot)};

	wire_put(&pack, &(struct wire_attr){0}, sizeof(struct wire_attr));
	wire_put_u32(&pack, 1);
	wire_put_bytes(&pack, utf16, len);
	return (size_t)(pack.at - slot);
}

static void check_refused(guint i, const char *name, enum error_code why)
{
	const struct source_refusal *r =
		&g_array_index(req.batch->refused, struct source_refusal, i);

	ck_assert_str_eq(r->name, name);
	ck_assert_int_eq(r->why, why);
}

START_TEST(names_that_cannot_be)
{
	uint8_t long_name[WIRE_REFUSED_BYTES + 2];
	size_t len;

	memset(long_name, 0x30, sizeof(long_name)); /* U+3030 */
	begin(BACKEND_READDIR);
	reply.flags = WIRE_EOF;
	reply.rejected = 70;
	len = put_refused(0, "a\0:\0b", 6);
	len = put_refused(len, "\x01\0\n", 4);
	len = put_refused(len, "\0\xd8x", 4);
	len = put_refused(len, "a\0/\0b", 6);
	len = put_refused(len, "", 0);
	len = put_refused(len, long_name, WIRE_REFUSED_BYTES);
	reply.len = (uint32_t)put_entry(len, "good", 4);
	ck_assert_int_eq(decode(), 0);
	ck_assert_uint_eq(req.batch->entries->len, 1);
	ck_assert_uint_eq(req.batch->rejected, 76);
	ck_assert_uint_eq(req.batch->refused->len, 6);
	check_refused(0, "a:b", QM_NAME_CHARACTERS);
	check_refused(1, "\\001\\012", QM_NAME_CHARACTERS);
	check_refused(2, "\\uD800x", QM_NAME_NO_TEXT);
	check_refused(3, "a/b", QM_NAME_IMPOSSIBLE);
	check_refused(4, "\"\"", QM_NAME_IMPOSSIBLE);
	ck_assert_int_eq(g_array_index(req.batch->refused, struct source_refusal, 5).why,
			 QM_NAME_LONG);
	end();
	reply.len = (uint32_t)put_refused(0, long_name, sizeof(long_name));
	ck_assert_int_eq(decode(), -EBADMSG);
	end();
}
END_TEST

START_TEST(listings)
{
	size_t len;

	begin(BACKEND_READDIR);
	reply.cookie = 9;
	reply.rejected = 2;
	len = put_entry(0, "one", 3);
	len = put_entry(len, "..", 2);
	reply.len = (uint32_t)put_entry(len, "two", 3);
	ck_assert_int_eq(decode(), 0);
	ck_assert_uint_eq(req.batch->entries->len, 2);
	ck_assert_str_eq(g_array_index(req.batch->entries, struct source_entry, 1).name, "two");
	ck_assert(!g_array_index(req.batch->entries, struct source_entry, 1).has_handle);
	ck_assert_uint_eq(req.batch->rejected, 3);
	ck_assert_uint_eq(req.cookie, 9);
	ck_assert(!req.eof);
	end();
	reply.cookie = 0; /* neither the end nor how to go on */
	ck_assert_int_eq(decode(), -EBADMSG);
	reply.flags |= WIRE_EOF;
	ck_assert_int_eq(decode(), 0);
	end();
	for (uint32_t cut = 1; cut < len; cut++) {
		reply.len -= 1;
		int ret = decode();

		ck_assert(ret == -EBADMSG || ret == 0);
		end();
	}
	begin(BACKEND_READDIR);
	reply.flags |= WIRE_EOF;
	reply.len = (uint32_t)put_entry(0, "one", 3) - 1;
	ck_assert_int_eq(decode(), -EBADMSG);
	end();
}
END_TEST

START_TEST(links)
{
	begin(BACKEND_READLINK);
	memcpy(slot, "a\0b", 3);
	reply.len = 1;
	ck_assert_int_eq(decode(), 0);
	ck_assert_str_eq(req.text, "a");
	end();
	reply.len = 3;
	ck_assert_int_eq(decode(), -EBADMSG);
	reply.len = 0;
	ck_assert_int_eq(decode(), -EBADMSG);
	memset(slot, 'x', 5000);
	reply.len = 4096;
	ck_assert_int_eq(decode(), -EBADMSG);
	end();
}
END_TEST

/* One descriptor, one stream. */
static void put_xattrs(uint32_t n, const char *name, uint64_t size, uint32_t carried, uint32_t len)
{
	struct wire_pack pack = {slot, slot + sizeof(slot)};

	wire_put_bytes(&pack, "descriptor", 10);
	wire_put_u32(&pack, 0);
	wire_put_bytes(&pack, "", 0);
	wire_put_u32(&pack, n);
	wire_put_bytes(&pack, name, strlen(name));
	wire_put_u64(&pack, size);
	wire_put_u32(&pack, carried);
	wire_put_bytes(&pack, "0123456789", len);
	reply.len = (uint32_t)(pack.at - slot);
}

START_TEST(xattrs)
{
	const struct source_windows *windows;

	begin(BACKEND_XATTRS);
	reply.flags |= WIRE_HAS_SACL;
	reply.attr.created = 77;
	reply.attr.attributes = 0x22;
	put_xattrs(1, ":s:$DATA", 5, 1, 5);
	ck_assert_int_eq(decode(), 0);
	windows = req.xattrs->windows;
	ck_assert_uint_eq(windows->sd_len, 10);
	ck_assert_mem_eq(windows->sd, "descriptor", 10);
	ck_assert(windows->has_sacl && !windows->streams_unknown);
	ck_assert_uint_eq(windows->create_time, 77);
	ck_assert_uint_eq(windows->attributes, 0x22);
	ck_assert_uint_eq(windows->streams->len, 1);
	ck_assert_mem_eq(g_array_index(windows->streams, struct source_stream, 0).data, "01234", 5);
	end();
	put_xattrs(1, ":s:$DATA", 70000, 0, 0);
	ck_assert_int_eq(decode(), 0);
	ck_assert_ptr_null(
		g_array_index(req.xattrs->windows->streams, struct source_stream, 0).data);
	end();
	put_xattrs(1, ":s:$DATA", 6, 1, 5); /* not all of it */
	ck_assert_int_eq(decode(), -EBADMSG);
	end();
	put_xattrs(1, ":\xff", 5, 1, 5);
	ck_assert_int_eq(decode(), -EBADMSG);
	end();
	put_xattrs(2, ":s:$DATA", 5, 1, 5); /* there is only one */
	ck_assert_int_eq(decode(), -EBADMSG);
	end();
	put_xattrs(UINT32_MAX, ":s:$DATA", 5, 1, 5);
	ck_assert_int_eq(decode(), -EBADMSG);
	end();
	memset(slot, 0, 16); /* no descriptor */
	reply.len = 16;
	ck_assert_int_eq(decode(), -EBADMSG);
	end();
}
END_TEST

/* One descriptor, the file's data, no stream. */
static void put_data(uint32_t carried, uint32_t len)
{
	struct wire_pack pack = {slot, slot + sizeof(slot)};

	wire_put_bytes(&pack, "descriptor", 10);
	wire_put_u32(&pack, carried);
	wire_put_bytes(&pack, "0123456789", len);
	wire_put_u32(&pack, 0);
	reply.len = (uint32_t)(pack.at - slot);
}

START_TEST(data)
{
	begin(BACKEND_XATTRS);
	req.count = 10;
	reply.attr.size = 10;
	put_data(1, 10);
	ck_assert_int_eq(decode(), 0);
	ck_assert_uint_eq(req.xattrs->data_len, 10);
	ck_assert_mem_eq(req.xattrs->data, "0123456789", 10);
	end();
	put_data(1, 9); /* not all of it */
	ck_assert_int_eq(decode(), 0);
	ck_assert_ptr_null(req.xattrs->data);
	end();
	put_data(0, 10); /* neither nor */
	ck_assert_int_eq(decode(), -EBADMSG);
	end();
	req.count = 9; /* more than was asked for */
	put_data(1, 10);
	ck_assert_int_eq(decode(), -EBADMSG);
	end();
	req.count = 10;
	reply.attr.attributes = 0x10; /* a directory */
	ck_assert_int_eq(decode(), 0);
	ck_assert_ptr_null(req.xattrs->data);
	end();
	put_data(1, 10);
	reply.len -= 8;
	ck_assert_int_eq(decode(), -EBADMSG);
	end();
}
END_TEST

static void refused(void *arg)
{
	const struct smb_url smb_url = {.text = "smb://user@host/share", .port = 445};
	const struct wire_reply failed = {.status = WIRE_F_CONNECT, .code = ECONNREFUSED};
	g_autofree char *text = smb_failure_text(&smb_url, &failed);

	ck_assert_ptr_nonnull(strstr(text, "port 445 (Connection refused)"));
}

/* Each connection has a thread, and all fail at once. */
START_TEST(failures_of_two_threads)
{
	struct paired_call one = {.fn = refused}, other = {.fn = refused};

	call_beside(&one, &other);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("replies");

	tcase_add_test(tcase, times);
	tcase_add_test(tcase, attributes);
	tcase_add_test(tcase, statuses);
	tcase_add_test(tcase, reads);
	tcase_add_test(tcase, names_that_cannot_be);
	tcase_add_test(tcase, listings);
	tcase_add_test(tcase, links);
	tcase_add_test(tcase, xattrs);
	tcase_add_test(tcase, data);
	tcase_add_test(tcase, failures_of_two_threads);
	return run_tcase(tcase);
}
