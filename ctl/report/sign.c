/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/sign.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX 65536

#define SIGN_ERROR (g_quark_from_static_string("quickmigrate-sign"))

/* Reads all that was written to fd, and closes it. */
static char *output(int fd)
{
	char *text = g_malloc0(OUTPUT_MAX + 1);
	ssize_t n = pread(fd, text, OUTPUT_MAX, 0);

	text[MAX(n, 0)] = '\0';
	close(fd);
	return text;
}

static gboolean wait_for(GPid pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return FALSE;
	return status == 0;
}

/* Runs ssh-keygen over the file in: what it prints.  NULL with error set: it said no, and why. */
static char *run(const char *const *argv, int in, GError **error)
{
	int out = memfd_create("output", MFD_CLOEXEC), err = memfd_create("errors", MFD_CLOEXEC);
	g_autofree char *printed = NULL, *complained = NULL;
	gboolean ok;
	GPid pid;

	lseek(in, 0, SEEK_SET);
	ok = g_spawn_async_with_fds(NULL, (char **)argv, NULL,
				    G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
				    &pid, in, out, err, error);
	if (!ok)
		g_prefix_error(error, "install openssh-client: ");
	else
		ok = wait_for(pid);
	printed = output(out);
	complained = output(err);
	if (ok)
		return g_steal_pointer(&printed);
	g_strdelimit(g_strstrip(complained), "\r\n", ' ');
	if (error && !*error)
		g_set_error(error, SIGN_ERROR, 0, "ssh-keygen: %s",
			    *complained ? complained : g_strstrip(printed));
	return NULL;
}

char *sign_make(int fd, const char *key, GError **error)
{
	const char *const argv[] = {"ssh-keygen", "-Y", "sign",		"-f",
				    key,	  "-n", SIGN_NAMESPACE, NULL};

	return run(argv, fd, error);
}

static char *first_line(const char *text)
{
	return g_strstrip(g_strndup(text, strcspn(text, "\n")));
}

static gboolean check_known(int fd, const char *signature, const char *signers, char **who,
			    GError **error)
{
	const char *const find[] = {"ssh-keygen", "-Y", "find-principals", "-s",
				    signature,	  "-f", signers,	   NULL};
	g_autofree char *found = run(find, fd, error), *name = NULL, *printed = NULL;

	if (!found)
		return FALSE;
	name = first_line(found);
	const char *const verify[] = {"ssh-keygen", "-Y", "verify",	  "-f", signers,   "-I",
				      name,	    "-n", SIGN_NAMESPACE, "-s", signature, NULL};
	printed = run(verify, fd, error);
	if (!printed)
		return FALSE;
	*who = g_steal_pointer(&name);
	return TRUE;
}

gboolean sign_check(int fd, const char *signature, const char *signers, char **who, GError **error)
{
	const char *const any[] = {"ssh-keygen",   "-Y", "check-novalidate", "-n",
				   SIGN_NAMESPACE, "-s", signature,	     NULL};
	g_autofree char *printed = NULL;
	const char *key;

	if (signers)
		return check_known(fd, signature, signers, who, error);
	printed = run(any, fd, error);
	if (!printed)
		return FALSE;
	key = strstr(printed, "with ");
	*who = first_line(key ? key + strlen("with ") : printed);
	return TRUE;
}
