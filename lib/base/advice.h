/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_BASE_ADVICE_H
#define LIB_BASE_ADVICE_H

/* What can be done when a system call on this machine failed: the end of a message, which begins
 * with "; ", or "".  error: of errno, or negative.  Static.  Any thread. */
const char *advice_for(int error);

#endif
