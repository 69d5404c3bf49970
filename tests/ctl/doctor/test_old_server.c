/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/schemes.h"
#include "tests/ctl/doctor/told.h"
#include "tests/retriever/core_tsan.h"

START_TEST(one_that_answers)
{
	begin_doctor("");
	look_at_old_server(&doctor, 30000);
	g_autofree char *text = findings_text(doctor.findings);
	/* on a busy machine it warns that this took long */
	g_autofree char *expected =
		g_strdup_printf("%-8s Old server    answers within\nok       Rights        the "
				"root can be listed there\n",
				g_str_has_prefix(text, "ok") ? "ok" : "warning");
	end_doctor(expected);
}
END_TEST

START_TEST(one_that_refuses)
{
	volume.source = (char *)"file:///nonexistent/tree";
	begin_doctor("");
	look_at_old_server(&doctor, 30000);
	end_doctor("fault    Old server    file:///nonexistent/tree\n");
}
END_TEST

/* It accepts, and says nothing: doctor does not wait for it. */
START_TEST(one_that_hangs)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, len), 0);
	ck_assert_int_eq(listen(fd, 5), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	g_autofree char *source =
		g_strdup_printf("nfs://127.0.0.1:%u/old?version=4.2", ntohs(at.sin_port));
	volume.source = source;
	volume.connections = volume.demand_connections = 1;
	begin_doctor("");
	look_at_old_server(&doctor, 300);
	end_doctor("fault    Old server    does not answer within\n");
	close(fd);
}
END_TEST

START_TEST(one_that_is_not_asked)
{
	begin_doctor("[now]\nsource-away-seconds=77\n");
	look_at_old_server(&doctor, 300);
	end_doctor("fault    Old server    has not answered for 77 s\n");
	volume.source = (char *)"smb://user@127.0.0.1:9/share";
	begin_doctor("");
	look_at_old_server(&doctor, 300);
	end_doctor("ok       Old server    answers the retriever\n");
	begin_doctor("");
	doctor.answer = -ENOTCONN;
	look_at_old_server(&doctor, 300);
	end_doctor("warning  Old server    was not asked: a wrong password would count there\n");
}
END_TEST

static int lets; /* of struct backend_ops's writable() */

static int tell_lets(struct backend *backend)
{
	return lets;
}

/* The linker wraps it: of an NFS server, which is none. */
struct backend *__real_scheme_open(const struct volume_config *config, struct source_object *root,
				   struct source_attr *attr, GError **error);
struct backend *__wrap_scheme_open(const struct volume_config *config, struct source_object *root,
				   struct source_attr *attr, GError **error);
struct backend *__wrap_scheme_open(const struct volume_config *config, struct source_object *root,
				   struct source_attr *attr, GError **error)
{
	static struct backend_ops ops;
	struct volume_config local = *config;
	const bool nowhere = g_str_has_prefix(config->source, "nfs://nowhere");

	if (nowhere)
		local.source = (char *)"file:///";
	struct backend *backend = __real_scheme_open(&local, root, attr, error);
	if (nowhere) {
		ops = *backend->ops;
		ops.writable = tell_lets;
		backend->ops = &ops;
	}
	return backend;
}

/* Who does not tell is not known to let. */
START_TEST(one_that_may_be_written_to)
{
	volume.source = (char *)"nfs://nowhere/old";
	for (lets = -1; lets <= 1; lets++)
		ck_assert_int_eq(old_server_is_writable(&volume, 30000), lets > 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("old_server");

	tcase_add_test(tcase, one_that_answers);
	tcase_add_test(tcase, one_that_refuses);
	tcase_add_test(tcase, one_that_hangs);
	tcase_add_test(tcase, one_that_is_not_asked);
	tcase_add_test(tcase, one_that_may_be_written_to);
	return run_tcase(tcase);
}
