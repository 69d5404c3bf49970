/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is asked of an SMB source. */
#include "tests/retriever/smb_share.h"

START_TEST(requests_are_answered)
{
	struct backend_request req;
	struct source_attr attr;

	ck_assert_uint_eq(backend->ops->max_read(backend), 65536);
	ck_assert_int_eq(get_attr(backend, by_path("file"), &attr), 0);
	ck_assert_uint_eq(attr.fileid, 5);
	ck_assert_int_eq(read_at(backend, by_path("file"), 7, 1000, &req), 0);
	ck_assert_uint_eq(req.data_len, 1000);
	ck_assert_uint_eq(req.data[0], 7);
	ck_assert_uint_eq(req.data[999], 7);
	g_free((void *)req.data);
	ck_assert_uint_eq(backend->ops->away(backend), 0);
}
END_TEST

START_TEST(some_need_no_answer)
{
	struct source_object nothing = {0}, found;
	struct source_attr attr;
	char name[257];

	memset(name, 'n', 256);
	name[256] = '\0';
	ck_assert_int_eq(get_attr(backend, nothing, &attr), -ESTALE);
	ck_assert_int_eq(get_attr(backend, by_path("a/../b"), &attr), -ENOENT);
	ck_assert_int_eq(look_up(backend, by_path(""), "..", &found, NULL), -ENOENT);
	ck_assert_int_eq(look_up(backend, by_path(""), name, &found, NULL), -ENAMETOOLONG);
}
END_TEST

START_TEST(demand_does_not_wait_for_others)
{
	struct many *held = submit_many("hold", BACKEND_BACKGROUND);
	struct source_attr attr;

	for (unsigned i = 0; i < 20; i++)
		ck_assert_int_eq(get_attr(backend, by_path("file"), &attr), 0);
	ck_assert_uint_eq(gate_count(&held->gate), 0);
	backend->ops->close(g_steal_pointer(&backend));
	ck_assert_uint_eq(gate_count(&held->gate), MANY);
	ck_assert_uint_eq(held->cancelled, MANY);
	g_free(held);
}
END_TEST

static const struct {
	const char *share, *words;
} refusals[] = {
	{"fails-4-c000006d", "wrong user name or password"},
	{"fails-5-0", "guest"},
	{"fails-6-c00000bb", "cannot encrypt"},
	{"fails-7-c00000cc", "no share"},
	{"fails-8-c0000034", "no directory"},
	{"fails-9-c0000103", "not a directory"},
	{"fails-3-c00000c3", "does not speak SMB 2"},
	{"fails-3-c000020c", "ended before the server told its version"},
	{"fails-3-c000020d", "ended before the server told its version"},
	{"fails-3-c0000241", "ended before the server told its version"},
	{"fails-3-c00000b5", "does not answer: see that it is well"},
	{"fails-12-c000006d", "did not accept the ticket of user"},
	{"fails-13-96c73a07",
	 "no ticket for cifs/host with that of user: the realm knows no server"},
	{"fails-13-96c73a20", "it has expired"},
	{"fails-13-96c73a3c", "(Kerberos error -1765328324): try kvno cifs/host"},
	{"file", "make no sense"},
};

START_TEST(what_is_wrong_is_said)
{
	g_autofree char *message = NULL;

	ck_assert_ptr_null(open_share(refusals[_i].share, &message));
	ck_assert_msg(strstr(message, refusals[_i].words), "%s", message);
	ck_assert_msg(g_str_has_prefix(message, "smb://user@host/"), "%s", message);
	ck_assert_ptr_null(strchr(message, '\n'));
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tcase = worker_tcase(argv[0]);

	tcase_add_checked_fixture(tcase, open_it, close_it);
	tcase_add_test(tcase, requests_are_answered);
	tcase_add_test(tcase, some_need_no_answer);
	tcase_add_test(tcase, demand_does_not_wait_for_others);
	tcase_add_loop_test(tcase, what_is_wrong_is_said, 0, G_N_ELEMENTS(refusals));
	return run_tcase(tcase);
}
