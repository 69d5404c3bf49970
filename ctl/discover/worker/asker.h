/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The process that asks one question (say.h) and ends. */
#ifndef CTL_DISCOVER_WORKER_ASKER_H
#define CTL_DISCOVER_WORKER_ASKER_H

/* The questions.  Each of them drops all rights of the process and jails it (sandbox.h) before a
 * byte of the old server is read, and returns when all was answered.  arguments: those of the
 * question, behind its first word. */
void ask_services(char **arguments, unsigned n);
void ask_versions(char **arguments, unsigned n);
void ask_exports(char **arguments, unsigned n);
void ask_spaces(char **arguments, unsigned n);
void ask_quotas(char **arguments, unsigned n);
void ask_mounts(char **arguments, unsigned n);
void ask_handles(char **arguments, unsigned n);
void ask_shares(char **arguments, unsigned n);

#endif
