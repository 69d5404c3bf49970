/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Flags of objects on the new server (chattr(1), fsverity(1)) that forbid to bring what is missing.
 *
 * They are not taken off: who has set one may rely on it from that moment on, and it could not be
 * set again in one step with the last change.
 */
#ifndef LIB_BASE_FLAGS_H
#define LIB_BASE_FLAGS_H

#include "lib/base/error_codes.h"

/* What is set of them, as "immutable (chattr +i)", or NULL.  name: in dir_fd, or "": dir_fd itself.
 * Static.  Any thread; does not block. */
const char *flags_word(int dir_fd, const char *name);
/* Why the open object (O_PATH too) cannot be brought, or QM_NONE: it has none of them. */
enum error_code flags_error(int fd);

#endif
