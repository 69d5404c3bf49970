/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tries out whether the new file system can do everything that a volume needs, before a client is
 * switched to it. */
#ifndef RETRIEVER_VOLUME_PROBE_H
#define RETRIEVER_VOLUME_PROBE_H

/*
 * Makes the private directory in root_fd, tries everything in it and removes it; a private
 * directory that an unfinished attach left stays.  0, or -errno with *message: what is missing and
 * what to do, without the name of the volume; the caller frees it.
 */
int probe_file_system(int root_fd, char **message);
/* The part of it that writes nothing. */
int probe_look(int root_fd, char **message);

#endif
