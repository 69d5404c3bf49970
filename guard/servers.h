/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file servers that were seen.  One whose process has registered (migrate_volume_register())
 * looks at records before clients get anything, and is let through.  Any other serves the volume
 * past the layer, whatever its configuration says, and waits for what is unfinished as every
 * program.
 *
 * Why no door waits for what is unfinished because of that: it registers before it opens anything
 * of the volume, the kernel keeps the registration as long as it lives, and retriever and guard may
 * end and start meanwhile.  With mounts of its own it is asked once, and needs somebody who answers
 * then: the guard, or what one leaves that was stopped.  A door that finds another way to the
 * volume in its own process takes no part itself, and so is not registered.
 *
 * A mount on which nobody is asked any more is one that no other process has (process_is_alone()),
 * and is asked about again once its process is no longer registered.  One thread.
 */
#ifndef GUARD_SERVERS_H
#define GUARD_SERVERS_H

#include <stdbool.h>

struct servers;

/* socket: the volume's; as long as they live. */
struct servers *servers_new(const char *socket);
void servers_free(struct servers *servers);
bool servers_has(const struct servers *servers, int process);
/* Of a process that is not: it has opened something unfinished.  Logs it once. */
void servers_add_past(struct servers *servers, int process);
/* Of one that is: its mount is not asked about. */
void servers_add_marked(struct servers *servers, int process);
/* Forgets who has ended, and who has registered meanwhile.  Whether one whose mount is not asked
 * about lives on and is no longer registered. */
bool servers_turn(struct servers *servers);
/* "smbd (12), smbd (13)": who is past the layer; g_free.  NULL: nobody. */
char *servers_past_text(const struct servers *servers);

#endif
