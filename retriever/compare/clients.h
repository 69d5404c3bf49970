/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What clients have changed since the switch, told apart from what is wrong. */
#ifndef RETRIEVER_COMPARE_CLIENTS_H
#define RETRIEVER_COMPARE_CLIENTS_H

#include "lib/source/source.h"
#include "retriever/objects/retriever.h"

struct clients;

enum clients_aspect {
	CLIENTS_CONTENT,    /* a file's bytes and size, or that another object has its name */
	CLIENTS_ATTRIBUTES, /* owner, mode, times, ACL, extended attributes, links */
	CLIENTS_NAMES,	    /* of a directory */
};

/* One retriever of a process at a time; for whoever comes while others have it, it is the same. */
struct clients *clients_new(struct retriever *retriever);
void clients_free(struct clients *clients);

/*
 * Whether clients have changed that of the object, fd: any descriptor of it; there: as the old
 * server has it.  differs: something does differ; else it is only asked whether to look at all, and
 * what has its times is looked at.  Any thread; blocks for the disk, and for what the journal is
 * about to learn.
 *
 * The journal (store/reader.h) tells, where it knows.  Else times: clients set mtime to the time of
 * their change, which is after the object was made here (its time of birth); what came from the old
 * server is older, or is what it has there.  So who sets mtime back himself (rsync, touch -r) is
 * not told by times, and nor are changes of attributes alone, because fills move ctime too: these
 * are called differences.
 */
bool proof_is_clients(struct clients *clients, int fd, const struct source_attr *there,
		      enum clients_aspect aspect, bool differs);

/* "journal" or "times": how it is told. */
const char *clients_told_by(struct clients *clients);

#endif
