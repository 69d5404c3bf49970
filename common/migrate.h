/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * libmigrate: what a file server's module (a "door") needs to serve a migrating volume.
 *
 * A volume is one directory tree bound to an old server.  Unfinished objects carry a stub record;
 * a door looks at an object's state, asks the retriever to make what is missing present, and
 * brackets the changes that clients make to unfinished objects.  docs/architecture.md has the
 * words, and the rules I1 to I13.
 *
 * Units: offsets and lengths in bytes, times in nanoseconds since the epoch unless a struct
 * timespec. Errors: functions return 0 or -errno out of the set below.  Nothing here prints,
 * aborts, changes process-wide state (signals, umask, cwd, locale) or leaves the C library.
 *
 *   -EAGAIN     not yet: answer JUKEBOX / DELAY, the work goes on or waits for the old server
 *   -ECONNRESET the retriever went away while a bracket was open: do the whole bracket again
 *   -EREMOTEIO  the old server's answer for this object is an error, or something of it cannot be
 *               made here (what a retriever answers that is not in this set, too); it stays
 *               unfinished
 *   -EACCES, -EPERM   the old server does not let this machine read it; it stays unfinished
 *   -ENOTDIR, -EISDIR, -EINVAL   it was asked of an object of another type
 *   -ESTALE     the object changed on the old server since its stub was made, or is gone there
 *   -EBADMSG    the record is damaged: never treat the object as whole
 *   -ENOENT     (name requests) the old server has no such name
 *   -ECANCELED  the request was cancelled or the volume closed
 *   -EPROTO     the retriever speaks another version
 *   -ENOSPC, -EDQUOT, -EROFS, -EIO, -ENOMEM, -EMFILE, -ENFILE, -ENOLCK   of this machine
 *
 * Threads: every function may be called from any thread.  Replies arrive in
 * migrate_volume_dispatch(), which one thread of the host (or its event loop) runs.
 */
#ifndef COMMON_MIGRATE_H
#define COMMON_MIGRATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- state of an object -------------------------------------------------------------------- */

enum migrate_state {
	MIGRATE_NORMAL = 0,   /* no record: whole, for ever (I1) */
	MIGRATE_DUMMY = 1,    /* attributes still to be fetched; never to be shown to a client */
	MIGRATE_PARTIAL = 2,  /* attributes whole, some data missing */
	MIGRATE_UNFILLED = 3, /* directory: not all entries are here */
	MIGRATE_FILLED = 4,   /* directory: all entries are here, not all below is normal */
};

/* Private: which file of the old server's a stub is one of; fileid 0: not known.  The same for
 * ever, unless the file was replaced there and the administrator wants the new one (migratectl
 * retry). */
struct migrate_version {
	uint64_t fileid, size;
	int64_t mtime, ctime;
};

/* What a door may know of one object.  A copy of what the record said when it was loaded: it can
 * only be behind (I2). */
struct migrate_stub {
	enum migrate_state state;
	int error;     /* positive errno of the last failed attempt, or 0 */
	uint64_t size; /* bytes, on the old server; of files */
	/* Of an unfilled directory: its number of links on the old server, which it will have when
	 * it is filled.  0: the inode's counts. */
	uint64_t nlink;
	struct timespec mtime, ctime; /* to be shown instead of the inode's; see show_times */
	bool show_times;	/* false for a filled directory that a client has changed since */
	uint64_t missing_bytes; /* to be added to the space the inode uses */
	struct migrate_version version;
	/* private: ask migrate_stub_present(), _next_missing() and _found() */
	struct migrate_extents *ranges, *dirty;
	uint64_t end;
};

/*
 * Loads the state of an open object.  fd: any descriptor of it, O_PATH too; stays the caller's.
 * Costs one system call for a normal object, one more where migrate_watch() was called, a few for a
 * stub.  0, -EBADMSG, -EIO, -ENOMEM.
 * Clear *stub afterwards whatever was returned.
 */
int migrate_stub_load(int fd, struct migrate_stub *stub);
void migrate_stub_clear(struct migrate_stub *stub);
/* Whether no byte of [offset, offset + length) is missing; always true for a normal object. */
bool migrate_stub_present(const struct migrate_stub *stub, uint64_t offset, uint64_t length);
/* The first missing range that ends beyond offset; false when there is none. */
bool migrate_stub_next_missing(const struct migrate_stub *stub, uint64_t offset, uint64_t *start,
			       uint64_t *end);

/*
 * Whether something is missing: bytes of a file, names of a directory, or all but the name.  In a
 * btrfs snapshot of a volume, too, where migrate_stub_load() says -EBADMSG as nobody can bring it.
 * fd: as there.  1, 0, -EBADMSG, -ENOMEM, or another -errno.
 */
int migrate_is_missing(int fd);

/*
 * The space, in bytes, that a file of this size is to be shown with, whose inode uses so much: what
 * is missing takes space too, so that it does not look like a hole.
 */
uint64_t migrate_stub_space(const struct migrate_stub *stub, uint64_t size, uint64_t used);
/* Whether this is the name of the extended attribute that holds the record, or may hold it in
 * versions to come: doors hide it from clients, and refuse to change it. */
bool migrate_is_record(const char *xattr);

/*
 * Whether what was found in an unfinished file since its stub was loaded (bytes, holes) may be
 * given to a client.  If meanwhile the stub has become one of another file, what was here is
 * missing again, and may have been a hole when it was read (I4).  found: the version of that stub.
 * 1: it may.  0: it is another one, or normal, which does not tell what was before that: look and
 * read again.  -EBADMSG, -EIO, -ENOMEM.  fd: as for migrate_stub_load().
 */
int migrate_stub_confirm(int fd, const struct migrate_version *found);

/* What a read of an unfinished file goes by: private, of migrate_stub_found(). */
struct migrate_found {
	struct migrate_version version;
	uint32_t unit; /* bytes that may have been lost together; 0: none may have been */
};

/* Of a read of this range, before it is made or the range is asked for. */
struct migrate_found migrate_stub_found(const struct migrate_stub *stub, uint64_t offset,
					uint64_t length);

/*
 * migrate_stub_confirm() of bytes that were read; and whether they may be a hole in place of what a
 * failing disk did not take: the kernel drops such pages, and tells who syncs.  read, count: what
 * was read from offset on, `length` bytes of it.  MIGRATE_DOUBTFUL: there are zeros of which
 * nobody knows yet: after migrate_fetch_range() with MIGRATE_DURABLE, look and read again.
 */
#define MIGRATE_DOUBTFUL 2
int migrate_read_confirm(int fd, const struct migrate_found *found, uint64_t offset,
			 const struct iovec *read, int count, uint64_t length);

/*
 * From now on an object without a record is not taken for whole where fd's file system, an ext4,
 * has found errors in itself (migrate_damaged()): what looks at records answers -EIO.  For the
 * whole process, and never taken back.  Keeps a descriptor for each file system, which does not
 * keep it mounted. To be called, as root, with a directory of each mount before anything is looked
 * at there.  Costs one pread() for each object that is found without a record.  0, also for what is
 * no ext4; -ENOMEM or another -errno.  Any thread.
 */
int migrate_watch(int fd);

/*
 * Whether the file system of fd is watched, and has found an error in itself since, or took no
 * changes any more then.  An ext4 whose journal has been aborted goes on answering, and forgets: a
 * block of inodes that has left memory comes back as the disk has it, which may be older than what
 * the journal holds, and inodes that have stayed in memory have the extended attributes that are in
 * there.  So what is unfinished may have lost its record.  fd: O_PATH will do.  Any thread.
 */
bool migrate_damaged(int fd);

/* How the file itself answers: lseek(2) with SEEK_HOLE or SEEK_DATA.  0 and *at; -ENXIO: there is
 * none at offset or beyond; another -errno. */
typedef int (*migrate_seek_fn)(void *arg, bool hole, uint64_t offset, uint64_t *at);

struct migrate_seek {
	uint64_t size, block; /* of the file, of its file system */
	migrate_seek_fn below;
	void *arg;
};

/* Whether clients wrote what is not known to be durable: it may be lost, and look like a hole.
 * Before migrate_stub_seek(): migrate_fetch_range() with MIGRATE_DURABLE, and look again. */
bool migrate_stub_dirty(const struct migrate_stub *stub);

/*
 * The same for a client: a missing range is data, as it will be, and a block that is missing in
 * part is data in whole.  Errors are those of below.
 */
int migrate_stub_seek(const struct migrate_stub *stub, const struct migrate_seek *seek, bool hole,
		      uint64_t offset, uint64_t *at);

/* The directory at a volume's root that doors hide from clients in every lookup and listing. */
#define MIGRATE_PRIVATE_DIR ".migrate"
#define MIGRATE_LINKS_DIR   "links" /* in it: what has names that are still to come */
/* The directory that mkfs and e2fsck make at the root of an ext4.  The old tree may have one of its
 * own. */
#define MIGRATE_LOST_FOUND "lost+found"
/* The one at the old tree's root in which is what migratectl rollback does just now: it is not
 * brought over. */
#define MIGRATE_ROLLBACK_DIR ".migrate-rollback"

/*
 * What a door can tell of an open directory before it knows where the volume's root is: that is the
 * topmost directory with a record (I5).  fd: as for migrate_stub_load(); migrate_is_vacant() and
 * migrate_is_empty() take no O_PATH.
 */
/* 1: it has a record.  0: it has none, or one that is bound to another inode; errno is kept.
 * -EBADMSG, -EIO, -ENOMEM. */
int migrate_has_record(int fd);
/* It has the retriever's MIGRATE_PRIVATE_DIR, which is there until the volume is finalized; not a
 * client's of that name, which there may be afterwards. */
bool migrate_has_private(int fd);
/* That is there, and the volume is not attached yet: it holds a copy that was made before. */
bool migrate_is_attaching(int fd);
/* There is nothing in it but an empty MIGRATE_LOST_FOUND, which attach takes away (and, if
 * but_private, the retriever's MIGRATE_PRIVATE_DIR, or an empty one, which it was about to make).
 */
bool migrate_is_vacant(int fd, bool but_private);
/* name in it is a directory with nothing in it. */
bool migrate_is_empty(int fd, const char *name);

struct migrate_inspection {
	bool unfinished; /* it has a record, or a directory above it on the same file system has */
	/* It is not unfinished, and has MIGRATE_PRIVATE_DIR, or a directory above it has: the
	 * volume is not finalized, which is when everything in it is looked at once more. */
	bool to_be_finalized;
	bool root; /* it is the volume's root */
	/* It has nothing in it, and nothing tells that it is in a volume: to be attached.  Neither
	 * this nor unfinished: nothing here is unfinished, or the volume's root is further below,
	 * which only the retriever knows. */
	bool vacant;
};
/* All of the above for a directory that is to be served.  0, or -errno as of migrate_has_record().
 */
int migrate_inspect(int fd, struct migrate_inspection *inspection);

/*
 * Opens the inode that has this kernel handle (name_to_handle_at(2)).  mount_fd: anything on its
 * file system, not O_PATH; flags: of open(2).  A descriptor; -ESTALE: it is gone; else -errno.
 */
int migrate_open_handle(int mount_fd, int type, const void *bytes, size_t len, int flags);
/*
 * Opens what is at a path below a directory ("" or ".": itself), however long: a call takes fewer
 * than PATH_MAX bytes, so longer ones are gone down by whole components.  flags: of open(2);
 * resolve: of openat2(2), RESOLVE_BENEATH added.  A descriptor, O_CLOEXEC, or -errno.
 */
int migrate_open_below(int dir_fd, const char *path, int flags, uint64_t resolve);
/*
 * The present path of an open object, and the name of an open directory in the one above it; free()
 * them.  Of a directory the path may be longer than PATH_MAX, where the kernel tells none: the
 * directories above it are read then.  NULL: it has none, or cannot be told.
 */
char *migrate_fd_path(int fd);
char *migrate_dir_name(int fd);

/* ---- a volume ------------------------------------------------------------------------------ */

struct migrate_volume;

enum migrate_role {
	MIGRATE_ROLE_DOOR = 1,
	MIGRATE_ROLE_CRAWLER = 2,
	MIGRATE_ROLE_CONTROL = 3,
	/* A door that is no NFS server. */
	MIGRATE_ROLE_PLAIN_DOOR = 4,
};

#define MIGRATE_SOCKET_DIR "/run/quickmigrate"

/*
 * Makes the client side of a volume; connects later, in migrate_volume_dispatch(), and again
 * whenever the connection is lost, so a retriever that is not there yet is no error.  name: the
 * [volume NAME] of the configuration.  socket_path: NULL or "" for MIGRATE_SOCKET_DIR/NAME.sock.
 * The process must be root when it connects (the retriever checks SO_PEERCRED).
 */
int migrate_volume_new(const char *name, const char *socket_path, enum migrate_role role,
		       struct migrate_volume **volume);
/* Completes everything outstanding with -ECANCELED (in the caller's thread) and frees. */
void migrate_volume_free(struct migrate_volume *volume);

/* For an event loop: poll this descriptor for reading; it stays the same for the volume's life
 * (an epoll descriptor). */
int migrate_volume_fd(const struct migrate_volume *volume);
/*
 * Waits up to timeout_ms (-1: for ever, 0: not at all) for something to do, does it, and calls the
 * callbacks of finished requests in this thread, holding no lock.  One thread at a time.
 * 0, or -EPROTO (final until the retriever is replaced; requests complete with -EAGAIN meanwhile).
 */
int migrate_volume_dispatch(struct migrate_volume *volume, int timeout_ms);
/* Makes a dispatch in another thread return. */
void migrate_volume_wake(struct migrate_volume *volume);
/*
 * A budget: as long as so many requests are under way, further RANGE, NAME, FILL and BEGIN requests
 * are refused with errno EAGAIN.  0, as at first: no limit.  While the old server is away, clients
 * that go on asking then cost no more memory, descriptors and work with each request.
 */
void migrate_volume_limit(struct migrate_volume *volume, unsigned requests);
/* Whether a quarter of it is spent: what nobody waits for is better cancelled. */
bool migrate_volume_crowded(struct migrate_volume *volume);
/*
 * For doors, as root, before the first object is opened: this process serves the volume through the
 * layer, and nothing of it past the layer.  Until migrate_volume_free() the guard lets it open what
 * is unfinished; any other file server waits there as every program does.  Where it fails it is
 * tried again with each connection.  0 or -errno.
 */
int migrate_volume_register(struct migrate_volume *volume);
/* Its path: what is registered in is beside it, with .doors behind.  For the volume's life. */
const char *migrate_volume_socket(const struct migrate_volume *volume);
/* Of the volume at socket (its whole path): the processes that have registered, as long as each
 * says so; and whether this one has.  For root; else there are none.  Never in a process that
 * registers: it would not be registered any more. */
typedef bool (*migrate_door_fn)(void *arg, pid_t pid);
void migrate_each_door(const char *socket, migrate_door_fn each, void *arg);
bool migrate_is_door(const char *socket, pid_t pid);
/* Whether one of the directories, or one that is mounted below fd's, is the other, or is somewhere
 * in it, through whatever mounts and links they were opened; what they have open may be O_PATH. */
bool migrate_overlap(int fd, int dir_fd);
/* Whether the directory is the other, or is somewhere in it. */
bool migrate_lies_in(int fd, int dir_fd);
/*
 * Opens (O_PATH) the directory of a server's configuration, an absolute path, or what is there of
 * it: the deepest directory above, not whole.  Does not go where a network's file system, an
 * automount or FUSE would have to answer, unless a local one is mounted there or below: -EREMOTE,
 * which is no part of a volume.  Else -errno.
 */
int migrate_open_served(const char *path, bool *whole);
/* Whether the retriever is connected and has said hello. */
bool migrate_volume_connected(const struct migrate_volume *volume);
/* Whether somebody listens at the other end, who may not have said hello yet. */
bool migrate_volume_reached(struct migrate_volume *volume);

/* ---- requests ------------------------------------------------------------------------------ */

/*
 * All requests are asynchronous.  done is called exactly once, from migrate_volume_dispatch() (or
 * from migrate_volume_free()), never from within the call that made the request.  status: 0 or
 * -errno as above.  A descriptor given to a request stays the caller's and must stay open until
 * done is called.  The return value names the request for migrate_cancel(); 0 with errno set
 * (ENOMEM, EINVAL, EAGAIN) when nothing was started and done will not be called.
 *
 * Requests made while the retriever is away wait for it, and are sent again when the connection was
 * lost; only brackets complete with -ECONNRESET then.
 */
typedef void (*migrate_done_fn)(void *arg, int status);

enum {
	MIGRATE_BACKGROUND = 1 << 0, /* behind every demand; for crawlers */
	MIGRATE_DATA = 1 << 1,	     /* migrate_fill_directory: the files' data as well */
	MIGRATE_SMALL_DATA = 1 << 2, /* ... of small files, where it comes with their names */
	/* migrate_fetch_range: nothing is fetched.  Done when what is here of the file is on stable
	 * storage, or is known to be lost and counts as missing; -EIO if it was lost just now. */
	MIGRATE_DURABLE = 1 << 3,
	/* With MIGRATE_BACKGROUND: before all else in the background (migratectl fetch). */
	MIGRATE_FIRST = 1 << 4,
	MIGRATE_READS = 1 << 5, /* migrate_fill_since: files that were read since then, too */
};

/* Done when no byte of [offset, offset + length) is missing any more.  length 0 and
 * UINT64_MAX are allowed (nothing; to the end).  The range may be read though the record still
 * calls it missing, as long as that is of the same version: see migrate_stub_confirm(). */
uint64_t migrate_fetch_range(struct migrate_volume *volume, int fd, uint64_t offset,
			     uint64_t length, unsigned flags, migrate_done_fn done, void *arg);

/* Done when name in the unfilled directory fd is there with its attributes, or -ENOENT.  Name:
 * 1..255 bytes. Also starts the directory's fill. */
uint64_t migrate_fetch_name(struct migrate_volume *volume, int fd, const char *name, unsigned flags,
			    migrate_done_fn done, void *arg);

/* Done when the directory fd is filled (or normal).  With MIGRATE_DATA: when the data of every
 * file in it is here too; then failures of single files do not fail the request, they are
 * listed.  Where the directory cannot be filled the data of those that are here has come all the
 * same.  MIGRATE_SMALL_DATA is a hint: an old server that has to be asked about each file anyhow
 * (SMB, for the security descriptor) may be asked for its bytes in the same breath. */
uint64_t migrate_fill_directory(struct migrate_volume *volume, int fd, unsigned flags,
				migrate_done_fn done, void *arg);
/* The same, but of MIGRATE_DATA only those files' that were changed on the old server, as their
 * records have it, at `since` (nanoseconds since 1970; 0: all) or later.  With MIGRATE_FIRST
 * -EREMOTEIO tells that a file in it failed. */
uint64_t migrate_fill_since(struct migrate_volume *volume, int fd, unsigned flags, int64_t since,
			    migrate_done_fn done, void *arg);

/* For the crawler: everything below the filled directory fd has been handed out; drop its record
 * if every entry is normal by now.  -EAGAIN: something is left below; -EREMOTEIO: only what failed
 * is, so that asking again soon is of no use. */
uint64_t migrate_finish_directory(struct migrate_volume *volume, int fd, migrate_done_fn done,
				  void *arg);

enum migrate_change {
	MIGRATE_WRITE = 1,    /* data at [offset, offset + length) is written; may raise the size */
	MIGRATE_TRUNCATE = 2, /* the size becomes offset (down or up) */
	MIGRATE_PUNCH = 3,    /* [offset, offset + length) becomes zeros, as a hole or not */
	MIGRATE_ATTRIBUTES = 4, /* mode, owner, times, xattrs; ALLOCATE (with offset + length) */
	MIGRATE_PLACE = 5, /* fd, not normal, gets a name in the directory dir_fd: rename, link */
};

/*
 * Brackets.  A change to an object that is not normal is made between begin's done and end's:
 * migrate_bracket_next() has the steps.  After begin is done with 0 no fill writes to the object;
 * after any error there is no bracket.  Only the end may be followed by an answer to the client.
 * From either -ECONNRESET means that the retriever went away: the change may have been half undone
 * by a fill meanwhile.  Never wait for anything of this volume between begin and end.
 *
 * MIGRATE_PLACE takes the destination directory in dir_fd (-1 otherwise); it makes that directory
 * and its ancestors unfinished first (I5).
 */
uint64_t migrate_begin(struct migrate_volume *volume, int fd, int dir_fd,
		       enum migrate_change change, uint64_t offset, uint64_t length,
		       migrate_done_fn done, void *arg);
/*
 * begun: what migrate_begin() returned.  changed: whether the change was made (in part counts:
 * give what was changed in offset and length); false leaves the missing set as it was.  durable:
 * the change, and everything a client changed in this object before, is on stable storage together
 * with its record when done is called (for stable writes).  done: NULL where nobody wants to know.
 */
uint64_t migrate_end(struct migrate_volume *volume, uint64_t begun, bool changed, bool durable,
		     uint64_t offset, uint64_t length, migrate_done_fn done, void *arg);

/*
 * What is to be done next of a change in a bracket, given the status of the step before.
 * Zero it, set once and until, and do what step says until it is MIGRATE_STEP_ANSWER.
 */
enum migrate_step {
	MIGRATE_STEP_BEGIN,  /* migrate_begin() */
	MIGRATE_STEP_CHANGE, /* make the change; the status is 0, or negative if it failed */
	MIGRATE_STEP_END,    /* migrate_end(), changed unless `failed` */
	MIGRATE_STEP_ANSWER, /* status 0: what the change returned last; else that */
};

struct migrate_bracket {
	/* The change fails where it was made already, or is made twice: it makes or takes away a
	 * name or an attribute, or appends.  After a reset only the bracket is made again, and what
	 * was made is answered as made, whatever becomes of the bracket: the client must hear of
	 * it.  The record may then show the times from before; a fill undoes nothing of this kind.
	 */
	bool once;
	struct timespec until; /* nothing is begun again after that */
	enum migrate_step step;
	bool tried, failed; /* the change, in this turn or an earlier one */
	int status;
};
enum migrate_step migrate_bracket_next(struct migrate_bracket *bracket, int status);

/*
 * What a rename takes a name from.  fill: a directory that a directory is to replace: its names
 * must be here first, because an unfilled one looks empty.  touch: an unfinished file with other
 * names, which are to show a new ctime: afterwards an ATTRIBUTES bracket in which nothing is
 * changed.
 */
struct migrate_replaced {
	int fd; /* O_PATH; -1: there is nothing, or it is what is moved */
	struct stat st;
	bool fill, touch;
};
/* name: of the new place in the filled directory dir_fd.  0, and migrate_replaced_clear()
 * afterwards; -EBADMSG, -EIO, -ENOMEM, or another -errno of openat(2): it is not known what is
 * there.
 */
int migrate_replaced_find(int dir_fd, const char *name, const struct stat *moved,
			  struct migrate_replaced *replaced);
void migrate_replaced_clear(struct migrate_replaced *replaced);

/*
 * Holds (I5).  While names change, the kernel keeps a lock on the directory (flock(2)): it outlives
 * the retriever, whose successor knows nothing of open brackets, and dies with the door.
 *
 *   ALONE   of a directory that is moved, from before its record is looked at until it is in its
 *           new place and the bracket, if it needs one, is closed: a directory that is normal does
 *           not become unfinished meanwhile, and nobody reckons with the place that it leaves.
 *   SHARED  of the directory that something unfinished is placed in, from before migrate_begin()
 *           until the bracket is closed: it does not become normal meanwhile.
 *
 * The retriever holds a directory ALONE when it drops the record, and SHARED when it makes one
 * unfinished again.
 *
 * dir_fd: an open directory, not O_PATH; stays the caller's.  Tries until CLOCK_MONOTONIC deadline
 * (NULL: once), blocking.  A descriptor, whose close() ends the hold; -EAGAIN: somebody else holds
 * it; -ENOLCK, -ENOMEM, -EMFILE, -ENFILE.  Any thread.
 */
enum migrate_lock_directory { MIGRATE_HOLD_SHARED, MIGRATE_HOLD_ALONE };
int migrate_lock_directory(int dir_fd, enum migrate_lock_directory hold,
			   const struct timespec *deadline);

/* Done when everything that was written to the object and its record are on stable storage: data,
 * then the record (COMMIT, fsync, SMB flush). */
uint64_t migrate_sync(struct migrate_volume *volume, int fd, migrate_done_fn done, void *arg);

/* The request's done is called with -ECANCELED, soon, unless it is finished already.  The work
 * itself may go on.  A bracket that is open is not cancelled: end it. */
void migrate_cancel(struct migrate_volume *volume, uint64_t request);

/* ---- old handles: a take-over without a remount ----------------------------------------------
 */

#define MIGRATE_OLD_HANDLE_MAX 64  /* bytes of an NFSv3 file handle (RFC 1813, section 2.3.3) */
#define MIGRATE_NEW_HANDLE_MAX 128 /* bytes of one of name_to_handle_at(2) */
#define MIGRATE_ALIASES_MAX    1024

/* A directory that clients of the old server have mounted: what they call it, and what it is here.
 */
struct migrate_alias {
	uint8_t old_len, len; /* 1..MIGRATE_OLD_HANDLE_MAX, 1..MIGRATE_NEW_HANDLE_MAX */
	uint8_t old[MIGRATE_OLD_HANDLE_MAX];
	uint8_t handle[MIGRATE_NEW_HANDLE_MAX];
	int type;	       /* of handle */
	uint64_t fileid, fsid; /* as the old server shows them (RFC 1813, section 2.3.5) */
	char *path;	       /* below the source's root, "." for that itself: for messages */
};

/* What dir_fd has there (with "" itself) is what the alias leads to from now on.  0 or -errno of
 * name_to_handle_at(2). */
int migrate_alias_bind(int dir_fd, const char *name, struct migrate_alias *alias);

/*
 * Reads what `migratectl takeover` has written: 0 and *list, of *n aliases with different old
 * handles, for migrate_aliases_free(); -EBADMSG: something in it makes no sense; -ENOMEM; or -errno
 * of open(2) and read(2).  Blocks on the disk.
 */
int migrate_aliases_load(const char *file, struct migrate_alias **list, size_t *n);
void migrate_aliases_free(struct migrate_alias *list, size_t n);
/* Writes all of them.  path must not have control characters.  0, or -1 with errno set. */
int migrate_aliases_print(FILE *file, const struct migrate_alias *list, size_t n);

/*
 * All objects that came from the old server: what clients call them, and what they are here
 * (`takeover = all`).  A file that the retriever adds to, and that doors read at the same time,
 * also when there is no retriever any more.  Of its aliases path is NULL and fsid 0.
 */
struct migrate_old_index;

/* To read.  0; -EBADMSG: it is none; -ENOMEM; or -errno of open(2).  Blocks on the disk. */
int migrate_old_index_open(const char *file, struct migrate_old_index **out);
/*
 * To add to, by one process at a time; made where there is none, for about so many objects.  What
 * was added before a power cut and not synced may be gone.  0, or -errno.  Blocks on the disk;
 * after a power cut for as long as it takes to read the file.
 */
int migrate_old_index_create(const char *file, uint64_t objects, struct migrate_old_index **out);
void migrate_old_index_close(struct migrate_old_index *index); /* NULL: nothing */

/*
 * An object that has no name yet: by its inode it is found at once, by its old handle when it is
 * named, so that nobody changes what is given up.  inode: its number here.  *at: for
 * migrate_old_index_name().  0 also where it is known already; -ENOSPC ...  Any thread.
 */
int migrate_old_index_add(struct migrate_old_index *index, uint64_t inode,
			  const struct migrate_alias *alias, uint64_t *at);
/* It has its name.  0, also if that was said before, or -errno of pwrite(2).  Any thread. */
int migrate_old_index_name(struct migrate_old_index *index, uint64_t at);
/* Makes durable what was added.  0 or -errno.  Any thread. */
int migrate_old_index_sync(struct migrate_old_index *index);

/* Counts what was named; wraps around. */
uint32_t migrate_old_index_named(const struct migrate_old_index *index);
/* Waits until that is not `seen` any more.  true: it is not; false: the deadline (CLOCK_MONOTONIC)
 * passed, or a signal came.  Any thread. */
bool migrate_old_index_wait(const struct migrate_old_index *index, uint32_t seen,
			    const struct timespec *deadline);

/* Whether every object of the old server was added: then other handles of it mean nothing.  0 or
 * -errno. */
int migrate_old_index_set_complete(struct migrate_old_index *index, bool complete);
bool migrate_old_index_is_complete(const struct migrate_old_index *index);
/* What was added may be gone, as after a power cut: until it is said that it is complete.  0 or
 * -errno. */
int migrate_old_index_doubt(struct migrate_old_index *index);
bool migrate_old_index_is_doubted(const struct migrate_old_index *index);

/* By the old server's handle, or by the inode's number, of which the last that was added is found,
 * if it was not added in vain: it may be one that had the number before.  False: not known, or not
 * to be read.  Any thread; blocks for the page cache. */
bool migrate_old_index_find(const struct migrate_old_index *index, const void *old, size_t len,
			    struct migrate_alias *alias);
bool migrate_old_index_find_inode(const struct migrate_old_index *index, uint64_t inode,
				  struct migrate_alias *alias);

/* ---- deadlines: CLOCK_MONOTONIC -------------------------------------------------------------- */

struct timespec migrate_in_ms(unsigned ms);	/* from now */
bool migrate_passed(const struct timespec *at); /* NULL: it has */

/* ---- control (migratectl) -------------------------------------------------------------------- */

/* text: the retriever's answer, NUL-terminated, valid during the call only.  With an error from the
 * retriever it is one line that says why; "" when the error arose here. */
typedef void (*migrate_text_fn)(void *arg, int status, const char *text);
/* command: words separated by spaces, see retriever/socket/control.h.  At most 63 KiB. */
uint64_t migrate_control(struct migrate_volume *volume, const char *command, migrate_text_fn done,
			 void *arg);

/* ---- facts from the retriever, valid once connected ------------------------------------------ */

/* Milliseconds a door waits before it answers JUKEBOX / DELAY.  500 until connected. */
unsigned migrate_volume_hold_ms(const struct migrate_volume *volume);
/* Whether the retriever said, when it was connected, that nothing on the volume is unfinished any
 * more, for ever.  Not while it is still to be attached. */
bool migrate_volume_finished(const struct migrate_volume *volume);
/* Whether the security descriptors of its objects are all that keeps SMB clients from them: the
 * permission bits allow more. */
bool migrate_volume_descriptors(const struct migrate_volume *volume);

#ifdef __cplusplus
}
#endif
#endif
