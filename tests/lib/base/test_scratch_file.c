/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/scratch_file.h"

static char dir[] = "/var/tmp/migrate-test-XXXXXX";
static int lacks; /* O_TMPFILE fails so */

int openat(int fd, const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	if (lacks && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = lacks;
		return -1;
	}
	return syscall(SYS_openat, fd, name, flags, mode);
}

START_TEST(it_has_no_name)
{
	int dir_fd, fd;
	struct stat st;
	char back = 0;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	lacks = _i ? EOPNOTSUPP : 0;
	fd = scratch_file(dir_fd);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, "x", 1, 5), 1);
	ck_assert_int_eq(pread(fd, &back, 1, 5), 1);
	ck_assert_int_eq(back, 'x');
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_nlink, 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 0600);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	close(dir_fd);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(a_full_disk_is_told)
{
	lacks = ENOSPC;
	errno = 0;
	ck_assert_int_eq(scratch_file(AT_FDCWD), -1);
	ck_assert_int_eq(errno, ENOSPC);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("scratch_file");

	tcase_add_loop_test(tcase, it_has_no_name, 0, 2);
	tcase_add_test(tcase, a_full_disk_is_told);
	return run_tcase(tcase);
}
