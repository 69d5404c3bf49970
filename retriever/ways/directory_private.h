/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Between the files that make the names of an unfilled directory: directory.c lists the old one and
 * decides when every name is here, directory_page.c makes the entries of one page of its listing,
 * directory_name.c one name that a client looks for.
 */
#ifndef DIRECTORY_PRIVATE_H
#define DIRECTORY_PRIVATE_H

#include "directory.h"
#include "failed_names.h"

/* One fill of one directory: a listing, and a second one where names were not found. */
struct run {
	/* read by the pages too, which add to `unmade` */
	struct object *object; /* referenced */
	enum backend_priority priority;
	struct source_object source;
	char *path;	 /* directory_source_path() */
	bool names_only; /* makes dummies; answers `done`, not the object's waiters */
	bool small_data;
	bool named; /* the directory may hold dummies */
	struct unmade unmade;

	/* of the listing */
	GMutex lock;
	unsigned pending;   /* pages not made yet, the listing itself */
	unsigned pages;	    /* not made yet */
	bool listing_waits; /* for pages to be made; up to here with the lock */
	struct backend_request req;
	unsigned restarts;
	uint64_t fileid;     /* of the directory */
	int status;	     /* of the listing */
	const char *refused; /* why */
	bool stale;
	object_done_fn done;
	void *arg;
};

/* Makes the entries of a page of the listing, on workers; takes batch.  Those that cannot be made
 * go to run->unmade. */
void directory_page_make(struct run *run, struct backend_batch *batch);
/* The answer, once for each page: nothing of it is left to be made.  Any thread, without locks; the
 * run may be gone after it. */
void directory_page_made(struct run *run);

/* Whether that name in the directory at path is the retriever's own. */
bool directory_reserves(const char *path, const char *name);

/* What is asked about an entry of the directory at path, and what its LOOKUP said of it. */
void directory_entry_object(const struct source_entry *entry, const char *path,
			    struct source_object *object);
void directory_entry_found(struct source_entry *entry, const struct backend_request *req);

/* Why an object's BACKEND_XATTRS failed, for the list. */
const char *directory_xattrs_refused(const struct retriever *retriever);

#endif
