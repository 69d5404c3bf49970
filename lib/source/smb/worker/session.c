/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/worker/session.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "lib/config/source_config.h"
#include "lib/source/smb/smb_text.h"
#include "lib/source/smb/worker/info.h"
#include "lib/source/smb/worker/job.h"
#include "lib/source/smb/worker/kerberos.h"

#define CONNECT_MS    15000
#define STEP_MS	      20000
#define CREDITS	      8192
#define UNIX_EPOCH_US INT64_C(11644473600000000) /* from 1601 on */
#define ROOT_OPTIONS  (OPTION_DIRECTORY)

/* Loads modules that would otherwise be loaded in the middle of the log-on. */
NTSTATUS gensec_init(void);

/* ---- the TCP connection ---- */

static int connect_one(const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int err = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0)
		return fd;
	if (errno != EINPROGRESS)
		err = errno;
	else if (poll(&wait, 1, CONNECT_MS) != 1)
		err = ETIMEDOUT;
	else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (!err)
		return fd;
	close(fd);
	return -err;
}

static int connect_to(struct worker *worker, const struct wire_start *start)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	char port[8];
	int fd = -EHOSTUNREACH, ret;

	snprintf(port, sizeof(port), "%u", start->port);
	ret = getaddrinfo(start->host, port, &hints, &list);
	if (ret)
		worker_fail(worker, WIRE_F_RESOLVE, (uint32_t)ret);
	for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = connect_one(ai);
	freeaddrinfo(list);
	if (fd < 0)
		worker_fail(worker, WIRE_F_CONNECT, (uint32_t)-fd);
	return fd;
}

/* ---- SMB ---- */

/* Makes a file that no other process has a name for; *name: its path, by the open descriptor. */
static bool private_file(char name[64], const void *data, size_t len)
{
	int fd = memfd_create("private", 0);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		return false;
	snprintf(name, 64, "/proc/self/fd/%d", fd);
	return true;
}

/* The tables of a character set, which are loaded when they are first used. */
static void load_charset(struct worker *worker)
{
	char *text;
	size_t len;

	if (convert_string_talloc(worker, CH_UNIX, CH_DOS, "a", 1, &text, &len))
		talloc_free(text);
}

/* Reads no file of this host: the settings come from the retriever. */
static void load_settings(struct worker *worker)
{
	static const char text[] = "[global]\n"
				   "log level = 0\n"
				   "client min protocol = SMB2_02\n"
				   "client max protocol = SMB3_11\n";
	char name[64];

	smb_init_locale();
	setup_logging("migrate-smb-worker", DEBUG_STDERR);
	if (!private_file(name, text, sizeof(text) - 1) || !lp_load_global(name))
		worker_fail(worker, WIRE_F_INTERNAL, NT_STATUS_V(NT_STATUS_NO_MEMORY));
	load_charset(worker);
}

/* If the connection ended meanwhile, the failure says nothing about what was asked. */
_Noreturn static void give_up(struct worker *worker, enum wire_failure failure, NTSTATUS status)
{
	if (!smbXcli_conn_is_connected(worker->conn) ||
	    NT_STATUS_EQUAL(status, NT_STATUS_IO_TIMEOUT))
		failure = WIRE_F_LOST;
	worker_fail(worker, failure, NT_STATUS_V(status));
}

static void log_on(struct worker *worker, const struct wire_start *start)
{
	NTSTATUS status = cli_session_setup_creds(worker->cli, worker->creds);

	if (!NT_STATUS_IS_OK(status))
		give_up(worker, start->ccache ? WIRE_F_KERBEROS : WIRE_F_LOGON, status);
	worker->session = worker->cli->smb2.session;
	if (smbXcli_session_is_guest(worker->session))
		worker_fail(worker, WIRE_F_GUEST, 0);
	if (start->encryption == SMB_OFF)
		return;
	status = smb2cli_session_encryption_on(worker->session);
	if (!NT_STATUS_IS_OK(status) && start->encryption == SMB_REQUIRED)
		worker_fail(worker, WIRE_F_ENCRYPTION, NT_STATUS_V(status));
}

static struct cli_credentials *password_credentials(struct worker *worker,
						    const struct wire_start *start)
{
	return cli_session_creds_init(worker, start->user, *start->domain ? start->domain : NULL,
				      NULL, start->password, false, false, false, false);
}

static void mount_share(struct worker *worker, const struct wire_start *start)
{
	NTSTATUS status;

	log_on(worker, start);
	status = cli_tree_connect_creds(worker->cli, start->share, "A:", worker->creds);
	if (!NT_STATUS_IS_OK(status))
		give_up(worker, WIRE_F_SHARE, status);
	worker->tcon = worker->cli->smb2.tcon;
}

static void set_base(struct worker *worker, const char *path)
{
	size_t n = strlen(path);
	long len;

	worker->base = talloc_array(worker, uint8_t, 2 * n + 2);
	len = smb_text_to_utf16(path, n, worker->base);
	if (len < 0)
		worker_fail(worker, WIRE_F_PATH, NT_STATUS_V(NT_STATUS_OBJECT_NAME_INVALID));
	for (long i = 0; i < len; i += 2)
		if (worker->base[i] == '/' && !worker->base[i + 1])
			worker->base[i] = '\\';
	if (len) {
		worker->base[len++] = '\\';
		worker->base[len++] = 0;
	}
	worker->base_len = (size_t)len;
}

/* ---- the root ---- */

struct looking {
	struct worker *worker;
	struct wire_attr *root;
	bool done;
};

static void root_seen(struct chain *chain)
{
	struct looking *looking = chain->user;
	struct worker *worker = chain->worker;
	NTSTATUS status = chain->steps[0].status;

	if (NT_STATUS_EQUAL(status, NT_STATUS_NOT_A_DIRECTORY))
		worker_fail(worker, WIRE_F_NOT_A_DIRECTORY, NT_STATUS_V(status));
	if (!NT_STATUS_IS_OK(status))
		worker_fail(worker, WIRE_F_PATH, NT_STATUS_V(status));
	if (!info_get_all(chain, 1, "", looking->root))
		worker_fail(worker, WIRE_F_PATH, NT_STATUS_V(NT_STATUS_INVALID_NETWORK_RESPONSE));
	worker->has_volume = chain->has_volume;
	worker->volume = chain->volume;
	looking->done = true;
}

static void look_at_root(struct worker *worker, struct wire_attr *root)
{
	struct looking looking = {worker, root, false};
	struct chain *chain = chain_new(worker, worker, root_seen, &looking);
	struct timeval end = timeval_current_ofs_msec(STEP_MS);

	if (chain_create(chain, "", NULL, 0, ACCESS_ATTRIBUTES, ROOT_OPTIONS) < 0)
		worker_fail(worker, WIRE_F_PATH, NT_STATUS_V(NT_STATUS_OBJECT_NAME_INVALID));
	chain_ask_volume(chain);
	chain_query(chain, INFO_FILE, CLASS_ALL, 0, ALL_INFO_MAX);
	chain_close(chain);
	chain_submit(chain);
	while (!looking.done) {
		if (tevent_loop_once(worker->ev) != 0 || timeval_expired(&end))
			worker_fail(worker, WIRE_F_LOST, NT_STATUS_V(NT_STATUS_IO_TIMEOUT));
	}
	talloc_free(chain);
}

/* [MS-SMB2] 2.2.4, SystemTime: 100 ns since 1601. */
static int64_t clock_ahead(struct worker *worker)
{
	const int64_t there =
		(int64_t)(smbXcli_conn_server_system_time(worker->conn) / 10) - UNIX_EPOCH_US;
	struct timeval now = timeval_current();

	return there - ((int64_t)now.tv_sec * 1000000 + now.tv_usec);
}

int session_connect(struct worker *worker, const struct wire_start *start)
{
	int fd = connect_to(worker, start);
	bool required = start->signing == SMB_REQUIRED || start->encryption != SMB_OFF;

	load_settings(worker);
	worker->cli = compat_connected(worker, fd, start->host,
				       required ? SMB_SIGNING_REQUIRED : SMB_SIGNING_IF_REQUIRED);
	if (!worker->cli)
		worker_fail(worker, WIRE_F_INTERNAL, NT_STATUS_V(NT_STATUS_NO_MEMORY));
	worker->conn = worker->cli->conn;
	cli_set_timeout(worker->cli, STEP_MS);
	kerberos_begin(worker);
	gensec_init();
	worker->creds = start->ccache ? kerberos_credentials(worker, start)
				      : password_credentials(worker, start);
	if (!worker->creds)
		worker_fail(worker, WIRE_F_INTERNAL, NT_STATUS_V(NT_STATUS_NO_MEMORY));
	return fd;
}

void session_open(struct worker *worker, const struct wire_start *start, struct wire_attr *root)
{
	NTSTATUS status = compat_negotiate(worker->conn, STEP_MS);

	if (!NT_STATUS_IS_OK(status))
		worker_fail(worker, WIRE_F_NEGOTIATE, NT_STATUS_V(status));
	worker->clock = clock_ahead(worker);
	mount_share(worker, start);
	set_base(worker, start->path);
	smb2cli_conn_set_max_credits(worker->conn, CREDITS);
	worker->max_read = MIN(smb2cli_conn_max_read_size(worker->conn), WIRE_READ_MAX);
	if (!(smb2cli_conn_server_capabilities(worker->conn) & SMB2_CAP_LARGE_MTU))
		worker->max_read = MIN(worker->max_read, 65536);
	worker->ev = samba_tevent_context_init(worker);
	if (!worker->ev)
		worker_fail(worker, WIRE_F_INTERNAL, NT_STATUS_V(NT_STATUS_NO_MEMORY));
	look_at_root(worker, root);
}

/* ---- a server that is silent ---- */

static void echo_done(struct tevent_req *req)
{
	struct worker *worker = tevent_req_callback_data_void(req);
	NTSTATUS status = smb2cli_echo_recv(req);

	TALLOC_FREE(req);
	if (!NT_STATUS_IS_OK(status))
		worker_fail(worker, WIRE_F_LOST, NT_STATUS_V(status));
	worker->echo = false;
	worker->heard = timeval_current();
	worker_alive(worker);
}

static void send_echo(struct worker *worker)
{
	struct tevent_req *req = smb2cli_echo_send(worker, worker->ev, worker->conn, 0);

	if (!req)
		worker_fail(worker, WIRE_F_INTERNAL, NT_STATUS_V(NT_STATUS_NO_MEMORY));
	worker->echo = true;
	tevent_req_set_callback(req, echo_done, worker);
}

static void watch_server(struct tevent_context *ev, struct tevent_timer *timer, struct timeval now,
			 void *data)
{
	struct worker *worker = data;
	int64_t silent = usec_time_diff(&now, &worker->heard) / 1000;

	TALLOC_FREE(timer);
	if (!smbXcli_conn_is_connected(worker->conn))
		worker_fail(worker, WIRE_F_LOST, NT_STATUS_V(NT_STATUS_CONNECTION_DISCONNECTED));
	if (worker->chains && silent > worker->stall_ms)
		worker_fail(worker, WIRE_F_LOST, NT_STATUS_V(NT_STATUS_IO_TIMEOUT));
	if (worker->chains && silent > worker->stall_ms / 2 && !worker->echo &&
	    smb2cli_conn_get_cur_credits(worker->conn) > 0)
		send_echo(worker);
	read_expire(worker, now);
	list_expire(worker, now);
	tevent_add_timer(ev, worker,
			 timeval_current_ofs_msec(MIN(MAX(worker->stall_ms / 8, 20), 1000)),
			 watch_server, worker);
}

void session_watch(struct worker *worker)
{
	watch_server(worker->ev, NULL, timeval_current(), worker);
	while (tevent_loop_once(worker->ev) == 0)
		;
	worker_fail(worker, WIRE_F_INTERNAL, NT_STATUS_V(NT_STATUS_INTERNAL_ERROR));
}
