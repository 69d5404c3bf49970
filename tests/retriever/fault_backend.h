/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A decorator for tests: makes a backend slow, stuck, wrong or failing, by rules, and counts.  May
 * be used from any thread.
 */
#ifndef TESTS_RETRIEVER_FAULT_BACKEND_H
#define TESTS_RETRIEVER_FAULT_BACKEND_H

#include "lib/source/source.h"

enum fault_action {
	FAULT_COUNT,  /* nothing: only counts */
	FAULT_DELAY,  /* passed on `ms` after it was submitted */
	FAULT_STALL,  /* passed on when the rule is released or removed */
	FAULT_ERROR,  /* not passed on: completed with `status` */
	FAULT_SHORT,  /* READ: at most `bytes` bytes of the data that came, and not eof */
	FAULT_BARE,   /* READ: without the attributes that came */
	FAULT_CHANGE, /* `size`, `mtime` (ns) and `fileid` are added to the attributes that come
		       * back, those of entries included: a source that was changed */
	FAULT_REFUSE, /* READDIR: `count` names that cannot be here come besides */
	FAULT_HIDE,   /* READDIR: `entry` does not come */
	FAULT_FOLD,   /* LOOKUP: `entry` is found in any case of its letters */
};

#define FAULT_ANY_OP UINT_MAX

/* A request is subject to the first rule that matches it and has not used up its times. */
struct fault_rule {
	unsigned ops;	     /* bits 1 << BACKEND_*, or FAULT_ANY_OP */
	unsigned priorities; /* likewise; 0: any */
	const char *name;    /* LOOKUP: of that name, others: with a path that ends in that
			      * component; NULL: any.  Copied. */
	const struct source_object *object; /* with that handle; NULL: any.  Copied. */
	uint64_t offset, end;		    /* READ: touches [offset, end); end 0: any */
	unsigned skip;			    /* lets so many pass first */
	unsigned times;			    /* then applies so often; 0: for ever */
	enum fault_action action;
	unsigned ms;	     /* DELAY */
	int status;	     /* ERROR: negative */
	uint32_t bytes;	     /* SHORT */
	int64_t size, mtime; /* CHANGE */
	uint64_t fileid;     /* CHANGE */
	unsigned count;	     /* REFUSE */
	const char *entry;   /* HIDE, FOLD; a literal */
};

/* Takes inner, which stays reachable through it. */
struct backend *backend_fault_new(struct backend *inner);

/* The rule's number, from 1. */
unsigned backend_fault_add(struct backend *backend, const struct fault_rule *rule);
/* Lets go what the rule stalls or delays, and what it would stall from now on. */
void backend_fault_release(struct backend *backend, unsigned rule);
/* Lets go and forgets; its hits can still be asked. */
void backend_fault_remove(struct backend *backend, unsigned rule);

/* How many requests the rule was applied to. */
unsigned backend_fault_hits(struct backend *backend, unsigned rule);
/* Waits until the rule was applied to n requests.  FALSE after 30 s. */
gboolean backend_fault_wait(struct backend *backend, unsigned rule, unsigned n);
/* Requests of these ops (bits) submitted so far, faulty or not. */
unsigned backend_fault_submitted(struct backend *backend, unsigned ops);
/* Requests submitted and not yet completed. */
unsigned backend_fault_in_flight(struct backend *backend);
/* Waits until there is none.  FALSE after 30 s. */
gboolean backend_fault_wait_idle(struct backend *backend);

#endif
