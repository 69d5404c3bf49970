/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/state.h"

#include <unistd.h>

#include "lib/report/omissions.h"
#include "retriever/objects/private.h"

static const char *const state_names[] = {"unattached", "migrating", "whole",
					  "finished",	"copying",   "copied"};

const char *volume_state_name(enum volume_state state)
{
	return state_names[state];
}

/* Whether the volume was finished by an earlier release, which left no mark at the root. */
static bool has_kept_losses(const struct retriever *retriever)
{
	return retriever->config->report && access(retriever->config->report, F_OK) == 0;
}

static enum volume_state state(struct retriever *retriever)
{
	struct migrate_record rec;
	int ret = migrate_record_load(retriever->root_fd, &rec);

	if (ret > 0)
		migrate_record_clear(&rec);
	if (ret != 0)
		return VOLUME_MIGRATING;
	if (private_is_attached(retriever))
		return VOLUME_WHOLE;
	/* there may be something in it that is to be adopted; what was attached keeps a mark */
	if (retriever->private_fd >= 0 || migrate_is_vacant(retriever->root_fd, true) ||
	    !(omissions_was_attached(retriever->root_fd) || has_kept_losses(retriever)))
		return VOLUME_UNATTACHED;
	return VOLUME_FINISHED;
}

enum volume_state volume_state(struct retriever *retriever)
{
	enum volume_state found = state(retriever);

	if (!retriever->copying || found == VOLUME_UNATTACHED)
		return found;
	return found == VOLUME_MIGRATING ? VOLUME_COPYING : VOLUME_COPIED;
}
