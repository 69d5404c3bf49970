/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fill of a directory, as those who list the old one and those who make its entries know it. */
#ifndef RETRIEVER_NAMES_FILL_RUN_H
#define RETRIEVER_NAMES_FILL_RUN_H

#define DIRECTORY_FULL_MAX 100 /* names that fail for want of space, before a fill gives up */

#include "lib/source/source.h"
#include "retriever/data/listing.h"
#include "retriever/names/failed_names.h"
#include "retriever/names/sorted.h"
#include "retriever/objects/object.h"

/* One fill of one directory: a listing, and a second one where names were not found. */
struct run {
	/* read by the pages too, which add to `failed_names` */
	struct object *object; /* referenced */
	enum backend_priority priority;
	struct trace_id trace;
	struct source_object source;
	char *path;	 /* object_source_path() */
	bool names_only; /* makes dummies; answers `done`, not the object's waiters */
	bool small_data;
	bool named; /* the directory may hold dummies */
	struct failed_names failed_names;
	gint there;		  /* names that were here when they were listed; atomic */
	gint full;		  /* names for which there was no space; atomic */
	gint same;		  /* names of a copy that were the same; atomic */
	gint lacking;		  /* files that may lack data, in all listings that make; atomic */
	int prior_fd;		  /* the directory in the prior copy; negative: none */
	struct listing_sum *seen; /* its entries, in a copy; else NULL */
	GArray *names_listed;	  /* listing_sum_hash() of each, in this listing */
	GArray *not_here;  /* names that were listed before, and were not here then; NULL: none */
	GMutex work_lock;  /* a leaf */
	GQueue work;	   /* of fill_page.c */
	bool working;	   /* a worker does it */
	GHashTable *asked; /* fileid -> struct source_attr as listed; with work_lock */

	/* of the listing */
	GMutex lock;
	unsigned pending;	    /* pages not made yet, the listing itself */
	unsigned pages;		    /* not made yet */
	bool listing_waits;	    /* for pages to be made; up to here with the lock */
	struct sorted *order;	    /* NULL: made in the order in which they are listed */
	struct backend_batch *rest; /* what there was no room for */
	bool listed;		    /* to the end */
	bool unlisted;		    /* what the listing did not tell is given up */
	int failed;		    /* the listing, when what it brought before is made */
	struct backend_request req;
	struct listing_progress progress, names; /* by cookies; by the names that are kept */
	gint there_max; /* where the names that are here are counted (again) */
	unsigned restarts;
	uint64_t fileid;     /* of the directory */
	int status;	     /* of the listing */
	const char *refused; /* why */
	bool stale;
	object_done_fn done;
	void *arg;
	void (*page_made)(struct run *run);
};

/* With the object's lock held: one of its runs.  *ret: 0, or why its source cannot be asked. */
struct run *directory_run_new(struct object *object, enum backend_priority priority,
			      bool small_data, int *ret);
/* It is none of them any more. */
void directory_run_free(struct run *run);
/* Why its listing failed with that status, for the list. */
const char *directory_run_refusal(const struct run *run, int status);

/*
 * To read a file's bytes moves its atime on the old server, and whoever else asks about the file
 * before it is here is told that one (I8).  Its bytes are asked for, as it was listed, until they
 * were got and it is here.
 */
void directory_run_asks(struct run *run, const struct source_attr *listed);
void directory_run_got(struct run *run, const struct source_attr *listed);
/* Where that is so in a fill of the directory, attr gets the atime that was listed. */
void directory_atime_before(struct object *object, struct source_attr *attr);

/* What is asked about an entry of the directory at path, and what its LOOKUP said of it. */
void directory_entry_object(const struct source_entry *entry, const char *path,
			    struct source_object *object);
void directory_entry_found(struct source_entry *entry, const struct backend_request *req);

#endif
