/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What doctor looks at, for one volume.  Programs are found by $PATH. */
#ifndef CTL_DOCTOR_LOOKS_H
#define CTL_DOCTOR_LOOKS_H

#include <time.h>

#include "ctl/doctor/finding.h"
#include "lib/config/volume_config.h"

struct doctor {
	GPtrArray *findings;
	const struct volume_config *config;
	/* Of the volume, with [guard] and [journal]; without [volume] where nobody answered. */
	GKeyFile *status;
	int answer; /* 0, or what ctl_complain_of() takes */
};

/* What systemctl shows of the volume's units and the file servers'; NULL: it does not answer. */
char *units_ask(const char *volume);
/* Whether they run, are begun at boot, and wait for the root's mount.  text: what systemctl shows,
 * or NULL; clustered: the cluster manager starts them. */
void look_at_units(struct doctor *doctor, const char *text, gboolean clustered);
/* Of this machine: the root's file system, files with secrets, certificates (which are to hold for
 * two weeks), the clock. */
void look_at_machine(struct doctor *doctor, time_t now);
/* The retriever, the guard, the journal, what failed. */
void look_at_status(struct doctor *doctor);
/*
 * Whether the old server answers, how quickly, and lets this machine list the root.  A process of
 * its own asks, and is ended after wait_ms.  Nobody asks one that is away, nor one for SMB: a
 * password that is wrong once more may get the account locked.
 */
void look_at_old_server(struct doctor *doctor, unsigned wait_ms);

#endif
