/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/record.h"
#include "guard/device.h"
#include "guard/keeper.h"
#include "tests/guard/guard_place.h"

static struct volume_config config;
static char *sockets;

static void set_up(void)
{
	guard_place_make();
	config = (struct volume_config){.name = (char *)"v", .root = place, .guard_wait = 1};
	sockets = g_dir_make_tmp("guard-XXXXXX", NULL); /* place may not be there at the end */
	config.socket = g_build_filename(sockets, "v.sock", NULL);
}

static void tear_down(void)
{
	nftw(sockets, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	g_free(sockets);
	g_free(config.socket);
	guard_place_remove();
}

START_TEST(not_of_the_system)
{
	g_autoptr(GError) error = NULL;

	config.root = (char *)"/";
	ck_assert_ptr_null(guard_new(&config, false, &error));
	ck_assert(strstr(error->message, "one of its own"));
	ck_assert(g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INVAL));
}
END_TEST

/* Of those that serve it without the layer. */
static void count_past(const char *domain, GLogLevelFlags level, const char *text, void *lines)
{
	(void)domain, (void)level;
	*(unsigned *)lines += strstr(text, "without the layer") != NULL;
}

static unsigned descriptors(void)
{
	GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
	unsigned n = 0;

	while (g_dir_read_name(dir))
		n++;
	g_dir_close(dir);
	return n;
}

/* What is whole is let through, and nothing is kept of who asks. */
START_TEST(whole)
{
	g_autofree char *path = guard_put("f");
	g_autoptr(GError) error = NULL;
	struct guard *guard = guard_new(&config, false, &error);
	unsigned past = 0;
	int status = -1;
	pid_t child;

	ck_assert_msg(guard != NULL, "%s", error ? error->message : "");
	ck_assert_ptr_null(guard_new(&config, false, NULL)); /* one at a time */
	g_log_set_default_handler(count_past, &past);
	const unsigned open_before = descriptors();
	child = fork();
	if (child == 0)
		_exit(open(path, O_RDONLY) < 0 || open(place, O_RDONLY) < 0);
	while (waitpid(child, &status, WNOHANG) == 0)
		ck_assert(guard_turn(guard, NULL));
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(past, 0);
	ck_assert_uint_eq(descriptors(), open_before);
	guard_stop(guard);
	ck_assert(!guard_turn(guard, &error));
	ck_assert_ptr_null(error);
	guard_free(guard);
}
END_TEST

START_TEST(strict)
{
	g_autofree char *path = guard_put("f");
	struct guard *guard;
	int status;
	pid_t child;

	config.guard = GUARD_STRICT;
	guard = guard_new(&config, false, NULL);
	ck_assert_ptr_nonnull(guard);
	child = fork();
	if (child == 0)
		_exit(open(path, O_RDONLY) < 0);
	while (waitpid(child, &status, WNOHANG) == 0)
		ck_assert(guard_turn(guard, NULL));
	ck_assert_int_eq(WEXITSTATUS(status), 1);
	guard_free(guard);
}
END_TEST

/* ---- when it ends ---- */

static void put_record(const char *path)
{
	struct migrate_record record = {.state = MIGRATE_PARTIAL, .size = 4};
	struct stat st;
	int fd = open(path, O_RDONLY);

	ck_assert(fd >= 0 && fstat(fd, &st) == 0);
	if (S_ISDIR(st.st_mode))
		record.state = MIGRATE_FILLED;
	ck_assert_int_eq(migrate_binding_get(fd, "", &record.binding), 0);
	ck_assert_int_eq(migrate_record_store(fd, &record), 0);
	migrate_record_clear(&record);
	close(fd);
}

/* With a service manager that keeps descriptors, which nobody is here. */
static struct guard *begin_kept_by(const char *fdstore)
{
	g_autoptr(GError) error = NULL;
	struct guard *guard;

	setenv("NOTIFY_SOCKET", "/nonexistent", 1);
	if (fdstore)
		setenv("FDSTORE", fdstore, 1);
	else
		unsetenv("FDSTORE");
	config.guard_wait = 0;
	guard = guard_new(&config, false, &error);
	ck_assert_msg(guard != NULL, "%s", error ? error->message : "");
	return guard;
}

static struct guard *begin_kept(void)
{
	return begin_kept_by("4");
}

static void stop_guard(struct guard *guard)
{
	guard_stop(guard);
	while (guard_turn(guard, NULL))
		;
	guard_free(guard);
}

/* Ends with 0 where it can be opened. */
static int open_elsewhere(const char *path)
{
	pid_t child = fork();

	if (child == 0)
		_exit(open(path, O_RDONLY) < 0 ? errno : 0);
	return guard_ended(child);
}

START_TEST(stopped_it_leaves_one_that_refuses)
{
	g_autofree char *unfinished = guard_put("unfinished"), *whole = guard_put("whole");
	g_autofree char *lock = g_strconcat(config.socket, GUARD_LOCK_SUFFIX, NULL);

	put_record(unfinished);
	put_record(place);
	stop_guard(begin_kept());
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(open_elsewhere(unfinished), EIO);
		ck_assert_int_eq(open_elsewhere(whole), 0);
		stop_guard(begin_kept()); /* which ends that one */
	}
	ck_assert(keeper_end(lock));
	ck_assert_int_eq(open_elsewhere(unfinished), 0); /* nothing is guarded */
}
END_TEST

START_TEST(stopped_where_nothing_is_unfinished)
{
	g_autofree char *path = guard_put("f");
	g_autofree char *lock = g_strconcat(config.socket, GUARD_LOCK_SUFFIX, NULL);

	stop_guard(begin_kept());
	ck_assert(!keeper_end(lock));
	ck_assert_int_eq(open_elsewhere(path), 0);
}
END_TEST

static void mount_place(void)
{
	ck_assert_int_eq(mount("tmpfs", place, "tmpfs", 0, "size=64m"), 0);
}

START_TEST(ends_when_it_is_unmounted)
{
	g_autoptr(GError) error = NULL;
	struct guard *guard = begin_kept();

	ck_assert(guard_turn(guard, &error));
	ck_assert_int_eq(umount2(place, MNT_DETACH), 0);
	while (guard_turn(guard, &error))
		;
	ck_assert_ptr_null(error);
	guard_free(guard);
	mount_place();
}
END_TEST

/* Who is stopped first, and unmounted then, lets go, too. */
START_TEST(what_refuses_ends_when_it_is_unmounted)
{
	g_autofree char *lock = g_strconcat(config.socket, GUARD_LOCK_SUFFIX, NULL);

	put_record(place);
	stop_guard(begin_kept());
	ck_assert_int_eq(umount2(place, MNT_DETACH), 0);
	while (keeper_get(lock, 0) >= 0)
		g_usleep(10000);
	ck_assert(!keeper_end(lock));
	mount_place();
}
END_TEST

static void open_whole(unsigned count)
{
	g_autofree char *path = guard_put("f");

	for (unsigned i = 0; i < count; i++)
		ck_assert_int_eq(open_elsewhere(path), 0);
}

/* Where it waits a second for each this takes 20. */
START_TEST(stopped_it_answers_at_once)
{
	g_autofree char *lock = g_strconcat(config.socket, GUARD_LOCK_SUFFIX, NULL);
	gint64 begun;

	put_record(place);
	stop_guard(begin_kept());
	begun = g_get_monotonic_time();
	open_whole(20);
	ck_assert_int_lt(g_get_monotonic_time() - begun, 12 * G_USEC_PER_SEC);
	ck_assert(keeper_end(lock));
}
END_TEST

START_TEST(stopped_it_is_not_waited_for_as_long_as_the_old_server)
{
	g_autofree char *lock = g_strconcat(config.socket, GUARD_LOCK_SUFFIX, NULL);
	struct guard *guard;
	gint64 begun;

	put_record(place);
	guard = begin_kept();
	config.guard_wait = 60;
	begun = g_get_monotonic_time();
	stop_guard(guard);
	open_whole(1);
	ck_assert_int_lt(g_get_monotonic_time() - begun, 40 * G_USEC_PER_SEC);
	ck_assert(keeper_end(lock));
}
END_TEST

/* As finalize does. */
START_TEST(what_refuses_ends_when_nothing_is_unfinished)
{
	g_autofree char *lock = g_strconcat(config.socket, GUARD_LOCK_SUFFIX, NULL);
	const int fd = open(place, O_RDONLY | O_DIRECTORY);

	put_record(place);
	stop_guard(begin_kept());
	ck_assert_int_eq(migrate_record_drop(fd), 0);
	close(fd);
	while (keeper_get(lock, 0) >= 0)
		g_usleep(10000);
	open_whole(1);
	ck_assert(!keeper_end(lock));
}
END_TEST

/* With the same number of its device.  Smaller ones are given first, and stay taken then; somebody
 * else may have taken it. */
static bool mount_anew(void)
{
	g_autofree char *before = device_of(place);

	for (int round = 0; round < 100; round++) {
		ck_assert_int_eq(umount2(place, MNT_DETACH), 0);
		mount_place();
		g_autofree char *after = device_of(place);
		if (g_strcmp0(before, after) == 0)
			return true;
		open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	return false;
}

/* Between two looks: it has no marks then, and the next one makes them. */
START_TEST(ends_when_it_is_mounted_anew)
{
	g_autoptr(GError) error = NULL;
	struct guard *guard = begin_kept();
	const bool same = mount_anew();

	while (guard_turn(guard, &error))
		;
	if (same)
		ck_assert(error && strstr(error->message, "it is started again"));
	guard_free(guard);
}
END_TEST

static pid_t keeper_of(const char *lock)
{
	struct flock held = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	const int fd = open(lock, O_RDWR);

	ck_assert(fd >= 0 && fcntl(fd, F_GETLK, &held) == 0 && held.l_type == F_WRLCK);
	close(fd);
	return held.l_pid;
}

/* Where the service manager keeps none the guard's own keeper does, and answers nobody. */
START_TEST(what_refuses_takes_the_place_of_the_keeper)
{
	g_autofree char *unfinished = guard_put("unfinished");
	g_autofree char *lock = g_strconcat(config.socket, GUARD_LOCK_SUFFIX, NULL);
	struct guard *guard;
	pid_t keeper;

	put_record(unfinished);
	put_record(place);
	guard = begin_kept_by(NULL);
	keeper = keeper_of(lock);
	stop_guard(guard);
	ck_assert_int_ne(keeper_of(lock), keeper);
	ck_assert_int_eq(open_elsewhere(unfinished), EIO);
	ck_assert(keeper_end(lock));
}
END_TEST

START_TEST(what_refuses_guards_what_is_mounted_anew)
{
	g_autofree char *lock = g_strconcat(config.socket, GUARD_LOCK_SUFFIX, NULL), *path = NULL;
	int error = 0;
	pid_t keeper;

	put_record(place);
	stop_guard(begin_kept());
	keeper = keeper_of(lock);
	kill(keeper, SIGSTOP);
	if (mount_anew()) {
		path = guard_put("unfinished");
		put_record(path);
		put_record(place);
		kill(keeper, SIGCONT);
		while (!error) /* until it has looked */
			error = open_elsewhere(path);
		ck_assert_int_eq(error, EIO);
		ck_assert(keeper_end(lock));
	}
	keeper_end(lock);
}
END_TEST

/* What was open goes on to be guarded. */
START_TEST(goes_on_when_it_is_unmounted_lazily)
{
	g_autoptr(GError) error = NULL;
	struct guard *guard = begin_kept();
	const int fd = open(place, O_PATH | O_DIRECTORY);
	const gint64 begun = g_get_monotonic_time();

	ck_assert_int_eq(umount2(place, MNT_DETACH), 0);
	while (g_get_monotonic_time() - begun < 3 * G_USEC_PER_SEC)
		ck_assert(guard_turn(guard, &error));
	close(fd);
	while (guard_turn(guard, &error))
		;
	ck_assert_ptr_null(error);
	guard_free(guard);
	mount_place();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("guard");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, not_of_the_system);
	tcase_add_test(tcase, whole);
	tcase_add_test(tcase, strict);
	tcase_add_test(tcase, stopped_it_leaves_one_that_refuses);
	tcase_add_test(tcase, stopped_where_nothing_is_unfinished);
	tcase_add_test(tcase, ends_when_it_is_unmounted);
	tcase_add_test(tcase, what_refuses_ends_when_it_is_unmounted);
	tcase_add_test(tcase, stopped_it_answers_at_once);
	tcase_add_test(tcase, stopped_it_is_not_waited_for_as_long_as_the_old_server);
	tcase_add_test(tcase, what_refuses_ends_when_nothing_is_unfinished);
	tcase_add_test(tcase, ends_when_it_is_mounted_anew);
	tcase_add_test(tcase, what_refuses_takes_the_place_of_the_keeper);
	tcase_add_test(tcase, what_refuses_guards_what_is_mounted_anew);
	tcase_add_test(tcase, goes_on_when_it_is_unmounted_lazily);
	return run_tcase(tcase);
}
