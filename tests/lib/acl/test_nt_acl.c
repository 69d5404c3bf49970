/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/nt_support.h"
#include "tests/suite.h"

#define FULL "1f01ff"

static struct nt_descriptor *decode(const GByteArray *sd)
{
	const char *why = "";
	struct nt_descriptor *decoded = nt_decode(sd->data, sd->len, &why);

	ck_assert_msg(decoded != NULL, "%s", why);
	return decoded;
}

/* What goes in comes out again, to the bit. */
static void expect_same(GByteArray *sd)
{
	struct nt_descriptor *decoded = decode(sd);
	g_autoptr(GByteArray) should = nt_value(sd);
	const char *why = "";
	uint32_t len;
	g_autofree uint8_t *value = nt_encode(decoded, &len, &why);

	ck_assert_msg(value != NULL, "%s", why);
	ck_assert_uint_eq(len, should->len);
	ck_assert_mem_eq(value, should->data, len);
	nt_free(decoded);
	g_byte_array_unref(sd);
}

START_TEST(kept)
{
	expect_same(nt_text(0x8004, ANNA, STAFF, NULL, "0 0 " FULL " " ANNA));
	/* protected, auto-inherited, defaulted; an order that no editor writes */
	expect_same(nt_text(0xbc0f, ANNA, STAFF, NULL,
			    "0 0 " FULL " " ANNA ",1 13 2 " WORLD ",0 b 120089 S-1-3-0,"
			    "1 0 10000 " STAFF));
	expect_same(nt_text(0x8814, ANNA, STAFF, "2 c0 1 " WORLD ",11 0 1 S-1-16-12288",
			    "0 3 1 " ANNA));
	/* an empty DACL; one that is present and not there; none */
	expect_same(nt_text(0x8000, ANNA, STAFF, NULL, NULL));
	expect_same(nt_text(0x8004, ANNA, STAFF, NULL, NULL));
	expect_same(nt_text(0x8004, NULL, NULL, NULL, "0 0 1 " WORLD));
	expect_same(nt_text(0x8014, ANNA, NULL, "2 40 1 " WORLD, NULL));
	/* conditions, objects with none, one and both GUIDs, resource attributes */
	expect_same(nt_text(0x8014, ANNA, STAFF, "12 0 0 " WORLD " 1400000001000000",
			    "9 0 1 " ANNA " 6172747800000000,5 0 1 " ANNA " 00000000,"
			    "6 0 1 " ANNA " 01000000000102030405060708090a0b0c0d0e0f,"
			    "b 0 1 " ANNA " 02000000000102030405060708090a0b0c0d0e0f,"
			    "5 0 1 " ANNA " 03000000000102030405060708090a0b0c0d0e0f"
			    "000102030405060708090a0b0c0d0e0f"));
}
END_TEST

START_TEST(empty_acl)
{
	struct sid anna = nt_sid(ANNA), none = {0};
	g_autoptr(GByteArray) sd = nt_text(0x9004, ANNA, NULL, NULL, "");
	g_autoptr(GByteArray) should = NULL;
	g_autofree uint8_t *value = NULL;
	uint32_t len;

	/* the text's "" is one entry that is none: take it away */
	g_byte_array_set_size(sd, 20 + 28 + 8);
	memcpy(sd->data + 48, (uint8_t[]){2, 0, 8, 0, 0, 0, 0, 0}, 8);
	should = nt_value(sd);
	value = nt_closed(&anna, &none, &len);
	ck_assert_uint_eq(len, should->len);
	ck_assert_mem_eq(value, should->data, len);
}
END_TEST

/* Whatever is outside of control's flags is not looked at. */
START_TEST(not_present)
{
	g_autoptr(GByteArray) sd = nt_text(0x8000, ANNA, STAFF, NULL, NULL);
	struct nt_descriptor *decoded;

	nt_set32(sd, 12, 0xfffffff0);
	nt_set32(sd, 16, 4);
	decoded = decode(sd);
	ck_assert(!decoded->dacl.present && !decoded->sacl.present);
	nt_free(decoded);
}
END_TEST

START_TEST(mapped)
{
	struct sid_map *map =
		sid_map_parse("S-1-5-21-1-2-3-*:S-1-5-32-* S-1-3-0:S-1-5-21-4-5-6-7", false, NULL);
	g_autoptr(GByteArray) sd =
		nt_text(0x9014, ANNA, STAFF, "2 0 1 S-1-3-0",
			"9 0 1 " ANNA " 61727478,1 0 2 " WORLD ",5 0 1 " STAFF " 00000000");
	g_autoptr(GByteArray) to =
		nt_text(0x9014, "S-1-5-32-1001", "S-1-5-32-513", "2 0 1 S-1-5-21-4-5-6-7",
			"9 0 1 S-1-5-32-1001 61727478,1 0 2 " WORLD ",5 0 1 S-1-5-32-513 00000000");
	g_autoptr(GByteArray) should = nt_value(to);
	struct nt_descriptor *decoded = decode(sd);
	g_autofree uint8_t *value = NULL;
	const char *why;
	uint32_t len;

	nt_map(decoded, map);
	value = nt_encode(decoded, &len, &why);
	ck_assert_uint_eq(len, should->len);
	ck_assert_mem_eq(value, should->data, len);
	nt_free(decoded);
	sid_map_free(map);
}
END_TEST

START_TEST(conditions)
{
	g_autoptr(GByteArray) sd = nt_text(0x8004, ANNA, STAFF, NULL,
					   "a 3 1 " ANNA " 61727478,9 0 2 " ANNA " 61727478,"
					   "c 0 4 " STAFF " 00000000,0 0 8 " WORLD);
	g_autoptr(GByteArray) to =
		nt_text(0x8004, ANNA, STAFF, NULL,
			"1 3 1 " ANNA ",9 0 2 " ANNA " 61727478,1 0 4 " STAFF ",0 0 8 " WORLD);
	g_autoptr(GByteArray) should = nt_value(to);
	struct nt_descriptor *decoded = decode(sd);
	g_autofree uint8_t *value = NULL;
	unsigned allow, deny;
	const char *why;
	uint32_t len;

	nt_make_safe(decoded, &allow, &deny);
	ck_assert_uint_eq(allow, 1);
	ck_assert_uint_eq(deny, 2);
	value = nt_encode(decoded, &len, &why);
	ck_assert_uint_eq(len, should->len);
	ck_assert_mem_eq(value, should->data, len);
	nt_free(decoded);
}
END_TEST

static void expect_refused(GByteArray *sd, const char *reason)
{
	const char *why = "";

	ck_assert_ptr_null(nt_decode(sd->data, sd->len, &why));
	ck_assert_msg(strstr(why, reason), "%s", why);
	g_byte_array_unref(sd);
}

static GByteArray *usual(void)
{
	return nt_text(0x8014, ANNA, STAFF, "2 0 1 " WORLD, "0 0 1 " WORLD ",1 0 2 " ANNA);
}

/* Where: of the descriptor's header or of its first list, the SACL. */
static GByteArray *broken(unsigned at, uint32_t value)
{
	GByteArray *sd = usual();

	nt_set32(sd, at, value);
	return sd;
}

START_TEST(refused)
{
	const unsigned sacl = 20 + 28 + 28, ace = sacl + 8;

	expect_refused(broken(0, 0x80140002), "not a self-relative");
	expect_refused(broken(0, 0x00140001), "not a self-relative");
	expect_refused(broken(4, 19), "no valid SID");
	expect_refused(broken(4, 0xffffffff), "no valid SID");
	expect_refused(broken(8, 0x7fffffff), "no valid SID");
	expect_refused(broken(12, 16), "outside");
	expect_refused(broken(12, 0xfffffffc), "outside");
	expect_refused(broken(16, 0x10000), "outside");
	expect_refused(broken(sacl, 7u << 16 | 2), "outside");
	expect_refused(broken(sacl, 0xfff0u << 16 | 2), "outside");
	expect_refused(broken(sacl + 4, 2), "does not fit");
	expect_refused(broken(sacl + 4, 2001), "2000 entries");
	expect_refused(broken(ace, 4u << 16), "does not fit");
	expect_refused(broken(ace, 24u << 16), "does not fit");
	expect_refused(broken(ace, 18u << 16), "does not fit");
	expect_refused(broken(ace, 16u << 16 | 2), "no valid SID");
	expect_refused(broken(ace, 20u << 16 | 4), "does not know");
	expect_refused(broken(ace, 20u << 16 | 0x16), "does not know");
	expect_refused(broken(ace, 20u << 16 | 0xff), "does not know");
	expect_refused(broken(ace + 8, 0x1001), "no valid SID");
	expect_refused(broken(ace, 20u << 16 | 5), "does not fit");
}
END_TEST

/* However it is cut, nothing beyond is read: the address sanitizer looks. */
START_TEST(cut)
{
	g_autoptr(GByteArray) sd = usual();
	const char *why;

	for (guint len = 0; len < sd->len; len++) {
		g_autofree uint8_t *copy = g_memdup2(sd->data, len ? len : 1);

		ck_assert_ptr_null(nt_decode(copy, len, &why));
	}
}
END_TEST

#define LONG "S-1-5-21-1-2-3-4-5-6-7-8"

/* One entry for everybody (20 bytes), and more of the same kind (20, or 52 bytes for LONG). */
static struct nt_descriptor *many(guint more, const char *whose, GByteArray **keep)
{
	GString *text = g_string_new("0 0 1 " WORLD);

	for (guint i = 0; i < more; i++)
		g_string_append_printf(text, ",0 0 1 %s", whose);
	*keep = nt_text(0x8004, ANNA, STAFF, NULL, text->str);
	g_string_free(text, TRUE);
	return decode(*keep);
}

/* len: 0 where it is too long after that. */
static void expect_len(struct nt_descriptor *sd, uint32_t should)
{
	const char *why = "";
	uint32_t len;
	g_autofree uint8_t *value = nt_encode(sd, &len, &why);

	ck_assert_int_eq(value != NULL, should != 0);
	if (should)
		ck_assert_uint_eq(len, should);
	else
		ck_assert(strstr(why, "longer than"));
}

START_TEST(long_ones)
{
	struct sid_map *map = sid_map_parse("S-1-1-0:" LONG, false, NULL);
	GByteArray *keep;
	struct nt_descriptor *sd = many(1258, LONG, &keep);

	expect_len(sd, 65528);
	nt_map(sd, map); /* longer than an attribute */
	expect_len(sd, 0);
	nt_free(sd);
	g_byte_array_unref(keep);
	sd = many(1999, WORLD, &keep);
	expect_len(sd, 8 + 20 + 28 + 28 + 8 + 2000 * 20);
	nt_map(sd, map); /* longer than a list */
	expect_len(sd, 0);
	nt_free(sd);
	g_byte_array_unref(keep);
	sid_map_free(map);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("nt_acl");

	tcase_add_test(tc, kept);
	tcase_add_test(tc, empty_acl);
	tcase_add_test(tc, not_present);
	tcase_add_test(tc, mapped);
	tcase_add_test(tc, conditions);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, cut);
	tcase_add_test(tc, long_ones);
	return run_tcase(tc);
}
