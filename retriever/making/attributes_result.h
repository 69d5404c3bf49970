/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of the old object's attributes a new object got, and which of them are lost and reported.
 */
#ifndef RETRIEVER_MAKING_ATTRIBUTES_RESULT_H
#define RETRIEVER_MAKING_ATTRIBUTES_RESULT_H

#include "lib/report/losses.h"
#include "lib/report/omissions.h"
#include "retriever/objects/retriever.h"

struct attributes_result {
	GPtrArray *lost;       /* of struct loss_line without paths; NULL: nothing */
	bool acl, xattrs;      /* what it got */
	struct omissions left; /* the mark that it got, if anything is lost */
};

/* Adds a loss of that kind; the text is made of format. */
G_GNUC_PRINTF(3, 4)
void attributes_lose(struct attributes_result *carried, enum loss_kind kind, const char *format,
		     ...);
/* Adds the loss of an extended attribute with a value of len bytes. */
void attributes_lose_xattr(struct attributes_result *carried, const char *name, uint32_t len,
			   const char *why);

/* Puts the losses into the report: before the object is shown.  name: in dir_fd; NULL: dir_fd's
 * own.  0 or -errno. */
int attributes_report(struct retriever *retriever, const struct attributes_result *carried,
		      int dir_fd, const char *name);
void attributes_clear(struct attributes_result *carried);

#endif
