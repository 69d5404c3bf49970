/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The index of takeover handles: which object here belongs to which handle of the old server, for
 * clients that go on using those handles (`takeover = all`).  The index is kept in
 * takeover-file.all, beyond the end of the migration.
 *
 * An object is added to the index before it has its name, so that a client that finds the name
 * finds the index entry too.  By its takeover handle the object is found only when it has its name,
 * so an object that never gets a name is never found and never written to.  A power cut may lose
 * the entries of the last second, and the file may be lost: an object that is not whole is added
 * again when it is opened, because its record has the handle; the takeover handle of a whole object
 * is stale then.
 */
#ifndef RETRIEVER_OBJECTS_OLD_HANDLES_H
#define RETRIEVER_OBJECTS_OLD_HANDLES_H

#include "retriever/objects/retriever.h"

/* Opens it, where the configuration says so; blocks for the disk.  FALSE with error set. */
bool old_handles_open(struct retriever *retriever, GError **error);
void old_handles_close(struct retriever *retriever);

/* Whether the old server's handle must be known for each object that is made. */
bool old_handles_are_wanted(const struct retriever *retriever);
/* Adds the object at name in dir_fd ("": dir_fd itself), which is the old server's entry and gets
 * its name next.  Returns what old_handles_name() needs then.  A failure is logged: clients have to
 * open that object anew.  Any thread. */
uint64_t old_handles_add(struct retriever *retriever, const struct source_entry *entry, int dir_fd,
			 const char *name);
void old_handles_name(struct retriever *retriever, const struct source_entry *entry,
		      uint64_t added);
/* The same for an object that has its name already, if it was added as this entry: the process that
 * added it may have been killed before old_handles_name(). */
void old_handles_name_again(struct retriever *retriever, const struct source_entry *entry,
			    int dir_fd, const char *name);
/* Adds the object of fd, which came from that source, if the index does not have it. */
void old_handles_restore(struct retriever *retriever, const struct source_object *source,
			 uint64_t fileid, int fd);
/* The object here that belongs to an object of the old server; FALSE: the index does not have it.
 */
bool old_handles_find(const struct retriever *retriever, const struct source_object *object,
		      struct migrate_binding *key);
/* Makes durable what was added, and notes in the index whether all objects are in it.  Blocks for
 * the disk; not on the main thread. */
void old_handles_save(struct retriever *retriever);

#endif
