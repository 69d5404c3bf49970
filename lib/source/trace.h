/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The way of a request, from the door to the old server.
 *
 * A request is known by its peer and the id that the peer's library gave it, "door 1234:57".  What
 * is asked of the old server carries the id of the request that it is for, and each step is an
 * event:
 *   - a static probe (USDT) of the provider quickmigrate, called like the step, where <sys/sdt.h>
 * was there at build time;
 *   - a line of the log at debug level, where G_MESSAGES_DEBUG is set;
 *   - a place in a ring in memory, which `migratectl trace` reads.  What a client waits for is
 * always kept there, so that the way of a request that hangs can be asked for; the background's
 * events while somebody reads them, so that the ring is not worn out by them.
 *
 * The id goes along by itself: it is the thread's while a request is begun, while a reply of the
 * old server is worked on, and in jobs that were started meanwhile (jobs.h).
 */
#ifndef LIB_SOURCE_TRACE_H
#define LIB_SOURCE_TRACE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct trace_id {
	const char *peer; /* static: what kind; NULL: nobody's, the retriever's own work */
	uint32_t pid;
	bool background; /* no client waits for it */
	bool first;	 /* of the background: before the rest of it (MIGRATE_FIRST) */
	uint64_t request;
};

/* As they follow each other; which of them there are differs. */
#define TRACE_STEPS(STEP)                                                                          \
	STEP(RECEIVED, received)   /* the request has come */                                      \
	STEP(SHARED, shared)	   /* what it needs is on its way for another one */               \
	STEP(HELD, held)	   /* waits at the gate */                                         \
	STEP(WITHDRAWN, withdrawn) /* ... and nobody waits for it any more */                      \
	STEP(SUBMITTED, submitted) /* the backend has it */                                        \
	STEP(SENT, sent)	   /* the old server is asked; number: the xid, or the SMB slot */ \
	STEP(REPLY, reply)	   /* ... and has answered, maybe that it is busy */               \
	STEP(ANSWERED, answered)   /* by the backend; number: of bytes or entries */               \
	STEP(WRITTEN, written)	   /* the bytes are in the file */                                 \
	STEP(MADE, made)	   /* the names are there; number: how many */                     \
	STEP(REPLIED, replied)	   /* the peer has its answer */

#define TRACE_ENUM(NAME, name) TRACE_##NAME,
enum trace_step { TRACE_STEPS(TRACE_ENUM) TRACE_N };
#undef TRACE_ENUM

const char *trace_step_name(enum trace_step step);

/* "door 1234", "-" for nobody.  g_free. */
char *trace_peer(const struct trace_id *id);

struct trace_event {
	gint64 time; /* g_get_real_time() */
	struct trace_id id;
	enum trace_step step;
	int result;	  /* 0 or -errno */
	const char *what; /* static: the operation */
	uint64_t offset, length, number;
};

/* Any thread, with any locks.  what: static. */
void trace_event(enum trace_step step, const struct trace_id *id, const char *what, uint64_t offset,
		 uint64_t length, uint64_t number, int result);

/* Whose work this thread does. */
struct trace_id trace_current(void);
/* Returns whose it did before, with which to call it again afterwards. */
struct trace_id trace_enter(struct trace_id id);

/* Events are numbered from 0; the ring has the last TRACE_EVENTS. */
#define TRACE_EVENTS 16384
/* Copies up to max of them, from number start or the oldest that is left.  Returns the number of
 * the first; *n: how many. */
uint64_t trace_read(uint64_t start, struct trace_event *events, unsigned max, unsigned *n);

#endif
