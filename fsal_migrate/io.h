/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef IO_H
#define IO_H

#include "door.h"

/* Answers every request of the export that is parked with DELAY, soon. */
void mg_io_cancel(struct mg_export *export);
/* The object goes away: cancels what is still being fetched for it. */
void mg_io_release(struct mg_object *object);

#endif
