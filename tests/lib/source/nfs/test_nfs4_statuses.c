/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every status (RFC 7530, section 13.1; RFC 8881, section 15.1; RFC 7862, section 11; RFC 8276) of
 * every operation that is sent: the request is answered once, with what its contract (source.h) has
 * for that, and the next one succeeds. */
#include "lib/source/nfs/nfs4_proc.h"

#include "tests/retriever/nfs4_served.h"

/* All that the RFCs have, and one that none has. */
static const uint32_t statuses[] = {
	1,     2,     5,     6,	    13,	   17,	  18,	 19,	20,    21,    22,    27,    28,
	30,    31,    63,    66,    69,	   70,	  10001, 10003, 10004, 10005, 10006, 10007, 10008,
	10009, 10010, 10011, 10012, 10013, 10014, 10015, 10016, 10017, 10018, 10019, 10020, 10021,
	10022, 10023, 10024, 10025, 10026, 10027, 10028, 10029, 10030, 10031, 10032, 10033, 10034,
	10035, 10036, 10037, 10038, 10039, 10040, 10041, 10042, 10043, 10044, 10045, 10046, 10047,
	10048, 10049, 10050, 10051, 10052, 10053, 10054, 10055, 10056, 10057, 10058, 10059, 10060,
	10061, 10062, 10063, 10064, 10065, 10066, 10067, 10068, 10069, 10070, 10071, 10072, 10073,
	10074, 10075, 10076, 10077, 10078, 10079, 10080, 10081, 10082, 10083, 10084, 10085, 10086,
	10087, 10088, 10089, 10090, 10091, 10092, 10093, 10094, 10095, 10096, 4711,
};

/* What it is for the contract.  All others are errors of the old server. */
static const struct {
	uint32_t status;
	int result;
} results[] = {
	{1, -EPERM},	   {2, -ENOENT},	{13, -EACCES},	   {20, -ENOTDIR},
	{21, -EISDIR},	   {63, -ENAMETOOLONG}, {70, -ESTALE},	   {10001, -ESTALE},
	{10003, -EBADMSG}, {10004, -ENOTSUP},	{10008, -EAGAIN},  {10013, -EAGAIN},
	{10014, -ESTALE},  {10016, -EACCES},	{10018, -EAGAIN},  {10021, 0}, /* it began anew */
	{10027, -EBADMSG}, {10029, -ENOTDIR},	{10036, -EBADMSG}, {10040, -ENOENT},
	{10041, -ENOENT},  {10044, -ENOTSUP},
};

static bool (*answer)(struct fake_call *call, struct fake4 *fake4, uint32_t op, uint32_t *status);
static atomic_uint failing, with, times, seen;

static bool refuse(struct fake_call *call, struct fake4 *server, uint32_t op, uint32_t *status)
{
	if (op != atomic_load(&failing) || !fake4_take(&times))
		return answer(call, server, op, status);
	atomic_fetch_add(&seen, 1);
	*status = fake4_op(call, op, atomic_load(&with));
	return true;
}

static void say_nothing(const gchar *domain, GLogLevelFlags level, const gchar *message,
			gpointer user)
{
}

static void setup(void)
{
	g_log_set_default_handler(say_nothing, NULL);
	served_start();
	answer = fake4.tree;
	fake4.tree = refuse;
	fake4.minor = 1;
	served_open("4.1");
}

static int ask(enum backend_op op)
{
	struct backend_request req = {.op = op,
				      .object = by_path(op == BACKEND_READDIR	 ? ""
							: op == BACKEND_READLINK ? "link"
										 : "file"),
				      .count = 100};
	int status = run(backend, &req);

	if (op == BACKEND_READ)
		g_free((void *)req.data);
	g_free(req.text);
	if (req.batch)
		backend_batch_free(req.batch);
	return status;
}

static int result_of(uint32_t status)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(results); i++)
		if (results[i].status == status)
			return results[i].result;
	return -EREMOTEIO;
}

static const struct {
	enum backend_op request;
	uint32_t op;
	const char *name;
	bool opens; /* READ by an OPEN */
} sent[] = {
	{BACKEND_GETATTR, 24, "PUTROOTFH"}, {BACKEND_GETATTR, 15, "LOOKUP"},
	{BACKEND_GETATTR, 9, "GETATTR"},    {BACKEND_GETATTR, 10, "GETFH"},
	{BACKEND_READ, 25, "READ"},	    {BACKEND_READ, 18, "OPEN", true},
	{BACKEND_READ, 4, "CLOSE", true},   {BACKEND_READDIR, 26, "READDIR"},
	{BACKEND_READLINK, 27, "READLINK"},
};

/* What an operation has of its own. */
static int expected(uint32_t op, uint32_t status)
{
	if (op == 4) /* what was read is read */
		return 0;
	if (op == 18 && (status == 10012 || status == 10015))
		return -EBUSY; /* somebody has it to himself */
	if (op == 25 && (status == 13 || status == 10012 || status == 10025))
		return 0; /* it is opened for that, as from then on */
	return result_of(status);
}

START_TEST(each_is_answered_once)
{
	tree.anonymous = sent[_i].opens ? 10012 : 0;
	ck_assert_int_eq(ask(sent[_i].request), 0);
	for (unsigned i = 0; i < G_N_ELEMENTS(statuses); i++) {
		int status;

		atomic_store(&failing, sent[_i].op);
		atomic_store(&with, statuses[i]);
		atomic_store(&seen, 0);
		atomic_store(&times, 1);
		status = ask(sent[_i].request);
		ck_assert_msg(atomic_load(&seen) == 1, "%s was not sent", sent[_i].name);
		ck_assert_msg(status == expected(sent[_i].op, statuses[i]), "%s, %u: %d",
			      sent[_i].name, statuses[i], status);
		atomic_store(&times, 0);
		ck_assert_msg(ask(sent[_i].request) == 0, "%s, %u: the next", sent[_i].name,
			      statuses[i]);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("nfs4_statuses");

	tcase_add_checked_fixture(tcase, setup, served_end);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, each_is_answered_once, 0, G_N_ELEMENTS(sent));
	return run_tcase(tcase);
}
