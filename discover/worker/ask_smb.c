/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <libsmbclient.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "asker.h"
#include "source/program.h"
#include "source/sandbox.h"

#define TIMEOUT_MS 600000 /* migratectl ends it before */

enum { ADDRESS, DIALECT, USER, DOMAIN, PASSWORD };

static void give_password(SMBCCTX *context, const char *server, const char *share, char *domain,
			  int domain_len, char *user, int user_len, char *password,
			  int password_len)
{
	char **arguments = smbc_getOptionUserData(context);

	g_strlcpy(domain, arguments[DOMAIN], (gsize)domain_len);
	g_strlcpy(user, arguments[USER], (gsize)user_len);
	g_strlcpy(password, arguments[PASSWORD], (gsize)password_len);
}

static const char *type_of(unsigned type)
{
	return type == SMBC_FILE_SHARE	    ? "disk"
	       : type == SMBC_PRINTER_SHARE ? "printer"
	       : type == SMBC_IPC_SHARE	    ? "ipc"
					    : "other";
}

static SMBCCTX *make_context(char **arguments)
{
	SMBCCTX *context = smbc_new_context();
	char *dialect = arguments[DIALECT];

	if (!context)
		_exit(4);
	smbc_setDebug(context, 0);
	smbc_setTimeout(context, TIMEOUT_MS);
	smbc_setOptionUserData(context, arguments);
	smbc_setFunctionAuthDataWithContext(context, give_password);
	smbc_setOptionUseKerberos(context, 0);
	/* a wrong password is to be heard of */
	smbc_setOptionNoAutoAnonymousLogin(context, *arguments[USER] != '\0');
	if (!smbc_init_context(context))
		answer_failed("libsmbclient: %s", g_strerror(errno));
	if (!smbc_setOptionProtocols(context, *dialect ? dialect : "NT1",
				     *dialect ? dialect : "SMB3_11"))
		answer_failed("libsmbclient does not speak %s", dialect);
	return context;
}

void ask_shares(char **arguments, unsigned n)
{
	g_autofree char *host = strchr(arguments[ADDRESS], ':')
					? g_strdup_printf("smb://[%s]/", arguments[ADDRESS])
					: g_strdup_printf("smb://%s/", arguments[ADDRESS]);
	struct smbc_dirent *entry;
	SMBCCTX *context;
	SMBCFILE *list;

	/* The library connects by itself, and loads what it needs for that when it does. */
	sandbox_drop(PROGRAM_FIRST_FD + 1);
	g_setenv("HOME", "/nonexistent", TRUE);
	context = make_context(arguments);
	sandbox_close(true);
	list = smbc_getFunctionOpendir(context)(context, host);
	if (!list && (errno == EACCES || errno == EPERM)) {
		answer("spoken", g_strerror(errno));
		return;
	}
	if (!list)
		answer_failed("%s", g_strerror(errno));
	while ((entry = smbc_getFunctionReaddir(context)(context, list)))
		answer("share", entry->name, type_of(entry->smbc_type),
		       entry->comment ? entry->comment : "");
}
