/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl/rollback/check_tree.h"
#include "ctl/rollback/difference.h"
#include "ctl/rollback/leftovers.h"
#include "ctl/rollback/rows.h"
#include "journal/store/live.h"
#include "lib/base/text.h"
#include "lib/config/config_ids.h"

#define SETTLE_MS (600 * 1000)
#define RUNNING	  " running\n"

char *rollback_directory(const struct volume_config *config)
{
	g_autofree char *dir = g_path_get_dirname(config->report);
	g_autofree char *name = g_strconcat(config->name, ".rollback", NULL);

	return g_build_filename(dir, name, NULL);
}

void rollback_clear(struct rollback_result *result)
{
	g_clear_pointer(&result->conflicts, g_ptr_array_unref);
	g_clear_pointer(&result->losses, g_ptr_array_unref);
	g_clear_pointer(&result->planned, g_ptr_array_unref);
}

static bool wrong(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static bool wrong(GError **error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, text);
	return false;
}

/* The objects that cannot be looked at may be others by the time that the state is asked for: then
 * it would say that there are none, and still have the gap. */
static bool settle(struct journal_reader *journal, bool scan, struct journal_state *state,
		   GError **error)
{
	int64_t asked;

	do {
		asked = journal_realtime();
		if (!journal_settle(journal, scan, SETTLE_MS, error) ||
		    !journal_state(journal, state, error))
			return false;
	} while (state->gap < asked && !state->unread);
	return true;
}

/* Lists that there are objects which the journal could not look at, and which are left. */
static void add_unread(GPtrArray *conflicts, const struct journal_state *state)
{
	struct problem *problem = g_new0(struct problem, 1);

	problem->path = text_line(state->unread_path);
	problem->text = g_strdup_printf(
		"it cannot be looked at (" TEXT_COUNT " like it): what was changed in it, "
		"or below it, is not carried: check the file system of the new server, then run "
		"rollback again",
		TEXT_COUNTED(state->unread, "objects"));
	g_ptr_array_add(conflicts, problem);
}

static bool settle_again(struct journal_reader *journal, GError **error)
{
	struct journal_state state;

	return settle(journal, false, &state, error);
}

bool rollback_windows(struct tree *tree, struct plan *plan, const bool *stop,
		      struct carry_result *done, GError **error)
{
	bool good = !done || carry_out(tree, stop, done, error);

	while (good && !(stop && *stop) && rows_more(tree, done))
		good = plan_make(tree, plan, error) &&
		       (!done || carry_out(tree, stop, done, error));
	return good && (!done || *stop || rows_end(tree, error));
}

/* The ctimes that the old server's root may have, which TARGET_STAGE moves: first the one with
 * which it was left; then those that it had before, where a power cut may set it back to, as far as
 * the last one that was made durable there.  Beyond ROOT_TIMES the earliest are forgotten: it may
 * be listed as changed then, though nobody has changed it. */
#define ROOT_TIMES 16
struct root_times {
	int64_t times[ROOT_TIMES];
	unsigned count;
};

static void add_time(struct root_times *root, int64_t time)
{
	if (root->count && root->times[0] == time)
		return;
	root->count = MIN(root->count + 1, ROOT_TIMES);
	memmove(root->times + 1, root->times, (root->count - 1) * sizeof(time));
	root->times[0] = time;
}

/* They are kept with whether a run has begun since, and did not end. */
static char *root_file(const struct volume_config *config)
{
	g_autofree char *dir = rollback_directory(config);

	return g_build_filename(dir, "root", NULL);
}

static void put_root(const struct volume_config *config, int64_t id, const struct root_times *root,
		     const char *end)
{
	g_autofree char *path = root_file(config);
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_append_printf(text, "%" PRId64, id);
	for (unsigned i = 0; i < root->count; i++)
		g_string_append_printf(text, " %" PRId64, root->times[i]);
	g_string_append(text, end);
	/* before anything is changed there, whatever loses its power */
	g_file_set_contents_full(path, text->str, -1,
				 G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0600,
				 NULL);
}

/* *ctime: 0 where it is not known; now, where that is one of those noted. */
static void get_root(const struct volume_config *config, int64_t id, int64_t now,
		     struct root_times *root, int64_t *ctime, bool *killed)
{
	g_autofree char *path = root_file(config), *text = NULL;
	char *at, *end;

	root->count = 0;
	*ctime = 0;
	*killed = false;
	if (!g_file_get_contents(path, &text, NULL, NULL) || g_ascii_strtoll(text, &at, 10) != id)
		return;
	*killed = g_str_has_suffix(text, RUNNING);
	for (; root->count < ROOT_TIMES; root->count++, at = end) {
		const int64_t time = g_ascii_strtoll(at, &end, 10);

		if (end == at)
			break;
		root->times[root->count] = time;
		if (!root->count || time == now)
			*ctime = time;
	}
}

/* The root's ctime now; -1: somebody else has changed it. */
static int64_t root_now(struct target *target, bool changed)
{
	struct stat st;

	return !changed && !target_stat(target, "", &st) ? migrate_ns(st.st_ctim) : -1;
}

/* same: it is the old server's tree; or else, as far as its ctime tells.  What a run that did not
 * end (!ok) has changed is durable before the note says where it ended; a plan makes nothing
 * durable. */
static void end_target(const struct volume_config *config, int64_t id, const struct tree *tree,
		       struct root_times *root, bool same, bool plan, bool ok)
{
	const bool changed = tree->root_ctime < 0 && !tree->root_given;
	const bool known = same || tree->root_ctime == target_root_ctime(tree->target);

	const bool durable =
		!plan && ((ok && !tree_stops(tree, NULL)) || !target_sync(tree->target));
	if (durable || changed)
		root->count = 0;
	add_time(root, root_now(tree->target, changed));
	target_end(tree->target);
	add_time(root, root_now(tree->target, changed));
	if (known)
		put_root(config, id, root, "\n");
}

/* If a run is killed before it changes anything, the ctimes alone tell. */
static bool run_tree(struct tree *tree, int64_t id, struct root_times *root,
		     const struct rollback_options *options, struct rollback_result *result,
		     GError **error)
{
	const bool changed = !difference_root_is_as_left(tree);

	/* a power cut must not set it back to a time in the midst of that run, which is forgotten
	 * now */
	if (tree->killed)
		target_sync(tree->target);
	if (tree->killed || changed)
		root->count = 0;
	add_time(root, changed ? -1 : target_root_ctime(tree->target));
	add_time(root, root_now(tree->target, changed));
	put_root(tree->config, id, root, "\n");
	bool ok = plan_make(tree, &result->plan, error);
	if (ok && !options->plan)
		put_root(tree->config, id, root, RUNNING);
	ok = ok && rollback_windows(tree, &result->plan, options->stop,
				    options->plan ? NULL : &result->done, error);

	result->conflicts = g_ptr_array_ref(tree->conflicts);
	result->losses = g_ptr_array_ref(tree->losses);
	result->planned = g_steal_pointer(&tree->planned);
	return ok;
}

static bool run_old(const struct volume_config *config, const struct rollback_options *options,
		    struct journal_reader *journal, struct journal_state *state,
		    struct target *target, struct rollback_result *result, GError **error)
{
	g_autofree char *dir = rollback_directory(config);
	struct ledger *ledger = ledger_open(dir, state->id, !options->plan, error);
	const bool first = ledger && !ledger_was_scanned(ledger);
	/* What could not be looked at may be well by now. */
	const bool look = !options->scan && (first || (state->unread && !options->serving));
	struct root_times root = {0};
	struct tree *tree = NULL;
	int64_t skew;
	bool ok = false, same = false;

	/* what sends no notification counts at the latest now */
	if (ledger && (!look || settle(journal, true, state, error)) &&
	    target_begin(target, &skew, error)) {
		/* by our clock as it goes now: a change of another's that looks later than it was
		 * is a conflict at worst */
		tree = tree_open(config, journal, ledger, target, state->since - state->back + skew,
				 error);
		if (tree) {
			tree->settle = settle_again;
			tree->stop = options->stop;
			tree->serving = options->serving;
			tree->unscanned = state->unread;
			get_root(config, state->id, target_root_ctime(target), &root,
				 &tree->root_ctime, &tree->killed);
			tree->planned = options->list ? tree_problems_new() : NULL;
		}
		same = tree && check_same_tree(tree, error);
		ok = same && run_tree(tree, state->id, &root, options, result, error) &&
		     (options->plan || first == tree->vanished ||
		      ledger_scanned(ledger, first, error));
		if (ok && state->unread)
			add_unread(result->conflicts, state);
		if (tree)
			end_target(config, state->id, tree, &root, same, options->plan, ok);
		else
			target_end(target);
		if (ok && !options->plan && !tree_stops(tree, NULL))
			ok = leftovers_tell(tree, error);
	}
	tree_close(tree);
	ledger_close(ledger);
	return ok;
}

static bool is_smb(const char *text)
{
	return g_str_has_prefix(text, "smb://");
}

/* The way back needs a user of its own (I10): the retriever's has no write rights. */
static bool is_own_user(const struct volume_config *config, const char *to, GError **error)
{
	return !config_same_user(config->source, to) ||
	       wrong(error,
		     "%s: names the user that `source` names, who is to have no write rights: name "
		     "another one",
		     to);
}

bool rollback_run(const struct volume_config *config, const struct rollback_options *options,
		  struct rollback_result *result, GError **error)
{
	const char *to = options->to ? options->to : config->rollback_source;
	struct journal_state state;
	bool ok;

	*result = (struct rollback_result){0};
	if (!to)
		return wrong(
			error,
			"where the old server's tree is mounted for writing is not known: give "
			"--to PATH, or write rollback-source = PATH for the volume");
	if (is_smb(config->source) != is_smb(to))
		return wrong(error,
			     "%s: the old server is written as it was read: set rollback-source to "
			     "%s",
			     to,
			     is_smb(config->source) ? "smb:// of the same share, with another user"
						    : "the path where its tree is mounted");
	if (is_smb(to) ? !is_own_user(config, to, error) : !check_apart(config->root, to, error))
		return false;
	struct journal_reader *journal = journal_open(config->journal, error);
	if (journal)
		journal_set_stop(journal, options->stop);
	struct target *target =
		journal && settle(journal, options->scan, &state, error)
			? is_smb(to) ? target_open_smb(to, config, error) : target_open(to, error)
			: NULL;
	ok = target && run_old(config, options, journal, &state, target, result, error);
	result->seen = ok ? state.seen : 0;
	target_close(target);
	if (journal)
		journal_close(journal);
	return ok;
}
