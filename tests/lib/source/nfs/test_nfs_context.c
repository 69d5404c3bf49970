/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A context is made with a server that is right, and with none that is not; connections make
 * another one when theirs is forgotten, forged at or worn. */
#include "lib/source/nfs/nfs_context.h"

#include <sys/eventfd.h>

#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_gss.h"

static char dir[] = "/tmp/test-nfs-context-XXXXXX";
static struct nfs_config config;
static struct nfs_server server;
static struct nfs_address address;
static struct fake_gss gss;
static struct fake *fake;

/* The library is not asked, but who may read the keys is. */
static void make_keytab(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	config.keytab = g_strconcat(dir, "/keytab", NULL);
	ck_assert(g_file_set_contents(config.keytab, "", 0, NULL));
	chmod(config.keytab, 0600);
}

static void start(enum nfs_sec sec)
{
	make_keytab();
	gss = fake_gss_of(sec);
	fake = fake_start(fake_gss_serve, &gss);
	fake_server(fake, sec, &address, &server);
	nfs_credential_init(&server.credential, &server.url, &config);
}

static void end(void)
{
	if (fake)
		fake_stop(fake);
	nfs_credential_clear(&server.credential);
	nfs_complaint_clear(&server.complaint);
	ck_assert_uint_eq(fake_gss_contexts, 0);
	unlink(config.keytab);
	rmdir(dir);
}

static int make(struct nfs_gss **made, char **why, int cancel_fd, unsigned ms)
{
	return nfs_context_make(&server, &address, fake->port, NFS_PROGRAM, NFS_VERSION,
				g_get_monotonic_time() + ms * INT64_C(1000), cancel_fd, made, why);
}

START_TEST(one_is_made)
{
	struct nfs_gss *made;
	gint64 now = g_get_monotonic_time();
	char *why;

	start((enum nfs_sec)_i);
	ck_assert_int_eq(make(&made, &why, -1, 10000), 0);
	ck_assert_ptr_null(why);
	ck_assert_uint_eq(nfs_gss_window(made), 127);
	/* before the ticket ends */
	ck_assert(!nfs_gss_is_worn(made, now + (FAKE_LIFETIME - 100) * G_USEC_PER_SEC));
	ck_assert(nfs_gss_is_worn(made, now + (FAKE_LIFETIME - 30) * G_USEC_PER_SEC));
	nfs_gss_free(made);
	/* the shortest lasts for a moment, the longest is taken for a day */
	fake_gss_lifetime = 1;
	ck_assert_int_eq(make(&made, &why, -1, 10000), 0);
	ck_assert(!nfs_gss_is_worn(made, now));
	nfs_gss_free(made);
	fake_gss_lifetime = GSS_C_INDEFINITE;
	ck_assert_int_eq(make(&made, &why, -1, 10000), 0);
	ck_assert(nfs_gss_is_worn(made, now + (gint64)86500 * G_USEC_PER_SEC));
	nfs_gss_free(made);
}
END_TEST

/* With a keytab there is another ticket. */
START_TEST(a_second_log_on_begins_anew)
{
	struct nfs_gss *made;
	char *why;

	start(NFS_SEC_KRB5I);
	fake_gss_ends = 1;
	ck_assert_int_eq(make(&made, &why, -1, 10000), 0);
	ck_assert_ptr_null(why);
	ck_assert_uint_eq(gss.contexts, 2);
	nfs_gss_free(made);
}
END_TEST

static void refused(int status, const char *words)
{
	struct nfs_gss *made = NULL;
	g_autofree char *why = NULL;

	ck_assert_int_eq(make(&made, &why, -1, 10000), status);
	ck_assert_ptr_null(made);
	if (words)
		ck_assert_msg(why && strstr(why, words), "%s", why);
	else
		ck_assert_ptr_null(why);
	gss = fake_gss_of(NFS_SEC_KRB5I);
}

static enum fake_action answer_to_null(struct fake_call *call)
{
	return FAKE_REPLY;
}

START_TEST(no_answer_but_the_right_one_is_taken)
{
	char large[NFS_GSS_HANDLE + 2] = "";

	start(NFS_SEC_KRB5I);
	memset(large, 'x', sizeof(large) - 1);
	gss.major = GSS_S_FAILURE;
	refused(-EKEYREJECTED, "the old server refuses the ticket (its GSS status is 0xd0000");
	gss.handle = large;
	refused(-EBADMSG, NULL);
	gss.handle = "";
	refused(-EBADMSG, NULL);
	gss.window = 0;
	refused(-EBADMSG, NULL);
	gss.unsigned_answer = true;
	refused(-EBADMSG, NULL);
	gss.major = GSS_S_CONTINUE_NEEDED; /* and never more than that */
	refused(-EBADMSG, NULL);
	gss.answer = "not from the server";
	refused(-EKEYREJECTED, "no ticket for nfs/old from ");
	gss.answer = "";
	refused(-EKEYREJECTED, "no ticket for nfs/old from ");
	chmod(config.keytab, 0644);
	refused(-EKEYREJECTED, "chmod 600");
	chmod(config.keytab, 0600);
	fake->hook = answer_to_null; /* as to AUTH_SYS */
	refused(-EBADMSG, NULL);
}
END_TEST

static enum fake_action other_window(struct fake_call *call)
{
	enum fake_action action = fake_gss_serve(call);

	call->out.p[-16] ^= 1; /* window, length and the seven bytes of the answer */
	return action;
}

static enum fake_action denied(struct fake_call *call)
{
	return fake_gss_deny(call, 2);
}

static enum fake_action never(struct fake_call *call)
{
	return FAKE_IGNORE;
}

START_TEST(answers_are_signed_and_in_time)
{
	int wake = eventfd(1, EFD_CLOEXEC);
	struct nfs_gss *made;
	g_autofree char *why = NULL;

	start(NFS_SEC_KRB5I);
	fake->hook = other_window;
	refused(-EKEYREJECTED, "is not signed by its key");
	fake->hook = denied;
	refused(-EKEYREJECTED, "it denies the call");
	ck_assert_int_eq(make(&made, &why, wake, 60000), -ECANCELED);
	fake->hook = never;
	ck_assert_int_eq(make(&made, &why, -1, 50), -ETIMEDOUT);
	ck_assert_ptr_null(why);
	close(wake);
}
END_TEST

/* It is told to the server, which may answer or not, but where it is too late. */
START_TEST(one_is_ended)
{
	struct nfs_gss *made;
	char *why;

	start((enum nfs_sec)_i);
	ck_assert_int_eq(make(&made, &why, -1, 10000), 0);
	nfs_context_end(&server, &address, fake->port, NFS_PROGRAM, NFS_VERSION, made);
	ck_assert_uint_eq(gss.destroyed, 1);
	ck_assert_int_eq(make(&made, &why, -1, 10000), 0);
	atomic_store(&gss.keeps, true);
	nfs_context_end(&server, &address, fake->port, NFS_PROGRAM, NFS_VERSION, made);
	atomic_store(&gss.keeps, false);
	fake_gss_lifetime = 0;
	ck_assert_int_eq(make(&made, &why, -1, 10000), 0);
	while (!nfs_gss_is_worn(made, g_get_monotonic_time()))
		g_usleep(10000);
	nfs_context_end(&server, &address, fake->port, NFS_PROGRAM, NFS_VERSION, made);
	ck_assert_uint_eq(gss.destroyed, 1);
}
END_TEST

/* ---- connections ---- */

static void passed(struct backend_request *req)
{
	gate_pass(req->user);
}

static void end_connection(struct nfs_conn *conn)
{
	nfs_conn_stop(conn);
	nfs_conn_join(conn);
	nfs_conn_free(conn);
}

/* Reads through a connection. */
static void read_all(unsigned reads)
{
	struct nfs_conn *conn;

	server.nfs.trial = nfs_conn_new(&server, &server.nfs, false, false);
	conn = nfs_conn_new(&server, &server.nfs, false, false);
	ck_assert_ptr_nonnull(conn);
	for (unsigned i = 0; i < reads; i++) {
		struct backend_request req = {.op = BACKEND_READ, .count = 4, .done = passed};
		struct gate gate;

		gate_init(&gate);
		req.object = by_handle((const uint8_t *)FAKE_FILE, (uint8_t)strlen(FAKE_FILE));
		req.user = &gate;
		nfs_conn_submit(conn, &req);
		gate_wait(&gate, 1);
		ck_assert_int_eq(req.status, 0);
		ck_assert_int_eq(memcmp(req.data, "data", 4), 0);
	}
	end_connection(conn);
	end_connection(g_steal_pointer(&server.nfs.trial));
}

START_TEST(connections_have_one)
{
	start((enum nfs_sec)_i);
	read_all(200);
	ck_assert_uint_eq(gss.contexts, 1);
	ck_assert_uint_eq(gss.calls, 201);
	ck_assert_uint_eq(gss.destroyed, 1);
}
END_TEST

/* Ten reads, of which the one that was spoilt is asked again, with a second probe. */
static void check_second_context(void)
{
	read_all(10);
	ck_assert_uint_eq(gss.contexts, 2);
	ck_assert_uint_eq(gss.calls, 13);
	ck_assert_uint_eq(gss.destroyed, 2);
}

START_TEST(what_it_forgot_is_asked_with_another)
{
	start((enum nfs_sec)_i);
	gss.forget = 5;
	check_second_context();
}
END_TEST

START_TEST(what_is_forged_is_asked_again)
{
	start((enum nfs_sec)_i);
	gss.forge = 5;
	check_second_context();
}
END_TEST

static void note(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer user)
{
	g_string_append_printf(user, "%s\n", message);
}

static bool is_said(void)
{
	bool said;

	pthread_mutex_lock(&server.complaint.lock);
	said = server.complaint.said;
	pthread_mutex_unlock(&server.complaint.lock);
	return said;
}

/* As long as there are no keys nothing fails; it is said once, and when they are back. */
START_TEST(keys_may_come_late)
{
	g_autoptr(GString) said = g_string_new(NULL);
	struct nfs_conn *conn;

	start(NFS_SEC_KRB5P);
	g_log_set_default_handler(note, said);
	chmod(config.keytab, 0644);
	conn = nfs_conn_new(&server, &server.nfs, true, false);
	while (!is_said())
		sched_yield();
	end_connection(conn);
	ck_assert_uint_eq(gss.contexts, 0);
	chmod(config.keytab, 0600);
	read_all(1);
	g_log_set_default_handler(g_log_default_handler, NULL);
	ck_assert_ptr_nonnull(strstr(said->str, "can be read or changed by others"));
	ck_assert_ptr_nonnull(strstr(said->str, "connected again"));
	ck_assert_uint_eq(gss.contexts, 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, NULL, end);
	tcase_add_loop_test(tcase, one_is_made, NFS_SEC_KRB5, NFS_SEC_KRB5P + 1);
	tcase_add_test(tcase, a_second_log_on_begins_anew);
	tcase_add_test(tcase, no_answer_but_the_right_one_is_taken);
	tcase_add_test(tcase, answers_are_signed_and_in_time);
	tcase_add_loop_test(tcase, one_is_ended, NFS_SEC_KRB5, NFS_SEC_KRB5P + 1);
	tcase_add_loop_test(tcase, connections_have_one, NFS_SEC_KRB5, NFS_SEC_KRB5P + 1);
	tcase_add_loop_test(tcase, what_it_forgot_is_asked_with_another, NFS_SEC_KRB5,
			    NFS_SEC_KRB5P + 1);
	tcase_add_loop_test(tcase, what_is_forged_is_asked_again, NFS_SEC_KRB5, NFS_SEC_KRB5P + 1);
	tcase_add_test(tcase, keys_may_come_late);
	return run_tcase(tcase);
}
