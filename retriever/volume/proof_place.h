/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where comparisons of both sides leave what they found (lib/report/manifest/finding.h). */
#ifndef RETRIEVER_VOLUME_PROOF_PLACE_H
#define RETRIEVER_VOLUME_PROOF_PLACE_H

#include "retriever/objects/retriever.h"

/* .migrate/proof/, or where that is kept when the volume has no .migrate/ (proof_place_path()),
 * made if it is not there.  A descriptor, or -errno. */
int proof_place_open(const struct retriever *retriever);
/* The configuration's report with ".proof".  g_free. */
char *proof_place_path(const struct volume_config *config);
/* Before .migrate/ goes: what is in it is kept, durable; where there is nothing, what was kept of
 * an earlier volume goes.  0 or -errno. */
int proof_place_keep(const struct retriever *retriever);

#endif
