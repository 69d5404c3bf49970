/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The looks of migratectl doctor, for one volume: each adds findings.  Programs are found by
 * $PATH. */
#ifndef CTL_DOCTOR_LOOKS_H
#define CTL_DOCTOR_LOOKS_H

#include <time.h>

#include "ctl/doctor/finding.h"
#include "lib/config/volume_config.h"

struct doctor {
	GPtrArray *findings;
	const struct volume_config *config;
	/* The volume's status, with [guard] and [journal]; without [volume] if nobody answered. */
	GKeyFile *status;
	int answer; /* 0, or what ctl_complain_of() takes */
};

/* What systemctl shows of the volume's units and the file servers'; NULL: it does not answer. */
char *units_ask(const char *volume);
/* Whether the units run, are started at boot, and wait for the root's mount.  text: what systemctl
 * shows, or NULL; clustered: the cluster manager starts them. */
void look_at_units(struct doctor *doctor, const char *text, gboolean clustered);
/* Looks at this machine: the root's file system, files with secrets, certificates (which are to be
 * valid for two weeks), the clock. */
void look_at_machine(struct doctor *doctor, time_t now);
/* Looks at the retriever, the guard, the journal, and what failed. */
void look_at_status(struct doctor *doctor);
/*
 * Whether the old server answers, how quickly, and lets this machine list the root.  A process of
 * its own asks, and is ended after wait_ms.  An old server that is away is not asked; neither is
 * one for SMB, because one wrong password more may lock the account.
 */
void look_at_old_server(struct doctor *doctor, unsigned wait_ms);
/* Whether it lets this machine change the source's root now; FALSE also where it does not tell by
 * then.  It is asked in the same way; one for SMB is not. */
gboolean old_server_is_writable(const struct volume_config *config, unsigned wait_ms);

#endif
