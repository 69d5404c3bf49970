/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/damage.h"

#include <unistd.h>

#include "common/record.h"
#include "lib/base/log.h"

void damage_watch(struct retriever *retriever)
{
	retriever->damage_fd = migrate_mount_errors(retriever->root_fd);
}

void damage_forget(struct retriever *retriever)
{
	if (retriever->damage_fd >= 0)
		close(retriever->damage_fd);
	retriever->damage_fd = -1;
}

bool damage_found(struct retriever *retriever)
{
	if (!migrate_errors_counted(retriever->damage_fd))
		return false;
	if (g_atomic_int_compare_and_exchange(&retriever->damage_told, 0, 1))
		log_event(EVENT_DAMAGED, G_LOG_LEVEL_WARNING, retriever->config->root,
			  error_kind(QM_DAMAGED)->sentence, QM_DAMAGED, 0,
			  "%s: nothing is brought here any more: %s", retriever->config->root,
			  error_kind(QM_DAMAGED)->sentence);
	return true;
}
