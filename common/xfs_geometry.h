/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What XFS says of itself: XFS_IOC_FSGEOMETRY_V1 (ioctl_xfs_fsgeometry(2)). */
#ifndef COMMON_XFS_GEOMETRY_H
#define COMMON_XFS_GEOMETRY_H

#include <stdint.h>
#include <sys/ioctl.h>

struct xfs_geometry {
	uint32_t sizes[8];
	uint64_t blocks[4];
	uint8_t uuid[16];
	uint32_t units[2];
	int32_t version;
	uint32_t flags;
	uint32_t more[4];
};

#define XFS_GET_GEOMETRY _IOR('X', 100, struct xfs_geometry)
#define XFS_FOLDS_CASE	 (1 << 12)

#endif
