/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the entries of one page of a directory's listing. */
#ifndef RETRIEVER_NAMES_FILL_PAGE_H
#define RETRIEVER_NAMES_FILL_PAGE_H

#include "retriever/making/make.h"
#include "retriever/names/fill_stage.h"

/* Makes the entries of a page of the listing, on workers; takes batch.  Those that cannot be made
 * go to fill->name_errors.  fill->page_made() is called once for each page, when nothing of it is
 * left to be made: on any thread, without locks; the fill may be gone after it. */
void fill_make_page(struct fill *fill, struct backend_batch *batch);
/* The directory, for make_object(), uncounted.  named: it may hold dummies.  prior_fd: negative, or
 * the directory in the prior copy. */
struct make_parent directory_parent(const struct object *object, bool named, const char *path,
				    int prior_fd);

/* Whether that name in the directory at path is the project's own: no client's. */
bool directory_reserves(const char *path, const char *name);
/* Whether the entry is not brought: a directory of snapshots, or what may be one. */
bool directory_is_snapshot(const struct volume_config *config, const struct source_entry *entry);
/* Whether the entry of the directory, which is at path or NULL, is that or above it, and would be
 * gone into for ever.  Nobody's tree is so deep without a reason that each of it is looked at; but
 * an SMB server that follows symbolic links shows what is above as often as there are links, and
 * each time all of them again. */
bool directory_is_in_itself(const struct object *directory, const char *path,
			    const struct source_entry *entry);

/* Why an object's BACKEND_XATTRS failed, for the list. */
const char *directory_xattrs_refused(const struct retriever *retriever);

/* The fill that a question about an entry belongs to, or NULL: req is none. */
const struct fill *fill_of_request(const struct backend_request *req);

#endif
