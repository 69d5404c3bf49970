/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Brings whole directories in the background, for the crawler: first all names of a directory, then
 * the data of every unfinished file in it, many files at a time.  A file that fails, or a name that
 * cannot be made, is put into the list of errors and does not stop the others.
 */
#ifndef RETRIEVER_NAMES_BULK_H
#define RETRIEVER_NAMES_BULK_H

#include "retriever/objects/object.h"

/* done(0): the data of every file is here, or the file is in the list of errors.  done(-errno): the
 * fill of the directory failed, and the same holds for the files whose names it brought.  since: as
 * of migrate_fill_since(); reads: the last access counts as well as the last change. */
void bulk_start(struct object *directory, int64_t since, bool reads, object_done_fn done,
		void *arg);

#endif
