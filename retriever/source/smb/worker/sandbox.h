/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the worker may do on this host: nothing.  Ends the process where it cannot be had. */
#ifndef SMB_SANDBOX_H
#define SMB_SANDBOX_H

/* No root, nothing to gain it with, no core, not to be looked into, not to outlive the retriever.
 */
void sandbox_drop(void);
/* No new files, sockets or processes from now on. */
void sandbox_close(void);

#endif
