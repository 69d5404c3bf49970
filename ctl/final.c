/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gathers what is known of the volume for its final report. */
#include "ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"
#include "ctl/report/make.h"
#include "ctl/report/tree.h"
#include "lib/base/filetree.h"
#include "lib/base/text.h"
#include "lib/config/config.h"
#include "lib/report/losses.h"
#include "lib/report/manifest/finding.h"
#include "retriever/progress/history.h"
#include "retriever/volume/proof_place.h"

struct making {
	const struct ctl *ctl;
	struct volume_config *config;
	struct final *final;
	const char *output;
	int dir_fd;  /* output */
	int root_fd; /* the volume's */
	GError *error;
};

/* Where a file of the migration is: in .migrate/, or kept after its end.  Takes kept; g_free. */
static char *private_path(const struct making *m, const char *name, char *kept)
{
	if (!migrate_has_private(m->root_fd))
		return kept;
	g_free(kept);
	return g_build_filename(m->config->root, MIGRATE_PRIVATE_DIR, name, NULL);
}

/* ---- what is known --------------------------------------------------------------------------- */

static void add_failure(void *arg, const char *path, const char *reason)
{
	final_add(arg, FINAL_FAILED, path, reason);
}

/* Adds the present moment as the end of the progress. */
static void add_now(struct making *m, GKeyFile *status)
{
	const struct history_point now = {
		.time = m->final->made,
		.objects_found = (gint64)(ctl_number(status, "counters", "directories-found") +
					  ctl_number(status, "counters", "files-found")),
		.objects_whole = (gint64)(ctl_number(status, "counters", "directories-whole") +
					  ctl_number(status, "counters", "files-whole")),
		.bytes_found = (gint64)ctl_number(status, "counters", "bytes-found"),
		.bytes_whole = (gint64)ctl_number(status, "counters", "bytes-whole"),
	};

	if (strcmp(m->final->state, "finished") != 0)
		history_add(m->final->history, &now);
}

/* The retriever may be gone for good: then only the files on the disk are used. */
static enum ctl_exit ask_retriever(struct making *m)
{
	g_autoptr(GKeyFile) status = NULL;
	enum ctl_exit result;
	struct ctl_link *link = ctl_link_open(m->ctl, m->ctl->volume, &result);

	if (!link)
		return result;
	result = ctl_ask(link, "status", true, &status);
	if (result == CTL_NO_RETRIEVER && !ctl_link_is_silent(link)) {
		m->final->state = g_strdup("the retriever does not run");
		ctl_link_close(link);
		return CTL_OK;
	}
	if (result) {
		ctl_ask(link, "status", false, NULL); /* for the message */
	} else {
		m->final->state = ctl_text(status, "volume", "state");
		add_now(m, status);
		result = ctl_each_error(m->ctl, link, add_failure, m->final);
	}
	ctl_link_close(link);
	return result;
}

static void add_final_loss(struct making *m, const struct loss_line *line)
{
	g_autofree char *what = g_strdup_printf("%s: %s", loss_kind_name(line->kind), line->text);

	if (line->kind == LOSS_NAME || line->kind == LOSS_RULE)
		final_add(m->final, FINAL_SKIPPED, line->path, line->text);
	else
		final_add(m->final, FINAL_LOST,
			  line->kind == LOSS_VOLUME ? "all objects" : line->path, what);
}

static void read_losses(struct making *m)
{
	g_autofree char *path = private_path(m, LOSSES_FILE, g_strdup(m->config->report));
	FILE *file = fopen(path, "re");
	struct loss_line line;
	char *text = NULL;
	size_t room = 0;

	while (file && getline(&text, &room, file) > 0) {
		if (loss_parse(text, &line)) {
			add_final_loss(m, &line);
			loss_line_clear(&line);
		}
	}
	free(text);
	if (file)
		fclose(file);
}

static void read_history(struct making *m)
{
	g_autofree char *kept = g_strconcat(m->config->report, HISTORY_KEPT, NULL), *text = NULL;
	g_autofree char *path = private_path(m, HISTORY_FILE, g_steal_pointer(&kept));

	if (g_file_get_contents(path, &text, NULL, NULL))
		history_parse(m->final->history, text);
	m->final->history->interval = 1; /* the last point may be younger */
}

/* Reads what `verify --content` says about its last finished run. */
static void read_run(struct making *m, const char *directory)
{
	g_autofree char *path = g_build_filename(directory, PROOF_RUN, NULL);
	g_autoptr(GKeyFile) run = g_key_file_new();
	struct final_comparison *c = &m->final->comparison;

	if (!g_key_file_load_from_file(run, path, G_KEY_FILE_NONE, NULL))
		return;
	c->began = (int64_t)ctl_number(run, "run", "began");
	c->ended = (int64_t)ctl_number(run, "run", "ended");
	c->any = c->ended != 0;
	c->sample = (unsigned)ctl_number(run, "run", "sample");
	c->seed = ctl_number(run, "run", "seed");
	c->files = ctl_number(run, "run", "files-read");
	c->fraction = CTL_FRACTION * 100;
	c->confidence = ctl_confidence(c->files);
	c->told_by = ctl_text(run, "run", "told-by");
	c->bytes = ctl_number(run, "run", "bytes");
	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++)
		c->status[i] = ctl_number(run, "run", proof_status_name(i));
}

/* ---- the manifest ---------------------------------------------------------------------------- */

static void add_finding(struct making *m, const char *line, size_t len)
{
	struct proof_finding finding;
	g_autofree char *what = NULL, *since = NULL;

	if (!proof_finding_parse(line, len, &finding))
		return;
	since = final_time(finding.since);
	what = g_strdup_printf("%s: %s; since %s; %s", proof_kind_name(finding.kind), finding.text,
			       since, proof_kind_remedy(finding.kind));
	g_auto(GStrv) parts = g_strsplit(what, "NAME", -1);
	g_autofree char *said = g_strjoinv(m->ctl->volume, parts);
	final_add(m->final, FINAL_DIFFERENT, finding.path, said);
	proof_finding_clear(&finding);
}

/* An object that the old server does not have was not read when both sides were compared. */
static bool lacks_hash(const struct proof_entry *entry)
{
	return S_ISREG(entry->mode) && !*entry->sha256 &&
	       (entry->status == PROOF_MADE || entry->status == PROOF_CHANGED);
}

static gboolean feed_entry(struct making *m, struct proof_sorter *sorter, const char *line,
			   size_t len)
{
	struct proof_entry entry;
	GString *hashed;
	gboolean ok;

	if (!proof_entry_parse(line, len - 1, &entry))
		return proof_sorter_add(sorter, line, len, &m->error); /* which is refused later */
	hashed = g_string_new(NULL);
	if (lacks_hash(&entry) && tree_hash(m->root_fd, &entry)) {
		proof_entry_format(hashed, &entry);
		line = hashed->str;
		len = hashed->len;
	}
	ok = proof_sorter_add(sorter, line, len, &m->error);
	g_string_free(hashed, TRUE);
	proof_entry_clear(&entry);
	return ok;
}

static gboolean feed_line(struct making *m, struct proof_sorter *sorter, const char *line,
			  size_t len)
{
	size_t mark = strlen(PROOF_MARK);

	if (line[len - 1] != '\n')
		return TRUE; /* cut off by a crash */
	if (*line != '#')
		return feed_entry(m, sorter, line, len);
	if (!strncmp(line, PROOF_MARK, mark))
		add_finding(m, line + mark, len - mark - 1);
	return TRUE;
}

static gboolean feed_run(struct making *m, struct proof_sorter *sorter, const char *directory)
{
	g_autofree char *path = g_build_filename(directory, PROOF_ENTRIES, NULL);
	FILE *file = fopen(path, "re");
	gboolean ok = file != NULL;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	while (ok && (len = getline(&line, &room, file)) > 0)
		ok = feed_line(m, sorter, line, len);
	if (!file || ferror(file)) {
		g_set_error(&m->error, MANIFEST_ERROR, 0, "%s: %s", path, g_strerror(errno));
		ok = FALSE;
	}
	free(line);
	if (file)
		fclose(file);
	return ok;
}

static void add_unread(void *arg, const char *path, const char *why)
{
	final_add(arg, FINAL_FAILED, path, why);
}

/* Feeds everything that is to be said about objects, one line for each. */
static gboolean feed_objects(struct making *m, struct proof_sorter *sorter)
{
	g_autofree char *proof = private_path(m, PROOF_DIR, proof_place_path(m->config));

	read_run(m, proof);
	if (m->final->comparison.any)
		return feed_run(m, sorter, proof);
	m->final->unlisted = m->final->lists[FINAL_SKIPPED].total;
	return tree_read(m->root_fd, false, sorter, add_unread, m->final, &m->error);
}

/* Names in the tree, its own with them; -1: not known. */
static int64_t count_names_here(int root_fd)
{
	gint64 all = own_count(root_fd, ".", G_MAXINT64);
	gint64 private = migrate_has_private(root_fd)
				 ? own_count(root_fd, MIGRATE_PRIVATE_DIR, G_MAXINT64)
				 : 0;

	return all < 0 || private < 0 ? -1 : all - private;
}

static gboolean make_files(struct making *m, const char *key)
{
	struct proof_sorter *sorter = proof_sorter_new(m->output, &m->error);
	gboolean ok = sorter && feed_objects(m, sorter);

	m->final->names_here = count_names_here(m->root_fd);
	ok = ok && report_make(m->final, m->dir_fd, sorter, key, &m->error);
	proof_sorter_free(sorter);
	return ok;
}

static enum ctl_exit make_final(struct making *m, const char *key)
{
	const char *volume = m->ctl->volume;
	g_autofree char *verdict = NULL;
	enum ctl_exit result;

	read_history(m);
	result = ask_retriever(m);
	if (result)
		return result;
	if (!strcmp(m->final->state, "unattached") || g_str_has_prefix(m->final->state, "cop")) {
		ctl_complain("%s: nothing was migrated: it is %s; attach it first: " PROGRAM
			     " attach %s",
			     volume, m->final->state, volume);
		return CTL_REFUSED;
	}
	read_losses(m);
	if (!make_files(m, key)) {
		ctl_complain("%s: the report cannot be made: %s", volume, m->error->message);
		return CTL_REFUSED;
	}
	verdict = final_verdict(m->final);
	printf("%s: %s\n%s: see %s/%s" FINAL_PAGE "%s\n", volume, verdict, volume, m->output,
	       volume, key ? "" : "; it is not signed (--sign)");
	return final_is_complete(m->final) ? CTL_OK : CTL_REFUSED;
}

static struct final *begin_final(const struct making *m, GError **error)
{
	struct final *final = final_new(m->output, error);

	if (!final)
		return NULL;
	final->volume = g_strdup(m->config->name);
	final->root = g_strdup(m->config->root);
	final->source = g_strdup(m->config->source);
	final->server = g_strdup(g_get_host_name());
	final->version = g_strdup(QUICKMIGRATE_VERSION);
	final->history = history_new();
	final->made = g_get_real_time() / G_USEC_PER_SEC;
	return final;
}

enum ctl_exit ctl_final(const struct ctl *ctl, const char *output, const char *key)
{
	struct making m = {.ctl = ctl, .output = output, .dir_fd = -1, .root_fd = -1};
	g_autoptr(GError) error = NULL;
	enum ctl_exit result = CTL_USAGE;

	signal(SIGPIPE, SIG_IGN); /* of sort */
	m.config = ctl_config(ctl);
	if (m.config) {
		mkdir(output, 0700); /* if it is there, so much the better */
		m.dir_fd = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		m.root_fd = open(m.config->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (m.dir_fd < 0 || m.root_fd < 0)
			g_set_error(&error, MANIFEST_ERROR, 0, "%s: %s",
				    m.dir_fd < 0 ? output : m.config->root, g_strerror(errno));
		else
			m.final = begin_final(&m, &error);
	}
	if (error)
		ctl_complain("%s", error->message);
	else if (m.final)
		result = make_final(&m, key);
	final_free(m.final);
	config_free(m.config);
	g_clear_error(&m.error);
	if (m.dir_fd >= 0)
		close(m.dir_fd);
	if (m.root_fd >= 0)
		close(m.root_fd);
	return result;
}
