/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/private_file.h"

#include <unistd.h>

const char *private_file_objection(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "is not a file";
	if (st->st_uid != geteuid())
		return "belongs to somebody else: chown it to root";
	if (st->st_mode & 077)
		return "can be read or changed by others: chmod 600 it";
	return NULL;
}
