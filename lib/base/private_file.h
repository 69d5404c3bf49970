/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files with secrets: passwords, tickets, keys. */
#ifndef LIB_BASE_PRIVATE_FILE_H
#define LIB_BASE_PRIVATE_FILE_H

#include <sys/stat.h>

/* What is wrong with who may come at it, or NULL. */
const char *private_file_objection(const struct stat *st);

#endif
