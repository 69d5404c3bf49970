/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A backend reads one old server (I10: it never writes there).  One const table per URL scheme.
 *
 * All work goes through submit(): a request is filled in, submitted, and completed exactly once by
 * req->done(req), called on a thread of the backend.  The submitter owns the request before submit
 * and again from done on; requests may be submitted from any thread, and from within done.  Result
 * memory other than `batch` and `text` (which pass to the submitter, g_free/backend_batch_free) is
 * valid during done only.
 *
 * Names, sizes, handles and attributes that come back have been bounds-checked by the backend (a
 * handle is 1..MIGRATE_HANDLE_MAX bytes, a name 1..255 bytes without '/' and NUL, not "." or "..",
 * sizes and offsets <= INT64_MAX, data no longer than asked), and are otherwise untrusted.
 *
 * status: 0, or
 *   -ENOENT      no such name          -ESTALE    the handle is not valid any more
 *   -EAGAIN      "later" (JUKEBOX, DELAY): the gate asks again (gate.h)
 *   -EBUSY   READ only: somebody there has the file to himself, and not just for a moment
 *   -EACCES, -EPERM                    -ENOTDIR, -EISDIR, -ENAMETOOLONG
 *   -EBADMSG     a reply that makes no sense
 *   -ENOTSUP     the server cannot do this
 *   -EHOSTDOWN   GETATTR, LOOKUP, XATTRS: this host's name service has failed for long to tell who
 *                the owner is, or somebody in the ACL; before that it is -EAGAIN
 *   -ENOTUNIQ    LOOKUP, XATTRS: the name is there, and leads to another object, or to none
 *   -EREMOTEIO   any other error of the old server (NFS3ERR_IO, NFS3ERR_SERVERFAULT, ...)
 *   -ECANCELED   the backend is being closed
 *
 * A backend reconnects by itself, for ever, and submits again what was under way: a server that is
 * away makes requests late, never failed.  Only a request that ends each connection that it comes
 * to fails, while others are answered (suspects.h).  Demand requests have connections of their own
 * and never wait for background ones (I11).
 */
#ifndef LIB_SOURCE_SOURCE_H
#define LIB_SOURCE_SOURCE_H

#include <glib.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/record.h"
#include "lib/base/error_codes.h"
#include "lib/base/error.h"
#include "lib/config/source_config.h"
#include "lib/source/source_nfs4_acl.h"
#include "lib/source/source_windows.h"
#include "lib/source/trace.h"

/* What finds an object on the old server. */
struct source_object {
	uint8_t handle_len; /* 0: no handle, use path */
	uint8_t handle[MIGRATE_HANDLE_MAX];
	char *path; /* g_malloc'd, below the source's root, "" for the root; NULL: unknown */
};

struct source_attr {
	mode_t mode; /* type and permissions */
	uint32_t nlink, uid, gid;
	/* 0; or uid and gid are void: this host's name service has not told yet who they are
	 * (-EAGAIN), or fails to (-EHOSTDOWN). */
	int no_owner;
	uint64_t size, used, fileid; /* bytes */
	/* Which of the source's file systems it is on, where fileid does not say that: 0 for the
	 * root's.  Of an object with several names it is always said. */
	uint64_t fs;
	/* Which object it is by its handle, of what LOOKUP or READDIR brought; 0: handles do not
	 * tell, or there are none.  Then `number` is the fileid as the old server says it, whatever
	 * file system it is on. */
	uint64_t object, number;
	dev_t rdev;
	int64_t atime, mtime, ctime;  /* ns; the nearest, where the object's own is further away */
	int64_t far_atime, far_mtime; /* then that one, in seconds from 1970, else 0 */
	bool elsewhere; /* the old server itself has the data on tape, in a cloud ... */
	bool no_ctime;	/* ctime may be mtime once more: attributes, and bytes, can have changed */
	/* The gate's word: what changes the object now may leave its ctime as it is
	 * (server_clock.h). */
	bool unsettled;
};

struct source_entry {
	char *name; /* in the batch's memory */
	bool has_attr, has_handle;
	struct source_attr attr; /* attr.fileid is always valid */
	uint64_t cookie;	 /* of NFS version 3, else 0: where a listing goes on after it */
	uint8_t handle_len;
	uint8_t handle[MIGRATE_HANDLE_MAX];
};

/*
 * What an object has beside its attributes, named and encoded as this host's extended attributes:
 * "system.posix_acl_access", "system.posix_acl_default" (linux/posix_acl_xattr.h, version 2; an
 * access ACL that says no more than the mode is left out), "user.NAME".
 */
struct source_xattr {
	char *name; /* g_malloc'd, at most 255 bytes */
	uint8_t *value;
	uint32_t len; /* 0..65536 */
};

/* The answer to BACKEND_XATTRS: an object's extended attributes and ACLs, and a small file's bytes.
 */
struct source_xattrs {
	GArray *list; /* of struct source_xattr */
	GPtrArray
		*lost; /* char *: what the object has there that cannot be carried, one line each */
	bool acl_lost; /* among them an access ACL: the mode may say more than it did */
	bool immutable; /* of a file: it has the flag (chattr +i) there */
	bool closed;	/* the old server did not tell: then there is nothing else in this */
	/* Of an SMB server, else NULL.  Then the attributes' owner, group and permissions are void:
	 * the descriptor says them. */
	struct source_windows *windows;
	uint32_t project; /* of a local tree: it is in this project, which is not carried; or 0 */
	/* Of an NFSv4 server, else NULL: the permissions are no more than what it says. */
	struct source_nfs4_acl *nfs4_acl;
	/* Where a small file's bytes were wanted with it: all attr.size of them, of one moment with
	 * attr: who changes the file while it is read is seen by its size and times.  NULL: not
	 * brought, which is no error, whatever kept them. */
	uint8_t *data;
	uint32_t data_len;
};
struct source_xattrs *source_xattrs_new(void);
void source_xattrs_free(struct source_xattrs *xattrs);
/* Copies the bytes of a file that is the same before and after they were read; others are not
 * brought. */
void source_xattrs_bring(struct source_xattrs *xattrs, const struct source_attr *before,
			 const struct source_attr *after, const uint8_t *data, uint32_t len);
/* Copies both. */
void source_xattrs_add(struct source_xattrs *xattrs, const char *name, const void *value,
		       uint32_t len);
/* Adds a line to lost. */
void source_xattrs_lose(struct source_xattrs *xattrs, const char *format, ...) G_GNUC_PRINTF(2, 3);

/*
 * Adds an ACL in the kernel's format, whose entries are put in order.  Nothing is added for one
 * that says nothing: an empty one, or an access ACL that says no more than a mode.  One that acl(5)
 * does not allow is lost.
 */
void source_xattrs_add_acl(struct source_xattrs *xattrs, bool is_default, const uint8_t *value,
			   uint32_t len);
/* There is one that cannot be carried. */
void source_xattrs_lose_acl(struct source_xattrs *xattrs, bool is_default, const char *why);

/* A name that nothing can have here. */
struct source_refusal {
	char *name; /* as it is shown (text.h), g_malloc'd */
	enum error_code why;
};

#define BATCH_REFUSED_MAX 8192 /* more than a page of an honest server has */

struct backend_batch {
	GArray *entries; /* of struct source_entry */
	GStringChunk *names;
	GArray *refused;   /* of struct source_refusal: the first BATCH_REFUSED_MAX of ... */
	unsigned rejected; /* ... the entries left out because of their names */
};
struct backend_batch *backend_batch_new(void);
void backend_batch_free(struct backend_batch *batch);
/* Takes name. */
void backend_batch_refuse(struct backend_batch *batch, char *name, enum error_code why);
/* Appends; copies name; checks it (see above): a bad name is refused and FALSE returned. */
gboolean backend_batch_add(struct backend_batch *batch, const char *name, size_t len,
			   const struct source_entry *entry);

enum backend_op {
	BACKEND_GETATTR, /* object -> attr */
	BACKEND_LOOKUP,	 /* object (directory), name -> attr, handle */
	BACKEND_READDIR, /* object, cookie, verf -> batch, cookie, verf, eof; with names_only: no
			  * attributes are asked for.  Entries without attr or handle are possible
			  * always; "." and ".." never come. -EBADMSG with a stale cookie: restart.
			  * has_attr: attr.fileid is the directory's
			  */
	BACKEND_READ, /* object, offset, count -> data, data_len, eof, attr (has_attr; its owner may
		       * be void) */
	BACKEND_READLINK, /* object -> text */
	BACKEND_XATTRS,	  /* object -> xattrs; only what carries() says (backend_may_have()); attr
			   * (has_attr).  count: the size of a file whose bytes are wanted with it, at
			   * most max_read(), and `listed`; else 0 */
};

/* BACKEND_TELLS_LINKS: symbolic links have some too, which are told of.  BACKEND_TRANSLATES_ACL:
 * the ACLs are of NFS version 4. */
enum {
	BACKEND_CARRIES_ACL = 1 << 0,
	BACKEND_CARRIES_XATTR = 1 << 1,
	BACKEND_TELLS_LINKS = 1 << 2,
	BACKEND_TRANSLATES_ACL = 1 << 3
};
/* Whether an object of this type has to be asked about with BACKEND_XATTRS.  carries: of
 * BACKEND_CARRIES_*; 0: nothing. */
bool backend_may_have(unsigned carries, mode_t mode);

enum backend_priority { BACKEND_DEMAND, BACKEND_READAHEAD, BACKEND_BACKGROUND };

struct gate;
struct backend_request;

/* The backend's own between submit and done. */
struct backend_scratch {
	gpointer data;
	gint64 submitted; /* g_get_monotonic_time() */
	guint8 breaks;	  /* suspects.h */
	bool known;	  /* likewise: it was given up before, or may have been */
};

/* The gate's own. */
struct gate_scratch {
	struct gate *owner;
	void (*done)(struct backend_request *req); /* the submitter's, while the backend has it */
	guint senseless;			   /* answers without sense */
	gint64 let_in, due;			   /* g_get_monotonic_time() */
	uint64_t first_cookie, first_verf;
	uint32_t carried; /* until gate_carried() */
};

struct backend_request {
	enum backend_op op;
	enum backend_priority priority;
	struct trace_id trace; /* whom it is for; the gate sets it if nobody did */
	/* in */
	struct source_object object; /* path not owned */
	const char *name;
	/* LOOKUP: not name, but the directory that this one is in, which may be above the source's
	 * root.  NFS version 3 and file:// only, else -ENOTSUP. */
	bool up;
	uint64_t offset;
	uint32_t count;
	const struct source_attr *listed; /* the file as it was seen before */
	bool holes; /* READ: zeros may come for what the old server says is a hole */
	bool names_only;
	bool with_acl; /* GETATTR of NFS version 4, by nfs_gather.h: -> xattrs, too */
	bool hurried;  /* others need what waits for it (a thread): the gate soon gives it up */
	/* in and out, READDIR */
	uint64_t cookie, verf; /* both 0 at the start */
	/* out */
	int status;
	bool grace;	 /* -EAGAIN: the server has begun anew, and lets nobody read for a while */
	bool at_leisure; /* -EAGAIN: it takes long; who wants it asks again, the gate does not */
	bool here; /* -EAGAIN: this host does not know an owner yet, which the server cannot help */
	enum error_code why; /* with -EREMOTEIO, where more is known; else QM_NONE */
	bool eof, has_attr;
	struct source_attr attr;
	uint8_t handle_len;
	uint8_t handle[MIGRATE_HANDLE_MAX];
	const uint8_t *data;
	uint32_t data_len;
	char *text;
	struct backend_batch *batch;
	struct source_xattrs *xattrs; /* passes to the submitter: source_xattrs_free */

	void (*done)(struct backend_request *req);
	void *user;
	GList link;	/* of the queue that it is in: the gate's, then the backend's */
	guint attempts; /* how often the gate has asked for it before, in vain: "later" */
	struct backend_scratch backend;
	struct gate_scratch gate;
};

struct backend;

struct backend_ops {
	const char *scheme; /* "nfs" */
	bool spells;	    /* LOOKUP finds nothing by another spelling than the listed one */
	/*
	 * Parses the URL and connects.  Blocks until the root is known or the server refuses; a
	 * server that is away for more than 30 s is an error.  *root: the source's root (owned by
	 * the caller: source_object_clear), *attr its attributes.  NULL with error set (one line
	 * that names the URL and the remedy); its code is EKEYREJECTED where to try again without
	 * a change may get an account there locked.
	 */
	struct backend *(*open)(const struct backend_config *config, struct source_object *root,
				struct source_attr *attr, GError **error);
	/* Completes everything with -ECANCELED, joins the threads, frees. */
	void (*close)(struct backend *backend);
	/* Any thread; does not block.  done may be called before it returns: nobody submits from
	 * done what was just put off (-EAGAIN), which may go on for ever. */
	void (*submit)(struct backend *backend, struct backend_request *req);
	/* Largest sensible READ count in bytes. */
	uint32_t (*max_read)(struct backend *backend);
	/* 0: the server answers; else seconds since it last did while requests wait. */
	unsigned (*away)(struct backend *backend);
	/* What BACKEND_XATTRS can bring from this server: BACKEND_CARRIES_*.  0 (or NULL): nothing
	 * but files' bytes, and without count it is never submitted. */
	unsigned (*carries)(struct backend *backend);
	/* What no object of this server comes with, for the fidelity report: lines of text, or
	 * NULL.  g_free. */
	char *(*not_carried)(struct backend *backend);
	/* By how many ns the server's clock was ahead of this machine's when it was connected to,
	 * but for the time that took.  FALSE (or NULL): the protocol does not tell. */
	bool (*clock)(struct backend *backend, int64_t *ahead);
	/* What was given up, and is not asked for again for a while, may be (or NULL). */
	void (*retry)(struct backend *backend);
	/* Which of all file systems the root is on, where its handle does not tell; 0 (or NULL):
	 * not known. */
	uint64_t (*root_fs)(struct backend *backend);
	/* Asks whether the server would let this machine change the root now: 1, 0, or -errno: it
	 * does not tell (or NULL).  Blocks for some seconds. */
	int (*writable)(struct backend *backend);
};

/* First member of every backend's own structure. */
struct backend {
	const struct backend_ops *ops;
};

static inline void backend_retry(struct backend *backend)
{
	if (backend && backend->ops->retry)
		backend->ops->retry(backend);
}

/*
 * A fileid that tells objects of one source apart even where it spans several file systems: the
 * fileid itself on the root's, mixed with the difference of the file systems' ids elsewhere.
 */
uint64_t backend_fileid(uint64_t fileid, uint64_t fs, uint64_t root_fs);

/* In ns, as of struct source_attr.  far: NULL: nobody wants to know. */
int64_t source_time(int64_t seconds, uint32_t ns, int64_t *far);
/* Of bytes, never 0. */
uint64_t source_hash(const void *bytes, size_t len);

/* Whether nobody has changed the file between the two. */
bool source_attr_same(const struct source_attr *a, const struct source_attr *b);

/* A name as it is promised above: 1..255 bytes, no '/' or NUL, not "." or "..". */
bool source_name_ok(const char *name, size_t len);
/* A path below a root that consists of such names. */
bool source_path_ok(const char *path);

void source_object_clear(struct source_object *object);
void source_object_copy(struct source_object *to, const struct source_object *from);

/* An event of a request (trace.h). */
void trace_request(enum trace_step step, const struct backend_request *req, uint64_t number,
		   int result);

#endif
