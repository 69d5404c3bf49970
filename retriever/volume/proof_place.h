/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directory into which verify --content writes its findings (lib/report/manifest/finding.h). */
#ifndef RETRIEVER_VOLUME_PROOF_PLACE_H
#define RETRIEVER_VOLUME_PROOF_PLACE_H

#include "retriever/objects/retriever.h"

/* Opens .migrate/proof/, or the directory that is used when the volume has no .migrate/
 * (proof_place_path()); makes it if it is not there.  A descriptor, or -errno. */
int proof_place_open(const struct retriever *retriever);
/* The configuration's report with ".proof".  g_free. */
char *proof_place_path(const struct volume_config *config);
/* Called before .migrate/ is removed: copies the findings to proof_place_path(), durable; if there
 * are none, removes those of an earlier volume there.  0 or -errno. */
int proof_place_keep(const struct retriever *retriever);

#endif
