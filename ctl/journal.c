/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What other commands ask the journal, and what status says about it. */
#include "ctl/ctl.h"

#include "journal/store/close.h"
#include "journal/store/reader.h"
#include "lib/base/text.h"
#include "lib/config/config.h"

#define WAIT_MS 10000

enum ctl_exit ctl_journal_begin(const struct ctl *ctl)
{
	struct volume_config *config = ctl_known_config(ctl);
	g_autoptr(GError) error = NULL;
	bool good = !config || journal_begin_anew(config->journal, &error);

	if (!good)
		ctl_complain("%s; %s is attached, but this journal tells of what was before: end "
			     "migrate-journal@%s, move %s to another name, and start it again",
			     error->message, ctl->volume, ctl->volume, config->journal);
	config_free(config);
	return good ? CTL_OK : CTL_REFUSED;
}

void ctl_journal_wait(const struct ctl *ctl)
{
	struct volume_config *config = ctl_known_config(ctl);
	struct journal_reader *reader = config ? journal_open(config->journal, NULL) : NULL;

	if (reader)
		journal_settle(reader, false, WAIT_MS, NULL);
	journal_close(reader);
	config_free(config);
}

bool ctl_journal_state(const struct ctl *ctl, GKeyFile *status)
{
	struct volume_config *config = ctl_known_config(ctl);
	struct journal_reader *reader = config ? journal_open(config->journal, NULL) : NULL;
	struct journal_state state;
	bool known = reader && journal_state(reader, &state, NULL);

	if (config && journal_is_closed(config->journal)) {
		g_key_file_set_boolean(status, "journal", "closed", true);
	} else if (known) {
		g_key_file_set_boolean(status, "journal", "complete", state.complete);
		g_key_file_set_boolean(status, "journal", "running", state.running);
		g_key_file_set_boolean(status, "journal", "scanning", state.scanning);
		g_key_file_set_boolean(status, "journal", "full", state.full);
		g_key_file_set_int64(status, "journal", "since", state.since / CTL_NS);
		g_key_file_set_int64(status, "journal", "seen", state.seen / CTL_NS);
		if (state.scanned)
			g_key_file_set_int64(status, "journal", "scanned", state.scanned / CTL_NS);
		if (!state.complete)
			g_key_file_set_int64(status, "journal", "missing-since",
					     MIN(state.gap, state.seen) / CTL_NS);
		if (state.unread) {
			g_autofree char *path = text_line(state.unread_path);

			g_key_file_set_uint64(status, "journal", "unread", state.unread);
			g_key_file_set_string(status, "journal", "unread-path", path);
		}
		g_key_file_set_uint64(status, "journal", "gaps", state.gaps);
		g_key_file_set_string(status, "journal", "last-gap", state.reason);
		g_key_file_set_uint64(status, "journal", "looked-at", state.looked_at);
		g_key_file_set_uint64(status, "journal", "changed-objects", state.rows);
		g_key_file_set_uint64(status, "journal", "maybe-changed-objects", state.maybe);
		g_key_file_set_uint64(status, "journal", "store-bytes", state.bytes);
	}
	journal_close(reader);
	config_free(config);
	return g_key_file_has_group(status, "journal");
}

char *ctl_journal_text(GKeyFile *status)
{
	g_autofree char *since = NULL, *seen = NULL, *missing = NULL, *bytes = NULL, *reason = NULL;
	const uint64_t maybe = ctl_number(status, "journal", "maybe-changed-objects");
	const char *why;

	if (ctl_yes(status, "journal", "closed"))
		return g_strdup("closed: there is no way back");
	since = ctl_time((int64_t)ctl_number(status, "journal", "since"));
	seen = ctl_time((int64_t)ctl_number(status, "journal", "seen"));
	missing = ctl_time((int64_t)ctl_number(status, "journal", "missing-since"));
	bytes = ctl_bytes(ctl_number(status, "journal", "store-bytes"));
	reason = ctl_text(status, "journal", "last-gap");
	if (ctl_yes(status, "journal", "complete"))
		return g_strdup_printf(
			"complete from %s to %s: " TEXT_COUNT " changed, %" G_GUINT64_FORMAT
			" may have been (a gap), %s",
			since, seen,
			TEXT_COUNTED(ctl_number(status, "journal", "changed-objects") - maybe,
				     "objects"),
			maybe, bytes);
	if (ctl_number(status, "journal", "unread")) {
		g_autofree char *path = ctl_text(status, "journal", "unread-path");

		return g_strdup_printf(
			"complete from %s to %s but for " TEXT_COUNT
			" that cannot be looked at, and what is below them: %s; check the "
			"file system, then give " PROGRAM " changes --settle",
			since, seen,
			TEXT_COUNTED(ctl_number(status, "journal", "unread"), "objects"), path);
	}
	why = ctl_yes(status, "journal", "full")       ? "no room"
	      : !ctl_yes(status, "journal", "running") ? "not running"
						       : reason;
	if (!ctl_yes(status, "journal", "scanning"))
		return g_strdup_printf("complete from %s to %s, changes since then may be "
				       "missing: %s",
				       since, missing, why);
	return g_strdup_printf("complete from %s to %s, changes since then may be missing: %s; "
			       "looking for them, " TEXT_COUNT " so far",
			       since, missing, why,
			       TEXT_COUNTED(ctl_number(status, "journal", "looked-at"), "objects"));
}
