/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names the shares that an old server has, for who wrote the wrong one. */
#ifndef LIB_SOURCE_SMB_SMB_SHARES_H
#define LIB_SOURCE_SMB_SMB_SHARES_H

#include "lib/config/smb_url.h"
#include "lib/source/source.h"

/* The names of its disk shares for a message, one line, the first few of them and how many more;
 * g_free.  NULL: the server did not tell, or cannot be asked: with tickets, at another port than
 * SMB's own, or where the settings want signatures or encryption.  To be called only where the
 * server has just taken this log-on: a wrong password would count once more.  Blocks, while the
 * server is silent for at most a minute. */
char *smb_shares_text(const struct smb_config *config, const struct smb_url *url);

#endif
