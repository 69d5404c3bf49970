/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/doctor/looks.h"
#include "lib/base/latch.h"
#include "lib/schemes.h"

#define GROUP	   "old"
#define ANSWER_MAX 4096 /* which a pipe takes at once */
#define SKEW_NS	   (INT64_C(5) * 1000000000)
#define SLOW_US	   200000

static void take_old(struct backend_request *req)
{
	latch_count_down(req->user, req->status);
}

static int ask_old(struct backend *backend, enum backend_op op, const struct source_object *root)
{
	struct latch latch;
	struct backend_request req = {.op = op,
				      .priority = BACKEND_DEMAND,
				      .object = *root,
				      .done = take_old,
				      .user = &latch};

	latch_init(&latch, 1);
	backend->ops->submit(backend, &req);
	return latch_wait(&latch);
}

/* Runs in the process of its own: writes what the old server told, as a key file. */
static void tell_old(const struct volume_config *config, int out)
{
	g_autoptr(GKeyFile) told = g_key_file_new();
	g_autoptr(GError) error = NULL;
	struct source_object root;
	struct source_attr attr;
	struct backend *backend = scheme_open(config, &root, &attr, &error);
	g_autofree char *text = NULL;
	gsize len;

	if (backend) {
		const gint64 began = g_get_monotonic_time();

		ask_old(backend, BACKEND_GETATTR, &root);
		g_key_file_set_int64(told, GROUP, "us", g_get_monotonic_time() - began);
		g_key_file_set_integer(told, GROUP, "listed",
				       ask_old(backend, BACKEND_READDIR, &root));
		g_key_file_set_boolean(told, GROUP, "writable",
				       backend->ops->writable &&
					       backend->ops->writable(backend) > 0);
		g_key_file_set_int64(told, GROUP, "ahead", attr.ctime - g_get_real_time() * 1000);
		backend->ops->close(backend); /* what it has for us there ends, too */
	} else {
		g_key_file_set_string(told, GROUP, "error", error->message);
	}
	text = g_key_file_to_data(told, &len, NULL);
	_exit(write(out, text, MIN(len, ANSWER_MAX)) < 0);
}

/* What the process has told by then; NULL: nothing. */
static GKeyFile *ask_process(const struct volume_config *config, unsigned wait_ms)
{
	g_autoptr(GKeyFile) told = g_key_file_new();
	char text[ANSWER_MAX];
	ssize_t len = 0;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	const pid_t parent = getpid(), pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			tell_old(config, ends[1]);
		_exit(1);
	}
	close(ends[1]);
	struct pollfd ready = {.fd = ends[0], .events = POLLIN};
	if (pid > 0 && poll(&ready, 1, (int)wait_ms) > 0)
		len = read(ends[0], text, sizeof(text));
	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return len > 0 && g_key_file_load_from_data(told, text, (gsize)len, G_KEY_FILE_NONE, NULL)
		       ? g_steal_pointer(&told)
		       : NULL;
}

static void add_told(GPtrArray *findings, GKeyFile *told)
{
	const gint64 us = g_key_file_get_int64(told, GROUP, "us", NULL);
	const gint64 ahead = g_key_file_get_int64(told, GROUP, "ahead", NULL);
	const int listed = g_key_file_get_integer(told, GROUP, "listed", NULL);

	findings_add(findings, us > SLOW_US ? FINDING_WARNING : FINDING_OK, "Old server",
		     us > SLOW_US ? "look at its load and at the network" : NULL,
		     "answers within %.1f ms", (double)us / 1000);
	findings_add(findings, listed ? FINDING_FAULT : FINDING_OK, "Rights",
		     listed ? "give this machine root's rights there (no_root_squash)" : NULL,
		     "the root can%s be listed there%s%s", listed ? "not" : "", listed ? ": " : "",
		     listed ? g_strerror(-listed) : "");
	if (ahead > SKEW_NS)
		findings_add(findings, FINDING_WARNING, "Clock", "synchronise both",
			     "the old server's is ahead by %.0f s, or more", (double)ahead / 1e9);
}

void look_at_old_server(struct doctor *doctor, unsigned wait_ms)
{
	const guint64 away =
		g_key_file_get_uint64(doctor->status, "now", "source-away-seconds", NULL);
	const gboolean smb = g_str_has_prefix(doctor->config->source, "smb://");
	g_autoptr(GKeyFile) told = away || smb ? NULL : ask_process(doctor->config, wait_ms);
	g_autofree char *error = told ? g_key_file_get_string(told, GROUP, "error", NULL) : NULL;

	if (away)
		findings_add(doctor->findings, FINDING_FAULT, "Old server",
			     "look at it and at the network; all goes on by itself then",
			     "has not answered for %" G_GUINT64_FORMAT " s", away);
	else if (smb)
		findings_add(doctor->findings, doctor->answer ? FINDING_WARNING : FINDING_OK,
			     "Old server", doctor->answer ? "let the retriever run" : NULL, "%s",
			     doctor->answer ? "was not asked: a wrong password would count there"
					    : "answers the retriever");
	else if (!told)
		findings_add(doctor->findings, FINDING_FAULT, "Old server",
			     "look whether it runs, and whether this machine reaches it",
			     "does not answer within %u s", wait_ms / 1000);
	else if (error)
		findings_add(doctor->findings, FINDING_FAULT, "Old server", NULL, "%s", error);
	else
		add_told(doctor->findings, told);
}

gboolean old_server_is_writable(const struct volume_config *config, unsigned wait_ms)
{
	g_autoptr(GKeyFile) told =
		g_str_has_prefix(config->source, "nfs://") ? ask_process(config, wait_ms) : NULL;

	return told && g_key_file_get_boolean(told, GROUP, "writable", NULL);
}
