/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Notes the directories in which clients wait for a file, for a crawler that wants to bring what is
 * beside.  They are hints: some are lost, and a path may lead elsewhere meanwhile.  Main thread.
 */
#ifndef RETRIEVER_SOCKET_TOUCHED_H
#define RETRIEVER_SOCKET_TOUCHED_H

#include "retriever/objects/retriever.h"

/* fd: of a file that is waited for.  Costs next to nothing until touched_take() was called. */
void touched_note(struct retriever *retriever, int fd);
/* What `touched` answers (control.h), which are forgotten.  g_free. */
char *touched_take(struct retriever *retriever);

#endif
