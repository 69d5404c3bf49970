/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking an entry from the prior copy instead of making a stub. */
#ifndef TAKING_H
#define TAKING_H

#include "making.h"

enum { TAKING_NOTHING = STUB_ASK_BARE + 1 };

/* 0, STUB_THERE, STUB_ASK_BARE or -errno; TAKING_NOTHING: it has to be made. */
int taking_prior(struct making *m);

#endif
