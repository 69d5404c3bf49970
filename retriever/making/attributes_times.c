/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/attributes_times.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* far: as of struct source_attr. */
static void foresee_time(const struct times_room *room, const char *what, int64_t ns, int64_t far,
			 struct attributes_result *carried)
{
	const int64_t seconds = far ? far : migrate_timespec(ns).tv_sec;
	const bool known = room->first || room->last;

	if (known && (far || seconds < room->first || seconds > room->last))
		attributes_lose(carried, LOSS_TIME,
				"the time of %s is %lld seconds from 1970, and becomes the nearest "
				"that can "
				"be kept",
				what, (long long)seconds);
	else if (!known && (seconds < 0 || seconds > INT32_MAX))
		attributes_lose(carried, LOSS_TIME,
				"the time of %s is %lld seconds from 1970, which not every file "
				"system stores",
				what, (long long)seconds);
}

/* The fraction of an access is lost without a line for each object. */
static void foresee_fraction(const struct times_room *room, const struct source_attr *attr,
			     struct attributes_result *carried)
{
	const struct timespec mtime = migrate_timespec(attr->mtime);

	if (room->whole_seconds && mtime.tv_nsec && mtime.tv_sec >= room->first &&
	    mtime.tv_sec <= room->last)
		attributes_lose(carried, LOSS_TIME,
				"the time of modification has a fraction of a second, %09ld ns, "
				"which the new "
				"file system does not keep",
				mtime.tv_nsec);
}

static void compare_time(const char *what, int64_t ns, int64_t far, struct timespec is,
			 struct attributes_result *carried)
{
	const struct timespec should = migrate_timespec(ns);

	if (far || is.tv_sec != should.tv_sec)
		attributes_lose(carried, LOSS_TIME,
				"the time of %s, %lld seconds from 1970, became %lld, the nearest "
				"that can be "
				"kept",
				what, (long long)(far ? far : should.tv_sec), (long long)is.tv_sec);
}

static void compare_fractions(const struct source_attr *attr, const struct stat *st,
			      struct attributes_result *carried)
{
	const struct timespec mtime = migrate_timespec(attr->mtime);
	const struct timespec atime = migrate_timespec(attr->atime);

	if (mtime.tv_sec == st->st_mtim.tv_sec && mtime.tv_nsec != st->st_mtim.tv_nsec)
		attributes_lose(carried, LOSS_TIME,
				"the time of modification, %lld.%09ld seconds from 1970, lost its "
				"fraction: "
				"%lld.%09ld now",
				(long long)mtime.tv_sec, mtime.tv_nsec,
				(long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	if (atime.tv_sec == st->st_atim.tv_sec && atime.tv_nsec != st->st_atim.tv_nsec)
		attributes_lose(
			carried, LOSS_VOLUME,
			"times of access: the new file system keeps no fractions of a second");
}

int attributes_set_times(int fd, const char *name, const struct times_room *room,
			 const struct source_attr *attr, struct attributes_result *carried)
{
	struct timespec times[2] = {migrate_timespec(attr->atime), migrate_timespec(attr->mtime)};
	struct stat st;

	if (fd < 0) {
		foresee_time(room, "modification", attr->mtime, attr->far_mtime, carried);
		foresee_time(room, "access", attr->atime, attr->far_atime, carried);
		foresee_fraction(room, attr, carried);
		return 0;
	}
	if ((name ? utimensat(fd, name, times, AT_SYMLINK_NOFOLLOW) : futimens(fd, times)) < 0)
		return -errno;
	if ((name ? fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) : fstat(fd, &st)) < 0)
		return -errno;
	compare_time("modification", attr->mtime, attr->far_mtime, st.st_mtim, carried);
	compare_time("access", attr->atime, attr->far_atime, st.st_atim, carried);
	compare_fractions(attr, &st, carried);
	return 0;
}
