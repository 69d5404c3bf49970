/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which object of the old server's each one here is, for clients that go on with its handles
 * (`takeover = all`): kept in takeover-file.all, beyond the end of the migration.
 *
 * An object is known there before it has its name, so that who finds the name finds that too; by
 * its takeover handle it is found only when it has it: what is made in vain is never found, and
 * nobody writes there.  A power cut may take what was added in the last second, and the file may be
 * lost: an object that is not whole is added again when it is opened, because its record has the
 * handle; that of a whole one is stale.
 */
#ifndef RETRIEVER_OBJECTS_OLD_HANDLES_H
#define RETRIEVER_OBJECTS_OLD_HANDLES_H

#include "retriever/objects/retriever.h"

/* Opens it, where the configuration says so; blocks for the disk.  FALSE with error set. */
bool old_handles_open(struct retriever *retriever, GError **error);
void old_handles_close(struct retriever *retriever);

/* Whether the old server's handle of everything that is made has to be known. */
bool old_handles_are_wanted(const struct retriever *retriever);
/* What dir_fd has there (with "" itself) is that entry of the old server's, and gets its name next:
 * what to give to old_handles_name() then.  What cannot be added is told in the log: clients have
 * to open it anew.  Any thread. */
uint64_t old_handles_add(struct retriever *retriever, const struct source_entry *entry, int dir_fd,
			 const char *name);
void old_handles_name(struct retriever *retriever, const struct source_entry *entry,
		      uint64_t added);
/* What has its name there was added, if that is what it is: who did it may have been killed. */
void old_handles_name_again(struct retriever *retriever, const struct source_entry *entry,
			    int dir_fd, const char *name);
/* What fd is came from there, and is not known, perhaps. */
void old_handles_restore(struct retriever *retriever, const struct source_object *source,
			 uint64_t fileid, int fd);
/* What is here of an object of the old server's; FALSE: it is not known. */
bool old_handles_find(const struct retriever *retriever, const struct source_object *object,
		      struct migrate_binding *key);
/* Makes durable what was added, and says when that is all.  Blocks for the disk; not on the main
 * thread. */
void old_handles_save(struct retriever *retriever);

#endif
