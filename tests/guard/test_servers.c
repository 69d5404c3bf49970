/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/servers.h"

#include <pthread.h>
#include <signal.h>

#include "common/migrate.h"
#include "guard/process.h"
#include "tests/guard/guard_place.h"

static char *sock;

static void set_up(void)
{
	guard_place_make();
	sock = g_build_filename(place, "v.sock", NULL);
}

static void tear_down(void)
{
	g_free(sock);
	guard_place_remove();
}

/* A child that does what it is told by a byte each, and answers: r: registers; f: frees; t: has a
 * thread, which says its number and ends when it is told. */
struct child {
	pid_t pid;
	int process, to, from;
};

static int ends[2]; /* of a child's thread */

static void *thread(void *arg)
{
	const pid_t number = gettid();
	char byte;

	if (write(ends[1], &number, sizeof(number)) != sizeof(number) ||
	    read(ends[0], &byte, 1) != 1)
		_exit(1);
	return NULL;
}

static void have_thread(int from, int to)
{
	pthread_t other;

	ends[0] = from;
	ends[1] = to;
	if (pthread_create(&other, NULL, thread, NULL) || pthread_join(other, NULL))
		_exit(1);
}

_Noreturn static void obey(int from, int to)
{
	struct migrate_volume *volume = NULL;
	char byte;

	while (read(from, &byte, 1) == 1) {
		if (byte == 'r' &&
		    (migrate_volume_new("v", sock, MIGRATE_ROLE_PLAIN_DOOR, &volume) ||
		     migrate_volume_register(volume)))
			_exit(1);
		if (byte == 'f')
			migrate_volume_free(volume);
		if (byte == 't')
			have_thread(from, to);
		if (write(to, "", 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static struct child start(void)
{
	int to[2], from[2];
	struct child child;

	ck_assert_int_eq(pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
	child.pid = fork();
	if (child.pid == 0) {
		close(to[1]);
		close(from[0]);
		obey(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	child.to = to[1];
	child.from = from[0];
	child.process = process_open(child.pid);
	ck_assert_int_ge(child.process, 0);
	return child;
}

static void tell(const struct child *child, char byte)
{
	ck_assert_int_eq(write(child->to, &byte, 1), 1);
	ck_assert_int_eq(read(child->from, &byte, 1), 1);
}

static void end(const struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	close(child->to);
	close(child->from);
	close(child->process);
}

static void count_line(const char *domain, GLogLevelFlags level, const char *text, void *lines)
{
	(void)domain, (void)level, (void)text;
	++*(unsigned *)lines;
}

/* Who is past the layer is named once, until it has ended or has one. */
START_TEST(past)
{
	struct servers *servers = servers_new(sock);
	const struct child a = start(), b = start();
	g_autofree char *one = g_strdup_printf("test_servers (%d)", (int)a.pid);
	unsigned lines = 0;
	char *text;

	g_log_set_default_handler(count_line, &lines);
	ck_assert(!servers_has(servers, a.process));
	ck_assert_ptr_null(servers_past_text(servers));
	servers_add_past(servers, a.process);
	servers_add_past(servers, a.process);
	ck_assert_uint_eq(lines, 1);
	text = servers_past_text(servers);
	ck_assert_str_eq(text, one);
	g_free(text);
	servers_add_past(servers, b.process);
	tell(&a, 'r');
	ck_assert(servers_has(servers, a.process));
	ck_assert(!servers_has(servers, b.process));
	ck_assert(!servers_turn(servers));
	text = servers_past_text(servers);
	ck_assert(text && !strstr(text, one));
	g_free(text);
	end(&b);
	ck_assert(!servers_turn(servers));
	ck_assert_ptr_null(servers_past_text(servers));
	end(&a);
	servers_free(servers);
}
END_TEST

/* A mount that is not asked about, of one that goes on without the layer; but not of one that
 * ended. */
START_TEST(left)
{
	struct servers *servers = servers_new(sock);
	const struct child a = start(), b = start();

	tell(&a, 'r');
	tell(&b, 'r');
	servers_add_marked(servers, a.process);
	servers_add_marked(servers, b.process);
	ck_assert(!servers_turn(servers));
	tell(&a, 'f');
	ck_assert(servers_turn(servers));
	ck_assert(!servers_turn(servers));
	end(&b);
	ck_assert(!servers_turn(servers));
	end(&a);
	servers_free(servers);
}
END_TEST

/* The thread that asked has ended, and its process goes on without the layer. */
START_TEST(left_by_a_thread)
{
	struct servers *servers = servers_new(sock);
	const struct child a = start();
	pid_t number;
	int process;

	tell(&a, 'r');
	ck_assert_int_eq(write(a.to, "t", 1), 1);
	ck_assert_int_eq(read(a.from, &number, sizeof(number)), sizeof(number));
	process = process_open(number);
	servers_add_marked(servers, process);
	close(process);
	tell(&a, 'e');
	ck_assert(!servers_turn(servers));
	tell(&a, 'f');
	ck_assert(servers_turn(servers));
	end(&a);
	servers_free(servers);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("servers");
	TCase *tcase = tcase_create("servers");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, past);
	tcase_add_test(tcase, left);
	tcase_add_test(tcase, left_by_a_thread);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
