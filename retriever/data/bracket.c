/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/data/bracket.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "retriever/data/durability.h"
#include "retriever/data/place.h"
#include "retriever/objects/damage.h"
#include "retriever/objects/turns.h"
#include "retriever/objects/waiters.h"

struct bracket {
	struct turn turn; /* the first member */
	struct object *object;
	enum migrate_change change;
	uint64_t offset, end; /* that is to be punched */
	bool nothing;	      /* the object is normal: there is nothing to keep right */
	bool placed;
	bool again;	      /* room in the record was asked for while nobody had any */
	unsigned lost_writes; /* of the file, when it was opened */
	/* before its turn: doors are told of a placing, or room is made in the record; or that goes
	 * on though it was cancelled meanwhile.  The object's lock */
	enum { READY, PREPARING, PREPARING_IN_VAIN } before;
};

/* Lock held.  Nothing is missing beyond the inode's size, in the record on the disk neither. */
static int clip(struct object *object, uint64_t size)
{
	struct migrate_record *rec = &object->record;
	int ret;

	if (is_directory(object) ||
	    (!file_of(object)->unstored && (migrate_extents_empty(&rec->missing) ||
					    rec->missing.v[rec->missing.n - 1].end <= size)))
		return 0;
	migrate_extents_clip(&rec->missing, size);
	migrate_extents_clip(&rec->dirty, size);
	migrate_extents_clip(&file_of(object)->filled, size);
	ret = object_store(object);
	file_of(object)->unstored |= ret < 0; /* the next one stores it */
	return ret;
}

/* Lock held.  A change that failed, or of which nothing is known, may have made the file shorter
 * all the same. */
static void clip_after(const struct bracket *bracket)
{
	struct object *object = bracket->object;
	struct stat st;

	if (!bracket->nothing && !object->normal && fstat(object->fd, &st) == 0)
		clip(object, st.st_size);
}

/*
 * Makes inode and record agree before a client's change: the inode's mtime is the one to show (so
 * that END can take the inode's), and nothing is missing beyond the size.
 */
static int make_agree(struct object *object)
{
	struct migrate_record *rec = &object->record;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	struct stat st;

	if (fstat(object->fd, &st) < 0)
		return -errno;
	if (migrate_ns(st.st_mtim) != migrate_record_mtime(rec)) {
		bool live = rec->state == MIGRATE_FILLED; /* its times are the inode's */

		times[1] = migrate_timespec(migrate_record_mtime(rec));
		if (!live && futimens(object->fd, times) < 0)
			return -errno;
		/* clients changed names, and may be about to set mtime back: END stores it */
		rec->flags &= ~MIGRATE_REC_LISTED;
	}
	return clip(object, st.st_size);
}

/* From now on a hole in bytes that clients wrote need not be a loss (dirty.h): the record is stored
 * with that flag first. */
static int expect_holes(struct object *object)
{
	int ret;

	if (object->record.flags & MIGRATE_REC_HOLES)
		return 0;
	object->record.flags |= MIGRATE_REC_HOLES;
	ret = object_store(object);
	if (ret) /* the next one has to say it */
		object->record.flags &= ~MIGRATE_REC_HOLES;
	return ret;
}

/* A missing range is a hole already: where btrfs has no block to punch it neither changes times nor
 * clears the set-user-ID bit for a caller that is not the owner.  So a block is allocated first,
 * also where the last block is only partly the file's. */
static void take_block(const struct bracket *bracket)
{
	const struct object *object = bracket->object;
	struct statfs fs;
	struct stat st;

	if (bracket->change == MIGRATE_PUNCH && fstatfs(object->fd, &fs) == 0 &&
	    fs.f_type == BTRFS_SUPER_MAGIC &&
	    migrate_extents_overlap(&object->record.missing,
				    bracket->offset - bracket->offset % (uint64_t)fs.f_bsize,
				    bracket->end) &&
	    fstat(object->fd, &st) == 0) {
		fallocate(object->fd, FALLOC_FL_KEEP_SIZE, (off_t)bracket->offset, 1);
		/* which may be a client's whose bracket is open */
		futimens(object->fd, (struct timespec[2]){{.tv_nsec = UTIME_OMIT}, st.st_mtim});
	}
}

static void prepared(void *waiting, int status);

/* A client's write waits for room in the record before it is made: after that it could not be taken
 * back while the old server is away. */
static int open_bracket(struct turn *turn)
{
	struct bracket *bracket = (struct bracket *)turn;
	struct object *object = bracket->object;
	int ret;

	if (turn->grows && !object_has_room(object)) {
		bracket->before = PREPARING;
		durability_make_room(object, prepared, bracket);
		return 1;
	}
	bracket->nothing = object->normal;
	if (object->kind == OBJECT_FILE)
		bracket->lost_writes = file_of(object)->lost_writes;
	if (bracket->nothing)
		return 0;
	take_block(bracket);
	ret = object->turns.brackets ? 0 : make_agree(object);
	return ret || bracket->change != MIGRATE_PUNCH ? ret : expect_holes(object);
}

static void bracket_free(struct bracket *bracket)
{
	object_unref(bracket->object);
	g_slice_free(struct bracket, bracket);
}

/* The bracket is not open any more, or never was: gives back the resources that it holds. */
static void bracket_done_with(struct bracket *bracket)
{
	if (bracket->placed)
		place_end(bracket->object->retriever);
	bracket_free(bracket);
}

/* Opens it, or lets it wait for its turn or for room.  0 or -errno. */
static int open_or_queue(struct bracket *bracket)
{
	struct object *object = bracket->object;
	int ret;

	g_mutex_lock(&object->lock);
	ret = turns_begin(object, &bracket->turn);
	g_mutex_unlock(&object->lock);
	if (ret <= 0)
		bracket->turn.done(bracket->turn.arg, ret);
	return MIN(ret, 0);
}

/* Called when the record has room.  bracket_failed() reports an error. */
static void prepared(void *waiting, int status)
{
	struct bracket *bracket = waiting;
	struct object *object = bracket->object;
	object_done_fn done = bracket->turn.done;
	void *arg = bracket->turn.arg;
	bool in_vain;

	g_mutex_lock(&object->lock);
	in_vain = bracket->before == PREPARING_IN_VAIN;
	bracket->before = READY;
	/* it is theirs, or was when room was made: so that is asked for once more */
	if (status == -ENOSPC && (object->turns.brackets || !bracket->again))
		status = 0;
	bracket->again = !object->turns.brackets;
	if (!in_vain && status)
		bracket->turn.state = TURN_REFUSED;
	else if (!in_vain)
		status = turns_begin(object, &bracket->turn);
	g_mutex_unlock(&object->lock);
	/* from here on a cancel, or its door's death, frees it */
	if (in_vain)
		bracket_done_with(bracket);
	else if (status <= 0)
		done(arg, status);
}

/* 0: it is ready for its turn; -errno. */
static int prepare_bracket(struct bracket *bracket, int dir_fd)
{
	struct object *object = bracket->object;
	int ret;

	if (object->normal)
		return 0;
	if (object->kind == OBJECT_FILE && bracket->change < MIGRATE_ATTRIBUTES &&
	    damage_found(object->retriever))
		return -EIO;
	if (bracket->change != MIGRATE_PLACE)
		return 0;
	ret = place_begin(object, dir_fd);
	bracket->placed = ret == 0;
	return ret;
}

static uint64_t end_of(uint64_t offset, uint64_t length)
{
	return length > INT64_MAX - offset ? INT64_MAX : offset + length;
}

struct bracket *bracket_begin(struct object *object, enum migrate_change change, uint64_t offset,
			      uint64_t length, int dir_fd, object_done_fn done, void *arg)
{
	struct bracket *bracket = g_slice_new0(struct bracket);
	int ret;

	bracket->object = object_ref(object);
	bracket->change = change;
	bracket->offset = offset;
	bracket->end = end_of(offset, length);
	bracket->turn.alone = change == MIGRATE_TRUNCATE;
	bracket->turn.grows = change == MIGRATE_WRITE || change == MIGRATE_PUNCH;
	bracket->turn.open = open_bracket;
	bracket->turn.done = done;
	bracket->turn.arg = arg;
	ret = prepare_bracket(bracket, dir_fd);
	if (ret < 0)
		done(arg, ret);
	else
		ret = open_or_queue(bracket);
	if (ret >= 0)
		return bracket;
	bracket_done_with(bracket);
	return NULL;
}

/* Lock held: what the client changed, as the record says it. */
static int note_change(struct bracket *bracket, uint64_t offset, uint64_t length)
{
	struct object *object = bracket->object;
	struct migrate_record *rec = &object->record;
	struct migrate_extents touched = MIGRATE_EXTENTS_INIT;
	uint64_t end = end_of(offset, length);
	const struct timespec now[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
	struct stat st;
	/* then the change may be lost, too (durability.h) */
	bool lost =
		object->kind == OBJECT_FILE && file_of(object)->lost_writes != bracket->lost_writes;
	int ret = 0;

	if (fstat(object->fd, &st) < 0)
		return -errno;
	switch (bracket->change) {
	case MIGRATE_WRITE:
	case MIGRATE_PUNCH:
		if (!lost)
			ret = migrate_extents_intersect(&rec->missing, offset, end, &touched);
		if (!ret)
			ret = migrate_extents_add_all(&rec->dirty, &touched);
		break;
	case MIGRATE_TRUNCATE:
		if (object->kind != OBJECT_FILE) /* it did not succeed */
			break;
		migrate_extents_clip(&rec->missing, offset);
		migrate_extents_clip(&rec->dirty, offset);
		migrate_extents_clip(&file_of(object)->filled, offset);
		break;
	default:
		break;
	}
	/* there was no room for take_block() */
	if (!ret && bracket->change == MIGRATE_PUNCH && touched.n &&
	    migrate_ns(st.st_mtim) == migrate_record_mtime(rec) &&
	    (futimens(object->fd, now) < 0 || fstat(object->fd, &st) < 0))
		ret = -errno;
	migrate_extents_clear(&touched);
	if (ret)
		return ret;
	if (rec->state != MIGRATE_FILLED) { /* there it is the inode's */
		rec->shown_mtime = migrate_ns(st.st_mtim);
		rec->flags |= MIGRATE_REC_SHOWN_MTIME;
	}
	rec->shown_ctime = migrate_ns(st.st_ctim);
	rec->flags |= MIGRATE_REC_SHOWN_CTIME;
	/* from now on what was fetched cannot be told from what a client wrote */
	if (bracket->change != MIGRATE_PLACE &&
	    (bracket->change != MIGRATE_ATTRIBUTES || length || (uint64_t)st.st_size != rec->size))
		rec->flags |= MIGRATE_REC_CLIENT;
	ret = object_store(object);
	return ret ? ret : lost ? -EIO : 0;
}

/* Lock held.  Where holes do not tell what the kernel dropped, nothing that a client was told is
 * dirty (dirty.h). */
static bool dirty_can_wait(const struct object *object)
{
	return !object->record.dirty.n ||
	       capabilities_has(&object->retriever->capabilities, CAPABILITY_HOLES);
}

void bracket_end(struct bracket *bracket, bool changed, bool durable, uint64_t offset,
		 uint64_t length, object_done_fn done, void *arg)
{
	struct object *object = bracket->object;
	GQueue waiters = G_QUEUE_INIT;
	bool queue = false;
	int ret = 0;

	g_mutex_lock(&object->lock);
	if (bracket->turn.state != TURN_OPEN) { /* it was not begun */
		g_mutex_unlock(&object->lock);
		bracket_abort(bracket);
		done(arg, -EINVAL);
		return;
	}
	if (changed && !bracket->nothing && !object->normal) {
		ret = note_change(bracket, offset, length);
		/* what a client wrote need not be waited for any more */
		waiters_take(object, &waiters);
		queue = !is_directory(object);
		durable = durable || !dirty_can_wait(object);
	} else if (bracket->change == MIGRATE_TRUNCATE) {
		clip_after(bracket);
	}
	turns_end(object, &bracket->turn);
	g_mutex_unlock(&object->lock);
	if (bracket->placed)
		place_end(object->retriever);
	waiters_run(object->retriever, &waiters, 0);
	if (queue)
		durability_queue(object, MIN(length, INT64_MAX));
	/* a record with too many ranges fits once some of them are durable */
	if (ret == -ENOSPC || (durable && ret == 0))
		durability_sync_later(object, done, arg);
	else
		done(arg, ret);
	bracket_free(bracket);
}

bool bracket_cancel(struct bracket *bracket)
{
	struct object *object = bracket->object;
	bool waiting, preparing = false;
	object_done_fn done = bracket->turn.done;
	void *arg = bracket->turn.arg;

	g_mutex_lock(&object->lock);
	waiting = bracket->turn.state == TURN_WAITING;
	if (waiting && bracket->before == PREPARING) {
		preparing = true;
		bracket->before = PREPARING_IN_VAIN; /* prepared() frees it */
	} else if (waiting) {
		turns_withdraw(object, &bracket->turn);
	}
	g_mutex_unlock(&object->lock);
	if (waiting)
		done(arg, -ECANCELED);
	if (waiting && !preparing)
		bracket_done_with(bracket);
	return waiting;
}

bool bracket_failed(struct bracket *bracket)
{
	bool failed;

	g_mutex_lock(&bracket->object->lock);
	failed = bracket->turn.state == TURN_REFUSED;
	g_mutex_unlock(&bracket->object->lock);
	return failed;
}

void bracket_abort(struct bracket *bracket)
{
	struct object *object = bracket->object;

	if (bracket_cancel(bracket))
		return;
	g_mutex_lock(&object->lock);
	if (bracket->turn.state == TURN_OPEN) {
		clip_after(bracket);
		turns_end(object, &bracket->turn);
	}
	g_mutex_unlock(&object->lock);
	bracket_done_with(bracket);
}
