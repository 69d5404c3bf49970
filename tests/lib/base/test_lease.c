/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/suite.h"

static char path[] = "/tmp/lease-XXXXXX";

static int make(void)
{
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(waits_for_who_has_it_open)
{
	int fd = make(), other = open(path, O_RDONLY);
	struct lease lease;

	ck_assert_int_eq(lease_take(&lease, fd), -EBUSY);
	close(other);
	ck_assert_int_eq(lease_take(&lease, fd), 0);
	ck_assert(lease_holds(&lease, 1));
	unlink(path);
}
END_TEST

START_TEST(holds_until_another_is_let_in)
{
	int fd = make();
	struct lease lease;

	ck_assert_int_eq(lease_take(&lease, fd), 0);
	ck_assert_int_eq(open(path, O_WRONLY | O_NONBLOCK), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert(lease_holds(&lease, 2)); /* he waits */
	lease_break_s = 0;
	ck_assert(!lease_holds(&lease, 2));
	unlink(path);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, waits_for_who_has_it_open);
	tcase_add_test(tcase, holds_until_another_is_let_in);
	return run_tcase(tcase);
}
