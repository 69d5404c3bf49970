/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Abandons a migration: clients are to go on with the old server, which is not touched.
 *
 * What exists here alone is not removed unasked: what clients changed and nobody carried back, what
 * was in the root before, what is set aside, and whole files that nobody has compared with the old
 * server's, which may have been changed there since.  After a kill the command is given again, and
 * goes on (removal.h has the order); the guard is ended last.
 */
#include "ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/record.h"
#include "ctl/abandon/compared.h"
#include "ctl/abandon/removal.h"
#include "ctl/rollback/ledger.h"
#include "ctl/rollback/run.h"
#include "journal/store/close.h"
#include "journal/store/live.h"
#include "journal/store/reader.h"
#include "lib/base/text.h"
#include "lib/config/attached.h"
#include "lib/config/config.h"
#include "lib/report/omissions.h"
#include "retriever/volume/source_bound.h"

#define SHOWN	  20 /* changes */
#define SETTLE_MS 60000
#define OLD_US	  (15 * G_USEC_PER_SEC)
#define CLUSTERED "/var/lib/quickmigrate/%s.cluster"

static gboolean opt_discard, opt_keep;

struct abandon {
	const struct ctl *ctl;
	const struct volume_config *config;
	int root_fd;
	struct removal found;
	struct ledger *ledger; /* NULL: nothing was */
	uint64_t changed;      /* objects whose changes by clients would be lost */
	char *unknown;	       /* why `changed` cannot be told; NULL: it can */
	bool compared;	       /* whole files are the same there, as far as anybody can tell */
};

static void clear_abandon(struct abandon *abandon)
{
	removal_clear(&abandon->found);
	if (abandon->ledger)
		ledger_close(abandon->ledger);
	if (abandon->root_fd >= 0)
		close(abandon->root_fd);
	g_free(abandon->unknown);
}

/* ---- what clients changed -------------------------------------------------------------------- */

/* Whether a change would be lost: it was not carried back and, with --keep, is of a file that does
 * not stay. */
static bool is_lost_change(void *arg, const struct journal_row *row)
{
	const struct abandon *abandon = arg;
	struct stat st;
	int fd;
	bool lost;

	if (abandon->ledger && ledger_is_done(abandon->ledger, &row->handle, row->generation))
		return false;
	if (!opt_keep)
		return true;
	fd = migrate_binding_open(abandon->root_fd, &row->handle, O_PATH | O_CLOEXEC);
	lost = fd >= 0 && fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode) &&
	       migrate_has_record(fd) != 0;
	if (fd >= 0)
		close(fd);
	return lost;
}

static bool count_lost_changes(const struct abandon *abandon, struct journal_reader *reader,
			       uint64_t *count, GError **error)
{
	struct ctl quiet = *abandon->ctl;

	quiet.json = false;
	return ctl_list_changes(&quiet, abandon->config, reader, is_lost_change, (void *)abandon, 0,
				count, error);
}

static bool list_lost_changes(struct abandon *abandon, struct journal_reader *reader,
			      GError **error)
{
	const struct ctl *ctl = abandon->ctl;
	const int64_t asked = journal_realtime();
	g_autofree char *dir = rollback_directory(abandon->config);
	struct journal_state state;
	uint64_t listed;

	if (!journal_settle(reader, true, -1, error) || !journal_state(reader, &state, error))
		return false;
	if (state.full || state.unread || (!state.complete && state.gap < asked))
		abandon->unknown = g_strdup("the journal may lack some");
	if (!abandon->ledger && g_file_test(dir, G_FILE_TEST_IS_DIR))
		abandon->ledger = ledger_open(dir, state.id, false, NULL);
	if (!count_lost_changes(abandon, reader, &abandon->changed, error))
		return false;
	if (abandon->changed && !ctl->json)
		printf("%s: what clients changed and nobody carried back:\n", ctl->volume);
	if (!ctl_list_changes(ctl, abandon->config, reader, is_lost_change, abandon,
			      ctl->json ? UINT64_MAX : SHOWN, &listed, error))
		return false;
	if (abandon->changed > SHOWN && !ctl->json)
		printf("  ... and %" G_GUINT64_FORMAT " more: --json lists all\n",
		       abandon->changed - SHOWN);
	return true;
}

static void look_at_changes(struct abandon *abandon)
{
	g_autoptr(GError) error = NULL;
	struct journal_reader *reader = NULL;

	if (journal_is_closed(abandon->config->journal))
		abandon->unknown = g_strdup("the journal was closed (" PROGRAM " commit)");
	else if (!(reader = journal_open(abandon->config->journal, &error)) ||
		 !list_lost_changes(abandon, reader, &error))
		abandon->unknown = g_strdup(error->message);
	journal_close(reader);
}

/* There is one of a root that was attached alone. */
static void look_at_journal_of_before(struct abandon *abandon)
{
	struct journal_reader *reader = journal_open(abandon->config->journal, NULL);
	struct journal_state state;

	if (!reader)
		return;
	if (journal_state(reader, &state, NULL))
		abandon->changed = state.rows;
	abandon->unknown = g_strdup_printf("nothing of the migration is in %s: mount its file "
					   "system, if it is on another one",
					   abandon->config->root);
	journal_close(reader);
}

static GAsyncQueue *answers;

static void *ask_old_server(void *link)
{
	const enum ctl_exit result = ctl_ask(link, "source", true, NULL);

	ctl_link_close(link);
	g_async_queue_push(answers, GINT_TO_POINTER(result + 1));
	return NULL;
}

/* Whether the old server answers a request now.  The retriever waits for it however long that
 * takes; this does not.  Closes the link. */
static bool is_old_server_there(struct ctl_link *link)
{
	answers = g_async_queue_new();
	g_thread_unref(g_thread_new("old", ask_old_server, link));
	return g_async_queue_timeout_pop(answers, OLD_US) == GINT_TO_POINTER(CTL_OK + 1);
}

/* Whether all whole files were compared with the old server, and it is there. */
static bool was_compared(const struct ctl *ctl)
{
	enum ctl_exit result;
	struct ctl_link *link = ctl_link_open(ctl, ctl->volume, &result);
	g_autoptr(GKeyFile) status = NULL, proof = NULL;
	bool compared;

	if (!link)
		return false;
	compared = !ctl_ask(link, "status", true, &status) &&
		   !ctl_ask(link, "proof", true, &proof) &&
		   compared_whole(status, proof, g_get_real_time() / G_USEC_PER_SEC) &&
		   !ctl_number(status, "now", "source-away-seconds");
	if (compared)
		return is_old_server_there(link);
	ctl_link_close(link);
	return false;
}

/* ---- what is said before --------------------------------------------------------------------- */

static void print_what(const struct abandon *abandon)
{
	FILE *out = abandon->ctl->json ? stderr : stdout;
	const struct removal *found = &abandon->found;
	const char *name = abandon->ctl->volume, *root = abandon->config->root;
	g_autofree char *bytes = ctl_bytes(found->whole_bytes);

	if (!found->attached)
		fprintf(out, "%s: not attached: in %s nothing is removed%s\n", name, root,
			migrate_has_private(abandon->root_fd) ? " but the copy" : "");
	else
		fprintf(out,
			"%s: of %s " TEXT_COUNT " whole (%s): they %s; %" G_GUINT64_FORMAT
			" are not: they are removed\n",
			name, root, TEXT_COUNTED(found->whole, "files are"), bytes,
			opt_keep ? "stay" : "are removed", found->unfinished);
	if (found->mounts)
		fprintf(out, "%s: %s/%s stays: a subvolume, or something is mounted on it%s\n",
			name, root, found->first_mount, found->mounts > 1 ? "; and others" : "");
}

/* Whether something is here that is nowhere else, or may be; a line for each kind. */
static bool say_what_is_here_alone(const struct abandon *abandon)
{
	const char *name = abandon->ctl->volume;
	const struct removal *found = &abandon->found;
	bool alone = false;

	if (abandon->changed)
		alone = !ctl_complain("%s: " TEXT_COUNT
				      " that clients changed %s not on the old server as "
				      "here: carry them back (" PROGRAM " rollback %s)",
				      name, TEXT_COUNTED(abandon->changed, "objects"),
				      abandon->changed == 1 ? "is" : "are", name);
	if (abandon->unknown)
		alone = !ctl_complain("%s: what clients changed cannot be told: %s", name,
				      abandon->unknown);
	if (found->aside && !opt_keep)
		alone = !ctl_complain("%s: " TEXT_COUNT " set aside: see " PROGRAM " aside %s",
				      name, TEXT_COUNTED(found->aside, "objects are"), name);
	if (!found->attached)
		return alone;
	if (found->adopted && !opt_keep)
		alone = !ctl_complain("%s: %s had files before it was attached (--adopt)", name,
				      abandon->config->root);
	if (found->whole && !found->adopted && !abandon->compared && !opt_keep)
		alone = !ctl_complain(
			"%s: nobody has compared the whole files with the old server, all of them "
			"and in the last %d days, or it does not answer now: if it was changed "
			"since, it lacks them: " PROGRAM " verify --content %s",
			name, COMPARED_DAYS, name);
	return alone;
}

static enum ctl_exit check_loss(const struct abandon *abandon)
{
	const char *name = abandon->ctl->volume;

	if (!say_what_is_here_alone(abandon) || opt_discard)
		return CTL_OK;
	ctl_complain("%s: nothing was done: --discard removes them all the same%s", name,
		     opt_keep		       ? ""
		     : abandon->found.attached ? ", --keep leaves what is whole where it is"
		     : abandon->found.aside    ? ", --keep moves it to " REMOVAL_KEPT_ASIDE
					       : "");
	return CTL_REFUSED;
}

/* ---- programs in the way --------------------------------------------------------------------- */

struct serving {
	const char *volume;
	bool found;
};

static bool say_server(void *arg, pid_t pid)
{
	struct serving *serving = arg;
	g_autofree char *path = g_strdup_printf("/proc/%d/comm", (int)pid), *program = NULL;

	serving->found = true;
	if (!g_file_get_contents(path, &program, NULL, NULL))
		program = g_strdup("a file server of a container");

	const bool smb = g_str_has_prefix(g_strchomp(program), "smbd");

	ctl_complain("%s: %s (%d) serves it: take it out of %s, then: systemctl restart %s",
		     serving->volume, program, (int)pid, smb ? "smb.conf" : "ganesha.conf",
		     smb ? "smbd" : "nfs-ganesha");
	return true;
}

/* Whether somebody serves the volume without the layer, as status says; a line for each kind. */
static bool is_served_past(const struct abandon *abandon)
{
	const char *name = abandon->ctl->volume;
	g_autoptr(GKeyFile) status = g_key_file_new();
	struct ctl ctl = *abandon->ctl;

	ctl.socket = NULL; /* it is the configured volume's root that is emptied */
	ctl_guard_state(&ctl, status);
	ctl_doors_state(&ctl, status);

	g_autofree char *past = ctl_text(status, "doors", "without-layer");
	g_autofree char *exported = ctl_text(status, "guard", "exported");
	if (*past)
		ctl_complain("%s: %s serves it without the layer: take it out of its configuration "
			     "and restart it",
			     name, past);
	if (*exported)
		ctl_complain("%s: the kernel's NFS server exports %s: take it out of /etc/exports, "
			     "then: exportfs -ra",
			     name, exported);
	return *past || *exported;
}

/* Whether a file server serves the volume, with its retriever or without; a line for each one. */
static bool is_served(const struct abandon *abandon)
{
	struct serving serving = {.volume = abandon->ctl->volume};

	migrate_each_door(abandon->config->socket, say_server, &serving);
	return (abandon->found.attached && is_served_past(abandon)) || serving.found;
}

/* Whether the root is this volume's, and not one that was mounted over it or in its place; a line
 * if it is not. */
static bool is_this_volume(const struct abandon *abandon)
{
	const struct volume_config *config = abandon->config;
	const char *name = abandon->ctl->volume, *root = config->root;
	struct journal_reader *reader = NULL;
	const int private = openat(abandon->root_fd, MIGRATE_PRIVATE_DIR,
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool same = private < 0 || !source_bound_differs(private, config->source);

	if (private >= 0)
		close(private);
	if (!same)
		return ctl_complain("%s: what is in %s came from another source than %s: see that "
				    "the right file system is mounted there: nothing was done",
				    name, root, config->source);
	if (abandon->found.attached)
		reader = journal_open(config->journal, NULL);
	same = !reader || journal_is_of(reader, abandon->root_fd);
	journal_close(reader);
	return same || ctl_complain("%s: the journal in %s is of another directory than what %s is "
				    "now: see that the right file system is mounted there: nothing "
				    "was done",
				    name, config->journal, root);
}

static enum ctl_exit check_state(const struct abandon *abandon)
{
	const char *name = abandon->ctl->volume;
	g_autofree char *clustered = g_strdup_printf(CLUSTERED, name);

	if (access(clustered, F_OK) == 0) {
		ctl_complain("%s: a cluster has it: remove its resources there, and %s on each "
			     "node, first",
			     name, clustered);
		return CTL_REFUSED;
	}
	if (!abandon->found.attached && !migrate_has_private(abandon->root_fd) &&
	    omissions_was_attached(abandon->root_fd)) {
		ctl_complain(
			"%s: it is finished: what is in %s is the only copy, and stays; there is "
			"nothing to abandon",
			name, abandon->config->root);
		return CTL_REFUSED;
	}
	return is_served(abandon) || !is_this_volume(abandon) ? CTL_REFUSED : CTL_OK;
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Runs systemctl for all of the units; whether that went well.  Without systemd there is nothing to
 * do. */
static bool run_systemctl(const char *volume, const char *verb, const char *const *units)
{
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;
	int status;

	if (access("/run/systemd/system", F_OK) < 0)
		return true;
	g_ptr_array_add(argv, g_strdup("systemctl"));
	g_ptr_array_add(argv, g_strdup("-q"));
	g_ptr_array_add(argv, g_strdup(verb));
	for (; *units; units++) {
		g_auto(GStrv) parts = g_strsplit(*units, "@", 2);

		g_ptr_array_add(argv, g_strdup_printf("%s@%s%s", parts[0], volume, parts[1]));
	}
	g_ptr_array_add(argv, NULL);
	return g_spawn_sync(NULL, (char **)argv->pdata, NULL,
			    G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
			    NULL, &status, &error) &&
	       g_spawn_check_wait_status(status, NULL);
}

static const char *const stopped_first[] = {
	"migrate-crawler@.timer",     "migrate-crawler-stop@.timer",
	"migrate-copy@.timer",	      "migrate-verify@.timer",
	"migrate-crawler@.service",   "migrate-copy@.service",
	"migrate-verify@.service",    "migrate-rollback@.service",
	"migrate-retriever@.service", NULL};
static const char *const guards[] = {"migrate-guard@.service", NULL};
static const char *const stopped_last[] = {"migrate-journal@.service", "migrate-guard@.service",
					   NULL};

static bool end_units(const char *volume, const char *const *units)
{
	const bool stopped = run_systemctl(volume, "stop", units);
	const bool disabled = run_systemctl(volume, "disable", units);

	run_systemctl(volume, "reset-failed", units);
	return stopped && disabled;
}

/* ---- doing it -------------------------------------------------------------------------------- */

/* Refuses to remove unasked what came since a run that goes on was begun. */
static enum ctl_exit check_made(const struct abandon *abandon)
{
	const struct removal *found = &abandon->found;
	const char *name = abandon->ctl->volume;

	if (!found->made || opt_discard)
		return CTL_OK;
	ctl_complain("%s: since it was begun " TEXT_COUNT " made or written in %s:", name,
		     TEXT_COUNTED(found->made, "files were"), abandon->config->root);
	for (guint i = 0; i < found->first_made->len; i++) {
		g_autofree char *path = text_line(found->first_made->pdata[i]);

		fprintf(stderr, "  %s\n", path);
	}
	ctl_complain("%s: nothing more is removed: move them away, or --discard removes them, too",
		     name);
	return CTL_REFUSED;
}

/* Looks at the root again, for files that came since the run was begun. */
static bool is_nothing_made(struct abandon *abandon)
{
	if (opt_discard)
		return true;
	removal_clear(&abandon->found);
	return removal_look(abandon->root_fd, &abandon->found) == 0 && !check_made(abandon);
}

/* Whether the volume is as it was when it was looked at.  The journal still runs. */
static bool is_as_it_was(struct abandon *abandon)
{
	struct journal_reader *reader;
	uint64_t changed = 0;
	bool same;

	if (abandon->found.begun)
		return is_nothing_made(abandon);
	if (opt_discard || !abandon->found.attached)
		return true;
	reader = journal_open(abandon->config->journal, NULL);
	same = reader && journal_settle(reader, false, SETTLE_MS, NULL) &&
	       count_lost_changes(abandon, reader, &changed, NULL) && !changed;
	journal_close(reader);
	return same || ctl_complain("%s: something was changed there meanwhile: give the command "
				    "again",
				    abandon->ctl->volume);
}

static bool remove_files(const struct abandon *abandon)
{
	const char *name = abandon->ctl->volume;
	g_autofree char *failed = NULL;
	const int ret = removal_run(abandon->root_fd, opt_keep, &failed);

	if (ret == -EBUSY && !failed)
		return ctl_complain("%s: its retriever still runs: end it, then give the command "
				    "again",
				    name);
	return !ret ||
	       ctl_complain("%s/%s: cannot be removed: %s: see to it%s, then give the command "
			    "again",
			    abandon->config->root, failed ? failed : "", g_strerror(-ret),
			    ret == -EPERM ? " (chattr -R -i, where files are immutable)" : "");
}

/* Keeps programs of this machine from unfinished objects until all of these are gone. */
static enum ctl_exit remove_volume(struct abandon *abandon)
{
	const char *name = abandon->ctl->volume;
	g_autoptr(GError) error = NULL;

	if (abandon->config->guard != GUARD_NO)
		run_systemctl(name, "start", guards);
	if (!end_units(name, stopped_first)) {
		ctl_complain(
			"%s: its units do not end: see systemctl list-units 'migrate-*@%s*', then "
			"give the command again",
			name, name);
		return CTL_REFUSED;
	}
	/* A file server that had started before its configuration was changed may have begun to
	 * serve it again; and somebody may have changed it since the question was asked. */
	ctl_doors_forget();
	if (is_served(abandon) || !is_as_it_was(abandon) || !is_this_volume(abandon) ||
	    !remove_files(abandon))
		return CTL_REFUSED;
	const int ret = attached_note(abandon->config, false);
	if (ret)
		ctl_complain(REPORT_DIR "/%s.attached: %s: remove it", name, g_strerror(-ret));
	if (!journal_close_for_good(abandon->config->journal, &error) &&
	    !g_error_matches(error, JOURNAL_ERROR, ENOENT)) {
		ctl_complain("%s", error->message);
		return CTL_REFUSED;
	}
	/* The journal's process does not begin a new journal before it is stopped; that of the next
	 * migration may. */
	if (end_units(name, stopped_last) && journal_reopen(abandon->config->journal, NULL))
		return CTL_OK;
	ctl_complain("%s: its guard does not end: systemctl stop migrate-guard@%s", name, name);
	return CTL_REFUSED;
}

static void print_done(const struct abandon *abandon)
{
	const char *name = abandon->ctl->volume, *root = abandon->config->root;
	FILE *out = abandon->ctl->json ? stderr : stdout;

	fprintf(out, "%s: abandoned; %s %s\n", name, root,
		migrate_is_vacant(abandon->root_fd, false) ? "is empty"
							   : "has what was left there");
	fprintf(out,
		"%s: what still names it: [volume %s] in %s, the export or share in the file "
		"servers' configuration, and systemctl revert migrate-retriever@%s "
		"migrate-guard@%s\n",
		name, name, abandon->ctl->config_file ? abandon->ctl->config_file : CONFIG_FILE,
		name, name);
}

static enum ctl_exit confirm_abandon(const struct abandon *abandon)
{
	return ctl_confirm(abandon->ctl, "%s: the migration is abandoned%s", abandon->ctl->volume,
			   !abandon->found.attached ? ""
			   : opt_keep		    ? ", and what is unfinished is removed"
						    : ", and its root is emptied");
}

static enum ctl_exit look_at_volume(struct abandon *abandon)
{
	int ret;

	abandon->root_fd = open(abandon->config->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret = abandon->root_fd < 0 ? -errno : removal_look(abandon->root_fd, &abandon->found);
	if (ret) {
		ctl_complain("%s: cannot be looked at: %s", abandon->config->root,
			     g_strerror(-ret));
		return CTL_REFUSED;
	}
	ret = (int)check_state(abandon);
	if (ret)
		return (enum ctl_exit)ret;
	if (abandon->found.begun) {
		fprintf(stderr, "%s: goes on with what was begun before\n", abandon->ctl->volume);
		return check_made(abandon);
	}
	if (abandon->found.attached) {
		look_at_changes(abandon);
		abandon->compared = was_compared(abandon->ctl);
	} else {
		look_at_journal_of_before(abandon);
	}
	print_what(abandon);
	return check_loss(abandon);
}

static enum ctl_exit run_abandon(const struct ctl *ctl)
{
	struct volume_config *config = ctl_config(ctl);
	struct abandon abandon = {.ctl = ctl, .config = config, .root_fd = -1};
	enum ctl_exit result;

	if (!config)
		return CTL_USAGE;
	result = look_at_volume(&abandon);
	if (!result && !ctl->dry_run)
		result = confirm_abandon(&abandon);
	if (!result && !ctl->dry_run)
		result = remove_volume(&abandon);
	if (!result && !ctl->dry_run)
		print_done(&abandon);
	clear_abandon(&abandon);
	config_free(config);
	return result;
}

static const GOptionEntry abandon_options[] = {
	CTL_OPTION_DRY_RUN,
	CTL_OPTION_YES,
	CTL_FLAG("keep", opt_keep, "what is whole stays where it is"),
	CTL_FLAG("discard", opt_discard, "remove what is here alone, too"),
	CTL_OPTION_JSON,
	{NULL},
};

CTL_COMMAND(abandon, "abandon", "NAME", 1, 1,
	    "end a migration without the data, and leave an empty root",
	    .example = "abandon projects",
	    .changes = "ends the volume's units, and removes its files here alone",
	    .exits = CTL_EXITS_ALONE, .options = abandon_options);
