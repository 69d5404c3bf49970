/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/watch.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "journal/store/live.h"
#include "tests/journal/tree.h"

static struct watch *watch;
static int init_fails; /* errno, or 0 */

int fanotify_init(unsigned flags, unsigned event_flags)
{
	errno = init_fails;
	return init_fails ? -1 : (int)syscall(SYS_fanotify_init, flags, event_flags);
}

static void set_up(void)
{
	GError *error = NULL;

	tree_make();
	watch = watch_new(volume_fd(volume), "/nowhere", 0, &error);
	ck_assert_msg(watch != NULL, "%s", error ? error->message : "");
}

static void tear_down(void)
{
	watch_free(watch);
	tree_remove();
}

static struct watched take(void)
{
	struct watched watched;

	ck_assert(watch_take(watch, true, &watched, NULL));
	return watched;
}

static unsigned count(const struct watched *watched, uint64_t mask)
{
	unsigned n = 0;

	for (size_t at = 0; at < watched->len;) {
		const struct fanotify_event_metadata *bytes = (const void *)(watched->bytes + at);
		struct event event;

		ck_assert(event_decode(bytes, &event));
		n += !!(event.mask & mask);
		at += WATCH_ALIGNED(bytes->event_len);
	}
	return n;
}

START_TEST(events_come)
{
	struct pollfd wake = {.fd = watch_fd(watch), .events = POLLIN};
	struct watched watched;

	ck_assert_int_eq(watch_fill(watch), WATCH_EMPTY);
	put_file("volume/f", "text");
	ck_assert_int_eq(poll(&wake, 1, -1), 1);
	ck_assert_int_eq(watch_fill(watch), WATCH_SOME);
	rename_file("volume/f", "volume/g");
	watched = take();
	ck_assert_uint_eq(count(&watched, FAN_CREATE), 1);
	ck_assert_uint_ge(count(&watched, FAN_MODIFY), 1);
	ck_assert_uint_eq(count(&watched, FAN_RENAME), 1);
	ck_assert_int_eq(watched.lost, INT64_MAX);
	watched = take();
	ck_assert_uint_eq(watched.len, 0);
}
END_TEST

/* What was before is in it, as soon as that is said. */
START_TEST(up_to_now)
{
	for (int i = 0; i < 20; i++) {
		g_autofree char *name = g_strdup_printf("volume/%d", i);
		struct watched watched;
		int64_t now;

		put_file(name, "text");
		now = journal_boottime();
		watched = take();
		ck_assert_int_ge(watched.settled, now);
		ck_assert_uint_eq(count(&watched, FAN_CREATE), 1);
	}
}
END_TEST

START_TEST(the_same_is_kept_once)
{
	struct watched watched;

	put_file("volume/f", "text");
	take();
	for (int i = 0; i < 50; i++) {
		put_file("volume/f", "other");
		g_usleep(2000); /* or the kernel makes one event of all */
	}
	watched = take();
	ck_assert_uint_ge(count(&watched, FAN_MODIFY), 1);
	ck_assert_uint_le(count(&watched, FAN_MODIFY), 3);
}
END_TEST

/* Who writes again and again is not told any more: until the next take, and in each. */
START_TEST(no_take_misses_a_write)
{
	g_autofree char *path = path_of("volume/f");
	struct watched watched;
	int fd;

	put_file("volume/f", "text");
	fd = open(path, O_RDWR | O_CLOEXEC);
	take();
	for (int turn = 0; turn < 20; turn++) {
		/* each wakes the thread, or the kernel makes one event of all */
		for (int i = 0; i < turn; i++) {
			ck_assert_int_eq(pwrite(fd, "x", 1, 0), 1);
			g_usleep(15000);
		}
		ck_assert_int_eq(pwrite(fd, "x", 1, 0), 1);
		watched = take();
		ck_assert_uint_ge(count(&watched, FAN_MODIFY), 1);
	}
	close(fd);
}
END_TEST

/* More than there is room for, and nobody takes it. */
START_TEST(overflow)
{
	int64_t before = journal_realtime(), lost = INT64_MAX;

	for (int i = 0; i < 200000 && lost == INT64_MAX; i++) {
		char name[32];
		g_autofree char *root = path_of("volume");

		g_snprintf(name, sizeof(name), "%s/x%d", root, i % 2);
		mkdir(name, 0700);
		rmdir(name);
	}
	while (watch_fill(watch) != WATCH_EMPTY)
		lost = MIN(lost, take().lost);
	ck_assert_int_ne(lost, INT64_MAX);
	ck_assert_int_le(lost, journal_realtime());
	ck_assert_int_ge(lost, before - INT64_C(1000000000));
	ck_assert_int_eq(take().lost, INT64_MAX);
}
END_TEST

START_TEST(left_out)
{
	struct watched watched;

	watch_free(watch);
	watch = watch_new(volume_fd(volume), "/nowhere", getpid(), NULL);
	ck_assert_ptr_nonnull(watch);
	put_file("volume/f", "text");
	watched = take();
	ck_assert_uint_eq(watched.len, 0);
}
END_TEST

/* It is known from before, and need not listen when what it did is read. */
START_TEST(the_retriever_opens_anew)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	g_autofree char *path = path_of("sock"), *made = path_of("volume/f");
	struct watched watched;
	pid_t child;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	watch_free(watch);
	watch = watch_new(volume_fd(volume), path, 0, NULL);
	ck_assert_ptr_nonnull(watch);
	child = fork();
	if (child == 0) {
		/* twice: then it knows that this is the one that it asked */
		if (listen(fd, 5) || accept(fd, NULL, NULL) < 0 || accept(fd, NULL, NULL) < 0)
			_exit(1);
		close(fd);
		unlink(path);
		put_file("volume/f", "text");
		pause();
	}
	close(fd);
	while (access(made, F_OK) < 0)
		g_usleep(1000);
	put_file("volume/g", "text");
	watched = take();
	ck_assert_uint_eq(count(&watched, FAN_CREATE), 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
END_TEST

START_TEST(refused)
{
	GError *error = NULL;
	int fd = open("/proc", O_RDONLY | O_DIRECTORY);

	ck_assert_ptr_null(watch_new(fd, "/nowhere", 0, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "fanotify_mark"));
	g_clear_error(&error);
	close(fd);
}
END_TEST

/* Each user has so many groups. */
START_TEST(no_group_is_left)
{
	GError *error = NULL;

	init_fails = EMFILE;
	ck_assert_ptr_null(watch_new(volume_fd(volume), "/nowhere", 0, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "fs.fanotify.max_user_groups"));
	g_clear_error(&error);
	init_fails = 0;
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("watch");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, events_come);
	tcase_add_test(tcase, up_to_now);
	tcase_add_test(tcase, the_same_is_kept_once);
	tcase_add_test(tcase, no_take_misses_a_write);
	tcase_add_test(tcase, overflow);
	tcase_add_test(tcase, left_out);
	tcase_add_test(tcase, the_retriever_opens_anew);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, no_group_is_left);
	return run_tcase(tcase);
}
