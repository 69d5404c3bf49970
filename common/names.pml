/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The names of one unfilled directory, as a model for spin (I6, I13): two names that the old server
 * has, and a third one that it answers to and does not list; fills and a lookup that bring them in,
 * two doors that look up, list, remove and create, and at any point a kill of the retriever or a
 * power cut.  A name that was removed never returns, one that was created is never replaced, and
 * none is missed before; what was not listed is not there when the directory is filled.
 *
 *   here              in C
 *   Fill              fill_page.c: make_page(), fill.c: conclude()
 *   complete          fill_state.c: directory_set_complete(), complete(), mark_filled()
 *   take back         fill_state.c: compare_names(); leftover.c
 *   Name              one_name.c: directory_name(), name_make_entered()
 *   FIXED             directory_names_fixed()
 *   Door              fsal_migrate: mg_fill_name(), mg_fill_directory(), mg_may_name()
 *   Commit            the kernel's journal, which keeps the order of metadata
 *
 * tests/model runs it, and with each of the FAULTs, which must be found.  Left out: dummies.
 */
#ifndef OPS
#define OPS 2		/* of each door */
#endif
#ifndef FILLS
#define FILLS 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef FAULT
#define FAULT 0
#endif
#define NAMES_NOT_FIXED	 1
#define FILLED_TOO_EARLY 2
#define CHANGED_UNFILLED 3
#define LOOKUP_NOT_ASKED 4
#define NOT_TAKEN_BACK	 5
#define TAKEN_BACK_LATE	 6

#define ABSENT 0
#define OLD    1
#define NEW    2	/* a client's */

#define HIDDEN 2	/* the third name; a client of a directory that is not filled may find it */

typedef directory {
	byte name[3];
	bool filled;		/* the record: UNFILLED, FILLED */
	byte want[3]		/* what a client must find */
}
directory d;			/* as processes see it */
directory disk;			/* as a power cut leaves it */

/* The retriever's memory. */
bool filled, complete, completing;
byte writing;
#define FIXED (filled || complete)

byte crashes = CRASHES;
bool fall_fill[2], fall_name, fall_door[2];

hidden byte I6, I13;	/* 0: names an assertion */

inline Make(n)
{
	if
	:: d.name[n] == ABSENT ->
		assert(I6 || n == HIDDEN || d.want[n] == OLD);
		d.name[n] = OLD
	:: else		/* never over something */
	fi
}

proctype Fill(byte me)
{
	byte n;

	do
	:: {
		atomic { !FIXED && !completing -> n = 0 };
		do
		:: n < 2 ->
			atomic { !completing -> writing++ };
			/* the page is looked at entry by entry */
			atomic {
				if
				:: !FIXED || FAULT == NAMES_NOT_FIXED -> skip
				:: else -> n = 2
				fi
			};
			atomic {
				if
				:: n < 2 -> Make(n); n++
				:: else
				fi;
				writing--
			}
		:: else -> break
		od;
		atomic { complete = !filled; n = 0 }
	    } unless {
		atomic { fall_fill[me] -> fall_fill[me] = false; n = 0 }
	    }
	od
}

/* The retriever's other threads. */
proctype Complete()
{
	do
	:: atomic { (complete || (FAULT == FILLED_TOO_EARLY && !filled)) && !completing &&
		    (!writing || FAULT == FILLED_TOO_EARLY) -> completing = true }
	:: atomic { completing && d.name[HIDDEN] == OLD && FAULT != NOT_TAKEN_BACK &&
		    (d.filled || FAULT != TAKEN_BACK_LATE) -> d.name[HIDDEN] = ABSENT }
	:: atomic { completing && (d.name[HIDDEN] != OLD || FAULT >= NOT_TAKEN_BACK) ->
		d.filled = true; filled = true; complete = false; completing = false }
	od
}

/* One name at a time, for whoever asks; again when the retriever was killed meanwhile. */
byte asked[2];			/* 1 + name, of a door */

proctype Name()
{
	byte n, door;

	do
	:: {
		do
		:: atomic {
			if
			:: asked[0] -> door = 0
			:: asked[1] -> door = 1
			fi;
			n = asked[door] - 1 };
			atomic { !completing -> writing++ };
			atomic {
				if
				:: !FIXED || FAULT == NAMES_NOT_FIXED -> skip
				:: else -> n = 3
				fi
			};
			atomic {
				if
				:: n < 3 -> Make(n)
				:: else
				fi;
				writing--; asked[door] = 0; n = 0; door = 0
			}
		od
	    } unless {
		atomic { fall_name -> fall_name = false; n = 0; door = 0 }
	    }
	od
}

proctype Door(byte i)
{
	byte left = OPS, n;

	do
	:: {
		do
		:: atomic { left -> left--;
			if
			:: n = 0
			:: n = 1
			:: n = HIDDEN
			fi };
			if
			:: true ->	/* LOOKUP: look at the record, ask, look at the name */
				if
				:: d.filled || FAULT == LOOKUP_NOT_ASKED
				:: !d.filled -> asked[i] = n + 1; !asked[i]
				fi;
				atomic {
					assert(I6 || n == HIDDEN || d.name[n] == d.want[n]);
					assert(I13 || n != HIDDEN || !d.filled || d.name[n] == d.want[n])
				}
			:: true ->	/* READDIR */
				d.filled;
				atomic {
					assert(I6 || (d.name[0] == d.want[0] && d.name[1] == d.want[1]));
					assert(I13 || d.name[HIDDEN] == d.want[HIDDEN])
				}
			:: true ->	/* REMOVE */
				(d.filled || FAULT == CHANGED_UNFILLED);
				atomic { d.name[n] = ABSENT; d.want[n] = ABSENT }
			:: true ->	/* CREATE */
				(d.filled || FAULT == CHANGED_UNFILLED);
				atomic {
					if
					:: d.name[n] == ABSENT -> assert(I6 || d.want[n] == ABSENT);
						d.name[n] = NEW; d.want[n] = NEW
					:: else
					fi
				}
			fi;
			atomic { n = 0 }
		od
	    } unless {
		atomic { fall_door[i] -> fall_door[i] = false; asked[i] = 0; n = 0 }
	    }
	od
}

inline Copy(to_it, it)
{
	to_it.name[0] = it.name[0]; to_it.name[1] = it.name[1]; to_it.name[2] = it.name[2];
	to_it.filled = it.filled;
	to_it.want[0] = it.want[0]; to_it.want[1] = it.want[1]; to_it.want[2] = it.want[2]
}

/* It loads the record when it is asked again. */
inline KillRetriever()
{
	filled = d.filled; complete = false; completing = false; writing = 0;
	fall_fill[0] = true; fall_fill[1] = (FILLS == 2); fall_name = true
}

init
{
	atomic {
		d.want[0] = OLD; d.want[1] = OLD;
		Copy(disk, d);
		run Fill(0);
		if
		:: FILLS == 2 -> run Fill(1)
		:: else
		fi;
		 run Complete(); run Name(); run Door(0); run Door(1)
	};
	do
	:: atomic { crashes && (disk.name[0] != d.name[0] || disk.name[1] != d.name[1] ||
				disk.name[2] != d.name[2] ||
				disk.filled != d.filled) -> Copy(disk, d) }
	:: atomic { crashes -> crashes--; KillRetriever() }
	:: atomic { crashes -> crashes--;
		Copy(d, disk); KillRetriever(); asked[0] = 0; asked[1] = 0;
		fall_door[0] = true; fall_door[1] = true }
	od
}
