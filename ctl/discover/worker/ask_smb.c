/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <libsmbclient.h>
#include <dlfcn.h>
#include <errno.h>
#include <iconv.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctl/discover/worker/answer.h"
#include "ctl/discover/worker/asker.h"
#include "lib/base/sandbox.h"
#include "lib/base/spawn.h"

#define TIMEOUT_MS 600000 /* migratectl ends it before */
#define CONNECT_MS 15000

enum { ADDRESS, DIALECT, USER, DOMAIN, PASSWORD };

static bool awaited, connected;

static int finish_connect(int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int err = 0, n;

	do {
		n = poll(&ready, 1, CONNECT_MS);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		err = ETIMEDOUT;
	else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	errno = err;
	return err ? -1 : 0;
}

/* Takes the place of the C library's function: libsmbclient connects and reads in one call.
 * Between the two this process is jailed, and then makes no other connection. */
__attribute__((visibility("default"))) int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t len)
{
	const sa_family_t family = to.__sockaddr__->sa_family;
	int ret = (int)syscall(SYS_connect, fd, to.__sockaddr__, len);

	if (!awaited || (family != AF_INET && family != AF_INET6))
		return ret;
	if (ret < 0 && errno == EINPROGRESS)
		ret = finish_connect(fd);
	if (ret == 0) {
		awaited = false;
		connected = true;
		sandbox_keep((const int[]){PROGRAM_FIRST_FD, fd}, 2);
		sandbox_close(false);
	}
	return ret;
}

/* The Kerberos library that Samba brings is started at a log-on, whether it is used or not, and
 * waits for ever there where it can open nothing that is random. */
static void load_kerberos(void)
{
	int (*init)(void **context);
	void *context;

	*(void **)&init = dlsym(RTLD_DEFAULT, "krb5_init_context");
	if (init)
		init(&context);
}

/* Names of servers that know no Unicode; it stays loaded. */
static void load_charset(void)
{
	iconv_open("UTF-16LE", "CP850");
	iconv_open("CP850", "UTF-16LE");
}

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
	const char *dialect = arguments[DIALECT];
	g_autofree char *least = g_strdup(*dialect ? dialect : "NT1+");
	char *plus = strchr(least, '+');

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
	if (plus)
		*plus = '\0';
	if (!smbc_setOptionProtocols(context, least, plus ? "SMB3_11" : least))
		answer_failed("libsmbclient does not speak %s", dialect);
	return context;
}

void ask_shares(char **arguments, unsigned n)
{
	g_autofree char *host = strchr(arguments[ADDRESS], ':')
					? g_strdup_printf("smb://[%s]/", arguments[ADDRESS])
					: g_strdup_printf("smb://%s/", arguments[ADDRESS]);
	static const uint16_t ports[] = {445, 139};
	struct smbc_dirent *entry;
	SMBCCTX *context;
	SMBCFILE *list = NULL;

	sandbox_drop(PROGRAM_FIRST_FD + 1);
	g_setenv("HOME", "/nonexistent", TRUE);
	context = make_context(arguments);
	sandbox_close(true);
	load_kerberos();
	load_charset();
	awaited = true;
	for (unsigned i = 0; i < G_N_ELEMENTS(ports) && !connected; i++) {
		smbc_setPort(context, ports[i]);
		list = smbc_getFunctionOpendir(context)(context, host);
	}
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
