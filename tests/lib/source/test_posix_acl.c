/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_xattrs.h"

static struct acl *decode(const char *text)
{
	uint32_t len;
	g_autofree uint8_t *value = core_acl(text, &len);

	return acl_decode(value, len);
}

static void expect(const struct acl *acl, const char *text)
{
	uint32_t len, want_len;
	g_autofree uint8_t *value = acl_encode(acl, &len);
	g_autofree uint8_t *want = core_acl(text, &want_len);

	ck_assert_uint_eq(len, want_len);
	ck_assert(!memcmp(value, want, len));
}

/* Whatever the order, it comes out as the kernel wants it. */
START_TEST(orders)
{
	struct acl *acl = decode("o::4 g:5:1 m::6 u:9:7 u::7 g::0 u:3:5 g:2:2");

	ck_assert_ptr_nonnull(acl);
	expect(acl, "u::7 u:3:5 u:9:7 g::0 g:2:2 g:5:1 m::6 o::4");
	acl_free(acl);
}
END_TEST

START_TEST(refused)
{
	static const char *const bad[] = {
		"u::7 g::5",			      /* no others */
		"u::7 o::5",			      /* no group */
		"g::7 o::5",			      /* no owner */
		"u::7 g::5 o::5 u:3:7",		      /* someone is named, and no mask */
		"u::7 g::5 o::8",		      /* no such right */
		"u::7 u::7 g::5 o::5",		      /* twice */
		"u::7 u:3:1 u:3:2 g::5 m::7 o::5",    /* twice */
		"u::7 u:4294967295:1 g::5 m::7 o::5", /* nobody: it becomes a second owner */
	};
	uint32_t len;
	g_autofree uint8_t *value = core_acl("u::7 g::5 o::5", &len);

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		ck_assert_msg(decode(bad[i]) == NULL, "%s", bad[i]);
	for (uint32_t cut = 0; cut < len; cut++) { /* of its own size, so that reading on is seen */
		g_autofree uint8_t *part = g_memdup2(value, cut);

		ck_assert_ptr_null(acl_decode(part, cut));
	}
	value[4] = 3; /* a tag that there is not */
	ck_assert_ptr_null(acl_decode(value, len));
	value[4] = 1;
	value[0] = 1; /* a version */
	ck_assert_ptr_null(acl_decode(value, len));
}
END_TEST

START_TEST(modes)
{
	static const struct {
		const char *acl;
		mode_t mode, alone;
	} cases[] = {
		{"u::7 g::5 o::4", 0754, 0754},
		{"u::7 g::4 m::7 o::0", 0770, 0740},	   /* the mask is not the group's */
		{"u::7 g::7 m::4 o::0", 0740, 0740},	   /* but limits it */
		{"u::7 u:3:6 g::4 m::6 o::4", 0764, 0744}, /* who has more loses it */
		{"u::7 u:3:0 g::6 m::6 o::6", 0766, 0700}, /* who has less gets no more */
		{"u::7 g::6 g:3:0 m::6 o::4", 0764, 0760}, /* they were not among the others */
		{"u::7 u:3:7 g::7 m::0 o::7", 0707, 0700}, /* the mask holds for them, too */
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct acl *acl = decode(cases[i].acl);

		ck_assert_ptr_nonnull(acl);
		ck_assert_msg(acl_mode(acl) == cases[i].mode, "%s: %o", cases[i].acl,
			      acl_mode(acl));
		ck_assert_msg(acl_mode_alone(acl) == cases[i].alone, "%s: %o", cases[i].acl,
			      acl_mode_alone(acl));
		acl_free(acl);
	}
}
END_TEST

/* 65534 may be named, and in any group. */
START_TEST(closed)
{
	static const struct {
		const char *acl;
		bool owner, group;
		const char *closed;
	} cases[] = {
		{"u::7 g::5 o::5", true, false, "u::5 g::5 o::5"},
		{"u::7 g::5 o::0", true, false, "u::0 g::5 o::0"},
		{"u::7 g::5 o::4", false, true, "u::7 g::4 o::4"},
		{"u::6 g::6 o::4", true, true, "u::4 g::4 o::4"},
		{"u::7 u:65534:0 g::7 m::7 o::7", true, false, "u::0 u:65534:0 g::7 m::7 o::7"},
		{"u::7 g::7 g:3:1 m::5 o::7", true, true, "u::1 g::7 g:3:1 m::5 o::7"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct acl *acl = decode(cases[i].acl);

		acl_close(acl, cases[i].owner, cases[i].group);
		expect(acl, cases[i].closed);
		acl_free(acl);
	}
}
END_TEST

static uint32_t swap(void *arg, bool group, uint32_t id)
{
	if (arg)
		return 8;
	return group ? id + 100 : 10 - id;
}

START_TEST(maps)
{
	struct acl *acl = decode("u::7 u:3:5 u:9:7 g::0 g:2:2 m::6 o::4");

	ck_assert(acl_map(acl, swap, NULL));
	expect(acl, "u::7 u:1:7 u:7:5 g::0 g:102:2 m::6 o::4");
	ck_assert(!acl_map(acl, swap, acl)); /* two become one */
	ck_assert_uint_eq(acl_mode_alone(acl), 0700);
	acl_free(acl);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("acl");

	tcase_add_test(tcase, orders);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, modes);
	tcase_add_test(tcase, closed);
	tcase_add_test(tcase, maps);
	return run_tcase(tcase);
}
