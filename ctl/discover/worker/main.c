/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * migrate-discover: asks an old server one question with libnfs or libsmbclient, for migratectl.
 *
 * These libraries decode a whole reply before anybody can look at it, and libnfs 4.0 writes past
 * its heap if MOUNT's list is made for that.  So a server may take over this process with a reply;
 * then the process has no rights, can open nothing, and ends when migratectl has waited long
 * enough.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/source/say.h"
#include "ctl/discover/worker/answer.h"
#include "ctl/discover/worker/asker.h"
#include "lib/base/spawn.h"

#define PROGRAM	   "migrate-discover"
#define MEMORY_MAX (512u << 20) /* of a reply that announces more than there is */

static const struct {
	const char *name;
	unsigned min;
	void (*ask)(char **arguments, unsigned n);
} questions[] = {
	{"services", 1, ask_services}, {"versions", 2, ask_versions}, {"exports", 2, ask_exports},
	{"spaces", 4, ask_spaces},     {"quotas", 6, ask_quotas},     {"shares", 5, ask_shares},
	{"mounts", 2, ask_mounts},     {"handles", 4, ask_handles},
};

static void be_small(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they take terabytes */
	const struct rlimit memory = {MEMORY_MAX, MEMORY_MAX};

	if (setrlimit(RLIMIT_DATA, &memory))
		_exit(3);
#endif
	const struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_FSIZE, &none))
		_exit(3);
}

int main(int argc, char **argv)
{
	static char data[SAY_MAX];
	ssize_t n;

	if (argc == 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		puts(PROGRAM " " QUICKMIGRATE_VERSION);
		return 0;
	}
	n = argc == 1 ? recv(PROGRAM_FIRST_FD, data, sizeof(data), 0) : -1;
	if (n <= 0) {
		fprintf(stderr, PROGRAM ": is started by migratectl discover only\n");
		return 2;
	}
	g_auto(GStrv) question = hear(data, (size_t)n);
	explicit_bzero(data, (size_t)n); /* a password */
	be_small();
	for (unsigned i = 0; question && i < G_N_ELEMENTS(questions); i++) {
		if (strcmp(question[0], questions[i].name) ||
		    g_strv_length(question) < questions[i].min + 1)
			continue;
		questions[i].ask(question + 1, g_strv_length(question) - 1);
		answer("end");
		return 0;
	}
	return 5;
}
