/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel is asked to tell, and wait for an answer (fanotify(7)): the whole file system,
 * through every mount of it in every mount namespace, because most services have one of their own.
 *
 *   MARKS_OPEN     files and directories that are opened (FAN_OPEN_PERM)
 *   MARKS_ACCESS   what is read, mapped or changed of a file, by path too (FAN_PRE_ACCESS, Linux
 *                  6.14); files alone, so it takes a group of its own
 *
 * As long as a group's descriptor is open in any process, the programs that it holds wait for an
 * answer, also when the guard has died.  What a process took from the queue and did not answer is
 * answered by the number that the descriptor had there.  One thread.
 */
#ifndef GUARD_MARKS_H
#define GUARD_MARKS_H

#include <glib.h>
#include <stdbool.h>
#include <sys/fanotify.h>
#include <sys/types.h>

enum marks_group { MARKS_OPEN, MARKS_ACCESS, MARKS_GROUPS };
extern const char *const marks_names[MARKS_GROUPS];

struct marks {
	int fd[MARKS_GROUPS]; /* not blocking; -1: there is none */
};

struct marks_event {
	enum marks_group group;
	int fd;	   /* of the object, read-only */
	pid_t tid; /* who waits; 0: in no namespace that can be seen from here */
};

/*
 * Takes over what *marks has already from a process before this one, of which everything that it
 * left without an answer fails now (EIO), and makes what it has not, at root.  access: MARKS_ACCESS
 * too, where the kernel can.  FALSE with *error: nothing is guarded that was not before;
 * G_FILE_ERROR_INVAL: as the kernel refuses it, and will.
 */
gboolean marks_begin(struct marks *marks, const char *root, bool access, GError **error);
/* What a process took that has ended, and did not answer, fails (EIO): before anything is read. */
void marks_fail_unanswered(const struct marks *marks);
/* Whether a file system is there still that is marked: marks go with it.  Slow: of all marks. */
bool marks_are_left(const struct marks *marks);
/* Whether it is the one of root. */
bool marks_are_on(const struct marks *marks, const char *root);
/* Nothing new is told, though somebody else may have the descriptors too. */
void marks_flush(const struct marks *marks);
/* The same, and closes them. */
void marks_end(struct marks *marks);

/* Calls take for each event that waits in the group.  0, or the errno that ends it. */
typedef void (*marks_take_fn)(void *arg, const struct marks_event *event);
int marks_read(const struct marks *marks, enum marks_group group, marks_take_fn take, void *arg);

/* Lets it go on, or fail with error, where the kernel can say that, else with EPERM.  The
 * descriptor stays open. */
void marks_answer(const struct marks *marks, const struct marks_event *event, int error);

/* Of this object, which is whole, nothing is to be told again as long as it is in memory. */
void marks_ignore(const struct marks *marks, int fd);
/* Of what is done through the mount through which fd was opened neither, until marks_begin() of the
 * next process, or marks_ask_mounts().  0 or -errno. */
int marks_ignore_mount(const struct marks *marks, int fd);
/* Which mounts are a server's is judged anew. */
void marks_ask_mounts(const struct marks *marks);

#endif
