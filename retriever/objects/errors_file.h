/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file .migrate/errors: lines are appended, and read again by their offset.  A line counts when
 * its end is in the file: an incomplete line that a crash left is cut off.  Where there is no
 * .migrate/ a file without a name is used.  Not locked; blocks for the disk.
 */
#ifndef RETRIEVER_OBJECTS_ERRORS_FILE_H
#define RETRIEVER_OBJECTS_ERRORS_FILE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define ERRORS_FILE "errors"

struct errors_file {
	int dir_fd; /* not owned; -1: none */
	int fd;	    /* -1: none was needed so far */
	uint64_t end;
	char *seen; /* the part that was read last */
	uint64_t seen_at;
	size_t seen_len;
};

void errors_file_init(struct errors_file *file, int dir_fd);
void errors_file_clear(struct errors_file *file);

/* Calls line() with each line.  Whether there is a file that has lines. */
typedef void (*errors_file_fn)(void *arg, const char *line, size_t len, uint64_t offset);
bool errors_file_load(struct errors_file *file, errors_file_fn line, void *arg);
/* Whole lines: all of them, or -errno and nothing. */
int errors_file_append(struct errors_file *file, const char *lines, size_t len);
/* The line at that offset, with its end, or NULL.  g_free. */
char *errors_file_line(struct errors_file *file, uint64_t offset);

/* errors_file_begin() makes an empty file beside the present one; errors_file_replace() makes the
 * new file durable and puts it in the place of the present one.  0 or -errno. */
int errors_file_begin(const struct errors_file *file, struct errors_file *new);
int errors_file_replace(struct errors_file *file, struct errors_file *new);

#endif
