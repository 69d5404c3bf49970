/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/flags.h"

#include <fcntl.h>
#include <glib.h>
#include <linux/stat.h>
#include <stdint.h>
#include <sys/stat.h>

#ifndef STATX_ATTR_VERITY
#define STATX_ATTR_VERITY 0x00100000
#endif

static const struct {
	uint64_t flag;
	const char *word;
	enum error_code error;
} flags[] = {
	{STATX_ATTR_IMMUTABLE, "immutable (chattr +i)", QM_IMMUTABLE},
	{STATX_ATTR_APPEND, "append-only (chattr +a)", QM_APPEND_ONLY},
	{STATX_ATTR_VERITY, "sealed (fs-verity)", QM_SEALED},
};

/* The place in flags, or one behind them. */
static size_t find_flag(int dir_fd, const char *name)
{
	struct statx stx;
	size_t i = 0;

	if (statx(dir_fd, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, 0, &stx) < 0)
		return G_N_ELEMENTS(flags);
	while (i < G_N_ELEMENTS(flags) && !(stx.stx_attributes & flags[i].flag))
		i++;
	return i;
}

const char *flags_word(int dir_fd, const char *name)
{
	size_t i = find_flag(dir_fd, name);

	return i < G_N_ELEMENTS(flags) ? flags[i].word : NULL;
}

enum error_code flags_error(int fd)
{
	size_t i = find_flag(fd, "");

	return i < G_N_ELEMENTS(flags) ? flags[i].error : QM_NONE;
}
