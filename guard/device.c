/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/device.h"

#include <fcntl.h>
#include <glib.h>
#include <sys/stat.h>

char *device_of(const char *path)
{
	g_autofree char *text = NULL;
	struct statx stx;

	if (statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_MNT_ID, &stx) < 0 ||
	    !(stx.stx_mask & STATX_MNT_ID) ||
	    !g_file_get_contents("/proc/self/mountinfo", &text, NULL, NULL))
		return NULL;

	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autofree char *id = g_strdup_printf("%llu ", (unsigned long long)stx.stx_mnt_id);
	for (unsigned i = 0; lines[i]; i++) {
		if (!g_str_has_prefix(lines[i], id))
			continue;
		g_auto(GStrv) words = g_strsplit(lines[i], " ", 4);
		return g_strv_length(words) > 3 ? g_strdup(words[2]) : NULL;
	}
	return NULL;
}

bool device_is_shared(const char *path, const char *other)
{
	g_autofree char *a = device_of(path), *b = device_of(other);

	return !a || !b || g_str_equal(a, b);
}
