/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/smb_call.h"

#include <errno.h>

#include "tests/ctl/rollback/fake_writer.h"

static const struct wire_change nothing = {0};

static int get(struct smb_call *call, const char *path)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .object.path = (char *)path};

	return smb_call_ask(call, &req);
}

START_TEST(asked_and_told)
{
	struct smb_call *call = call_share("good", NULL);
	g_autofree char *longest = g_strnfill(WIRE_PATH_MAX + 1, 'x');

	ck_assert_uint_eq(smb_call_max(call), 65536);
	ck_assert_str_eq(smb_call_base(call), "");
	ck_assert_int_eq(get(call, "file"), 0);
	ck_assert_int_eq(smb_call_change(call, "file", ":stream:$DATA", &nothing, ""), 0);
	longest[255] = '\0';
	ck_assert_int_eq(smb_call_change(call, "file", longest, &nothing, ""), 0);
	longest[255] = 'x';
	ck_assert_int_eq(get(call, longest), -ENAMETOOLONG);
	ck_assert_int_eq(smb_call_change(call, longest, "", &nothing, ""), -ENAMETOOLONG);
	smb_call_close(call);
}
END_TEST

/* It is not started again: what was done is not known. */
START_TEST(lost)
{
	static const char *const troubles[] = {"end",	       "crash",		"wrong-slot",
					       "wrong-serial", "wrong-version", "wrong-type",
					       "wrong-hello",  "wrong-length"};

	for (size_t i = 0; i < G_N_ELEMENTS(troubles); i++) {
		struct smb_call *call = call_share("good", NULL);

		ck_assert_int_eq(smb_call_change(call, troubles[i], "", &nothing, ""), -ENOTCONN);
		ck_assert_int_eq(get(call, "file"), -ENOTCONN);
		smb_call_close(call);
	}
}
END_TEST

static void refused(const char *share, const char *why)
{
	g_autofree char *message = NULL;

	ck_assert_ptr_null(call_share(share, &message));
	ck_assert_msg(strstr(message, why) != NULL, "%s", message);
	ck_assert_msg(!strstr(message, "made again"), "%s", message);
	ck_assert_msg(!strstr(message, " smb-") && !strstr(message, "secret\n"), "%s", message);
}

START_TEST(not_opened)
{
	refused("fails-4-c000006a", "correct the file of rollback-password-file");
	refused("fails-4-c0000064", "correct the user in rollback-source");
	refused("fails-7-c00000cc", "correct rollback-source");
	refused("fails-10-c000020d", "the connection was lost (status ");
	refused("fails-11-0", "migrate-smb-writer failed");
	config.rollback_password_file = NULL;
	refused("good", "set rollback-password-file to its path, or rollback-ccache");
	config.rollback_password_file = secret;
	ck_assert_int_eq(g_chmod(secret, 0644), 0);
	refused("good", "rollback-password-file = ");
	ck_assert_int_eq(g_chmod(secret, 0600), 0);
	g_setenv("MIGRATE_SMB_WORKER", "/nothing", TRUE);
	refused("good", "migrate-smb-writer cannot be started");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, asked_and_told);
	tcase_add_test(tcase, lost);
	tcase_add_test(tcase, not_opened);
	return run_tcase(tcase);
}
