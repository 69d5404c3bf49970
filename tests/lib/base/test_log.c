/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said, where the journal is a socket of the test's own in a mount namespace of its own. */
#include "tests/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/log.h"

#define JOURNAL "/run/systemd/journal"

static int bound(const char *path, int type)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	ck_assert_int_eq(bind(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return sock;
}

/* Where entries arrive; standard error is one of its streams from now on.  The stream's other end
 * is *stream. */
static int be_the_journal(int *stream)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX, .sun_path = JOURNAL "/stdout"};
	int entries, listening, sock = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("tmpfs", "/run", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(mkdir("/run/systemd", 0755), 0);
	ck_assert_int_eq(mkdir(JOURNAL, 0755), 0);
	entries = bound(JOURNAL "/socket", SOCK_DGRAM | SOCK_NONBLOCK);
	listening = bound(JOURNAL "/stdout", SOCK_STREAM);
	ck_assert_int_eq(listen(listening, 1), 0);
	ck_assert_int_eq(connect(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	*stream = accept4(listening, NULL, NULL, SOCK_NONBLOCK);
	ck_assert_int_eq(dup2(sock, STDERR_FILENO), STDERR_FILENO);
	close(sock);
	close(listening);
	return entries;
}

/* The next entry, as lines in the order in which they came.  No value here has a line's end, for
 * which the protocol would have another form. */
static char *next_entry(int entries)
{
	char buf[8192];
	ssize_t len = recv(entries, buf, sizeof(buf) - 1, 0);

	ck_assert_int_gt(len, 0);
	buf[len] = '\0';
	ck_assert_uint_eq(strlen(buf), len);
	return g_strdup(buf);
}

static void expect(int entries, const char *wanted)
{
	g_autofree char *entry = next_entry(entries);

	ck_assert_str_eq(entry, wanted);
}

#define REST(priority) "PRIORITY=" priority "\nSYSLOG_IDENTIFIER=migrate-x\nQUICKMIGRATE_VOLUME=v\n"

START_TEST(entries_and_lines)
{
	char line[100];
	int stream, entries = be_the_journal(&stream);
	ssize_t len;

	log_begin("migrate-x", "v");
	g_warning("%s", "one\ntwo \xff");
	expect(entries, "MESSAGE=one\\012two \\377\n" REST("4"));
	g_message("said");
	expect(entries, "MESSAGE=said\n" REST("5"));
	log_failure("the end");
	expect(entries, "MESSAGE=the end\n" REST("3"));
	log_event(EVENT_OBJECT_FAILED, G_LOG_LEVEL_WARNING, "/v/\xe4\nMESSAGE=lie", "refused\r",
		  QM_READ_FORBIDDEN, -EACCES, "%s", "failed");
	expect(entries,
	       "MESSAGE=failed\nMESSAGE_ID=7ff32713cfcd4764a490c8570c6f8a21\n"
	       "QUICKMIGRATE_PATH=/v/\\344\\012MESSAGE=lie\n"
	       "QUICKMIGRATE_REASON=refused\\015\nQUICKMIGRATE_CODE=QM1201\nERRNO=13\n" REST("4"));
	log_event(EVENT_WHOLE, G_LOG_LEVEL_MESSAGE, NULL, NULL, QM_NONE, 0, "whole");
	expect(entries, "MESSAGE=whole\nMESSAGE_ID=edbf95dd52044b4783b2358e484bdaeb\n" REST("5"));
	ck_assert_int_eq(recv(stream, line, sizeof(line), 0), -1);

	/* It is gone: what is said is not lost, and nobody waits for it. */
	close(entries);
	log_event(EVENT_WHOLE, G_LOG_LEVEL_MESSAGE, "/v", NULL, QM_NONE, 0, "whole\n");
	len = recv(stream, line, sizeof(line), 0);
	ck_assert_int_gt(len, 0);
	line[len] = '\0';
	ck_assert_str_eq(line, "migrate-x: whole\\012\n");
}
END_TEST

START_TEST(a_terminal_or_a_file)
{
	char line[100];
	int ends[2];
	ssize_t len;

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	log_begin("migrate-x", "v");
	log_event(EVENT_OBJECT_FAILED, G_LOG_LEVEL_WARNING, "/v/f", "refused", QM_READ_FORBIDDEN,
		  -EACCES, "failed");
	g_warning("%s", "two\nlines");
	len = read(ends[0], line, sizeof(line) - 1);
	ck_assert_int_gt(len, 0);
	line[len] = '\0';
	ck_assert_str_eq(line, "migrate-x: failed\nmigrate-x: two\\012lines\n");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("messages");

	tcase_add_test(tcase, entries_and_lines);
	tcase_add_test(tcase, a_terminal_or_a_file);
	return run_tcase(tcase);
}
