/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/retriever_process.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/journal/place.h"

static char *path;

static void set_up(void)
{
	place_make();
	path = g_build_filename(place, "sock", NULL);
}

static void tear_down(void)
{
	g_free(path);
	place_remove();
}

/* A child that listens. */
static pid_t listen_there(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int pipes[2];
	char byte;
	pid_t child;

	ck_assert_int_eq(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		unlink(path);
		g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
		if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 5) ||
		    write(pipes[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(pipes[0], &byte, 1), 1);
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

START_TEST(nobody_listens)
{
	struct retriever_process *own = retriever_process_new(path);

	retriever_process_look(own);
	ck_assert(!retriever_process_is(own, getpid()));
	ck_assert(!retriever_process_is(own, 0));
	retriever_process_free(own);
}
END_TEST

START_TEST(who_listens)
{
	struct retriever_process *own = retriever_process_new(path);
	pid_t first = listen_there(), second;

	retriever_process_look(own);
	ck_assert(retriever_process_is(own, first));
	ck_assert(!retriever_process_is(own, getpid()));
	end(first);
	retriever_process_look(own);
	ck_assert(retriever_process_is(own, first)); /* of before */
	second = listen_there();
	retriever_process_look(own);
	ck_assert(retriever_process_is(own, second));
	retriever_process_read_all(own);
	ck_assert(!retriever_process_is(own, first));
	ck_assert(retriever_process_is(own, second));
	end(second);
	retriever_process_look(own);
	retriever_process_read_all(own);
	ck_assert(!retriever_process_is(own, second));
	retriever_process_free(own);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("retriever_process");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, nobody_listens);
	tcase_add_test(tcase, who_listens);
	return run_tcase(tcase);
}
