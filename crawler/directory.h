/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Directories that the crawler still has to visit.  A pending directory is known by its kernel
 * handle (name_to_handle_at(2)), some 10 to 22 bytes.  It needs no open descriptor and no name, so
 * that a renamed directory is neither lost nor visited twice, and neither depth nor width of the
 * tree has a limit.
 *
 * The functions block for the local file system only, and may be called from any thread.
 */
#ifndef CRAWLER_DIRECTORY_H
#define CRAWLER_DIRECTORY_H

#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct directory_handle {
	uint8_t type;
	uint8_t len;
	uint8_t bytes[MAX_HANDLE_SZ];
};

/* The handle of the open directory fd (O_PATH will do).  0 or -errno; -EOPNOTSUPP: the file system
 * has no handles. */
int directory_handle_get(int fd, struct directory_handle *handle);
/* A new descriptor of the directory, for reading, or -errno; -ESTALE: it was removed.  mount_fd:
 * any descriptor on the directory's file system.  Needs CAP_DAC_READ_SEARCH. */
int directory_handle_open(int mount_fd, const struct directory_handle *handle);
/* For hash tables. */
guint directory_handle_hash(gconstpointer handle);
gboolean directory_handle_equal(gconstpointer a, gconstpointer b);

/* Handles one after the other: u8 type, u8 length, bytes. */
struct directory_list {
	GByteArray *packed; /* NULL when empty */
	guint next;	    /* where the next one starts */
};
bool directory_list_take(struct directory_list *list, struct directory_handle *handle);
void directory_list_clear(struct directory_list *list);

/* The part of the tree that a walk stays in: one mount of one file system. */
struct directory_scope {
	dev_t device;
	uint64_t inode; /* of the root, whose private directory is left out */
	int mount_id;
};
int directory_scope_get(int root_fd, struct directory_scope *scope);

/* Of files in directory_read(), all in seconds since 1970: what is of `since` or later is recent.
 */
struct directory_ages {
	int64_t since;
	int64_t until;	      /* later times are no times: a file under retention has its expiry */
	bool by_reads;	      /* the last access counts, not the last change alone */
	bool recent;	      /* result: there is a recent file */
	int64_t before;	      /* result: of those that are not recent the newest; or as it was */
	uint64_t files, read; /* result: adds all, and those whose last access is recent */
};

/* At most this many subdirectories come from one directory_read(). */
#define DIRECTORY_BATCH 1024

/*
 * Reads the next part of the directory fd, from *position (0 at first) on, and appends the
 * subdirectories in it to list, the last changed ones first.  Another descriptor of the same
 * directory may be used for every part.  *end: nothing follows.  Subdirectories that are mount
 * points, are on another file system, or have vanished meanwhile are left out.  ages: NULL, or to
 * be completed from the files in it.  0 or -errno.
 */
int directory_read(int fd, const struct directory_scope *scope, int64_t *position, bool *end,
		   struct directory_list *list, struct directory_ages *ages);

#endif
