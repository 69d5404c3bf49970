/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far the migration of the volume is, as the file system says it: no counter is believed. */
#ifndef RETRIEVER_OBJECTS_STATE_H
#define RETRIEVER_OBJECTS_STATE_H

#include "retriever/objects/retriever.h"

/* COPYING, COPIED: the retriever is `copying`; nothing is served. */
enum volume_state {
	VOLUME_UNATTACHED,
	VOLUME_MIGRATING,
	VOLUME_WHOLE,
	VOLUME_FINISHED,
	VOLUME_COPYING,
	VOLUME_COPIED
};

/* Blocks for the disk. */
enum volume_state volume_state(struct retriever *retriever);
const char *volume_state_name(enum volume_state state);

#endif
