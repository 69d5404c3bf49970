/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of one fill of a directory, shared by fill.c, which lists the directory on the old
 * server, and fill_page.c, which makes its entries. */
#ifndef RETRIEVER_NAMES_FILL_STAGE_H
#define RETRIEVER_NAMES_FILL_STAGE_H

#define DIRECTORY_FULL_MAX 100 /* names that fail for want of space, before a fill gives up */

#include "lib/source/source.h"
#include "retriever/data/listing_search.h"
#include "retriever/names/name_errors.h"
#include "retriever/names/sorter.h"
#include "retriever/objects/object.h"

/*
 * Where a fill is.  One thread at a time drives the fill and may look at its stage.  That thread
 * hands the fill on with the request for a page, with a job, or, where `paused` is set, to the
 * thread that makes a page.
 *
 *   stage         runs                                        next
 *   FILL_LIST     list_next(), page_listed(), keep_page()     MAKE, LISTED
 *   FILL_MAKE     make_kept(), all_made()                     LIST, LISTED
 *   FILL_LISTED   page_made() of the last pages               END
 *   FILL_END      finish_fill(), record_skipped(),            LIST: it is listed once more
 *                 conclude_fill(), names_entered()
 *
 * listing_failed() and list_anew() run in all of them but FILL_LISTED.
 */
enum fill_stage {
	FILL_LIST,   /* pages come from the old server; they are made, or kept to be put in order */
	FILL_MAKE,   /* what was kept is made */
	FILL_LISTED, /* no page comes any more; the last ones are being made */
	FILL_END     /* nothing is pending */
};

/* What came of a fill.  It can only get worse. */
enum fill_result {
	FILL_COMPLETE, /* every name that was listed is here, or may be left out */
	FILL_PARTLY,   /* complete, without skipped names that were not listed */
	FILL_LOST,     /* the directory is not where it was on the old server */
	FILL_FAILED
};

struct fill_outcome {
	enum fill_result result;
	int status;	     /* -errno of FILL_LOST and FILL_FAILED, else 0 */
	enum error_code why; /* QM_NONE: the names that failed are listed */
};

/* What a fill makes. */
enum fill_content {
	FILL_DUMMIES, /* and answers `done`, not the object's waiters */
	FILL_OBJECTS,
	FILL_OBJECTS_AND_DATA /* of small files */
};

/* What workers have to do; fill_page.c's own. */
struct fill_work {
	GMutex lock; /* a leaf */
	GQueue queue;
	bool running;	   /* a worker does it */
	GHashTable *asked; /* fileid -> struct source_attr as listed */
};

/* One fill of one directory: a listing, and a second one where names were not found. */
struct fill {
	/* set when it begins */
	struct object *object; /* referenced */
	enum backend_priority priority;
	enum fill_content content;
	struct trace_id trace;
	struct source_object source;
	uint64_t fileid;  /* of the directory */
	char *path;	  /* object_source_path() */
	bool named;	  /* the directory may hold dummies */
	int prior_fd;	  /* the directory in the prior copy; negative: none */
	GArray *not_here; /* names that were listed before, and were not here then; NULL: none */
	object_done_fn done;
	void *arg;
	void (*page_made)(struct fill *fill);

	gint first; /* a list waits for it as well: trace_id.first; atomic */

	/* what pages add to, on any thread */
	struct name_errors name_errors;
	gint there;		 /* names that were here when they were listed; atomic */
	gint full;		 /* names for which there was no space; atomic */
	gint same;		 /* names of a copy that were the same; atomic */
	gint ruled_out;		 /* names that rules leave out, in all listings; atomic */
	gint lacking;		 /* files that may lack data, in all listings that make; atomic */
	struct listing_sum *sum; /* of its entries, in a copy; else NULL */
	struct fill_work work;

	GMutex lock;	  /* for the three that follow */
	unsigned pending; /* pages not made yet, the listing itself */
	unsigned pages;	  /* not made yet */
	bool paused;	  /* until one more page is made */

	/* of who drives it */
	enum fill_stage stage;
	struct fill_outcome outcome;
	int listed; /* 0: not to the end; 1: to the end; -errno: failed, when what is kept is made
		     */
	struct backend_request req;
	GArray *names_listed;	    /* listing_sum_hash() of each, in this listing */
	struct sorter *order;	    /* NULL: made in the order in which they are listed */
	struct backend_batch *rest; /* what there was no room for */
	struct listing_progress progress, names; /* by cookies; by the names that are kept */
	gint there_max; /* where the names that are here are counted (again) */
	unsigned restarts;
};

/* Of what the fill asks now. */
struct trace_id fill_trace(struct fill *fill);

/* With the object's lock held: makes a fill and adds it to the directory's fills.  *ret: 0, or why
 * the old server cannot be asked.  Only background fills bring the data of small files. */
struct fill *fill_new(struct object *object, enum backend_priority priority,
		      enum fill_content content, int *ret);
/* Takes the fill out of the directory's fills, and frees it. */
void fill_free(struct fill *fill);
/* Goes on to a stage that can follow. */
void fill_enter_stage(struct fill *fill, enum fill_stage stage);
/* The rule that leaves the entry of the directory at path out (rules.h), or NULL: none does, or
 * that depends on its type, which is not known. */
const char *directory_rule(const struct volume_config *config, const char *path,
			   const struct source_entry *entry);
/* Whether a rule leaves the entry out: then its name need not be here, and unless it is here from
 * before the rule, it is in the report, which is durable before the directory is filled.  Any
 * thread. */
bool fill_leaves_out(struct fill *fill, const struct source_entry *entry);
/* Why its listing failed with that status, for the list. */
enum error_code fill_refusal(const struct fill *fill, int status);

/*
 * Reading a file's bytes changes its atime on the old server, and another request about the file,
 * before the file is here, would get the changed atime (I8).  fill_asks_bytes() notes that the
 * bytes of a listed file are asked for; fill_got_bytes() removes the note when they came and the
 * file is here.
 */
void fill_asks_bytes(struct fill *fill, const struct source_attr *listed);
void fill_got_bytes(struct fill *fill, const struct source_attr *listed);
/* If a fill of the directory has such a note for the file, sets the atime in attr to the listed
 * one. */
void directory_atime_before(struct object *object, struct source_attr *attr);

/* directory_entry_object() sets *object to what a request about an entry of the directory at path
 * names; directory_entry_found() takes the LOOKUP's answer into the entry. */
void directory_entry_object(const struct source_entry *entry, const char *path,
			    struct source_object *object);
void directory_entry_found(struct source_entry *entry, const struct backend_request *req);

#endif
