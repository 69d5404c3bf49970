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
/* Describes the directory for make_object(); the result counts nothing (`same` and `lacking` are
 * NULL).  named: the directory may hold dummies.  prior_fd: negative, or the directory in the prior
 * copy. */
struct make_parent directory_parent(const struct object *object, bool named, const char *path,
				    int prior_fd);

/* Whether that name in the directory at path is reserved for the project itself, so that no client
 * can use it. */
bool directory_reserves(const char *path, const char *name);
/* Whether the entry of the directory is that directory itself or one above it, so that a walk would
 * go down for ever.  path: the directory's, or NULL.  An SMB server that follows symbolic links
 * shows the directories above at each such link, and the links again in each of them.  Tested only
 * where path is deep or not known, or where the entry has no handle. */
bool directory_is_in_itself(const struct object *directory, const char *path,
			    const struct source_entry *entry);

/* Why an object's BACKEND_XATTRS failed, for the list of errors. */
enum error_code directory_xattrs_refused(const struct retriever *retriever);

/* The fill for which req asks about an entry, or NULL where req is another request. */
const struct fill *fill_of_request(const struct backend_request *req);

#endif
