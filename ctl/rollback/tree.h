/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the way back works on: the old server's tree and the new server's, as far as the journal
 * says that they differ.  There is a node for each object that clients changed, and for each
 * directory above such an object.
 *
 * A node is known by its kernel handle on the new server.  Its places on the old server (`at`) are
 * kept right while objects are moved there; its path there is made from them each time.
 */
#ifndef CTL_ROLLBACK_TREE_H
#define CTL_ROLLBACK_TREE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "ctl/rollback/ledger.h"
#include "ctl/rollback/target.h"
#include "journal/store/reader.h"
#include "lib/config/volume_config.h"

#define DEPTH_MAX 65536 /* directories above each other; more are a circle */

enum todo {
	TODO_MAKE = 1 << 0,
	TODO_NAMES = 1 << 1, /* names come or go: node->wanted against node->at */
	TODO_DATA = 1 << 2,
	TODO_META = 1 << 3,
	TODO_REMOVE = 1 << 4,
	TODO_PARK = 1 << 5,  /* goes out of the way before something else takes its place */
	TODO_TIMES = 1 << 6, /* of a directory, when everything in it is done */
};

struct place {
	struct node *dir; /* NULL: TARGET_STAGE */
	char *name;
	bool guessed; /* no row tells the place at the switch: this is the one here now */
};

/* On the new server.  HERE_STUB: it may be a stub; HERE_WHOLE: it is no stub, and will never be one
 * (I1). */
enum here { HERE_NOT, HERE_STUB, HERE_WHOLE };
/* On the old server.  THERE_FOUND: it was found just now, and the objects in it were not looked for
 * yet. */
enum there { THERE_NOT, THERE_FOUND, THERE_SEEN };
/* SCOPE_MET: other nodes led to it; SCOPE_LOADED: its row is dealt with; SCOPE_PASSIVE: it is not
 * in the window (rows.h). */
enum scope { SCOPE_MET, SCOPE_LOADED, SCOPE_PASSIVE };
/* DATA_FETCHED: the data must be here first; DATA_IN_PLACE: they must, too, and are written in
 * place, because the file on the old server holds more than a copy of it would. */
enum data { DATA_AS_IT_IS, DATA_FETCHED, DATA_IN_PLACE };

/* The tree that an object belongs to, by its names here. */
enum belongs {
	BELONGS_HERE,
	BELONGS_UNKNOWN,   /* its row has no name: it may be another tree's */
	BELONGS_ELSEWHERE, /* to another tree of the file system */
	BELONGS_NOWHERE,   /* it is here, and no name of it is to come */
};

/* Why a node is not dealt with.  Of two reasons the later one in this list counts. */
enum left {
	LEFT_NOT,
	/* no line tells of it: it cannot be on the old server, and comes again in each run, or what
	 * is in it would be forgotten; or an object that waits for a window replaces it; or, in a
	 * window, it is not to be touched (FATE_STAYS) */
	LEFT_UNSAID,
	LEFT_STAYS, /* on the old server alone */
	LEFT_LATER, /* it is being changed: for the next run */
};

struct node {
	struct migrate_binding handle;
	uint64_t generation; /* of its row; 0: it has none */
	unsigned flags;	     /* enum journal_flags */
	enum scope scope;
	bool active;   /* it is to be dealt with */
	bool made;     /* it was made since the switch */
	bool compared; /* a directory whose names are looked at */
	/* no row says that it was made, or that it had one of its places, but what is here now */
	bool made_guessed, guessed;
	/* the new server */
	enum here here;
	int unseen; /* why it cannot be looked at, and is not known to be gone: -errno; or 0 */
	enum belongs belongs;
	struct stat st;
	GPtrArray *wanted;     /* of struct place: its names in compared directories */
	GHashTable *names;     /* of a compared directory: name -> active node or NULL */
	GHashTable *not_there; /* names that it did not have at the switch */
	/* the old server */
	struct ledger_entry carried;
	bool was_carried; /* `carried` is known, and it is there since, as far as is known */
	bool looked;
	bool strayed;	   /* somebody gave it a name there that it never had here */
	bool theirs;	   /* somebody else changed it there, which later runs are told, too */
	bool their_rights; /* changed there by others, maybe its rights: gets none from here */
	enum there there;
	uint64_t fileid;     /* on the old server, as its stub says; or 0 */
	struct stat old;     /* as planned, or as the last step of the way back left it */
	struct stat *staged; /* in TARGET_STAGE, or NULL */
	int64_t version; /* its ctime there before the way back touched it, as its stub knows it */
	char *last_path; /* where it was looked for */
	struct node *last_dir;
	struct node *seen_in; /* of a directory: where a scan of the journal saw it */
	GPtrArray *at;	      /* of struct place: those in directories that are compared, or one */
	GHashTable *listed;   /* of a directory: its names there (target_list), or NULL */
	/* what is to be done: enum todo */
	unsigned todo, depth;
	enum data data;
	enum left left;
	const char *why; /* why it stays, or in what it differs by a comparison; or NULL */
	const char *conflict;
	/* what was done */
	bool moved;   /* since it was planned */
	bool entered; /* a directory: names came or went since it was planned */
	bool former;  /* its former version is still in TARGET_STAGE */
	bool noted;   /* its row, and what was done, are in the ledger */
	/* carry.c noted what it was about to do; it has begun with that; and what was noted before,
	 * which is put back if nothing was begun. */
	bool intended, begun, was_touching, was_theirs;
	GHashTable *had; /* carried.given */
	bool unsettled;	 /* a directory: something in it is left, so it is compared again */
};

struct problem {
	char *path, *text;
	unsigned todo; /* of tree->planned */
};

/* For loss_list.c: the names in the report of losses that were skipped, or that a rule left out:
 * then the value is not NULL.  The report grows at its end while it is used. */
struct skipped {
	GHashTable *paths, *names; /* the paths, and the last component of each; or NULL */
	struct stat st;		   /* of the report, as far as it was read: st_size */
};

/* For rows.c: what waits for windows. */
struct deferred {
	FILE *handles;	  /* struct migrate_binding of all that waits; NULL: nothing does */
	uint64_t waiting; /* so many of them are not in a window yet */
	GHashTable *dirs; /* directories where objects were made: a handle -> what became of it */
	/* handles of objects here that have a conflict -> its text: they come again */
	GHashTable *told;
	GHashTable *fates;   /* fileids of what the first plan knew there -> enum fate */
	bool looked, missed; /* rows_spare(): all that waits was looked at; something was missing */
	bool left;	     /* something was left, so that the generations are not noted */
};

struct tree {
	const struct volume_config *config;
	struct journal_reader *journal;
	struct ledger *ledger;
	struct target *target;
	int root_fd;
	unsigned told; /* TOLD_* of the volume */
	struct node *root;
	const bool *stop; /* when it becomes true, looking ends; NULL: it does not */
	bool unread;	  /* a directory here could not be read: names are not known */
	bool vanished;	  /* a scan of the journal has to say whether something here is gone */
	bool unscanned;	  /* a scan of the journal could not read everything */
	bool serving;	  /* clients go on here: what is moved there has to be whole here */
	/* Waits until the journal has all that was done here; NULL: nothing is done meanwhile. */
	bool (*settle)(struct journal_reader *journal, GError **error);
	int64_t switched;   /* by the old server's clock, ns */
	int64_t root_ctime; /* there, as the last run or plan left it; 0: there was none; -1:
			     * somebody else has changed it since */
	bool root_given;    /* its attributes were given by this run, or were the same */
	bool killed;	    /* the last run did not end: what it did to the root moved its ctime */
	struct skipped skipped;
	GHashTable *nodes;    /* by handle */
	GHashTable *inodes;   /* active nodes that are here, by inode number */
	GHashTable *fileids;  /* nodes that are there, by fileid */
	GHashTable *parted;   /* a set of fileids: loss_list_parted(); NULL: nobody asked */
	GPtrArray *active;    /* nodes, in order; those of the old server alone as well */
	GPtrArray *conflicts; /* of struct problem */
	GPtrArray *losses;    /* of struct problem */
	GPtrArray *planned;   /* of struct problem: what is to be done, and why; NULL: not wanted */
	GPtrArray *all;	      /* every node, to be freed */
	struct deferred deferred;
	bool window;  /* a window is loaded (rows.h) */
	bool carries; /* the plans before it were carried */
};

/* Takes nothing over. 0 and *tree, or NULL with *error. */
struct tree *tree_open(const struct volume_config *config, struct journal_reader *journal,
		       struct ledger *ledger, struct target *target, int64_t switched,
		       GError **error);
void tree_close(struct tree *tree);
/* Forgets all nodes, and makes a new one of the root: for the next window. */
void tree_empty(struct tree *tree);

/* Whether tree->stop has become true; then error is set, too, if it is not NULL. */
bool tree_stops(const struct tree *tree, GError **error);

/* The node of a handle, with what is known of it; made where there is none. */
struct node *tree_node(struct tree *tree, const struct migrate_binding *handle);
/* Marks the node as one that is to be dealt with. */
void tree_activate(struct tree *tree, struct node *node);
/* A new node of an object that only the old server has; its handle is its fileid there, of type
 * 0. */
struct node *tree_node_there(struct tree *tree, struct node *dir, const char *name,
			     uint64_t fileid);
/* Whether the name is the node's on the new server now. */
bool tree_is_named(const struct tree *tree, const struct node *node, const struct place *place);
/* Opens an object on the new server.  A descriptor or -errno. */
int tree_open_node(const struct tree *tree, const struct node *node, int flags);

/* FALSE: it has none, as far as is known.  Clear *stub afterwards whatever was returned. */
bool tree_load_stub(const struct tree *tree, const struct node *node, struct migrate_stub *stub);

/* Sets *base to what is known of the attributes that the node's object has on the old server, for
 * attrs_give() to it or, if new_one, to one that takes its place.  *base points into the node. */
void tree_base(const struct tree *tree, const struct node *node, bool new_one,
	       struct attrs_base *base);

/* Makes durable on the new server what clients have changed until now, if there is anything to deal
 * with.  0 or -errno. */
int tree_sync(const struct tree *tree);

/* Takes a name that the node has now for one that it had at the switch, as no row says
 * otherwise. */
void tree_guess(struct node *node, struct node *dir, const char *name);
bool tree_is_gone(const struct node *node);

static inline bool tree_is_dir(const struct node *node)
{
	return S_ISDIR(node->here ? node->st.st_mode : node->old.st_mode);
}

/* On the old server. */
static inline bool tree_has_one_name(const struct node *node)
{
	return S_ISDIR(node->old.st_mode) || node->old.st_nlink == 1;
}

/* The directory that it is in, or is to be in; NULL: none. */
static inline const struct node *tree_directory(const struct node *node)
{
	const GPtrArray *places = node->at->len ? node->at : node->wanted;

	return places->len ? ((const struct place *)places->pdata[0])->dir : NULL;
}

void place_add(GPtrArray *places, struct node *dir, const char *name);
/* Its index, or -1. */
int place_find(const GPtrArray *places, const struct node *dir, const char *name);
/* Whether the name on the old server is to go: it is in a directory that was compared, or is gone,
 * or in TARGET_STAGE. */
static inline bool tree_drops(const struct node *node, const struct place *place)
{
	return place_find(node->wanted, place->dir, place->name) < 0 &&
	       (!place->dir || place->dir->compared);
}

bool tree_keeps_a_name(const struct node *node);

/* Where it is on the old server now; NULL: nowhere.  g_free. */
char *tree_path(const struct node *node);
char *tree_place_path(const struct node *node, const struct place *place);
/* Its name in TARGET_STAGE: moved there, or new; g_free. */
#define STAGE_PARKED  'p'
#define STAGE_NEW     'n'
#define STAGE_BEGUN   'b' /* one that an earlier run made, and that goes */
#define STAGE_FORMER  'o' /* what was replaced */
#define STAGE_DROPPED 'd' /* a name that goes, of an object that keeps another */
char *tree_stage_name(const struct node *node, char kind);
/* FALSE: it is no such name. */
bool tree_stage_parse(const char *name, struct migrate_binding *handle);
/* Whether it had a name at the switch that it has now. */
bool tree_was_named(const struct node *node, const struct node *dir, const char *name);
/*
 * Whether the names that it seems to have had at the switch may be another object's: in a gap of
 * the journal it, or a directory that it was in, may have been renamed, and neither a stub nor what
 * was carried tells its fileid.  The renaming of a directory shows in the directory that it came
 * to.
 */
bool tree_is_doubted(const struct node *node);
/* The row knows no name of its object. */
bool tree_is_unplaced(const struct journal_row *row);
/* Marks the node, with all that it has, as one to be compared. */
void tree_doubt(struct node *node);

/* Adds one line for people to tree->conflicts, with the name that the node has or had. */
void tree_conflict(struct tree *tree, struct node *node, const char *text);
/* The text of its conflict, also of one from an earlier window; NULL: none. */
const char *tree_told(const struct tree *tree, const struct node *node);
/* The node could not be dealt with, for the reason ret (-errno): leaves it for a later run, with a
 * line.  0; or ret, if the old server takes nothing at all. */
int tree_leave(struct tree *tree, struct node *node, const char *what, int ret);
/* Has the directories that it is in, or is to be in, compared again. */
void tree_unsettle(struct node *node);
void tree_loss(struct tree *tree, const struct node *node, const char *text);
/* Adds node->todo to tree->planned, if that is wanted. */
void tree_plan(struct tree *tree, const struct node *node, const char *why);
/* A new list, for tree->planned. */
GPtrArray *tree_problems_new(void);
/* Its path on the new server or, if it has none, the one on the old server; g_free. */
char *tree_shown_path(const struct node *node);

#endif
