/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Projects of the new server's file system (project ids, the quotas of directories; chattr(1) -p
 * and +P, xfs_quota(8)).  What is made in a directory that hands its project on (PROJINHERIT)
 * belongs to that; what belongs to another project cannot be renamed or linked into it (EXDEV).
 *
 * So no directory of .migrate/ hands one on, and everything may be moved there.  What is made in
 * staging/ for a directory that does is made in a directory of the same project, where also what
 * cannot be opened (a symbolic link, a node) gets it.  A file or directory that stands elsewhere is
 * given the project before it is moved.  A crash in between leaves an object in .migrate/ that
 * counts for another project.
 *
 * On a file system without project quotas no inode inherits a project.  Any thread; blocks for the
 * disk.
 */
#ifndef LIB_BASE_PROJECT_H
#define LIB_BASE_PROJECT_H

#include <stdbool.h>
#include <stdint.h>

struct project {
	bool inherited; /* what is made in the directory belongs to it; else to none */
	uint32_t id;
};

/* What an open directory (not O_PATH) hands on. */
struct project project_of(int dir_fd);
/* Whether what stands in one directory may be moved into the other. */
bool project_admits(int to_fd, int from_fd);
/* The directory hands none on any more.  0 or -errno. */
int project_stop(int dir_fd);
/*
 * Gives a file, or a directory and all below it, the project that `project` hands on; a directory
 * hands it on from now on.  What can be neither opened nor given one is left as it is.  0 or
 * -errno.
 */
int project_give(int dir_fd, const char *name, struct project project);
/* renameat2(); what has another project than `to` hands on is given that first.  0 or -errno:
 * -EXDEV for what cannot be given one. */
int project_rename(int from_fd, const char *name, int to_fd, const char *as, unsigned flags);
/* Where in staging/ what is going to the directory dir_fd is made: staging_fd itself, or another
 * descriptor, to be closed; or -errno. */
int project_stage(int staging_fd, int dir_fd);

#endif
