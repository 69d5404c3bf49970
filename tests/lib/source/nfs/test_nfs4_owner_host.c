/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host's name service: who says no, and who says nothing. */
#include "lib/source/nfs/nfs4_owner_host.h"

#include <errno.h>
#include <glib.h>

#include "tests/suite.h"

static GString *asked;

static enum nss_status ask(const char *service, bool group, const char *name)
{
	ck_assert(group);
	ck_assert_str_eq(name, "anna");
	g_string_append_printf(asked, "%s ", service);
	return !strcmp(service, "has")	  ? NSS_STATUS_SUCCESS
	       : !strcmp(service, "away") ? NSS_STATUS_UNAVAIL
	       : !strcmp(service, "busy") ? NSS_STATUS_TRYAGAIN
					  : NSS_STATUS_NOTFOUND;
}

static void expect(const char *services, bool answer, const char *who)
{
	asked = g_string_new(NULL);
	ck_assert_msg(nfs4_owner_services_answer(services, true, "anna", ask) == answer, "%s",
		      services);
	ck_assert_str_eq(asked->str, who);
	g_string_free(asked, TRUE);
}

START_TEST(each_service_has_to_answer)
{
	expect("", true, "");
	expect("  # away", true, "");
	expect("\tno no2 # away", true, "no no2 ");
	expect("no away", false, "no away ");
	expect("away no", false, "away "); /* the C library: not found */
	expect("busy no", false, "busy ");
	expect("has away", true, "has ");
	expect("no#away", true, "no ");
}
END_TEST

START_TEST(actions_are_kept)
{
	expect("no [NOTFOUND=return] away", true, "no ");
	expect("no [ UNAVAIL=continue notfound=return ] away", true, "no ");
	expect("no[NOTFOUND=return]away", true, "no ");
	expect("no [!NOTFOUND=return] away", false, "no away ");
	expect("no [SUCCESS=merge] away", false, "no away ");
	expect("no [SUCCESS=merge", true, "no ");
}
END_TEST

START_TEST(modules_of_this_host)
{
	ck_assert(nfs4_owner_services_answer("files", false, "nobody at all", NULL));
	ck_assert(!nfs4_owner_services_answer("files away", false, "nobody at all", NULL));
	ck_assert(nfs4_owner_services_answer("systemd", false, "root", NULL));
}
END_TEST

START_TEST(who_has_it_and_who_does_not)
{
	char text[] = "nobody at all@no domain", group[] = "nobody at all@no domain";
	uint32_t id;

	ck_assert_int_eq(nfs4_owner_ask_host(false, text, &id), -ENOENT);
	ck_assert_int_eq(nfs4_owner_ask_host(true, group, &id), -ENOENT);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, each_service_has_to_answer);
	tcase_add_test(tcase, actions_are_kept);
	tcase_add_test(tcase, modules_of_this_host);
	tcase_add_test(tcase, who_has_it_and_who_does_not);
	return run_tcase(tcase);
}
