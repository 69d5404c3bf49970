/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands of the administrator's own that are run when something has happened to a volume:
 * on-whole, on-error, on-away in quickmigrate.conf(5).  migrate-hooks.timer has it every minute, so
 * that neither the retriever nor a client ever waits for one, and no hook is bound by the
 * retriever's sandbox.
 *
 * What was told is kept in a file.  It is noted when the hook has succeeded: a hook that fails, or
 * is cut off by a power cut, is run again, and none is forgotten.  A lock keeps two runs apart.
 */
#include "ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/ask_all.h"
#include "lib/config/config.h"

#define MARKS	  REPORT_DIR "/hooks"
#define AWAY_S	  60  /* shorter than that is no news: a server that restarts */
#define LIMIT_S	  300 /* what a hook may take */
#define ANSWER_US (5 * G_USEC_PER_SEC)

struct run {
	const char *file;
	GKeyFile *marks;
	GMainLoop *loop;
	unsigned under_way;
	bool failed, changed;
};

/* One hook of one volume that is due, or under way. */
struct due {
	struct run *run;
	char *volume;
	const char *key; /* of the mark */
	char *mark;	 /* what it says when the hook has succeeded */
	const char *event;
	GPid pid;
	guint limit; /* the timer's source */
	bool late;
};

static void due_free(struct due *due)
{
	g_free(due->volume);
	g_free(due->mark);
	g_free(due);
}

static void set_mark(struct run *run, const char *volume, const char *key, const char *value)
{
	g_autofree char *former = g_key_file_get_value(run->marks, volume, key, NULL);

	if (!g_strcmp0(former, value))
		return;
	run->changed = true;
	if (value)
		g_key_file_set_value(run->marks, volume, key, value);
	else
		g_key_file_remove_key(run->marks, volume, key, NULL);
}

static void fail_hook(struct run *run, const struct due *due, const char *what)
{
	ctl_complain("%s: the hook on-%s %s; it is run again the next time", due->volume, due->key,
		     what);
	run->failed = true;
}

/* ---- running ----------------------------------------------------------------------------------
 */

static void own_group(gpointer unused)
{
	(void)unused;
	setpgid(0, 0); /* so that what it has started is ended with it */
}

static gboolean end_late(gpointer data)
{
	struct due *due = data;

	due->late = true;
	due->limit = 0;
	kill(-due->pid, SIGKILL);
	return G_SOURCE_REMOVE;
}

static void ended(GPid pid, gint status, gpointer data)
{
	struct due *due = data;
	struct run *run = due->run;
	g_autoptr(GError) error = NULL;

	g_spawn_close_pid(pid);
	if (due->limit)
		g_source_remove(due->limit);
	if (due->late)
		fail_hook(run, due, "took longer than " G_STRINGIFY(LIMIT_S) " s and was ended");
	else if (!g_spawn_check_wait_status(status, &error))
		fail_hook(run, due, error->message);
	else
		set_mark(run, due->volume, due->key, due->mark);
	if (!--run->under_way)
		g_main_loop_quit(run->loop);
	due_free(due);
}

/* GLib's own list of variables, with what the hook is told of its volume. */
static char **environment_of(const struct due *due, GKeyFile *status, uint64_t new_errors)
{
	static const struct {
		const char *name, *group, *key;
	} told[] = {
		{"QUICKMIGRATE_ROOT", "volume", "root"},
		{"QUICKMIGRATE_SOURCE", "volume", "source"},
		{"QUICKMIGRATE_STATE", "volume", "state"},
		{"QUICKMIGRATE_ERRORS", "counters", "errors"},
		{"QUICKMIGRATE_LOSSES", "counters", "losses"},
		{"QUICKMIGRATE_AWAY_SECONDS", "now", "source-away-seconds"},
	};
	char **list = g_get_environ();
	g_autofree char *number = g_strdup_printf("%" G_GUINT64_FORMAT, new_errors);

	list = g_environ_setenv(list, "QUICKMIGRATE_VOLUME", due->volume, TRUE);
	list = g_environ_setenv(list, "QUICKMIGRATE_EVENT", due->event, TRUE);
	list = g_environ_setenv(list, "QUICKMIGRATE_NEW_ERRORS", number, TRUE);
	for (guint i = 0; i < G_N_ELEMENTS(told); i++) {
		g_autofree char *value = ctl_text(status, told[i].group, told[i].key);

		list = g_environ_setenv(list, told[i].name, value, TRUE);
	}
	return list;
}

/* Starts the hook; takes due. */
static void start(struct due *due, const char *command, GKeyFile *status, uint64_t new_errors)
{
	struct run *run = due->run;
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) argv = NULL;
	g_auto(GStrv) environment = environment_of(due, status, new_errors);

	if (!g_shell_parse_argv(command, NULL, &argv, &error) ||
	    !g_spawn_async("/", argv, environment, G_SPAWN_DO_NOT_REAP_CHILD, own_group, NULL,
			   &due->pid, &error)) {
		fail_hook(run, due, error->message);
		due_free(due);
		return;
	}
	run->under_way++;
	due->limit = g_timeout_add_seconds(LIMIT_S, end_late, due);
	g_child_watch_add(due->pid, ended, due);
}

/* ---- what is due ------------------------------------------------------------------------------
 */

/* The volume's state is `value`, for which the hook is due if `news`; else only the mark is set. */
static void note_hook(struct run *run, const struct volume_name *name, GKeyFile *status,
		      enum hook hook, const char *value, const char *event, uint64_t new_errors)
{
	static const char *const keys[] = {
		[HOOK_WHOLE] = "whole", [HOOK_ERROR] = "error", [HOOK_AWAY] = "away"};
	struct due *due;

	if (!event || !name->hooks[hook]) {
		set_mark(run, name->name, keys[hook], value);
		return;
	}
	due = g_new0(struct due, 1);
	due->run = run;
	due->volume = g_strdup(name->name);
	due->key = keys[hook];
	due->mark = g_strdup(value);
	due->event = event;
	start(due, name->hooks[hook], status, new_errors);
}

static void look_at_hook(struct run *run, const struct volume_name *name, GKeyFile *status)
{
	g_autofree char *state = ctl_text(status, "volume", "state");
	const bool whole = !strcmp(state, "whole") || !strcmp(state, "finished");
	const bool was_whole = g_key_file_has_key(run->marks, name->name, "whole", NULL);
	const uint64_t away = ctl_number(status, "now", "source-away-seconds");
	const bool was_away = g_key_file_has_key(run->marks, name->name, "away", NULL);
	const uint64_t errors = ctl_number(status, "counters", "errors");
	const uint64_t told = g_key_file_get_uint64(run->marks, name->name, "error", NULL);
	g_autofree char *number = g_strdup_printf("%" G_GUINT64_FORMAT, errors);

	note_hook(run, name, status, HOOK_WHOLE, whole ? "true" : NULL,
		  whole && !was_whole ? "whole" : NULL, 0);
	note_hook(run, name, status, HOOK_ERROR, number, errors > told ? "error" : NULL,
		  errors > told ? errors - told : 0);
	if (away >= AWAY_S)
		note_hook(run, name, status, HOOK_AWAY, "true", was_away ? NULL : "away", 0);
	else if (!away)
		note_hook(run, name, status, HOOK_AWAY, NULL, was_away ? "back" : NULL, 0);
}

/* What is kept of volumes that the configuration has no more. */
static void forget_others(struct run *run, const GPtrArray *names)
{
	g_auto(GStrv) groups = g_key_file_get_groups(run->marks, NULL);

	for (char **group = groups; *group; group++) {
		bool known = false;

		for (guint i = 0; i < names->len; i++)
			known = known ||
				!strcmp(((struct volume_name *)names->pdata[i])->name, *group);
		if (!known)
			run->changed |= g_key_file_remove_group(run->marks, *group, NULL);
	}
}

/* Those that have a hook and whose retriever answers.  NULL with a line on stderr. */
static struct ask_all *ask_hook(const struct ctl *ctl, const GPtrArray *names)
{
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	g_auto(GStrv) list = NULL;
	struct ctl all = *ctl;
	struct ask_all *crowd;

	for (guint i = 0; i < names->len; i++)
		g_strv_builder_add(builder, ((struct volume_name *)names->pdata[i])->name);
	all.volumes = list = g_strv_builder_end(builder);
	crowd = ask_all_new(&all);
	if (crowd) {
		ask_all_ask(crowd, "status");
		ask_all_wait(crowd, g_get_monotonic_time() + ANSWER_US);
	}
	return crowd;
}

/* -1 with a line on stderr. */
static int lock(const char *file)
{
	g_autofree char *path = g_strconcat(file, ".lock", NULL);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB)) {
		ctl_complain("hooks: %s: %s%s", path, g_strerror(errno),
			     fd < 0 ? "; name another file with --marks"
				    : "; another run has it: wait for its end");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static void save_hook(struct run *run)
{
	g_autofree char *text = g_key_file_to_data(run->marks, NULL, NULL);
	g_autoptr(GError) error = NULL;

	if (run->changed &&
	    !g_file_set_contents_full(run->file, text, -1,
				      G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE,
				      0600, &error)) {
		ctl_complain("hooks: %s; the hooks that ran are run again until it can be written",
			     error->message);
		run->failed = true;
	}
}

static bool has_none(const struct volume_name *name)
{
	for (int i = 0; i < HOOKS; i++)
		if (name->hooks[i])
			return false;
	return true;
}

/* A volume whose retriever does not answer has no news: systemd knows of a service that fails. */
enum ctl_exit ctl_hooks(const struct ctl *ctl)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) names = config_names(ctl->config_file, &error);
	g_autoptr(GKeyFile) marks = g_key_file_new();
	struct run run = {.file = ctl->marks ? ctl->marks : MARKS, .marks = marks};
	struct ask_all *crowd;
	int fd;

	if (!names) {
		ctl_complain("%s", error->message);
		return CTL_USAGE;
	}
	fd = lock(run.file);
	if (fd < 0)
		return CTL_REFUSED;
	if (!g_key_file_load_from_file(marks, run.file, G_KEY_FILE_NONE, &error) &&
	    !g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
		ctl_complain("hooks: %s: %s; remove it, and what is so is told once more", run.file,
			     error->message);
		close(fd);
		return CTL_REFUSED;
	}
	forget_others(&run, names);
	for (guint i = names->len; i-- > 0;)
		if (has_none(names->pdata[i]))
			g_ptr_array_remove_index(names, i);
	run.loop = g_main_loop_new(NULL, FALSE);
	crowd = ask_hook(ctl, names);
	for (guint i = 0; crowd && i < names->len; i++)
		if (crowd->members[i].reply)
			look_at_hook(&run, names->pdata[i], crowd->members[i].reply);
	if (run.under_way)
		g_main_loop_run(run.loop);
	save_hook(&run);
	ask_all_free(crowd);
	g_main_loop_unref(run.loop);
	close(fd);
	return !crowd ? CTL_USAGE : run.failed ? CTL_REFUSED : CTL_OK;
}
