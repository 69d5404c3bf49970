/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives a new object the old object's times of access and modification, and finds what the new file
 * system keeps of them. */
#ifndef RETRIEVER_MAKING_ATTRIBUTES_TIMES_H
#define RETRIEVER_MAKING_ATTRIBUTES_TIMES_H

#include "retriever/making/attributes_result.h"

/* Which times a file system keeps. */
struct times_room {
	int64_t first, last; /* seconds from 1970; both 0: not known */
	bool whole_seconds;  /* without fractions */
};

/*
 * Sets the times of fd, or of name in fd, and adds to *carried what is not as it should be.  fd -1:
 * sets nothing, and adds what a file system of that room would lose.  0 or -errno.  Blocks for the
 * disk.
 */
int attributes_set_times(int fd, const char *name, const struct times_room *room,
			 const struct source_attr *attr, struct attributes_result *carried);

#endif
