/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A new object under its name (stub.h says how), or one of the prior copy. */
#ifndef CREATION_H
#define CREATION_H

#include "making.h"

/* 0, STUB_THERE, STUB_ASK, STUB_ASK_BARE or -errno. */
int creation_run(struct making *m);

#endif
