/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An SMB source whose workers do what they like (fake_worker.c). */
#ifndef TESTS_RETRIEVER_SMB_SHARE_H
#define TESTS_RETRIEVER_SMB_SHARE_H

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdatomic.h>

#include "lib/source/smb/smb.h"
#include "tests/retriever/backend_support.h"

#define MANY 200

static char *dir, *secret;
static struct backend *backend;

static inline struct backend *open_share(const char *share, char **message)
{
	g_autofree char *url = g_strdup_printf("smb://user@host/%s%s", share, dir);
	const struct smb_config smb = {.password_file = secret};
	const struct backend_config config = {
		.url = url, .smb = &smb, .connections = 2, .demand_connections = 1, .window = 4};
	struct source_object root = {0};
	struct source_attr attr;
	GError *error = NULL;
	struct backend *opened = backend_smb_ops.open(&config, &root, &attr, &error);

	source_object_clear(&root);
	if (message)
		*message = error ? g_strdup(error->message) : NULL;
	g_clear_error(&error);
	return opened;
}

static inline void open_it(void)
{
	int fd;

	dir = g_dir_make_tmp("smb-conn-XXXXXX", NULL);
	fd = g_file_open_tmp("smb-secret-XXXXXX", &secret, NULL);
	ck_assert_int_eq(write(fd, "secret\nmore\n", 12), 12);
	close(fd);
	backend = open_share("good", NULL);
	ck_assert_ptr_nonnull(backend);
}

static inline void close_it(void)
{
	const char *name;
	GDir *list = g_dir_open(dir, 0, NULL);

	if (backend)
		backend->ops->close(backend);
	while ((name = g_dir_read_name(list))) {
		g_autofree char *path = g_build_filename(dir, name, NULL);

		g_unlink(path);
	}
	g_dir_close(list);
	g_rmdir(dir);
	g_unlink(secret);
	g_free(dir);
	g_free(secret);
}

/* ---- many ---- */

struct many {
	struct gate gate;
	struct backend_request reqs[MANY];
	atomic_uint good, cancelled;
};

static inline void many_done(struct backend_request *req)
{
	struct many *many = req->user;

	if (req->status == 0)
		atomic_fetch_add(&many->good, 1);
	if (req->status == -ECANCELED)
		atomic_fetch_add(&many->cancelled, 1);
	gate_pass(&many->gate);
}

static inline struct many *submit_many(const char *path, enum backend_priority priority)
{
	struct many *many = g_new0(struct many, 1);

	gate_init(&many->gate);
	for (unsigned i = 0; i < MANY; i++) {
		many->reqs[i] = (struct backend_request){.op = BACKEND_GETATTR,
							 .priority = priority,
							 .object = by_path(path),
							 .done = many_done,
							 .user = many};
		backend->ops->submit(backend, &many->reqs[i]);
	}
	return many;
}

/* The stand-in for the worker is beside the program. */
static inline TCase *worker_tcase(const char *program)
{
	TCase *tcase = tcase_create("worker");
	g_autofree char *here = g_path_get_dirname(program);
	g_autofree char *worker = g_build_filename(here, "fake_worker", NULL);

	g_setenv("MIGRATE_SMB_WORKER", worker, TRUE);
	g_log_set_default_handler(plain_log, NULL);
	tcase_set_timeout(tcase, 60);
	return tcase;
}

#endif
