/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/smb_attrs.h"

#include <check.h>
#include <string.h>

#include "common/record.h"
#include "lib/config/volume_config.h"
#include "tests/retriever/nt_support.h"
#include "tests/suite.h"

#define ANNA	 "S-1-5-21-1-2-3-1001"
#define ANNA_NEW "S-1-5-21-7-8-9-2001"

static GHashTable *xattrs;
static GPtrArray *lost;

static void setup(void)
{
	xattrs =
		g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_bytes_unref);
	lost = g_ptr_array_new_with_free_func(g_free);
}

static void teardown(void)
{
	g_hash_table_unref(xattrs);
	g_ptr_array_unref(lost);
}

static void lose(void *arg, const char *what)
{
	g_ptr_array_add(lost, g_strdup(what));
}

static void put(const char *name, const void *value, size_t len)
{
	g_hash_table_insert(xattrs, (char *)name, g_bytes_new(value, len));
}

static struct smb_attrs take(const struct volume_config *config)
{
	const struct attrs attrs = {.st = {.st_mtim = {1, 299}, .st_atim = {-20000000000, 0}},
				    .xattrs = xattrs};
	struct smb_attrs smb;

	g_ptr_array_set_size(lost, 0);
	smb_attrs_take(&attrs, config, &smb, lose, NULL);
	return smb;
}

/* The head of a version of security.NTACL, and the descriptor as it is behind that. */
static void put_descriptor(const GByteArray *sd, const char *head, size_t len)
{
	g_autoptr(GByteArray) value = g_byte_array_new();

	g_byte_array_append(value, (const uint8_t *)head, (guint)len);
	g_byte_array_append(value, sd->data, sd->len);
	for (size_t at = len + 4; at < len + 20; at += 4)
		if (value->data[at] || value->data[at + 1])
			nt_set32(value, (unsigned)at,
				 value->data[at] + (value->data[at + 1] << 8) + (uint32_t)len);
	put("security.NTACL", value->data, value->len);
}

START_TEST(descriptors)
{
	static const struct {
		const char *head;
		size_t len;
	} heads[] = {
		{"\1\0\1\0\0\0\2\0", 8},
		{"\2\0\2\0\0\0\2\0\4\0\2\0hashhashhashhash", 28},
		{"\3\0\3\0\0\0\2\0\4\0\2\0\1\0"
		 "0123456701234567012345670123456701234567012345670123456701234567\0\0",
		 80},
		{"\4\0\4\0\0\0\2\0\4\0\2\0\1\0"
		 "0123456701234567012345670123456701234567012345670123456701234567"
		 "posix_acl\0timetime"
		 "0123456701234567012345670123456701234567012345670123456701234567",
		 160},
	};
	const struct volume_config config = {.map_sids =
						     sid_map_parse(ANNA ":" ANNA_NEW, false, NULL)};
	/* inherited: asked for, too */
	GByteArray *here = nt_text(0x0404, ANNA_NEW, "S-1-1-0", NULL, "0 0 1f01ff " ANNA_NEW);
	GByteArray *there = nt_text(0x0504, ANNA, "S-1-1-0", NULL, "0 0 1f01ff " ANNA);

	for (size_t i = 0; i < G_N_ELEMENTS(heads); i++) {
		put_descriptor(here, heads[i].head, heads[i].len);
		struct smb_attrs smb = take(&config);
		ck_assert_uint_eq(lost->len, 0);
		ck_assert_ptr_nonnull(smb.sd);
		ck_assert(!smb.has_sacl);
		ck_assert_uint_eq(smb.sd->len, there->len);
		ck_assert_mem_eq(smb.sd->data, there->data, there->len);
		smb_attrs_clear(&smb);
	}
	g_byte_array_unref(here);
	g_byte_array_unref(there);
	sid_map_free(config.map_sids);
}
END_TEST

START_TEST(audits)
{
	const struct attrs attrs = {.xattrs = xattrs};
	GByteArray *with = nt_text(0x14, ANNA, ANNA, "2 40 1f01ff S-1-1-0", "0 0 1f01ff " ANNA);
	GByteArray *without = nt_text(0x14, ANNA, ANNA, NULL, "0 0 1f01ff " ANNA);

	ck_assert(smb_attrs_audits(with->data, with->len));
	ck_assert(!smb_attrs_audits(without->data, without->len));
	ck_assert(!smb_attrs_audits(with->data, 10));
	ck_assert(!smb_attrs_audited(&attrs));
	put_descriptor(with, "\1\0\1\0\0\0\2\0", 8);
	ck_assert(smb_attrs_audited(&attrs));
	put_descriptor(without, "\1\0\1\0\0\0\2\0", 8);
	ck_assert(!smb_attrs_audited(&attrs));
	g_byte_array_unref(with);
	g_byte_array_unref(without);
}
END_TEST

START_TEST(no_descriptors)
{
	const struct volume_config config = {0};
	uint8_t junk[200];

	const struct volume_config open = {.smb_modes = SMB_MODES_OPEN};

	struct smb_attrs smb = take(&open);
	ck_assert_uint_eq(lost->len, 0);
	smb_attrs_clear(&smb);
	smb = take(&config);
	ck_assert_uint_eq(lost->len, 1);
	ck_assert_ptr_null(smb.sd);
	smb_attrs_clear(&smb);
	for (unsigned version = 0; version < 6; version++) {
		for (size_t len = 0; len <= sizeof(junk); len += 4) {
			memset(junk, 0xff, sizeof(junk));
			junk[0] = (uint8_t)version;
			junk[1] = 0;
			put("security.NTACL", junk, len);
			smb = take(&config);
			ck_assert_ptr_null(smb.sd);
			ck_assert_uint_eq(lost->len, 1);
			smb_attrs_clear(&smb);
		}
	}
}
END_TEST

START_TEST(attributes)
{
	static const uint8_t version5[] = {0, 0, 5, 0, 5, 0, 0, 0, 0x11, 0, 0, 0,
					   2, 2, 0, 0, 1, 2, 3, 4, 5,	 6, 7, 1};
	const struct volume_config config = {0};
	uint8_t value[40];

	memcpy(value, version5, sizeof(version5));
	put("user.DOSATTRIB", value, sizeof(version5));
	struct smb_attrs smb = take(&config);
	ck_assert_uint_eq(smb.attributes, 2);
	ck_assert(smb.sparse);
	ck_assert_uint_eq(smb.created, 0x0107060504030201);
	ck_assert_uint_eq(smb.written, 116444736010000002);
	ck_assert_uint_eq(smb.accessed, 1); /* before 1601 */
	smb_attrs_clear(&smb);

	value[8] = 1; /* no time of creation, no attributes that are kept */
	value[12] = value[13] = 0;
	put("user.DOSATTRIB", value, sizeof(version5));
	smb = take(&config);
	ck_assert_uint_eq(smb.attributes, SMB_NORMAL);
	ck_assert_uint_eq(smb.created, 0);
	smb_attrs_clear(&smb);

	for (size_t len = 0; len < sizeof(version5); len++) {
		put("user.DOSATTRIB", version5, len);
		smb = take(&config);
		ck_assert_uint_eq(smb.attributes, 0);
		ck_assert_uint_eq(lost->len, 2);
		smb_attrs_clear(&smb);
	}
}
END_TEST

START_TEST(streams)
{
	const struct volume_config config = {0};
	gsize len;

	put("user.DosStream.name:$DATA", "value", 6);
	put("user.DosStream.empty:$DATA", "", 1);
	put("user.other", "value", 5);
	struct smb_attrs smb = take(&config);
	ck_assert_uint_eq(g_hash_table_size(smb.streams), 2);
	ck_assert_mem_eq(g_bytes_get_data(g_hash_table_lookup(smb.streams, ":name:$DATA"), &len),
			 "value", 5);
	ck_assert_uint_eq(len, 5);
	ck_assert_uint_eq(g_bytes_get_size(g_hash_table_lookup(smb.streams, ":empty:$DATA")), 0);
	ck_assert_uint_eq(lost->len, 2); /* user.other, and the descriptor */
	smb_attrs_clear(&smb);
}
END_TEST

/* To one that was there: what the retriever made is not given; what was left out is not taken. */
START_TEST(to_one_that_was_there)
{
	static const uint8_t version5[] = {0, 0, 5, 0, 5, 0, 0, 0, 0x11, 0, 0, 0,
					   2, 0, 0, 0, 1, 2, 3, 4, 5,	 6, 7, 1};
	const struct volume_config config = {0};
	const struct stat old = {.st_mtim = {5, 6}};
	struct attrs_base base = {
		.told = TOLD_KNOWN | TOLD_ACLS | TOLD_XATTRS, .old = &old, .set = true};
	struct attrs attrs = {.st = {.st_mtim = {5, 0}}, .xattrs = xattrs, .base = &base};
	GByteArray *sd = nt_text(0x0404, ANNA, ANNA, NULL, "0 0 1f01ff " ANNA);
	struct smb_attrs smb;

	put("user.DOSATTRIB", version5, sizeof(version5));
	put_descriptor(sd, "\1\0\1\0\0\0\2\0", 8);
	smb_attrs_take(&attrs, &config, &smb, lose, NULL);
	ck_assert_ptr_null(smb.sd);
	ck_assert_uint_ne(smb.created, 0);
	ck_assert(!smb.added);
	ck_assert_uint_eq(smb.written, smb_attrs_time(attrs.st.st_mtim));
	smb_attrs_clear(&smb);

	put_descriptor(sd, "\2\0\2\0\0\0\2\0\4\0\2\0hashhashhashhash", 28);
	omissions_add(&attrs.left, "user.DOSATTRIB");
	attrs.left.mtime = migrate_ns(attrs.st.st_mtim);
	smb_attrs_take(&attrs, &config, &smb, lose, NULL);
	ck_assert_ptr_nonnull(smb.sd);
	ck_assert_uint_eq(smb.created, 0);
	ck_assert_uint_eq(smb.attributes, 2);
	ck_assert(smb.added);
	ck_assert_uint_eq(smb.written, smb_attrs_time(old.st_mtim));
	smb_attrs_clear(&smb);

	base.set = false;
	smb_attrs_take(&attrs, &config, &smb, lose, NULL);
	ck_assert_ptr_null(smb.sd);
	ck_assert_uint_eq(smb.attributes, 0);
	ck_assert_uint_eq(lost->len, 0);
	smb_attrs_clear(&smb);
	g_byte_array_unref(sd);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, descriptors);
	tcase_add_test(tcase, audits);
	tcase_add_test(tcase, no_descriptors);
	tcase_add_test(tcase, attributes);
	tcase_add_test(tcase, streams);
	tcase_add_test(tcase, to_one_that_was_there);
	return run_tcase(tcase);
}
