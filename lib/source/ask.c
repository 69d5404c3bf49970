/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/ask.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/spawn.h"
#include "lib/base/text.h"
#include "lib/source/say.h"

#define ANSWERS_MAX 65536

struct talk {
	int sock;
	pid_t pid;
	unsigned wait; /* s */
	gint64 end;    /* us, of it all */
	gboolean stalled;
};

/* Whether fd is ready within the time that one answer may take. */
static gboolean in_time(const struct talk *talk, int fd)
{
	const gint64 left = talk->end - g_get_monotonic_time();
	const gint64 ms = MIN((gint64)talk->wait * 1000, left / 1000);
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	int ret;

	do
		ret = poll(&ready, 1, ms < 0 ? 0 : (int)ms);
	while (ret < 0 && errno == EINTR);
	return ret != 0;
}

/* The next answer, or NULL with *why set. */
static char **next_answer(struct talk *talk, char **why)
{
	uint8_t data[SAY_ANSWER_MAX];
	char **fields;
	ssize_t n;

	if (!in_time(talk, talk->sock)) {
		talk->stalled = TRUE;
		*why = g_strdup_printf("does not answer within %u s; is it up, and does a firewall "
				       "let this machine through?",
				       talk->wait);
		return NULL;
	}
	n = recv(talk->sock, data, sizeof(data), MSG_TRUNC);
	if (n <= 0)
		return NULL;
	fields = n <= (ssize_t)sizeof(data) ? hear(data, (size_t)n) : NULL;
	if (!fields)
		*why = g_strdup("its reply broke the process that read it, which then said "
				"nonsense: do not trust this server");
	return fields;
}

/* Of the process, which has closed the socket; it is killed if it does not end by itself. */
static char *how_it_ended(const struct talk *talk)
{
	const int pidfd = (int)syscall(SYS_pidfd_open, talk->pid, 0);
	int status;

	if (pidfd >= 0) {
		in_time(talk, pidfd);
		close(pidfd);
	}
	status = program_end(talk->pid);
	if (WIFSIGNALED(status))
		return g_strdup_printf("its reply broke the process that read it (signal %d): do "
				       "not trust this server",
				       WTERMSIG(status));
	return g_strdup_printf("the process that asks it ended (status %d)", WEXITSTATUS(status));
}

/* Takes one packet.  Whether more are to come; if not, *why is set unless all was said. */
static gboolean take_server(char **fields, ask_fn each, void *arg, gboolean *lasting, char **why)
{
	if (!strcmp(fields[0], "end"))
		return FALSE;
	if (!strcmp(fields[0], "failed")) {
		const char *text = fields[1] ? fields[1] : "";

		*lasting = TRUE;
		*why = text_name(text, strlen(text));
		return FALSE;
	}
	if (each(arg, fields))
		return TRUE;
	*why = g_strdup("its reply makes no sense: do not trust this server");
	return FALSE;
}

static char *listen_to(struct talk *talk, ask_fn each, void *arg, gboolean *lasting)
{
	char *why = NULL;

	for (unsigned n = 0; n < ANSWERS_MAX; n++) {
		g_auto(GStrv) fields = next_answer(talk, &why);

		if (!fields && why) {
			program_end(talk->pid);
			*lasting = talk->stalled;
			return why;
		}
		if (!fields)
			return how_it_ended(talk);
		if (!take_server(fields, each, arg, lasting, &why)) {
			program_end(talk->pid);
			return why;
		}
	}
	program_end(talk->pid);
	return g_strdup("its reply is too long: do not trust this server");
}

char *ask(const char *program, const char *const *question, unsigned wait, ask_fn each, void *arg,
	  gboolean *lasting)
{
	struct talk talk = {.wait = wait};
	gboolean ignored;
	int socks[2], ret;
	char *why;

	lasting = lasting ? lasting : &ignored;
	*lasting = FALSE;
	talk.end = g_get_monotonic_time() + (gint64)wait * 10 * G_USEC_PER_SEC;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return g_strdup_printf("cannot be asked: %s", g_strerror(errno));
	talk.sock = socks[0];
	ret = program_start(&talk.pid, program, &socks[1], 1);
	close(socks[1]);
	if (ret) {
		*lasting = TRUE;
		why = g_strdup_printf("cannot be asked: %s: %s; is the package whole?", program,
				      g_strerror(-ret));
	} else if (!say(talk.sock, question)) {
		program_end(talk.pid);
		why = g_strdup("cannot be asked: the process for it does not listen");
	} else {
		why = listen_to(&talk, each, arg, lasting);
	}
	close(talk.sock);
	return why;
}

char *ask_address(const char *host, GError **error)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *list;
	char text[NI_MAXHOST];
	int ret = getaddrinfo(host, NULL, &hints, &list);

	if (!ret) {
		ret = getnameinfo(list->ai_addr, list->ai_addrlen, text, sizeof(text), NULL, 0,
				  NI_NUMERICHOST);
		freeaddrinfo(list);
	}
	if (!ret)
		return g_strdup(text);
	error_set(error, ENOENT, "%s: %s; give a name that is known here, or an address", host,
		  gai_strerror(ret));
	return NULL;
}
