/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The life of a partial file's record (record.h) as a model for spin: two doors that change the
 * file, a reader, the retriever with its fills, rounds and syncs, the crawler (loads and fills that
 * nobody asked for), and at any point a kill of the retriever, the death of a door, a power cut,
 * storage that is lost and comes back within a boot, a write-back that fails.
 *
 * A file has two blocks, of which the second can be cut off; a set is one bit per block.  What a
 * process does under object.lock is one step here, everything else is apart.
 *
 *   here              in C
 *   Load              object.c: object_load(), object_mend_size(); dirty.c; migrate_record_load()
 *   Store, Drop       object_store(); durability.c: drop_record()
 *   fill              fetch.c: apply(), write_missing(); turns.c: fill_enter()
 *   round             durability.c: sync_round(): snapshot, syncfs, round_succeeded()
 *   SyncObject        durability.c: sync_object(), sync_file()
 *   Begin, End        bracket.c: open_bracket() with make_agree(), bracket_end() with note_change()
 *   abort             bracket.c: bracket_abort()
 *   Door              fsal_migrate: write.c, bracket.c, attrs.c, file.c (commit2)
 *   Reader            fsal_migrate: read.c, mg_look(); migrate_stub_load(), migrate_read_confirm()
 *   Doubt             durability.c: write_back_failed(), what a failed sync leaves of an object
 *   Commit            the kernel's journal, which keeps the order of metadata
 *   values            the kernel's page cache, which keeps none
 *   Fail              a page that could not be written: the kernel takes it for written, tells each
 *                     descriptor of the file once, at its next sync, and reads it again some day
 *
 * The properties are assertions: I2 in Store, I3 in Left, I4 and I7 in Reader.  For I7 the model
 * keeps for each block what a reader may see (`now`), and what it may see after a power cut
 * (`safe`).  I1: the reader never looks again at what was normal.
 *
 * tests/model runs it with several limits, each in full, and with each of the FAULTs, which break
 * the protocol in one place: they must be found.
 *
 * Left out: old bytes that are zeros, `migratectl retry`, records that do not fit or cannot be
 * stored.  With FAILS: sizes that change, clients' holes, doors that open the file after a failure.
 */
#ifndef OPS
#define OPS 1		/* of each door */
#endif
#ifndef DOORS
#define DOORS 2
#endif
#ifndef CRASHES
#define CRASHES 1	/* of all kinds together */
#endif
#ifndef CUTS
#define CUTS 1		/* power cuts among them */
#endif
#ifndef FAILS
#define FAILS 0		/* of write-backs */
#endif
#ifndef FAULT
#define FAULT 0
#endif
#define DROP_BEFORE_SYNC    1
#define FILLED_BEFORE_WRITE 2
#define NO_BRACKET	    3
#define NO_DIRTY	    4
#define NO_EPOCH	    5
#define ANSWER_BEFORE_FLUSH 6
#define STALE_RECORD	    7
#define NO_SIZE_VOID	    8
#define SIZE_MENDED	    9
#define COMMIT_LOOKS_LATE   10
#define LOST_IS_DONE	    11
#define EPOCH_OF_BOOT	    12
#define CONSUMED_BY_COMMIT  13
#define CONSUMED_BY_ROUND   14
#define WRITER_NOT_DOUBTED  15
#define DOORS_NOT_TOLD	    16
#define NOT_REWRITTEN	    17
#define ZEROS_BELIEVED	    18

/* What a block can be, one bit each. */
#define HOLE 1		/* of a missing range: never to be shown */
#define OLD  2		/* the old server's bytes */
#define ZERO 4		/* a client's hole */
#define GONE 8		/* beyond the end */
#define NEW(door) (16 << (door))

#define B(block)  (1 << (block))
#define IN(size)  (B(size) - 1)	/* the blocks below a size */
#define ALL	  IN(2)

typedef inode {
	byte data[2];
	byte size;
	bool record;		/* else the file is normal */
	byte missing, dirty;
	bool other_mount	/* of `dirty` */
}
inode f;			/* as processes see it */
inode disk;			/* as a power cut leaves it, but for the data: */
byte values[2];			/* any of these */
bool shortened;			/* f was, since the last commit */
bool clean[2];			/* not written, and no sync will */
bool failure, door_failure[2];	/* to be told by a sync: the retriever's descriptor, a door's */
bool untold;			/* no descriptor told it yet */
bool holes;			/* the record says that clients make some */
#define DISK (cuts || FAILS)	/* what it holds matters */

/* The retriever's memory (struct object), and its threads. */
bool loaded, normal;
byte missing, dirty, filled;
byte writing;			/* by a fill */
byte bracket[2];		/* of a door */
bool dead[2];			/* the door of a bracket */
byte round, snapshot, old_missing;
byte syncing[2], synced[2];	/* for a door: the stage and the snapshot */
bool doubted[2], writing_doubted; /* a bracket, a fill began before a sync failed */
bool tell[2];			/* a door, when it syncs, that what it changed may be lost: the record's */
#define SHARED 1
#define ALONE  2
#define LACKS  (missing & ~dirty & ~filled)
#define ENTERED(block) (1 + (block))
#define WRITTEN(block) (3 + (block))
#define CAN_ENTER (loaded && !normal && !writing && \
		   ((!bracket[0] && !bracket[1]) || FAULT == NO_BRACKET))

/* What is right.  An operation changes one block; COMMIT touches all. */
byte now[2], safe[2];
byte touched[2], value[2];	/* 1 + block; 0: none.  To what */
byte beside0[2], beside1[2];	/* what else came to block 0, 1 during the operation of a door */
bool revert;			/* a write-back failed: back to `safe`, until a client has synced */
#define EVERYTHING 3

byte crashes = CRASHES, cuts = CUTS, fails = FAILS;
bool fall[2], fall_reader;	/* a process is to end here, and begin anew */

hidden byte I2, I3, I4, I7;	/* 0: they name assertions */

/* ---- the kernel ---- */

/* Data reaches the disk in any order: each of `values` may be there.  A hole is metadata. */
inline Write(block, to)
{
	f.data[block] = to;
	clean[block] = false;
	values[block] = (DISK -> values[block] | (to) : 0)
}

/* The metadata up to now.  A file grows on disk when its data is there (data=ordered). */
inline Commit()
{
	d_step {
		values[0] = (f.data[0] == ZERO -> ZERO : values[0]);
		values[1] = ((f.data[1] & (HOLE | ZERO)) || shortened || disk.size < f.size
				     -> f.data[1] : values[1]);
		shortened = false;
		disk.size = f.size;
		disk.record = f.record;
		disk.missing = f.missing;
		disk.dirty = f.dirty;
		disk.other_mount = f.other_mount
	}
}

inline Fsync()
{
	if
	:: DISK ->
		Commit();
		values[0] = (clean[0] -> values[0] : f.data[0]);
		values[1] = (clean[1] -> values[1] : f.data[1])
	:: else
	fi
}

inline Survive(block)
{
	if
	:: values[block] & HOLE -> f.data[block] = HOLE
	:: values[block] & OLD -> f.data[block] = OLD
	:: values[block] & ZERO -> f.data[block] = ZERO
	:: values[block] & NEW(0) -> f.data[block] = NEW(0)
	:: values[block] & NEW(1) -> f.data[block] = NEW(1)
	fi
}

#define DIRTY_PAGE(block) (!clean[block] && values[block] != f.data[block])

inline Fail(block)
{
	fails--;
	clean[block] = true;
	revert = true;
	untold = true;
	failure = loaded;
	door_failure[0] = true;
	door_failure[1] = true
}

/* The page is read again. */
inline Evict(block)
{
	Survive(block);
	values[block] = f.data[block];
	clean[block] = false
}

/* ---- what is right ---- */

inline Start(i, block, to)
{
	touched[i] = (block) + 1;
	value[i] = to;
	now[block] = now[block] | (to);
	safe[block] = (DISK -> safe[block] | (to) : 0);
	/* what the other does meanwhile, and has begun already */
	if
	:: touched[1 - i] && (block) == 0 -> beside0[1 - i] = beside0[1 - i] | (to)
	:: touched[1 - i] && (block) == 1 -> beside1[1 - i] = beside1[1 - i] | (to)
	:: else
	fi;
	beside0[i] = (touched[1 - i] == 1 -> value[1 - i] : 0);
	beside1[i] = (touched[1 - i] == 2 -> value[1 - i] : 0)
}

inline StartCommit(i)
{
	touched[i] = EVERYTHING;
	beside0[i] = now[0];
	beside1[i] = now[1]
}

inline Forget(i)
{
	touched[i] = 0;
	value[i] = 0;
	beside0[i] = 0;
	beside1[i] = 0
}

inline Acknowledge(i, stable)
{
	d_step {
		if
		:: touched[i] == 1 -> now[0] = value[i] | beside0[i]
		:: touched[i] == 2 && value[i] == ZERO ->	/* longer: if it was shorter */
			now[1] = (now[1] & ~GONE) | beside1[i]
		:: touched[i] == 2 && value[i] != ZERO -> now[1] = value[i] | beside1[i]
		:: touched[i] == EVERYTHING && DISK -> safe[0] = beside0[i]; safe[1] = beside1[i]
		:: touched[i] == EVERYTHING && !DISK
		fi;
		if
		:: stable && DISK && touched[i] == 1 -> safe[0] = now[0]
		:: stable && DISK && touched[i] == 2 -> safe[1] = now[1]
		:: else
		fi;
		revert = revert && (safe[0] != now[0] || safe[1] != now[1] || touched[1 - i]);
		Forget(i)
	}
}

/* A client was told that its changes may be lost: what it had before, or they. */
inline Told(i)
{
	d_step {
		now[0] = now[0] | safe[0] | beside0[i];
		now[1] = now[1] | safe[1] | beside1[i];
		revert = revert && (safe[0] != now[0] || safe[1] != now[1] || touched[1 - i]);
		Forget(i)
	}
}

/* ---- the retriever ---- */

/* I3: what leaves the missing set is durable, or beyond the end. */
inline Left(gone)
{
	assert(I3 || !DISK || !((gone) & B(0)) || (values[0] & ~safe[0]) == 0);
	assert(I3 || !DISK || !((gone) & B(1)) || f.size == 1 || disk.size == 1 ||
	       (values[1] & ~safe[1]) == 0)
}

inline Store()
{
	assert(I2 || (missing & ~f.missing) == 0);
	Left(f.missing & ~missing);
	f.missing = missing;
	f.dirty = dirty;
	f.other_mount = false
}

inline Drop()
{
	Left(f.missing);
	f.record = false;
	f.missing = 0;
	f.dirty = 0;
	normal = true;
	missing = 0;
	dirty = 0;
	filled = 0
}

inline Load()
{
	loaded = true;
	failure = untold;	/* a new descriptor */
	normal = !f.record;
	missing = f.missing & (FAULT == NO_SIZE_VOID -> ALL : IN(f.size));
	dirty = (f.other_mount && FAULT != NO_EPOCH -> 0 : f.dirty & IN(f.size));
	if	/* its descriptor may not be told: what is there is written again, a hole is a loss */
	:: dirty && FAULT != NOT_REWRITTEN ->
		clean[0] = clean[0] && !(dirty & B(0));
		clean[1] = clean[1] && !(dirty & B(1));
		snapshot = ((dirty & B(0)) && (f.data[0] & (HOLE | ZERO)) && !holes -> B(0) : 0) |
			   ((dirty & B(1)) && (f.data[1] & (HOLE | ZERO)) && !holes -> B(1) : 0);
		if
		:: snapshot ->
			dirty = dirty & ~snapshot;
			snapshot = 0;
			revert = revert || FAILS;
			tell[0] = true; tell[1] = true;
			Store()
		:: else
		fi
	:: else
	fi;
	if	/* not even one that nobody knows to be a client's may be raised */
	:: FAULT == SIZE_MENDED && f.record && f.size == 1 ->
		f.size = 2;
		missing = missing | B(1)
	:: else
	fi
}

inline Clip(end)
{
	missing = missing & IN(end);
	dirty = dirty & IN(end);
	filled = filled & IN(end)
}

/* Durable: the ranges leave, and the record with the last. */
inline Settle(ranges)
{
	missing = missing & ~(ranges);
	dirty = dirty & ~(ranges);
	filled = filled & ~(ranges);
	if
	:: !missing && !writing && !bracket[0] && !bracket[1] -> Drop()
	:: else -> Store()
	fi
}

/*
 * A sync failed: nobody knows what of the data that is not durable is still there, and the next
 * sync will not tell.  Nothing of it counts as present any more, neither what is here nor what
 * is under way.
 */
inline Doubt()
{
	if
	:: FAULT != DOORS_NOT_TOLD ->
		tell[0] = tell[0] || dirty || syncing[0];
		tell[1] = tell[1] || dirty || syncing[1]
	:: else
	fi;
	revert = revert || dirty;
	filled = 0;
	dirty = 0;
	snapshot = 0; synced[0] = 0; synced[1] = 0;
	if
	:: FAULT != WRITER_NOT_DOUBTED ->
		writing_doubted = (writing != 0);
		doubted[0] = (bracket[0] != 0);
		doubted[1] = (bracket[1] != 0)
	:: else
	fi;
	if
	:: !normal -> Store()
	:: else
	fi
}

/* Whether the retriever's descriptor tells a failure; once. */
inline SyncRetriever(failed)
{
	Fsync();
	failed = failure;
	untold = untold && !failure;
	failure = false
}

inline ForgetRetriever()
{
	failure = false;
	doubted[0] = false; doubted[1] = false;
	writing_doubted = false;
	loaded = false; normal = false;
	missing = 0; dirty = 0; filled = 0; writing = 0;
	bracket[0] = 0; bracket[1] = 0;
	dead[0] = false; dead[1] = false;
	round = 0; snapshot = 0; old_missing = 0;
	syncing[0] = 0; syncing[1] = 0; synced[0] = 0; synced[1] = 0
}

inline FilledEarly(block)
{
	filled = filled | (FAULT == FILLED_BEFORE_WRITE -> B(block) : 0)
}

proctype Retriever()
{
	bool failed;

	do
	/* any request, a reader's or the crawler's, loads the object; it is let go when it rests */
	:: atomic { !loaded -> Load() }
	:: atomic { loaded && !filled && !(FAILS && dirty) && !writing && !bracket[0] && !bracket[1] && !round &&
		    !syncing[0] && !syncing[1] ->
			loaded = false; normal = false; missing = 0; dirty = 0; failure = false }

	/* fill: enter, write, leave */
	:: atomic { CAN_ENTER && (LACKS & B(0)) -> writing = ENTERED(0); FilledEarly(0) }
	:: atomic { CAN_ENTER && (LACKS & B(1)) -> writing = ENTERED(1); FilledEarly(1) }
	:: atomic { writing == ENTERED(0) -> Write(0, OLD); writing = WRITTEN(0) }
	:: atomic { writing == ENTERED(1) -> Write(1, OLD); f.size = 2; writing = WRITTEN(1) }
	:: atomic { writing == WRITTEN(0) ->
			filled = filled | (writing_doubted -> 0 : missing & B(0));
			writing = 0; writing_doubted = false }
	:: atomic { writing == WRITTEN(1) ->
			filled = filled | (writing_doubted -> 0 : missing & B(1));
			writing = 0; writing_doubted = false }

	/* round: snapshot, make durable, settle */
	:: atomic { loaded && !normal && !round && (filled || dirty || !missing) ->
			snapshot = filled | dirty;
			old_missing = (FAULT == STALE_RECORD -> missing : 0);
			round = 1 }
	:: atomic { round == 1 ->
			if
			:: FAULT != DROP_BEFORE_SYNC -> SyncRetriever(failed)
			:: else
			fi;
			if
			:: failed && FAULT == CONSUMED_BY_ROUND ->	/* what a client wrote stays */
				filled = 0; round = 0; snapshot = 0; old_missing = 0
			:: failed && FAULT != CONSUMED_BY_ROUND ->
				Doubt(); round = 0; snapshot = 0; old_missing = 0
			:: !failed -> round = 2
			fi;
			failed = false }
	:: atomic { round == 2 ->
			if
			:: !normal ->
				missing = (FAULT == STALE_RECORD -> old_missing : missing);
				Settle(snapshot)
			:: else
			fi;
			round = 0; snapshot = 0; old_missing = 0 }

	/* abort: the connection of a dead door is closed */
	:: atomic { dead[0] || dead[1] ->
			byte i = (dead[0] -> 0 : 1);
			dead[i] = false;
			bracket[i] = 0;
			doubted[i] = false;
			if
			:: !normal -> Clip(f.size); Store()
			:: else
			fi;
			i = 0 }
	od
}

/* What the flusher does for a door; it is gone with the retriever, and then asked for again. */
inline SyncObject(i, failed)
{
	do
	:: atomic { !syncing[i] && loaded ->
			synced[i] = (normal -> 0 : filled | dirty);
			syncing[i] = 1 }
	:: atomic { syncing[i] == 1 ->
			SyncRetriever(failed);
			if
			:: failed && FAULT != CONSUMED_BY_COMMIT -> Doubt()
			:: else
			fi;
			failed = failed || tell[i];
			if
			:: failed -> syncing[i] = 0; synced[i] = 0; tell[i] = false; break
			:: else -> syncing[i] = 2
			fi }
	:: atomic { syncing[i] == 2 ->
			if
			:: !normal -> Settle(synced[i])
			:: else
			fi;
			synced[i] = 0;
			syncing[i] = 3;
			if
			:: FAULT == ANSWER_BEFORE_FLUSH -> syncing[i] = 0; break
			:: else
			fi }
	:: atomic { syncing[i] == 3 ->
			SyncRetriever(failed);
			if
			:: failed -> Doubt()
			:: else
			fi;
			failed = failed || tell[i];
			syncing[i] = 0; tell[i] = false;
			break }
	od
}

/* ---- the doors ---- */

inline Begin(i, how)
{
	atomic {
		loaded && !bracket[i] && (!writing || FAULT == NO_BRACKET) && bracket[1 - i] != ALONE &&
		(how == SHARED || !bracket[1 - i]) ->
		if
		:: !normal && !bracket[1 - i] && (missing & ~IN(f.size)) ->
			Clip(f.size);
			Store()
		:: else
		fi;
		holes = holes || (touched[i] == 1 && value[i] == ZERO);
		bracket[i] = how
	}
}

/* A size that is `from` on, or a block that is written or punched. */
inline Change(i)
{
	d_step {
		if
		:: touched[i] == 1 && value[i] == ZERO -> f.data[0] = ZERO
		:: touched[i] == 1 && value[i] != ZERO -> Write(0, value[i])
		:: touched[i] == 2 && value[i] == GONE -> f.size = 1; f.data[1] = HOLE; shortened = (cuts != 0)
		:: touched[i] == 2 && value[i] == ZERO && f.size == 1 -> f.size = 2; f.data[1] = ZERO
		:: touched[i] == 2 && value[i] == ZERO && f.size == 2 -> skip
		:: touched[i] == 2 && value[i] == NEW(i) -> Write(1, NEW(i)); f.size = 2
		fi
	}
}

/* lost: the retriever has gone meanwhile.  failed: a sync did. */
inline End(i, lost, failed)
{
	atomic {
		lost = !bracket[i];
		failed = doubted[i];
		doubted[i] = false;
		if
		:: bracket[i] && !normal && !failed ->
			if
			:: bracket[i] == SHARED && FAULT != NO_DIRTY ->
				dirty = dirty | (missing & B(touched[i] - 1))
			:: bracket[i] == ALONE && value[i] == GONE -> Clip(1)
			:: else
			fi;
			Store()
		:: else
		fi;
		bracket[i] = 0
	}
}

/* Its own descriptor: whether that tells a failure; once. */
inline SyncDoor(i, failed)
{
	atomic {
		Fsync();
		failed = door_failure[i];
		untold = untold && !door_failure[i];
		door_failure[i] = false
	}
}

inline Choose(i)
{
	if
	:: Start(i, 0, NEW(i))				/* WRITE */
	:: !FAILS -> Start(i, 1, GONE); how = ALONE	/* TRUNCATE */
	:: now[1] & GONE -> Start(i, 1, ZERO); how = ALONE
	:: i == 0 -> Start(i, 1, NEW(i))		/* door 1 does less: fewer states */
	:: i == 0 -> Start(i, 0, NEW(i)); stable = true
	:: i == 0 && !FAILS -> Start(i, 0, ZERO)	/* PUNCH */
	:: i == 0 && (now[0] != OLD || now[1] != OLD) -> StartCommit(i)
	fi
}

proctype Door(byte i)
{
	byte left = OPS, how;
	bool stable, lost, whole, failed, not_written;

	do
	:: {
		do
		:: atomic { left -> left--; how = SHARED; Choose(i); whole = !f.record };
			do
			:: touched[i] == EVERYTHING ->
				/* whether it is normal is known before the data is durable */
				SyncDoor(i, failed);
				whole = (FAULT == COMMIT_LOOKS_LATE -> !f.record : whole);
				if
				:: whole || failed
				:: else -> SyncObject(i, failed)
				fi;
				break
			:: atomic { touched[i] != EVERYTHING && whole -> Change(i) };
				if
				:: stable -> SyncDoor(i, failed)
				:: else
				fi;
				break
			:: touched[i] != EVERYTHING && !whole ->
				Begin(i, how);
				Change(i);
				if
				:: stable && FAILS -> SyncDoor(i, not_written)
				:: else
				fi;
				End(i, lost, failed);
				failed = failed || not_written;
				if
				:: lost && FAULT != LOST_IS_DONE -> skip	/* again */
				:: else ->
					if
					:: stable && !failed -> SyncObject(i, failed)
					:: else
					fi;
					break
				fi
			od;
			atomic {
				if
				:: failed -> Told(i)
				:: else -> Acknowledge(i, stable)
				fi;
				how = 0; stable = false; lost = false; whole = false;
				failed = false; not_written = false
			}
		od
	    } unless {
		atomic {
			fall[i] -> fall[i] = false;
			Forget(i);
			how = 0; stable = false; lost = false; whole = false;
			failed = false; not_written = false
		}
	    }
	od
}

/* A reader never knows more than its record said, and what the retriever answered (I2). */
proctype Reader()
{
	byte view, block, got;
	bool whole, sure, doubtful, failed;

	do
	:: {
		do
		:: atomic {
			if
			:: block = 0
			:: block = 1
			fi;
			sure = !FAILS || whole || !(f.missing & B(block));
			view = (whole -> 0 : f.missing & B(block) &
					     ~(f.other_mount && FAULT != NO_EPOCH -> 0 : f.dirty));
			whole = whole || !f.record };
			atomic { view = view & IN(f.size) };
			atomic { !view || (loaded && (normal || !(LACKS & B(block)))) -> view = 0 };
			atomic {
				got = (block < f.size -> f.data[block] : GONE);
				doubtful = !sure && (got & (HOLE | ZERO)) && FAULT != ZEROS_BELIEVED;
				assert(I4 || doubtful || got != HOLE);
				assert(I7 || doubtful || (got & (now[block] | (revert -> safe[block] : 0))));
				got = 0; block = 0; sure = false
			};
			/* made sure of, and read again */
			atomic { !doubtful || (loaded && round != 1 && !syncing[0] && !syncing[1]) ->
				if
				:: doubtful -> SyncRetriever(failed)
				:: else
				fi;
				if
				:: doubtful && failed -> Doubt()
				:: doubtful && !failed && !normal -> Settle(filled | dirty)
				:: else
				fi;
				doubtful = false; failed = false }
		od
	    } unless {
		atomic { fall_reader -> fall_reader = false; view = 0; block = 0; got = 0;
			whole = false; sure = false; doubtful = false; failed = false }
	    }
	od
}

/* ---- what happens to them ---- */

inline Crash()
{
	crashes--;
	cuts = (crashes < cuts -> crashes : cuts)
}

/* There is no other power cut: fewer states. */
inline ForgetDisk()
{
	d_step {
		if
		:: !DISK -> disk.size = 0; disk.record = 0; disk.missing = 0; disk.dirty = 0;
			disk.other_mount = 0; values[0] = 0; values[1] = 0; shortened = 0; safe[0] = 0; safe[1] = 0
		:: else
		fi
	}
}

init
{
	atomic {
		f.data[0] = HOLE; f.data[1] = HOLE; f.size = 2;
		f.record = true; f.missing = ALL;
		disk.size = 2; values[0] = HOLE; values[1] = HOLE;
		disk.record = true; disk.missing = ALL;
		now[0] = OLD; now[1] = OLD; safe[0] = OLD; safe[1] = OLD;
		ForgetDisk();
		run Retriever(); run Reader(); run Door(0);
		if
		:: DOORS == 2 -> run Door(1)
		:: else
		fi
	};
	do
	:: atomic { DISK && (disk.size != f.size || disk.record != f.record ||
			     disk.missing != f.missing || disk.dirty != f.dirty ||
			     disk.other_mount != f.other_mount) ->
			Commit() }
	:: atomic { crashes -> Crash(); ForgetRetriever(); ForgetDisk() }
	:: atomic { crashes -> Crash(); fall[0] = true; dead[0] = bracket[0]; ForgetDisk() }
	:: atomic { fails && DIRTY_PAGE(0) -> Fail(0) }
	:: atomic { fails && DIRTY_PAGE(1) -> Fail(1) }
	:: atomic { clean[0] -> Evict(0) }
	:: atomic { clean[1] -> Evict(1) }
	/* a power cut, or the storage is lost, which is mounted anew when it is back */
	:: atomic { cuts ->
			cuts--; Crash();
			Survive(0);
			Survive(1);
			f.data[1] = (disk.size == 1 -> HOLE : f.data[1]);
			d_step {
				f.size = disk.size;
				f.record = disk.record;
				f.missing = disk.missing;
				f.dirty = disk.dirty;
				f.other_mount = (FAULT != EPOCH_OF_BOOT);
				shortened = false;
				clean[0] = false; clean[1] = false;
				tell[0] = false; tell[1] = false;
				untold = false; door_failure[0] = false; door_failure[1] = false; revert = false;
				now[0] = safe[0]; now[1] = safe[1];
				ForgetRetriever();
				fall[0] = true; fall[1] = true; fall_reader = true
			};
			ForgetDisk() }
	od
}
