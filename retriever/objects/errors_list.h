/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of errors in memory: its index, its reasons, and the lines that are still to be written.
 * The caller locks it. */
#ifndef RETRIEVER_OBJECTS_ERRORS_LIST_H
#define RETRIEVER_OBJECTS_ERRORS_LIST_H

#include "retriever/objects/errors_entry.h"
#include "retriever/objects/errors_index.h"
#include "retriever/objects/errors_reasons.h"

#define ERRORS_PENDING_MAX (4 << 20) /* bytes: if they cannot be written no more are added */

struct errors_list {
	struct errors_index index;
	uint64_t secret;
	GString *pending; /* lines that are not in the file yet */
	uint64_t next;	  /* offset of the line that comes next, behind these */
	uint64_t lines;	  /* in the file and pending */
	struct errors_reasons reasons;
};

/* Zeroed before. */
void errors_list_init(struct errors_list *list);
void errors_list_free(struct errors_list *list);

struct errors_hashes {
	uint64_t object, entry;
	uint32_t path;
};
struct errors_hashes errors_list_hashes(struct errors_list *list, const struct error_entry *e);

enum errors_news { ERRORS_NEWS_NONE, ERRORS_NEWS_LINE, ERRORS_NEWS_REASON };

/* Its line will be at that offset, if there is any news. */
enum errors_news errors_list_put(struct errors_list *list, const struct error_entry *e,
				 struct errors_hashes h, uint64_t offset);
void errors_list_remove(struct errors_list *list, uint32_t place);
/* Whether there were any. */
bool errors_list_remove_names(struct errors_list *list, uint64_t directory);
void errors_list_clear(struct errors_list *list);

void errors_list_append(struct errors_list *list, const char *line, size_t len);
void errors_list_change(struct errors_list *list, enum error_change change,
			const struct error_entry *e);

/* Finds the first slot from *place on that may match, as far as its hashes tell, and the offset of
 * its line.  The line itself decides whether the entry matches. */
bool errors_list_next(struct errors_list *list, guint *place, const struct errors_filter *filter,
		      uint64_t *offset);

#endif
