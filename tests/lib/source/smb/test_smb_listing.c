/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/source/smb/smb_listing.h"
#include "tests/suite.h"

#define FIXED 104

static uint8_t buffer[2 << 20], room[2 << 20];
static size_t used;

static void le(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* An entry after what is there; the one before leads to it. */
static uint8_t *entry(const char *name)
{
	static uint8_t *last;
	uint8_t *at = buffer + ((used + 7) & ~(size_t)7);
	size_t len = strlen(name);

	if (used)
		le(last, (uint64_t)(at - last), 4);
	memset(at, 0, FIXED);
	for (unsigned i = 0; i < 4; i++)
		le(at + 8 + 8 * i, 1000 + i, 8);
	le(at + 40, 123456, 8);
	le(at + 48, 131072, 8);
	le(at + 56, 0x20, 4);
	le(at + 60, 2 * len, 4);
	le(at + 64, 7, 4);
	le(at + 96, 4711, 8);
	for (size_t i = 0; i < len; i++)
		le(at + FIXED + 2 * i, (uint8_t)name[i], 2);
	used = (size_t)(at - buffer) + FIXED + 2 * len;
	last = at;
	return at;
}

static int list(struct wire_unpack *in, uint32_t *rejected)
{
	struct wire_pack pack = {room, room + sizeof(room)};
	int ret;

	*rejected = 0;
	ret = smb_listing(buffer, used, &pack, rejected);
	*in = (struct wire_unpack){room, pack.at};
	return ret;
}

static void next(struct wire_unpack *in, struct wire_attr *attr, const char *name)
{
	size_t len;

	memcpy(attr, wire_get(in, sizeof(*attr)), sizeof(*attr));
	ck_assert_uint_eq(wire_get_u32(in), 0);
	const uint8_t *got = wire_get_bytes(in, 255, &len);

	ck_assert_uint_eq(len, strlen(name));
	ck_assert_mem_eq(got, name, len);
}

/* In UTF-16, as it was listed. */
static void next_refused(struct wire_unpack *in, const void *name, size_t name_len)
{
	size_t len;

	wire_get(in, sizeof(struct wire_attr));
	ck_assert_uint_eq(wire_get_u32(in), 1);
	const uint8_t *got = wire_get_bytes(in, WIRE_REFUSED_BYTES, &len);

	ck_assert_uint_eq(len, name_len);
	ck_assert_mem_eq(got, name, len);
}

START_TEST(entries_come_as_they_are)
{
	struct wire_unpack in;
	struct wire_attr attr;
	uint32_t rejected;
	uint8_t *at;

	used = 0;
	entry(".");
	entry("..");
	entry("one");
	at = entry("two");
	le(at + 56, SMB_ATTR_REPARSE, 4);
	ck_assert_int_eq(list(&in, &rejected), 0);
	ck_assert_uint_eq(rejected, 0);
	next(&in, &attr, "one");
	ck_assert_uint_eq(attr.created, 1000);
	ck_assert_uint_eq(attr.accessed, 1001);
	ck_assert_uint_eq(attr.written, 1002);
	ck_assert_uint_eq(attr.changed, 1003);
	ck_assert_uint_eq(attr.size, 123456);
	ck_assert_uint_eq(attr.allocated, 131072);
	ck_assert_uint_eq(attr.attributes, 0x20);
	ck_assert_uint_eq(attr.fileid, 4711);
	ck_assert_uint_eq(attr.ea_size, 7);
	ck_assert_uint_eq(attr.tag, 0);
	next(&in, &attr, "two");
	ck_assert_uint_eq(attr.ea_size, 0);
	ck_assert_uint_eq(attr.tag, 7);
	ck_assert_ptr_eq(in.at, in.end);
}
END_TEST

START_TEST(bad_names_are_told)
{
	struct wire_unpack in;
	struct wire_attr attr;
	uint32_t rejected;
	uint8_t *at;

	used = 0;
	entry("a/b");
	entry("");
	entry("a\\b");
	at = entry("x");
	le(at + FIXED, 0xd800, 2);
	at = entry("xy");
	le(at + FIXED, 0, 2);
	entry("good");
	ck_assert_int_eq(list(&in, &rejected), 0);
	ck_assert_uint_eq(rejected, 5);
	next_refused(&in, "a\0/\0b", 6);
	next_refused(&in, "", 0);
	next_refused(&in, "a\0\\\0b", 6);
	next_refused(&in, "\0\xd8", 2);
	next_refused(&in, "\0\0y", 4);
	next(&in, &attr, "good");
	ck_assert_ptr_eq(in.at, in.end);
}
END_TEST

/* Within limits: they may be as many, and as long, as somebody wants them to be. */
START_TEST(many_bad_names)
{
	static char long_name[WIRE_REFUSED_BYTES];
	struct wire_unpack in;
	struct wire_attr attr;
	uint32_t rejected;

	used = 0;
	memset(long_name, 'x', sizeof(long_name) - 1);
	entry(long_name);
	for (unsigned i = 0; i < WIRE_REFUSED_MAX + 3; i++)
		entry("?");
	entry("good");
	ck_assert_int_eq(list(&in, &rejected), 0);
	ck_assert_uint_eq(rejected, WIRE_REFUSED_MAX + 4);
	wire_get(&in, sizeof(struct wire_attr) + 4);
	ck_assert_uint_eq(wire_get_u32(&in), WIRE_REFUSED_BYTES);
	wire_get(&in, WIRE_REFUSED_BYTES);
	for (unsigned i = 1; i < WIRE_REFUSED_MAX; i++)
		next_refused(&in, "?", 2);
	next(&in, &attr, "good");
	ck_assert_ptr_eq(in.at, in.end);
}
END_TEST

START_TEST(bad_listings_are_refused)
{
	struct wire_unpack in;
	uint32_t rejected;
	uint8_t *at;

	used = 0;
	ck_assert_int_eq(list(&in, &rejected), -EBADMSG);
	at = entry("name");
	for (size_t len = 0; len < used; len++) {
		struct wire_pack pack = {room, room + sizeof(room)};

		ck_assert_int_eq(smb_listing(buffer, len, &pack, &rejected), -EBADMSG);
	}
	le(at, 8, 4); /* into itself */
	ck_assert_int_eq(list(&in, &rejected), -EBADMSG);
	le(at, 0xfffffff8, 4);
	ck_assert_int_eq(list(&in, &rejected), -EBADMSG);
	le(at, 0, 4);
	le(at + 60, 0xfffffffe, 4);
	ck_assert_int_eq(list(&in, &rejected), -EBADMSG);
	used = 0;
	entry("name");
	struct wire_pack small = {room, room + 10};

	ck_assert_int_eq(smb_listing(buffer, used, &small, &rejected), -EBADMSG);
}
END_TEST

START_TEST(everything_about_an_object)
{
	struct wire_attr attr;

	memset(buffer, 0, 128);
	for (unsigned i = 0; i < 4; i++)
		le(buffer + 8 * i, 1 + i, 8);
	le(buffer + 32, 0x10, 4);
	le(buffer + 40, 4096, 8);
	le(buffer + 48, 4000, 8);
	le(buffer + 56, 3, 4);
	le(buffer + 64, 99, 8);
	le(buffer + 72, 12, 4);
	ck_assert_int_eq(smb_all_info(buffer, 95, &attr), -EBADMSG);
	ck_assert_int_eq(smb_all_info(buffer, 96, &attr), 0);
	ck_assert_uint_eq(attr.created, 1);
	ck_assert_uint_eq(attr.accessed, 2);
	ck_assert_uint_eq(attr.written, 3);
	ck_assert_uint_eq(attr.changed, 4);
	ck_assert_uint_eq(attr.attributes, 0x10);
	ck_assert_uint_eq(attr.allocated, 4096);
	ck_assert_uint_eq(attr.size, 4000);
	ck_assert_uint_eq(attr.nlink, 3);
	ck_assert_uint_eq(attr.fileid, 99);
	ck_assert_uint_eq(attr.ea_size, 12);
}
END_TEST

static void count(void *user, const uint8_t *name, size_t name_len, uint64_t size)
{
	unsigned *n = user;

	ck_assert_uint_eq(name_len, 4);
	ck_assert_mem_eq(name, ":\0a\0", 4);
	ck_assert_uint_eq(size, 55 + *n);
	(*n)++;
}

START_TEST(streams_are_told)
{
	unsigned n = 0;

	ck_assert_int_eq(smb_streams(buffer, 0, count, &n), 0);
	memset(buffer, 0, sizeof(buffer));
	for (unsigned i = 0; i < 2; i++) {
		le(buffer + 32 * i, i ? 0 : 32, 4);
		le(buffer + 32 * i + 4, 4, 4);
		le(buffer + 32 * i + 8, 55 + i, 8);
		memcpy(buffer + 32 * i + 24, ":\0a\0", 4);
	}
	ck_assert_int_eq(smb_streams(buffer, 60, count, &n), 0);
	ck_assert_uint_eq(n, 2);
	n = 0;
	ck_assert_int_eq(smb_streams(buffer, 59, count, &n), -EBADMSG);
	n = 0;
	ck_assert_int_eq(smb_streams(buffer, 40, count, &n), -EBADMSG);
	n = 0;
	le(buffer, 16, 4);
	ck_assert_int_eq(smb_streams(buffer, 60, count, &n), -EBADMSG);
}
END_TEST

/* A link with one text, at `fixed`, as substitute (and print name). */
static long link_text(uint32_t tag, unsigned fixed, const char *name, bool print, char *text)
{
	size_t len = 2 * strlen(name);

	memset(buffer, 0, 64);
	le(buffer, tag, 4);
	le(buffer + 4, fixed + len, 2);
	le(buffer + 8 + (print ? 6 : 2), len, 2);
	for (size_t i = 0; name[i]; i++)
		le(buffer + 8 + fixed + 2 * i, (uint8_t)name[i], 2);
	return smb_link_text(buffer, 8 + fixed + len, text);
}

START_TEST(links_are_told)
{
	char text[256];

	ck_assert_int_eq(link_text(0xa000000c, 12, "..\\a\\b", true, text), 6);
	ck_assert_mem_eq(text, "../a/b", 6);
	ck_assert_int_eq(link_text(0xa000000c, 12, "x", false, text), 1);
	ck_assert_int_eq(link_text(0xa0000003, 8, "C:\\dir", true, text), 6);
	ck_assert_mem_eq(text, "C:\\dir", 6);
	ck_assert_int_eq(link_text(0xa000000c, 12, "", true, text), -EBADMSG);
	ck_assert_int_eq(link_text(0x80000013, 12, "dedup", true, text), -ENOTSUP);
	link_text(0xa000000c, 12, "name", true, text);
	for (size_t len = 0; len < 28; len++)
		ck_assert_int_eq(smb_link_text(buffer, len, text), -EBADMSG);
	le(buffer + 12, 2, 2); /* the offset */
	ck_assert_int_eq(smb_link_text(buffer, 28, text), -EBADMSG);
	memcpy(buffer, "\x1d\0\0\xa0\6\0\0\0\2\0\0\0xy", 14);
	ck_assert_int_eq(smb_link_text(buffer, 14, text), 2);
	ck_assert_mem_eq(text, "xy", 2);
	ck_assert(smb_tag_is_link(0xa000001d));
	ck_assert(!smb_tag_is_link(0x80000013));
}
END_TEST

/* A context after what is there. */
static uint8_t *context(const char *name, size_t data_at, size_t data_len)
{
	static uint8_t *last;
	uint8_t *at = buffer + used;

	if (used)
		le(last, (uint64_t)(at - last), 4);
	memset(at, 0, 24 + data_len);
	le(at + 4, 16, 2);
	le(at + 6, 4, 2);
	le(at + 10, data_at, 2);
	le(at + 12, data_len, 4);
	memcpy(at + 16, name, 4);
	used += 24 + data_len;
	last = at;
	return at;
}

START_TEST(volumes)
{
	uint64_t volume;
	uint8_t *at;

	used = 0;
	ck_assert(!smb_volume(buffer, 0, &volume));
	at = context("MxAc", 24, 8);
	ck_assert(!smb_volume(buffer, used, &volume));
	at = context("QFid", 24, 32);
	le(at + 24, 11, 8);
	le(at + 32, 0x1234567890, 8);
	ck_assert(smb_volume(buffer, used, &volume));
	ck_assert_uint_eq(volume, 0x1234567890);
	for (size_t len = 0; len < used; len++)
		ck_assert(!smb_volume(buffer, len, &volume));
	le(at + 10, 25, 2);
	ck_assert(!smb_volume(buffer, used, &volume));
	le(at + 10, 24, 2);
	le(at + 4, 53, 2);
	ck_assert(!smb_volume(buffer, used, &volume));
	le(at + 4, 16, 2);
	le(buffer, 0, 4); /* the end */
	ck_assert(!smb_volume(buffer, used, &volume));
	le(buffer, 8, 4);
	ck_assert(!smb_volume(buffer, used, &volume));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("listing");

	tcase_add_test(tcase, entries_come_as_they_are);
	tcase_add_test(tcase, bad_names_are_told);
	tcase_add_test(tcase, many_bad_names);
	tcase_add_test(tcase, volumes);
	tcase_add_test(tcase, bad_listings_are_refused);
	tcase_add_test(tcase, everything_about_an_object);
	tcase_add_test(tcase, streams_are_told);
	tcase_add_test(tcase, links_are_told);
	return run_tcase(tcase);
}
