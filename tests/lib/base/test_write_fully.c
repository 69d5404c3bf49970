/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/write_fully.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/suite.h"

START_TEST(all_or_an_error)
{
	const struct rlimit six = {6, RLIM_INFINITY};
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char bytes[16];

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write_fully(fd, "abcd", 4, WRITE_BEHIND), 0);
	ck_assert_int_eq(write_fully(fd, "e", 1, WRITE_BEHIND), 0);
	ck_assert_int_eq(write_fully(fd, "XY", 2, 1), 0);
	ck_assert_int_eq(write_fully(fd, NULL, 0, 0), 0);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &six), 0);
	ck_assert_int_eq(write_fully(fd, "0123456789", 10, 3), -EFBIG); /* after three of them */
	ck_assert_int_eq(pread(fd, bytes, sizeof(bytes), 0), 6);
	ck_assert_mem_eq(bytes, "aXY012", 6);
	close(fd);
	ck_assert_int_eq(write_fully(fd, "a", 1, WRITE_BEHIND), -EBADF);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("write_fully");

	tcase_add_test(tcase, all_or_an_error);
	return run_tcase(tcase);
}
