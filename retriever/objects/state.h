/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of the volume's migration, read from the file system: counters are not used. */
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
