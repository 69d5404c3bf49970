/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stands in for migrate-discover, which may be in the hands of the old server: what it does depends
 * on the question, or on the last number of the address. */
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/spawn.h"
#include "lib/source/say.h"

#define FD	  PROGRAM_FIRST_FD
#define TELL(...) say(FD, (const char *const[]){__VA_ARGS__, NULL})

static void end(void)
{
	TELL("end");
	pause(); /* whoever asked does not wait for it */
}

static void answer_services(char last)
{
	TELL("service", "100003", "3", "tcp", last == '6' ? "70000" : "2050");
	if (last != '5')
		TELL("service", "100005", "3", "tcp", "635");
	TELL("service", "100005", "3", "udp", "636");
}

static void answer_exports(char last)
{
	TELL("export", "/vol/a");
	TELL("group", "10.0.0.0/8");
	TELL("group", "@net");
	if (last == '2')
		raise(SIGKILL);
	TELL("export", "/vol/b");
}

static void answer_spaces(char **question, char last)
{
	TELL("at", "0");
	TELL("flavour", "1");
	TELL("flavour", "390003");
	TELL("space", "1000", "600", "500", "100", "40");
	if (last == '3')
		TELL("at", "2");
	TELL("at", "1");
	if (last == '4')
		raise(SIGKILL);
	TELL("refused",
	     strcmp(question[2], "635") || strcmp(question[3], "2050") ? "ports" : "MNT3ERR_ACCES");
}

static void answer_shares(char **question, char last)
{
	if (!strcmp(question[2], "NT1")) {
		TELL("failed", "no");
		return;
	}
	if (!strcmp(question[3], "user") &&
	    (strcmp(question[4], "DOM") || strcmp(question[5], "secret")))
		raise(SIGKILL);
	if (last == '6' && strcmp(question[2], "SMB2_02+"))
		raise(SIGKILL);
	for (unsigned i = 0; last == '5' && i < 9; i++) {
		g_autofree char *name = g_strnfill(SAY_ANSWER_MAX / 2, 'a');

		TELL("share", name, "disk", "");
	}
	if (!*question[3] && last == '7') {
		TELL("spoken", "denied");
		return;
	}
	for (unsigned i = 0; last == '8' && i < 9; i++) {
		const char name[] = {'a' + (char)i, i ? '\0' : '\n', '\0'};

		TELL("share", name, "disk", "");
	}
	TELL("share", "projects", "disk", "what we do");
	TELL("share", "IPC$", "ipc", "");
}

static void answer_mounts(char last)
{
	TELL("mount", "client.example", "/vol/a");
	if (last == '2')
		raise(SIGKILL);
	TELL("mount", "10.0.0.9", "/vol/a/below");
}

static void answer_handles(char **question, char last)
{
	static const char *const handles[] = {"00ff10", "", "0", "zz", "00"};

	for (unsigned i = 0; question[4 + i]; i++) {
		char at[12], hex[160];

		g_snprintf(at, sizeof(at), "%u", i);
		g_snprintf(hex, sizeof(hex), "%s",
			   handles[last >= '3' && last <= '5' ? last - '2' : 0]);
		if (last == '6')
			g_snprintf(hex, sizeof(hex), "%0130d", 0); /* 65 bytes */
		TELL("at", last == '7' ? "64" : at);
		if (last == '8' && i == 1)
			return; /* less than was asked for */
		if (strstr(question[4 + i], "refused"))
			TELL("refused", "MNT3ERR_ACCES\x1b");
		else
			TELL("handle", hex, "18446744073709551615", "7");
	}
}

static void answer_inquiry(char **question)
{
	const char last = question[1][strlen(question[1]) - 1];

	if (last == '9')
		TELL("failed", "nobody\nthere");
	else if (!strcmp(question[0], "services"))
		answer_services(last);
	else if (!strcmp(question[0], "versions"))
		TELL("version", "3");
	else if (!strcmp(question[0], "exports"))
		answer_exports(last);
	else if (!strcmp(question[0], "mounts"))
		answer_mounts(last);
	else if (!strcmp(question[0], "handles"))
		answer_handles(question, last);
	else if (!strcmp(question[0], "spaces"))
		answer_spaces(question, last);
	else
		answer_shares(question, last);
	end();
}

int main(void)
{
	static char data[SAY_MAX];
	const ssize_t n = recv(FD, data, sizeof(data), 0);
	g_auto(GStrv) question = n > 0 ? hear(data, (size_t)n) : NULL;

	if (!question)
		return 5;
	if (!strcmp(question[0], "echo")) {
		say(FD, (const char *const *)question);
		say(FD, (const char *const *)question);
		end();
	} else if (!strcmp(question[0], "garbage")) {
		send(FD, "\0\xff garbage", 10, 0);
		end();
	} else if (!strcmp(question[0], "crash")) {
		TELL("one");
		raise(SIGKILL);
	} else if (!strcmp(question[0], "quit")) {
		return 7;
	} else if (!strcmp(question[0], "silent")) {
		close(FD);
		pause();
	} else if (!strcmp(question[0], "long")) {
		memset(data, 'x', SAY_ANSWER_MAX);
		data[SAY_ANSWER_MAX] = '\0';
		TELL("one", data);
		end();
	} else if (!strcmp(question[0], "endless")) {
		while (TELL("one"))
			;
	} else if (!strcmp(question[0], "stall")) {
		TELL("one");
		pause();
	} else if (!strcmp(question[0], "failed")) {
		TELL("failed", "port 1:\n\x1b[2Jno");
		pause();
	} else {
		answer_inquiry(question);
	}
	return 0;
}
