/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The stub record: the value of the extended attribute security.migrate of an unfinished object
 * (docs/architecture.md, "On disk").  Read by everybody, written by the retriever alone.
 *
 * Layout, little-endian, version 1; "varint" is unsigned LEB128 of at most 10 bytes:
 *
 *   u8  version (1)          u8  state (enum migrate_state, never NORMAL)
 *   u16 flags (MIGRATE_REC_*; an unknown bit is an error)
 *   u8  binding type   u8 binding length (1..64)   bytes: the kernel's own file handle of the
 *       inode (name_to_handle_at(2)), which is its number and generation
 *   varint fileid            the object's fileid on the old server
 *   varint size              bytes, as the old server had it when the object was created here; of a
 *                            directory its number of links there
 *   i64 mtime, i64 ctime     of the old server, in nanoseconds since the epoch
 *   [SHOWN_MTIME] i64        mtime to show and to restore, where a client changed it
 *   [SHOWN_CTIME] i64        ctime to show, where a client changed it
 *   [LISTED]      i64 sum of the names that a directory had when it became filled (name_diff.h)
 *   [HANDLE]      u8 length (1..128), bytes: the old server's handle
 *   [HANDLE_DIFF] u8 template, u8 offset, u8 length, bytes: the handle, as the template with
 *                 `length` bytes at `offset` replaced
 *   [PATH]        varint length (0..3000), bytes: path below the source's root, no leading slash,
 *                 "" for the root itself
 *   [ERROR]       u8 errno: why the last attempt failed
 *   [EXTENTS]     varint n (0..MIGRATE_REC_MAX_EXTENTS), n times varint gap, varint length:
 *                 the missing set; without this flag all of [0, size) is missing (PARTIAL, DUMMY)
 *   [DIRTY]       16 bytes mount epoch, then a set as above: ranges of the missing set that a
 *                 client has written and that are not known to be durable.  While the file system
 *                 stays mounted they count as present; afterwards as missing.
 *   u32 crc32c of everything before it
 *
 * What may crash where: a kill loses nothing because ranges a client wrote are in DIRTY before
 * the client is answered; a power cut brings back the old bytes of what was not yet acknowledged
 * as durable, because only durable ranges leave EXTENTS (I3, I7).
 *
 * record.pml is the same as a model, with all that happens to a record; names.pml and places.pml
 * are those of directories (I5, I6).  tests/model checks them.
 */
#ifndef COMMON_RECORD_H
#define COMMON_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/extents.h"
#include "common/migrate.h"

#define MIGRATE_XATTR		"security.migrate"
#define MIGRATE_REC_VERSION	1
#define MIGRATE_REC_MAX		4000 /* bytes of value; ext4 has one block for all xattrs */
#define MIGRATE_REC_MAX_EXTENTS 128
#define MIGRATE_REC_MAX_PATH	3000
#define MIGRATE_HANDLE_MAX	128 /* NFSv4 (RFC 7530 section 2.2.2): 128; NFSv3: 64 */
#define MIGRATE_BINDING_MAX	64
#define MIGRATE_EPOCH_LEN	16

enum {
	MIGRATE_REC_EXTENTS = 1 << 0,
	MIGRATE_REC_SHOWN_MTIME = 1 << 1,
	MIGRATE_REC_SHOWN_CTIME = 1 << 2,
	MIGRATE_REC_HANDLE = 1 << 3,
	MIGRATE_REC_HANDLE_DIFF = 1 << 4,
	MIGRATE_REC_PATH = 1 << 5,
	MIGRATE_REC_ERROR = 1 << 6,
	MIGRATE_REC_DIRTY = 1 << 7,
	MIGRATE_REC_CLIENT = 1 << 8,   /* a client has changed bytes or the size */
	MIGRATE_REC_RETURNED = 1 << 9, /* directory: was normal, unfinished things were moved in */
	MIGRATE_REC_NAMED =
		1 << 10, /* unfilled directory: every name is here, as a dummy at least */
	MIGRATE_REC_RESIZE = 1 << 11, /* file: the retriever is about to give it the size `size` */
	MIGRATE_REC_LOST = 1 << 12, /* file: what a client wrote may be lost, and it was not told */
	MIGRATE_REC_HOLES = 1 << 13,   /* file: clients may have made holes in DIRTY */
	MIGRATE_REC_LISTED = 1 << 15,  /* filled directory: `listed` is known */
	MIGRATE_REC_ADOPTED = 1 << 14, /* file: the missing ranges hold what another tool has
					* copied, and are still to be compared */
	/* file, unfilled directory: it is nobody's until the old server tells its rights */
	MIGRATE_REC_CLOSED_FILE = MIGRATE_REC_NAMED,
	MIGRATE_REC_CLOSED_DIRECTORY = MIGRATE_REC_ADOPTED,
};

/* What binds a record to its inode (I9). */
struct migrate_binding {
	uint8_t type;
	uint8_t len;
	uint8_t bytes[MIGRATE_BINDING_MAX];
};

/* The object's kernel handle; fd may be O_PATH.  With a non-empty name: that name below fd, not
 * followed.  0, or -errno of name_to_handle_at. */
int migrate_binding_get(int fd, const char *name, struct migrate_binding *out);
/* migrate_open_handle() of it. */
int migrate_binding_open(int mount_fd, const struct migrate_binding *binding, int flags);
bool migrate_binding_equal(const struct migrate_binding *a, const struct migrate_binding *b);
/* Whether they are one inode in two subvolumes of a btrfs: one is the other's snapshot, with the
 * same holes, and no copy that somebody filled. */
bool migrate_binding_snapshot(const struct migrate_binding *a, const struct migrate_binding *b);

/*
 * The mark of the private directory: its binding.  Nobody else can make one, and a client's
 * directory of that name, which there may be after the end, has none.  fd: of the directory, O_PATH
 * or not.  0 or -errno.
 */
#define MIGRATE_XATTR_PRIVATE "security.migrate.private"
int migrate_private_mark(int fd);
bool migrate_private_is_marked(int fd);

struct migrate_record {
	enum migrate_state state;
	/* HANDLE, PATH, ERROR, EXTENTS and DIRTY follow the fields when a record is encoded, and
	 * handle_len > 0 overrules HANDLE_DIFF; the owner sets the others. */
	uint16_t flags;
	struct migrate_binding binding;
	uint64_t fileid;
	uint64_t size;
	int64_t mtime, ctime;		  /* the old server's, at creation */
	int64_t shown_mtime, shown_ctime; /* valid with their flag; use migrate_record_mtime() */
	uint64_t listed;		  /* with MIGRATE_REC_LISTED */
	uint8_t handle_len;		  /* with MIGRATE_REC_HANDLE */
	uint8_t handle[MIGRATE_HANDLE_MAX];
	uint8_t diff_template, diff_offset, diff_len; /* with HANDLE_DIFF; bytes in handle[] */
	char *path;				      /* heap, NUL-terminated, or NULL */
	uint8_t error;				      /* errno, 0: none */
	struct migrate_extents missing;		      /* always explicit here; in [0, size) */
	struct migrate_extents dirty;		      /* subset of missing */
	uint8_t epoch[MIGRATE_EPOCH_LEN];	      /* of dirty */
	bool clipped; /* when loaded: the disk has ranges beyond the size */
};

void migrate_record_clear(struct migrate_record *rec);

/*
 * Encodes into buf.  Returns the length, or -ENOSPC (does not fit: the caller shrinks the missing
 * set or the path), -EINVAL (a field out of its range).
 */
ssize_t migrate_record_encode(const struct migrate_record *rec, uint8_t *buf, size_t size);

/*
 * Decodes; never trusts.  0 and *rec filled (clear it after), or -EBADMSG: damaged, truncated, of
 * an unknown version, or not in canonical form; -ENOMEM.  Does not look at the inode.
 */
int migrate_record_decode(const uint8_t *buf, size_t len, struct migrate_record *rec);

/*
 * Loads the record of an open object.  1 and *rec filled; 0 when there is none (normal); -EBADMSG
 * as above; else -errno, -EIO also for none where that proves nothing (migrate_watch()).  fd may be
 * O_PATH (then /proc/self/fd is used).  Checks the binding: a record copied to another inode is
 * void, and 0 is returned for it (I9); in a snapshot of a btrfs subvolume it is -EBADMSG, because
 * what is missing there cannot be had (I4).  Missing ranges beyond the inode's size are dropped
 * from *rec, except with RESIZE; dirty ranges of another mount are emptied (so count as missing).
 */
int migrate_record_load(int fd, struct migrate_record *rec);

/* Writes / removes the xattr.  Retriever only.  fd must not be O_PATH.  0 or -errno. */
int migrate_record_store(int fd, const struct migrate_record *rec);
int migrate_record_drop(int fd);

/* MIGRATE_REC_CLOSED_FILE or _DIRECTORY, or 0. */
uint16_t migrate_record_closed(const struct migrate_record *rec);
int64_t migrate_record_mtime(const struct migrate_record *rec);
int64_t migrate_record_ctime(const struct migrate_record *rec);

/*
 * What dirty ranges are bound to: this boot and this mount of fd's file system, in the sense of the
 * superblock's life.  What was written and not synced is lost with either.  The same for all
 * processes, mounts and remounts of a superblock.  fd may be O_PATH.
 *
 * false where it cannot be told (no sysfs, or no /proc; neither ext4, xfs, btrfs, ZFS nor tmpfs):
 * then it is one of this process alone.  Its own dirty ranges are believed, nobody else's: a door
 * asks once too often (I2), and what clients had written and not synced when a retriever was killed
 * is lost.
 */
bool migrate_mount_epoch(int fd, uint8_t *epoch);

/*
 * Whether a power cut that undoes a change of metadata in fd's file system undoes all that came
 * after it, too: ext4, xfs, tmpfs.  Where it does not (btrfs, ZFS, and what is not known), an
 * fsync() of one object may make later changes durable without earlier ones of others.
 */
bool migrate_keeps_order(int fd);

/*
 * Whether SEEK_DATA in fd's file system never leaves data out, which would be copied as zeros.
 * False for ZFS before OpenZFS 2.2.4, and where that is not known.  Does not wait for the disk.
 */
bool migrate_tells_data(int fd);

/*
 * How many changes of fd's file system its intent log has taken since it was mounted.  A change
 * that an fsync() does not bring there is lost with the power, whatever fsync() says: on ZFS that
 * of an extended attribute with xattr=dir or without the pool's feature zilsaxattr, and any with
 * sync=disabled.  1 and *count; 0: it has no such log (it is not ZFS); -errno, -EOPNOTSUPP where it
 * does not tell.  Any thread; does not wait for the disk.
 */
int migrate_log_count(int fd, uint64_t *count);

/*
 * Where ext4 says how many errors it has found in fd's file system since that was last checked
 * (e2fsck): a descriptor, O_RDONLY | O_CLOEXEC, the caller's, of which pread() at 0 gives the
 * number of now as text, without waiting for the disk.  It does not keep the file system mounted.
 * -1: it is not ext4, or there is no sysfs.  Any thread.
 */
int migrate_mount_errors(int fd);

/* Whether that descriptor gives another number than 0; false of -1, and where it cannot be read.
 * One pread().  Any thread. */
bool migrate_errors_counted(int errors);

/* Times beyond 64 bits of nanoseconds (years 1677 and 2262) become the last one there is. */
static inline int64_t migrate_ns(struct timespec ts)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)ts.tv_sec, 1000000000, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)ts.tv_nsec, &ns))
		return ts.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}
struct timespec migrate_timespec(int64_t ns); /* tv_nsec always in 0..999999999 */

#endif
