/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why an object or a name failed: the code, the cause and the remedy of each failure.
 *
 * A number is never given to another failure, and none is taken away: scripts, alerts and the files
 * of earlier releases know failures by it.  A new one goes behind the last of its hundred: 10
 * names, 11 rights and attributes, 12 data, 13 what the old server answers, 14 what was changed on
 * the old server, 15 what is in the way on the new server, 16 the new server's file system, 19 the
 * list of errors itself.  quickmigrate-errors(7) has the same table.
 *
 * Everything here is constant.  Any thread; nothing blocks.
 */
#ifndef LIB_BASE_ERROR_CODES_H
#define LIB_BASE_ERROR_CODES_H

#include <glib.h>

#define ERROR_OR_SKIP "; or skip it: migratectl skip"
#define ERROR_ROOTS   "give it root's rights there (no_root_squash), or make "
#define ERROR_SET_IT  "then retry; set it again when it is whole"
#define ERROR_HERE    " on the new server before all of it was here"

/* clang-format off */
#define ERROR_CODES(X) \
	X(1001, NAME_IMPOSSIBLE, "no file here can have this name", \
	  "rename it on the old server, then retry" ERROR_OR_SKIP) \
	X(1002, NAME_LONG, "a name can have 255 bytes here, and this one has more", \
	  "make it shorter on the old server, then retry" ERROR_OR_SKIP) \
	X(1003, NAME_CHARACTERS, \
	  "no file can be asked for by SMB whose name has one of \\ : * ? \" < > | or a control character", \
	  "rename it on the old server itself or over NFS, then retry" ERROR_OR_SKIP) \
	X(1004, NAME_NO_TEXT, "the name is no text (half a pair of UTF-16)", \
	  "rename it on the old server, then retry" ERROR_OR_SKIP) \
	X(1005, NAMES_MORE, "no file here can have these names", \
	  "rename them on the old server, then retry; or skip all that the directory has: migratectl skip --all") \
	X(1006, NAME_RESERVED, "this name is reserved at the volume's root", \
	  "rename it there, then retry" ERROR_OR_SKIP) \
	X(1007, NAME_TAKEN, "another object has this name here: the new server's file system may not tell names by " \
	  "upper and lower case, or the old server has put something else in its place", \
	  "compare both, rename one, then retry" ERROR_OR_SKIP) \
	X(1008, NAME_FOREIGN, \
	  "a program of this machine has made a directory of this name here, which hides the old server's", \
	  "move it out of the volume, then retry; or leave it in that one's place: migratectl skip") \
	X(1009, NAME_MISSING, "the old server lists this name and does not find it", \
	  "rename it there, then retry" ERROR_OR_SKIP) \
	X(1010, NAME_OF_ANOTHER, "the old server opens another object by this name, most likely one whose name " \
	  "differs in upper and lower case only", "rename one of them there, then retry" ERROR_OR_SKIP) \
	X(1011, NAME_UNHELD, "the new server's file system cannot hold this name", \
	  "rename it on the old server, then retry" ERROR_OR_SKIP) \
	X(1012, NAME_UNMADE, "the name could not be made on the new server", \
	  "see the retriever's log for the system's error, then retry") \
	X(1013, NAMES_FAILED, "the directory could not be filled", "see the names listed below it") \
	X(1014, NAMES_OTHERWISE, "the old server lists names that are not here as they are written", \
	  "see the names listed below it") \
	X(1015, NAMES_CHANGED, "its names are not those that the old server listed, and no client has changed them", \
	  "compare both, then retry, which takes what is here") \
	X(1016, DIRECTORY_LOOP, "it is one of the directories that it is in", \
	  "repair that on the old server, then retry" ERROR_OR_SKIP) \
	X(1017, REFERRAL, "another server has it (a referral of NFS version 4)", \
	  "make a volume of its own for that, then skip it here: migratectl skip") \
	X(1018, DFS_LINK, "it is on another server (a DFS link)", \
	  "put an empty directory in its place on the old server, then retry; what it leads to may be a volume of " \
	  "its own") \
	X(1101, RIGHTS_REFUSED, \
	  "the old server does not let this machine see who may use it, so that nobody may here", \
	  "let this machine's account read it and its permissions there, then retry") \
	X(1102, RIGHTS_UNTOLD, "the old server could not tell who may use it", \
	  "see the old server's log, then retry") \
	X(1103, RIGHTS_UNSET, "its permissions could not be set on the new server", \
	  "see the retriever's log for the system's error, then retry") \
	X(1104, OWNER_UNKNOWN, "this host's name service does not tell who owns it, or who is named in its ACL", \
	  "see the retriever's log and getent, then retry") \
	X(1105, XATTRS_REFUSED, "the old server refused to tell the ACL or the extended attributes", \
	  "give this machine's account the right to read them there, or see the old server's log, then retry" \
	  ERROR_OR_SKIP " --leave") \
	X(1106, XATTRS_NOWHERE, \
	  "the old server refused to tell the ACL or the extended attributes, or the acl-source has no such object", \
	  "give both accounts the right to read them, and see that both show the same tree, then retry") \
	X(1201, READ_FORBIDDEN, "the old server does not let this machine read it", ERROR_ROOTS "the file readable") \
	X(1202, READ_PART, \
	  "the old server could not read a part of it (a bad disk there, or by SMB a name that it does not open)", \
	  "restore or rename it there, then retry" ERROR_OR_SKIP " --leave") \
	X(1203, READ_FAILED, "the old server answered READ with an error", "see the old server's log, then retry") \
	X(1204, READ_SHORT, "the old server's file is shorter than it says", \
	  "check the file system there, then retry") \
	X(1205, READ_LOCKED, "somebody has it open on the old server and lets nobody else read it", \
	  "have it closed there, and run migratectl retry") \
	X(1206, STUB_THERE, "it is a stub of another migration there, or a copy of one, which does not have all bytes or names", \
	  "finalize that migration and copy it anew, then retry; setfattr -x security.migrate if it is whole all the same") \
	X(1301, LATER, "the old server keeps saying \"later\" (is it on tape, in a cloud, or locked?)", \
	  "have it brought there, if you can; it is tried again now and then, and when somebody uses it") \
	X(1302, LIST_FORBIDDEN, "the old server does not let this machine list it", \
	  ERROR_ROOTS "the directory readable") \
	X(1303, LIST_ENDLESS, "the old server's listing of it does not end", \
	  "repair the directory there, then retry") \
	X(1304, LIST_FAILED, "the old server could not list the directory", "see the old server's log, then retry") \
	X(1305, LOOKUP_REFUSED, "the old server refused to look up the name", \
	  "give this machine's account the right to see it there, or see the old server's log, then retry" \
	  ERROR_OR_SKIP " --leave") \
	X(1306, LOOKUP_FORBIDDEN, "the old server refused to look up a name in the directory", \
	  ERROR_ROOTS "the directory readable") \
	X(1307, LINK_REFUSED, "the old server refused to read the symbolic link", \
	  "give this machine's account the right to read it there, or see the old server's log, then retry" \
	  ERROR_OR_SKIP " --leave") \
	X(1308, TELL_REFUSED, "the old server refuses to tell of it", \
	  "give this machine's account the right to see it there, or see the old server's log, then retry") \
	X(1309, CONNECTION_ENDS, \
	  "the old server's connection ends each time that this is asked for, and others are answered", \
	  "see its log (does it crash there?), mend or remove the object there, then migratectl retry") \
	X(1310, AUTOMOUNTER, \
	  "the automounter of the source could not mount it, or does not list all that it would mount", \
	  "mount everything without it") \
	X(1311, SEARCH_FAILED, "the object could not be looked for on the old server", \
	  "see the old server's log, then retry") \
	X(1312, HANDLE_STALE, "the old server's handle for it is stale again and again", \
	  "see whether something replaces it there all the time, then retry") \
	X(1313, SEARCH_ENDLESS, "the object was looked for in a directory of the old server whose listing does not end", \
	  "repair the directory there, then retry") \
	X(1401, CHANGED, "the file was changed on the old server since its stub was made", \
	  "migratectl retry takes the new version") \
	X(1402, REPLACED, "the file was changed on the old server since its stub was made, by one that replaced it", \
	  "migratectl retry takes the new version") \
	X(1403, GONE, "the object is gone from the old server", \
	  "restore it there and run migratectl retry, or remove it here") \
	X(1404, CHANGED_IN_COPY, "the file was changed on the old server while it was copied", \
	  "the next run takes it") \
	X(1405, CHANGED_BOTH, "the file was changed on the old server and by clients here", \
	  "copy the version that counts over it") \
	X(1406, CHANGED_MAYBE, "the old server's file has a new ctime or number, and the size and mtime that it " \
	  "had, and clients have changed it here", \
	  "if it was not rewritten there, migratectl retry --same takes it for what it was") \
	X(1407, NO_FILE, "it is not a file any more on the old server", "remove it here") \
	X(1501, IMMUTABLE, "it was made immutable" ERROR_HERE, "chattr -i, " ERROR_SET_IT) \
	X(1502, APPEND_ONLY, "it was made append-only" ERROR_HERE, "chattr -a, " ERROR_SET_IT) \
	X(1503, SEALED, "fs-verity was enabled for it" ERROR_HERE, \
	  "that cannot be taken back: remove it, and copy it from the old server") \
	X(1504, FORBIDDEN, "the new server forbids it", \
	  "see whether its directory, or what was copied of it, is immutable or append-only there (lsattr), take " \
	  "that off, then retry") \
	X(1505, MOUNTED, "something is mounted there on the new server", "unmount it, then retry") \
	X(1506, MOUNTED_BELOW, \
	  "something is mounted over it in this directory here, and nobody can see what is below that", \
	  "unmount it, then retry") \
	X(1507, OTHER_PROJECT, "it belongs to another project of the new server's file system than its directory " \
	  "(chattr -p), and that could not be changed", "retry") \
	X(1508, COPY_FORBIDDEN, "what was copied of it, in .migrate/prior, must not be changed", \
	  "see which flag it has (lsattr), take it off, then retry") \
	X(1509, LEFT_MOUNTED, "something is mounted there, and the old server has no such name", \
	  "unmount it, then retry") \
	X(1510, LEFT_FORBIDDEN, "it, or its directory, must not be changed, and the old server has no such name", \
	  "see which flag it has (lsattr), take it off, then retry") \
	X(1511, LEFT_TOO_MANY, "more than a tenth of the names of the copy are not on the old server", \
	  "see whether that is the right tree and all of it is mounted there; if it is right: migratectl accept") \
	X(1512, LEFT_UNMOVED, "what is left over of it could not be set aside", "see the names listed below it") \
	X(1513, SKIPPED_UNMOVED, "what was copied of a name that is skipped could not be set aside", \
	  "see the retriever's log for the system's error, then retry") \
	X(1601, NO_SPACE, "no space (or no inode) on the new server's file system", "make room there, then retry") \
	X(1602, TOO_LARGE, "the file is larger than the new server's file system can hold", \
	  "make it smaller on the old server, or move the volume to another file system, then retry") \
	X(1603, WRITE_REFUSED, "the new server's file system refused a write", "see its kernel's log, then retry") \
	X(1604, WRITE_UNDURABLE, "the new server's file system could not make data durable", \
	  "see its kernel's log and its disks, then retry") \
	X(1605, DAMAGED, "the new server's file system has found errors in itself", \
	  "unmount it, run e2fsck -f and mount it again; its kernel's log says more") \
	X(1606, LISTING_LOST, "the new server's file system lost what was listed", "see its kernel's log") \
	X(1607, RECORD_DAMAGED, "the stub record is damaged", \
	  "check the new server's file system, and restore the object from the old server or a backup") \
	X(1608, RECORD_UNWRITTEN, "the stub record could not be written", \
	  "see the new server's kernel log and its space, then retry") \
	X(1609, RECORD_STAYS, "its stub record could not be removed", "see the new server's kernel log, then retry") \
	X(1610, FILE_UNCHANGED, "the file could not be changed on the new server", \
	  "see the new server's kernel log, then retry") \
	X(1611, NO_MEMORY, "out of memory", "give the retriever more memory, then retry") \
	X(1612, UNREPORTED, "what is left out could not be put into the report", \
	  "make room on the new server's file system, then retry") \
	X(1901, BEFORE_RESTART, "it failed before the retriever was started again", \
	  "retry, which tells why it fails") \
	X(1902, UNCODED, "it failed for a reason that has no code here", \
	  "see its sentence and the retriever's log, then retry") \
	X(1903, LIST_UNREAD, "the list of errors cannot be read", \
	  "see the new server's kernel log; migratectl verify lists what failed anew")
/* clang-format on */

enum error_code {
	QM_NONE = 0, /* no error */
#define ERROR_ENUM(number, name, cause, remedy) QM_##name = number,
	ERROR_CODES(ERROR_ENUM)
#undef ERROR_ENUM
};

/* A row of the table.  sentence: the cause, a colon and the remedy. */
struct error_kind {
	enum error_code code;
	const char *name; /* "QM1201" */
	const char *cause, *remedy, *sentence;
};

#define ERROR_COUNT_ONE(number, name, cause, remedy) +1
enum { ERROR_KINDS = ERROR_CODES(ERROR_COUNT_ONE) };
#undef ERROR_COUNT_ONE
extern const struct error_kind error_kinds[ERROR_KINDS]; /* by number */

/* The code's row; that of QM_UNCODED for what is no code. */
const struct error_kind *error_kind(enum error_code code);
/* The row with that name ("QM1201"), or NULL. */
const struct error_kind *error_kind_named(const char *name);
/* The row of the code that a text ends with, as "TEXT [QM1201]", or NULL. */
const struct error_kind *error_kind_behind(const char *text);

#endif
