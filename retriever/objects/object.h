/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects in memory: those with requests or work under way.  There is at most one struct object per
 * inode, found by its kernel handle.  Its state is the record on disk, and what is not durable yet:
 *
 *   record.missing            not durable here, as the xattr says
 *   record.dirty              part of it: a client wrote it, also in the xattr
 *   filled                    part of it: fetched and in the page cache, in memory only
 *   zeros                     part of filled: needs no blocks (sparse.h), in memory only
 *   missing - dirty - filled  what must still be fetched: object_lacks()
 *
 * A kill forgets `filled`, and the range is fetched again: the same bytes over the same bytes,
 * because a client's write to it would have put it into `dirty`.
 *
 * An object with a non-empty `filled` is in the durability queue, which holds a reference.
 */
#ifndef RETRIEVER_OBJECTS_OBJECT_H
#define RETRIEVER_OBJECTS_OBJECT_H

#include <stdatomic.h>

#include "retriever/objects/retriever.h"

/* Called without locks. */
typedef void (*object_done_fn)(void *arg, int status);

enum object_kind { OBJECT_OTHER, OBJECT_FILE, OBJECT_DIRECTORY }; /* OTHER: always normal */

/* The search for an object whose handle the old server no longer knows (refind.h). */
struct search {
	bool under_way[2];    /* in the background; for clients */
	unsigned found;	      /* times */
	unsigned failures;    /* since it was last of use */
	enum error_code lost; /* why it was not found, last time, or QM_NONE */
};

/* Fills that write and brackets exclude each other (turns.h). */
struct turns {
	unsigned writing;  /* fills that write now */
	unsigned brackets; /* that are open */
	bool alone;	   /* the open one excludes other brackets too */
	GQueue begins;	   /* of struct turn, in the order of arrival */
	GQueue fills;	   /* of struct waiting_fill */
};

/* What files and directories have in common. */
struct object {
	struct retriever *retriever;
	struct migrate_binding key;
	enum object_kind kind;
	unsigned refs; /* the table's lock */

	GMutex lock;
	GCond loaded_cond;
	bool loaded, awaited; /* the latter: somebody waits for the former */
	int load_error;	      /* -EBADMSG ...: then nothing else is valid */
	int fd;		      /* O_RDWR for files, O_RDONLY for directories */
	atomic_bool normal;   /* no record: nothing to do, for ever.  Set with the lock held */
	struct migrate_record record;
	struct search search;
	struct turns turns;
	GQueue waiters; /* of struct waiter (waiters.h): for ranges of a file, for all names of a
			 * directory */
	/* Called with the lock held, when no fill writes and no bracket is open.  NULL: not needed.
	 */
	void (*when_idle)(struct object *object);
};

struct file {
	struct object base;
	struct migrate_extents filled;
	struct migrate_extents zeros;
	struct migrate_extents inflight[2]; /* reads under way: demand, background */
	unsigned version;		    /* counts the times that version.c took a new one */
	bool closing_gaps;		    /* so that its record fits again */
	int64_t counted;		    /* of it in bytes_partial */
	bool asks_rights[2];		    /* its rights are, background, demand (fetch.c) */
	uint64_t next_offset;		    /* where a sequential reader goes on (fetch.c) */
	uint32_t window;
	bool sync_queued;     /* the durability queue's lock */
	GMutex sync_lock;     /* one flush at a time; taken before lock (durability.c) */
	int write_error;      /* sync_lock: waiters are to be told of it */
	unsigned lost_writes; /* counts the write-backs that failed */
	bool unstored;	      /* the record on disk calls present what was lost (durability.c), or
			       * has ranges beyond the size: it must be stored */
};

/* Whether every name is here, as far as memory knows; the record says FILLED last. */
enum names_state { NAMES_OPEN, NAMES_COMPLETE, NAMES_COMPLETING };

struct directory {
	struct object base;
	enum names_state names;
	GSList *fills;		 /* fills under way (directory.c) */
	struct listing_sum *sum; /* the listing of a copy that is complete, else NULL */
	void (*free_sum)(struct listing_sum *sum);
	GArray *listed;	  /* the names that were listed, for name_diff_make(); NULL: not known */
	GArray *left_out; /* of these the ones that need not be here */
	GArray *not_here; /* of these the ones that were not here in the end; NULL: none */
	unsigned lacked;  /* counts the times that there were some */
	void (*list_again)(struct object *directory); /* names what is not here */
	gint same;				      /* how many of them were the same as before */
	unsigned filled;			      /* counts the times that it became filled */
};

static inline struct file *file_of(struct object *object)
{
	g_assert(object->kind == OBJECT_FILE);
	return (struct file *)object;
}

static inline struct directory *directory_of(struct object *object)
{
	g_assert(object->kind == OBJECT_DIRECTORY);
	return (struct directory *)object;
}

static inline bool is_directory(const struct object *object)
{
	return object->kind == OBJECT_DIRECTORY;
}

#define OBJECT_EXTENTS_KEPT 32 /* when gaps are closed so that a record fits */

/* Of a struct migrate_binding, for tables. */
guint object_key_hash(gconstpointer key);
gboolean object_key_equal(gconstpointer a, gconstpointer b);

struct object_table;
struct object_table *object_table_new(struct retriever *retriever);
void object_table_free(struct object_table *table);
/* The number of objects in memory.  Any thread. */
guint object_table_size(struct object_table *table);
/* Whether so many objects are in memory, each with a descriptor, that clients should not ask for
 * more: three quarters of the descriptors that the process may have. */
bool object_table_is_full(struct object_table *table);

/*
 * The object of an open descriptor, with a reference for the caller; loads its record on first use.
 * fd stays the caller's.  Returns 0 (object->normal tells whether there is anything to do), or
 * -errno: -EBADMSG for a damaged record, -ENOTSUP for what is neither file nor directory (which is
 * always normal).
 */
int object_get(struct retriever *retriever, int fd, struct object **object);
/* The same, but takes fd (O_RDWR for a file) and uses it instead of opening the object again. */
int object_get_taking(struct retriever *retriever, int fd, struct object **object);
/*
 * The same for a file that was made just now and that only the caller knows: takes *rec, the record
 * that was stored in the file, and leaves an empty record in its place.
 */
int object_get_made(struct retriever *retriever, int fd, struct migrate_record *rec,
		    struct object **object);
struct object *object_ref(struct object *object);
void object_unref(struct object *object);

/* With the lock held: whether the object's rights have to be asked for before anything else of it
 * (rights.h). */
bool object_is_closed(const struct object *object);
/* With the lock held: out, an initialised set, = what must be fetched of the bytes [start, end) of
 * a file.  0 or -ENOMEM. */
int object_lacks(struct object *object, uint64_t start, uint64_t end, struct migrate_extents *out);
/* With the lock held: whether nothing of these bytes must be fetched; false where that cannot be
 * told. */
bool object_has(struct object *object, uint64_t start, uint64_t end);

/* Counts the bytes of a file that are durable here, as its record in memory says; lock held.
 * object_store() does this too. */
void object_count_bytes(struct object *object);
/* Writes the record; lock held.  0, -ENOSPC when it doesn't fit (see object_crowded), -errno. */
int object_store(struct object *object);
/* Lock held: whether the record will fit whatever the brackets that are open, and one more, change.
 */
bool object_has_room(struct object *object);
/* Lock held: whether a hole in what clients wrote may be one of theirs, or zeros that the file
 * system has made a hole of; then it is none of a page that the kernel dropped. */
bool object_may_have_holes(const struct object *object);
/* Lock held: whether the record has so many ranges that closing gaps makes it shorter. */
bool object_crowded(const struct object *object);

/* Makes sure that a normal object has a descriptor, for fsync.  fd: any of the object.  0, -errno.
 */
int object_keep_fd(struct object *object, int fd);

/* The handle and path by which the old server finds the object; lock held.  Clear *source after.
 * 0, -ESTALE. */
int object_source(struct object *object, struct source_object *source);
/* Its path below the source's root, NULL where the record has none.  Takes the lock.  g_free. */
char *object_source_path(struct object *object);
/* Lock held: whether it has been found elsewhere since source was taken. */
bool object_source_moved(struct object *object, const struct source_object *source);

#endif
