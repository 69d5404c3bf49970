/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Unfinished upwards (I5), as a model for spin: the root with two directories A and B, a directory
 * N and an unfinished file X in A.  X is moved to any of them by one door, N to B or A by another,
 * the crawler finishes whatever it can, X becomes normal some time, and at any point the retriever
 * is killed or a door dies.
 *
 *   here              in C
 *   Begin             place.c: place_begin(), mark_ancestors()
 *   End               place.c: place_end(); bracket_abort() for a door that died
 *   finish            finish.c: finish_again(): scan() without a lock, then drop()
 *   held, moving      common/hold.c: migrate_lock_directory()
 *   Mover             fsal_migrate: rename.c, bracket.c
 *
 * tests/model runs it, and with each of the FAULTs, which must be found.
 */
#ifndef OPS
#define OPS 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef FAULT
#define FAULT 0
#endif
#define NOT_MARKED	   1	/* a move is made without a bracket */
#define MARKED_BOTTOM_UP   2
#define PLACINGS_IGNORED   3	/* by a finish */
#define MOVED_UNHELD	   4	/* a directory that is normal becomes unfinished while it is moved */
#define BRACKET_LOST	   5	/* with the retriever, and nothing is held for it */
#define HELD_LATE	   6	/* looked at only when a directory has been */

#define ROOT 0
#define A    1
#define B    2
#define N    3

bool record[4];			/* of the directories */
bool unfinished;		/* X */
byte in_x, in_n;		/* the directories that X and N are in */

/* The retriever. */
byte generation;
bool tree;			/* its lock */
byte places;			/* open PLACE brackets */
byte placings;			/* how many there were; never 16 in one run */

byte held[4];			/* migrate_lock_directory() SHARED, by the doors that place something there */
bool moving;			/* ALONE, of N, by the door that moves it */
byte crashes = CRASHES;
bool fall[2];			/* a door dies */

hidden byte I5;			/* 0: it names assertions */

/* Nobody holds a directory that is to be finished.  Before it is looked at: a bracket of a retriever
 * that is dead must not end meanwhile; brackets of this one are counted. */
#define FREE (!held[dir] && !(dir == N && moving))

/* Nothing normal is above what is not. */
#define RIGHT ((!unfinished || (record[in_x] && record[ROOT] && (in_x != N || record[in_n]))) && \
	       (!record[N] || record[in_n]) && (!(record[A] || record[B]) || record[ROOT]))

/* Under the tree lock, from the top down, until nothing is left to mark. */
inline Mark(dest)
{
	do
	:: atomic { generation == mine && FAULT != MARKED_BOTTOM_UP ->
			if
			:: !record[ROOT] -> record[ROOT] = true
			:: record[ROOT] && dest == N && !record[in_n] -> record[in_n] = true
			:: record[ROOT] && (dest != N || record[in_n]) && !record[dest] ->
				record[dest] = true
			:: else -> break
			fi;
			assert(I5 || RIGHT) }
	:: atomic { generation == mine && FAULT == MARKED_BOTTOM_UP ->
			if
			:: !record[dest] -> record[dest] = true
			:: record[dest] && dest == N && !record[in_n] -> record[in_n] = true
			:: record[dest] && (dest != N || record[in_n]) && !record[ROOT] ->
				record[ROOT] = true
			:: else -> break
			fi;
			assert(I5 || RIGHT) }
	:: generation != mine -> break
	od
}

inline LetGo(who)
{
	if
	:: open -> held[dest]--; open = false
	:: else
	fi;
	moving = (who == 1 -> false : moving)
}

/* 0: X, 1: N */
proctype Mover(byte what)
{
	byte left = OPS, dest, mine;
	bool plain, open, counted, moved, lock;

	do
	:: {
		do
	:: atomic { left -> left--;
			if
			:: dest = A
			:: dest = B
			:: what == 0 -> dest = N
			fi;
			};
			if	/* mg_hold(), mg_look() */
			:: what == 1 -> atomic { !held[N] || FAULT == MOVED_UNHELD ->
				moving = (FAULT != MOVED_UNHELD) }
			:: else
			fi;
			plain = (what == 0 -> !unfinished : !record[N]) || FAULT == NOT_MARKED;
			if
			:: !plain && FAULT != BRACKET_LOST -> atomic { dest != N || !moving ->
				held[dest]++; open = true }
			:: else
			fi;
			do
			:: plain -> break
			:: else ->
				atomic {
					!tree -> tree = true; mine = generation; lock = true };
				Mark(dest);
				atomic {
					if
					:: generation == mine ->
						tree = false;
						places++; counted = true;
						placings = (placings + 1) % 16
					:: else
					fi;
					lock = false };
				if	/* it is asked for again when the retriever is gone */
				:: generation == mine
				:: generation != mine -> goto over
				fi;
				atomic {
					if
					:: !moved && what == 0 -> in_x = dest
					:: !moved && what == 1 -> in_n = dest
					:: else
					fi;
					moved = true;
					assert(I5 || RIGHT) };
over:				atomic {
					counted = false;
					if
					:: generation == mine -> places--; mine = 0; break
					:: generation != mine && moved -> mine = 0; break	/* the hold time is over */
					:: generation != mine -> mine = 0
					fi }
			od;
			atomic {
				if
				:: plain && what == 0 -> in_x = dest
				:: plain && what == 1 -> in_n = dest
				:: else
				fi;
				assert(I5 || RIGHT);
				LetGo(what);
				dest = 0; plain = false; moved = false }
		od
	    } unless {
		atomic {
			fall[what] -> fall[what] = false;
			if	/* bracket_abort(), and the marking ends */
			:: counted && generation == mine -> places--
			:: lock && generation == mine ->
				tree = false; placings = (placings + 1) % 16
			:: else
			fi;
			LetGo(what);
			dest = 0; plain = false; counted = false; moved = false;
			lock = false; mine = 0
		}
	    }
	od
}

proctype Finish()
{
	byte dir, before, mine;

	do
	:: atomic {
		if
		:: dir = ROOT
		:: dir = A
		:: dir = B
		:: dir = N
		fi;
		record[dir] && (!places || FAULT == PLACINGS_IGNORED) && (FREE || FAULT == HELD_LATE);
		before = placings; mine = generation };
		/* entry by entry */
		if
		:: dir == ROOT && (record[A] || record[B])
		:: dir != ROOT && in_x == dir && unfinished
		:: else ->
			if
			:: dir != ROOT && in_n == dir && record[N]
			:: else ->
				atomic {
					!tree ->
					if
					:: generation == mine && FREE &&
					   ((placings == before && !places) || FAULT == PLACINGS_IGNORED) ->
						record[dir] = false;
						assert(I5 || RIGHT)
					:: else
					fi }
			fi
		fi;
		atomic { dir = 0; before = 0; mine = 0 }
	od
}

init
{
	atomic {
		record[ROOT] = true; record[A] = true; unfinished = true; in_x = A; in_n = A;
		run Mover(0); run Mover(1); run Finish()
	};
	do
	:: atomic { unfinished -> unfinished = false }
	:: atomic { crashes -> crashes--;
		generation++; tree = false; places = 0; placings = 0 }
	:: atomic { crashes -> crashes--; fall[0] = true }
	od
}
