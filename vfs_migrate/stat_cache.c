/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "vfs_migrate/stat_cache.h"

/* The identity of an inode at one moment. */
struct inode {
	dev_t dev;
	ino_t ino;
	struct timespec ctime;
};

#define PLACE_BITS 10 /* 150 KiB, if so many inodes are seen */
#define OLD_SECS   1  /* more than any tick */

/* Places by the inode's number; a newer inode takes the place. */
static struct place {
	struct inode inode;	  /* dev 0: free */
	struct migrate_stub stub; /* NORMAL, or FILLED, which has no ranges */
} places[1 << PLACE_BITS];

static struct place *place_of_stat(const struct inode *inode)
{
	/* the numbers of directories of xfs are alike in their low bits */
	return &places[(inode->ino * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - PLACE_BITS)];
}

static bool same_inode(const struct inode *a, const struct inode *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->ctime.tv_sec == b->ctime.tv_sec &&
	       a->ctime.tv_nsec == b->ctime.tv_nsec;
}

/* Inodes without room for nanoseconds (ext4, 128 bytes) have the same ctime for a whole second. */
static bool is_old(const struct timespec *ctime)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return ctime->tv_nsec && now.tv_sec - ctime->tv_sec > OLD_SECS;
}

static int recall(const struct inode *inode, struct migrate_stub *stub)
{
	const struct place *place = place_of_stat(inode);

	if (!same_inode(&place->inode, inode))
		return -ENOENT;
	*stub = place->stub;
	return stub->state != MIGRATE_NORMAL;
}

static void keep_stat(const struct inode *inode, const struct migrate_stub *stub)
{
	if ((stub->state == MIGRATE_NORMAL || stub->state == MIGRATE_FILLED) && !stub->ranges &&
	    is_old(&inode->ctime))
		*place_of_stat(inode) = (struct place){*inode, *stub};
}

int vm_stat_cache_load(int fd, struct migrate_stub *stub, bool *directory)
{
	struct inode inode;
	struct stat st;
	int result;

	if (fstat(fd, &st) < 0)
		return -errno;
	*directory = S_ISDIR(st.st_mode);
	inode = (struct inode){st.st_dev, st.st_ino, st.st_ctim};
	result = recall(&inode, stub);
	if (result >= 0)
		return result;
	result = migrate_stub_load(fd, stub);
	if (result < 0) {
		migrate_stub_clear(stub);
		return result;
	}
	keep_stat(&inode, stub);
	return stub->state != MIGRATE_NORMAL;
}
