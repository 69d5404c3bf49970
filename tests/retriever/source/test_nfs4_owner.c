/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Owners' texts, and who they are here. */
#include "source/nfs/nfs4_owner.h"

#include "backend_support.h"

static struct nfs4_owners *owners;
static unsigned asked, said;

static int ask(bool group, char *text, uint32_t *id)
{
	asked++;
	if (strcmp(text, "anna@example.org") != 0)
		return -ENOENT;
	memset(text, 'x', 4); /* it is theirs */
	*id = group ? 2000 : 1000;
	return 0;
}

static void count_lines(const gchar *domain, GLogLevelFlags level, const gchar *message,
			gpointer user)
{
	ck_assert_ptr_nonnull(strstr(message, "nfs://old/x: "));
	said++;
}

static void setup(void)
{
	asked = said = 0;
	g_log_set_default_handler(count_lines, NULL);
	owners = nfs4_owners_new("nfs://old/x", ask);
}

static void teardown(void)
{
	nfs4_owners_free(owners);
}

static uint32_t user(const char *text)
{
	return nfs4_owners_id(owners, false, (const uint8_t *)text, (uint32_t)strlen(text));
}

START_TEST(numbers_are_themselves)
{
	ck_assert_uint_eq(user("0"), 0);
	ck_assert_uint_eq(user("1000"), 1000);
	ck_assert_uint_eq(user("4294967294"), 4294967294u);
	ck_assert_uint_eq(user("4294967295"), NFS4_NOBODY);
	ck_assert_uint_eq(user("4294967296"), NFS4_NOBODY);
	ck_assert_uint_eq(user("-1"), NFS4_NOBODY);
	ck_assert_uint_eq(user("+1"), NFS4_NOBODY);
	ck_assert_uint_eq(user(" 1"), NFS4_NOBODY);
	ck_assert_uint_eq(user("1x"), NFS4_NOBODY);
	ck_assert_uint_eq(user(""), NFS4_NOBODY);
	ck_assert_uint_eq(asked, 0);
}
END_TEST

START_TEST(names_are_asked_for_once)
{
	const char *anna = "anna@example.org";

	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(user(anna), 1000);
		ck_assert_uint_eq(nfs4_owners_id(owners, true, (const uint8_t *)anna, 16), 2000);
		ck_assert_uint_eq(user("otto@example.org"), NFS4_NOBODY);
		ck_assert_uint_eq(user("anna"), NFS4_NOBODY); /* of no domain */
	}
	ck_assert_uint_eq(asked, 3);
	ck_assert_uint_eq(said, 2);
}
END_TEST

START_TEST(a_server_may_make_up_any_number)
{
	char text[600];

	memset(text, 'a', sizeof(text));
	ck_assert_uint_eq(nfs4_owners_id(owners, false, (uint8_t *)text, 600), NFS4_NOBODY);
	ck_assert_uint_eq(nfs4_owners_id(owners, false, (uint8_t *)"1\0", 2), NFS4_NOBODY);
	ck_assert_uint_eq(said, 0);
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(text, sizeof(text), "u%u@x", i);
		ck_assert_uint_eq(user(text), NFS4_NOBODY);
	}
	ck_assert_uint_eq(asked, 100000);
	ck_assert_uint_eq(said, 1000);
}
END_TEST

/* This host's own: whom it does not have it does not know. */
START_TEST(the_host_is_asked)
{
	nfs4_owners_free(owners);
	owners = nfs4_owners_new("nfs://old/x", NULL);
	ck_assert_uint_eq(user("no such user@no such domain"), NFS4_NOBODY);
	ck_assert_uint_eq(said, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nfs4_owner");
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, numbers_are_themselves);
	tcase_add_test(tcase, names_are_asked_for_once);
	tcase_add_test(tcase, a_server_may_make_up_any_number);
	tcase_add_test(tcase, the_host_is_asked);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
