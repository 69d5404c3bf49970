/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A real server, beside which the program runs itself (tests/support/oldserver). */
#ifndef TESTS_CTL_ROLLBACK_SMB_SERVER_H
#define TESTS_CTL_ROLLBACK_SMB_SERVER_H

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/volume_config.h"
#include "tests/suite.h"

static struct volume_config config;
static unsigned lost;

static inline int run_beside_server(TCase *tcase, char **argv)
{
	if (getenv("OLD_URL"))
		return run_tcase(tcase);
	if (system("rm -rf '" DIRECTORY_THERE "' && mkdir '" DIRECTORY_THERE "'"))
		return 2;
	setenv("MIGRATE_SMB_WORKER", WRITER, 1);
	execl(OLDSERVER, OLDSERVER, "--smb", DIRECTORY_THERE, "--", argv[0], NULL);
	return 2;
}

static inline const char *server_url(void)
{
	config.rollback_password_file = getenv("OLD_PASSWORD");
	ck_assert_ptr_nonnull(getenv("OLD_URL"));
	return getenv("OLD_URL");
}

static inline void count(void *arg, const char *what)
{
	lost++;
}

#endif
