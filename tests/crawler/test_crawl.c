/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole runs against a retriever of the test's own: a thread that speaks the protocol over a real
 * socket and writes real records.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/protocol.h"
#include "common/record.h"
#include "crawler/crawl.h"
#include "lib/base/fetch_list.h"
#include "tests/crawler/tree.h"
#include "tests/suite.h"

#define SOCKET "/mnt/sock"
#define ROOT   "/mnt/volume"

static const char *state = "migrating";
static unsigned errors, fills, finishes, data_fills, touched_fills;
static unsigned others, before_list; /* data for no list; those before a list's last fill */
static ino_t touched;		     /* a client waits for a file in this directory */
static unsigned hang_up_after;	     /* requests, then the connection is closed once; 0: never */
static unsigned stop_after;	     /* fills, then SIGTERM is sent; 0: never */
static ino_t refused;		     /* finishing this directory says "again" for ever */
static bool wrong_version;
static pthread_t thread;
static int listener;

/* ---- records --------------------------------------------------------------------------------- */

static void set_record(int fd, enum migrate_state to)
{
	struct migrate_record record = {.state = to};

	ck_assert_int_eq(migrate_binding_get(fd, "", &record.binding), 0);
	ck_assert_int_eq(migrate_record_store(fd, &record), 0);
	migrate_record_clear(&record);
}

static void unfinished_dir(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0755), 0);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	set_record(fd, MIGRATE_UNFILLED);
	close(fd);
}

static enum migrate_state state_of(int dir_fd, const char *name)
{
	struct migrate_record record;
	enum migrate_state result = MIGRATE_NORMAL;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	if (migrate_record_load(fd, &record) == 1) {
		result = record.state;
		migrate_record_clear(&record);
	}
	close(fd);
	return result;
}

static bool anything_left_in(int fd)
{
	DIR *dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const struct dirent *entry;
	bool left = false;

	while ((entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			left |= state_of(fd, entry->d_name) != MIGRATE_NORMAL;
	closedir(dir);
	return left;
}

/* ---- the retriever --------------------------------------------------------------------------- */

static int do_finish(int fd)
{
	struct stat st;

	finishes++;
	fstat(fd, &st);
	if (st.st_ino == refused || anything_left_in(fd))
		return -EAGAIN;
	return migrate_record_drop(fd);
}

static int do_fill(int fd, unsigned flags)
{
	struct stat st;

	fills++;
	data_fills += (flags & MIGRATE_DATA) != 0;
	if (flags & MIGRATE_FIRST)
		before_list = others;
	else if (flags & MIGRATE_DATA)
		others++;
	if (flags & MIGRATE_DATA && fstat(fd, &st) == 0 && st.st_ino == touched)
		touched_fills++;
	if (fills == stop_after)
		kill(getpid(), SIGTERM);
	set_record(fd, MIGRATE_FILLED);
	return 0;
}

static void control(struct migrate_frame *reply, char *text, size_t size)
{
	if (!strncmp(reply->text, "settings", reply->text_len))
		snprintf(text, size,
			 "[settings]\nroot=" ROOT "\ncrawler-workers=3\n"
			 "crawler-order=namespace-first\n");
	else if (!strncmp(reply->text, "touched", reply->text_len))
		snprintf(text, size, "[touched]\n0=a/%%62\n1=../out\n2=gone\n3=%%\n");
	else
		snprintf(text, size,
			 "[volume]\nstate=%s\n[counters]\nerrors=%u\n[namespace]\ncomplete=false\n",
			 state, errors);
	reply->text = text;
	reply->text_len = (uint32_t)strlen(text);
}

static void answer(int sock, const struct migrate_frame *request, int fd)
{
	struct migrate_frame reply = {.op = request->op | MIGRATE_OP_REPLY, .id = request->id};
	uint8_t buf[MIGRATE_FRAME_MAX];
	char text[512];

	switch (request->op) {
	case MIGRATE_OP_HELLO:
		reply.length = 500;
		reply.status = wrong_version ? -EPROTO : 0;
		break;
	case MIGRATE_OP_CONTROL:
		reply.text = request->text;
		reply.text_len = request->text_len;
		control(&reply, text, sizeof(text));
		break;
	case MIGRATE_OP_FILL:
		reply.status = do_fill(fd, request->flags);
		break;
	case MIGRATE_OP_FINISH:
		reply.status = do_finish(fd);
		break;
	default:
		reply.status = -EPROTO;
	}
	ck_assert_int_gt(migrate_frame_encode(&reply, buf, sizeof(buf)), 0);
	migrate_frame_send(sock, &reply, NULL, 0);
}

static void serve(int sock)
{
	static uint8_t buf[MIGRATE_FRAME_MAX];
	struct migrate_frame request;

	for (;;) {
		int fds[MIGRATE_FRAME_MAX_FDS];
		size_t nfds = G_N_ELEMENTS(fds);
		ssize_t len = migrate_frame_recv(sock, buf, sizeof(buf), fds, &nfds);

		if (len <= 0 || migrate_frame_decode(buf, (size_t)len, &request))
			return;
		bool hang_up = request.op == MIGRATE_OP_FILL && hang_up_after && !--hang_up_after;
		if (!hang_up)
			answer(sock, &request, nfds ? fds[0] : -1);
		while (nfds)
			close(fds[--nfds]);
		if (hang_up)
			return;
	}
}

static void *retriever(void *arg)
{
	for (;;) {
		int sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (sock < 0)
			return NULL;
		serve(sock);
		close(sock);
	}
}

static void start(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SOCKET};
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 5), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, retriever, NULL), 0);
}

static void setup(void)
{
	unfinished_dir(ROOT);
	unfinished_dir(ROOT "/a");
	unfinished_dir(ROOT "/a/b");
	unfinished_dir(ROOT "/c");
	ck_assert_int_eq(mkdir(ROOT "/normal", 0755), 0);
	start();
}

static struct crawl_options options = {.volume = "test", .socket = SOCKET, .quiet = true};

static void after(enum crawl_exit expected)
{
	enum crawl_exit result = crawl_run(&options);

	shutdown(listener, SHUT_RDWR);
	pthread_join(thread, NULL);
	ck_assert_int_eq(result, expected);
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST(namespace_first)
{
	after(CRAWL_WHOLE);
	ck_assert_int_eq(state_of(AT_FDCWD, ROOT), MIGRATE_NORMAL);
	ck_assert_uint_eq(fills, 8);
	ck_assert_uint_eq(data_fills, 4);
	ck_assert_uint_eq(finishes, 4);
}
END_TEST

START_TEST(depth_first)
{
	options.has_order = true;
	options.order = ORDER_DEPTH_FIRST;
	after(CRAWL_WHOLE);
	ck_assert_int_eq(state_of(AT_FDCWD, ROOT), MIGRATE_NORMAL);
	ck_assert_uint_eq(fills, 4);
	ck_assert_uint_eq(data_fills, 4);
}
END_TEST

/* By the passes, and as a client waits for something in it. */
START_TEST(recent_first)
{
	struct stat st;

	ck_assert_int_eq(stat(ROOT "/a/b", &st), 0);
	touched = st.st_ino;
	options.has_order = true;
	options.order = ORDER_RECENT_FIRST;
	after(CRAWL_WHOLE);
	ck_assert_int_eq(state_of(AT_FDCWD, ROOT), MIGRATE_NORMAL);
	ck_assert_uint_ge(touched_fills, 2);
}
END_TEST

START_TEST(a_list_comes_before_what_is_touched)
{
	const struct fetch_list list = {.paths = 1};
	const char path[] = "a/b/d/e/f";
	g_autoptr(GString) paths = g_string_new_len(path, sizeof(path));
	struct stat st;
	unsigned number;

	unfinished_dir(ROOT "/a/b/d");
	unfinished_dir(ROOT "/a/b/d/e");
	unfinished_dir(ROOT "/a/b/d/e/f");
	ck_assert_int_eq(mkdir(ROOT "/" MIGRATE_PRIVATE_DIR, 0700), 0);
	ck_assert_int_eq(fetch_list_add(ROOT "/" FETCH_LIST_DIR, &list, paths, &number), 0);
	ck_assert_int_eq(stat(ROOT "/a/b", &st), 0);
	touched = st.st_ino;
	options.has_order = true;
	options.order = ORDER_RECENT_FIRST;
	after(CRAWL_WHOLE);
	ck_assert_uint_eq(before_list, 0);
	ck_assert_uint_ge(touched_fills, 2);
}
END_TEST

START_TEST(metadata_only)
{
	options.metadata_only = true;
	after(CRAWL_WHOLE);
	ck_assert_int_eq(state_of(AT_FDCWD, ROOT), MIGRATE_FILLED);
	ck_assert_int_eq(state_of(AT_FDCWD, ROOT "/a/b"), MIGRATE_FILLED);
	ck_assert_uint_eq(data_fills, 0);
	ck_assert_uint_eq(finishes, 0);
}
END_TEST

START_TEST(unattached)
{
	state = "unattached";
	after(CRAWL_REFUSED);
	ck_assert_uint_eq(fills, 0);
}
END_TEST

START_TEST(other_version)
{
	wrong_version = true;
	after(CRAWL_VERSION);
}
END_TEST

START_TEST(something_is_left)
{
	struct stat st;

	ck_assert_int_eq(stat(ROOT "/a/b", &st), 0);
	refused = st.st_ino;
	errors = 1;
	options.once = true;
	after(CRAWL_LEFT);
	ck_assert_int_eq(state_of(AT_FDCWD, ROOT "/c"), MIGRATE_NORMAL);
	ck_assert_int_eq(state_of(AT_FDCWD, ROOT "/a"), MIGRATE_FILLED);
}
END_TEST

START_TEST(stopped_by_a_signal)
{
	stop_after = 2;
	options.workers = 1;
	after(CRAWL_WHOLE);
	ck_assert_uint_eq(fills, 2);
	ck_assert_int_eq(state_of(AT_FDCWD, ROOT), MIGRATE_FILLED);
}
END_TEST

START_TEST(connection_is_lost)
{
	hang_up_after = 3;
	after(CRAWL_WHOLE);
	ck_assert_int_eq(state_of(AT_FDCWD, ROOT), MIGRATE_NORMAL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("crawl");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, tree_mount, NULL);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, namespace_first);
	tcase_add_test(tcase, depth_first);
	tcase_add_test(tcase, recent_first);
	tcase_add_test(tcase, a_list_comes_before_what_is_touched);
	tcase_add_test(tcase, metadata_only);
	tcase_add_test(tcase, unattached);
	tcase_add_test(tcase, other_version);
	tcase_add_test(tcase, something_is_left);
	tcase_add_test(tcase, stopped_by_a_signal);
	tcase_add_test(tcase, connection_is_lost);
	return run_tcase(tcase);
}
