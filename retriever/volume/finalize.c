/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/finalize.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/filetree.h"
#include "lib/base/text.h"
#include "lib/config/attached.h"
#include "lib/report/omissions.h"
#include "lib/report/losses.h"
#include "retriever/copies/aside.h"
#include "retriever/copies/prior.h"
#include "retriever/data/durability.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/links.h"
#include "retriever/objects/private.h"
#include "retriever/objects/state.h"
#include "retriever/objects/templates.h"
#include "retriever/progress/history.h"
#include "retriever/volume/attach.h"
#include "retriever/volume/proof_place.h"
#include "retriever/volume/skip_file.h"
#include "retriever/volume/verify.h"

/* Removes .migrate/ and keeps the root's mtime, which is clients' to change. */
static void remove_private(struct retriever *retriever)
{
	struct stat st;

	fstat(retriever->root_fd, &st);
	own_remove(retriever->root_fd, MIGRATE_PRIVATE_DIR);
	futimens(retriever->root_fd, (struct timespec[2]){st.st_atim, st.st_mtim});
	fsync(retriever->root_fd);
}

/* Nothing is written to .migrate/ from here on. */
static void leave_private(struct retriever *retriever)
{
	private_leave(retriever);
	errors_set_directory(retriever->errors, -1);
	losses_set_directory(retriever->losses, -1);
	templates_set_directory(retriever->templates, -1);
}

static int keep_losses(struct retriever *retriever, char **message)
{
	const char *path = retriever->config->report;
	g_autofree char *head = g_strdup_printf(
		"carried\tacls\t%" G_GINT64_FORMAT "\ncarried\txattrs\t%" G_GINT64_FORMAT "\n",
		COUNT_GET(retriever, acls_carried), COUNT_GET(retriever, xattrs_carried));
	int ret = losses_keep(retriever->losses, path, head);

	if (!ret)
		ret = history_keep(retriever);
	if (ret)
		*message =
			g_strdup_printf("%s: the report of what could not be carried over cannot "
					"be kept there: %s: make room, or set \"report\" in the "
					"configuration",
					path, g_strerror(-ret));
	return ret;
}

static int keep_proof(struct retriever *retriever, char **message)
{
	g_autofree char *path = proof_place_path(retriever->config);
	int ret = proof_place_keep(retriever);

	if (ret)
		*message = g_strdup_printf("%s: what the comparison of both sides found cannot be "
					   "kept there: %s: make room, or set \"report\" in the "
					   "configuration",
					   path, g_strerror(-ret));
	return ret;
}

static char *finalized(struct retriever *retriever, uint64_t losses, uint64_t names)
{
	g_autoptr(GKeyFile) f = g_key_file_new();

	g_key_file_set_uint64(f, "finalize", "losses", losses);
	g_key_file_set_uint64(f, "finalize", "names-skipped", names);
	g_key_file_set_string(f, "finalize", "report", retriever->config->report);
	return g_key_file_to_data(f, NULL, NULL);
}

/* Sets aside the rest of the prior copy, which was never compared, and refuses while anything is
 * set aside: the administrator has to look at it first. */
static int check_aside(struct retriever *retriever, char **message)
{
	const char *name = retriever->config->name;
	int ret = 0;

	if (retriever->prior && unlinkat(retriever->private_fd, PRIOR_DIR, AT_REMOVEDIR) < 0 &&
	    errno != ENOENT)
		ret = aside_put(retriever, retriever->private_fd, PRIOR_DIR, "", PRIOR_DIR);
	if (!ret)
		ret = skip_file_recover(retriever);
	if (!ret)
		ret = aside_count(retriever);
	if (ret) {
		*message = g_strdup_printf("%s/" MIGRATE_PRIVATE_DIR "/" ASIDE_DIR ": %s",
					   retriever->config->root, g_strerror(-ret));
		return ret;
	}
	if (!COUNT_GET(retriever, aside))
		return 0;
	*message = g_strdup_printf(
		TEXT_COUNT " set aside, "
			   "and would be destroyed: look at them (migratectl aside %s), then "
			   "restore them (--restore PATH) or let them go (--discard)",
		TEXT_COUNTED(COUNT_GET(retriever, aside), "objects are"), name);
	return -EBUSY;
}

int finalize_volume(struct retriever *retriever, bool unwatched, bool dry_run, char **message)
{
	struct verify_count count;
	enum volume_state state = volume_state(retriever);
	uint64_t losses = losses_count(retriever->losses), names = losses_names(retriever->losses);
	int ret;

	if (state == VOLUME_FINISHED)
		return 0;
	if (state == VOLUME_UNATTACHED || state == VOLUME_COPYING || state == VOLUME_COPIED) {
		*message = g_strdup_printf("%s is not attached: there is nothing to finalize",
					   retriever->config->root);
		return -EINVAL;
	}
	/* An earlier write-back error is reported to the first sync; those bytes were not taken for
	 * durable. */
	durability_sync_all(retriever);
	if (retriever->config->retention && state == VOLUME_WHOLE && !dry_run)
		links_forget(retriever); /* no name is to come: retention_keep() */
	ret = (unwatched ? verify_volume : verify_watched)(retriever, !dry_run, &count, message);
	if (!ret && count.unfinished) {
		*message = g_strdup_printf(
			TEXT_COUNT " unfinished, the first "
				   "is %s: run migrate-crawler %s, see migratectl errors %s",
			TEXT_COUNTED(count.unfinished, "objects are"), count.first,
			retriever->config->name, retriever->config->name);
		ret = -EBUSY;
	}
	g_free(count.first);
	if (!ret)
		ret = check_aside(retriever, message);
	if (ret)
		return ret;
	if (dry_run) {
		*message = finalized(retriever, losses, names);
		return 0;
	}
	ret = durability_sync_all(retriever);
	if (!ret)
		ret = left_out_attached(retriever->root_fd);
	if (ret) {
		*message = g_strdup_printf("%s: %s", retriever->config->root, g_strerror(-ret));
		return ret;
	}
	ret = keep_losses(retriever, message);
	if (!ret)
		ret = keep_proof(retriever, message);
	if (ret)
		return ret;
	attached_note_end(
		retriever->config); /* without it a kill leaves a note until the next start */
	leave_private(retriever);
	remove_private(retriever);
	attach_note(retriever->config, false);
	*message = finalized(retriever, losses, names);
	return 0;
}
