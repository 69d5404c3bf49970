/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A writer that does what it likes: the retriever's tests have one (fake_worker.c). */
#ifndef TESTS_CTL_ROLLBACK_FAKE_WRITER_H
#define TESTS_CTL_ROLLBACK_FAKE_WRITER_H

#include <check.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/rollback/smb_call.h"
#include "lib/config/volume_config.h"
#include "tests/suite.h"

static char *secret;
static struct volume_config config;

static inline void setup(void)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *dir = g_path_get_dirname(self);
	g_autofree char *fake = g_build_filename(dir, "../../lib/source/smb/fake_worker", NULL);
	int fd = g_file_open_tmp("smb-secret-XXXXXX", &secret, NULL);

	ck_assert_int_eq(write(fd, "secret\n", 7), 7);
	close(fd);
	g_setenv("MIGRATE_SMB_WORKER", fake, TRUE);
	config.rollback_password_file = secret;
}

static inline void teardown(void)
{
	g_unlink(secret);
	g_free(secret);
}

static inline struct smb_call *call_share(const char *share, char **message)
{
	g_autofree char *url = g_strdup_printf("smb://user@host/%s", share);
	GError *error = NULL;
	struct smb_call *call = smb_call_open(url, &config, &error);

	ck_assert_msg(!!call == !error, "%s", error ? error->message : "nothing said");
	if (message)
		*message = error ? g_strdup(error->message) : NULL;
	g_clear_error(&error);
	return call;
}

#endif
