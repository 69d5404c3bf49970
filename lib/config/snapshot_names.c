/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/snapshot_names.h"

/* NetApp, Isilon, Qumulo, VAST, Pure: .snapshot, by SMB ~snapshot; ZFS: .zfs; EMC: .ckpt; Spectrum
 * Scale, snapper: .snapshots; CephFS, UFS: .snap; Synology: #snapshot; QNAP. */
static const char *const makers[] = {".snapshot", "~snapshot",		".zfs",
				     ".ckpt",	  ".snapshots",		".snap",
				     "#snapshot", "@Recently-Snapshot", NULL};

bool snapshot_name_is(const struct volume_config *config, const char *name)
{
	const char *const *names =
		config->snapshots ? (const char *const *)config->snapshots : makers;

	return g_strv_contains(names, name);
}
