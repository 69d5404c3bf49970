/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/migrate.h"
#include "tests/suite.h"

static char dir[64], sock[128];

static void set_up(void)
{
	make_scratch(dir, "layer");
	snprintf(sock, sizeof(sock), "%s/v.sock", dir);
}

static void tear_down(void)
{
	char path[160];

	snprintf(path, sizeof(path), "%s.doors", sock);
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0);
}

static struct migrate_volume *make(void)
{
	struct migrate_volume *volume = NULL;

	ck_assert_int_eq(migrate_volume_new("v", sock, MIGRATE_ROLE_DOOR, &volume), 0);
	return volume;
}

/* A process that has registered, and stays. */
static pid_t door(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct migrate_volume *volume = NULL;

		if (migrate_volume_new("v", sock, MIGRATE_ROLE_DOOR, &volume) ||
		    migrate_volume_register(volume) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void end_door(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static bool count(void *arg, pid_t pid)
{
	++*(unsigned *)arg;
	return pid > 0;
}

/* As long as it lives, whoever looks. */
START_TEST(registered)
{
	pid_t pids[5];
	unsigned n = 0;

	ck_assert(!migrate_is_door(sock, getpid())); /* there is no such file */
	for (int i = 0; i < 5; i++)
		pids[i] = door();
	for (int i = 0; i < 5; i++)
		ck_assert(migrate_is_door(sock, pids[i]));
	ck_assert(!migrate_is_door(sock, getpid()));
	ck_assert(!migrate_is_door(sock, 0));
	migrate_each_door(sock, count, &n);
	ck_assert_uint_eq(n, 5);
	for (int i = 0; i < 5; i++) {
		end_door(pids[i]);
		ck_assert(!migrate_is_door(sock, pids[i]));
	}
	n = 0;
	migrate_each_door(sock, count, &n);
	ck_assert_uint_eq(n, 0);
}
END_TEST

/* Until it is freed; and not by having a volume alone. */
START_TEST(freed)
{
	struct migrate_volume *volume = make();
	pid_t pid = getpid();
	int status;
	pid_t child;

	child = fork();
	if (child == 0)
		_exit(migrate_is_door(sock, pid));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(migrate_volume_register(volume), 0);
	ck_assert_int_eq(migrate_volume_register(volume), 0);
	child = fork(); /* it has not inherited it */
	if (child == 0)
		_exit(!migrate_is_door(sock, pid) || migrate_is_door(sock, getpid()));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	migrate_volume_free(volume);
	child = fork();
	if (child == 0)
		_exit(migrate_is_door(sock, pid));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Whether another process sees the one that is registered. */
static bool is_seen(pid_t pid)
{
	const pid_t child = fork();
	int status;

	if (child == 0)
		_exit(!migrate_is_door(sock, pid));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status == 0;
}

/* Another volume of the process, however its socket is spelled, takes nothing with it. */
START_TEST(several)
{
	struct migrate_volume *first = make(), *second = make(), *third = NULL;
	char spelled[160];

	snprintf(spelled, sizeof(spelled), "%s/./v.sock", dir);
	ck_assert_int_eq(migrate_volume_new("v", spelled, MIGRATE_ROLE_DOOR, &third), 0);
	ck_assert_int_eq(migrate_volume_register(first), 0);
	ck_assert_int_eq(migrate_volume_register(second), 0);
	ck_assert_int_eq(migrate_volume_register(third), 0);
	migrate_volume_free(second);
	ck_assert(is_seen(getpid()));
	migrate_volume_free(third);
	ck_assert(is_seen(getpid()));
	migrate_volume_free(first);
	ck_assert(!is_seen(getpid()));
}
END_TEST

/* A child is another process, and its end or its volume's is not its parent's. */
START_TEST(forked)
{
	struct migrate_volume *volume = make();
	pid_t child;
	int status;

	ck_assert_int_eq(migrate_volume_register(volume), 0);
	child = fork();
	if (child == 0) {
		if (migrate_volume_register(volume) || !is_seen(getpid()) || !is_seen(getppid()))
			_exit(1);
		migrate_volume_free(volume);
		_exit(is_seen(getpid()) || !is_seen(getppid()));
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert(is_seen(getpid()));
	migrate_volume_free(volume);
}
END_TEST

/* Where the file is made anew. */
START_TEST(replaced)
{
	struct migrate_volume *volume = make();
	char path[160];

	snprintf(path, sizeof(path), "%s.doors", sock);
	ck_assert_int_eq(migrate_volume_register(volume), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(!is_seen(getpid()));
	ck_assert_int_eq(migrate_volume_register(volume), 0);
	ck_assert(is_seen(getpid()));
	migrate_volume_free(volume);
}
END_TEST

/* Another process holds its byte: as one with this number in a process namespace of its own. */
START_TEST(same_number)
{
	struct migrate_volume *volume = make();
	struct flock lock = {.l_type = F_WRLCK, .l_start = getpid(), .l_len = 1};
	int ready[2];
	char path[160], byte;
	unsigned n = 0;
	pid_t other, child;
	int status;

	snprintf(path, sizeof(path), "%s.doors", sock);
	ck_assert_int_eq(pipe(ready), 0);
	other = fork();
	if (other == 0) {
		if (fcntl(open(path, O_RDWR | O_CREAT, 0600), F_SETLK, &lock) < 0 ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	ck_assert_int_eq(migrate_volume_register(volume), 0);
	ck_assert(is_seen(getpid()));
	child = fork();
	if (child == 0) {
		migrate_each_door(sock, count, &n);
		_exit(n != 2);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	end_door(other);
	migrate_volume_free(volume);
}
END_TEST

/* Where the directory is made later. */
START_TEST(later)
{
	struct migrate_volume *volume = make();
	pid_t pid = getpid(), child;
	int status;

	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(migrate_volume_register(volume), -ENOENT);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	ck_assert_int_eq(migrate_volume_dispatch(volume, 1000), 0); /* it tries to connect */
	child = fork();
	if (child == 0)
		_exit(!migrate_is_door(sock, pid));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	migrate_volume_free(volume);
}
END_TEST

static int open_below(const char *name)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	mkdir(path, 0700);
	fd = open(path, O_PATH | O_DIRECTORY);
	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(overlap)
{
	const int a = open_below("a"), below = open_below("a/b"), beside = open_below("ab");
	const int top = open("/", O_PATH | O_DIRECTORY);

	ck_assert(migrate_overlap(a, a));
	ck_assert(migrate_overlap(a, below));
	ck_assert(migrate_overlap(below, a));
	ck_assert(migrate_overlap(top, below));
	ck_assert(!migrate_overlap(a, beside));
	ck_assert(!migrate_overlap(beside, below));
	ck_assert(!migrate_overlap(a, -1));
	close(a);
	close(below);
	close(beside);
	close(top);
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(rmdir("a/b") | rmdir("a") | rmdir("ab") | chdir("/"), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layer");
	TCase *tcase = tcase_create("layer");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, registered);
	tcase_add_test(tcase, freed);
	tcase_add_test(tcase, several);
	tcase_add_test(tcase, forked);
	tcase_add_test(tcase, replaced);
	tcase_add_test(tcase, same_number);
	tcase_add_test(tcase, later);
	tcase_add_test(tcase, overlap);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
